//! What Obsidian's settings say about periodic notes: which are on, their folder, format and template.
//!
//! Called by whoever opens a vault; the texts of the JSON files come in through a closure. A file that is missing means
//! Obsidian's defaults; a file that cannot be understood is refused by name, because a guess would put notes elsewhere.
//! Deliberately not here: the week start of the Calendar plugin and Obsidian's language (weeks are English, see
//! [`crate::moment`]).

use serde::Deserialize;
use serde::de::DeserializeOwned;

use super::Period;
use crate::error::{Error, Result};
use crate::path::{VaultFolder, VaultPath};

const CORE_PLUGINS: &str = ".obsidian/core-plugins.json";
const COMMUNITY_PLUGINS: &str = ".obsidian/community-plugins.json";
const DAILY_NOTES: &str = ".obsidian/daily-notes.json";
const PERIODIC_NOTES: &str = ".obsidian/plugins/periodic-notes/data.json";
const CALENDAR: &str = ".obsidian/plugins/calendar/data.json";

/// Where the notes of one period lie, what they are called and how they begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notes {
    /// The folder, as it stands: it holds no tokens.
    pub folder: VaultFolder,
    /// The file name as a moment format; may hold slashes.
    pub format: String,
    /// The note that a new one starts from.
    pub template: Option<VaultPath>,
}

/// The notes of every period that is on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    daily: Option<Notes>,
    weekly: Option<Notes>,
    monthly: Option<Notes>,
    quarterly: Option<Notes>,
    yearly: Option<Notes>,
}

impl Default for Settings {
    /// A vault that Obsidian never saw: daily notes at its root, nothing else.
    fn default() -> Settings {
        let daily = Notes {
            folder: VaultFolder::root(),
            format: Period::Daily.default_format().to_owned(),
            template: None,
        };
        Settings { daily: Some(daily), weekly: None, monthly: None, quarterly: None, yearly: None }
    }
}

impl Settings {
    /// Reads the settings. `read` gives a file's text by its path inside the vault, e.g. `.obsidian/daily-notes.json`.
    pub fn read(read: &dyn Fn(&str) -> Option<String>) -> Result<Settings> {
        let files = Files { read };
        let community: Option<Vec<String>> = files.json(COMMUNITY_PLUGINS)?;
        let is_on = |plugin: &str| community.as_ref().map(|on| on.iter().any(|name| name == plugin));
        let plugin = match is_on("periodic-notes") {
            Some(false) => PeriodicNotes::default(),
            // Without a list of plugins that are on, the plugin's own settings speak for it.
            Some(true) | None => files.json(PERIODIC_NOTES)?.unwrap_or_default(),
        };
        let of = |period: Period| plugin.notes(period);
        Ok(Settings {
            daily: of(Period::Daily)?.map_or_else(|| files.core_daily(), |notes| Ok(Some(notes)))?,
            weekly: of(Period::Weekly)?
                .map_or_else(|| files.calendar_weekly(is_on("calendar")), |notes| Ok(Some(notes)))?,
            monthly: of(Period::Monthly)?,
            quarterly: of(Period::Quarterly)?,
            yearly: of(Period::Yearly)?,
        })
    }

    /// The notes of one period; a period that is off is a refusal.
    pub fn notes(&self, period: Period) -> Result<&Notes> {
        self.get(period).ok_or_else(|| {
            let on: Vec<String> = Period::ALL
                .into_iter()
                .filter(|period| self.get(*period).is_some())
                .map(|period| period.name().to_owned())
                .collect();
            Error::Edit {
                reason: "periodic_disabled",
                message: format!("{} notes are off in this vault's settings", period.name()),
                hint: match on.is_empty() {
                    true => "name the note by its path, or turn periodic notes on in Obsidian".to_owned(),
                    false => format!("name the note by its path; these are on: {}", on.join(", ")),
                },
                candidates: on,
            }
        })
    }

    fn get(&self, period: Period) -> Option<&Notes> {
        match period {
            Period::Daily => self.daily.as_ref(),
            Period::Weekly => self.weekly.as_ref(),
            Period::Monthly => self.monthly.as_ref(),
            Period::Quarterly => self.quarterly.as_ref(),
            Period::Yearly => self.yearly.as_ref(),
        }
    }
}

