//! `verger chat`: a conversation at the terminal. A line is said to the model; a line that begins with `/` is a command.

use std::io::{BufRead, IsTerminal};
use std::sync::Arc;

use agent::commands::Typed as Said;
use agent::{Door, Halt, Over, Talk};
use llm::chat::Part;
use pipeline::approve::Beforehand;
use pipeline::{Asker, Call, Nobody, Outcome, Task, World};
use serde_json::Value;
use state::{Filter, NewSession};
use vault::policy::Scope;

use super::ask::{runtime, unknown_agent};
use super::asker::Person;
use super::cast::with_mentions;
use super::editor::{Editor, Names, Typed};
use super::keys;
use super::screen::Screen;
use crate::args::{Asking, Global};
use crate::failure::{Exit, Failure};
use crate::paper::Role;
use crate::study::models::none as no_model;
use crate::study::{Study, Wanted};
use crate::terminal::Terminal;
use crate::world::RealWorld;

/// Leads a conversation until the person ends it.
pub fn chat(global: &Global, asking: &Asking) -> Result<(), Failure> {
    let terminal = Arc::new(Terminal::new(global.json, global.plain));
    let person = !asking.yes && terminal.can_ask();
    let wanted = Wanted { model: asking.model.clone(), person: terminal.can_ask(), ..Wanted::default() };
    let mut study = Study::open(global, &wanted)?;
    let limits = asking.limits(study.mind.limits);
    if let Some(mind) = Arc::get_mut(&mut study.mind) {
        mind.limits = limits;
    }
    let asker: Arc<dyn Asker> = match (asking.yes, person) {
        (true, _) => Arc::new(Beforehand),
        (_, true) => Arc::new(Person(Arc::clone(&terminal))),
        _ => Arc::new(Nobody),
    };
    let screen = Arc::new(Screen::new(Arc::clone(&terminal), asker, terminal.can_ask()));
    let runtime = runtime()?;
    let mut room = Room { terminal, screen, study, runtime, talk: None, last_task: None };
    room.enter(asking)?;
    let stayed = room.stay();
    // Other servers that were started end before we do.
    room.talk = None;
    room.runtime.block_on(room.study.foreign.close());
    stayed
}

struct Room {
    terminal: Arc<Terminal>,
    screen: Arc<Screen>,
    study: Study,
    runtime: tokio::runtime::Runtime,
    talk: Option<Talk>,
    /// The task of the last turn, for `/undo`.
    last_task: Option<String>,
}

/// Whether the conversation goes on.
enum Next {
    Stay,
    Leave,
}

impl Room {
    fn enter(&mut self, asking: &Asking) -> Result<(), Failure> {
        if let Some(id) = &asking.session {
            return self.resume(id);
        }
        let agent = asking.agent.clone().unwrap_or_else(|| self.study.agent().to_owned());
        let slugs = self.study.mind.cast.slugs();
        if !slugs.contains(&agent) {
            return Err(unknown_agent(&agent, &slugs));
        }
        if self.study.model().is_err() {
            let failure = no_model();
            self.terminal.note(&failure.refusal.message);
            self.terminal.note(&failure.refusal.hint);
            self.terminal
                .note("until then: /tool NAME JSON calls a tool by hand, /tools lists them, /quit ends");
            return Ok(());
        }
        self.begin(&agent)
    }

    fn begin(&mut self, agent: &str) -> Result<(), Failure> {
        let own = self.study.mind.cast.persona(agent).model;
        let model = match own {
            Some(model) => model,
            None => self.study.model()?.to_owned(),
        };
        let mind = Arc::clone(&self.study.mind);
        let talk = self.runtime.block_on(mind.begin(agent, &model))?;
        self.greet(&talk, "a new conversation");
        self.talk = Some(talk);
        Ok(())
    }

    fn resume(&mut self, id: &str) -> Result<(), Failure> {
        self.talk = None;
        let mind = Arc::clone(&self.study.mind);
        let talk = self.runtime.block_on(mind.resume(id))?;
        self.greet(&talk, "goes on");
        if talk.is_half_way() {
            self.terminal.note("its last turn was left half way: /go goes on with it");
        }
        self.talk = Some(talk);
        Ok(())
    }

    fn greet(&self, talk: &Talk, how: &str) {
        let conversation = talk.conversation();
        let script = if conversation.model.starts_with("script@") { "; the model is a script" } else { "" };
        self.terminal.note(&format!(
            "{how}: {} ({} on {}{script}); /help lists the commands",
            conversation.id, conversation.agent, conversation.model
        ));
    }

