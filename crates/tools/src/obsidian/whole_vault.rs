//! `obsidian_health_check` and `obsidian_periodic_note`: thin doors to the agent's own tools. The original has neither.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use vault::periodic::Period;

use crate::vault::{GetDailyNote, VaultHealthCheck, get_daily_note, vault_health_check};

/// Find broken links, orphans, duplicate names, bad frontmatter and the like. Nothing is changed.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HealthInput {
    /// Only findings of this kind.
    kind: Option<vault_health_check::Kind>,
    /// Findings to list, up to 500.
    #[serde(default = "fifty")]
    limit: usize,
    /// How many to pass over: `next` of the page before.
    #[serde(default)]
    offset: usize,
}

fn fifty() -> usize {
    50
}

/// The tool.
pub struct HealthCheck;

impl Tool for HealthCheck {
    const SPEC: Spec = Spec::new("obsidian_health_check", Group::Vault, Effect::Answers).deferred();
    type Input = HealthInput;

    async fn plan(&self, input: HealthInput, view: &View<'_>) -> Result<Plan, Refusal> {
        let HealthInput { kind, limit, offset } = input;
        VaultHealthCheck
            .plan(
                vault_health_check::Input { kind, look: vault_health_check::Look::default(), limit, offset },
                view,
            )
            .await
    }
}

/// Read the note of a day, week, month, quarter or year, or create it from its template with `create`.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PeriodicInput {
    /// Which kind of note.
    #[serde(default = "daily")]
    period: Period,
    /// A day of the period (`2026-03-14`); today if left out.
    date: Option<String>,
    /// Periods from there: -1 is the one before.
    #[serde(default)]
    offset: i64,
    /// Make it if it is missing.
    #[serde(default)]
    create: bool,
}

fn daily() -> Period {
    Period::Daily
}

/// The tool.
pub struct PeriodicNote;

impl Tool for PeriodicNote {
    const SPEC: Spec = Spec::new("obsidian_periodic_note", Group::Edit, Effect::Edits).deferred();
    type Input = PeriodicInput;

    async fn plan(&self, input: PeriodicInput, view: &View<'_>) -> Result<Plan, Refusal> {
        let PeriodicInput { period, date, offset, create } = input;
        GetDailyNote.plan(get_daily_note::Input { offset, create, period, date }, view).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::json;

    #[test]
    fn a_periodic_note_is_made_from_its_template_when_asked() {
        let vault =
            "T.md: # {{title}}\n--- .obsidian/daily-notes.json: {\"template\": \"T\", \"folder\": \"J\"}";
        check(
            PeriodicNote,
            vault,
            json!({"date": "2026-03-10"}),
            expect![[
                r#"refused: periodic_not_found: there is no daily note of 2026-03-10; it would be `J/2026-03-10.md`. add "create": true to make it from the template"#
            ]],
        );
        check(
            PeriodicNote,
            vault,
            json!({"date": "2026-03-10", "create": true}),
            expect![[r#"
            created J/2026-03-10.md (lines 1-1 of 1)
            + J/2026-03-10.md (0 -> 12 bytes)
            +# 2026-03-10
        "#]],
        );
    }

    #[test]
    fn what_is_wrong_in_the_vault_is_listed() {
        check(
            HealthCheck,
            "a.md: [[nowhere]]",
            json!({"kind": "broken_link"}),
            expect![[r#"
            2 findings: 1 broken_link, 1 orphan
            broken_link: a.md, line 1: `nowhere` leads to nothing (repair: create the note, point the link elsewhere, or remove it)"#]],
        );
    }
}
