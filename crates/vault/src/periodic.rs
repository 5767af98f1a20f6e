//! Daily, weekly, monthly, quarterly and yearly notes: where each lies, which existing file it is, what a new one says.
//!
//! Called by the tools and the `daily` command. The settings are Obsidian's own (see [`settings`]); texts come in
//! through a closure and nothing is written here: a new note is a [`Draft`], which goes the way of every other edit.

pub mod settings;

use jiff::Span;
use jiff::civil::Date;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::moment::{Moment, Pattern, Week};
use crate::path::VaultPath;
use crate::template;
pub use settings::{Notes, Settings};

/// How often a note is made.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Period {
    /// Every day.
    Daily,
    /// Every week.
    Weekly,
    /// Every month.
    Monthly,
    /// Every quarter of a year.
    Quarterly,
    /// Every year.
    Yearly,
}

/// A note that is not there yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// Where it belongs.
    pub path: VaultPath,
    /// The template, filled in; empty where the settings name no template.
    pub text: String,
}

impl Period {
    /// All of them, the shortest first.
    pub const ALL: [Period; 5] =
        [Period::Daily, Period::Weekly, Period::Monthly, Period::Quarterly, Period::Yearly];

    /// The word for it, as doors and settings write it.
    pub fn name(self) -> &'static str {
        match self {
            Period::Daily => "daily",
            Period::Weekly => "weekly",
            Period::Monthly => "monthly",
            Period::Quarterly => "quarterly",
            Period::Yearly => "yearly",
        }
    }

    /// The format of the file name where the settings say nothing.
    pub fn default_format(self) -> &'static str {
        match self {
            Period::Daily => "YYYY-MM-DD",
            Period::Weekly => "gggg-[W]ww",
            Period::Monthly => "YYYY-MM",
            Period::Quarterly => "YYYY-[Q]Q",
            Period::Yearly => "YYYY",
        }
    }

    /// The first day of the period that holds `date`.
    pub fn start(self, date: Date, week: Week) -> Date {
        let month = match self {
            Period::Daily => return date,
            Period::Weekly => return days_before(date, week.days_in(date)),
            Period::Monthly => date.month(),
            Period::Quarterly => (date.month() - 1) / 3 * 3 + 1,
            Period::Yearly => 1,
        };
        Date::new(date.year(), month, 1).unwrap_or(date)
    }

    /// Whether both days lie in one period.
    pub fn contains(self, date: Date, other: Date, week: Week) -> bool {
        self.start(date, week) == self.start(other, week)
    }

    /// The day so many periods later, or earlier if negative. A day that the month lacks becomes its last.
    pub fn shift(self, date: Date, offset: i64) -> Result<Date> {
        let span = match self {
            Period::Daily => Span::new().try_days(offset),
            Period::Weekly => Span::new().try_weeks(offset),
            Period::Monthly => Span::new().try_months(offset),
            Period::Quarterly => Span::new().try_months(offset.saturating_mul(3)),
            Period::Yearly => Span::new().try_years(offset),
        };
        span.and_then(|span| date.checked_add(span)).map_err(|_| Error::Edit {
            reason: "date_out_of_range",
            message: format!("{offset} {} periods from {date} is outside the calendar", self.name()),
            hint: "use a smaller offset; years go from -9999 to 9999".to_owned(),
            candidates: Vec::new(),
        })
    }
}

/// Where the note of the period that holds `date` belongs: the same path for every day of the period.
pub fn path_for(settings: &Settings, period: Period, date: Date) -> Result<VaultPath> {
    let notes = settings.notes(period)?;
    let pattern = Pattern::new(&notes.format);
    let mut name = pattern.format(period.start(date, pattern.week()));
    if !name.ends_with(".md") {
        name.push_str(".md");
    }
    notes
        .folder
        .join(&name)
        .map_err(|error| Error::Path { text: format!("{}/{name}", notes.folder.as_str()), error })
}

/// The note of the period that exists already: the exact path, else the first file in the folder, at any depth, whose
/// name says a day of the period.
pub fn find<'a>(
    settings: &Settings,
    period: Period,
    date: Date,
    existing: impl IntoIterator<Item = &'a VaultPath>,
) -> Option<VaultPath> {
    let notes = settings.notes(period).ok()?;
    let exact = path_for(settings, period, date).ok();
    let finder = Finder::new(notes);
    let mut best: Option<&VaultPath> = None;
    for path in existing {
        if exact.as_ref() == Some(path) {
            return exact;
        }
        let same = || finder.date(path).is_some_and(|found| period.contains(found, date, finder.week));
        // The smallest path, so that the answer does not hang on the order in which files are listed.
        if best.is_none_or(|best| path < best) && same() {
            best = Some(path);
        }
    }
    best.cloned()
}

