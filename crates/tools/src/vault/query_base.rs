//! `query_base`: the rows of a view of an Obsidian base, over what the agent may read.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;
use vault::VaultPath;
use vault::query::bases::{self, Base, BaseError, Context, ViewRows, Window, encode};

use crate::page::{count, page};

/// Rows of one page at most.
const MOST: usize = 500;

/// Characters of one cell at most.
const LONGEST: usize = 2_000;

/// The tool.
pub struct QueryBase;

/// Show the rows of a view of an Obsidian base: a `.base` file, or a `base` code block in a note. Filters, formulas, sort,
/// groups, limit and summaries are computed as the base says. A mistake in an expression is told with its place.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the base, e.g. `Books.base`, or of a note that holds one in a code block.
    path: VaultPath,
    /// The name of the view; the first one if absent.
    #[serde(default)]
    view: Option<String>,
    /// Which `base` code block of a note, from 1.
    #[serde(default = "one")]
    block: usize,
    /// The file that `this` means; the base or the note itself if absent.
    #[serde(default)]
    this: Option<VaultPath>,
    /// Rows to show at most, up to 500; 0 for all.
    #[serde(default = "fifty")]
    limit: usize,
    /// How many rows to pass over: `next` of the page before.
    #[serde(default)]
    offset: usize,
    /// How the text of the answer looks.
    #[serde(default)]
    format: Format,
    /// The time for `now()` and `today()`, e.g. `2026-05-01T09:00:00Z`; the real one if absent.
    #[serde(default)]
    now: Option<String>,
}

/// The text form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// Markdown tables, with a line about the page and the notices.
    #[default]
    Markdown,
    /// Markdown tables and nothing else.
    Bare,
    /// Comma-separated values and nothing else.
    Csv,
}

fn one() -> usize {
    1
}

fn fifty() -> usize {
    50
}

impl Tool for QueryBase {
    const SPEC: Spec = Spec::new("query_base", Group::Vault, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let now =
            input.now.as_deref().map(|text| super::query_vault::moment(text, view.now())).transpose()?;
        let now = now.unwrap_or_else(|| view.now().clone());
        let (text, line) = text_of(view, &input.path, input.block)?;
        let base = Base::parse(&text).map_err(|error| refuse(error.from_line(line)))?;
        let limit = if input.limit == 0 { usize::MAX } else { input.limit.min(MOST) };
        let context = Context {
            seed: now.timestamp().as_nanosecond() as u64,
            now,
            this: Some(input.this.unwrap_or_else(|| input.path.clone())),
        };
        let window = Window { offset: input.offset, limit };
        let mut rows = bases::run(&base, input.view.as_deref(), window, view.vault(), &context)
            .map_err(|error| refuse(error.from_line(line)))?;
        if input.limit > 0 {
            rows.clip(LONGEST);
            let fits = page(&rows.rows, 0, limit, |row| encode::row_length(&rows, row)).items.len();
            rows.truncate(fits);
        }
        let end = rows.offset.min(rows.count) + rows.rows.len();
        let mut data = encode::rows_to_json(&rows);
        data["path"] = json!(input.path);
        data["next"] = json!((end < rows.count && !rows.rows.is_empty()).then_some(end));
        let text = match input.format {
            Format::Csv => encode::to_csv(&rows),
            Format::Bare => encode::to_markdown(&rows),
            Format::Markdown => told(&rows, end),
        };
        Ok(Plan::Answer(Output::new(text, data).from_vault(input.path.as_str())))
    }
}

/// The base's YAML, and the line on which it starts.
fn text_of(view: &View<'_>, path: &VaultPath, block: usize) -> Result<(String, usize), Refusal> {
    let text = view.text(path)?;
    if !path.is_note() {
        return Ok((text, 1));
    }
    let mut blocks = bases::blocks(&text);
    let count = blocks.len();
    if block == 0 || block > count {
        let hint = match count {
            0 => "name a `.base` file, or a note with a code block that starts with ```base".to_owned(),
            count => format!("name a block from 1 to {count}"),
        };
        return Err(Refusal::new("base_missing", format!("`{path}` has no base code block {block}"), hint)
            .with("path", path)
            .with("blocks", count));
    }
    Ok(blocks.swap_remove(block - 1))
}

fn told(rows: &ViewRows, end: usize) -> String {
    let of = if rows.total > rows.count { format!(" (of {} that fit)", rows.total) } else { String::new() };
    let mut text = match rows.rows.len() {
        0 => format!("{} ({}): no rows of {}{of}\n\n", rows.view, rows.kind, rows.count),
        _ => {
            format!("{} ({}): rows {}-{end} of {}{of}\n\n", rows.view, rows.kind, rows.offset + 1, rows.count)
        }
    };
    text += encode::to_markdown(rows).trim_end();
    if end < rows.count && !rows.rows.is_empty() {
        text += &format!("\n\n{} more; go on with offset {end}", count(rows.count - end, "row"));
    }
    rows.notices.iter().for_each(|notice| text += &format!("\n\nnote: {notice}"));
    text
}

