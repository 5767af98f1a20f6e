//! What all conversations of one vault share, and how one is begun, found again and led.

use std::sync::Arc;

use llm::Models;
use llm::chat::{Message, Part, Role};
use pipeline::ledger::{Ledger, Legs};
use pipeline::results::Results;
use pipeline::{Reach, Refusal, Registry, Rights, Road, Task, World};
use state::{Lease, NewSession, Sessions};

use crate::ask::Settings;
use crate::calls::Refusals;
use crate::conversation::Conversation;
use crate::door::{Door, Host, News};
use crate::halt::Halt;
use crate::purse::{Limits, Purse};
use crate::step::{Over, Step};
use crate::trouble::Trouble;

/// How long another process waits before it takes a conversation from one that gave no sign of life.
const LEASE: u64 = 1_800;

/// Characters of a title that nobody gave.
const TITLE: usize = 60;

/// An agent as the loop knows it.
#[derive(Debug, Clone, PartialEq)]
pub struct Persona {
    /// Its slug.
    pub slug: String,
    /// Its name.
    pub name: String,
    /// Who it is, in the words that the model reads first.
    pub role: String,
    /// More instructions.
    pub instructions: String,
    /// What it may call.
    pub rights: Rights,
    /// Its own model: a name, an alias or a tier.
    pub model: Option<String>,
    /// What the person should know about it, e.g. that it is gone and this one reads only.
    pub notice: Option<String>,
}

/// The agents, skills and standing instructions that there are.
pub trait Cast: Send + Sync {
    /// The agent of this slug. One that is not there any more is one that reads only, with a notice.
    fn persona(&self, slug: &str) -> Persona;
    /// All slugs.
    fn slugs(&self) -> Vec<String>;
    /// The skills, a line each, for the prompt.
    fn skills(&self) -> String;
    /// The text of a skill.
    fn skill(&self, name: &str) -> Result<SkillText, Refusal>;
    /// What the user wants always.
    fn standing(&self) -> String;
    /// The agents, a line each, for the prompt.
    fn agents(&self) -> String {
        String::new()
    }
}

/// A skill, ready to be read or carried out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SkillText {
    /// Its name.
    pub name: String,
    /// What it says.
    pub text: String,
    /// At most these tools, if it says so.
    pub tools: Option<Vec<String>>,
    /// Whether the person has trusted it.
    pub trusted: bool,
}

/// What all conversations of one vault share.
pub struct Mind {
    /// The one road.
    pub road: Arc<Road>,
    /// The models.
    pub models: Models,
    /// Where conversations are kept.
    pub sessions: Sessions,
    /// Who can speak.
    pub cast: Arc<dyn Cast>,
    /// Time and names.
    pub world: Box<dyn World>,
    /// What a turn may take.
    pub limits: Limits,
    /// Where conversations may read and write, within the vault's own rules.
    pub reach: Reach,
    /// How full a window may be before the conversation is made shorter, in percent.
    pub condense_at: u8,
    /// The window of a model of which it is not known, in tokens.
    pub usual_window: u64,
    /// Who this process is, for leases.
    pub holder: String,
}

/// A conversation that is led.
pub struct Talk {
    /// What the person wants of the model.
    pub settings: Settings,
    /// How the model is told that a call was refused.
    pub refusals: Refusals,
    pub(crate) mind: Arc<Mind>,
    pub(crate) conversation: Conversation,
    pub(crate) persona: Persona,
    pub(crate) ledger: Arc<Ledger>,
    pub(crate) results: Arc<Results>,
    /// How many parents it has.
    pub(crate) depth: u8,
    /// What it may call at most, whatever agent it is.
    pub(crate) ceiling: Rights,
    /// Whether open calls may be those of a process that died.
    pub(crate) resumed: bool,
    /// Given back when the conversation is put down. Every step renews it, and an answer does not take half an hour.
    _lease: Lease,
}

impl Mind {
    /// Begins a conversation.
    pub async fn begin(self: &Arc<Mind>, agent: &str, model: &str) -> Result<Talk, Trouble> {
        let origin = Origin { parent: None, depth: 0, ceiling: Rights::all(), ledger: Arc::default() };
        self.begin_as(agent, model, origin).await
    }

    pub(crate) async fn begin_as(
        self: &Arc<Mind>,
        agent: &str,
        model: &str,
        origin: Origin,
    ) -> Result<Talk, Trouble> {
        let id = self.world.id().map_err(Refusal::from)?;
        let model = self.models.find(model)?.name().to_owned();
        let new = NewSession {
            id: id.clone(),
            title: None,
            agent: agent.to_owned(),
            model: model.clone(),
            parent: origin.parent.clone(),
            forked_from: None,
            now_ms: self.now_ms(),
        };
        let (sessions, holder, now) = (self.sessions.clone(), self.holder.clone(), self.now_ms());
        let lease = blocking(move || {
            sessions.create(&new)?;
            sessions.lease(&new.id, &holder, now, LEASE)
        })
        .await?;
        Ok(self.talk(Conversation::new(&id, agent, &model), origin, lease, false))
    }

