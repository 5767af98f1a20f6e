//! Where one turn is shown in the editor: what happens becomes updates, questions become requests.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use agent::door::Answering;
use agent::{Door, Halt, Mind, News, Over};
use agent_client_protocol::Client;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema::{
    ContentChunk, Cost, CurrentModeUpdate, Notice, NoticeSeverity, Plan, PlanEntry, PlanEntryPriority,
    PlanEntryStatus, SessionNotification, SessionUpdate, ToolCall, ToolCallStatus, ToolCallUpdate,
    ToolCallUpdateFields, UsageUpdate,
};
use pipeline::Asker;
use pipeline::plan::{Asked, TodoItem, TodoState};
use serde_json::Value;
use vault::Change;

use super::asker::Person;
use super::{calls, questions};
use crate::talks;

/// What a client said that it can show.
#[derive(Debug, Clone, Copy, Default)]
pub struct Abilities {
    /// Forms with fields.
    pub forms: bool,
    /// Notices beside the conversation.
    pub notices: bool,
}

/// The way to one conversation in the editor.
#[derive(Clone)]
pub struct Line {
    /// The client.
    pub to: ConnectionTo<Client>,
    /// The conversation.
    pub session: String,
    /// What it can show.
    pub abilities: Abilities,
}

impl Line {
    /// Shows something. A client that is gone sees nothing; the turn ends by itself then.
    pub fn show(&self, update: SessionUpdate) {
        let _ = self.to.send_notification(SessionNotification::new(self.session.clone(), update));
    }

    /// Something that the model says.
    pub fn say(&self, text: impl Into<String>) {
        self.show(SessionUpdate::AgentMessageChunk(chunk(text)));
    }

    /// Something that the person should know and that the model did not say.
    pub fn notice(&self, text: impl Into<String>) {
        let text = text.into();
        self.show(match self.abilities.notices {
            true => SessionUpdate::Notice(Notice::new(NoticeSeverity::Info, text)),
            false => SessionUpdate::AgentThoughtChunk(chunk(format!("[{text}]\n"))),
        });
    }
}

/// A piece of text.
pub fn chunk(text: impl Into<String>) -> ContentChunk {
    let text: String = text.into();
    ContentChunk::new(text.into())
}

/// What is to be done, as a plan.
pub fn plan(items: &[TodoItem]) -> SessionUpdate {
    let status = |state| match state {
        TodoState::Open => PlanEntryStatus::Pending,
        TodoState::Begun => PlanEntryStatus::InProgress,
        TodoState::Done => PlanEntryStatus::Completed,
    };
    let entry =
        |item: &TodoItem| PlanEntry::new(item.text.clone(), PlanEntryPriority::Medium, status(item.state));
    SessionUpdate::Plan(Plan::new(items.iter().map(entry).collect()))
}

/// The desk of one turn.
pub struct Desk(pub Arc<Table>);

/// What the desk and whoever asks the person share.
pub struct Table {
    pub(super) line: Line,
    pub(super) mind: Arc<Mind>,
    pub(super) root: PathBuf,
    pub(super) halt: Halt,
    open: Mutex<Open>,
}

/// The calls that have not ended.
#[derive(Default)]
struct Open {
    /// By whom it is made and the model's own name of it.
    calls: HashMap<(String, String), Running>,
    count: u64,
    task: String,
}

struct Running {
    id: String,
    name: String,
    input: Option<Value>,
    changes: Vec<Change>,
}

impl Table {
    /// An empty desk for a turn that this word stops.
    pub fn new(line: Line, mind: Arc<Mind>, root: PathBuf, halt: Halt) -> Arc<Table> {
        Arc::new(Table { line, mind, root, halt, open: Mutex::default() })
    }

    fn open(&self) -> std::sync::MutexGuard<'_, Open> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The call that a question is about; one that is not known is shown first.
    pub(super) fn asked_about(&self, tool: &str, input: Option<&Value>, changes: &[Change]) -> String {
        let mut open = self.open();
        let fits = |call: &&mut Running| {
            call.name == tool && input.is_none_or(|input| call.input.as_ref() == Some(input))
        };
        if let Some(call) = open.calls.values_mut().find(fits) {
            call.changes = changes.to_vec();
            return call.id.clone();
        }
        let id = open.next();
        drop(open);
        let call = ToolCall::new(id.clone(), tool).kind(calls::kind(&self.mind.road.registry, tool));
        self.line.show(SessionUpdate::ToolCall(call.raw_input(input.cloned())));
        id
    }

    /// The call by which the model asks the person something.
    pub(super) fn question(&self) -> String {
        let asks = |call: &&Running| call.name.starts_with("ask_") && call.input.is_some();
        let asking = self.open().calls.values().find(asks).map(|call| call.id.clone());
        asking.unwrap_or_else(|| self.asked_about("ask_user", None, &[]))
    }

    fn named(&self, who: &str, id: &str, name: &str) {
        let mut open = self.open();
        let shown = open.next();
        let running = Running { id: shown.clone(), name: name.to_owned(), input: None, changes: Vec::new() };
        open.calls.insert((who.to_owned(), id.to_owned()), running);
        drop(open);
        let call = ToolCall::new(shown, titled(who, name.to_owned()));
        let kind = calls::kind(&self.mind.road.registry, name);
        self.line.show(SessionUpdate::ToolCall(call.kind(kind).status(ToolCallStatus::Pending)));
    }

