//! What a model says to its loop: asking the person, the list of what is to be done, another agent, children, skills, advice.

use std::collections::BTreeSet;
use std::sync::Arc;

use futures::StreamExt;
use llm::Tier;
use llm::chat::{Collector, Message, Purpose, Request};
use pipeline::approve::{Decision, Rule};
use pipeline::ledger::Legs;
use pipeline::plan::{Asked, TodoItem, TodoState};
use pipeline::{Control, Outcome, Output, Question, Refusal, Task, wrap};

use crate::ask::belongs;
use crate::calls::{self, Numbered, Told};
use crate::children;
use crate::door::{Answers, Host, News};
use crate::halt::Halt;
use crate::mind::{SkillText, Talk};
use crate::purse::Purse;
use crate::step::{Over, Step};
use crate::trouble::Trouble;

/// How often the stronger model may be asked in one turn.
const ADVICE: u32 = 3;
/// How long its answer may be, in tokens.
const ADVICE_TOKENS: u32 = 3_000;

/// Carries out neighbouring words to the loop, in order; children of neighbouring calls work at the same time.
pub(crate) async fn all(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
    task: &Arc<Task>,
    batch: Vec<Numbered>,
) -> Result<Option<Over>, Trouble> {
    let mut spawning: Vec<(Numbered, Vec<children::Order>)> = Vec::new();
    for one in batch {
        calls::began(host, &one);
        let asker = host.asker(purse);
        let outcome = talk.mind.road.run(task, calls::call(&one, halt), &*asker).await;
        let (control, output) = match outcome {
            Outcome::Steered(control, output) => (control, output),
            other => {
                let told = Told::of(&other, task, talk.refusals.about(&one.call.name));
                calls::end(talk, host, &one, told, 0).await?;
                continue;
            }
        };
        let orders = match &control {
            Control::Spawn { children } => Some(Ok(children::ordered(children))),
            Control::RunSkill { name, arguments, turns } => Some(
                talk.mind.cast.skill(name).map(|skill| vec![children::skilled(skill, arguments, *turns)]),
            ),
            _ => None,
        };
        match orders {
            Some(Ok(orders)) => spawning.push((one, orders)),
            Some(Err(refusal)) => calls::end(talk, host, &one, Told::refusal(&refusal), 0).await?,
            None => {
                children::work(talk, host, purse, halt, std::mem::take(&mut spawning)).await?;
                if let Some(over) = alone(talk, host, purse, halt, task, one, control, output).await? {
                    return Ok(Some(over));
                }
            }
        }
    }
    children::work(talk, host, purse, halt, spawning).await?;
    Ok(None)
}

#[expect(clippy::too_many_arguments, reason = "everything that a turn consists of")]
async fn alone(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
    task: &Arc<Task>,
    one: Numbered,
    control: Control,
    output: Output,
) -> Result<Option<Over>, Trouble> {
    let told = match control {
        Control::Activate { tools } => {
            talk.record(vec![Step::Activated { tools }]).await?;
            Told::answer(calls::present(&output, task))
        }
        Control::Ask { questions } => Told::answer(asked(&questions, host.answer(&questions, purse).await)),
        Control::Complete { result } => {
            calls::end(talk, host, &one, Told::answer("Noted."), 0).await?;
            return Ok(Some(Over::Completed { result }));
        }
        Control::Todo { items } => {
            let text = count(&items);
            host.show(News::Todo { items: items.clone() });
            talk.record(vec![Step::Todo { items }]).await?;
            Told::answer(text)
        }
        Control::SwitchAgent { agent, reason } => switch(talk, host, purse, &one, &agent, &reason).await?,
        Control::Consult { question } => consult(talk, purse, halt, &question).await?,
        Control::ReadSkill { name } => read_skill(talk, &name),
        // Taken care of where several of them meet.
        Control::Spawn { .. } | Control::RunSkill { .. } => return Ok(None),
    };
    calls::end(talk, host, &one, told, 0).await?;
    Ok(None)
}

fn asked(questions: &[Asked], answers: Answers) -> String {
    match answers {
        Answers::Given(answers) if questions.len() == 1 => {
            format!("The user answers: {}", answers.join(", "))
        }
        Answers::Given(answers) => {
            let lines = questions.iter().zip(&answers);
            lines
                .map(|(question, answer)| format!("{}: {answer}", question.question))
                .collect::<Vec<_>>()
                .join("\n")
        }
        Answers::Cancelled => "The user would rather not answer.".to_owned(),
        Answers::Nobody => {
            "Nobody can be asked here. Decide by yourself what is safe, or end and say what you need to know."
                .to_owned()
        }
    }
}

fn count(items: &[TodoItem]) -> String {
    let done = items.iter().filter(|item| item.state == TodoState::Done).count();
    format!("The list has {} lines, {done} of them done.", items.len())
}

