//! `audit` and `grants`: what was asked and done, and what may be done without asking.

use pipeline::Lifetime;
use pipeline::approve::Rule;
use pipeline::audit::Entry;
use pipeline::grants::Grant;
use pipeline::{Effect, Rights, Road, World};
use serde_json::json;

use crate::args::{AuditWhat, Grants};
use crate::command::check::report;
use crate::door::Door;
use crate::failure::Failure;
use crate::paper::Role;
use crate::world::RealWorld;

/// Shows the newest lines of the audit, or verifies all of it.
pub fn audit(door: &Door<'_>, what: Option<AuditWhat>, last: usize) -> Result<(), Failure> {
    if let Some(AuditWhat::Verify) = what {
        let found = door.road.audit.verify()?;
        let summary = format!("{} audit lines read", found.lines);
        return report(
            door.terminal,
            &summary,
            &found.problems,
            "somebody or something else wrote into the audit file",
        );
    }
    let entries = door.road.audit.last(last)?;
    if door.terminal.json {
        door.json(&json!({"entries": entries}));
        return Ok(());
    }
    let text: String = entries.iter().map(|entry| line(door, entry)).collect();
    door.terminal.data(&text);
    Ok(())
}

fn line(door: &Door<'_>, entry: &Entry) -> String {
    let paper = &door.terminal.out;
    let outcome = json!(entry.outcome);
    let outcome = outcome.as_str().unwrap_or_default();
    let role = match outcome {
        "refused" | "failed" => Role::Bad,
        "denied" => Role::Warning,
        _ => Role::Good,
    };
    let mut line = format!(
        "{}  {}  {}  {}",
        paper.text(&entry.time),
        paper.paint(role, outcome),
        paper.text(&entry.tool),
        paper.text(&entry.agent)
    );
    for (name, value) in
        [("reason", &entry.reason), ("approval", &entry.approval), ("undo", &entry.checkpoint)]
    {
        if let Some(value) = value {
            line.push_str(&format!("  {name}: {}", paper.text(value)));
        }
    }
    if !entry.paths.is_empty() {
        line.push_str(&format!("  {}", paper.text(&crate::paper::one_line(&entry.paths.join(", ")))));
    }
    line.push('\n');
    line
}

/// Lists, gives and takes back grants.
pub fn grants(door: &Door<'_>, what: Option<Grants>) -> Result<(), Failure> {
    match what.unwrap_or(Grants::List) {
        Grants::List => list(door),
        Grants::Add { tool, paths, expires } => add(door, tool, &paths, expires.as_deref()),
        Grants::Revoke { id } => {
            let grant = door.road.grants.revoke(&id)?;
            if door.terminal.json {
                door.json(&json!({"revoked": grant}));
            } else {
                door.terminal.data(&grant_line(door, &grant));
                door.terminal.note("taken back");
            }
            Ok(())
        }
    }
}

fn list(door: &Door<'_>) -> Result<(), Failure> {
    let grants = door.road.grants.list()?;
    if door.terminal.json {
        door.json(&json!({"grants": grants}));
        return Ok(());
    }
    if grants.is_empty() {
        door.terminal.note("no standing grants: every change is asked");
    }
    let text: String = grants.iter().map(|grant| grant_line(door, grant)).collect();
    door.terminal.data(&text);
    Ok(())
}

fn add(door: &Door<'_>, tool: String, paths: &str, expires: Option<&str>) -> Result<(), Failure> {
    let grant = standing(&door.road, tool, paths, expires, door.now_ms())?;
    door.road.grants.add(grant.clone())?;
    if door.terminal.json {
        door.json(&json!({"grant": grant}));
    } else {
        door.terminal.data(&grant_line(door, &grant));
        door.terminal.note(&format!("granted; take it back with: verger grants revoke {}", grant.id));
    }
    Ok(())
}

/// A standing grant as a person words it: a tool that edits, a pattern of paths, how long.
pub fn standing(
    road: &Road,
    tool: String,
    paths: &str,
    expires: Option<&str>,
    now_ms: i64,
) -> Result<Grant, Failure> {
    // A grant may be for a client of either surface.
    let surfaces = [&road.registry, &tools::table::obsidian()];
    let known = surfaces.iter().find_map(|registry| registry.find(&tool, &Rights::all()).ok());
    let found = known.map_or_else(|| road.registry.find(&tool, &Rights::all()), Ok)?;
    if found.spec().effect != Effect::Edits {
        return Err(Failure::usage(
            format!("`{tool}` changes no notes, so it needs no grant"),
            "grants are for tools that edit; `verger tools` says which do",
        ));
    }
    let pattern = paths.trim();
    if pattern.is_empty() || pattern.starts_with(['!', '#']) {
        return Err(Failure::usage(
            format!("`{paths}` is no pattern of paths"),
            "write it as in .gitignore, e.g. 'Journal/**'; '/**' is the whole vault",
        ));
    }
    // From the root: `Journal/**` must not cover `Old/Journal/`.
    let pattern = if pattern.starts_with('/') { pattern.to_owned() } else { format!("/{pattern}") };
    let expires_ms = match expires {
        None => None,
        Some(text) => Some(now_ms.saturating_add(span(text).ok_or_else(|| {
            Failure::usage(
                format!("`{text}` is no time"),
                "write a number and m, h, d or w: 30m, 12h, 7d, 4w",
            )
        })?)),
    };
    Ok(Grant {
        id: RealWorld.id()?,
        rule: Rule { tool, paths: Some(pattern), target: None },
        lifetime: Lifetime::Always,
        holder: None,
        given_ms: now_ms,
        expires_ms,
    })
}

fn grant_line(door: &Door<'_>, grant: &Grant) -> String {
    let paper = &door.terminal.out;
    let expires = match grant.expires_ms {
        None => "until revoked".to_owned(),
        Some(at) if at <= door.now_ms() => "expired".to_owned(),
        Some(at) => match jiff::Timestamp::from_millisecond(at) {
            Ok(time) => format!("until {}", time.strftime("%Y-%m-%d %H:%M UTC")),
            Err(_) => "until revoked".to_owned(),
        },
    };
    format!("{}  {}  {expires}\n", paper.paint(Role::Place, &grant.id), paper.text(&grant.rule.describe()))
}

/// `7d` in milliseconds.
fn span(text: &str) -> Option<i64> {
    let text = text.trim();
    let unit = text.chars().last()?;
    let number: i64 = text.strip_suffix(unit)?.trim().parse().ok().filter(|number| *number > 0)?;
    let minutes = match unit {
        'm' => 1,
        'h' => 60,
        'd' => 24 * 60,
        'w' => 7 * 24 * 60,
        _ => return None,
    };
    number.checked_mul(minutes * 60_000)
}

#[cfg(test)]
mod tests {
    use super::span;

    #[test]
    fn times_are_a_number_and_a_unit() {
        for (text, expected) in [
            ("30m", Some(1_800_000)),
            ("12h", Some(43_200_000)),
            ("7d", Some(604_800_000)),
            ("1w", Some(604_800_000)),
            ("0d", None),
            ("-1d", None),
            ("7", None),
            ("d", None),
            ("", None),
            ("7é", None),
            ("99999999999999999w", None),
        ] {
            assert_eq!(span(text), expected, "{text}");
        }
    }
}
