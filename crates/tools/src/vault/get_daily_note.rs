//! `get_daily_note`: the note of a day, week, month, quarter or year; made from the template if asked.
//!
//! Where it lies and what a new one says is Obsidian's own setting. Making it is an edit like every other: it is
//! approved, checkpointed and can be undone.

use jiff::civil::Date;
use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::moment::Moment;
use vault::note::outline::version;
use vault::periodic::{self, Draft, Period, Settings};
use vault::{Change, VaultPath};

use crate::page::clip;
use crate::window::{Window, window};

/// The tool.
pub struct GetDailyNote;

/// Read the daily note, today's unless told otherwise, or the note of another period. With `create` it is made from the
/// user's template if it is missing.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Periods from today or from `date`: -1 is yesterday's note, or last week's.
    #[serde(default)]
    pub(crate) offset: i64,
    /// Make the note if it is missing.
    #[serde(default)]
    pub(crate) create: bool,
    /// Which kind of note: daily, weekly, monthly, quarterly or yearly.
    #[serde(default = "daily")]
    pub(crate) period: Period,
    /// A day of the period, e.g. `2026-03-14`, instead of today in the user's time zone.
    pub(crate) date: Option<String>,
}

fn daily() -> Period {
    Period::Daily
}

fn parse(text: &str) -> Result<Date, Refusal> {
    text.trim().parse().map_err(|_| {
        let message = format!("`{}` is not a date", clip(text, 40));
        Refusal::new("date_invalid", message, "write the day as year, month and day, e.g. 2026-03-14")
    })
}

/// The note that was asked for.
struct Wanted {
    settings: Settings,
    period: Period,
    date: Date,
}

impl Tool for GetDailyNote {
    const SPEC: Spec = Spec::new("get_daily_note", Group::Vault, Effect::Edits).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let from = match &input.date {
            Some(text) => parse(text)?,
            None => view.now().date(),
        };
        let date = input.period.shift(from, input.offset)?;
        let wanted = Wanted { settings: view.periodic_settings()?, period: input.period, date };
        let expected = periodic::path_for(&wanted.settings, wanted.period, date)?;
        if let Some(path) = wanted.existing(view, &expected)? {
            return wanted.answer(view, &path, &view.text(&path)?);
        }
        if !view.scope().may_read(&expected) {
            return Err(wanted.out_of_sight());
        }
        if !input.create {
            return Err(wanted.not_found(&expected));
        }
        wanted.create(view)
    }
}

impl Wanted {
    fn existing(&self, view: &View<'_>, expected: &VaultPath) -> Result<Option<VaultPath>, Refusal> {
        if view.scope().may_read(expected) && view.look(expected)?.is_some() {
            return Ok(Some(expected.clone()));
        }
        Ok(view.catalog()?.ask(|catalog, visible| {
            let paths = catalog.notes(visible).map(|info| &info.path);
            periodic::find(&self.settings, self.period, self.date, paths)
        }))
    }

    fn answer(&self, view: &View<'_>, path: &VaultPath, text: &str) -> Result<Plan, Refusal> {
        let window = window(text, 1, 1, None)?;
        let shown = format!(
            "{path} ({} note of {}, {}, version {})\n\n{}{}",
            self.period.name(),
            self.date,
            window.lines(),
            version(text),
            window.content,
            window.rest("read_file", json!({ "path": path })),
        );
        let output = Output::new(shown, self.data(path, text, &window, false)).from_vault(path.as_str());
        Ok(Plan::Answer(output.telling_note(view, path)))
    }

    fn create(&self, view: &View<'_>) -> Result<Plan, Refusal> {
        let template = self.settings.notes(self.period)?.template.as_ref();
        // A template that may not be read would be read by way of the note made from it.
        if template.is_some_and(|template| !view.scope().may_read(template)) {
            return Err(self.template_hidden());
        }
        let now = Moment::from(view.now());
        let read = |name: &str| view.machinery_text(name);
        let Draft { path, text } = periodic::draft(&self.settings, self.period, self.date, now, &read)?;
        let window = window(&text, 1, 1, None)?;
        let data = self.data(&path, &text, &window, true);
        let output =
            Output::new(format!("created {path} ({})", window.lines()), data).from_vault(path.as_str());
        let summary = format!("create the {} note {path}", self.period.name());
        Ok(Plan::edit(vec![Change::create(path, text)], summary, output))
    }

    fn data(&self, path: &VaultPath, text: &str, window: &Window, created: bool) -> Value {
        json!({
            "path": path,
            "period": self.period,
            "date": self.date,
            "created": created,
            "content": window.content,
            "total_lines": window.total_lines,
            "total_chars": window.total_chars,
            "version": version(text),
        })
    }

    fn not_found(&self, expected: &VaultPath) -> Refusal {
        Refusal::new(
            "periodic_not_found",
            format!("there is no {} note of {}; it would be `{expected}`", self.period.name(), self.date),
            "add \"create\": true to make it from the template",
        )
        .with("path", expected)
    }

    fn out_of_sight(&self) -> Refusal {
        Refusal::new(
            "periodic_not_found",
            format!("there is no {} note of {} that may be read here", self.period.name(), self.date),
            "ask the user: their settings keep these notes where this agent may not read or write",
        )
    }