struct Files<'a> {
    read: &'a dyn Fn(&str) -> Option<String>,
}

impl Files<'_> {
    /// A missing file and a file that holds `null` are both nothing.
    fn json<T: DeserializeOwned>(&self, path: &str) -> Result<Option<T>> {
        let Some(text) = (self.read)(path) else { return Ok(None) };
        serde_json::from_str(text.trim_start_matches('\u{feff}'))
            .map_err(|error| invalid(path, &error.to_string()))
    }

    /// The core plugin is on unless the list says otherwise.
    fn core_daily(&self) -> Result<Option<Notes>> {
        let on = match self.json(CORE_PLUGINS)? {
            None => true,
            Some(CorePlugins::List(names)) => names.iter().any(|name| name == "daily-notes"),
            Some(CorePlugins::Switches(switches)) => {
                switches.get("daily-notes").is_none_or(|on| on.as_bool() != Some(false))
            }
        };
        if !on {
            return Ok(None);
        }
        let daily: Raw = self.json(DAILY_NOTES)?.unwrap_or_default();
        daily.notes(Period::Daily, DAILY_NOTES).map(Some)
    }

    fn calendar_weekly(&self, on: Option<bool>) -> Result<Option<Notes>> {
        if on == Some(false) {
            return Ok(None);
        }
        let calendar: Option<Calendar> = self.json(CALENDAR)?;
        // Listed as on but never configured: its defaults. Neither listed nor configured: it is not there.
        let Some(calendar) = calendar.or_else(|| on.map(|_| Calendar::default())) else { return Ok(None) };
        let raw = Raw {
            format: calendar.weekly_note_format,
            folder: calendar.weekly_note_folder,
            template: calendar.weekly_note_template,
            ..Raw::default()
        };
        raw.notes(Period::Weekly, CALENDAR).map(Some)
    }
}

/// `core-plugins.json`: a list of names in old vaults, switches in new ones.
#[derive(Deserialize)]
#[serde(untagged)]
enum CorePlugins {
    List(Vec<String>),
    Switches(serde_json::Map<String, serde_json::Value>),
}

/// One period as a settings file has it.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Raw {
    enabled: Option<bool>,
    format: Option<String>,
    folder: Option<String>,
    template: Option<String>,
    template_path: Option<String>,
}

impl Raw {
    fn notes(&self, period: Period, file: &str) -> Result<Notes> {
        let said = |text: &Option<String>| text.as_deref().map(str::trim).unwrap_or_default().to_owned();
        let format = said(&self.format);
        let folder = said(&self.folder);
        let template = match said(&self.template) {
            text if text.is_empty() => said(&self.template_path),
            text => text,
        };
        let inside = |text: &str| {
            let text = text.trim_matches('/').to_owned();
            VaultFolder::parse(&text).map_err(|error| invalid(file, &format!("`{text}`: {error}")))
        };
        Ok(Notes {
            folder: inside(&folder)?,
            format: if format.is_empty() { period.default_format().to_owned() } else { format },
            template: inside(&template)?.path().map(|path| with_md(path, file)).transpose()?,
        })
    }
}

/// Obsidian lets people leave out `.md`. Only those two letters count: `Daily v1.2` has no extension.
fn with_md(path: &VaultPath, file: &str) -> Result<VaultPath> {
    if path.is_note() {
        return Ok(path.clone());
    }
    VaultPath::parse(&format!("{path}.md")).map_err(|error| invalid(file, &format!("`{path}.md`: {error}")))
}

/// The settings of the Periodic Notes plugin: `daily` and so on in 0.x, calendar sets in the 1.0 beta.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct PeriodicNotes {
    daily: Option<Raw>,
    weekly: Option<Raw>,
    monthly: Option<Raw>,
    quarterly: Option<Raw>,
    yearly: Option<Raw>,
    active_calendar_set: Option<String>,
    calendar_sets: Option<Vec<CalendarSet>>,
}

