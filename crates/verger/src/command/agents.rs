//! `agents`: who can be talked to, what each may call, and which of the vault's wait for trust.

use agent::agents::{Agent, Resolved, Waiting, Web};
use pipeline::Group;
use serde_json::json;

use crate::args::AgentsWhat;
use crate::command::trust::{Desk, problem_json, tell_problem, trust_one, unknown};
use crate::door::Door;
use crate::failure::Failure;
use crate::paper::Role;
use crate::shelf::Kind;

/// Lists them, shows one, trusts one.
pub fn agents(door: &Door<'_>, what: Option<AgentsWhat>) -> Result<(), Failure> {
    match what.unwrap_or(AgentsWhat::List) {
        AgentsWhat::List => list(door),
        AgentsWhat::Show { slug } => show(door, &slug),
        AgentsWhat::Trust { slug, yes } => trust_one(door, Kind::Agent, &slug, yes),
    }
}

fn list(door: &Door<'_>) -> Result<(), Failure> {
    let desk = Desk::open(door)?;
    let agents = desk.kit().agents;
    let problems: Vec<_> = agents.problems().iter().collect();
    if door.terminal.json {
        let known: Vec<&Agent> = agents.list().collect();
        let waiting: Vec<&Waiting> = agents.waiting().collect();
        let problems: Vec<_> = problems.into_iter().map(problem_json).collect();
        door.json(&json!({"agents": known, "waiting": waiting, "problems": problems}));
        return Ok(());
    }
    let paper = &door.terminal.out;
    for agent in agents.list() {
        let slug = paper.paint(Role::Title, &agent.slug);
        let line = format!("  {}  {}  {}\n", agent.source.name(), groups(agent), agent.when_to_use);
        door.terminal.data(&format!("{slug}{}", paper.text(&line)));
    }
    for waits in agents.waiting() {
        let slug = &waits.agent.slug;
        let what = if waits.widens() { "asks for more rights" } else { "brings its own words" };
        let text =
            format!("note: the vault's agent `{slug}` {what} and is not trusted: verger agents trust {slug}");
        door.terminal.note(&door.terminal.err.text(&text));
    }
    problems.into_iter().for_each(|problem| tell_problem(door, problem));
    desk.tell_left_out(door, "agents/");
    Ok(())
}

fn groups(agent: &Agent) -> String {
    let names: Vec<&str> = agent.groups.iter().map(|group| group.name()).collect();
    let narrowed = if agent.tools.is_some() || !agent.deny.is_empty() { " (narrowed)" } else { "" };
    match names.len() {
        0 => "nothing".to_owned(),
        all if all == Group::ALL.len() => format!("everything{narrowed}"),
        _ => names.join(",") + narrowed,
    }
}

fn show(door: &Door<'_>, slug: &str) -> Result<(), Failure> {
    let desk = Desk::open(door)?;
    let agents = desk.kit().agents;
    let known: Vec<&str> = agents.list().map(|agent| agent.slug.as_str()).collect();
    let waits = agents.waits(slug);
    if !known.contains(&slug) && waits.is_none() {
        return Err(unknown("agent", slug, &known));
    }
    let Resolved { agent, message } = agents.resolve(slug);
    let rights = agent.rights(Web::On);
    let tools: Vec<&str> = desk
        .tools
        .iter()
        .filter(|tool| rights.permit(&tool.spec))
        .map(|tool| tool.spec.name.as_ref())
        .collect();
    if door.terminal.json {
        door.json(&json!({"agent": agent, "tools": tools, "waiting": waits, "message": message}));
        return Ok(());
    }
    let mut text = format!("{} ({}, {})\n", agent.name, agent.slug, agent.source.name());
    for (title, words) in
        [("when to use", &agent.when_to_use), ("role", &agent.role), ("instructions", &agent.instructions)]
    {
        if !words.is_empty() {
            text += &format!("{title}: {words}\n");
        }
    }
    if let Some(model) = &agent.model {
        text += &format!("model: {model}\n");
    }
    text += &format!("groups: {}\ntools: {}\n", groups(&agent), tools.join(", "));
    door.terminal.data(&door.terminal.out.text(&text));
    if let Some(message) = message {
        door.terminal.note(&door.terminal.err.text(&format!("note: {message}")));
    }
    Ok(())
}