    fn template_hidden(&self) -> Refusal {
        Refusal::new(
            "template_hidden",
            format!("the template of {} notes may not be read here", self.period.name()),
            "ask the user to let it be read (`!path` in `.verger/ignore`), or write the note with your own text",
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::approve::Nobody;
    use pipeline::audit::Audit;
    use pipeline::grants::Grants;
    use pipeline::testing::{Rig, check, show};
    use pipeline::{Registry, Rights, Road, World};

    const VAULT: &str = "Days/2026/03-March/2026-03-13 Friday.md: # Friday\n\
        --- Templates/Day.md: # {{title}}\n{{date:dddd, MMMM Do YYYY}}\n\
        --- .obsidian/daily-notes.json: {\"folder\": \"Days\", \"format\": \"YYYY/MM-MMMM/YYYY-MM-DD dddd\", \"template\": \"Templates/Day\"}";

    #[test]
    fn todays_note_is_made_from_the_template_at_the_path_that_the_format_says() {
        check(
            GetDailyNote,
            VAULT,
            json!({"create": true}),
            expect![[r#"
            created Days/2026/03-March/2026-03-14 Saturday.md (lines 1-2 of 2)
            + Days/2026/03-March/2026-03-14 Saturday.md (0 -> 47 bytes)
            +# 2026-03-14 Saturday
            +Saturday, March 14th 2026
        "#]],
        );
        check(
            GetDailyNote,
            "a.md: x",
            json!({"create": true}),
            expect![[r#"
            created 2026-03-14.md (empty)
            + 2026-03-14.md (0 -> 0 bytes)
        "#]],
        );
    }

    #[test]
    fn an_existing_note_is_read_and_never_made_again() {
        check(
            GetDailyNote,
            VAULT,
            json!({"offset": -1, "create": true}),
            expect![[r#"
            Days/2026/03-March/2026-03-13 Friday.md (daily note of 2026-03-13, lines 1-1 of 1, version bbdadc64b6ec9118)

            # Friday"#]],
        );
        check(
            GetDailyNote,
            VAULT,
            json!({"date": "2026-03-12", "offset": 1}),
            expect![[r#"
            Days/2026/03-March/2026-03-13 Friday.md (daily note of 2026-03-13, lines 1-1 of 1, version bbdadc64b6ec9118)

            # Friday"#]],
        );
    }

    #[test]
    fn a_missing_note_is_refused_with_its_path_and_the_way_to_make_it() {
        check(
            GetDailyNote,
            VAULT,
            json!({}),
            expect![[
                r#"refused: periodic_not_found: there is no daily note of 2026-03-14; it would be `Days/2026/03-March/2026-03-14 Saturday.md`. add "create": true to make it from the template"#
            ]],
        );
        check(
            GetDailyNote,
            VAULT,
            json!({"period": "weekly"}),
            expect![[
                r#"refused: periodic_disabled: weekly notes are off in this vault's settings. name the note by its path; these are on: daily"#
            ]],
        );
        check(
            GetDailyNote,
            VAULT,
            json!({"offset": 99999999}),
            expect![[
                r#"refused: date_out_of_range: 99999999 daily periods from 2026-03-14 is outside the calendar. use a smaller offset; years go from -9999 to 9999"#
            ]],
        );
        check(
            GetDailyNote,
            VAULT,
            json!({"date": "14.3.2026"}),
            expect![[
                r#"refused: date_invalid: `14.3.2026` is not a date. write the day as year, month and day, e.g. 2026-03-14"#
            ]],
        );
    }

    #[test]
    fn a_template_that_may_not_be_read_is_not_read_by_way_of_the_note() {
        let hidden = format!("{VAULT}\n--- .verger/ignore: Templates/");
        check(
            GetDailyNote,
            &hidden,
            json!({"create": true}),
            expect![[
                r#"refused: template_hidden: the template of daily notes may not be read here. ask the user to let it be read (`!path` in `.verger/ignore`), or write the note with your own text"#
            ]],
        );
    }

    #[test]
    fn making_it_needs_approval_and_the_right_to_edit() {
        let registry = Registry::default();
        registry.add(GetDailyNote);
        let mut rig = Rig::new(VAULT, registry);
        let before = rig.files();
        rig.task.activate(&["get_daily_note".to_owned()]);
        let denied = rig.call("get_daily_note", json!({"create": true}), &Nobody);
        expect![[r#"denied: denied: `get_daily_note` was not approved: nobody is there to approve it and no grant covers it. ask the user what they want instead"#]].assert_eq(&show(&denied));
        rig.task.rights = Rights::read_only();
        let refused = rig.call("get_daily_note", json!({"create": true}), &Nobody);
        expect![[r#"refused: not_permitted: `get_daily_note` would change the vault, and this agent may only read. ask the user, or an agent that may edit"#]].assert_eq(&show(&refused));
        assert_eq!(rig.files(), before);
    }

    /// Half past midnight on the 15th in Berlin, still the 14th in UTC.
    struct Night;

    impl World for Night {
        fn now(&self) -> jiff::Zoned {
            "2026-03-15T00:30:00+01:00[Europe/Berlin]".parse().unwrap()
        }
        fn id(&self) -> Result<String, vault::Error> {
            Ok("1".to_owned())
        }
    }

    #[test]
    fn the_day_is_the_users_and_not_utcs() {
        let Rig { folder, road, task } =
            Rig::new("2026-03-14.md: old\n--- 2026-03-15.md: new", Registry::default());
        drop(road);
        let (root, data) = (folder.path().join("vault"), folder.path().join("data"));
        let registry = Registry::default();
        registry.add(GetDailyNote);
        let road = Road::new(
            vault::Vault::open(&root, &data).unwrap(),
            registry,
            Grants::open(&data.join("grants.json")),
            Audit::open(&data.join("audit.jsonl")).unwrap(),
            Box::new(Night),
        );
        let rig = Rig { folder, road: road.unwrap(), task };
        rig.task.activate(&["get_daily_note".to_owned()]);
        expect![[r#"
            2026-03-15.md (daily note of 2026-03-15, lines 1-1 of 1, version b20ab0a020a48d34)

            new"#]]
        .assert_eq(&show(&rig.call("get_daily_note", json!({}), &Nobody)));
    }
}
