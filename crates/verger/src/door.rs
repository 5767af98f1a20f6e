//! The command line as a door: opens the vault, builds the road, makes calls, and asks the person where the road asks.
//!
//! Every command that reads or writes notes goes through [`Door::call`]. Deliberately not here: what commands print.

use std::sync::Arc;

use pipeline::approve::Beforehand;
use pipeline::audit::Audit;
use pipeline::grants::Grants;
use pipeline::run::OutcomeJson;
use pipeline::{Asker, Call, Nobody, Outcome, Output, Refusal, Registry, Road, Task, World};
use serde_json::Value;
use tools::foreign::Foreign;
use vault::catalog::Lookup;
use vault::files::Kind;
use vault::policy::Scope;
use vault::{Change, Vault, VaultPath};

use crate::args::{Global, Writing};
use crate::asker::AtTerminal;
use crate::config::Config;
use crate::embedding::{self, Effort};
use crate::failure::{Exit, Failure};
use crate::foreign;
use crate::paper::{self, Role};
use crate::place::{self, Place};
use crate::terminal::Terminal;
use crate::world::RealWorld;

/// An open vault with a person before it.
pub struct Door<'t> {
    /// Where the person is.
    pub terminal: &'t Terminal,
    /// What `config.toml` says.
    pub config: Config,
    /// Where the vault and its data lie.
    pub place: Place,
    /// The road.
    pub road: Road,
    /// Other MCP servers.
    pub foreign: Arc<Foreign>,
    id: String,
    runtime: tokio::runtime::Runtime,
}

