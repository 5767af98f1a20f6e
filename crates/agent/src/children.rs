//! Children: conversations that do a part of the work. They may do no more than their parent, spend from its purse, share
//! its ledger, ask the same person, and end when it ends.

use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use llm::chat::Part;
use pipeline::plan::{Child, Role};
use pipeline::{Output, Refusal, Rights, wrap};

use crate::calls::{self, Numbered, Told};
use crate::conversation::Spent;
use crate::door::Host;
use crate::halt::Halt;
use crate::mind::{Origin, SkillText, Talk};
use crate::purse::{Limits, Purse};
use crate::steer;
use crate::step::{Over, Step};
use crate::trouble::Trouble;

/// How deep children may have children.
const DEEPEST: u8 = 2;
/// How many rounds a child has if nobody says otherwise.
const ROUNDS: u32 = 15;
/// How long a child may take if nobody says otherwise.
const TIME: Duration = Duration::from_secs(600);
/// Beyond its time a child is dropped, whatever it does.
const GRACE: Duration = Duration::from_secs(5);
/// Tools that a child cannot have.
const NOT_FOR_CHILDREN: [&str; 1] = ["switch_agent"];
/// Tools that the deepest children cannot have.
const NOT_FOR_THE_DEEPEST: [&str; 3] = ["new_task", "spawn_agent", "invoke_skill"];

/// What a child shall do.
pub(crate) struct Order {
    child: Child,
    /// The skill that it carries out.
    skill: Option<SkillText>,
}

/// Orders for plain children.
pub(crate) fn ordered(children: &[Child]) -> Vec<Order> {
    children.iter().map(|child| Order { child: child.clone(), skill: None }).collect()
}

/// An order to carry out a skill.
pub(crate) fn skilled(skill: SkillText, arguments: &str, turns: Option<u32>) -> Order {
    let child = Child {
        name: skill.name.clone(),
        task: arguments.to_owned(),
        tools: skill.tools.clone(),
        turns: Some(turns.unwrap_or(12).min(25)),
        ..Child::default()
    };
    Order { child, skill: Some(skill) }
}

/// Lets the children of several calls work at the same time, and writes down what came of each call.
pub(crate) async fn work(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
    spawning: Vec<(Numbered, Vec<Order>)>,
) -> Result<(), Trouble> {
    let mut working = Vec::new();
    let mut names = Vec::new();
    for (one, orders) in spawning {
        let mut children = Vec::new();
        for (index, mut order) in orders.into_iter().enumerate() {
            order.child.name = own_name(&mut names, order.child.name);
            children.push(prepare(talk, host, purse, halt, &one, index, order).await?);
        }
        working.push(async move { (one, join_all(children.into_iter().map(run)).await) });
    }
    for (one, reports) in join_all(working).await {
        for report in &reports {
            paid(talk, report).await?;
        }
        let told = tell(&reports);
        calls::end(talk, host, &one, told, 0).await?;
    }
    Ok(())
}

/// Whoever watches tells children by their names, so two that work at the same time have two.
fn own_name(known: &mut Vec<String>, wanted: String) -> String {
    let mut name = wanted.clone();
    let mut count = 1;
    while known.contains(&name) {
        count += 1;
        name = format!("{wanted} ({count})");
    }
    known.push(name.clone());
    name
}

/// A child, ready to work; or why there is none.
enum Prepared {
    Ready(Box<Ready>),
    Not { name: String, why: String },
}

struct Ready {
    name: String,
    talk: Talk,
    /// What it is told first; nothing if it goes on.
    first: Option<String>,
    host: Host,
    purse: Purse,
    halt: Halt,
    time: Duration,
}

