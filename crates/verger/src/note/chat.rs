//! A chat note as it is sent: read by the road, its settings merged, its messages in the form that a model knows.

use llm::chat::{Message, Part, Role};
use pipeline::ledger::Legs;
use pipeline::{Call, Nobody, Outcome, Output, Task, wrap};
use serde_json::json;
use tools::chat::expand::Linked;
use tools::chat::read_chat::{Chat, Said};
use vault::VaultPath;
use vault::edit::chat_note::Role as Speaks;
use vault::policy::Scope;

use super::agents::{self, Speaker};
use super::settings::{self, Settings};
use crate::door;
use crate::failure::{Exit, Failure};
use crate::study::Study;

/// Said to a model whose answer stands at the end of the chat: it was stopped, or its process died.
const GO_ON: &str = "[Verger: your answer was cut off. Go on where it ends.]";

/// A chat, ready to be sent.
pub struct Ready {
    /// Its settings.
    pub settings: Settings,
    /// Who speaks.
    pub speaker: Speaker,
    /// What was said before.
    pub before: Vec<Message>,
    /// What is asked now; nothing if the last message says nothing.
    pub question: Option<Vec<Part>>,
    /// What holds for all of it.
    pub system: Vec<String>,
    /// What the person should know.
    pub notices: Vec<String>,
}

/// The legs that a chat note brings along: it is a note of the vault.
pub const LEGS: Legs = Legs { private: true, untrusted: true, left: false };

/// What may be read and written now.
pub fn scope(study: &Study) -> Result<Scope, Failure> {
    Ok(Scope::new(study.config.limits.clone(), study.mind.road.vault().rules()?))
}

/// The note that a person means.
pub fn find(study: &Study, note: &str) -> Result<VaultPath, Failure> {
    door::resolve(study.mind.road.vault(), &scope(study)?, note)
}

/// Reads the chat.
pub async fn read(
    study: &Study,
    path: &VaultPath,
    task: &Task,
    agent: Option<&str>,
) -> Result<Ready, Failure> {
    let call = Call::new("read_chat", json!({ "path": path }));
    let data = match study.mind.road.run(task, call, &Nobody).await {
        Outcome::Refused(refusal) | Outcome::Denied(refusal) => return Err(refusal.into()),
        outcome => outcome.output().map(|output| output.data.clone()).unwrap_or_default(),
    };
    let chat: Chat = serde_json::from_value(data).map_err(|error| {
        Failure::new(
            Exit::Failed,
            "internal",
            format!("the chat cannot be read: {error}"),
            "please report it",
        )
    })?;
    ready(study, chat, agent)
}

fn ready(study: &Study, chat: Chat, agent: Option<&str>) -> Result<Ready, Failure> {
    let config = &study.config.note;
    let (defaults, configured) = (settings::of_defaults(config), settings::of_config(config));
    let without_agent = settings::merge(&[&defaults, &configured, &chat.front]);
    let name = agent.map(str::to_owned).or_else(|| settings::agent(&without_agent));
    let folder = config.agent_folder.clone().map_or_else(|| vault::VaultFolder::parse(agents::FOLDER), Ok);
    let folder = folder.map_err(|error| vault::Error::Path { text: agents::FOLDER.to_owned(), error })?;
    let scope = scope(study)?;
    let view = study.mind.road.vault().view(&scope);
    let mut speaker =
        agents::speaker(&view, &folder, name.as_deref(), &*study.mind.cast, &study.mind.road.registry)?;
    let merged = settings::merge(&[&defaults, &configured, &speaker.front, &chat.front]);
    let provider = settings::of_provider(config, settings::model(&merged).as_deref());
    let settings = Settings::read(&settings::merge(&[&provider, &merged]))?;
    if !settings.tools {
        speaker.persona.rights = pipeline::Rights::groups([]);
    }
    let mut system = settings.system.clone();
    let developer =
        chat.messages.iter().filter(|said| said.role == Speaks::Developer && !said.text.is_empty());
    system.extend(developer.map(|said| said.text.clone()));
    let (before, question) = turns(chat.messages);
    let notices = settings.notices.iter().cloned().chain(chat.notices).collect();
    Ok(Ready { settings, speaker, before, question, system, notices })
}

