//! `query_vault`: questions in Dataview's query language or in JSONLogic, over what the agent may read.

use jiff::Zoned;
use pipeline::{Effect, Group, Output, Plan, Refusal, ResultRow, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vault::VaultPath;
use vault::query::dql::{self, Context, QueryError, VaultPages};
use vault::query::jsonlogic::{self, LogicError};

use crate::page::count;

/// The tool.
pub struct QueryVault;

/// Ask the vault a query in Dataview's language, e.g. `TABLE due FROM #project WHERE !done SORT due`, `LIST`, `TASK` or
/// `CALENDAR`; or a JSONLogic rule over path, content, frontmatter, tags, stat, links and backlinks of each note.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The Dataview query.
    #[serde(default)]
    query: Option<String>,
    /// The JSONLogic rule, instead of `query`.
    #[serde(default)]
    logic: Option<Value>,
    /// The note in which the query stands: `this`, and where relative links start.
    #[serde(default)]
    this: Option<VaultPath>,
    /// How the text of the answer looks.
    #[serde(default)]
    format: Format,
    /// The time for `date(now)` and `date(today)`, e.g. `2026-05-01T09:00:00Z`; the real one if absent.
    #[serde(default)]
    now: Option<String>,
    /// Many queries at once, instead of `query`: one JSON object a line, `{"id": …, "query": …}` or `{"id": …, "expr": …}`.
    #[serde(default)]
    batch: Option<String>,
}

/// The text form of an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Format {
    /// A Markdown table or list.
    #[default]
    Markdown,
    /// Comma-separated values.
    Csv,
}

impl Tool for QueryVault {
    const SPEC: Spec = Spec::new("query_vault", Group::Vault, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let now = input.now.as_deref().map(|text| moment(text, view.now())).transpose()?;
        let now = now.unwrap_or_else(|| view.now().clone());
        let output = match (input.query, input.logic, input.batch) {
            (Some(query), None, None) => run(view, &query, Context { now, this: input.this }, input.format)?,
            (None, Some(rule), None) => logic(view, &rule)?,
            (None, None, Some(lines)) => batch(view, &lines, &now)?,
            _ => {
                return Err(Refusal::new(
                    "query_required",
                    "there must be exactly one of `query`, `logic` and `batch`",
                    "pass a Dataview query, e.g. LIST FROM #project",
                ));
            }
        };
        Ok(Plan::Answer(output.from_vault("query")))
    }
}

fn run(view: &View<'_>, query: &str, context: Context, format: Format) -> Result<Output, Refusal> {
    let pages = VaultPages::new(*view.vault())?;
    let result = dql::run(query, &pages, &context).map_err(|error| refuse(query, error))?;
    let text = match format {
        Format::Markdown => dql::encode::to_markdown(&result),
        Format::Csv => dql::encode::to_csv(&result),
    };
    Ok(Output::new(text, dql::encode::result_to_json(&result)))
}

fn logic(view: &View<'_>, rule: &Value) -> Result<Output, Refusal> {
    let hits = jsonlogic::search(rule, view.vault()).map_err(refuse_logic)?;
    let mut text = format!("{} found", count(hits.len(), "note"));
    hits.iter().for_each(|hit| text += &format!("\n{}: {}", hit.path, hit.result));
    let data: Vec<Value> = hits.iter().map(|hit| json!({"path": hit.path, "result": hit.result})).collect();
    let rows = || hits.iter().map(|hit| ResultRow::new(&hit.path, hit.result.to_string())).collect();
    Ok(Output::new(text, json!({ "hits": data })).telling_rows(view, rows))
}

fn batch(view: &View<'_>, lines: &str, now: &Zoned) -> Result<Output, Refusal> {
    let pages = VaultPages::new(*view.vault())?;
    let answers = dql::batch(lines, &pages, now);
    Ok(Output::new(answers.join("\n"), json!({ "rows": answers.len() })))
}

/// A refusal in JSONLogic's words.
pub(crate) fn refuse_logic(error: LogicError) -> Refusal {
    match error {
        LogicError::Vault(error) => error.into(),
        error => Refusal::new(
            "logic_invalid",
            error.to_string(),
            "mend the rule; `var` names the fields of a note",
        ),
    }
}

