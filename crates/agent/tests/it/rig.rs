//! A mind over a vault in one string, a model that follows a plan, a door that remembers.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use agent::{Answers, Cast, Door, Halt, Limits, Mind, News, Over, Persona, SkillText, Talk};
use futures::StreamExt;
use llm::chat::{
    Abilities, CallInput, Event, Events, Message, Model, Part, Price, Purpose, Request, StopReason, ToolCall,
    Usage,
};
use llm::{Error, Models, Tier};
use pipeline::approve::{Beforehand, Deciding};
use pipeline::plan::{Action, Asked, Child, Leaves};
use pipeline::testing::{Change, Rig as Road, StillWorld, VaultPath};
use pipeline::{
    Asker, Control, Decision, Effect, Group, Lifetime, Output, Plan, Question, Refusal, Registry, ResultRow,
    Rights, Spec, Tool, View,
};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use state::Sessions;

/// What the model does when it is asked.
pub enum Say {
    Text(&'static str),
    Calls(Vec<(&'static str, Value)>),
    Raw(&'static str, &'static str),
    Error(Error),
    /// Some text, then the end without a word.
    Cut(&'static str),
    /// Text that comes slowly, forever.
    Slow(&'static str),
    Stop(StopReason),
}

/// A model that follows a plan: what it says is decided by what it is asked.
pub struct Planned {
    pub name: String,
    pub plan: Box<dyn Fn(&Request) -> Say + Send + Sync>,
    pub asked: Mutex<Vec<Request>>,
    pub price: Option<Price>,
    pub window: Option<u64>,
}

impl Model for Planned {
    fn name(&self) -> &str {
        &self.name
    }
    fn abilities(&self) -> Abilities {
        Abilities { window: self.window, ..Abilities::default() }
    }
    fn price(&self) -> Option<Price> {
        self.price
    }
    fn stream(&self, request: Request) -> Events {
        let turn = request.conversation.turn;
        let say = (self.plan)(&request);
        self.asked.lock().unwrap().push(request);
        let usage = Event::Usage(Usage { input: 100, output: 10, ..Usage::default() });
        let call = |index: usize, name: &str, input: CallInput| {
            let id = format!("{turn}-{index}");
            let call = ToolCall { id: id.clone(), name: name.to_owned(), input, proof: None };
            [
                Ok(Event::CallStarted { index, id, name: name.to_owned() }),
                Ok(Event::CallEnded { index, call }),
            ]
        };
        let mut events: Vec<Result<Event, Error>> = vec![Ok(Event::Started { model: None })];
        match say {
            Say::Text(text) => {
                let (one, two) = text.split_at(text.len() / 2);
                events.extend([Ok(Event::Text(one.into())), Ok(Event::Text(two.into()))]);
            }
            Say::Calls(calls) => {
                for (index, (name, input)) in calls.into_iter().enumerate() {
                    events.extend(call(index, name, CallInput::Object(input)));
                }
            }
            Say::Raw(name, raw) => events.extend(call(0, name, CallInput::parse(raw))),
            Say::Error(error) => return futures::stream::iter([Err(error)]).boxed(),
            Say::Cut(text) => return futures::stream::iter([Ok(Event::Text(text.into()))]).boxed(),
            Say::Slow(text) => {
                return futures::stream::unfold((), move |()| async move {
                    tokio::time::sleep(Duration::from_millis(20)).await;
                    Some((Ok(Event::Text(text.into())), ()))
                })
                .boxed();
            }
            Say::Stop(reason) => {
                events.extend([Ok(usage), Ok(Event::Stopped(reason))]);
                return futures::stream::iter(events).boxed();
            }
        }
        events.extend([Ok(usage), Ok(Event::Stopped(StopReason::End))]);
        futures::stream::iter(events).boxed()
    }
}

/// What the model was told last.
pub fn last(request: &Request) -> String {
    let Some(message) = request.messages.last() else { return String::new() };
    let part = |part: &Part| match part {
        Part::Text { text } | Part::Result { text, .. } => text.clone(),
        other => format!("{other:?}"),
    };
    message.parts.iter().map(part).collect::<Vec<_>>().join("\n")
}

/// What the conversation began with.
pub fn first(request: &Request) -> String {
    request.messages.first().map(Message::text).unwrap_or_default()
}

/// A door that remembers everything and answers as it is told.
#[derive(Default)]
pub struct Ears {
    pub news: Mutex<Vec<News>>,
    pub yes: bool,
    pub person: bool,
    pub answers: Mutex<VecDeque<Answers>>,
    pub added: Mutex<Vec<String>>,
    pub asked: Arc<Mutex<Vec<String>>>,
    /// What the person unticks wherever it is listed; without it nothing is special about reviews.
    pub keeps: Option<&'static str>,
}

impl Ears {
    pub fn saying_yes() -> Arc<Ears> {
        Arc::new(Ears { yes: true, person: true, ..Ears::default() })
    }

    pub fn text(&self) -> String {
        let mut text = String::new();
        for news in self.news.lock().unwrap().iter() {
            match news {
                News::Text { text: more } => text.push_str(more),
                News::Void => text.push_str("(void)"),
                _ => {}
            }
        }
        text
    }

    /// What became of each call, in order.
    pub fn ended(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for news in self.news.lock().unwrap().iter() {
            if let News::CallEnded { name, outcome, .. } = news {
                lines.push(format!("{name} {outcome}"));
            }
        }
        lines
    }
}

struct Word {
    yes: bool,
    person: bool,
    asked: Arc<Mutex<Vec<String>>>,
    keeps: Option<&'static str>,
}

impl Asker for Word {
    fn ask<'a>(&'a self, question: &'a Question<'a>) -> Deciding<'a> {
        self.asked.lock().unwrap().push(format!("{}: {}", question.tool, question.summary));
        let listed = question.reads.iter().chain(question.results.iter().map(|row| &row.path));
        let listed: Vec<VaultPath> = listed.cloned().collect();
        let decision = match (self.keeps, self.yes) {
            (Some(keeps), _) if !listed.is_empty() => {
                Decision::Only(listed.into_iter().filter(|path| path.as_str() != keeps).collect())
            }
            (_, true) => Decision::Yes(Lifetime::Once),
            (_, false) => Decision::No { reason: Some("not now".to_owned()) },
        };
        Box::pin(async move { decision })
    }
    fn name(&self) -> &str {
        "test"
    }
    fn is_person(&self) -> bool {
        self.person
    }
}

impl Door for Ears {
    fn show(&self, news: &News) {
        self.news.lock().unwrap().push(news.clone());
    }
    fn asker(&self) -> Arc<dyn Asker> {
        Arc::new(Word {
            yes: self.yes,
            person: self.person,
            asked: Arc::clone(&self.asked),
            keeps: self.keeps,
        })
    }
    fn answer<'a>(&'a self, _: &'a [Asked]) -> agent::door::Answering<'a> {
        let answer = self.answers.lock().unwrap().pop_front().unwrap_or(Answers::Nobody);
        Box::pin(async move { answer })
    }
    fn added(&self) -> Vec<String> {
        std::mem::take(&mut self.added.lock().unwrap())
    }
}

/// Two agents: one that may all, one that reads.
pub struct Two;

impl Cast for Two {
    fn persona(&self, slug: &str) -> Persona {
        let (rights, notice) = match slug {
            "agent" => (Rights::all(), None),
            "reader" => (Rights::groups([Group::Read, Group::Vault, Group::Agent]), None),
            gone => (Rights::read_only(), Some(format!("`{gone}` is gone; this one reads only"))),
        };
        Persona {
            slug: slug.to_owned(),
            name: slug.to_owned(),
            role: format!("You are {slug}."),
            instructions: String::new(),
            rights,
            model: None,
            notice,
        }
    }
    fn slugs(&self) -> Vec<String> {
        vec!["agent".to_owned(), "reader".to_owned()]
    }
    fn skills(&self) -> String {
        "- tidy: tidies\n".to_owned()
    }
    fn skill(&self, name: &str) -> Result<SkillText, Refusal> {
        match name {
            "tidy" | "stranger" => Ok(SkillText {
                name: name.to_owned(),
                text: "Tidy up.".to_owned(),
                tools: None,
                trusted: name == "tidy",
            }),
            _ => Err(Refusal::new("skill_unknown", "no such skill", "list them")),
        }
    }
    fn standing(&self) -> String {
        "Answer in rhymes.".to_owned()
    }
}

macro_rules! tool {
    ($name:ident, $spec:expr, |$input:ident, $view:ident| $plan:expr) => {
        pub struct $name;
        impl Tool for $name {
            const SPEC: Spec = $spec;
            type Input = Value;
            async fn plan(&self, $input: Value, $view: &View<'_>) -> Result<Plan, Refusal> {
                $plan
            }
        }
    };
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Path {
    path: VaultPath,
}

/// Reads a note.
pub struct Read;
impl Tool for Read {
    const SPEC: Spec = Spec::new("read", Group::Read, Effect::Answers);
    type Input = Path;
    async fn plan(&self, input: Path, view: &View<'_>) -> Result<Plan, Refusal> {
        let text = view.text(&input.path)?;
        let output = Output::new(text, json!({})).from_vault(input.path.to_string());
        Ok(Plan::Answer(output.telling_note(view, &input.path)))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Words {
    text: String,
}

/// Finds notes, with the lines in which the text stands.
pub struct Search;
impl Tool for Search {
    const SPEC: Spec = Spec::new("search", Group::Vault, Effect::Answers);
    type Input = Words;
    async fn plan(&self, input: Words, view: &View<'_>) -> Result<Plan, Refusal> {
        let notes: Vec<VaultPath> = view
            .catalog()?
            .ask(|catalog, visible| catalog.notes(visible).map(|note| note.path.clone()).collect());
        let mut rows = Vec::new();
        for path in notes {
            let text = view.text(&path)?;
            let lines = text.lines().filter(|line| line.contains(&input.text));
            rows.extend(lines.map(|line| ResultRow::new(&path, line)));
        }
        let text: Vec<String> = rows.iter().map(|row| format!("{}: {}", row.path, row.excerpt)).collect();
        let text = format!("{} found\n{}", rows.len(), text.join("\n"));
        Ok(Plan::Answer(Output::new(text, json!({})).from_vault("search").telling_rows(view, || rows)))
    }
}

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Write {
    path: VaultPath,
    text: String,
}

/// Writes a new note.
pub struct Make;
impl Tool for Make {
    const SPEC: Spec = Spec::new("make", Group::Edit, Effect::Edits);
    type Input = Write;
    async fn plan(&self, input: Write, _: &View<'_>) -> Result<Plan, Refusal> {
        let change = Change::create(input.path.clone(), input.text);
        Ok(Plan::edit(vec![change], format!("make {}", input.path), Output::new("made", json!({}))))
    }
}

tool!(Mail, Spec::new("send", Group::Web, Effect::Acts), |input, _view| {
    let text = input["text"].as_str().unwrap_or_default().to_owned();
    let fire = move || async move { Ok(Output::new(format!("sent {text}"), json!({}))) };
    Ok(Plan::Act(Action::new("send a mail", "mail.example", Leaves::Something, Duration::from_secs(5), fire)))
});

tool!(Fetch, Spec::new("fetch", Group::Web, Effect::Acts), |input, _view| {
    let url = input["url"].as_str().unwrap_or_default().to_owned();
    let fire = move || async move { Ok(Output::new("a page", json!({})).from_outside("web")) };
    Ok(Plan::Act(Action::new("fetch a page", url, Leaves::Something, Duration::from_secs(5), fire)))
});

tool!(Local, Spec::new("ring_bell", Group::Skill, Effect::Acts), |_input, _view| {
    let fire = move || async move { Ok(Output::new("rang", json!({}))) };
    Ok(Plan::Act(Action::new("ring the bell", "bell", Leaves::Nothing, Duration::from_secs(5), fire)))
});

/// Takes a note away.
pub struct Delete;
impl Tool for Delete {
    const SPEC: Spec = Spec::new("delete", Group::Edit, Effect::Edits);
    type Input = Path;
    async fn plan(&self, input: Path, view: &View<'_>) -> Result<Plan, Refusal> {
        let before = view.read(&input.path)?;
        let change = Change::Delete { path: input.path.clone(), before: before.into() };
        Ok(Plan::edit(vec![change], format!("delete {}", input.path), Output::new("deleted", json!({}))))
    }
}

tool!(Ask, Spec::new("ask_user", Group::Agent, Effect::Steers), |input, _view| {
    let question = input["question"].as_str().unwrap_or_default().to_owned();
    let asked = Asked { question, header: None, options: Vec::new(), several: false, free_text: true };
    Ok(Plan::Steer(Control::Ask { questions: vec![asked] }, Output::default()))
});

tool!(Complete, Spec::new("attempt_completion", Group::Agent, Effect::Steers), |input, _view| {
    let result = input["result"].as_str().unwrap_or_default().to_owned();
    Ok(Plan::Steer(Control::Complete { result }, Output::default()))
});

tool!(Switch, Spec::new("switch_agent", Group::Agent, Effect::Steers), |input, _view| {
    let agent = input["agent"].as_str().unwrap_or_default().to_owned();
    Ok(Plan::Steer(Control::SwitchAgent { agent, reason: "because".to_owned() }, Output::default()))
});

tool!(Spawn, Spec::new("spawn_agent", Group::Agent, Effect::Steers), |input, _view| {
    let children: Vec<Child> = serde_json::from_value(input["children"].clone()).unwrap_or_default();
    Ok(Plan::Steer(Control::Spawn { children }, Output::default()))
});

tool!(ReadSkill, Spec::new("read_skill", Group::Agent, Effect::Steers), |input, _view| {
    let name = input["name"].as_str().unwrap_or_default().to_owned();
    Ok(Plan::Steer(Control::ReadSkill { name }, Output::default()))
});

tool!(Consult, Spec::new("consult_flagship", Group::Agent, Effect::Steers), |input, _view| {
    let question = input["problem"].as_str().unwrap_or_default().to_owned();
    Ok(Plan::Steer(Control::Consult { question }, Output::default()))
});

pub fn registry() -> Registry {
    let registry = Registry::default();
    registry
        .add(Read)
        .add(Search)
        .add(Make)
        .add(Mail)
        .add(Fetch)
        .add(Local)
        .add(Delete)
        .add(Ask)
        .add(Complete)
        .add(Switch)
        .add(Spawn)
        .add(ReadSkill)
        .add(Consult);
    registry
}

/// A mind, its vault and its model.
pub struct Rig {
    pub mind: Arc<Mind>,
    pub model: Arc<Planned>,
    pub folder: tempfile::TempDir,
}

pub struct Settings {
    pub limits: Limits,
    pub price: Option<Price>,
    pub window: Option<u64>,
    pub review: pipeline::Review,
}

impl Default for Settings {
    fn default() -> Settings {
        let price = Some(Price { input: 1.0, output: 1.0, cache_read: None, cache_write: None });
        Settings { limits: Limits::default(), price, window: None, review: Default::default() }
    }
}

impl Rig {
    pub fn new(plan: impl Fn(&Request) -> Say + Send + Sync + 'static) -> Rig {
        Rig::with(Settings::default(), plan)
    }

    pub fn with(settings: Settings, plan: impl Fn(&Request) -> Say + Send + Sync + 'static) -> Rig {
        let Road { folder, road, .. } = Road::new("a.md: alpha\n--- b.md: beta", registry());
        let model = Arc::new(Planned {
            name: "test@model".to_owned(),
            plan: Box::new(plan),
            asked: Mutex::default(),
            price: settings.price,
            window: settings.window,
        });
        let mut models = Models::default();
        models.add(Arc::clone(&model) as Arc<dyn Model>);
        models.tier(Tier::Main, "test@model");
        models.tier(Tier::Flagship, "test@model");
        let mind = Mind {
            road: Arc::new(road),
            models,
            sessions: Sessions::open(&folder.path().join("state.db")).unwrap(),
            cast: Arc::new(Two),
            world: Box::new(StillWorld::default()),
            limits: settings.limits,
            reach: Default::default(),
            review: settings.review,
            condense_at: 80,
            usual_window: 100_000,
            holder: "test".to_owned(),
        };
        Rig { mind: Arc::new(mind), model, folder }
    }

    pub async fn talk(&self, agent: &str) -> Talk {
        self.mind.begin(agent, "main").await.unwrap()
    }

    pub async fn say(&self, text: &str, ears: &Arc<Ears>) -> (Talk, Over) {
        let mut talk = self.talk("agent").await;
        let over = say(&mut talk, text, ears).await;
        (talk, over)
    }

    pub fn note(&self, path: &str) -> Option<String> {
        std::fs::read_to_string(self.folder.path().join("vault").join(path)).ok()
    }

    pub fn asked(&self) -> Vec<Request> {
        self.model.asked.lock().unwrap().clone()
    }
}

pub async fn say(talk: &mut Talk, text: &str, ears: &Arc<Ears>) -> Over {
    let door: Arc<dyn Door> = Arc::clone(ears) as Arc<dyn Door>;
    talk.say(vec![Part::Text { text: text.to_owned() }], &door, &Halt::default()).await.unwrap()
}

pub fn answers_only(request: &Request) -> bool {
    request.conversation.purpose == Purpose::Answer
}

pub fn beforehand() -> Arc<dyn Asker> {
    Arc::new(Beforehand)
}
