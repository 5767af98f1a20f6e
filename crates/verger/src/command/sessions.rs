//! `sessions`: the conversations of the vault, listed, searched, forked, renamed and removed by hand.
//!
//! They lie in the data folder and not in the vault, so none of this goes by the road. What a step means is the agent's
//! business (`agent::export`).

use jiff::Timestamp;
use jiff::tz::TimeZone;
use pipeline::World;
use serde_json::json;
use state::{Filter, Found, Header, NewSession, SearchHistory, Sessions};

use crate::args::{Global, SessionsWhat};
use crate::config::Config;
use crate::door::STATE;
use crate::failure::{Exit, Failure};
use crate::paper::{Role, one_line};
use crate::place;
use crate::terminal::Terminal;
use crate::world::RealWorld;

/// The conversations of a vault and the person before them.
struct Desk<'t> {
    terminal: &'t Terminal,
    /// None if there was no conversation yet.
    sessions: Option<Sessions>,
}

/// Does one of them.
pub fn sessions(global: &Global, what: Option<SessionsWhat>, terminal: &Terminal) -> Result<(), Failure> {
    let config = Config::load(&place::config_folder()?)?;
    let place = place::find(global.one_vault()?, &config)?;
    let desk = Desk { terminal, sessions: Sessions::open_if_there(&place.data.join(STATE))? };
    match what.unwrap_or(SessionsWhat::List { text: Vec::new(), all: false, limit: 50 }) {
        SessionsWhat::List { text, all, limit } => {
            let text = (!text.is_empty()).then(|| text.join(" "));
            desk.list(&Filter { limit, include_children: all, text })
        }
        SessionsWhat::Search { text, role, session, limit } => {
            let session = session.map(|wanted| desk.find(&wanted)).transpose()?.map(|(_, header)| header.id);
            desk.search(&SearchHistory { text: text.join(" "), limit, role, session, agent: None })
        }
        SessionsWhat::Show { id } => desk.show(&id),
        SessionsWhat::Fork { id, at } => desk.fork(&id, at),
        SessionsWhat::Rename { id, title } => desk.rename(&id, &title.join(" ")),
        SessionsWhat::Rm { id, yes } => desk.remove(&id, yes),
    }
}