/// The note that would be made for the period. `read` gives a file's text by its path inside the vault.
pub fn draft(
    settings: &Settings,
    period: Period,
    date: Date,
    now: Moment,
    read: &dyn Fn(&str) -> Option<String>,
) -> Result<Draft> {
    let notes = settings.notes(period)?;
    let path = path_for(settings, period, date)?;
    let Some(template) = &notes.template else { return Ok(Draft { path, text: String::new() }) };
    let Some(text) = read(template.as_str()) else { return Err(template_missing(period, template)) };
    let week = Pattern::new(&notes.format).week();
    let context = template::Context {
        now,
        date: period.start(date, week),
        title: path.stem(),
        period,
        format: &notes.format,
    };
    Ok(Draft { text: template::render(&text, &context), path })
}

/// Reads dates out of paths; the formats are cut once for all files.
struct Finder<'a> {
    notes: &'a Notes,
    whole: Pattern<'a>,
    name: Pattern<'a>,
    week: Week,
}

impl<'a> Finder<'a> {
    fn new(notes: &'a Notes) -> Finder<'a> {
        let whole = Pattern::new(&notes.format);
        Finder { name: whole.file_name(), week: whole.week(), whole, notes }
    }

    /// The whole path is asked first: in `YYYY/MM/DD` the file name alone does not say its month.
    fn date(&self, path: &VaultPath) -> Option<Date> {
        if !path.is_note() || !path.is_in(&self.notes.folder) {
            return None;
        }
        let below = path.as_str().strip_prefix(self.notes.folder.as_str())?.trim_start_matches('/');
        let stem = &below[..below.len() - path.name().len() + path.stem().len()];
        self.whole.parse_strict(stem).or_else(|| self.name.parse_strict(path.stem()))
    }
}

fn days_before(date: Date, days: i64) -> Date {
    Span::new().try_days(days).and_then(|span| date.checked_sub(span)).unwrap_or(Date::MIN)
}

fn template_missing(period: Period, template: &VaultPath) -> Error {
    Error::Edit {
        reason: "template_missing",
        message: format!("the template of {} notes, `{template}`, cannot be read", period.name()),
        hint: "restore the template, or name another in Obsidian's settings; no note was made".to_owned(),
        candidates: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    fn settings(files: &[(&str, &str)]) -> Settings {
        Settings::read(&|path| {
            files.iter().find(|(name, _)| *name == path).map(|(_, text)| (*text).to_owned())
        })
        .unwrap()
    }

    /// One period of the Periodic Notes plugin, in a folder and a format.
    fn plugin(period: &str, folder: &str, format: &str) -> Settings {
        let data = serde_json::json!({ period: { "enabled": true, "folder": folder, "format": format } });
        settings(&[(".obsidian/plugins/periodic-notes/data.json", &data.to_string())])
    }

    fn path(text: &str) -> VaultPath {
        VaultPath::parse(text).unwrap()
    }

    macro_rules! tour {
        ($path:literal) => {
            include_str!(concat!("../../../fixtures/vaults/tour/", $path)).to_owned()
        };
    }

    #[track_caller]
    fn finds(settings: &Settings, period: Period, day: Date, existing: &[&str], expected: Option<&str>) {
        let existing: Vec<VaultPath> = existing.iter().map(|text| path(text)).collect();
        let found = find(settings, period, day, &existing);
        assert_eq!(found.as_ref().map(VaultPath::as_str), expected, "{day} among {existing:?}");
    }

    #[test]
    fn a_vault_without_settings_has_daily_notes_at_its_root_and_no_others() {
        let settings = settings(&[]);
        assert_eq!(settings, Settings::default());
        let day = date(2026, 5, 7);
        assert_eq!(path_for(&settings, Period::Daily, day).unwrap(), path("2026-05-07.md"));
        for period in [Period::Weekly, Period::Monthly, Period::Quarterly, Period::Yearly] {
            let refusal = path_for(&settings, period, day).unwrap_err();
            assert_eq!(refusal.reason(), "periodic_disabled");
            assert_eq!(refusal.hint(), "name the note by its path; these are on: daily");
        }
    }

    #[test]
    fn a_path_is_the_folder_and_the_first_day_of_the_period_in_its_format() {
        let day = date(2026, 5, 7);
        for (period, name, folder, format, expected) in [
            (
                Period::Daily,
                "daily",
                "Journal",
                "YYYY/MM-MMMM/YYYY-MM-DD-dddd",
                "Journal/2026/05-May/2026-05-07-Thursday.md",
            ),
            (Period::Daily, "daily", "", "YYYY-MM-DD.[md]", "2026-05-07.md"),
            (Period::Daily, "daily", "YYYY", "DD MMM", "YYYY/07 May.md"),
            (Period::Weekly, "weekly", "Weeks", "", "Weeks/2026-W19.md"),
            (Period::Weekly, "weekly", "Weeks", "YYYY-MM-DD", "Weeks/2026-05-03.md"),
            (Period::Weekly, "weekly", "Weeks", "GGGG-[W]WW YYYY-MM-DD", "Weeks/2026-W19 2026-05-04.md"),
            (Period::Monthly, "monthly", "", "", "2026-05.md"),
            (Period::Quarterly, "quarterly", "", "", "2026-Q2.md"),
            (Period::Yearly, "yearly", "", "", "2026.md"),
        ] {
            let settings = plugin(name, folder, format);
            assert_eq!(path_for(&settings, period, day).unwrap(), path(expected));
        }
    }

    #[test]
    fn month_names_in_a_daily_format_are_names_not_0505() {
        let settings = settings(&[(".obsidian/daily-notes.json", r#"{"format": "DD MMMM MMM YYYY"}"#)]);
        assert_eq!(
            path_for(&settings, Period::Daily, date(2026, 1, 7)).unwrap(),
            path("07 January Jan 2026.md")
        );
    }

    #[test]
    fn a_format_that_climbs_out_of_the_vault_is_refused() {
        let refusal =
            path_for(&plugin("daily", "", "[../]YYYY"), Period::Daily, date(2026, 5, 7)).unwrap_err();
        assert_eq!(refusal.reason(), "path_traversal");
    }

    #[test]
    fn a_new_note_starts_from_the_template_in_the_users_day() {
        let settings = settings(&[(
            ".obsidian/daily-notes.json",
            r#"{"folder": "Journal", "template": "Templates/Day"}"#,
        )]);
        let now: jiff::Zoned = "2026-05-07T00:30:00+10:00[+10:00]".parse().unwrap();
        let read = |path: &str| {
            (path == "Templates/Day.md").then(|| "# {{title}}\nmade {{date}} {{time}}".to_owned())
        };
        let note = draft(&settings, Period::Daily, now.date(), Moment::from(&now), &read).unwrap();
        assert_eq!(note.path, path("Journal/2026-05-07.md"));
        assert_eq!(note.text, "# 2026-05-07\nmade 2026-05-07 00:30");
    }

    #[test]
    fn the_tour_vault_makes_its_daily_note() {
        let read = |path: &str| match path {
            ".obsidian/core-plugins.json" => Some(tour!(".obsidian/core-plugins.json")),
            ".obsidian/daily-notes.json" => Some(tour!(".obsidian/daily-notes.json")),
            "Templates/Daily.md" => Some(tour!("Templates/Daily.md")),
            _ => None,
        };
        let now = Moment::from(date(2026, 5, 8).at(8, 15, 0, 0));
        let note = draft(&Settings::read(&read).unwrap(), Period::Daily, now.date(), now, &read).unwrap();
        assert_eq!(note.path, path("Journal/2026-05-08.md"));
        expect_test::expect![["
            ---
            tags: [journal]
            created: \"2026-05-08 08:15\"
            weather:
            visitors: 0
            ---
            # Friday, May 8th

            The day after 2026-05-07, and the day before 2026-05-09.

            ## At the desk

            ## In the garden

            - [ ] Water before nine, see [[Watering rota]]
        "]]
        .assert_eq(&note.text);
    }

    #[test]
    fn a_template_that_is_missing_is_said_and_none_is_an_empty_note() {
        let now = Moment::from(date(2026, 5, 7));
        let lost = settings(&[(".obsidian/daily-notes.json", r#"{"template": "Gone"}"#)]);
        let refusal = draft(&lost, Period::Daily, now.date(), now, &|_| None).unwrap_err();
        assert_eq!(refusal.reason(), "template_missing");
        let plain = draft(&Settings::default(), Period::Daily, now.date(), now, &|_| None).unwrap();
        assert_eq!(plain, Draft { path: path("2026-05-07.md"), text: String::new() });
    }

    #[test]
    fn the_exact_path_counts_before_any_other() {
        let daily = plugin("daily", "Journal", "");
        let day = date(2026, 5, 7);
        finds(
            &daily,
            Period::Daily,
            day,
            &["Journal/Old/2026-05-07.md", "Journal/2026-05-07.md"],
            Some("Journal/2026-05-07.md"),
        );
        finds(
            &daily,
            Period::Daily,
            day,
            &["Journal/b/2026-05-07.md", "Journal/a/2026-05-07.md"],
            Some("Journal/a/2026-05-07.md"),
        );
    }

    #[test]
    fn other_folders_other_names_and_other_days_are_not_found() {
        let daily = plugin("daily", "Journal", "");
        for other in [
            "2026-05-07.md",
            "Journals/2026-05-07.md",
            "Journal/2026-05-07 b.md",
            "Journal/2026-05-08.md",
            "Journal/2026-05-07.png",
        ] {
            finds(&daily, Period::Daily, date(2026, 5, 7), &[other], None);
        }
        finds(&Settings::default(), Period::Weekly, date(2026, 5, 7), &["2026-W19.md"], None);
    }

    #[test]
    fn a_file_name_that_lacks_its_month_is_read_with_its_folders() {
        let daily = plugin("daily", "J", "YYYY/MM/DD");
        finds(&daily, Period::Daily, date(2026, 5, 7), &["J/2026/04/07.md"], None);
        finds(
            &daily,
            Period::Daily,
            date(2026, 5, 7),
            &["J/2026/04/07.md", "J/2026/05/07.md"],
            Some("J/2026/05/07.md"),
        );
    }

    #[test]
    fn a_week_is_found_by_any_of_its_days() {
        let weekly = plugin("weekly", "", "YYYY-MM-DD");
        finds(&weekly, Period::Weekly, date(2026, 5, 7), &["2026-05-09.md"], Some("2026-05-09.md"));
        finds(&weekly, Period::Weekly, date(2026, 5, 7), &["2026-05-10.md"], None);
        let mixed = plugin("weekly", "", "gggg-[W]ww MMM");
        finds(&mixed, Period::Weekly, date(2026, 4, 30), &["2026-W18 May.md"], Some("2026-W18 May.md"));
    }

    #[test]
    fn an_iso_week_keeps_its_sunday() {
        let weekly = plugin("weekly", "", "GGGG-[W]WW");
        finds(&weekly, Period::Weekly, date(2026, 5, 10), &["2026-W19.md"], Some("2026-W19.md"));
    }

    #[test]
    fn offsets_count_periods_and_stay_in_the_calendar() {
        let day = date(2026, 1, 31);
        for (period, offset, expected) in [
            (Period::Daily, -1, date(2026, 1, 30)),
            (Period::Weekly, 2, date(2026, 2, 14)),
            (Period::Monthly, 1, date(2026, 2, 28)),
            (Period::Quarterly, -1, date(2025, 10, 31)),
            (Period::Yearly, 10, date(2036, 1, 31)),
        ] {
            assert_eq!(period.shift(day, offset).unwrap(), expected, "{period:?} {offset}");
        }
        for period in Period::ALL {
            assert_eq!(period.shift(day, i64::MAX).unwrap_err().reason(), "date_out_of_range");
            assert_eq!(period.shift(day, i64::MIN).unwrap_err().reason(), "date_out_of_range");
        }
    }

    #[test]
    fn a_period_is_written_in_lower_case() {
        for period in Period::ALL {
            assert_eq!(serde_json::to_value(period).unwrap(), period.name());
        }
    }

    proptest! {
        #[test]
        fn all_days_of_a_period_share_one_note_which_is_found(day in 0_i64..40_000, into in 0_i64..400, index in 0_usize..5, iso: bool) {
            let period = Period::ALL[index];
            let format = if iso && period == Period::Weekly { "GGGG-[W]WW" } else { "" };
            let settings = plugin(period.name(), "Notes", format);
            let week = if format.is_empty() { Week::Locale } else { Week::Iso };
            let one = date(1970, 1, 1).checked_add(Span::new().days(day)).unwrap();
            let other = one.checked_add(Span::new().days(into)).unwrap();
            let place = path_for(&settings, period, one).unwrap();
            let same = period.contains(one, other, week);
            prop_assert_eq!(path_for(&settings, period, other).unwrap() == place, same);
            let moved = path(&format!("Notes/Archive/{}", place.name()));
            prop_assert_eq!(find(&settings, period, other, [&moved]).is_some(), same);
        }
    }
}