    fn stay(&mut self) -> Result<(), Failure> {
        if !std::io::stdin().is_terminal() {
            let lines: Vec<String> = std::io::stdin().lock().lines().map_while(Result::ok).collect();
            for line in lines {
                if let Next::Leave = self.typed(&line) {
                    break;
                }
            }
            return Ok(());
        }
        let names = Names { notes: self.names(), company: Arc::clone(&self.study.company) };
        let mut editor = Editor::open(&self.study.place.data, names)?;
        loop {
            match editor.line(&self.prompt()) {
                Typed::Line(line) => {
                    if let Next::Leave = self.typed(&line) {
                        return Ok(());
                    }
                }
                Typed::Nothing => {}
                Typed::End => return Ok(()),
            }
        }
    }

    fn prompt(&self) -> String {
        match &self.talk {
            Some(talk) => format!("{}> ", talk.conversation().agent),
            None => "(no model)> ".to_owned(),
        }
    }

    /// The notes that `@` completes.
    fn names(&self) -> Vec<String> {
        let mind = &self.study.mind;
        let Ok(rules) = mind.road.vault().rules() else { return Vec::new() };
        let scope = Scope::new(mind.reach.clone(), rules);
        let view = mind.road.vault().view(&scope);
        let listed =
            view.list(&vault::path::VaultFolder::root(), vault::view::Depth::All).unwrap_or_default();
        let is_note = |path: &String| path.to_lowercase().ends_with(".md");
        listed.into_iter().map(|entry| entry.path.to_string()).filter(is_note).collect()
    }

    fn typed(&mut self, line: &str) -> Next {
        let line = line.trim();
        if line.is_empty() {
            return Next::Stay;
        }
        let company = Arc::clone(&self.study.company);
        let ended = match company.commands.parse(line) {
            Said::Words(words) => self.say(words),
            Said::Command { name: "quit", .. } => return Next::Leave,
            Said::Command { name, rest, .. } => self.command(name, rest.trim()),
            Said::Unknown { name, near } => {
                let hint =
                    near.map_or("/help lists them".to_owned(), |near| format!("did you mean /{near}?"));
                Err(Failure::usage(format!("there is no command /{name}"), hint))
            }
        };
        if let Err(failure) = ended {
            self.terminal.error(&failure.refusal.message, &failure.refusal.hint);
        }
        Next::Stay
    }

    fn say(&mut self, line: &str) -> Result<(), Failure> {
        let mind = &self.study.mind;
        let scope = Scope::new(mind.reach.clone(), mind.road.vault().rules()?);
        let text = with_mentions(&mind.road, &scope, line);
        self.lead(Some(vec![Part::Text { text }]))
    }

    /// Leads a turn. Ctrl-C stops it and keeps the conversation; what is typed meanwhile is heard at the next round.
    fn lead(&mut self, parts: Option<Vec<Part>>) -> Result<(), Failure> {
        let Some(talk) = &mut self.talk else { return Err(no_model()) };
        let door: Arc<dyn Door> = Arc::clone(&self.screen) as Arc<dyn Door>;
        let halt = Halt::default();
        let listening = keys::listen(&self.screen, &self.terminal);
        let over = self.runtime.block_on(stopped_by_keys(&halt, async {
            match parts {
                Some(parts) => talk.say(parts, &door, &halt).await,
                None => talk.go_on(&door, &halt).await,
            }
        }));
        drop(listening);
        let over = over?;
        if !self.terminal.is_screen() && !self.terminal.json {
            self.terminal.data_line(&self.screen.last_answer());
        }
        if let Some(meter) = self.screen.meter().filter(|_| !self.terminal.json) {
            self.terminal.say(&self.terminal.err.paint(Role::Dim, &format!("({meter})")));
        }
        self.last_task = self.newest_task();
        match over {
            Over::Failed { why, hint } => Err(Failure::new(Exit::Failed, "model_failed", why, hint)),
            _ => Ok(()),
        }
    }

    fn newest_task(&self) -> Option<String> {
        let id = &self.talk.as_ref()?.conversation().id;
        let steps = self.study.mind.sessions.steps(id).ok()?;
        let task = steps.iter().rev().find(|step| step.kind == "asked")?.body.get("task")?;
        task.as_str().map(str::to_owned)
    }

