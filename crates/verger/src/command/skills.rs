//! `skills`: what the agent can be taught, what each could do, and which are trusted. Installing shows the capabilities
//! first and records from where a skill came and what it was, outside of the skill.

use std::path::Path;

use agent::skills::{Capabilities, Skill};
use agent::text::Origin;
use pipeline::World;
use serde_json::{Value, json};

use crate::args::SkillsWhat;
use crate::command::trust::{Desk, allowed, capabilities, problem_json, tell_problem, trust_one, unknown};
use crate::door::Door;
use crate::failure::{Exit, Failure};
use crate::paper::Role;
use crate::place;
use crate::shelf::own::{self, Own};
use crate::shelf::{Item, Kind, ReadFolder};
use crate::world::RealWorld;

/// Lists them, shows, trusts, adds or removes one.
pub fn skills(door: &Door<'_>, what: Option<SkillsWhat>) -> Result<(), Failure> {
    match what.unwrap_or(SkillsWhat::List) {
        SkillsWhat::List => list(door),
        SkillsWhat::Show { name } => show(door, &name),
        SkillsWhat::Trust { name, yes } => trust_one(door, Kind::Skill, &name, yes),
        SkillsWhat::Add { folder, yes } => add(door, &folder, yes),
        SkillsWhat::Rm { name, yes } => remove(door, &name, yes),
    }
}

fn list(door: &Door<'_>) -> Result<(), Failure> {
    let desk = Desk::open(door)?;
    let skills = desk.kit().skills;
    if door.terminal.json {
        let all = |items: &mut dyn Iterator<Item = &Skill>| -> Vec<Value> {
            items.map(|skill| json!({"skill": skill, "can": Capabilities::of(skill, &desk.tools)})).collect()
        };
        let problems: Vec<Value> = skills.problems().iter().map(problem_json).collect();
        door.json(&json!({"skills": all(&mut skills.list()), "waiting": all(&mut skills.waiting()), "problems": problems}));
        return Ok(());
    }
    let paper = &door.terminal.out;
    let line = |skill: &Skill, more: &str| {
        let name = paper.paint(Role::Title, &skill.name);
        let rest = format!("  {}{more}  {}\n", skill.source.name(), skill.description);
        format!("{name}{}", paper.text(&rest))
    };
    for skill in skills.list() {
        door.terminal.data(&line(skill, ""));
    }
    for skill in skills.waiting() {
        door.terminal.data(&line(skill, ", not trusted"));
    }
    if skills.waiting().next().is_some() {
        door.terminal.note("what is not trusted is not used; look at it: verger skills trust NAME");
    }
    skills.problems().iter().for_each(|problem| tell_problem(door, problem));
    desk.tell_left_out(door, "skills/");
    Ok(())
}

fn show(door: &Door<'_>, name: &str) -> Result<(), Failure> {
    let desk = Desk::open(door)?;
    let skills = desk.kit().skills;
    let Some(skill) = skills.list().chain(skills.waiting()).find(|skill| skill.name == name) else {
        let names: Vec<&str> =
            skills.list().chain(skills.waiting()).map(|skill| skill.name.as_str()).collect();
        return Err(unknown("skill", name, &names));
    };
    let is_it = |item: &&Item| item.text.path == skill.path && item.text.origin == skill.source;
    let item = desk.shelf.items.iter().find(is_it);
    let state = item.map(|item| desk.trust.state(item));
    let can = Capabilities::of(skill, &desk.tools);
    if door.terminal.json {
        let record = item.and_then(|item| desk.trust.entry(item));
        door.json(
            &json!({"skill": skill, "can": can, "state": state, "record": record, "text": skill.text()}),
        );
        return Ok(());
    }
    let mut text = format!("{}\n{}\n", skill.path, skill.description);
    if let Some(state) = state {
        text += &format!("trust: {}\n", state.name());
    }
    for line in can.lines() {
        text += &format!("* {line}\n");
    }
    text += &format!("\n{}\n", skill.text().trim_end());
    door.terminal.data(&door.terminal.out.text(&text));
    Ok(())
}

