//! What a tool sees while it plans: the vault through its agent's scope, the time, the tools it may ask about,
//! and the long results of its task. Only the road makes one.

use std::ops::Deref;
use std::sync::OnceLock;

use jiff::Zoned;

use crate::kept::Review;
use crate::refusal::Refusal;
use crate::registry::{Listing, Registry, Rights};
use crate::results::Results;
use crate::run::Stop;
use crate::task::Task;
use crate::world::World;

/// A tool's window on the world.
pub struct View<'v> {
    vault: vault::View<'v>,
    world: &'v dyn World,
    /// Asked for when a tool wants to know, and then the same for the whole plan.
    now: OnceLock<Zoned>,
    agent: &'v str,
    registry: &'v Registry,
    rights: &'v Rights,
    results: &'v Results,
    review: Review,
    stop: &'v Stop,
}

impl<'v> View<'v> {
    /// Private to the road: a tool can narrow what it was given, never make its own.
    pub(crate) fn new(
        vault: vault::View<'v>,
        world: &'v dyn World,
        task: &'v Task,
        registry: &'v Registry,
        stop: &'v Stop,
    ) -> View<'v> {
        View {
            vault,
            world,
            now: OnceLock::new(),
            agent: &task.agent,
            registry,
            rights: &task.rights,
            results: &task.results,
            review: task.review,
            stop,
        }
    }

    /// Whether a person wants to see of which notes answers tell.
    pub fn is_reviewed(&self) -> bool {
        self.review.is_on()
    }

    /// Refuses to go on once the call was called off; for work that takes long.
    pub fn go_on(&self) -> Result<(), Refusal> {
        self.stop.check()
    }

    /// The time, in the user's zone.
    pub fn now(&self) -> &Zoned {
        self.now.get_or_init(|| self.world.now())
    }

    /// Who acts: an agent's slug, `cli`, an MCP client's name.
    pub fn agent(&self) -> &str {
        self.agent
    }

    /// The tools that this agent may call, deferred ones included.
    pub fn tools(&self) -> Vec<Listing> {
        self.registry.list(self.rights)
    }

    /// Long results of this task.
    pub fn results(&self) -> &Results {
        self.results
    }

    /// The same with these texts in place of what is on disk: for plans of several steps.
    #[must_use]
    pub fn over(&'v self, drafts: &'v vault::view::Drafts) -> View<'v> {
        View { vault: self.vault.over(drafts), now: self.now.clone(), ..*self }
    }

    /// The vault, as far as this agent may see it.
    pub fn vault(&self) -> &vault::View<'v> {
        &self.vault
    }
}

impl<'v> Deref for View<'v> {
    type Target = vault::View<'v>;
    fn deref(&self) -> &vault::View<'v> {
        &self.vault
    }
}
