//! `trust`: what the vault would tell the agent, and whether the person lets it. `agents trust` and `skills trust` come
//! here as well.

use agent::skills::{Capabilities, Skills};
use agent::text::{Origin, Problem};
use pipeline::Rights;
use pipeline::refusal::nearest;
use pipeline::registry::Listing;
use serde_json::{Value, json};

use crate::args::TrustOptions;
use crate::door::Door;
use crate::failure::{Exit, Failure};
use crate::paper::Role;
use crate::place::{self, Place};
use crate::shelf::{Item, Kind, Kit, Shelf};
use crate::trust::{State, Trust};

/// The shelf, what is trusted, and what comes of both.
pub struct Desk {
    /// What lies there.
    pub shelf: Shelf,
    /// What is trusted of it.
    pub trust: Trust,
    /// Every tool of Verger's own agent.
    pub tools: Vec<Listing>,
}

impl Desk {
    /// Reads it all.
    pub fn open(door: &Door<'_>) -> Result<Desk, Failure> {
        Desk::of(door.road.vault(), &door.scope()?, &door.place)
    }

    /// The same for whoever holds the vault.
    pub fn of(vault: &vault::Vault, scope: &vault::policy::Scope, place: &Place) -> Result<Desk, Failure> {
        let shelf = Shelf::load(vault, scope, &place::config_folder()?)?;
        let trust = Trust::open(place)?;
        Ok(Desk { shelf, trust, tools: tools::table::every().list(&Rights::all()) })
    }

    /// For a conversation.
    pub fn kit(&self) -> Kit {
        self.shelf.kit(&self.trust, &self.tools)
    }

    /// What could not be read, as notes on stderr.
    pub fn tell_left_out(&self, door: &Door<'_>, below: &str) {
        for left_out in self.shelf.left_out.iter().filter(|left_out| left_out.path.contains(below)) {
            let text = format!("note: {} is not used: {}", left_out.path, left_out.why);
            door.terminal.note(&door.terminal.err.text(&text));
        }
    }
}

/// A file that is there and cannot be used, as a note on stderr.
pub fn tell_problem(door: &Door<'_>, problem: &Problem) {
    let text = format!("note: {} is not used: {}. {}", problem.path, problem.fault, problem.fault.hint());
    door.terminal.note(&door.terminal.err.text(&text));
}

/// The same as data.
pub fn problem_json(problem: &Problem) -> Value {
    json!({"path": problem.path, "why": problem.fault.to_string(), "hint": problem.fault.hint()})
}

/// All files that cannot be used.
pub fn problems(kit: &Kit) -> Vec<Problem> {
    let Kit { agents, skills, standing, workflows } = kit;
    [agents.problems(), skills.problems(), standing.problems(), workflows.problems()].concat()
}

/// Lists what the vault brings, trusts some of it, or forgets that.
pub fn trust(door: &Door<'_>, options: &TrustOptions) -> Result<(), Failure> {
    let mut desk = Desk::open(door)?;
    if options.what.is_empty() && !options.all {
        return list(door, &desk);
    }
    let chosen: Vec<Item> = match options.all {
        true => concerned(&desk).filter(|item| desk.trust.holds(item) == options.forget).cloned().collect(),
        false => options.what.iter().map(|name| named(&desk, name)).collect::<Result<_, _>>()?,
    };
    if options.forget {
        for item in &chosen {
            desk.trust.forget(item)?;
        }
        return done(door, &chosen, "not trusted any more");
    }
    for item in &chosen {
        give(door, &mut desk, item, options.yes)?;
    }
    done(door, &chosen, "trusted as it is now")
}

/// Trusts the agent or skill of this name.
pub fn trust_one(door: &Door<'_>, kind: Kind, name: &str, yes: bool) -> Result<(), Failure> {
    let mut desk = Desk::open(door)?;
    let mut fitting: Vec<Item> =
        desk.shelf.items.iter().filter(|item| item.kind == kind && item.name() == name).cloned().collect();
    // Of two with one name, the one that waits is meant; of two that wait, the vault's.
    fitting.sort_by_key(|item| (desk.trust.holds(item), item.text.origin != Origin::Vault));
    let Some(item) = fitting.into_iter().next() else {
        let names: Vec<&str> =
            desk.shelf.items.iter().filter(|item| item.kind == kind).map(Item::name).collect();
        return Err(unknown(kind.name(), name, &names));
    };
    if desk.trust.state(&item) == State::Own {
        return Err(Failure::usage(
            format!("the {} `{name}` is your own and needs no trust", kind.name()),
            format!("`verger {}s list` shows where each comes from", kind.name()),
        ));
    }
    give(door, &mut desk, &item, yes)?;
    done(door, &[item], "trusted as it is now")
}

/// Refuses a name that nothing has.
pub fn unknown(kind: &str, name: &str, names: &[&str]) -> Failure {
    let hint = match nearest(name, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`verger trust` lists what the vault brings".to_owned(),
    };
    Failure::new(Exit::Failed, "not_found", format!("there is no {kind} `{name}`"), hint)
}

/// What needs trust at all.
fn concerned(desk: &Desk) -> impl Iterator<Item = &Item> {
    desk.shelf.items.iter().filter(|item| desk.trust.state(item) != State::Own)
}