impl Desk<'_> {
    fn list(&self, filter: &Filter) -> Result<(), Failure> {
        let found = match &self.sessions {
            Some(sessions) => sessions.list(filter)?,
            None => Vec::new(),
        };
        if self.terminal.json {
            return self.json(&json!({"sessions": found}));
        }
        if found.is_empty() {
            self.terminal.note(match filter.text {
                Some(_) => "no conversation has this in its title",
                None => "no conversations yet",
            });
        }
        let text: String = found.iter().map(|header| self.line(header)).collect();
        self.terminal.data(&text);
        if found.len() >= filter.limit {
            self.terminal.note(&format!("{} shown; see more with --limit", found.len()));
        }
        Ok(())
    }

    fn show(&self, id: &str) -> Result<(), Failure> {
        let (sessions, header) = self.find(id)?;
        let steps = sessions.steps(&header.id)?;
        if self.terminal.json {
            let steps: Vec<_> = steps.iter().map(|step| &step.body).collect();
            return self.json(&json!({"session": header, "steps": steps}));
        }
        let title = header.title.unwrap_or_else(|| format!("Conversation {}", header.id));
        let page = agent::export::markdown(&title, &steps);
        self.terminal.data_line(&self.terminal.out.text(&page));
        Ok(())
    }

    fn search(&self, query: &SearchHistory) -> Result<(), Failure> {
        let found = match &self.sessions {
            Some(sessions) => sessions.search(query)?,
            None => Vec::new(),
        };
        if self.terminal.json {
            return self.json(&json!({"found": found}));
        }
        if found.is_empty() {
            self.terminal.note("nothing found");
        }
        let text: String = found.iter().map(|place| self.place(place)).collect();
        self.terminal.data(&text);
        Ok(())
    }

    fn fork(&self, wanted: &str, at: Option<u64>) -> Result<(), Failure> {
        let (sessions, from) = self.find(wanted)?;
        let new = NewSession {
            id: RealWorld.id()?,
            title: from.title.as_ref().map(|title| format!("{title} (fork)")),
            agent: from.agent,
            model: from.model,
            parent: None,
            forked_from: Some(from.id.clone()),
            now_ms: now_ms(),
        };
        sessions.fork(&from.id, at, &new)?;
        self.tell(&sessions.header(&new.id)?, &format!("a copy of {}", from.id))
    }

    fn rename(&self, wanted: &str, title: &str) -> Result<(), Failure> {
        let (sessions, header) = self.find(wanted)?;
        sessions.rename(&header.id, Some(title))?;
        self.tell(&sessions.header(&header.id)?, "renamed")
    }

    fn remove(&self, wanted: &str, yes: bool) -> Result<(), Failure> {
        let (sessions, header) = self.find(wanted)?;
        if !yes {
            self.terminal.note(self.line(&header).trim_end());
            let question =
                "Remove it, with the conversations that it started? It cannot be taken back. [y/n] ";
            let answer = self.terminal.ask(question);
            if !matches!(answer.as_deref().map(str::trim), Some("y" | "yes")) {
                return Err(Failure::new(
                    Exit::Denied,
                    "denied",
                    format!("the conversation {} was not removed", header.id),
                    "run it in a terminal to be asked, or add --yes",
                ));
            }
        }
        sessions.delete(&header.id, now_ms())?;
        self.tell(&header, "removed")
    }

    fn find(&self, wanted: &str) -> Result<(&Sessions, Header), Failure> {
        let missing = || state::Error::Missing { wanted: wanted.to_owned(), nearest: Vec::new() };
        let sessions = self.sessions.as_ref().ok_or_else(missing)?;
        Ok((sessions, sessions.find(wanted)?))
    }

    fn tell(&self, header: &Header, what: &str) -> Result<(), Failure> {
        if self.terminal.json {
            return self.json(&json!({"session": header}));
        }
        self.terminal.data(&self.line(header));
        self.terminal.note(what);
        Ok(())
    }

    fn json(&self, data: &serde_json::Value) -> Result<(), Failure> {
        self.terminal.json(&json!({"ok": true, "data": data}));
        Ok(())
    }

    fn line(&self, header: &Header) -> String {
        let paper = &self.terminal.out;
        let title = header.title.as_deref().unwrap_or("(no title)");
        let from = match (&header.parent, &header.forked_from) {
            (Some(parent), _) => format!("  [child of {parent}]"),
            (None, Some(origin)) => format!("  [fork of {origin}]"),
            (None, None) => String::new(),
        };
        format!(
            "{}  {}  {}  {}  {}{}\n",
            paper.paint(Role::Place, &header.id),
            time(header.updated_ms),
            paper.text(&one_line(title)),
            if header.steps == 1 { "1 step".to_owned() } else { format!("{} steps", header.steps) },
            paper.text(&one_line(&format!("{} ({})", header.agent, header.model))),
            paper.paint(Role::Dim, &from),
        )
    }

    fn place(&self, found: &Found) -> String {
        let paper = &self.terminal.out;
        format!(
            "{}  {}  {}  {}  {}\n  {}\n",
            paper.paint(Role::Place, &found.session),
            time(found.time_ms),
            paper.text(&one_line(&found.role)),
            paper.text(&one_line(found.title.as_deref().unwrap_or("(no title)"))),
            paper.paint(Role::Dim, &format!("step {}", found.number)),
            paper.text(&found.snippet),
        )
    }
}

fn now_ms() -> i64 {
    RealWorld.now().timestamp().as_millisecond()
}

/// A time in the person's zone.
fn time(ms: i64) -> String {
    Timestamp::from_millisecond(ms)
        .map(|time| time.to_zoned(TimeZone::system()).strftime("%Y-%m-%d %H:%M").to_string())
        .unwrap_or_default()
}
