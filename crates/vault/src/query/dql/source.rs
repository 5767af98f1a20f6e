//! Which pages the source of a query names, by the indexes of the catalog; no page is looked at.

use std::collections::HashSet;

use super::ast::{Operator, Source};
use super::evaluate::{Evaluator, Fault, failed};
use crate::path::VaultPath;

/// A page or a file of rows.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    /// A note.
    Page(VaultPath),
    /// A CSV file, by what the query calls it.
    Csv(String),
}

/// What a source names, each place once.
pub(crate) fn places(at: &Evaluator<'_>, source: &Source) -> Result<Vec<Place>, Fault> {
    at.charge(100)?;
    let pages = |paths: Vec<VaultPath>| paths.into_iter().map(Place::Page).collect::<Vec<_>>();
    Ok(match source {
        Source::Tag(tag) => pages(at.pages.tagged(tag)),
        Source::Csv(path) => vec![Place::Csv(path.clone())],
        Source::Folder(folder) => match at.pages.in_folder(folder) {
            Some(found) => pages(found),
            None => {
                let file = at.pages.file(folder).or_else(|| at.pages.file(&format!("{folder}.md")));
                pages(file.into_iter().collect())
            }
        },
        Source::Incoming(link) => match at.pages.resolve(&link.path, at.origin.as_ref()) {
            Some(path) => pages(at.pages.linking_to(&path)),
            None => pages(at.pages.linking_nowhere(&link.path)),
        },
        Source::Outgoing(link) => {
            let found = at.pages.resolve(&link.path, at.origin.as_ref());
            match found.and_then(|path| at.pages.linked_from(&path)) {
                Some(found) => pages(found),
                None => {
                    return failed(format!("there is no note `{}` whose links could be followed", link.path));
                }
            }
        }
        Source::Not(inner) => {
            let without: HashSet<Place> = places(at, inner)?.into_iter().collect();
            let mut all = pages(at.pages.all());
            all.retain(|place| !without.contains(place));
            all
        }
        Source::Chain { first, rest } => {
            let mut left = places(at, first)?;
            for (operator, next) in rest {
                let mut right = places(at, next)?;
                let known: HashSet<Place> = left.iter().cloned().collect();
                match operator {
                    Operator::And => {
                        right.retain(|place| known.contains(place));
                        left = right;
                    }
                    _ => left.extend(right.into_iter().filter(|place| !known.contains(place))),
                }
                at.charge(left.len())?;
            }
            left
        }
    })
}