/// A refusal that points at the place.
pub(crate) fn refuse(query: &str, error: QueryError) -> Refusal {
    match error {
        QueryError::Vault(error) => error.into(),
        QueryError::Parse { line, column, ref expected, ref found, hint, .. } => {
            let text: String = query.lines().nth(line - 1).unwrap_or_default().chars().take(200).collect();
            let caret = format!("{}^", " ".repeat(column.saturating_sub(1).min(200)));
            let message =
                format!("line {line}, column {column}: expected {expected}, found {found}\n{text}\n{caret}");
            let hint = if hint.is_empty() { "see the grammar of Dataview queries" } else { hint };
            Refusal::new("query_invalid", message, hint).with("line", line).with("column", column)
        }
        QueryError::Evaluate { message } => {
            Refusal::new("query_failed", message, "check the fields and types that the query uses")
        }
        error @ QueryError::Limit { .. } => Refusal::new(
            "query_too_large",
            error.to_string(),
            "narrow it: a smaller FROM, a LIMIT, fewer nested functions",
        ),
    }
}

/// A time as `--now` and tests give it; without an offset, in the user's zone.
pub(crate) fn moment(text: &str, now: &Zoned) -> Result<Zoned, Refusal> {
    let zone = now.time_zone().clone();
    if let Ok(instant) = text.parse::<jiff::Timestamp>() {
        let utc = text.ends_with(['Z', 'z']);
        return Ok(instant.to_zoned(if utc { jiff::tz::TimeZone::UTC } else { zone }));
    }
    let civil = text.parse::<jiff::civil::DateTime>().ok().and_then(|civil| civil.to_zoned(zone).ok());
    civil.ok_or_else(|| {
        Refusal::new(
            "date_invalid",
            format!("`{}` is no time", crate::page::clip(text, 40)),
            "write it as 2026-05-01T09:00:00Z",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str = "a.md: ---\nstatus: open\nrank: 2\n---\n#project\n- [ ] write\n--- b.md: ---\nstatus: done\nrank: 1\n---\n#project\n\
        --- Private/c.md: ---\nstatus: open\n---\n#project\n--- .verger/ignore: Private/";

    #[test]
    fn a_query_is_answered_as_a_table_and_what_is_hidden_is_not_in_it() {
        check(
            QueryVault,
            VAULT,
            json!({"query": "TABLE status, rank FROM #project SORT rank"}),
            expect![[r#"
                | File | status | rank |
                | --- | --- | --- |
                | [[b.md\|b]] | done | 1 |
                | [[a.md\|a]] | open | 2 |
            "#]],
        );
        check(
            QueryVault,
            VAULT,
            json!({"logic": {"==": [{"var": "frontmatter.status"}, "open"]}}),
            expect![[r#"
            1 note found
            a.md: true"#]],
        );
    }

    #[test]
    fn mistakes_point_at_the_place() {
        for (input, expected) in [
            (
                json!({"query": "TABLE status FORM #x"}),
                expect![[r#"
                refused: query_invalid: line 1, column 14: expected an operator, AS, ,, FROM, WHERE, SORT, LIMIT, GROUP BY, FLATTEN, FROM, WHERE, SORT, LIMIT, GROUP BY, FLATTEN or the end, found `FORM`
                TABLE status FORM #x
                             ^. A query is: TABLE|LIST|TASK|CALENDAR fields FROM source WHERE … SORT … GROUP BY … FLATTEN … LIMIT …"#]],
            ),
            (
                json!({"query": "LIST WHERE date(\"x\") + 1 > 2"}),
                expect![
                    "refused: query_failed: every row failed in WHERE; the first: `+` does not work on a null and a number. check the fields and types that the query uses"
                ],
            ),
            (
                json!({"logic": {"nope": [1]}}),
                expect![[r#"
                    refused: logic_invalid: there is no operator `nope`
                    at nope
                    {"nope":[1]}
                     ^
                    There are: var missing missing_some if ?: == === != !== ! !! or and > >= < <= max min + - * / % map filter reduce all none some merge in cat substr log glob regexp. mend the rule; `var` names the fields of a note"#]],
            ),
            (
                json!({}),
                expect![
                    "refused: query_required: there must be exactly one of `query`, `logic` and `batch`. pass a Dataview query, e.g. LIST FROM #project"
                ],
            ),
            (
                json!({"query": "LIST", "now": "soon"}),
                expect!["refused: date_invalid: `soon` is no time. write it as 2026-05-01T09:00:00Z"],
            ),
        ] {
            check(QueryVault, VAULT, input, expected);
        }
    }
}