    fn command(&mut self, name: &str, rest: &str) -> Result<(), Failure> {
        match name {
            "help" => self.terminal.data_line(&self.study.company.commands.help(rest)),
            "model" => return self.model(rest),
            "agent" => return self.agent(rest),
            "agents" => self.terminal.data_line(&self.study.mind.cast.agents()),
            "rules" => self.terminal.data_line(&self.study.mind.cast.standing()),
            "todo" => self.todo(),
            "new" => {
                let agent = self.talk.as_ref().map(|talk| talk.conversation().agent.clone());
                let agent = agent.unwrap_or_else(|| self.study.agent().to_owned());
                self.talk = None;
                return self.begin(&agent);
            }
            "sessions" => return self.sessions(),
            "resume" if rest.is_empty() => return Err(Failure::usage("which one?", "/sessions lists them")),
            "resume" => return self.resume(rest),
            "fork" => return self.fork(),
            "rename" => return self.rename(rest),
            "export" => return self.export(),
            "shorten" => return self.shorten(),
            "cost" => self.cost(),
            "undo" => return self.undo(),
            "tools" => self.tools(),
            "tool" => return self.tool(rest),
            "skills" => self.terminal.data_line(&self.study.mind.cast.skills()),
            "go" => return self.lead(None),
            other => return self.told_by(other, rest),
        }
        Ok(())
    }

    /// A workflow or a skill is something that the model is told.
    fn told_by(&mut self, name: &str, rest: &str) -> Result<(), Failure> {
        let text = self.study.company.told_by(name, rest)?;
        self.say(&text)
    }

    fn todo(&self) {
        let items = self.talk.as_ref().map(|talk| talk.conversation().todo.clone()).unwrap_or_default();
        if items.is_empty() {
            self.terminal.note("nothing is on the list");
        }
        self.screen.show(&agent::News::Todo { items });
    }

    fn model(&mut self, name: &str) -> Result<(), Failure> {
        let Some(talk) = &mut self.talk else { return Err(no_model()) };
        if !name.is_empty() {
            self.runtime.block_on(talk.use_model(name))?;
        }
        self.terminal.data_line(&talk.conversation().model);
        Ok(())
    }

    fn agent(&mut self, slug: &str) -> Result<(), Failure> {
        let slugs = self.study.mind.cast.slugs();
        if slug.is_empty() {
            self.terminal.data_line(&slugs.join("\n"));
            return Ok(());
        }
        if !slugs.iter().any(|known| known == slug) {
            return Err(unknown_agent(slug, &slugs));
        }
        let Some(talk) = &mut self.talk else { return Err(no_model()) };
        self.runtime.block_on(talk.use_agent(slug))?;
        self.terminal.note(&format!("`{slug}` goes on"));
        Ok(())
    }

    fn sessions(&self) -> Result<(), Failure> {
        let filter = Filter { limit: 20, ..Filter::default() };
        let found = self.study.mind.sessions.list(&filter).map_err(agent::Trouble::from)?;
        for header in found {
            let title = header.title.unwrap_or_else(|| "(no title)".to_owned());
            self.terminal.data_line(&self.terminal.out.text(&format!("{}  {title}", header.id)));
        }
        Ok(())
    }

    fn fork(&mut self) -> Result<(), Failure> {
        let Some(talk) = self.talk.take() else { return Err(no_model()) };
        let conversation = talk.conversation().clone();
        drop(talk);
        let id = RealWorld.id()?;
        let new = NewSession {
            id: id.clone(),
            title: None,
            agent: conversation.agent,
            model: conversation.model,
            parent: None,
            forked_from: Some(conversation.id.clone()),
            now_ms: RealWorld.now().timestamp().as_millisecond(),
        };
        let forked = self.study.mind.sessions.fork(&conversation.id, None, &new);
        forked.map_err(agent::Trouble::from)?;
        self.resume(&id)
    }

    fn rename(&self, title: &str) -> Result<(), Failure> {
        let Some(talk) = &self.talk else { return Err(no_model()) };
        let title = Some(title).filter(|title| !title.is_empty());
        let renamed = self.study.mind.sessions.rename(&talk.conversation().id, title);
        Ok(renamed.map_err(agent::Trouble::from)?)
    }

    fn export(&self) -> Result<(), Failure> {
        let Some(talk) = &self.talk else { return Err(no_model()) };
        let id = &talk.conversation().id;
        let sessions = &self.study.mind.sessions;
        let header = sessions.header(id).map_err(agent::Trouble::from)?;
        let steps = sessions.steps(id).map_err(agent::Trouble::from)?;
        let title = header.title.unwrap_or_else(|| format!("Conversation {id}"));
        self.terminal.data_line(&self.terminal.out.text(&agent::export::markdown(&title, &steps)));
        Ok(())
    }