impl<'t> Door<'t> {
    /// Opens the vault that the options and the configuration name.
    pub fn open(global: &Global, terminal: &'t Terminal) -> Result<Door<'t>, Failure> {
        let config = Config::load(&place::config_folder()?)?;
        let place = place::find(global.one_vault()?, &config)?;
        let foreign = foreign::open(&config, &place, None)?;
        let registry = tools::table::all();
        tools::table::add_foreign(&registry, &foreign);
        let road = build_road_with(&place, registry)?;
        embedding::attach(road.vault(), &config, Effort::All)?;
        let ended = road.vault().recovered();
        if !ended.is_empty() {
            let ids: Vec<&str> = ended.iter().map(|(id, _)| id.as_str()).collect();
            terminal.note(&format!(
                "note: an interrupted change was put in order at start ({}); `verger history` shows it",
                ids.join(", ")
            ));
        }
        if let Some(progress) = terminal.progress() {
            // Without a watcher, asking for the finder compares what is open with the disk; nothing is open yet.
            road.vault().finder()?.on_progress(Box::new(progress));
        }
        let id = format!("cli-{}", RealWorld.id()?);
        let runtime =
            tokio::runtime::Builder::new_current_thread().enable_all().build().map_err(|error| {
                Failure::new(
                    Exit::Failed,
                    "internal",
                    format!("cannot start: {error}"),
                    "free some memory and try again",
                )
            })?;
        Ok(Door { terminal, config, place, road, foreign, id, runtime })
    }

    /// Makes a call. A person asked for the tool by its name, so a deferred one is active at once.
    pub fn call(&self, tool: &str, input: Value, writing: Writing) -> Outcome {
        // A person may repeat themselves as often as they like, so the memory of repetitions starts anew.
        let mut task = Task::new(self.id.clone(), self.id.clone(), "cli");
        task.limits = self.config.limits.clone();
        task.activate(&[tool.to_owned()]);
        let mut call = Call::new(tool, input);
        if writing.dry_run {
            call = call.dry();
        }
        let (person, nobody, beforehand) = (AtTerminal(self.terminal), Nobody, Beforehand);
        let alone = !writing.yes && !self.terminal.can_ask();
        let asker: &dyn Asker = match (writing.yes, alone) {
            (true, _) => &beforehand,
            (_, true) => &nobody,
            _ => &person,
        };
        match self.runtime.block_on(self.road.run(&task, call, asker)) {
            Outcome::Denied(refusal) if alone => Outcome::Denied(nobody_there(refusal, tool)),
            // What a flag may not decide keeps its own hint.
            Outcome::Denied(refusal) if !writing.yes => {
                Outcome::Denied(Refusal { hint: "nothing was changed".to_owned(), ..refusal })
            }
            Outcome::Refused(refusal) if refusal.reason == "tool_unknown" => {
                Outcome::Refused(unknown_tool(refusal, tool))
            }
            outcome => outcome,
        }
    }

    /// Waits for something that takes no tool: a login, the farewell of servers.
    pub fn wait<T>(&self, work: impl Future<Output = T>) -> T {
        self.runtime.block_on(work)
    }

    /// Makes a call that only reads, and returns its answer.
    pub fn answer(&self, tool: &str, input: Value) -> Result<Output, Failure> {
        match self.call(tool, input, Writing::default()) {
            Outcome::Refused(refusal) | Outcome::Denied(refusal) => Err(refusal.into()),
            outcome => Ok(outcome.output().cloned().unwrap_or_default()),
        }
    }

    /// All items of one list of an answer that comes in pages.
    pub fn items(&self, tool: &str, mut input: Value, list: &str) -> Result<Vec<Value>, Failure> {
        let mut items = Vec::new();
        loop {
            let answer = self.answer(tool, input.clone())?;
            let found = answer.data.pointer(list).and_then(Value::as_array);
            items.extend(found.into_iter().flatten().cloned());
            let above = list.rsplit_once('/').map_or("", |(above, _)| above);
            let next = answer.data.pointer(&format!("{above}/next")).and_then(Value::as_u64);
            match next.filter(|next| Some(*next) > input.get("offset").and_then(Value::as_u64)) {
                Some(next) => input["offset"] = next.into(),
                None => return Ok(items),
            }
        }
    }

    /// Makes a call that writes, and tells how it went.
    pub fn write(&self, tool: &str, input: Value, writing: Writing) -> Result<(), Failure> {
        let outcome = self.call(tool, input, writing);
        self.tell(&outcome)
    }

    /// Tells how a call ended: JSON, or the answer on stdout and the rest on stderr.
    pub fn tell(&self, outcome: &Outcome) -> Result<(), Failure> {
        if let Outcome::Refused(refusal) | Outcome::Denied(refusal) = outcome {
            return Err(refusal.clone().into());
        }
        if self.terminal.json {
            self.terminal.json(&OutcomeJson::from(outcome));
            return Ok(());
        }
        match outcome {
            Outcome::Shown { summary, changes, .. } => {
                self.terminal.note(&format!("would: {}", paper::one_line(summary)));
                self.terminal.data(&paper::changes(&self.terminal.out, changes));
            }
            Outcome::Done { output, changes, checkpoint } => {
                self.tell_done(output, changes, checkpoint.as_deref())
            }
            other => {
                let text = other.output().map(|output| output.text.as_str()).unwrap_or_default();
                self.terminal.data_line(&self.terminal.out.text(text));
            }
        }
        Ok(())
    }

    fn tell_done(&self, output: &Output, changes: &[Change], checkpoint: Option<&str>) {
        let terminal = self.terminal;
        terminal.data_line(&terminal.out.text(&output.text));
        if changes.len() > 1 {
            terminal.note(&format!("{} files changed", changes.len()));
        }
        if let Err(error) = self.road.vault().collect_if_due(self.config.retention, self.now_ms()) {
            terminal.note(&format!("note: old checkpoints could not be dropped: {error}"));
        }
        if let Some(id) = checkpoint {
            terminal.say(&terminal.err.paint(Role::Dim, &format!("take it back: verger undo {id}")));
        }
    }

    /// The note that a person means: a path, a name, `[[a wiki link]]`. The catalog is read only if the path is not
    /// there; a folder is meant only if no note is.
    pub fn resolve(&self, text: &str) -> Result<VaultPath, Failure> {
        resolve(self.road.vault(), &self.scope()?, text)
    }

    /// The file or folder that a person means: what lies at the path, else the note of that name.
    pub fn resolve_any(&self, text: &str) -> Result<VaultPath, Failure> {
        let scope = self.scope()?;
        let path = parse(wiki_name(text).trim_end_matches('/'))?;
        match self.road.vault().view(&scope).look(&path)? {
            Some(_) => Ok(path),
            None => self.resolve(text),
        }
    }

    /// What this task may read and write now.
    pub fn scope(&self) -> Result<Scope, Failure> {
        Ok(Scope::new(self.config.limits.clone(), self.road.vault().rules()?))
    }

    /// Milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        RealWorld.now().timestamp().as_millisecond()
    }

