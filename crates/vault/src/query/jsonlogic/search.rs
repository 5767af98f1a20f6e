//! A rule over all notes that a view shows, a lot of notes at a time.

use serde_json::{Map, Value as Json, json};

use super::wants::Wants;
use super::{Logic, LogicError, is_hit};
use crate::catalog::{Catalog, FileInfo, Visible};
use crate::path::VaultPath;
use crate::view::View;

/// How many notes are looked up at a time.
const LOT: usize = 1_024;

/// A note for which a rule has a result.
#[derive(Debug, Clone, PartialEq)]
pub struct Hit {
    /// The note.
    pub path: VaultPath,
    /// What the rule gave.
    pub result: Json,
}

/// The notes for which the rule's result is not empty, in path order. Data per note: `path`, `content`, `frontmatter`,
/// `tags`, `stat`, `links`, `backlinks`, `unresolvedLinks`; only what the rule may ask for is made or read.
pub fn search(rule: &Json, view: &View<'_>) -> Result<Vec<Hit>, LogicError> {
    let catalog = view.catalog()?;
    let wants = Wants::of(rule);
    let logic = Logic::default();
    let notes: Vec<VaultPath> =
        catalog.ask(|catalog, visible| catalog.notes(visible).map(|info| info.path.clone()).collect());
    let mut hits = Vec::new();
    for lot in notes.chunks(LOT) {
        let data: Vec<Option<Map<String, Json>>> = catalog.ask(|catalog, visible| {
            let found = catalog.get_all(lot, visible).into_iter();
            found.map(|info| info.map(|info| facts(info, &wants, catalog, visible))).collect()
        });
        for (path, data) in lot.iter().zip(data) {
            let Some(mut data) = data else { continue };
            if wants.field("content") {
                match view.read(path) {
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
                hits.push(Hit { path: path.clone(), result });
            }
        }
    }
    Ok(hits)
}

/// What the catalog knows of a note, as far as it is wanted.
fn facts(info: &FileInfo, wants: &Wants, catalog: &Catalog, visible: Visible<'_>) -> Map<String, Json> {
    let mut data = Map::new();
    let mut set = |name: &str, value: &dyn Fn() -> Json| {
        if wants.field(name) {
            data.insert(name.to_owned(), value());
        }
    };
    set("path", &|| Json::from(info.path.as_str()));
    set("frontmatter", &|| {
        let asked = info.properties.iter().filter(|(key, _)| wants.property(key));
        Json::Object(asked.map(|(key, value)| (key.to_string(), value.to_json())).collect())
    });
    set("tags", &|| Json::from(info.tag_names()));
    set("stat", &|| {
        let time = info.stat.modified_ns / 1_000_000;
        json!({"ctime": time, "mtime": time, "size": info.stat.size})
    });
    set("links", &|| {
        let out = catalog.outgoing(&info.path, visible);
        distinct(out.iter().filter_map(|link| link.to.map(ToString::to_string)))
    });
    set("unresolvedLinks", &|| {
        let out = catalog.outgoing(&info.path, visible);
        distinct(out.iter().filter(|link| link.to.is_none()).map(|link| link.link.target.to_string()))
    });
    set("backlinks", &|| {
        let from = catalog.backlinks(&info.path, visible);
        distinct(from.iter().map(|link| link.from.to_string()))
    });
    data
}

fn distinct(texts: impl Iterator<Item = String>) -> Json {
    let mut seen = std::collections::HashSet::new();
    Json::from(texts.filter(|text| seen.insert(text.clone())).collect::<Vec<_>>())
}