#[derive(Deserialize)]
struct CalendarSet {
    id: Option<String>,
    day: Option<Raw>,
    week: Option<Raw>,
    month: Option<Raw>,
    quarter: Option<Raw>,
    year: Option<Raw>,
}

impl PeriodicNotes {
    fn notes(&self, period: Period) -> Result<Option<Notes>> {
        let raw = match self.active_set() {
            Some(set) => set.get(period),
            None => self.get(period),
        };
        let on = raw.filter(|raw| raw.enabled == Some(true));
        on.map(|raw| raw.notes(period, PERIODIC_NOTES)).transpose()
    }

    fn active_set(&self) -> Option<&CalendarSet> {
        let sets = self.calendar_sets.as_deref()?;
        sets.iter().find(|set| set.id == self.active_calendar_set).or(sets.first())
    }

    fn get(&self, period: Period) -> Option<&Raw> {
        match period {
            Period::Daily => self.daily.as_ref(),
            Period::Weekly => self.weekly.as_ref(),
            Period::Monthly => self.monthly.as_ref(),
            Period::Quarterly => self.quarterly.as_ref(),
            Period::Yearly => self.yearly.as_ref(),
        }
    }
}

impl CalendarSet {
    fn get(&self, period: Period) -> Option<&Raw> {
        match period {
            Period::Daily => self.day.as_ref(),
            Period::Weekly => self.week.as_ref(),
            Period::Monthly => self.month.as_ref(),
            Period::Quarterly => self.quarter.as_ref(),
            Period::Yearly => self.year.as_ref(),
        }
    }
}

/// The settings of the Calendar plugin, which makes weekly notes where Periodic Notes does not.
#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Calendar {
    weekly_note_format: Option<String>,
    weekly_note_folder: Option<String>,
    weekly_note_template: Option<String>,
}