    /// Takes a conversation up where it was left, also half way through a turn.
    pub async fn resume(self: &Arc<Mind>, id: &str) -> Result<Talk, Trouble> {
        let (sessions, prefix) = (self.sessions.clone(), id.to_owned());
        let parent = blocking(move || sessions.find(&prefix)).await?.parent;
        // A child's limits are its parent's to give. Taken up without it, it can only read.
        let (depth, ceiling) = match &parent {
            Some(_) => (1, Rights::read_only()),
            None => (0, Rights::all()),
        };
        let origin = Origin { parent, depth, ceiling, ledger: Arc::default() };
        self.resume_as(id, origin).await
    }

    pub(crate) async fn resume_as(self: &Arc<Mind>, id: &str, origin: Origin) -> Result<Talk, Trouble> {
        let (sessions, holder, now) = (self.sessions.clone(), self.holder.clone(), self.now_ms());
        let prefix = id.to_owned();
        let (header, steps, lease) = blocking(move || {
            let header = sessions.find(&prefix)?;
            let lease = sessions.lease(&header.id, &holder, now, LEASE)?;
            let steps = sessions.steps(&header.id)?;
            Ok((header, steps, lease))
        })
        .await?;
        let mut conversation = Conversation::new(&header.id, &header.agent, &header.model);
        steps.iter().filter_map(Step::read).for_each(|step| conversation.take(&step));
        Ok(self.talk(conversation, origin, lease, true))
    }

    fn talk(
        self: &Arc<Mind>,
        conversation: Conversation,
        origin: Origin,
        lease: Lease,
        resumed: bool,
    ) -> Talk {
        let persona = self.cast.persona(&conversation.agent);
        // What is known of a conversation's legs holds for whoever it works for, and the other way round.
        origin.ledger.join(conversation.legs);
        Talk {
            settings: Settings::default(),
            refusals: Refusals::default(),
            mind: Arc::clone(self),
            conversation,
            persona,
            ledger: origin.ledger,
            results: Arc::default(),
            depth: origin.depth,
            ceiling: origin.ceiling,
            resumed,
            _lease: lease,
        }
    }

    pub(crate) fn now_ms(&self) -> i64 {
        self.world.now().timestamp().as_millisecond()
    }

    pub(crate) fn registry(&self) -> &Registry {
        &self.road.registry
    }
}

/// For whom a conversation works.
#[derive(Clone)]
pub(crate) struct Origin {
    pub(crate) parent: Option<String>,
    pub(crate) depth: u8,
    pub(crate) ceiling: Rights,
    pub(crate) ledger: Arc<Ledger>,
}

impl Talk {
    /// The conversation as it stands.
    pub fn conversation(&self) -> &Conversation {
        &self.conversation
    }

    /// The agent that speaks.
    pub fn persona(&self) -> &Persona {
        &self.persona
    }

    /// It may call at most this from now on, whatever agent it is or becomes; its children neither.
    pub fn keep_within(&mut self, most: &Rights) {
        self.ceiling = self.ceiling.within(most);
    }

    /// Whether a turn was left half way.
    pub fn is_half_way(&self) -> bool {
        self.conversation.turn.is_some()
    }

    /// Says something, and leads the turn to its end.
    pub async fn say(
        &mut self,
        parts: Vec<Part>,
        door: &Arc<dyn Door>,
        halt: &Halt,
    ) -> Result<Over, Trouble> {
        let id = self.mind.world.id().map_err(Refusal::from)?;
        self.say_under(&format!("chat-{id}"), parts, door, halt).await
    }

    /// The same under a task that the door has named, so that what the door writes itself is undone with the rest.
    pub async fn say_under(
        &mut self,
        task: &str,
        parts: Vec<Part>,
        door: &Arc<dyn Door>,
        halt: &Halt,
    ) -> Result<Over, Trouble> {
        self.end_what_was_left().await?;
        let purse = Purse::new(self.mind.limits, Default::default());
        self.resumed = false;
        self.record(vec![Step::Asked { task: task.to_owned(), parts }]).await?;
        self.lead(&Host::new(Arc::clone(door)), &purse, halt).await
    }

    /// Begins with what was said elsewhere before: a chat that lives in a note. Its legs stand from now on.
    pub async fn seed(
        &mut self,
        messages: Vec<Message>,
        system: Vec<String>,
        legs: Legs,
    ) -> Result<(), Trouble> {
        self.ledger.join(legs);
        self.record(vec![Step::Seeded { messages, system, legs }]).await
    }

    /// Goes on with a turn that was left half way.
    pub async fn go_on(&mut self, door: &Arc<dyn Door>, halt: &Halt) -> Result<Over, Trouble> {
        let spent = self.conversation.turn.as_ref().map(|turn| turn.spent).unwrap_or_default();
        let purse = Purse::new(self.mind.limits, spent);
        self.lead(&Host::new(Arc::clone(door)), &purse, halt).await
    }