/// What was said before, and what is asked now. A linked note goes with the message of the user that follows it: a model does not
/// take its own words for data.
fn turns(said: Vec<Said>) -> (Vec<Message>, Option<Vec<Part>>) {
    let ends_with_nothing = said.last().is_some_and(|last| last.role == Speaks::User && last.text.is_empty());
    let mut messages: Vec<Message> = Vec::new();
    let mut waiting: Vec<Linked> = Vec::new();
    for Said { role, text, linked } in said {
        waiting.extend(linked);
        if text.is_empty() || role == Speaks::Developer {
            continue;
        }
        let mut parts = vec![Part::Text { text }];
        if role == Speaks::User {
            parts.extend(waiting.drain(..).map(shown));
        }
        let role = if role == Speaks::User { Role::User } else { Role::Assistant };
        match messages.last_mut().filter(|last| last.role == role) {
            Some(last) => last.parts.extend(parts),
            None => messages.push(Message { role, parts }),
        }
    }
    if ends_with_nothing || messages.is_empty() {
        return (messages, None);
    }
    match messages.pop_if(|last| last.role == Role::User) {
        Some(last) => (messages, Some(last.parts)),
        None => {
            let mut parts = vec![Part::Text { text: GO_ON.to_owned() }];
            parts.extend(waiting.into_iter().map(shown));
            (messages, Some(parts))
        }
    }
}

/// A linked note, wrapped: it is data, whatever it says.
fn shown(linked: Linked) -> Part {
    let output = Output::new(linked.text, ()).from_vault(linked.name);
    Part::Text { text: wrap::for_model(&output) }
}

/// There is nothing to answer.
pub fn nothing(path: &VaultPath) -> Failure {
    Failure::new(
        Exit::Failed,
        "nothing_to_answer",
        format!("the last message of `{path}` says nothing"),
        "write your message under the last heading of the note, then run it again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(role: Speaks, text: &str) -> Said {
        Said { role, text: text.to_owned(), linked: Vec::new() }
    }

    fn linking(role: Speaks, text: &str) -> Said {
        let linked = vec![Linked { name: "a.md".to_owned(), text: "alpha".to_owned() }];
        Said { linked, ..said(role, text) }
    }

    fn shape(turns: &(Vec<Message>, Option<Vec<Part>>)) -> String {
        let part = |part: &Part| match part {
            Part::Text { text } => text.clone(),
            other => format!("{other:?}"),
        };
        let parts = |parts: &[Part]| parts.iter().map(part).collect::<Vec<_>>().join(" + ");
        let mut lines: Vec<String> =
            turns.0.iter().map(|message| format!("{:?}: {}", message.role, parts(&message.parts))).collect();
        lines.push(format!("now: {}", turns.1.as_deref().map_or_else(|| "nothing".to_owned(), parts)));
        lines.join("\n").replace('\n', "|")
    }

    #[test]
    fn the_last_message_is_the_question_and_an_answer_at_the_end_is_gone_on_with() {
        use Speaks::{Assistant, Developer, User};
        for (messages, expected) in [
            (vec![said(User, "hi")], "now: hi"),
            (vec![said(User, "")], "now: nothing"),
            (
                vec![said(User, "a"), said(Assistant, "b"), said(User, "")],
                "User: a|Assistant: b|now: nothing",
            ),
            (vec![said(User, "a"), said(Assistant, "")], "now: a"),
            (
                vec![said(User, "a"), said(Assistant, "half")],
                "User: a|Assistant: half|now: [Verger: your answer was cut off. Go on where it ends.]",
            ),
            (vec![said(Developer, "x"), said(User, "a"), said(User, "b")], "now: a + b"),
        ] {
            assert_eq!(shape(&turns(messages)), expected);
        }
    }

    #[test]
    fn a_linked_note_is_wrapped_and_never_a_part_of_an_answer() {
        let turns = turns(vec![
            said(Speaks::User, "q"),
            linking(Speaks::Assistant, "see [[a]]"),
            said(Speaks::User, "and?"),
        ]);
        assert_eq!(
            shape(&turns),
            "User: q|Assistant: see [[a]]|now: and? + <untrusted-content source=\"a.md\" trust=\"user-data\">|alpha|</untrusted-content>"
        );
    }
}
