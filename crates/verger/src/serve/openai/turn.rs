//! One turn for a caller: begun with what was said before, led on a thread of its own, stopped when the caller hangs up.
//!
//! Nobody is there to be asked. An agent reads; one whose caller's token may `edit` changes what a standing grant covers, and
//! everything else is denied. A conversation that changed nothing is not kept: the caller has it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock};

use agent::{Door, Halt, News, Over, Trouble};
use llm::chat::{Message, Part, Usage};
use pipeline::ledger::Legs;
use pipeline::{Asker, Nobody, Rights, World as _};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use super::ask::Wish;
use super::fault::Fault;
use crate::serve::house::House;
use crate::serve::tokens::{Holder, May};
use crate::world::RealWorld;

/// Turns at once, of all callers together.
const AT_ONCE: usize = 16;
static PLACES: LazyLock<Arc<Semaphore>> = LazyLock::new(|| Arc::new(Semaphore::new(AT_ONCE)));

/// What a program sends may hold text of notes and of anybody else, so both legs stand from the start.
const LEGS: Legs = Legs { private: true, untrusted: true, left: false };

/// What is heard of a turn.
#[derive(Debug)]
pub enum Heard {
    /// More of what the model thinks.
    Thinking(String),
    /// More of what it says.
    Text(String),
    /// What it said since the last round is void.
    Void,
    /// A round is over: what is said next is another paragraph.
    Round,
    /// An answer was paid for.
    Spent(Usage),
    /// The turn is over.
    Over(Over),
    /// The turn could not be led.
    Trouble(Fault),
}

/// A turn that runs. Whoever drops it stops it.
pub struct Turn {
    /// What is heard of it.
    pub heard: UnboundedReceiver<Heard>,
    halt: Halt,
}

impl Drop for Turn {
    fn drop(&mut self) {
        self.halt.stop();
    }
}

/// What a turn is led with.
struct Order {
    agent: String,
    model: String,
    before: Vec<Message>,
    system: Vec<String>,
    question: Vec<Part>,
    settings: agent::Settings,
    most: Rights,
    halt: Halt,
    _place: OwnedSemaphorePermit,
}

/// Begins a turn.
pub fn begin(house: &Arc<House>, holder: &Holder, wish: &Wish) -> Result<Turn, Fault> {
    let place = Arc::clone(&PLACES).try_acquire_owned().map_err(|_| Fault::busy())?;
    let most = match holder.may(May::Edit) {
        // There is nobody who could answer.
        true => Rights::all().without(["ask_user", "ask_followup_question"]),
        false => Rights::read_only(),
    };
    let order = Order {
        agent: wish.agent.clone(),
        model: wish.model.clone(),
        before: wish.before.clone(),
        system: wish.system.clone(),
        question: wish.question.clone(),
        settings: wish.settings.clone(),
        most,
        halt: wish.halt.clone(),
        _place: place,
    };
    let (sender, heard) = unbounded_channel();
    let (house, halt) = (Arc::clone(house), wish.halt.clone());
    // Tools wait for the disk.
    tokio::task::spawn_blocking(move || {
        tokio::runtime::Handle::current().block_on(lead(&house, order, sender));
    });
    Ok(Turn { heard, halt })
}

async fn lead(house: &Arc<House>, order: Order, sender: UnboundedSender<Heard>) {
    let ending = tokio::spawn({
        let (house, halt) = (Arc::clone(house), order.halt.clone());
        async move {
            house.ended().await;
            halt.stop();
        }
    });
    let over = match led(house, order, &sender).await {
        Ok(over) => Heard::Over(over),
        Err(trouble) => Heard::Trouble(Fault::from(crate::failure::Failure::from(trouble))),
    };
    ending.abort();
    // A caller who has gone does not want to know.
    sender.send(over).ok();
}

async fn led(house: &Arc<House>, order: Order, sender: &UnboundedSender<Heard>) -> Result<Over, Trouble> {
    let mind = Arc::clone(&house.study().mind);
    let mut talk = mind.begin(&order.agent, &order.model).await?;
    let id = talk.conversation().id.clone();
    talk.settings = order.settings;
    talk.keep_within(&order.most);
    let changed = Arc::new(AtomicBool::new(false));
    let door: Arc<dyn Door> = Arc::new(Caller { sender: sender.clone(), changed: Arc::clone(&changed) });
    let over = match talk.seed(order.before, order.system, LEGS).await {
        Ok(()) => talk.say(order.question, &door, &order.halt).await,
        Err(trouble) => Err(trouble),
    };
    drop(talk);
    match changed.load(Ordering::SeqCst) {
        true => house.beat(|pulse| pulse.chats += 1),
        // What cannot be removed now stays in the list, which harms nobody.
        false => mind.sessions.delete(&id, RealWorld.moment().as_millisecond()).unwrap_or_default(),
    }
    over
}

/// The caller, who hears and is not asked.
struct Caller {
    sender: UnboundedSender<Heard>,
    changed: Arc<AtomicBool>,
}

impl Caller {
    fn tell(&self, heard: Heard) {
        // A caller who has gone has stopped the turn.
        self.sender.send(heard).ok();
    }
}

impl Door for Caller {
    fn show(&self, news: &News) {
        match news {
            News::Thinking { text } => self.tell(Heard::Thinking(text.clone())),
            News::Text { text } => self.tell(Heard::Text(text.clone())),
            News::Void => self.tell(Heard::Void),
            News::Spent { usage, .. } => self.tell(Heard::Spent(*usage)),
            News::CallBegan { .. } => self.tell(Heard::Round),
            News::CallEnded { checkpoint: Some(_), .. } => self.changed.store(true, Ordering::SeqCst),
            // What a child says is for its parent; what it costs and changes counts.
            News::Child { news, .. } => {
                if let News::Spent { .. } | News::CallEnded { .. } | News::Child { .. } = **news {
                    self.show(news);
                }
            }
            _ => {}
        }
    }

    fn asker(&self) -> Arc<dyn Asker> {
        Arc::new(Nobody)
    }
}