fn named(desk: &Desk, name: &str) -> Result<Item, Failure> {
    let name = name.strip_suffix("/SKILL.md").unwrap_or(name);
    let is_meant = |item: &&Item| {
        let path = &item.text.path;
        path == name || item.name() == name || path.strip_suffix("/SKILL.md") == Some(name)
    };
    let fitting: Vec<&Item> = concerned(desk).filter(is_meant).collect();
    match fitting.as_slice() {
        [item] => Ok((*item).clone()),
        [] => {
            let names: Vec<&str> =
                concerned(desk).flat_map(|item| [item.name(), item.text.path.as_str()]).collect();
            Err(unknown("such text", name, &names))
        }
        several => {
            let paths: Vec<&str> = several.iter().map(|item| item.text.path.as_str()).collect();
            Err(Failure::usage(
                format!("`{name}` could be several"),
                format!("name one: {}", paths.join(", ")),
            ))
        }
    }
}

/// Shows something and asks; trusts it if the person says yes.
pub fn give(door: &Door<'_>, desk: &mut Desk, item: &Item, yes: bool) -> Result<(), Failure> {
    show(door, desk, item);
    allowed(door, yes, &item.text.path)?;
    desk.trust.give(item, None)
}

/// Asks whether what was shown may be used.
pub fn allowed(door: &Door<'_>, yes: bool, what: &str) -> Result<(), Failure> {
    let denied =
        |hint: &str| Err(Failure::new(Exit::Denied, "denied", format!("`{what}` is not trusted"), hint));
    if yes {
        return Ok(());
    }
    if !door.terminal.can_ask() {
        return denied("nobody is there to ask: run it in a terminal, or add --yes");
    }
    match door.terminal.ask("Let the agent use it as it is? [y/n] ").as_deref().map(str::trim) {
        Some("y" | "yes") => Ok(()),
        _ => denied("nothing was changed"),
    }
}

/// Shows a text whole, with what it would give: a person trusts what they have seen.
fn show(door: &Door<'_>, desk: &Desk, item: &Item) {
    let paper = &door.terminal.err;
    let mut text = format!("{} ({}, {}):\n", item.text.path, item.kind.name(), desk.trust.state(item).name());
    text += item.text.text.trim_end();
    text.push('\n');
    for line in gives(desk, item) {
        text += &format!("* {line}\n");
    }
    door.terminal.note(paper.text(&text).trim_end());
}

/// What would come of trusting something.
pub fn gives(desk: &Desk, item: &Item) -> Vec<String> {
    match item.kind {
        Kind::Agent => {
            let kit = desk.kit();
            let more = kit.agents.waits(item.name()).map(|waits| waits.more.clone()).unwrap_or_default();
            match more.is_empty() {
                true => vec!["may do no more than what it overrides".to_owned()],
                false => vec![format!("may do more than what it overrides: {}", more.join(", "))],
            }
        }
        Kind::Skill => capabilities(desk, item).map_or_else(Vec::new, |can| can.lines()),
        Kind::Rule => vec!["stands in every prompt".to_owned()],
        Kind::Workflow => vec!["runs when you type its name".to_owned()],
    }
}

/// What a skill could do, if it is one.
pub fn capabilities(desk: &Desk, item: &Item) -> Option<Capabilities> {
    let found = agent::skills::Found { text: item.text.clone(), files: item.files.clone() };
    let alone = Skills::gather(&[found], &desk.tools, &|_| true);
    alone.list().next().map(|skill| Capabilities::of(skill, &desk.tools))
}

fn list(door: &Door<'_>, desk: &Desk) -> Result<(), Failure> {
    if door.terminal.json {
        let items: Vec<Value> = concerned(desk).map(|item| as_json(desk, item)).collect();
        let problems: Vec<Value> = problems(&desk.kit()).iter().map(problem_json).collect();
        door.json(&json!({"texts": items, "left_out": desk.shelf.left_out, "problems": problems}));
        return Ok(());
    }
    let paper = &door.terminal.out;
    for item in concerned(desk) {
        let state = desk.trust.state(item);
        let role = if state.holds() { Role::Good } else { Role::Warning };
        let shown = paper.paint(role, state.name());
        door.terminal.data(&format!("{}  {}  {shown}\n", paper.text(&item.text.path), item.kind.name()));
    }
    desk.tell_left_out(door, "");
    problems(&desk.kit()).iter().for_each(|problem| tell_problem(door, problem));
    if concerned(desk).any(|item| !desk.trust.holds(item)) {
        door.terminal.note("what is not trusted is not used; look at it: verger trust PATH");
    }
    Ok(())
}

fn as_json(desk: &Desk, item: &Item) -> Value {
    json!({
        "path": item.text.path,
        "kind": item.kind,
        "origin": item.text.origin,
        "state": desk.trust.state(item),
        "hash": item.seal.short(),
        "record": desk.trust.entry(item),
    })
}

fn done(door: &Door<'_>, items: &[Item], what: &str) -> Result<(), Failure> {
    let paths: Vec<&str> = items.iter().map(|item| item.text.path.as_str()).collect();
    if door.terminal.json {
        door.json(&json!({"paths": paths, "text": what}));
        return Ok(());
    }
    for path in &paths {
        door.terminal.data(&format!("{}: {what}\n", door.terminal.out.text(path)));
    }
    if paths.is_empty() {
        door.terminal.note("there is nothing to do");
    }
    Ok(())
}
