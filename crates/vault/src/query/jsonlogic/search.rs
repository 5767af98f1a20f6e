//! A rule over all notes that a view shows.

use serde_json::{Map, Value as Json, json};

use super::{Logic, LogicError, is_hit};
use crate::catalog::FileInfo;
use crate::path::VaultPath;
use crate::view::View;

/// A note for which a rule has a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The note.
    pub path: VaultPath,
    /// What the rule gave.
    pub result: Json,
}

/// The notes for which the rule's result is not empty, in path order. Data per note: `path`, `content`, `frontmatter`,
/// `tags`, `stat`, `links`, `backlinks`, `unresolvedLinks`; only what the rule may ask for is read.
pub fn search(rule: &Json, view: &View<'_>) -> Result<Vec<Hit>, LogicError> {
    let catalog = view.catalog()?;
    let wants = Wants::of(rule);
    let notes: Vec<(VaultPath, Map<String, Json>)> = catalog.ask(|catalog, visible| {
        let data = |info: &FileInfo| {
            let mut data = facts(info);
            if wants.links {
                let texts = |paths: Vec<String>| Json::from(paths);
                let out = catalog.outgoing(&info.path, visible);
                let to = out.iter().filter_map(|link| link.to.map(ToString::to_string));
                data.insert("links".to_owned(), texts(distinct(to)));
                let lost =
                    out.iter().filter(|link| link.to.is_none()).map(|link| link.link.target.to_string());
                data.insert("unresolvedLinks".to_owned(), texts(distinct(lost)));
                let from = catalog.backlinks(&info.path, visible);
                let from = from.iter().map(|link| link.from.to_string());
                data.insert("backlinks".to_owned(), texts(distinct(from)));
            }
            (info.path.clone(), data)
        };
        catalog.notes(visible).map(data).collect()
    });
    let logic = Logic::default();
    let mut hits = Vec::new();
    for (path, mut data) in notes {
        if wants.content {
            match view.read(&path) {
                // Gone since the catalog looked.
                Err(crate::Error::Missing { .. }) => continue,
                bytes => {
                    let text = String::from_utf8_lossy(&bytes?).into_owned();
                    data.insert("content".to_owned(), Json::String(text));
                }
            }
        }
        let result = logic.run(rule, &Json::Object(data))?;
        if is_hit(&result) {
            hits.push(Hit { path, result });
        }
    }
    Ok(hits)
}

fn facts(info: &FileInfo) -> Map<String, Json> {
    let time = info.stat.modified_ns / 1_000_000;
    let mut data = Map::new();
    data.insert("path".to_owned(), Json::from(info.path.as_str()));
    data.insert("frontmatter".to_owned(), Json::Object(info.front()));
    data.insert("tags".to_owned(), Json::from(info.tag_names()));
    data.insert("stat".to_owned(), json!({"ctime": time, "mtime": time, "size": info.stat.size}));
    data
}

fn distinct(texts: impl Iterator<Item = String>) -> Vec<String> {
    let mut seen = std::collections::HashSet::new();
    texts.filter(|text| seen.insert(text.clone())).collect()
}

/// What a rule may ask for. A name that is computed may be any.
struct Wants {
    content: bool,
    links: bool,
}

impl Wants {
    fn of(rule: &Json) -> Wants {
        let text = rule.to_string();
        let any = text.contains("\"var\":{") || text.contains("\"var\":\"\"") || text.contains("\"var\":[{");
        Wants { content: any || text.contains("content"), links: any || text.contains("inks") }
    }
}