fn invalid(file: &str, detail: &str) -> Error {
    Error::Edit {
        reason: "settings_invalid",
        message: format!("`{file}` cannot be understood: {detail}"),
        hint: "mend the file, or save those settings again in Obsidian; until then name the note by its path"
            .to_owned(),
        candidates: vec![file.to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Files in one string: `=== path` starts a file, inside `.obsidian/`.
    fn read(files: &str) -> Result<Settings> {
        Settings::read(&|path| {
            files.split("=== ").find_map(|file| {
                let (name, text) = file.split_once('\n')?;
                (format!(".obsidian/{name}") == path).then(|| text.to_owned())
            })
        })
    }

    /// `folder | format | template` of one period, or the reason why not.
    #[track_caller]
    fn check(files: &str, period: Period, expected: &str) {
        let settings = read(files);
        let shown = match settings.as_ref().map(|settings| settings.notes(period)) {
            Ok(Ok(notes)) => {
                let template = notes.template.as_ref().map_or("", VaultPath::as_str);
                format!("{} | {} | {template}", notes.folder.as_str(), notes.format)
            }
            Ok(Err(error)) => error.reason().to_owned(),
            Err(error) => format!("{}: {error}", error.reason()),
        };
        assert_eq!(shown, expected);
    }

    #[test]
    fn core_daily_notes_and_their_defaults() {
        use Period::Daily;
        check("", Daily, " | YYYY-MM-DD | ");
        check("=== daily-notes.json\nnull", Daily, " | YYYY-MM-DD | ");
        check("=== daily-notes.json\n{}", Daily, " | YYYY-MM-DD | ");
        check(
            "=== daily-notes.json\n{\"folder\": \" /Journal/ \", \"format\": \"\", \"template\": \"T/Daily v1.2\", \"autorun\": true}",
            Daily,
            "Journal | YYYY-MM-DD | T/Daily v1.2.md",
        );
        check(
            "=== daily-notes.json\n\u{feff}{\"template\": \"T.md\", \"folder\": null}",
            Daily,
            " | YYYY-MM-DD | T.md",
        );
    }

    #[test]
    fn the_core_plugin_may_be_off_in_both_spellings_of_the_list() {
        for (list, on) in [
            ("[\"daily-notes\"]", true),
            ("[\"graph\"]", false),
            ("{\"daily-notes\": true}", true),
            ("{\"daily-notes\": false}", false),
            ("{\"graph\": true}", true),
        ] {
            let expected = if on { " | YYYY-MM-DD | " } else { "periodic_disabled" };
            check(&format!("=== core-plugins.json\n{list}"), Period::Daily, expected);
        }
    }

    const OLD: &str = r#"=== plugins/periodic-notes/data.json
{"showGettingStartedBanner": false,
 "daily": {"enabled": true, "format": "DD", "folder": "D", "template": "T/D"},
 "weekly": {"enabled": false, "folder": "W"},
 "monthly": {"enabled": true}}
=== daily-notes.json
{"folder": "Core"}
"#;

    #[test]
    fn periodic_notes_counts_before_the_core_plugin_if_it_is_on() {
        check(OLD, Period::Daily, "D | DD | T/D.md");
        check(OLD, Period::Weekly, "periodic_disabled");
        check(OLD, Period::Monthly, " | YYYY-MM | ");
        check(OLD, Period::Yearly, "periodic_disabled");
        let listed = format!("{OLD}=== community-plugins.json\n[\"periodic-notes\"]");
        check(&listed, Period::Daily, "D | DD | T/D.md");
        let off = format!("{OLD}=== community-plugins.json\n[]");
        check(&off, Period::Daily, "Core | YYYY-MM-DD | ");
        check(&off, Period::Monthly, "periodic_disabled");
    }

    #[test]
    fn the_beta_keeps_its_settings_in_calendar_sets() {
        let files = r#"=== plugins/periodic-notes/data.json
{"activeCalendarSet": "Work", "calendarSets": [
  {"id": "Home", "day": {"enabled": true, "folder": "Home"}},
  {"id": "Work", "day": {"enabled": true, "folder": "Work", "templatePath": "T.md"}, "quarter": {"enabled": true}, "year": {"enabled": false}}]}
"#;
        check(files, Period::Daily, "Work | YYYY-MM-DD | T.md");
        check(files, Period::Quarterly, " | YYYY-[Q]Q | ");
        check(files, Period::Yearly, "periodic_disabled");
        check(&files.replace("\"Work\", \"cal", "\"Gone\", \"cal"), Period::Daily, "Home | YYYY-MM-DD | ");
    }

    #[test]
    fn the_calendar_plugin_makes_weekly_notes_where_periodic_notes_does_not() {
        let calendar = "=== plugins/calendar/data.json\n{\"weeklyNoteFormat\": \"GGGG-WW\", \"weeklyNoteFolder\": \"W\", \"weeklyNoteTemplate\": \"T\"}\n";
        check(calendar, Period::Weekly, "W | GGGG-WW | T.md");
        check(&format!("{OLD}{calendar}"), Period::Weekly, "W | GGGG-WW | T.md");
        check(&format!("{calendar}=== community-plugins.json\n[]"), Period::Weekly, "periodic_disabled");
        check("=== community-plugins.json\n[\"calendar\"]", Period::Weekly, " | gggg-[W]ww | ");
    }

    #[test]
    fn a_file_that_cannot_be_understood_is_refused_by_name() {
        for (file, text) in [
            ("daily-notes.json", "{"),
            ("daily-notes.json", "{\"folder\": 5}"),
            ("daily-notes.json", "{\"folder\": \"../out\"}"),
            ("daily-notes.json", "{\"template\": \"a/../../b\"}"),
            ("core-plugins.json", "7"),
            ("community-plugins.json", "{}"),
            ("plugins/periodic-notes/data.json", "[1]"),
            ("plugins/calendar/data.json", ""),
        ] {
            let error = read(&format!("=== {file}\n{text}")).unwrap_err();
            assert_eq!(error.reason(), "settings_invalid", "{file} {text}");
            assert!(
                error.to_string().starts_with(&format!("`.obsidian/{file}` cannot be understood: ")),
                "{error}"
            );
        }
    }

    #[test]
    fn broken_settings_of_a_plugin_that_is_off_do_no_harm() {
        let files = "=== community-plugins.json\n[]\n=== plugins/periodic-notes/data.json\n{";
        check(files, Period::Daily, " | YYYY-MM-DD | ");
    }
}
