//! The lines of the audit, counted by day. A day that is over is never counted again.

use std::collections::{BTreeMap, HashMap};
use std::ops::ControlFlow;

use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use pipeline::Refusal;
use pipeline::audit::{Audit, Brief, Ended, Span};
use serde::Serialize;

/// Names that one day counts at most; what comes then is counted as `others`.
const MOST_NAMES: usize = 500;

/// What happened on one day.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Day {
    /// Calls, however they ended.
    pub calls: u64,
    /// Calls that changed notes.
    pub changes: u64,
    /// Calls that a rule or a person turned down.
    pub refused: u64,
    tools: HashMap<String, (u64, u64)>,
    agents: HashMap<String, (u64, u64)>,
    reasons: HashMap<String, u64>,
}

/// A tool and how often it was called.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Tool {
    name: String,
    calls: u64,
    failed: u64,
}

/// An agent and what it did.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Agent {
    name: String,
    calls: u64,
    changes: u64,
}

/// Why calls were turned down.
#[derive(Debug, Serialize, PartialEq, Eq)]
pub struct Reason {
    name: String,
    calls: u64,
}

/// Those with the most calls.
pub struct Busiest {
    /// Tools.
    pub tools: Vec<Tool>,
    /// Agents.
    pub agents: Vec<Agent>,
    /// Reasons of refusals.
    pub reasons: Vec<Reason>,
}

/// What was counted so far.
#[derive(Debug, Default)]
pub struct Counts {
    days: BTreeMap<Date, Day>,
    /// How much of the file that is; none before the first look.
    span: Option<Span>,
    zone: Option<TimeZone>,
}

impl Counts {
    /// Counts what is new, and what is older down to this day.
    pub fn reach(&mut self, audit: &Audit, first: Date, zone: &TimeZone) -> Result<(), Refusal> {
        if self.zone.as_ref() != Some(zone) {
            *self = Counts { zone: Some(zone.clone()), ..Counts::default() };
        }
        let days = &mut self.days;
        if let Some(mut span) = self.span {
            let same = audit.forwards(&mut span, &mut |line| {
                if let Some(date) = date(line, zone) {
                    take(days.entry(date).or_default(), line);
                }
            })?;
            match same {
                true => self.span = Some(span),
                false => {
                    // Another file, or one that was cut: nothing that was counted is sure.
                    days.clear();
                    self.span = None;
                }
            }
        }
        let mut span = match self.span {
            Some(span) => span,
            None => audit.here()?,
        };
        audit.backwards(&mut span, &mut |line| match date(line, zone) {
            Some(date) if date < first => ControlFlow::Break(()),
            Some(date) => {
                take(days.entry(date).or_default(), line);
                ControlFlow::Continue(())
            }
            None => ControlFlow::Continue(()),
        })?;
        self.span = Some(span);
        Ok(())
    }

    /// What happened on a day.
    pub fn day(&self, date: Date) -> Day {
        self.days.get(&date).cloned().unwrap_or_default()
    }

    /// The busiest tools and agents of these days.
    pub fn busiest(&self, dates: &[Date], few: usize) -> Busiest {
        let mut all = Day::default();
        for day in dates.iter().filter_map(|date| self.days.get(date)) {
            for (into, from) in [(&mut all.tools, &day.tools), (&mut all.agents, &day.agents)] {
                for (name, (calls, other)) in from {
                    let sum = into.entry(name.clone()).or_default();
                    *sum = (sum.0 + calls, sum.1 + other);
                }
            }
            day.reasons
                .iter()
                .for_each(|(name, calls)| *all.reasons.entry(name.clone()).or_default() += calls);
        }
        let first = |names: HashMap<String, (u64, u64)>| {
            let mut names: Vec<(String, (u64, u64))> = names.into_iter().collect();
            names.sort_by(|a, b| (b.1.0, &a.0).cmp(&(a.1.0, &b.0)));
            names.truncate(few);
            names
        };
        let reasons = all.reasons.into_iter().map(|(name, calls)| (name, (calls, 0))).collect();
        let tool = |(name, (calls, failed))| Tool { name, calls, failed };
        let agent = |(name, (calls, changes))| Agent { name, calls, changes };
        let reason = |(name, (calls, _))| Reason { name, calls };
        Busiest {
            tools: first(all.tools).into_iter().map(tool).collect(),
            agents: first(all.agents).into_iter().map(agent).collect(),
            reasons: first(reasons).into_iter().map(reason).collect(),
        }
    }
}

