//! `obsidian_get_note`: a note, whole or in part.
//!
//! The whole text is always whole: a note read in part and written back would lose the rest. The engine knows no time of
//! creation, so `ctime` is the time of the last change, the latest that it can be.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::edit::tags;
use vault::note::links::LinkStyle;
use vault::note::outline::{document_map, read_section, version};
use vault::note::{self, front};
use vault::{Error, VaultPath};

use super::section::SectionInput;
use super::target::NoteTarget;

/// Read a note: `content` (the text), `full` (with frontmatter, tags, stat), `document-map` (headings, blocks, fields to
/// target) or one `section`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    format: Format,
    target: NoteTarget,
    /// For format `section`. Heading: `Parent::Child` or a unique name; block: id without `^`; frontmatter: key.
    section: Option<SectionInput>,
    /// For format `full`: list outgoing links too.
    #[serde(default)]
    include_links: bool,
}

#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
enum Format {
    Content,
    Full,
    DocumentMap,
    Section,
}

/// The tool.
pub struct GetNote;

impl Tool for GetNote {
    const SPEC: Spec = Spec::new("obsidian_get_note", Group::Read, Effect::Answers);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let section = match (input.format, input.section) {
            (Format::Section, None) => return Err(section_required()),
            (_, section) => section,
        };
        let path = input.target.found(view)?;
        let text = view.text(&path)?;
        if let Some(byte) = text.find('\0') {
            return Err(Error::Binary { path, byte }.into());
        }
        let version = version(&text);
        let (shown, mut result) = match (input.format, section) {
            (Format::Section, Some(section)) => read_part(&text, &section, &path)?,
            (Format::DocumentMap, _) => map(&text),
            (Format::Full, _) => full(view, &path, &text, input.include_links)?,
            _ => (text.clone(), json!({ "format": "content", "content": text })),
        };
        result["path"] = json!(path);
        result["version"] = json!(version);
        let shown = format!("{path} (version {version})\n\n{shown}");
        let mut data = serde_json::Map::new();
        data.insert("result".to_owned(), result);
        Ok(Plan::Answer(Output::of(shown, Value::Object(data)).from_vault(path.as_str())))
    }
}

fn section_required() -> Refusal {
    Refusal::new(
        "section_required",
        "format `section` needs a section",
        "pass section {\"type\": \"heading\", \"target\": \"…\"}, or use another format",
    )
    .with("format", "section")
}

fn read_part(text: &str, section: &SectionInput, path: &VaultPath) -> Result<(String, Value), Refusal> {
    let found =
        read_section(text, &section.target()).map_err(|error| Refusal::from(error).with("path", path))?;
    let mut result = json!({ "format": "section", "section": section.named(found.address) });
    match found.value {
        Some(value) => result["valueJson"] = value,
        None => result["valueText"] = json!(found.text),
    }
    Ok((found.text, result))
}

fn map(text: &str) -> (String, Value) {
    let map = document_map(text);
    let part = |title: &str, names: &[String]| match names.is_empty() {
        true => format!("{title}: none"),
        false => format!("{title}:\n- {}", names.join("\n- ")),
    };
    let shown = [
        part("headings", &map.headings),
        part("blocks", &map.blocks),
        part("frontmatter fields", &map.frontmatter_fields),
    ];
    let mut result = json!(map);
    result["format"] = json!("document-map");
    (shown.join("\n"), result)
}

fn full(view: &View<'_>, path: &VaultPath, text: &str, links: bool) -> Result<(String, Value), Refusal> {
    let stat = view.look(path)?.map(|entry| entry.stat).unwrap_or_default();
    let changed = stat.modified_ns / 1_000_000;
    let values = front::split(text).map(|front| front.values);
    let mut shown = format!("{} bytes", stat.size);
    if let Some(Err(problem)) = &values {
        shown += &format!("; the frontmatter cannot be read: {problem}");
    }
    let tags = tags::list(text).all;
    if !tags.is_empty() {
        shown += &format!("; tags: {}", tags.join(", "));
    }
    let mut result = json!({
        "format": "full",
        "content": text,
        "frontmatter": values.and_then(Result::ok).unwrap_or_default(),
        "tags": tags,
        "stat": { "ctime": changed, "mtime": changed, "size": stat.size },
    });
    if links {
        let outgoing = outgoing(text);
        let named: Vec<&str> = outgoing.iter().filter_map(|link| link["target"].as_str()).collect();
        shown += &format!("; links: {}", if named.is_empty() { "none".to_owned() } else { named.join(", ") });
        result["outgoingLinks"] = json!(outgoing);
    }
    Ok((format!("{shown}\n\n{text}"), result))
}

