//! `search_history`: what was said in earlier conversations.
//!
//! Earlier conversations quote notes and pages from the web, so the answer counts as text of the vault: private, and
//! possibly written by somebody else. An agent that may not read all notes finds only what was said with itself: what a
//! freer agent read aloud would otherwise be read by everybody.

use jiff::Timestamp;
use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use state::{Error, Found, Sessions};

use crate::page::count;

/// The tool, over these conversations.
pub struct SearchHistory(pub Sessions);

/// Search earlier conversations for a text, newest first: who said it, when, in which conversation, and the words around
/// it. Case does not count, and nothing in the text is a wildcard.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The text, e.g. a word or a name; short texts find more.
    query: String,
    /// Places to show at most, up to 30.
    #[serde(default = "ten")]
    top_k: usize,
    /// Only what this role said.
    #[serde(default)]
    role_filter: Option<Role>,
    /// Only in this conversation: its id, the start of its id, or its title.
    #[serde(default)]
    session_filter: Option<String>,
}

fn ten() -> usize {
    10
}

/// Who said something.
#[derive(Debug, Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// The person.
    User,
    /// The model.
    Assistant,
    /// A tool, in its result.
    Tool,
}

impl Role {
    fn name(self) -> &'static str {
        match self {
            Role::User => "user",
            Role::Assistant => "assistant",
            Role::Tool => "tool",
        }
    }
}

impl Tool for SearchHistory {
    const SPEC: Spec = Spec::new("search_history", Group::Agent, Effect::Answers);
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let only_own = view.scope().limits().read.is_some().then(|| view.agent().to_owned());
        let session = match input.session_filter.as_deref().map(|wanted| self.0.find(wanted)) {
            None => None,
            Some(Ok(header)) => Some(header.id),
            // Not even by its error may such an agent learn which other conversations there are.
            Some(Err(Error::Missing { .. } | Error::Ambiguous { .. })) if only_own.is_some() => {
                return Ok(answer(&[], view));
            }
            Some(Err(error)) => return Err(refused(error)),
        };
        let query = state::SearchHistory {
            text: input.query,
            limit: input.top_k,
            role: input.role_filter.map(|role| role.name().to_owned()),
            session,
            agent: only_own,
        };
        let found = self.0.search(&query).map_err(refused)?;
        Ok(answer(&found, view))
    }
}

fn answer(found: &[Found], view: &View<'_>) -> Plan {
    let mut text = match found.len() {
        0 => "Nothing found in earlier conversations.".to_owned(),
        places => format!("{} in earlier conversations, newest first", count(places, "place")),
    };
    found.iter().for_each(|place| text += &line(place, view));
    let shown: Vec<Value> = found.iter().map(|place| data(place, view)).collect();
    Plan::Answer(Output::new(text, json!({ "found": shown })).from_vault("earlier conversations"))
}

/// A refusal with the words of an error about conversations.
pub fn refused(error: Error) -> Refusal {
    Refusal::new(error.code(), error.to_string(), error.hint())
}

fn line(place: &Found, view: &View<'_>) -> String {
    let title = place.title.as_deref().unwrap_or("(no title)");
    format!(
        "\n- {} · {} · {title} [{}, step {}]\n  {}",
        time(place, view),
        place.role,
        place.session,
        place.number,
        place.snippet
    )
}

fn data(place: &Found, view: &View<'_>) -> Value {
    json!({
        "session": place.session,
        "title": place.title,
        "role": place.role,
        "time": time(place, view),
        "step": place.number,
        "snippet": place.snippet,
    })
}