/// Another agent takes over at the next round. If it may do more than this one, a person decides.
async fn switch(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    one: &Numbered,
    slug: &str,
    reason: &str,
) -> Result<Told, Trouble> {
    let refuse = |reason: &'static str, message: String, hint: &str| {
        Ok(Told::refusal(&Refusal::new(reason, message, hint)))
    };
    if talk.depth > 0 {
        return refuse(
            "not_permitted",
            "a child stays who it is".to_owned(),
            "end, and say who should do it",
        );
    }
    let known = talk.mind.cast.slugs();
    if !known.iter().any(|other| other == slug) {
        let hint = format!("there are: {}", known.join(", "));
        return refuse("agent_unknown", format!("there is no agent `{slug}`"), &hint);
    }
    let persona = talk.mind.cast.persona(slug);
    let names = |rights: &pipeline::Rights| -> BTreeSet<String> {
        let listed = talk.mind.registry().list(rights);
        listed.into_iter().map(|tool| tool.spec.name.into_owned()).collect()
    };
    let now = talk.rights();
    let next = persona.rights.within(&talk.ceiling);
    let more: Vec<String> = names(&next).difference(&names(&now)).cloned().collect();
    if !more.is_empty() || (next.may_edit() && !now.may_edit()) {
        let input = one.input();
        let summary = format!("become the agent `{slug}` ({reason})");
        let question = Question {
            tool: "switch_agent",
            input: &input,
            summary: &summary,
            changes: &[],
            reads: &[],
            results: &[],
            target: Some(slug),
            warning: Some(format!("it may do more than `{}`: {}", talk.persona.slug, more.join(", "))),
            legs: talk.legs(),
            rule: Rule::covering("switch_agent", &[], Some(slug)),
        };
        let asker = host.asker(purse);
        if !asker.is_person() {
            return refuse(
                "denied",
                format!("`{slug}` may do more than `{}`, and nobody can be asked", talk.persona.slug),
                "go on as you are",
            );
        }
        if !matches!(asker.ask(&question).await, Decision::Yes(_)) {
            return refuse("denied", format!("the user does not want `{slug}`"), "go on as you are");
        }
    }
    talk.become_agent(slug).await?;
    host.show(News::Agent { slug: slug.to_owned() });
    Ok(Told::answer(format!("You are `{slug}` from now on.")))
}

/// A stronger model's opinion: no tools, a bounded answer, three times a turn.
async fn consult(talk: &mut Talk, purse: &Purse, halt: &Halt, question: &str) -> Result<Told, Trouble> {
    let refuse = |reason: &'static str, message: &str, hint: &str| {
        Ok(Told::refusal(&Refusal::new(reason, message, hint)))
    };
    let asked = talk.conversation.turn.as_ref().map_or(0, |turn| turn.advised);
    if asked >= ADVICE {
        return refuse(
            "advice_used_up",
            "advice was asked for three times in this turn",
            "decide by yourself",
        );
    }
    let Some(name) = talk.mind.models.of_tier(Tier::Flagship).map(str::to_owned) else {
        return refuse("no_flagship", "no flagship model is configured", "decide by yourself");
    };
    let model = talk.mind.models.find(&name)?;
    let mut request = Request::new(vec![Message::user(question)]);
    request.system = vec!["Another model asks for your advice about its work on a vault of notes. Answer briefly: what to do, in which order, and why.".to_owned()];
    request.max_tokens = Some(ADVICE_TOKENS);
    request.conversation = belongs(&talk.conversation, asked, Purpose::Advice);
    let mut events = model.stream(request);
    let mut collector = Collector::default();
    loop {
        let event = tokio::select! {
            () = halt.stopped() => return refuse("cancelled", "it was called off", "nothing"),
            event = events.next() => event,
        };
        match event {
            Some(Ok(event)) => collector.take(&event),
            Some(Err(error)) => return refuse("advice_failed", &error.to_string(), error.hint()),
            None => break,
        }
    }
    let Some(answer) = collector.finish() else {
        return refuse("advice_failed", "the answer broke off", "decide by yourself");
    };
    let dollars = answer.usage.dollars.or_else(|| model.price().map(|price| price.of(&answer.usage)));
    purse.spend(&answer.usage, dollars);
    let spent = Step::Spent { model: model.name().to_owned(), usage: answer.usage, dollars };
    talk.record(vec![spent]).await?;
    Ok(Told::answer(format!("{} says:\n{}", model.name(), answer.message.text())))
}

/// A skill's text. One that nobody has trusted is data, not an instruction.
fn read_skill(talk: &Talk, name: &str) -> Told {
    match talk.mind.cast.skill(name) {
        Ok(skill) => Told::answer(skill_text(talk, &skill)),
        Err(refusal) => Told::refusal(&refusal),
    }
}

pub(crate) fn skill_text(talk: &Talk, skill: &SkillText) -> String {
    if skill.trusted {
        return skill.text.clone();
    }
    talk.ledger.join(Legs { untrusted: true, ..Legs::default() });
    wrap::for_model(&Output::new(skill.text.clone(), ()).from_outside(format!("skill {}", skill.name)))
}