    /// Prints a value as JSON in the common form.
    pub fn json(&self, data: &impl serde::Serialize) {
        self.terminal.json(&serde_json::json!({"ok": true, "data": data}));
    }
}

/// The note that a person means, for doors without a [`Door`].
pub fn resolve(vault: &Vault, scope: &Scope, text: &str) -> Result<VaultPath, Failure> {
    let view = vault.view(scope);
    let name = wiki_name(text);
    let path = parse(name)?;
    let there = view.look(&path)?;
    if matches!(&there, Some(entry) if entry.kind == Kind::File) {
        return Ok(path);
    }
    if let Ok(note) = parse(&format!("{name}.md"))
        && view.look(&note)?.is_some()
    {
        return Ok(note);
    }
    match there.map(|_| view.catalog().map(|catalog| catalog.lookup(name))).transpose()? {
        None => Ok(view.find(&path)?),
        Some(Lookup::One(note)) => Ok(note),
        Some(Lookup::None | Lookup::Several(_)) => Ok(path),
    }
}

/// A path as somebody typed it.
pub fn parse(text: &str) -> Result<VaultPath, Failure> {
    Ok(VaultPath::parse(text).map_err(|error| vault::Error::Path { text: text.to_owned(), error })?)
}

/// The road over a vault, with these tools.
pub fn build_road_with(place: &Place, registry: Registry) -> Result<Road, Failure> {
    let vault = Vault::open(&place.root, &place.data)?;
    let audit = Audit::open(&place.data.join(AUDIT))?;
    let grants = Grants::open(&place.data.join(GRANTS));
    Ok(Road::new(vault, registry, grants, audit, Box::new(RealWorld))?)
}

/// The audit's file in the data folder.
pub const AUDIT: &str = "audit.jsonl";
/// The grants' file in the data folder.
pub const GRANTS: &str = "grants.json";
/// The conversations' file in the data folder.
pub const STATE: &str = "state.db";

/// `[[Name|shown]]` and `Name` are the same note.
pub fn wiki_name(text: &str) -> &str {
    let text = text.trim();
    let inner = text.strip_prefix("![[").or_else(|| text.strip_prefix("[["));
    match inner.and_then(|inner| inner.strip_suffix("]]")) {
        Some(inner) => inner.split('|').next().unwrap_or(inner).trim(),
        None => text,
    }
}

fn nobody_there(refusal: Refusal, tool: &str) -> Refusal {
    Refusal {
        message: format!("`{tool}` was not approved: nobody is there to ask, and no grant covers it"),
        hint: format!(
            "run it in a terminal to be asked, add --yes, or allow it once and for all: \
             verger grants add --tool {tool} --paths 'FOLDER/**'"
        ),
        ..refusal
    }
}

fn unknown_tool(refusal: Refusal, tool: &str) -> Refusal {
    let hint = match refusal.hint.starts_with("did you mean") {
        true => refusal.hint,
        false => "`verger tools` lists them".to_owned(),
    };
    Refusal { message: format!("there is no tool `{tool}`"), hint, ..refusal }
}

/// Reads an argument that may stand for something else: `-` is stdin, `@file` a file where that is allowed.
pub fn text_or_stdin(terminal: &Terminal, text: String) -> Result<String, Failure> {
    if text == "-" { terminal.read_stdin() } else { Ok(text) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wiki_link_names_its_note() {
        for (text, name) in [
            ("Seed library", "Seed library"),
            ("[[Seed library]]", "Seed library"),
            (" [[Seed library|the library]] ", "Seed library"),
            ("![[Map.canvas]]", "Map.canvas"),
            ("[[open", "[[open"),
        ] {
            assert_eq!(wiki_name(text), name);
        }
    }
}