    fn began(&self, who: &str, id: &str, name: &str, input: &Value) {
        let key = (who.to_owned(), id.to_owned());
        if !self.open().calls.contains_key(&key) {
            self.named(who, id, name);
        }
        let mut open = self.open();
        let Some(call) = open.calls.get_mut(&key) else { return };
        call.input = Some(input.clone());
        let shown = call.id.clone();
        drop(open);
        let fields = ToolCallUpdateFields::new()
            .status(ToolCallStatus::InProgress)
            .title(titled(who, talks::title_of_call(name, input)))
            .locations(calls::locations(&self.root, input))
            .raw_input(input.clone());
        self.line.show(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(shown, fields)));
    }

    fn ended(&self, who: &str, ended: &Ended<'_>) {
        let call = self.open().calls.remove(&(who.to_owned(), ended.id.to_owned()));
        let Some(call) = call else { return };
        let mut changes = call.changes;
        if changes.is_empty()
            && let Some(checkpoint) = ended.checkpoint
        {
            changes = calls::from_checkpoint(&self.mind.road, &self.mind.reach, checkpoint);
        }
        let status = if ended.failed { ToolCallStatus::Failed } else { ToolCallStatus::Completed };
        let mut content = match ended.failed {
            true => Vec::new(),
            false => calls::diffs(&self.root, &changes),
        };
        if content.is_empty() {
            content.push(calls::answer(ended.text));
        }
        let mut fields = ToolCallUpdateFields::new().status(status).content(content);
        if !ended.changed.is_empty() {
            fields = fields.locations(calls::changed(&self.root, ended.changed));
        }
        self.line.show(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.id, fields)));
    }

    /// Nothing goes on for ever on the screen.
    fn close(&self, why: &str, which: impl Fn(&Running) -> bool) {
        let mut open = self.open();
        let (closed, kept): (HashMap<_, _>, HashMap<_, _>) =
            std::mem::take(&mut open.calls).into_iter().partition(|(_, call)| which(call));
        open.calls = kept;
        drop(open);
        for call in closed.into_values() {
            let fields =
                ToolCallUpdateFields::new().status(ToolCallStatus::Failed).content(vec![calls::text(why)]);
            self.line.show(SessionUpdate::ToolCallUpdate(ToolCallUpdate::new(call.id, fields)));
        }
    }

    fn tell(&self, who: &str, news: &News) {
        match news {
            News::CallNamed { id, name } => self.named(who, id, name),
            News::CallBegan { id, name, input } => self.began(who, id, name, input),
            News::CallEnded { id, text, failed, checkpoint, changed, .. } => {
                let checkpoint = checkpoint.as_deref();
                self.ended(who, &Ended { id, text, failed: *failed, checkpoint, changed });
            }
            News::Child { name, news } => self.tell(&under(who, name), news),
            // Of a child the person sees what it does; what it says goes to whoever sent it.
            _ if !who.is_empty() => {}
            News::Turn { task, .. } => self.open().task.clone_from(task),
            News::Text { text } => self.line.say(text.clone()),
            News::Thinking { text } => self.line.show(SessionUpdate::AgentThoughtChunk(chunk(text.clone()))),
            News::Void => {
                self.close("the answer broke off before this call", |call| call.input.is_none());
                self.line.say("\n\n[the answer broke off; it is asked for again]\n\n");
            }
            News::Spent { .. } => self.spent(news),
            News::Todo { items } => self.line.show(plan(items)),
            News::Agent { slug } => {
                self.line.show(SessionUpdate::CurrentModeUpdate(CurrentModeUpdate::new(slug.clone())));
            }
            News::Over { how, text } => self.over(how, text),
            News::Retry { why, milliseconds } => {
                self.line.notice(format!("{why}; trying again in {:.1} s", *milliseconds as f64 / 1_000.0));
            }
            News::Condensed { before, after } => {
                let text = "the conversation was made shorter";
                self.line.notice(format!("{text}: about {before} tokens before, {after} now"));
            }
            News::Notice { text } => self.line.notice(text.clone()),
            News::CallInput { .. } => {}
        }
    }

    fn spent(&self, news: &News) {
        let News::Spent { model, usage, dollars, total_dollars, .. } = news else { return };
        let used = usage.all_input() + usage.output;
        if used == 0 {
            // The provider did not count.
            return;
        }
        let window = self.mind.models.find(model).ok().and_then(|model| model.abilities().window);
        let size = window.unwrap_or(self.mind.usual_window);
        let cost = dollars.map(|_| Cost::new(*total_dollars, "USD"));
        let update = UsageUpdate::new(used, size).cost(cost);
        self.line.show(SessionUpdate::UsageUpdate(update));
    }

    fn over(&self, how: &Over, text: &str) {
        self.close("the turn ended before this call", |_| true);
        match how {
            Over::Completed { result } => self.line.say(result.clone()),
            Over::Done | Over::Stopped | Over::Failed { .. } => {}
            Over::Refused { .. } => self.line.say(format!("\n\n[{text}]\n")),
            _ => self.line.notice(text),
        }
    }
}

/// How a call ended.
struct Ended<'n> {
    id: &'n str,
    text: &'n str,
    failed: bool,
    checkpoint: Option<&'n str>,
    changed: &'n [String],
}

impl Open {
    fn next(&mut self) -> String {
        self.count += 1;
        format!("{}.{}", self.task, self.count)
    }
}

fn under(who: &str, name: &str) -> String {
    if who.is_empty() { name.to_owned() } else { format!("{who} › {name}") }
}

fn titled(who: &str, title: String) -> String {
    if who.is_empty() { title } else { format!("{who}: {title}") }
}

impl Door for Desk {
    fn show(&self, news: &News) {
        self.0.tell("", news);
    }

    fn asker(&self) -> Arc<dyn Asker> {
        Arc::new(Person(Arc::clone(&self.0)))
    }

    fn answer<'a>(&'a self, asked: &'a [Asked]) -> Answering<'a> {
        Box::pin(questions::put(&self.0, asked))
    }
}
