//! The graph of links: which notes there are, and which link to which.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use vault::catalog::{Catalog, FileInfo, Visible};
use vault::{VaultFolder, VaultPath};

use super::area::Area;
use super::body::Asked;
use crate::serve::house::House;
use crate::serve::problem::Problem;

/// Notes of one answer, where nothing else is said, and at most.
const USUAL: usize = 5_000;
const MOST: usize = 20_000;
/// Links of one answer at most.
const MOST_LINKS: usize = 100_000;
/// How far around a note one can look.
const FARTHEST: u8 = 4;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Wanted, _, _>("/api/graph", "The notes and the links between them.", whole)
        .get::<Around, _, _>(
            "/api/graph/around",
            "The notes around one note, and the links between them.",
            around,
        )
}

/// Which notes.
#[derive(Deserialize, JsonSchema, Default)]
#[serde(deny_unknown_fields)]
struct Wanted {
    /// Only notes below this folder.
    folder: Option<String>,
    /// Only notes with this tag, or one below it.
    tag: Option<String>,
    /// Whether notes without any link are shown; they are if nothing is said.
    orphans: Option<bool>,
    /// At most so many notes, those with the most links first.
    limit: Option<usize>,
}

/// Around which note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Around {
    /// The note.
    path: VaultPath,
    /// How many links away, up to 4.
    depth: Option<u8>,
}

/// Notes and links.
#[derive(Debug, Serialize, PartialEq, Eq)]
struct Graph {
    nodes: Vec<Node>,
    /// Pairs of places in `nodes`; each pair once, whichever links to the other.
    edges: Vec<[u32; 2]>,
    /// How many notes there are, shown or not.
    total: usize,
    /// Whether some are left out because there are too many.
    cut: bool,
}

#[derive(Debug, Serialize, PartialEq, Eq)]
struct Node {
    path: String,
    name: String,
    folder: String,
    /// The first tag of the note.
    #[serde(skip_serializing_if = "Option::is_none")]
    tag: Option<String>,
    /// With how many notes it is linked.
    links: u32,
}

async fn whole(
    State(house): State<Arc<House>>,
    Asked(wanted): Asked<Wanted>,
) -> Result<Json<Graph>, Problem> {
    let folder = wanted.folder.as_deref().map(VaultFolder::parse).transpose();
    let folder = folder.map_err(|error| Problem::bad(error.to_string(), "name a folder of the vault"))?;
    let all = move |catalog: &Catalog, visible: Visible<'_>| {
        let links = Links::of(catalog, visible);
        let tag = wanted.tag.as_deref().map(|tag| tag.trim_start_matches('#').to_lowercase());
        let fits = |at: &usize| {
            let note = links.notes[*at];
            folder.as_ref().is_none_or(|folder| note.path.is_in(folder))
                && tag.as_ref().is_none_or(|tag| has_tag(note, tag))
                && (wanted.orphans != Some(false) || !links.to[*at].is_empty())
        };
        let mut chosen: Vec<usize> = (0..links.notes.len()).filter(fits).collect();
        let total = chosen.len();
        let limit = wanted.limit.unwrap_or(USUAL).clamp(1, MOST);
        if total > limit {
            chosen.sort_by_key(|at| (std::cmp::Reverse(links.to[*at].len()), *at));
            chosen.truncate(limit);
            chosen.sort_unstable();
        }
        links.graph(&chosen, total)
    };
    asked(&house, all).await
}

async fn around(
    State(house): State<Arc<House>>,
    Asked(Around { path, depth }): Asked<Around>,
) -> Result<Json<Graph>, Problem> {
    let depth = depth.unwrap_or(2).clamp(1, FARTHEST);
    let graph = asked(&house, move |catalog, visible| {
        let links = Links::of(catalog, visible);
        let chosen = links.near(&path, depth);
        links.graph(&chosen, chosen.len())
    })
    .await?;
    match graph.nodes.is_empty() {
        true => Err(Problem::not_found("there is no such note", "choose a note from the graph of all notes")),
        false => Ok(graph),
    }
}

async fn asked(
    house: &Arc<House>,
    question: impl FnOnce(&Catalog, Visible<'_>) -> Graph + Send + 'static,
) -> Result<Json<Graph>, Problem> {
    let work = move |house: &House| {
        let study = house.study();
        let scope = house.scope()?;
        let catalog = study.mind.road.vault().view(&scope).catalog()?;
        Ok(catalog.ask(question))
    };
    house.look(work).await.map(Json)
}

fn has_tag(note: &FileInfo, tag: &str) -> bool {
    note.tag_names().iter().any(|name| {
        let name = name.to_lowercase();
        name == tag || name.strip_prefix(tag).is_some_and(|rest| rest.starts_with('/'))
    })
}

/// All notes that may be seen, and to which others each is linked, in either direction.
struct Links<'c> {
    notes: Vec<&'c FileInfo>,
    to: Vec<HashSet<u32>>,
}