/// Wiki links first, then Markdown links, as often as they stand there; those inside the note itself are none.
fn outgoing(text: &str) -> Vec<Value> {
    let links = note::parse(text).links;
    let of = |style: LinkStyle| {
        links.iter().filter(move |link| link.style == style && !link.target.is_empty()).map(
            move |link| match (style, &link.fragment) {
                (LinkStyle::Wiki, _) => json!({ "target": link.target, "type": "wikilink" }),
                (LinkStyle::Markdown, None) => json!({ "target": link.target, "type": "markdown" }),
                (LinkStyle::Markdown, Some(fragment)) => {
                    json!({ "target": format!("{}#{fragment}", link.target), "type": "markdown" })
                }
            },
        )
    };
    of(LinkStyle::Wiki).chain(of(LinkStyle::Markdown)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::obsidian::testing::data;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str =
        "F/a.md: ---\ntags: [x]\nn: 1\n---\n# A\ntext [t](c.md#h) [[b#s|B]] ^id\n## B\nmore #y [[#A]]\n";

    #[track_caller]
    fn check_format(input: Value, expected: expect_test::Expect) {
        let mut input = input;
        input["target"] = json!({"type": "path", "path": "/F/a.md"});
        check(GetNote, VAULT, input, expected);
    }

    #[test]
    fn each_format_shows_its_part() {
        check_format(
            json!({"format": "content"}),
            expect![[r#"
            F/a.md (version 9abbc8f98d800f7c)

            ---
            tags: [x]
            n: 1
            ---
            # A
            text [t](c.md#h) [[b#s|B]] ^id
            ## B
            more #y [[#A]]
        "#]],
        );
        check_format(
            json!({"format": "full", "includeLinks": true}),
            expect![[r#"
            F/a.md (version 9abbc8f98d800f7c)

            78 bytes; tags: x, y; links: b, c.md#h

            ---
            tags: [x]
            n: 1
            ---
            # A
            text [t](c.md#h) [[b#s|B]] ^id
            ## B
            more #y [[#A]]
        "#]],
        );
        check_format(
            json!({"format": "document-map"}),
            expect![[r#"
            F/a.md (version 9abbc8f98d800f7c)

            headings:
            - A
            - A::B
            blocks:
            - id
            frontmatter fields:
            - tags
            - n"#]],
        );
        for (kind, target) in [("heading", "B"), ("block", "id"), ("frontmatter", "tags")] {
            let section = json!({"type": kind, "target": target});
            let input = json!({"format": "section", "section": section,
                "target": {"type": "path", "path": "F/a.md"}});
            let result = &data(GetNote, VAULT, input)["result"];
            assert_eq!(result["format"], "section");
            assert_eq!(result.get("valueJson").is_some(), kind == "frontmatter", "{result}");
            assert_eq!(result.get("valueText").is_some(), kind != "frontmatter", "{result}");
        }
    }

    #[test]
    fn the_data_has_the_fields_of_the_original() {
        let input =
            json!({"format": "full", "includeLinks": true, "target": {"type": "path", "path": "F/a.md"}});
        let mut result = data(GetNote, VAULT, input)["result"].take();
        let changed = result["stat"]["mtime"].take();
        assert!(changed.as_i64().is_some_and(|changed| changed > 1_600_000_000_000));
        assert_eq!(result["stat"]["ctime"].take(), changed);
        expect![[r#"{"format":"full","content":"---\ntags: [x]\nn: 1\n---\n# A\ntext [t](c.md#h) [[b#s|B]] ^id\n## B\nmore #y [[#A]]\n","frontmatter":{"tags":["x"],"n":1},"tags":["x","y"],"stat":{"ctime":null,"mtime":null,"size":78},"outgoingLinks":[{"target":"b","type":"wikilink"},{"target":"c.md#h","type":"markdown"}],"path":"F/a.md","version":"9abbc8f98d800f7c"}"#]].assert_eq(&result.to_string());
        let map = data(
            GetNote,
            VAULT,
            json!({"format": "document-map", "target": {"type": "path", "path": "F/a.md"}}),
        );
        expect![[r#"{"result":{"headings":["A","A::B"],"blocks":["id"],"frontmatterFields":["tags","n"],"version":"9abbc8f98d800f7c","format":"document-map","path":"F/a.md"}}"#]].assert_eq(&map.to_string());
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_reason() {
        check_format(
            json!({"format": "section"}),
            expect![[
                r#"refused: section_required: format `section` needs a section. pass section {"type": "heading", "target": "…"}, or use another format"#
            ]],
        );
        check_format(
            json!({"format": "section", "section": {"type": "heading", "target": "C"}}),
            expect![
                "refused: section_missing: there is no heading `C` in this note. read the document map and use an entry of it; there is `A`, `A::B`"
            ],
        );
        let at = |path: &str| json!({"format": "content", "target": {"type": "path", "path": path}});
        check(
            GetNote,
            VAULT,
            at("G/z.md"),
            expect!["refused: note_missing: there is no `G/z.md` in the vault. did you mean `F/a.md`?"],
        );
        check(
            GetNote,
            VAULT,
            at("F/"),
            expect!["refused: path_is_directory: `F` is a folder. list the folder and name one of its files"],
        );
        check(
            GetNote,
            VAULT,
            at("/../a.md"),
            expect![[
                r#"refused: path_traversal: the path has a `.` or `..` segment: "../a.md". give the path from the vault's root, with no `.` or `..` in any spelling"#
            ]],
        );
        check(
            GetNote,
            "F/a.md: x\n--- G/a.md: y",
            at("a.md"),
            expect![
                "refused: ambiguous_path: `a.md` could be several files. use one of the exact paths: `F/a.md`, `G/a.md`"
            ],
        );
        check(
            GetNote,
            VAULT,
            json!({"format": "content", "target": {"type": "active"}}),
            expect![[
                r#"refused: no_active_file: no note is open in Obsidian that may be read here. name the note by its path: {"type": "path", "path": "…"}"#
            ]],
        );
        let of = |date: &str| json!({"format": "content", "target": {"type": "periodic", "period": "daily", "date": date}});
        check(
            GetNote,
            VAULT,
            of("2026-01-01"),
            expect![
                "refused: periodic_not_found: there is no daily note of 2026-01-01 that may be read here. name another note by its path, or create it with obsidian_write_note at `2026-01-01.md`"
            ],
        );
        check(
            GetNote,
            VAULT,
            of("2026-13-01"),
            expect![
                "refused: date_invalid: `2026-13-01` is not a date. write year, month and day, e.g. 2026-03-14"
            ],
        );
        let weekly = json!({"format": "content", "target": {"type": "periodic", "period": "weekly"}});
        check(
            GetNote,
            VAULT,
            weekly,
            expect![
                "refused: periodic_disabled: weekly notes are off in this vault's settings. name the note by its path; these are on: daily"
            ],
        );
    }

    #[test]
    fn a_note_is_found_in_another_case_as_the_open_one_and_by_its_day() {
        let vault = "F/A.md: x\n--- 2026-03-14.md: today\n\
            --- .obsidian/workspace.json: {\"active\": \"l\", \"main\": {\"id\": \"l\", \"state\": {\"state\": {\"file\": \"F/A.md\"}}}}";
        for (target, expected) in [
            (json!({"type": "path", "path": "f/a.md"}), "F/A.md"),
            (json!({"type": "active"}), "F/A.md"),
            (json!({"type": "periodic", "period": "daily"}), "2026-03-14.md"),
            (json!({"type": "periodic", "period": "daily", "date": "2026-03-14"}), "2026-03-14.md"),
        ] {
            let answer = data(GetNote, vault, json!({"format": "content", "target": target}));
            assert_eq!(answer["result"]["path"], expected);
        }
        let hidden = format!("{vault}\n--- .verger/ignore: F/");
        check(
            GetNote,
            &hidden,
            json!({"format": "content", "target": {"type": "active"}}),
            expect![[
                r#"refused: no_active_file: no note is open in Obsidian that may be read here. name the note by its path: {"type": "path", "path": "…"}"#
            ]],
        );
    }
}