fn add(door: &Door<'_>, folder: &Path, yes: bool) -> Result<(), Failure> {
    let mut desk = Desk::open(door)?;
    let folder = &own::real(folder);
    let files = own::tree(folder).map_err(|why| cannot_add(folder, &why))?;
    let name = folder_name(folder)?;
    let read = ReadFolder { path: format!("skills/{name}"), files: Ok(files.clone()) };
    let item = read.item(Origin::Global).map_err(|left_out| cannot_add(folder, &left_out.why))?;
    let Some(can) = capabilities(&desk, &item) else { return Err(no_skill(&desk, folder, &item)) };
    let config = place::config_folder()?;
    let own = Own::at(&config);
    if crate::place::is_folder(&own.skill(&name)) {
        return Err(Failure::usage(
            format!("there is a skill `{name}` already"),
            format!("take it away first: verger skills rm {name}"),
        ));
    }
    let mut text = format!("{name}, from {}:\n{}\n", folder.display(), item.text.text.trim_end());
    for line in can.lines() {
        text += &format!("* {line}\n");
    }
    text += &format!("* {} files in all\n", files.len());
    door.terminal.note(door.terminal.err.text(&text).trim_end());
    allowed(door, yes, &name)?;
    own.put_skill(&name, &files).map_err(|error| cannot_add(folder, &error.to_string()))?;
    desk.trust.give(&item, Some(folder.display().to_string()))?;
    done(door, &name, "added", &json!({"can": can}))
}

/// The name of the folder, which is the name of the skill.
fn folder_name(folder: &Path) -> Result<String, Failure> {
    match folder.file_name().and_then(|name| name.to_str()) {
        Some(name) => Ok(name.to_owned()),
        None => Err(cannot_add(folder, "its folder has no name")),
    }
}

fn cannot_add(folder: &Path, why: &str) -> Failure {
    Failure::new(
        Exit::Failed,
        "skill_invalid",
        format!("{} cannot be added: {why}", folder.display()),
        "name a folder that holds a SKILL.md; see docs/guide/skills.md",
    )
}

fn no_skill(desk: &Desk, folder: &Path, item: &Item) -> Failure {
    let found = agent::skills::Found { text: item.text.clone(), files: item.files.clone() };
    let alone = agent::skills::Skills::gather(&[found], &desk.tools, &|_| true);
    let why = alone.problems().first().map(|problem| (problem.fault.to_string(), problem.fault.hint()));
    let (why, hint) = why.unwrap_or_default();
    let what = format!("{} cannot be added: {why}", folder.display());
    Failure::new(Exit::Failed, "skill_invalid", what, hint)
}

fn remove(door: &Door<'_>, name: &str, yes: bool) -> Result<(), Failure> {
    let mut desk = Desk::open(door)?;
    let config = place::config_folder()?;
    let own = Own::at(&config);
    let is_it =
        |item: &&Item| item.kind == Kind::Skill && item.text.origin == Origin::Global && item.name() == name;
    let Some(item) = desk.shelf.items.iter().find(is_it).cloned() else {
        let names: Vec<&str> = desk
            .shelf
            .items
            .iter()
            .filter(|item| item.kind == Kind::Skill && item.text.origin == Origin::Global)
            .map(Item::name)
            .collect();
        return Err(unknown("skill of your own", name, &names));
    };
    let answer = || door.terminal.ask(&format!("Take the skill {name} away? [y/n] "));
    let sure =
        yes || (door.terminal.can_ask() && matches!(answer().as_deref().map(str::trim), Some("y" | "yes")));
    if !sure {
        return Err(Failure::new(
            Exit::Denied,
            "denied",
            format!("the skill `{name}` stays"),
            "answer y in a terminal, or add --yes",
        ));
    }
    let mark = RealWorld.id()?;
    let aside = own.put_aside(name, &mark).map_err(|error| {
        Failure::new(
            Exit::Failed,
            "io",
            format!("the skill `{name}` cannot be moved: {error}"),
            "check its permissions",
        )
    })?;
    desk.trust.forget(&item)?;
    done(door, name, &format!("taken away; it lies in {}", aside.display()), &json!({"aside": aside}))
}

fn done(door: &Door<'_>, name: &str, what: &str, more: &Value) -> Result<(), Failure> {
    if door.terminal.json {
        door.json(&json!({"skill": name, "text": what, "more": more}));
    } else {
        door.terminal.data(&door.terminal.out.text(&format!("{name}: {what}\n")));
    }
    Ok(())
}
