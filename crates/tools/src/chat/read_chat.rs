//! `read_chat`: a chat note with its messages and the notes that they link to. Called by Verger itself, never by a model.

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};
use vault::VaultPath;
use vault::edit::chat_note::{ChatNote, Role};

use super::expand::{Expansion, Linked};

/// The tool.
pub struct ReadChat;

/// Read a chat note: its settings, its messages and the notes that they link to.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path of the note.
    path: VaultPath,
}

/// A chat note as it is sent.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Chat {
    /// Its front matter.
    pub front: Map<String, Value>,
    /// Its messages, in order; those that say nothing are there too.
    pub messages: Vec<Said>,
    /// What the person should know.
    pub notices: Vec<String>,
}

/// A message.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Said {
    /// By whom.
    pub role: Role,
    /// What.
    pub text: String,
    /// The notes that it links to, as far as no message before it does.
    pub linked: Vec<Linked>,
}

impl Tool for ReadChat {
    const SPEC: Spec = Spec::new("read_chat", Group::Read, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let text = view.text(&input.path)?;
        let note = ChatNote::read(&text)?;
        let front = vault::edit::front::all(&text)?;
        let mut expansion = Expansion::new(view, input.path.clone());
        let mut messages = Vec::with_capacity(note.parts.len());
        for part in note.parts {
            let linked = expansion.of(&part.text)?;
            messages.push(Said { role: part.role, text: part.text, linked });
        }
        let words = format!("{} messages", messages.len());
        let chat = Chat { front, messages, notices: expansion.notices };
        let data = serde_json::to_value(&chat).unwrap_or_else(|_| json!({}));
        Ok(Plan::Answer(Output::new(words, data).from_vault(input.path.as_str())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chat::expand::{ALL, ONE};
    use pipeline::approve::Beforehand;
    use pipeline::testing::Rig;
    use pipeline::{Outcome, Registry};

    fn read(fixture: &str) -> Chat {
        let registry = Registry::default();
        registry.add(ReadChat);
        let rig = Rig::new(fixture, registry);
        match rig.call("read_chat", json!({"path": "Chat.md"}), &Beforehand) {
            Outcome::Answered(output) => {
                assert!(rig.task.ledger.legs().private && rig.task.ledger.legs().untrusted);
                serde_json::from_value(output.data).unwrap_or_else(|error| panic!("{error}"))
            }
            other => panic!("{other:?}"),
        }
    }

    fn names(chat: &Chat) -> Vec<&str> {
        chat.messages.iter().flat_map(|said| &said.linked).map(|linked| linked.name.as_str()).collect()
    }

    #[test]
    fn links_of_every_kind_are_read_along_once_and_one_level_deep() {
        let chat = read(
            "Chat.md: [[A]] and [[A|again]], [[B#Two]], [[B#^here]], ![[Sub/C]], [d](D.md), [w](https://x.y), `[[E]]`\n<hr class=\"__chatgpt_plugin\">\n### role::assistant\nsee [[E]]\n--- A.md: ---\nx: 1\n---\nalpha [[E]]\n--- B.md: # One\nno\n# Two\nsecond\n# Three\na block ^here\n--- Sub/C.md: gamma\n--- D.md: first\n\n<hr class=\"__chatgpt_plugin\">\n\n### role::assistant\n\nsecond\n--- E.md: epsilon\n",
        );
        assert_eq!(names(&chat), ["A.md", "B.md#Two", "B.md#^here", "Sub/C.md", "D.md", "E.md"]);
        let texts: Vec<&str> = chat.messages[0].linked.iter().map(|linked| linked.text.as_str()).collect();
        assert_eq!(texts, ["alpha [[E]]", "# Two\nsecond", "a block ^here", "gamma", "first\n\nsecond"]);
        assert!(chat.notices.is_empty(), "{:?}", chat.notices);
    }

    #[test]
    fn an_ignored_note_looks_like_one_that_is_not_there() {
        let chat = read(
            "Chat.md: [[Secret]] [[Gone]] ![[x.png]] [[A#No]]\n--- Secret.md: s\n--- A.md: a\n--- .vergerignore: Secret.md\n",
        );
        assert!(names(&chat).is_empty());
        assert_eq!(
            chat.notices,
            [
                "[[Secret]] leads to no note that can be read",
                "[[Gone]] leads to no note that can be read",
                "`A.md` has no section `No`"
            ]
        );
    }

    #[test]
    fn long_notes_are_cut_and_what_does_not_fit_is_named() {
        let long = format!("{}\n", "x".repeat(99)).repeat(500);
        let mut fixture = "Chat.md: [[n0]] [[n1]] [[n2]] [[n3]] [[n4]] [[n5]]\n".to_owned();
        for number in 0..6 {
            fixture += &format!("--- n{number}.md: {long}");
        }
        let chat = read(&fixture);
        let sizes: usize = chat.messages[0].linked.iter().map(|linked| linked.text.len()).sum();
        assert!(sizes <= ALL + 6 * 60, "{sizes}");
        assert!(chat.messages[0].linked.iter().all(|linked| linked.text.len() <= ONE + 60));
        assert!(chat.messages[0].linked[0].text.ends_with("bytes of this note were left out]"));
        assert_eq!(chat.notices.len(), 6, "{:?}", chat.notices);
    }
}