    fn shorten(&mut self) -> Result<(), Failure> {
        let door: Arc<dyn Door> = Arc::clone(&self.screen) as Arc<dyn Door>;
        let Some(talk) = &mut self.talk else { return Err(no_model()) };
        let halt = Halt::default();
        let shorter = self.runtime.block_on(stopped_by_keys(&halt, talk.condense(&door, &halt)))?;
        match (shorter, halt.is_stopped()) {
            (true, _) => {}
            (false, true) => self.terminal.note("stopped; it is as long as it was"),
            (false, false) => self.terminal.note("it is short enough"),
        }
        Ok(())
    }

    fn cost(&self) {
        let Some(talk) = &self.talk else { return };
        let spent = talk.conversation().spent;
        let usage = spent.usage;
        let money = match spent.unpriced {
            true => format!("at least ${:.4} (a part has no known price)", spent.dollars),
            false => format!("${:.4}", spent.dollars),
        };
        self.terminal.data_line(&format!(
            "{} tokens in ({} of them kept from before), {} out; {money}",
            usage.all_input(),
            usage.cache_read,
            usage.output
        ));
    }

    /// Takes back what the last turn changed, as `verger undo --task` does.
    fn undo(&mut self) -> Result<(), Failure> {
        let Some(task) = self.last_task.clone().or_else(|| self.newest_task()) else {
            return Err(Failure::usage(
                "there is no turn to take back",
                "`verger history` shows all changes",
            ));
        };
        let commits = self.study.mind.road.vault().commits_with_notes();
        let newest = commits.iter().rev().find(|(_, note)| note["task"] == task.as_str());
        let Some((checkpoint, _)) = newest else {
            self.terminal.note("the last turn changed nothing");
            return Ok(());
        };
        let input = serde_json::json!({ "commitOid": checkpoint, "mode": "task" });
        self.by_hand("restore_checkpoint", input)
    }

    fn tools(&self) {
        let listed = self.study.mind.road.registry.list(&pipeline::Rights::all());
        let line = |tool: &pipeline::registry::Listing| {
            let first = tool.description.lines().next().unwrap_or_default();
            format!("{:<22} {first}", tool.spec.name)
        };
        let lines: Vec<String> = listed.iter().map(line).collect();
        self.terminal.data_line(&lines.join("\n"));
    }

    fn tool(&mut self, rest: &str) -> Result<(), Failure> {
        let (name, input) = rest.split_once(char::is_whitespace).unwrap_or((rest, ""));
        if name.is_empty() {
            return Err(Failure::usage(
                "which tool?",
                "/tools lists them; /tool read_file {\"path\": \"Start.md\"}",
            ));
        }
        let input = if input.trim().is_empty() { "{}" } else { input.trim() };
        let input: Value = serde_json::from_str(input).map_err(|error| {
            Failure::usage(
                format!("the input is no JSON: {error}"),
                "/tool read_file {\"path\": \"Start.md\"}",
            )
        })?;
        self.by_hand(name, input)
    }

    /// A person calls a tool. The same road, the same questions.
    fn by_hand(&mut self, name: &str, input: Value) -> Result<(), Failure> {
        let mind = &self.study.mind;
        let id = format!("chat-{}", RealWorld.id()?);
        let mut task = Task::new(id.clone(), id, "chat");
        task.limits = mind.reach.clone();
        task.activate(&[name.to_owned()]);
        let asker = self.screen.asker();
        let outcome = self.runtime.block_on(mind.road.run(&task, Call::new(name, input), &*asker));
        match &outcome {
            Outcome::Refused(refusal) | Outcome::Denied(refusal) => Err(refusal.clone().into()),
            other => {
                let text = other.output().map(|output| output.text.clone()).unwrap_or_default();
                self.terminal.data_line(&self.terminal.out.text(&text));
                if let Outcome::Done { checkpoint: Some(id), .. } = other {
                    self.terminal.note(&format!("take it back: verger undo {id}"));
                }
                Ok(())
            }
        }
    }
}

/// Work that Ctrl-C stops.
async fn stopped_by_keys<T>(halt: &Halt, work: impl Future<Output = T>) -> T {
    let stop = halt.clone();
    let heard = tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            stop.stop();
        }
    });
    let done = work.await;
    heard.abort();
    done
}
