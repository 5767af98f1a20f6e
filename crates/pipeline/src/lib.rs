//! The one road by which a tool runs. Read [`run`] first: nine steps, top to bottom.
//!
//! A tool names itself once ([`tool::Spec`]), reads through a scoped [`view::View`] and returns a [`plan::Plan`]; the
//! road decides whether the plan is carried out, and carries it out. Every door (command line, MCP, web, agent) calls
//! [`run::Road::run`]. Deliberately not here: what the tools do (`tools`), how notes are read and committed (`vault`).

pub mod approve;
pub mod audit;
pub mod docs;
pub mod fate;
pub mod grants;
pub mod kept;
pub mod ledger;
pub mod plan;
pub mod refusal;
pub mod registry;
pub mod repeat;
pub mod results;
pub mod run;
pub mod task;
pub mod tells;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod tool;
pub mod view;
pub mod world;
pub mod wrap;

pub use approve::{Asker, Decision, Lifetime, Nobody, Question};
pub use fate::Fate;
pub use kept::{Kept, Review};
pub use plan::{Action, Control, Edit, Output, Plan};
pub use refusal::Refusal;
pub use registry::{Registry, Rights};
pub use run::{Call, Outcome, Road, Stop};
pub use task::Task;
pub use tells::ResultRow;
pub use tool::{Effect, Group, Spec, Tool};
/// A file inside the vault.
pub use vault::VaultPath;
/// Front matter, for whoever reads agents and skills: its limits on hostile YAML are the vault's.
pub use vault::note::front;
/// Where a task may read and write, within the vault's own rules.
pub use vault::policy::Limits as Reach;
pub use view::View;
pub use world::World;