async fn prepare(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
    one: &Numbered,
    index: usize,
    order: Order,
) -> Result<Prepared, Trouble> {
    let name = order.child.name.clone();
    let not = |why: String| Ok(Prepared::Not { name: name.clone(), why });
    if talk.depth >= DEEPEST {
        return not(format!("children may be {DEEPEST} deep; do it yourself"));
    }
    let (agent, ceiling) = match rights(talk, &order) {
        Ok(rights) => rights,
        Err(refusal) => return not(refusal.to_string()),
    };
    let origin = Origin {
        parent: Some(talk.conversation.id.clone()),
        depth: talk.depth + 1,
        ceiling,
        ledger: Arc::clone(&talk.ledger),
        kept: Arc::clone(&talk.kept),
    };
    let child = &order.child;
    let mind = Arc::clone(&talk.mind);
    let known = talk.conversation.children.get(&(one.key.clone(), index)).cloned();
    let (made, first) = match &known {
        // It was made before a crash; it goes on where it stopped.
        Some(session) => {
            let made = mind.resume_as(session, origin).await;
            let first = made.as_ref().is_ok_and(|talk| talk.conversation.turns == 0);
            (made, first)
        }
        None => (mind.begin_as(&agent, &model(talk, &order), origin).await, true),
    };
    let mut made = match made {
        Ok(made) => made,
        Err(trouble @ Trouble::Model(_)) => return not(trouble.to_string()),
        Err(trouble) => return Err(trouble),
    };
    if let Some(words) = &child.instructions {
        made.persona.instructions = format!("{}\n\n{words}", made.persona.instructions);
    }
    if known.is_none() {
        let session = made.conversation.id.clone();
        let step = Step::Child { call: one.key.clone(), index, session, name: name.clone() };
        talk.record(vec![step]).await?;
    }
    let before = made.conversation.turn.as_ref().map(|turn| turn.spent).unwrap_or_default();
    let time = child.seconds.map_or(TIME, Duration::from_secs);
    let limits = Limits {
        rounds: child.turns.unwrap_or(ROUNDS),
        time: Some(time),
        tokens: child.tokens,
        dollars: child.dollars,
        mistakes: purse.limits().mistakes,
    };
    Ok(Prepared::Ready(Box::new(Ready {
        first: first.then(|| words(talk, &order)),
        host: host.child(&name),
        purse: purse.child(limits, before),
        halt: halt.child(),
        talk: made,
        name,
        time,
    })))
}

/// Which agent a child is, and what it may call at most: never more than its parent.
fn rights(talk: &Talk, order: &Order) -> Result<(String, Rights), Refusal> {
    let child = &order.child;
    let agent = child.agent.clone().unwrap_or_else(|| talk.persona.slug.clone());
    if !talk.mind.cast.slugs().contains(&agent) && agent != talk.persona.slug {
        let known = talk.mind.cast.slugs().join(", ");
        return Err(Refusal::new(
            "agent_unknown",
            format!("there is no agent `{agent}`"),
            format!("there are: {known}"),
        ));
    }
    let mut ceiling = talk.rights().without(NOT_FOR_CHILDREN);
    if let Some(role) = child.role {
        ceiling = Rights::groups(role.groups().iter().copied()).within(&ceiling);
    }
    if let Some(skill) = &order.skill
        && !skill.trusted
    {
        ceiling = Rights::read_only().within(&ceiling);
    }
    if let Some(tools) = &child.tools {
        ceiling = ceiling.only(tools.iter().map(String::as_str));
    }
    if talk.depth + 1 >= DEEPEST {
        ceiling = ceiling.without(NOT_FOR_THE_DEEPEST);
    }
    Ok((agent, ceiling))
}

/// Its own choice, else its agent's, else that of its role, else its parent's.
fn model(talk: &Talk, order: &Order) -> String {
    let child = &order.child;
    let of_agent = child.agent.as_ref().and_then(|slug| talk.mind.cast.persona(slug).model);
    let of_role = child.role.and_then(|role| match role {
        Role::Researcher | Role::Creator => None,
        Role::Operator | Role::Collector => talk.mind.models.of_tier(llm::Tier::Fast).map(str::to_owned),
    });
    // Names of tiers that other programs use.
    let asked = child.model.as_deref().map(|name| match name {
        "balanced" => "main",
        "deep" if talk.mind.models.of_tier(llm::Tier::Flagship).is_none() => "main",
        "deep" => "flagship",
        other => other,
    });
    let own = asked.map(str::to_owned).or(of_agent).or(of_role);
    own.unwrap_or_else(|| talk.conversation.model.clone())
}

/// What a child is told first.
fn words(talk: &Talk, order: &Order) -> String {
    let child = &order.child;
    let mut parts = Vec::new();
    if let Some(skill) = &order.skill {
        parts.push(format!("Carry out this skill:\n{}", steer::skill_text(talk, skill)));
    }
    if let Some(context) = &child.context {
        // The parent may pass on what it read.
        parts.push(wrap::for_model(&Output::new(context.clone(), ()).from_vault("context")));
    }
    parts.push(child.task.clone());
    parts.retain(|part| !part.trim().is_empty());
    parts.join("\n\n")
}