    pub(crate) async fn say_with(
        &mut self,
        parts: Vec<Part>,
        host: &Host,
        purse: &Purse,
        halt: &Halt,
    ) -> Result<Over, Trouble> {
        let id = self.mind.world.id().map_err(Refusal::from)?;
        let task = format!("chat-{id}");
        self.resumed = false;
        if self.conversation.turns == 0 {
            self.entitle(&parts).await?;
        }
        self.record(vec![Step::Asked { task, parts }]).await?;
        self.lead(host, purse, halt).await
    }

    /// The first words are the title until somebody gives a better one.
    async fn entitle(&self, parts: &[Part]) -> Result<(), Trouble> {
        let text = Message { role: Role::User, parts: parts.to_vec() }.text();
        let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let title: String = line.chars().take(TITLE).collect();
        if title.is_empty() {
            return Ok(());
        }
        let (sessions, id) = (self.mind.sessions.clone(), self.conversation.id.clone());
        blocking(move || sessions.rename(&id, Some(&title))).await
    }

    /// Leads the turn to its end and says so.
    pub(crate) async fn lead(&mut self, host: &Host, purse: &Purse, halt: &Halt) -> Result<Over, Trouble> {
        if let Some(turn) = &self.conversation.turn {
            host.show(News::Turn {
                session: self.conversation.id.clone(),
                task: turn.task.clone(),
                agent: self.persona.slug.clone(),
                model: self.conversation.model.clone(),
            });
        }
        if let Some(notice) = &self.persona.notice {
            host.notice(notice.clone());
        }
        let how = crate::turn::lead(self, host, purse, halt).await?;
        self.record(vec![Step::Over { how: how.clone() }]).await?;
        host.show(News::Over { text: how.describe(), how: how.clone() });
        Ok(how)
    }

    /// Another model answers from now on.
    pub async fn use_model(&mut self, name: &str) -> Result<(), Trouble> {
        let name = self.mind.models.find(name)?.name().to_owned();
        self.record(vec![Step::Model { name }]).await?;
        self.in_the_list().await
    }

    /// Another agent speaks from now on; the person wants it so.
    pub async fn use_agent(&mut self, slug: &str) -> Result<(), Trouble> {
        if !self.mind.cast.slugs().iter().any(|known| known == slug) {
            let known = self.mind.cast.slugs();
            return Err(Refusal::new(
                "agent_unknown",
                format!("there is no agent `{slug}`"),
                format!("there are: {}", known.join(", ")),
            )
            .into());
        }
        self.become_agent(slug).await
    }

    pub(crate) async fn become_agent(&mut self, slug: &str) -> Result<(), Trouble> {
        self.persona = self.mind.cast.persona(slug);
        self.record(vec![Step::Agent { slug: slug.to_owned() }]).await?;
        self.in_the_list().await
    }

    /// The list of conversations names the agent and the model of now.
    async fn in_the_list(&self) -> Result<(), Trouble> {
        let (sessions, conversation) = (self.mind.sessions.clone(), &self.conversation);
        let (id, agent, model) =
            (conversation.id.clone(), conversation.agent.clone(), conversation.model.clone());
        let now = self.mind.now_ms();
        blocking(move || sessions.set_agent_and_model(&id, &agent, &model, now)).await
    }

    /// Marks a turn that nobody will go on with as stopped.
    async fn end_what_was_left(&mut self) -> Result<(), Trouble> {
        if self.is_half_way() {
            self.record(vec![Step::Over { how: Over::Stopped }]).await?;
        }
        Ok(())
    }

    /// Writes steps down, all or none, before anything else happens.
    pub(crate) async fn record(&mut self, steps: Vec<Step>) -> Result<(), Trouble> {
        let (sessions, id) = (self.mind.sessions.clone(), self.conversation.id.clone());
        let now = self.mind.now_ms();
        let steps = blocking(move || {
            let kept: Vec<_> = steps.iter().map(Step::kept).collect();
            sessions.append(&id, &kept, now)?;
            Ok(steps)
        })
        .await?;
        steps.iter().for_each(|step| self.conversation.take(step));
        self.ledger.join(self.conversation.legs);
        Ok(())
    }

    /// What it may call: its agent's rights, cut to what it may have at all.
    pub(crate) fn rights(&self) -> Rights {
        self.persona.rights.within(&self.ceiling)
    }

    /// The task of the turn that runs.
    pub(crate) fn task(&self) -> Task {
        let id = self.conversation.turn.as_ref().map_or("chat", |turn| turn.task.as_str());
        let mut task = Task::new(id, self.conversation.id.clone(), self.persona.slug.clone());
        task.rights = self.rights();
        task.limits = self.mind.reach.clone();
        task.ledger = Arc::clone(&self.ledger);
        task.results = Arc::clone(&self.results);
        task.activate(&self.conversation.active);
        task
    }

    /// The legs that stand.
    pub(crate) fn legs(&self) -> Legs {
        self.ledger.legs()
    }
}

/// SQLite waits for the disk; the loop does not.
pub(crate) async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, state::Error> + Send + 'static,
) -> Result<T, Trouble> {
    match tokio::task::spawn_blocking(work).await {
        Ok(done) => Ok(done?),
        Err(_) => Err(Trouble::Broken),
    }
}
