//! The loop: ask the model, make its calls, and so on until it has nothing more to call or a limit is reached.
//!
//! What comes next follows from the conversation alone, so a turn that was left half way goes on here as well.

use llm::chat::{Answer, Role, StopReason, ToolChoice, leaked_call};

use crate::ask::{self, Reply};
use crate::calls;
use crate::condense;
use crate::door::{Host, News};
use crate::halt::Halt;
use crate::mind::Talk;
use crate::prompt;
use crate::purse::Purse;
use crate::step::{Over, Step};
use crate::trouble::Trouble;

/// Leads the turn that runs to its end.
pub(crate) async fn lead(talk: &mut Talk, host: &Host, purse: &Purse, halt: &Halt) -> Result<Over, Trouble> {
    let mut was_empty = false;
    loop {
        if halt.is_stopped() {
            return Ok(Over::Stopped);
        }
        let Some(turn) = talk.conversation.turn.clone() else { return Ok(Over::Done) };
        if !turn.open.is_empty() {
            if let Some(over) = calls::make(talk, host, purse, halt).await? {
                return Ok(over);
            }
            continue;
        }
        let limits = purse.limits();
        if limits.mistakes > 0 && turn.mistakes >= limits.mistakes {
            return Ok(Over::Mistakes { limit: limits.mistakes });
        }
        let added: Vec<Step> = host.added().into_iter().map(|text| Step::Added { text }).collect();
        let has_spoken = talk.conversation.messages.last().is_some_and(|last| last.role == Role::Assistant);
        if has_spoken && added.is_empty() {
            return Ok(Over::Done);
        }
        if !added.is_empty() {
            talk.record(added).await?;
        }
        if let Some(over) = purse.used_up() {
            return Ok(over);
        }
        if turn.rounds >= limits.rounds {
            return last_word(talk, host, purse, halt, limits.rounds).await;
        }
        if !turn.warned && limits.rounds >= 5 && turn.rounds * 5 >= limits.rounds * 3 {
            talk.record(vec![Step::Told { text: prompt::nearly_over(limits.rounds - turn.rounds) }]).await?;
        }
        condense::if_due(talk, host, purse, halt).await?;
        let answer = match ask::model(talk, host, purse, halt, ToolChoice::Auto).await? {
            Reply::Answer(answer) => answer,
            Reply::Over(over) => return Ok(over),
        };
        if let Some(over) = after(talk, host, halt, &answer, &mut was_empty).await? {
            return Ok(over);
        }
    }
}

/// What an answer means for the turn. `None`: it goes on.
async fn after(
    talk: &mut Talk,
    host: &Host,
    halt: &Halt,
    answer: &Answer,
    was_empty: &mut bool,
) -> Result<Option<Over>, Trouble> {
    if answer.message.calls().next().is_some() {
        return Ok(None);
    }
    let text = answer.message.text();
    match &answer.stop {
        StopReason::Refused(why) => return Ok(Some(Over::Refused { why: why.clone() })),
        StopReason::Filtered => {
            let why = "a filter of the provider cut the answer off".to_owned();
            return Ok(Some(Over::Refused { why }));
        }
        // It wants to go on; what it said goes back as it is.
        StopReason::Paused => {
            talk.record(vec![Step::Told { text: "[Verger: go on.]".to_owned() }]).await?;
            return Ok(None);
        }
        StopReason::BrokenCall => return tell(talk, "your call could not be read; make it again").await,
        StopReason::MaxTokens => host.notice("the answer was cut off at its largest number of tokens"),
        StopReason::ContextFull => {
            condense::now(talk, host, halt).await?;
            return tell(talk, "the conversation was too long and has been made shorter; go on").await;
        }
        StopReason::End | StopReason::StopText | StopReason::Other(_) => {}
    }
    let tools = ask::tools(talk);
    if let Some(name) = leaked_call(&text, &tools) {
        host.notice(format!("the model wrote its call of `{name}` as text; it was not made"));
        let why = format!("your call of `{name}` came as text and was not made; call the tool itself");
        return tell(talk, &why).await;
    }
    if text.trim().is_empty() {
        if std::mem::replace(was_empty, true) {
            return Ok(Some(Over::Empty));
        }
        return tell(talk, "your answer was empty; say what came of it, or call a tool").await;
    }
    Ok(Some(Over::Done))
}

async fn tell(talk: &mut Talk, what: &str) -> Result<Option<Over>, Trouble> {
    talk.record(vec![Step::Told { text: format!("[Verger: {what}.]") }]).await?;
    Ok(None)
}

/// One more answer, without tools: what was done and what was not.
async fn last_word(
    talk: &mut Talk,
    host: &Host,
    purse: &Purse,
    halt: &Halt,
    limit: u32,
) -> Result<Over, Trouble> {
    talk.record(vec![Step::Told { text: prompt::last_word() }]).await?;
    match ask::model(talk, host, purse, halt, ToolChoice::None).await? {
        Reply::Over(over @ Over::Stopped) => Ok(over),
        Reply::Answer(_) | Reply::Over(_) => {
            host.show(News::Notice { text: format!("{limit} rounds are the most that a turn may have") });
            Ok(Over::Rounds { limit })
        }
    }
}
