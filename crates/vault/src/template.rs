//! Fills in a template: `{{date}}`, `{{title}}`, `{{date+1d:dddd}}` and their kin, as Obsidian and Periodic Notes do.
//!
//! Called by [`crate::periodic`] for a new note, and by whoever inserts a template. One pass: what was filled in is not
//! read again, so a note named `{{time}}` stays one. What we do not know stays as it stands, for other tools to fill in.
//! Deliberately not here: running code, as the Templater plugin does.

use jiff::Span;
use jiff::civil::{Date, DateTime};

use crate::moment::{Moment, Pattern, WEEKDAYS, Week};
use crate::periodic::Period;

/// The longest text between braces that we look at; a format is never so long, and the limit keeps us linear.
const LONGEST: usize = 256;

/// What a template is filled in with.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// The user's clock.
    pub now: Moment,
    /// The day that the note is for; not today where the note is for another day.
    pub date: Date,
    /// The note's name without `.md`.
    pub title: &'a str,
    /// The period that the note is for.
    pub period: Period,
    /// The format of such notes' names; `{{date}}`, `{{yesterday}}` and `{{tomorrow}}` are written in it.
    pub format: &'a str,
}

/// Fills in a template.
pub fn render(template: &str, context: &Context<'_>) -> String {
    let mut out = String::with_capacity(template.len());
    let mut rest = template;
    while let Some(open) = rest.find("{{") {
        out.push_str(&rest[..open]);
        rest = &rest[open..];
        let value = inside(rest).and_then(|inner| Some((inner.len() + 4, value(inner, context)?)));
        let length = match value {
            Some((length, value)) => {
                out.push_str(&value);
                length
            }
            None => {
                out.push('{');
                1
            }
        };
        rest = &rest[length..];
    }
    out.push_str(rest);
    out
}

/// The text between the braces that open `rest`, if they close again soon and on the same line.
fn inside(rest: &str) -> Option<&str> {
    let inner = rest.get(2..)?;
    let window = inner.as_bytes().get(..LONGEST).unwrap_or(inner.as_bytes());
    let close = memchr::memmem::find(window, b"}}")?;
    inner.get(..close).filter(|inner| !inner.contains('\n'))
}

fn value(inner: &str, context: &Context<'_>) -> Option<String> {
    let variable = Variable::read(inner)?;
    let name = variable.name.to_ascii_lowercase();
    let at = context.date.to_datetime(context.now.datetime().time());
    if let Some(weekday) = WEEKDAYS.iter().position(|day| day.eq_ignore_ascii_case(&name)) {
        let day = day_of_week(context, i64::try_from(weekday).ok()?)?;
        let pattern = Pattern::new(variable.unshifted()?.format?);
        return Some(pattern.format(context.now.with(day.to_datetime(at.time()))));
    }
    let period = match name.as_str() {
        "title" => return variable.bare().map(|_| context.title.to_owned()),
        "date" => return dated(&variable, context, at, own(context), Minutes::No),
        "time" => return dated(&variable, context, at, Pattern::new("HH:mm"), Minutes::Yes),
        "yesterday" => return beside(&variable, context, at, -1),
        "tomorrow" => return beside(&variable, context, at, 1),
        "month" => Period::Monthly,
        "quarter" => Period::Quarterly,
        "year" => Period::Yearly,
        _ => return None,
    };
    let start = period.start(context.date, Week::Locale).to_datetime(at.time());
    let pattern = if period == context.period { own(context) } else { Pattern::new(period.default_format()) };
    dated(&variable, context, start, pattern, Minutes::No)
}

/// What stands between the braces: `date +1d : YYYY`.
struct Variable<'a> {
    name: &'a str,
    shift: Option<(i64, char)>,
    format: Option<&'a str>,
}

