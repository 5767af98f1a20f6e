//! `get_vault_stats`: the vault in numbers.

use std::fmt::Write as _;

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vault::VaultPath;
use vault::catalog::{Catalog, Stats, TagCount, Visible};

use crate::clock::minute;
use crate::page::clip;

/// Tags, notes and folders that are named.
const TAGS: usize = 15;
const RECENT: usize = 10;
const FOLDERS: usize = 50;

/// The tool.
pub struct GetVaultStats;

/// Count the vault: notes, files, folders, links, tags and tasks; its top folders, most used tags and the notes changed
/// last.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {}

/// What is counted and named.
struct Numbers {
    stats: Stats,
    tags: Vec<TagCount>,
    recent: Vec<(VaultPath, i64)>,
}

impl Tool for GetVaultStats {
    const SPEC: Spec = Spec::new("get_vault_stats", Group::Vault, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, _: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let mut numbers = view.catalog()?.ask(gather);
        let folders = top_folders(&mut numbers.stats);
        let recent: Vec<Recent> = numbers
            .recent
            .iter()
            .map(|(path, changed)| Recent { path, changed: minute(view, changed / 1_000_000) })
            .collect();
        let text = words(&numbers, &folders, &recent);
        let mut data = serde_json::to_value(&numbers.stats).unwrap_or(Value::Null);
        data["top_folders"] = json!(folders.iter().cloned().collect::<serde_json::Map<_, _>>());
        data["top_tags"] = json!(numbers.tags);
        data["recent"] = json!(recent);
        Ok(Plan::Answer(Output::new(text, data).from_vault("vault statistics").telling_nothing()))
    }
}

/// A note and when it was changed.
#[derive(Serialize)]
struct Recent<'a> {
    path: &'a VaultPath,
    changed: String,
}

fn gather(catalog: &Catalog, visible: Visible<'_>) -> Numbers {
    let mut tags = catalog.tags(visible);
    tags.truncate(TAGS);
    tags.iter_mut().for_each(|tag| tag.name = clip(&tag.name, 100));
    let recent = catalog.recent(RECENT, visible);
    Numbers {
        stats: catalog.stats(visible),
        tags,
        recent: recent.into_iter().map(|info| (info.path.clone(), info.stat.modified_ns)).collect(),
    }
}

/// The folders at the top with the most notes, by name.
fn top_folders(stats: &mut Stats) -> Vec<(String, Value)> {
    let mut folders: Vec<(String, usize)> = std::mem::take(&mut stats.top_folders).into_iter().collect();
    folders.sort_by_key(|(_, notes)| std::cmp::Reverse(*notes));
    folders.truncate(FOLDERS);
    folders.sort();
    folders.into_iter().map(|(name, notes)| (name, json!(notes))).collect()
}

fn words(numbers: &Numbers, folders: &[(String, Value)], recent: &[Recent<'_>]) -> String {
    let stats = &numbers.stats;
    let mut text = format!(
        "notes: {}\nother files: {}\nfolders: {}\nbytes: {}\nlinks: {}\ntags: {}\ntasks: {} open, {} done",
        stats.notes,
        stats.attachments,
        stats.folders,
        stats.bytes,
        stats.links,
        stats.tags,
        stats.open_tasks,
        stats.done_tasks,
    );
    let mut list = |title: &str, lines: Vec<String>| {
        if !lines.is_empty() {
            let _ = write!(text, "\n\n{title}\n{}", lines.join("\n"));
        }
    };
    list("top folders (notes)", folders.iter().map(|(name, notes)| format!("{name}: {notes}")).collect());
    let tags = numbers.tags.iter();
    list("top tags (uses)", tags.map(|tag| format!("#{}: {}", tag.name, tag.occurrences)).collect());
    list("changed last", recent.iter().map(|note| format!("{}  {}", note.changed, note.path)).collect());
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::Registry;
    use pipeline::approve::Beforehand;
    use pipeline::testing::{Rig, show};
    use std::time::{Duration, UNIX_EPOCH};

    #[test]
    #[expect(clippy::disallowed_methods, reason = "the test sets the times of its own files")]
    fn the_vault_is_counted() {
        let registry = Registry::default();
        registry.add(GetVaultStats);
        let rig = Rig::new(
            "a.md: #x/y #x [[b]]\n- [ ] do\n- [x] done\n--- Sub/b.md: #X\n--- Sub/Deep/c.md: c\n--- Empty/:\n--- p.png: 12345",
            registry,
        );
        for (at, file) in ["a.md", "Sub/b.md", "Sub/Deep/c.md"].into_iter().enumerate() {
            let file = std::fs::File::options().append(true).open(rig.root().join(file)).unwrap();
            file.set_modified(UNIX_EPOCH + Duration::from_secs(60 * at as u64)).unwrap();
        }
        rig.task.activate(&["get_vault_stats".to_owned()]);
        expect![[r#"
            notes: 3
            other files: 1
            folders: 3
            bytes: 41
            links: 1
            tags: 2
            tasks: 1 open, 1 done

            top folders (notes)
            Empty: 0
            Sub: 2

            top tags (uses)
            #X: 3
            #x/y: 1

            changed last
            1970-01-01 01:02  Sub/Deep/c.md
            1970-01-01 01:01  Sub/b.md
            1970-01-01 01:00  a.md"#]]
        .assert_eq(&show(&rig.call("get_vault_stats", json!({}), &Beforehand)));
    }
}