/// What came of a child.
struct Report {
    name: String,
    model: String,
    how: Result<Over, String>,
    text: String,
    spent: Spent,
}

async fn run(prepared: Prepared) -> Report {
    let ready = match prepared {
        Prepared::Ready(ready) => *ready,
        Prepared::Not { name, why } => {
            let (model, text) = (String::new(), String::new());
            return Report { name, model, how: Err(why), text, spent: Spent::default() };
        }
    };
    let Ready { name, mut talk, first, host, purse, halt, time } = ready;
    let lead = async {
        match first {
            Some(text) => {
                let parts = vec![Part::Text { text }];
                Box::pin(talk.say_with(parts, &host, &purse, &halt)).await
            }
            None => Box::pin(talk.lead(&host, &purse, &halt)).await,
        }
    };
    // Waiting for a person is not its fault, so the clock is looked at again when it strikes.
    let how = watched(lead, &purse, time).await;
    if how.is_none() {
        halt.stop();
    }
    let how = match how {
        Some(Ok(over)) => Ok(over),
        Some(Err(trouble)) => Err(trouble.to_string()),
        None => Ok(Over::Time { limit: time.as_secs() }),
    };
    let conversation = &talk.conversation;
    let said = conversation.messages.iter().rev().find(|message| message.role == llm::chat::Role::Assistant);
    let text = match (&how, said.map(llm::chat::Message::text)) {
        (Ok(Over::Completed { result }), said) => match said.filter(|said| !said.trim().is_empty()) {
            Some(said) if said.trim() != result.trim() => format!("{said}\n\n{result}"),
            _ => result.clone(),
        },
        (_, said) => said.unwrap_or_default(),
    };
    Report { name, model: conversation.model.clone(), how, text, spent: conversation.spent }
}

/// Runs until it ends, or until its time and a little grace are over.
async fn watched<T>(work: impl Future<Output = T>, purse: &Purse, time: Duration) -> Option<T> {
    tokio::pin!(work);
    let mut wait = time + GRACE;
    loop {
        match tokio::time::timeout(wait, &mut work).await {
            Ok(done) => return Some(done),
            Err(_) => match purse.time_left() {
                Some(left) if !left.is_zero() => wait = left + GRACE,
                _ => return None,
            },
        }
    }
}

/// What a child cost is its parent's cost.
async fn paid(talk: &mut Talk, report: &Report) -> Result<(), Trouble> {
    if report.spent.tokens() == 0 {
        return Ok(());
    }
    let dollars = (!report.spent.unpriced).then_some(report.spent.dollars);
    let step = Step::Spent { model: report.model.clone(), usage: report.spent.usage, dollars };
    talk.record(vec![step]).await
}

/// What the parent is told: a part for each child, failures and empty results called by their names.
fn tell(reports: &[Report]) -> Told {
    let all_failed = reports.iter().all(|report| report.how.is_err());
    let parts: Vec<String> = reports.iter().map(section).collect();
    let text = parts.join("\n\n---\n\n");
    if all_failed {
        let refusal = Refusal::new(
            "children_failed",
            format!("no child could work: {text}"),
            "do it yourself, or ask for it in another way",
        );
        return Told::refusal(&refusal);
    }
    Told::answer(text)
}

fn section(report: &Report) -> String {
    let name = report.name.replace(['\n', '\r'], " ");
    let on = if report.model.is_empty() { String::new() } else { format!(" (on {})", report.model) };
    let how = match &report.how {
        Err(why) => return format!("## {name}{on}\nFAILED: {why}"),
        Ok(over) if over.is_done() => String::new(),
        Ok(Over::Empty) => String::new(),
        Ok(over) => format!("NOT FINISHED: {}. What there is:\n", over.describe()),
    };
    if report.text.trim().is_empty() {
        return format!("## {name}{on}\n{how}NO RESULT: it ended without saying anything.");
    }
    // A child has read notes and more; its words are data.
    let body = wrap::for_model(&Output::new(report.text.clone(), ()).from_vault(format!("child {name}")));
    format!("## {name}{on}\n{how}{body}")
}