impl<'c> Links<'c> {
    fn of(catalog: &'c Catalog, visible: Visible<'_>) -> Links<'c> {
        let notes: Vec<&FileInfo> = catalog.notes(visible).collect();
        let places: HashMap<&VaultPath, u32> = notes.iter().map(|note| &note.path).zip(0..).collect();
        let mut to = vec![HashSet::new(); notes.len()];
        let mut leads = catalog.leads(visible);
        for (from, note) in (0_u32..).zip(&notes) {
            for link in &note.links {
                let end = leads.follow(link, &note.path).and_then(|path| places.get(path).copied());
                if let Some(end) = end.filter(|end| *end != from) {
                    to[from as usize].insert(end);
                    to[end as usize].insert(from);
                }
            }
        }
        Links { notes, to }
    }

    /// The notes that are at most so many links away.
    fn near(&self, path: &VaultPath, depth: u8) -> Vec<usize> {
        let Some(start) = self.notes.iter().position(|note| note.path == *path) else { return Vec::new() };
        let mut seen = HashMap::from([(start, 0)]);
        let mut waiting = VecDeque::from([start]);
        while let Some(at) = waiting.pop_front() {
            let far = seen.get(&at).copied().unwrap_or_default() + 1;
            if far > depth || seen.len() >= USUAL {
                break;
            }
            for next in self.to[at].iter().map(|next| *next as usize) {
                if let std::collections::hash_map::Entry::Vacant(free) = seen.entry(next) {
                    free.insert(far);
                    waiting.push_back(next);
                }
            }
        }
        let mut near: Vec<usize> = seen.into_keys().collect();
        near.sort_unstable();
        near
    }

    fn graph(&self, chosen: &[usize], total: usize) -> Graph {
        let places: HashMap<usize, u32> = chosen.iter().copied().zip(0..).collect();
        let mut edges = Vec::new();
        for (place, at) in (0_u32..).zip(chosen) {
            let others = self.to[*at].iter().filter_map(|to| places.get(&(*to as usize)).copied());
            let mut later: Vec<u32> = others.filter(|other| *other > place).collect();
            later.sort_unstable();
            edges.extend(later.into_iter().map(|other| [place, other]));
        }
        let links_cut = edges.len() > MOST_LINKS;
        edges.truncate(MOST_LINKS);
        let node = |at: &usize| {
            let note = self.notes[*at];
            Node {
                path: note.path.to_string(),
                name: note.path.stem().to_owned(),
                folder: note.path.parent().as_str().to_owned(),
                tag: note.tag_names().first().map(|tag| (*tag).to_owned()),
                links: u32::try_from(self.to[*at].len()).unwrap_or(u32::MAX),
            }
        };
        let nodes: Vec<Node> = chosen.iter().map(node).collect();
        Graph { cut: links_cut || nodes.len() < total, nodes, edges, total }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Asks about a vault of these notes, each with its text.
    #[expect(clippy::disallowed_methods, reason = "makes a vault to look at")]
    fn with<T>(notes: &[(&str, &str)], ask: impl FnOnce(&Links<'_>) -> T) -> T {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("vault");
        std::fs::create_dir(&root).unwrap();
        notes.iter().for_each(|(name, text)| std::fs::write(root.join(name), text).unwrap());
        let vault = vault::Vault::open(&root, &folder.path().join("data")).unwrap();
        let scope = vault::policy::Scope::new(vault::policy::Limits::default(), vault.rules().unwrap());
        let catalog = vault.view(&scope).catalog().unwrap();
        catalog.ask(|catalog, visible| ask(&Links::of(catalog, visible)))
    }

    #[test]
    fn a_note_is_surrounded_by_what_is_so_many_links_away() {
        let notes = [
            ("a.md", "[[b]] #x/y"),
            ("b.md", "[[c]] [[a]]"),
            ("c.md", ""),
            ("d.md", "[[c]]"),
            ("e.md", "[[e]]"),
        ];
        with(&notes, |all| {
            let near = |depth| {
                let chosen = all.near(&VaultPath::parse("a.md").unwrap(), depth);
                let graph = all.graph(&chosen, chosen.len());
                (graph.nodes.iter().map(|node| node.name.clone()).collect::<String>(), graph.edges.len())
            };
            assert_eq!(near(1), ("ab".to_owned(), 1));
            assert_eq!(near(2), ("abc".to_owned(), 2));
            assert_eq!(near(4), ("abcd".to_owned(), 3));
            assert!(all.near(&VaultPath::parse("nowhere.md").unwrap(), 2).is_empty());
            assert!(
                has_tag(all.notes[0], "x") && has_tag(all.notes[0], "x/y") && !has_tag(all.notes[0], "x/")
            );
        });
    }

    #[test]
    fn links_to_notes_that_are_left_out_are_left_out_too() {
        with(&[("a.md", "[[b]] [[c]] [[a]] [[nowhere]]"), ("b.md", "[[a]]"), ("c.md", "")], |all| {
            let graph = all.graph(&[0, 2], 3);
            assert_eq!(graph.edges, [[0, 1]]);
            assert_eq!((graph.total, graph.cut, graph.nodes[0].links), (3, true, 2));
        });
    }
}