fn date(line: &Brief<'_>, zone: &TimeZone) -> Option<Date> {
    let moment: Timestamp = line.time.parse().ok()?;
    Some(zone.to_datetime(moment).date())
}

fn take(day: &mut Day, line: &Brief<'_>) {
    // The line before an action is told again by the one behind it.
    if line.outcome == Ended::Started {
        return;
    }
    let refused = matches!(line.outcome, Ended::Refused | Ended::Denied);
    let changed = line.checkpoint.is_some();
    day.calls += 1;
    day.changes += u64::from(changed);
    day.refused += u64::from(refused);
    let failed = refused || line.outcome == Ended::Failed;
    let tool = named(&mut day.tools, &line.tool);
    *tool = (tool.0 + 1, tool.1 + u64::from(failed));
    let agent = named(&mut day.agents, &line.agent);
    *agent = (agent.0 + 1, agent.1 + u64::from(changed));
    if let Some(reason) = line.reason.as_deref().filter(|_| refused) {
        *named(&mut day.reasons, reason) += 1;
    }
}

fn named<'n, T: Default>(names: &'n mut HashMap<String, T>, name: &str) -> &'n mut T {
    let name = if names.len() < MOST_NAMES || names.contains_key(name) { name } else { "others" };
    // Most names are known already, and then nothing is copied.
    if !names.contains_key(name) {
        names.insert(name.to_owned(), T::default());
    }
    names.entry(name.to_owned()).or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pipeline::audit::Entry;
    use serde_json::Value;

    fn line(time: &str, tool: &str, outcome: Ended, checkpoint: Option<&str>) -> Entry {
        Entry {
            time: time.to_owned(),
            task: "t".to_owned(),
            agent: "agent".to_owned(),
            call: None,
            tool: tool.to_owned(),
            outcome,
            reason: (outcome == Ended::Refused).then(|| "path_forbidden".to_owned()),
            approval: None,
            checkpoint: checkpoint.map(str::to_owned),
            paths: Vec::new(),
            bytes: None,
            input: Value::Null,
            milliseconds: 1,
        }
    }

    #[test]
    fn lines_are_counted_once_however_often_and_how_far_back_is_asked() {
        let folder = tempfile::tempdir().unwrap();
        let audit = Audit::open(&folder.path().join("audit.jsonl")).unwrap();
        for (time, tool, outcome, checkpoint) in [
            ("2026-03-10T12:00:00Z", "read_file", Ended::Answered, None),
            ("2026-03-12T12:00:00Z", "write_file", Ended::Done, Some("1")),
            ("2026-03-12T12:00:01Z", "write_file", Ended::Refused, None),
            // Half past midnight in Berlin.
            ("2026-03-13T23:30:00Z", "read_file", Ended::Started, None),
            ("2026-03-13T23:30:00Z", "read_file", Ended::Answered, None),
        ] {
            audit.append(line(time, tool, outcome, checkpoint)).unwrap();
        }
        let zone = TimeZone::get("Europe/Berlin").unwrap();
        let day = |text: &str| text.parse::<Date>().unwrap();
        let mut counts = Counts::default();
        counts.reach(&audit, day("2026-03-13"), &zone).unwrap();
        assert_eq!(counts.day(day("2026-03-14")).calls, 1);
        assert_eq!(counts.day(day("2026-03-12")).calls, 0);
        for _ in 0..3 {
            counts.reach(&audit, day("2026-03-01"), &zone).unwrap();
        }
        let twelfth = counts.day(day("2026-03-12"));
        assert_eq!((twelfth.calls, twelfth.changes, twelfth.refused), (2, 1, 1));
        assert_eq!(counts.day(day("2026-03-10")).calls, 1);
        audit.append(line("2026-03-14T10:00:00Z", "read_file", Ended::Answered, None)).unwrap();
        counts.reach(&audit, day("2026-03-13"), &zone).unwrap();
        assert_eq!(counts.day(day("2026-03-14")).calls, 2);
        let busiest = counts.busiest(&[day("2026-03-10"), day("2026-03-12"), day("2026-03-14")], 1);
        assert_eq!(busiest.tools, [Tool { name: "read_file".to_owned(), calls: 3, failed: 0 }]);
        assert_eq!(busiest.agents, [Agent { name: "agent".to_owned(), calls: 5, changes: 1 }]);
        assert_eq!(busiest.reasons, [Reason { name: "path_forbidden".to_owned(), calls: 1 }]);
    }
}