/// When it was said, in the user's zone.
fn time(place: &Found, view: &View<'_>) -> String {
    let zone = view.now().time_zone().clone();
    Timestamp::from_millisecond(place.time_ms)
        .map(|time| time.to_zoned(zone).strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{Expect, expect};
    use pipeline::Registry;
    use pipeline::approve::Nobody;
    use pipeline::plan::Source;
    use pipeline::testing::{Rig, show};
    use state::{NewSession, NewStep, Said};

    /// 14 March 2026, 9 o'clock in Berlin.
    const NINE: i64 = 1_773_475_200_000;

    /// Two conversations: one of `test`, who asks below, and one of `freer`.
    fn rig() -> Rig {
        let rig = Rig::new("a.md: x", Registry::default());
        let sessions = Sessions::open(&rig.folder.path().join("data/state.db")).unwrap();
        let said = |role: &str, text: &str| NewStep {
            kind: "x",
            body: Value::Null,
            said: Some(Said { role: role.into(), text: text.into() }),
        };
        let new = |id: &str, title: &str, agent: &str| NewSession {
            id: id.into(),
            title: Some(title.into()),
            agent: agent.into(),
            now_ms: NINE,
            ..NewSession::default()
        };
        sessions.create(&new("a1b2", "Garden", "test")).unwrap();
        sessions.create(&new("c3d4", "Secrets", "freer")).unwrap();
        sessions.append("a1b2", &[said("user", "When did the quince bloom?")], NINE).unwrap();
        sessions.append("a1b2", &[said("assistant", "The Quince: 3 % late.")], NINE + 60_000).unwrap();
        sessions
            .append("c3d4", &[said("tool", "quince money is hidden in the shed")], NINE + 120_000)
            .unwrap();
        crate::table::add_history(&rig.road.registry, &sessions);
        rig
    }

    #[track_caller]
    fn check(rig: &Rig, input: Value, expected: Expect) {
        expected.assert_eq(&show(&rig.call("search_history", input, &Nobody)));
    }

    #[test]
    fn places_are_shown_newest_first_with_who_when_and_where() {
        let rig = rig();
        check(
            &rig,
            json!({"query": "QUINCE"}),
            expect![[r#"
            3 places in earlier conversations, newest first
            - 2026-03-14 09:02 · tool · Secrets [c3d4, step 1]
              quince money is hidden in the shed
            - 2026-03-14 09:01 · assistant · Garden [a1b2, step 2]
              The Quince: 3 % late.
            - 2026-03-14 09:00 · user · Garden [a1b2, step 1]
              When did the quince bloom?"#]],
        );
        check(
            &rig,
            json!({"query": "3 %", "role_filter": "assistant"}),
            expect![[r#"
            1 place in earlier conversations, newest first
            - 2026-03-14 09:01 · assistant · Garden [a1b2, step 2]
              The Quince: 3 % late."#]],
        );
        check(
            &rig,
            json!({"query": "quince", "session_filter": "garden", "top_k": 1}),
            expect![[r#"
            1 place in earlier conversations, newest first
            - 2026-03-14 09:01 · assistant · Garden [a1b2, step 2]
              The Quince: 3 % late."#]],
        );
        check(&rig, json!({"query": "_"}), expect!["Nothing found in earlier conversations."]);
        check(
            &rig,
            json!({"query": " "}),
            expect![
                "refused: state_unfit: the text to search for cannot be used: it is empty. change it and try again; nothing was written"
            ],
        );
        check(
            &rig,
            json!({"query": "x", "session_filter": "a1b3"}),
            expect![
                "refused: session_missing: there is no conversation `a1b3`. nearest: a1b2; or list them first"
            ],
        );
    }

    #[test]
    fn what_was_said_is_private_and_not_to_be_trusted() {
        let outcome = rig().call("search_history", json!({"query": "quince"}), &Nobody);
        let source = outcome.output().unwrap().source.clone();
        assert_eq!(source, Some(Source::Vault("earlier conversations".into())));
    }

    #[test]
    fn an_agent_that_may_not_read_everything_finds_only_its_own_words() {
        let mut rig = rig();
        rig.task.limits.read = Some(std::collections::BTreeSet::new());
        let text = show(&rig.call("search_history", json!({"query": "quince"}), &Nobody));
        assert!(text.starts_with("2 places") && !text.contains("shed"), "{text}");
        // Another word each time: the road refuses to search for the same again and again.
        let words = ["money", "hidden", "shed", "is", "the"];
        for (word, wanted) in words.into_iter().zip(["Secrets", "c3d4", "c3", "c3d5", "no such title"]) {
            let input = json!({"query": word, "session_filter": wanted});
            let text = show(&rig.call("search_history", input, &Nobody));
            assert_eq!(text, "Nothing found in earlier conversations.", "{wanted}");
        }
    }
}