/// A refusal that names the place.
pub(crate) fn refuse(error: BaseError) -> Refusal {
    let refusal = Refusal::new(error.reason(), error.message(), error.hint());
    match error {
        BaseError::Vault(error) => error.into(),
        BaseError::Expression { place, line, column, .. } => {
            refusal.with("place", place).with("line", line).with("column", column)
        }
        BaseError::Shape { place, line, .. } => refusal.with("place", place).with("line", line),
        BaseError::Yaml { line, .. } => refusal.with("line", line),
        BaseError::NoView { names, .. } => refusal.with("views", names),
        _ => refusal,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "a.md: ---\nstatus: open\nrank: 2\n---\n#project [[b]]\n--- b.md: ---\nstatus: done\nrank: 1\n---\n#project\n\
        --- Private/c.md: ---\nstatus: open\nrank: 90\n---\n#project [[b]]\n--- .verger/ignore: Private/\n\
        --- p.base: filters: file.hasTag(\"project\")\nviews:\n  - type: table\n    name: All\n    order: [file.name, status, rank, file.backlinks]\n    sort: [{property: rank, direction: DESC}]\n    summaries: {rank: Sum}\n  - type: table\n    name: Bad\n    filters: number(status) > 1\n\
        --- wrong.base: views:\n  - name: V\n    filters:\n      and:\n        - file.hasTga(\"x\")\n\
        --- n.md: text\n```base\nfilters: file.hasLink(this.file)\n```\n\n```base\nfilters: '=('\n```\n";

    #[test]
    fn a_view_is_shown_and_what_is_hidden_is_in_no_row_count_link_or_summary() {
        check(
            QueryBase,
            VAULT,
            json!({"path": "p.base"}),
            expect![[r#"
            All (table): rows 1-2 of 2

            | file.name | status | rank | file.backlinks |
            | --- | --- | --- | --- |
            | [[a.md\|a.md]] | open | 2 |  |
            | [[b.md\|b.md]] | done | 1 | [[a.md]] |

            - rank, Sum: 3"#]],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "p.base", "limit": 1}),
            expect![[r#"
                All (table): rows 1-1 of 2

                | file.name | status | rank | file.backlinks |
                | --- | --- | --- | --- |
                | [[a.md\|a.md]] | open | 2 |  |

                - rank, Sum: 3

                1 row more; go on with offset 1"#]],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "p.base", "limit": 5, "offset": 9}),
            expect![[r#"
            All (table): no rows of 2

            | file.name | status | rank | file.backlinks |
            | --- | --- | --- | --- |

            - rank, Sum: 3"#]],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "p.base", "format": "csv", "limit": 0}),
            expect!["file.name,status,rank,file.backlinks\r\na.md,open,2,\r\nb.md,done,1,a.md\r\n"],
        );
    }

    #[test]
    fn a_code_block_of_a_note_is_a_base_and_this_is_the_note() {
        check(
            QueryBase,
            VAULT,
            json!({"path": "n.md"}),
            expect![[r#"
            Table (table): no rows of 0

            | file.name |
            | --- |"#]],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "n.md", "this": "b.md"}),
            expect![[r#"
            Table (table): rows 1-1 of 1

            | file.name |
            | --- |
            | [[a.md\|a.md]] |"#]],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "n.md", "block": 2}),
            expect![[r#"
            refused: expression_invalid: `filters` (line 7), column 1: `=` has no meaning here
            =(
            ^. equality is written `==`"#]],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "n.md", "block": 3}),
            expect!["refused: base_missing: `n.md` has no base code block 3. name a block from 1 to 2"],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "a.md"}),
            expect![
                "refused: base_missing: `a.md` has no base code block 1. name a `.base` file, or a note with a code block that starts with ```base"
            ],
        );
    }

    #[test]
    fn mistakes_name_their_place_and_what_was_meant() {
        check(
            QueryBase,
            VAULT,
            json!({"path": "wrong.base"}),
            expect![[r#"
            refused: expression_invalid: `views[0].filters.and[0]` (line 5), column 6: a file has no method `hasTga`
            file.hasTga("x")
                 ^. did you mean `hasTag`?"#]],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "p.base", "view": "Al"}),
            expect!["refused: view_unknown: there is no view `Al`. the views are: All, Bad"],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "p.base", "view": "Bad"}),
            expect![
                "refused: base_failed: `views[1].filters` fails on every row; the first, `a.md`: `open` is no number. check the properties and types that it uses"
            ],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "q.base"}),
            expect![
                "refused: note_missing: there is no `q.base` in the vault. did you mean `a.md`, `b.md`, `n.md`, `p.base`?"
            ],
        );
        check(
            QueryBase,
            VAULT,
            json!({"path": "Private/c.md"}),
            expect![
                "refused: note_missing: there is no `Private/c.md` in the vault. did you mean `a.md`, `b.md`, `n.md`, `p.base`?"
            ],
        );
    }
}
