//! What a tool is: a name declared once, a typed input, and a plan.

use std::borrow::Cow;
use std::future::Future;
use std::pin::Pin;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::plan::Plan;
use crate::refusal::{Refusal, nearest};
use crate::view::View;

/// What a tool declares, once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Spec {
    /// Its name.
    pub name: Cow<'static, str>,
    /// To which group of rights it belongs.
    pub group: Group,
    /// What its plans may be.
    pub effect: Effect,
    /// Whether it is listed by name only until `find_tool` asks for it.
    pub deferred: bool,
}

impl Spec {
    /// The declaration of a built-in tool.
    pub const fn new(name: &'static str, group: Group, effect: Effect) -> Spec {
        Spec { name: Cow::Borrowed(name), group, effect, deferred: false }
    }

    /// The same, deferred.
    #[must_use]
    pub const fn deferred(mut self) -> Spec {
        self.deferred = true;
        self
    }
}

/// The seven groups of rights.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Group {
    /// Reading files.
    Read,
    /// Knowing the vault: tags, links, health.
    Vault,
    /// Changing vault files.
    Edit,
    /// The web.
    Web,
    /// The agent itself.
    Agent,
    /// Foreign tools.
    Mcp,
    /// Skills.
    Skill,
}

impl Group {
    /// All groups, in the order in which people see them.
    pub const ALL: [Group; 7] =
        [Group::Read, Group::Vault, Group::Edit, Group::Web, Group::Agent, Group::Mcp, Group::Skill];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Group::Read => "read",
            Group::Vault => "vault",
            Group::Edit => "edit",
            Group::Web => "web",
            Group::Agent => "agent",
            Group::Mcp => "mcp",
            Group::Skill => "skill",
        }
    }
}

/// What a tool's plans may be. The road refuses a plan that is not what the spec said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Effect {
    /// `Answer` only.
    Answers,
    /// `Edit`, or `Answer` when there is nothing to change.
    Edits,
    /// `Act`, or `Answer`.
    Acts,
    /// `Steer`, or `Answer`.
    Steers,
}

impl Effect {
    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Effect::Answers => "answers",
            Effect::Edits => "edits",
            Effect::Acts => "acts",
            Effect::Steers => "steers",
        }
    }

    /// Whether a tool of this effect may return this plan.
    pub fn allows(self, plan: &Plan) -> bool {
        match plan {
            Plan::Answer(_) => true,
            Plan::Edit(_) => self == Effect::Edits,
            Plan::Act(_) => self == Effect::Acts,
            Plan::Steer(..) => self == Effect::Steers,
        }
    }
}

/// A tool: one file, one struct, one plan.
pub trait Tool: Send + Sync + 'static {
    /// Its declaration.
    const SPEC: Spec;
    /// Its input. The doc comment of the type is the description that a model reads.
    type Input: DeserializeOwned + JsonSchema + Send;
    /// Reads through the view and says what should be done.
    fn plan(&self, input: Self::Input, view: &View<'_>)
    -> impl Future<Output = Result<Plan, Refusal>> + Send;
}

/// What a plan is waited for as.
pub type Planning<'p> = Pin<Box<dyn Future<Output = Result<Plan, Refusal>> + Send + 'p>>;

/// A tool as the registry holds it. Tools made at run time implement this directly and walk the same road.
pub trait AnyTool: Send + Sync {
    /// Its declaration.
    fn spec(&self) -> &Spec;
    /// What a model reads about it.
    fn description(&self) -> &str;
    /// The JSON Schema of its input.
    fn schema(&self) -> &Value;
    /// Validates the input and plans. The outer result is the validation: nothing was read yet.
    fn plan<'p>(&'p self, input: Value, view: &'p View<'p>) -> Result<Planning<'p>, Refusal>;
}

/// A built-in tool, ready for the registry.
struct Typed<T> {
    tool: T,
    spec: Spec,
    description: String,
    schema: Value,
}

/// Makes a tool ready for the registry.
pub fn typed<T: Tool>(tool: T) -> Box<dyn AnyTool> {
    let mut schema = schemars::schema_for!(T::Input).to_value();
    let mut description = String::new();
    if let Some(object) = schema.as_object_mut() {
        object.remove("$schema");
        object.remove("title");
        if let Some(Value::String(text)) = object.remove("description") {
            description = text;
        }
        object.entry("properties").or_insert_with(|| Value::Object(serde_json::Map::new()));
    }
    Box::new(Typed { tool, spec: T::SPEC, description, schema })
}

impl<T: Tool> AnyTool for Typed<T> {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn plan<'p>(&'p self, input: Value, view: &'p View<'p>) -> Result<Planning<'p>, Refusal> {
        let input: T::Input =
            serde_json::from_value(input).map_err(|error| bad_input(&self.schema, &error))?;
        Ok(Box::pin(self.tool.plan(input, view)))
    }
}

/// Turns what serde says into a refusal with a reason and, for a misspelt field, the right one.
pub fn bad_input(schema: &Value, error: &serde_json::Error) -> Refusal {
    let text = error.to_string();
    if let Some(rest) = text.strip_prefix(vault::path::BAD_PATH) {
        let reason = rest.split(['[', ']']).nth(1).unwrap_or_default();
        let reason = if reason == "path_traversal" { "path_traversal" } else { "path_invalid" };
        let body = rest.split_once("]: ").map_or(rest, |(_, body)| body);
        let (message, hint) = body.split_once("; ").unwrap_or((body, "give a path inside the vault"));
        return Refusal::new(reason, message.to_owned(), hint.to_owned());
    }
    let fields: Vec<&str> = schema
        .get("properties")
        .and_then(Value::as_object)
        .map(|properties| properties.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let unknown = text.strip_prefix("unknown field `").and_then(|rest| rest.split('`').next());
    let hint = match unknown.and_then(|field| nearest(field, fields.iter().copied())) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None if fields.is_empty() => "this tool takes no input".to_owned(),
        None => format!("the fields are {}", fields.join(", ")),
    };
    let shown: String = text.chars().take(300).collect();
    Refusal::new("input_invalid", format!("the input does not fit: {shown}"), hint)
}