impl<'a> Variable<'a> {
    fn read(inner: &'a str) -> Option<Variable<'a>> {
        let (head, format) = match inner.split_once(':') {
            Some((head, format)) => (head.trim(), Some(format.trim())),
            None => (inner.trim(), None),
        };
        let end = head.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(head.len());
        let (name, shift) = head.split_at(end);
        let shift = match shift.trim() {
            "" => None,
            text => Some(read_shift(text)?),
        };
        Some(Variable { name, shift, format: format.filter(|format| !format.is_empty()) })
    }

    fn unshifted(&self) -> Option<&Self> {
        self.shift.is_none().then_some(self)
    }

    fn bare(&self) -> Option<&Self> {
        self.unshifted().filter(|variable| variable.format.is_none())
    }
}

fn read_shift(text: &str) -> Option<(i64, char)> {
    if !text.starts_with(['+', '-']) {
        return None;
    }
    let unit = text.chars().next_back()?;
    let count = text[..text.len() - unit.len_utf8()].trim_end();
    Some((count.parse().ok()?, unit))
}

/// What a small `m` counts: moment says minutes, but in a date those would change nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Minutes {
    Yes,
    No,
}

fn dated(
    variable: &Variable<'_>,
    context: &Context<'_>,
    at: DateTime,
    pattern: Pattern<'_>,
    minutes: Minutes,
) -> Option<String> {
    let at = match variable.shift {
        Some((count, unit)) => at.checked_add(span(count, unit, minutes)?).ok()?,
        None => at,
    };
    Some(variable.format.map_or(pattern, Pattern::new).format(context.now.with(at)))
}

fn span(count: i64, unit: char, minutes: Minutes) -> Option<Span> {
    let span = match unit {
        'm' if minutes == Minutes::Yes => Span::new().try_minutes(count),
        'y' | 'Y' => Span::new().try_years(count),
        'q' | 'Q' => Span::new().try_months(count.checked_mul(3)?),
        'm' | 'M' => Span::new().try_months(count),
        'w' | 'W' => Span::new().try_weeks(count),
        'd' | 'D' => Span::new().try_days(count),
        'h' | 'H' => Span::new().try_hours(count),
        's' | 'S' => Span::new().try_seconds(count),
        _ => return None,
    };
    span.ok()
}

fn beside(variable: &Variable<'_>, context: &Context<'_>, at: DateTime, days: i64) -> Option<String> {
    let at = at.checked_add(Span::new().try_days(days).ok()?).ok()?;
    let pattern = variable.unshifted()?.format.map_or_else(|| own(context), Pattern::new);
    Some(pattern.format(context.now.with(at)))
}

/// The format of the note's own name, without the folders that it may hold.
fn own<'a>(context: &Context<'a>) -> Pattern<'a> {
    Pattern::new(context.format).file_name()
}

/// A day of the note's week, given as days after Sunday. The week is the one that the notes' names count.
fn day_of_week(context: &Context<'_>, weekday: i64) -> Option<Date> {
    let week = Pattern::new(context.format).week();
    let into = match week {
        Week::Locale => weekday,
        Week::Iso => (weekday + 6) % 7,
    };
    let start = Period::Weekly.start(context.date, week);
    start.checked_add(Span::new().try_days(into).ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;
    use proptest::prelude::*;

    /// A daily note for Thursday, 7 May 2026, made two days later at 15:04:05.
    fn daily<'a>(title: &'a str) -> Context<'a> {
        Context {
            now: date(2026, 5, 9).at(15, 4, 5, 0).into(),
            date: date(2026, 5, 7),
            title,
            period: Period::Daily,
            format: "YYYY-MM-DD",
        }
    }

    #[track_caller]
    fn check(context: &Context<'_>, template: &str, expected: &str) {
        assert_eq!(render(template, context), expected, "{template:?}");
    }

    #[test]
    fn a_daily_template_is_filled_in_for_the_day_of_the_note() {
        let context = daily("2026-05-07");
        for (template, expected) in [
            ("# {{title}}", "# 2026-05-07"),
            ("{{date}} {{time}}", "2026-05-07 15:04"),
            ("{{ DATE }}", "2026-05-07"),
            ("{{date:dddd, MMMM Do}}", "Thursday, May 7th"),
            ("{{date: HH:mm:ss }}", "15:04:05"),
            ("{{time:h:mm A}}", "3:04 PM"),
            ("[[{{yesterday}}]] [[{{tomorrow}}]]", "[[2026-05-06]] [[2026-05-08]]"),
            ("{{tomorrow:ddd}}", "Fri"),
            ("{{month:MMMM}} {{quarter}} {{year}}", "May 2026-Q2 2026"),
        ] {
            check(&context, template, expected);
        }
    }

    #[test]
    fn dates_and_times_are_shifted() {
        let context = daily("x");
        for (template, expected) in [
            ("{{date+1d:YYYY-MM-DD}}", "2026-05-08"),
            ("{{date +1d}}", "2026-05-08"),
            ("{{date-1w:ddd D}}", "Thu 30"),
            ("{{date+1M:MMM}}", "Jun"),
            ("{{date+1m:MMM}}", "Jun"),
            ("{{date+1q:[Q]Q}}", "Q3"),
            ("{{date-1y:YYYY}}", "2025"),
            ("{{date+10h:DD HH}}", "08 01"),
            ("{{time+30m}}", "15:34"),
            ("{{time-5s:ss}}", "00"),
            ("{{month+1m:YYYY-MM-DD}}", "2026-06-01"),
        ] {
            check(&context, template, expected);
        }
    }

    #[test]
    fn a_weekly_template_names_the_days_of_its_week() {
        let weekly = Context { period: Period::Weekly, format: "gggg-[W]ww", title: "2026-W19", ..daily("") };
        check(&weekly, "{{title}} {{date}} {{sunday:D}} {{Monday: ddd D }}", "2026-W19 2026-W19 3 Mon 4");
        let iso = Context { format: "GGGG-[W]WW", ..weekly };
        check(&iso, "{{monday:D}} {{sunday:D}}", "4 10");
    }

    #[test]
    fn longer_periods_start_on_their_first_day_and_use_their_own_format() {
        let yearly = Context { period: Period::Yearly, format: "[Year] YYYY", ..daily("") };
        check(&yearly, "{{year}} {{year:YYYY-MM-DD}} {{year-1y}}", "Year 2026 2026-01-01 Year 2025");
        let foldered = Context { format: "YYYY/MM/YYYY-MM-DD", ..daily("") };
        check(&foldered, "{{date}}", "2026-05-07");
    }

    #[test]
    fn what_is_not_known_stays_as_it_stands() {
        for text in [
            "{{}}",
            "{{weather}}",
            "{{date",
            "{{date\n}}",
            "{{date+d}}",
            "{{date+1}}",
            "{{date+1z}}",
            "{{date 1d}}",
            "{{date+99999999999999999999d}}",
            "{{date+9999999y}}",
            "{{title+1d}}",
            "{{monday}}",
            "{{é}}",
            "<% tp.date.now() %>",
            "{ {date} }",
        ] {
            check(&daily("x"), text, text);
        }
        check(&daily("x"), "{{{date}}}", "{2026-05-07}");
        check(&daily("x"), "{{ {{title}}", "{{ x");
    }

    #[test]
    fn what_was_filled_in_is_not_read_again() {
        check(&daily("{{time}}"), "{{title}}", "{{time}}");
    }

    proptest! {
        #[test]
        fn text_without_double_braces_is_kept(text in "[^{]{0,60}") {
            prop_assert_eq!(render(&text, &daily("x")), text);
        }

        #[test]
        fn any_template_is_filled_in_without_a_panic(text in "(\\{\\{|\\}\\}|date|time|monday|[+-]|[0-9]{1,20}|[a-zé: ]){0,12}") {
            let _ = render(&text, &daily("x"));
        }
    }
}
