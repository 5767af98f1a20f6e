//! The server of one connection: turns requests of the protocol into calls on the road, and outcomes into answers.
//!
//! Called by the SDK, once for every message, in tasks of their own. A call keeps a thread busy, so it tells the
//! runtime; reads run side by side, edits one after the other in the order in which they came (`turn.rs`).

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use pipeline::{Call, Effect, Outcome, Refusal, Task, World};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CompleteRequestParams, CompleteResult, CustomRequest,
    CustomResult, ErrorCode, ErrorData, GetPromptRequestParams, GetPromptResponse, Implementation,
    InitializeRequestParams, InitializeResult, JsonObject, ListPromptsResult, ListResourceTemplatesResult,
    ListResourcesResult, ListToolsResult, PaginatedRequestParams, ProtocolVersion, ReadResourceRequestParams,
    ReadResourceResponse, ReadResourceResult, RequestId, ResourceContents, ServerCapabilities, ServerConfig,
    SubscriptionFilter, Tool,
};
use rmcp::service::{NotificationContext, RequestContext, SubscriptionContext};
use rmcp::{Peer, RoleServer, ServerHandler};
use serde_json::json;

use super::answer;
use super::asker::{AtClient, Way};
use super::fixtures::Fixtures;
use super::hall::{Approval, Hall, Thread, block};
use super::news::Listener;
use super::surface;
use super::tasks::{Sitting, Visitor};
use super::turn::Turn;
use super::{complete, prompts, resource};
use crate::world::RealWorld;

/// Methods that the SDK knows; one that arrives as unknown has parameters that do not fit.
const METHODS: [&str; 14] = [
    "logging/setLevel",
    "initialize",
    "ping",
    "tools/call",
    "tools/list",
    "resources/list",
    "resources/read",
    "resources/templates/list",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "server/discover",
];

/// What the revisions before 2026-07-28 had and later ones have not.
const REMOVED: [&str; 5] =
    ["initialize", "ping", "logging/setLevel", "resources/subscribe", "resources/unsubscribe"];

/// The server of one connection, of one session, or of one request that came alone.
pub struct Server {
    hall: Arc<Hall>,
    clients: Clients,
    initialized: AtomicBool,
    /// The session that ends with this server.
    sitting: OnceLock<Sitting>,
    /// The client, as one who is told of changes.
    listener: Arc<Listener>,
    plain: OnceLock<Plain>,
}

/// Whom a server serves.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Clients {
    /// Whoever started us.
    One,
    /// Whoever comes; each request says for itself from whom it comes.
    Many,
}

/// A client whose calls may go the short way: it is the only one, it began with `initialize`, and it is known.
struct Plain {
    peer: Peer<RoleServer>,
    task: Arc<Task>,
    /// Whether its edits may go that way too, because nobody is ever asked about them.
    edits: bool,
}

impl Server {
    /// A server in this hall.
    pub fn new(hall: Arc<Hall>, clients: Clients) -> Server {
        let listener = Arc::new(Listener::default());
        hall.connection.news.join(&listener);
        Server {
            hall,
            clients,
            initialized: AtomicBool::new(false),
            sitting: OnceLock::new(),
            listener,
            plain: OnceLock::new(),
        }
    }

    fn task(&self, context: &RequestContext<RoleServer>) -> Arc<Task> {
        let visitor = Visitor::of(context);
        if let Some(sitting) = &visitor.sitting
            && self.initialized.load(Ordering::Relaxed)
        {
            self.sitting.get_or_init(|| sitting.clone());
        }
        self.hall.task(&visitor)
    }

    /// The client, if a call of this tool may go the short way.
    pub fn plain_client(&self, tool: &str) -> Option<&Peer<RoleServer>> {
        let plain = self.plain.get()?;
        let goes = match self.hall.effect(tool)? {
            Effect::Answers => true,
            Effect::Edits => plain.edits,
            Effect::Acts | Effect::Steers => false,
        };
        goes.then_some(&plain.peer)
    }

    /// A call that went the short way. It keeps its thread busy until it is answered.
    pub async fn call_on_own_thread(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        match self.plain.get() {
            Some(plain) => self.call(request, context, &plain.task, Way::None, Thread::Own).await,
            None => self.call_tool(request, context).await,
        }
    }

    fn fixtures(&self) -> Option<&Fixtures> {
        self.hall.connection.fixtures.as_ref()
    }

    fn capabilities(&self) -> ServerCapabilities {
        if let Some(fixtures) = self.fixtures() {
            return fixtures.capabilities();
        }
        let mut capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_list_changed()
            .enable_resources_subscribe()
            .enable_prompts()
            .enable_completions()
            .build();
        capabilities.logging = Some(JsonObject::new());
        capabilities
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Some(sitting) = self.sitting.get() {
            self.hall.forget(sitting);
        }
    }
}

impl ServerHandler for Server {
    fn get_info(&self) -> ServerConfig {
        let name = Implementation::new("verger", env!("CARGO_PKG_VERSION")).with_title("Verger");
        ServerConfig::new(self.capabilities())
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
            .with_server_info(name)
            .with_instructions(self.hall.instructions())
    }

    /// A second `initialize` is refused: the SDK would take over its version, and the revisions differ in what they allow.
    async fn initialize(
        &self,
        request: InitializeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<InitializeResult, ErrorData> {
        if self.initialized.swap(true, Ordering::Relaxed) {
            return Err(ErrorData::invalid_request("this connection is initialized already", None));
        }
        self.negotiate_initialize(&request)
    }

    async fn on_initialized(&self, context: NotificationContext<RoleServer>) {
        self.hall.watch();
        if let Some(client) = context.peer.peer_info()
            && client.protocol_version < ProtocolVersion::V_2026_07_28
            && self.fixtures().is_none()
            && self.clients == Clients::One
        {
            let request = RequestContext::new(RequestId::Number(0), context.peer.clone());
            let edits =
                self.hall.connection.approval == Approval::Allow && client.capabilities.elicitation.is_none();
            let plain = Plain { peer: context.peer.clone(), task: self.task(&request), edits };
            self.plain.set(plain).ok();
        }
        self.listener.arrive(context.peer);
    }

    /// What headers that repeat arguments are compared with.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        self.fixtures().and_then(|fixtures| fixtures.tool(name))
    }

    async fn list_tools(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        one_page(request)?;
        let task = self.task(&context);
        let listings = self.hall.connection.road.registry.list(&task.rights).into_iter();
        let vaults = self.hall.connection.vaults.choice();
        let shown = listings.filter(|listing| !listing.spec.deferred || task.is_active(&listing.spec.name));
        let tools = shown.map(|listing| surface::tool(listing, &vaults));
        let fixtures = self.fixtures().map(Fixtures::tools).unwrap_or_default();
        Ok(ListToolsResult::with_all_items(tools.chain(fixtures).collect()))
    }

    /// In a box: the SDK moves what it runs from place to place, and this would be its largest part by far.
    fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> impl Future<Output = Result<CallToolResponse, ErrorData>> + Send {
        Box::pin(async move {
            if let Some(fixtures) = self.fixtures()
                && fixtures.tool(&request.name).is_some()
            {
                return fixtures.call(request, context).await;
            }
            let (task, way) = (self.task(&context), self.way(&request, &context));
            self.call(request, context, &task, way, Thread::Shared).await
        })
    }

    async fn list_prompts(
        &self,
        request: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        one_page(request)?;
        let all = self.fixtures().map_or_else(prompts::list, Fixtures::prompts);
        Ok(ListPromptsResult::with_all_items(all))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        match self.fixtures() {
            Some(fixtures) => fixtures.prompt(request),
            None => prompts::get(&request).map(GetPromptResponse::from),
        }
    }

    async fn complete(
        &self,
        request: CompleteRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CompleteResult, ErrorData> {
        if let Some(fixtures) = self.fixtures() {
            return Ok(fixtures.complete(&request));
        }
        // Names of notes are as good as a listing of them.
        if !Visitor::of(&context).principal.may_read(resource::NOTE) {
            return Ok(CompleteResult::default());
        }
        let (road, limits) = (&self.hall.connection.road, &self.hall.connection.limits);
        let today = RealWorld.now().date();
        block(async { complete::complete(&request, road, limits, today) }).map(CompleteResult::new)
    }

    #[expect(deprecated, reason = "revisions before 2026-07-28 have it")]
    async fn set_level(
        &self,
        request: rmcp::model::SetLevelRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if begins_alone(&context) {
            return Err(no_method("logging/setLevel"));
        }
        self.listener.set_level(request.level);
        Ok(())
    }

    async fn subscribe(
        &self,
        request: rmcp::model::SubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if begins_alone(&context) {
            return Err(no_method("resources/subscribe"));
        }
        if self.fixtures().is_some() {
            return Ok(());
        }
        let named = self.hall.connection.vaults.of_address(&request.uri);
        let (_, address) = named.map_err(|refusal| answer::error(&refusal))?;
        resource::is_address(address).map_err(|refusal| answer::error(&refusal))?;
        if !Visitor::of(&context).principal.may_read(resource::name(address)) {
            return Err(answer::error(&resource::out_of_scope(address)));
        }
        self.listener.arrive(context.peer);
        self.hall.watch();
        match self.listener.subscribe(request.uri) {
            true => Ok(()),
            false => Err(ErrorData::invalid_params("too many subscriptions; end some first", None)),
        }
    }

    async fn unsubscribe(
        &self,
        request: rmcp::model::UnsubscribeRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        if begins_alone(&context) {
            return Err(no_method("resources/unsubscribe"));
        }
        self.listener.unsubscribe(&request.uri);
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.supported_by(&self.capabilities()))
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        match self.fixtures() {
            Some(fixtures) => fixtures.listen(context).await,
            None => {
                let principal = Visitor::of(context.request_context()).principal;
                self.hall.watch();
                let place = self
                    .hall
                    .connection
                    .news
                    .listen(context.sink().clone(), move |uri| principal.may_read(resource::name(uri)));
                context.cancelled().await;
                self.hall.connection.news.leave(place);
                Ok(())
            }
        }
    }

    async fn list_resources(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let (vaults, limits) = (&self.hall.connection.vaults, &self.hall.connection.limits);
        let cursor = request.and_then(|request| request.cursor);
        let page = block(async { resource::page(&resource::notes(vaults, limits)?, cursor.as_deref()) });
        let (own, next) = page.map_err(|refusal| answer::error(&refusal))?;
        let principal = Visitor::of(&context).principal;
        let own = own.into_iter().filter(|resource| principal.may_read(resource::name(&resource.uri)));
        let fixtures = self.fixtures().map(Fixtures::resources).unwrap_or_default();
        let mut result = ListResourcesResult::with_all_items(fixtures.into_iter().chain(own).collect());
        result.next_cursor = next;
        Ok(result)
    }

    async fn list_resource_templates(
        &self,
        request: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        one_page(request)?;
        let principal = Visitor::of(&context).principal;
        let several = !self.hall.connection.vaults.choice().is_empty();
        let own =
            resource::templates(several).into_iter().filter(|template| principal.may_read(&template.name));
        let fixtures = self.fixtures().map(Fixtures::templates).unwrap_or_default();
        Ok(ListResourceTemplatesResult::with_all_items(own.chain(fixtures).collect()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        if let Some(fixtures) = self.fixtures()
            && let Some(read) = fixtures.read(&request.uri)
        {
            return Ok(read.into());
        }
        if !Visitor::of(&context).principal.may_read(resource::name(&request.uri)) {
            return Err(answer::error(&resource::out_of_scope(&request.uri)));
        }
        self.hall.watch();
        let task = self.task(&context);
        let reader = self.hall.reader(&task);
        let named = self.hall.connection.vaults.of_address(&request.uri);
        let (served, uri) = named.map_err(|refusal| answer::error(&refusal))?;
        let call = Call::new(resource::TOOL, json!({"uri": uri}));
        let asker = AtClient::new(Approval::Ask, Way::None);
        let outcome = self.hall.run(&served.road, &reader, call, &asker, &context, Thread::Shared).await;
        let outcome = outcome.unwrap_or_else(|| Outcome::Refused(cancelled()));
        if let Some(refusal) = outcome.refusal() {
            return Err(answer::error(refusal));
        }
        // What was read by address was read by this client.
        task.ledger.record_notes();
        let data = outcome.output().map(|output| output.data.to_string()).unwrap_or_default();
        let contents = ResourceContents::text(data, request.uri).with_mime_type("application/json");
        Ok(ReadResourceResult::new(vec![contents]).into())
    }

    async fn on_custom_request(
        &self,
        request: CustomRequest,
        context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method.as_str();
        let removed = begins_alone(&context) && REMOVED.contains(&method);
        if METHODS.contains(&method) && !removed {
            return Err(ErrorData::invalid_params(format!("the parameters of {method} do not fit"), None));
        }
        Err(no_method(method))
    }
}

impl Server {
    /// A tool call, whichever way it came.
    async fn call(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
        task: &Task,
        way: Way,
        thread: Thread,
    ) -> Result<CallToolResponse, ErrorData> {
        let _turn = match context.extensions.get::<Turn>() {
            Some(turn) => turn.come().await,
            None => None,
        };
        self.hall.watch();
        let connection = &self.hall.connection;
        let asker = AtClient::new(connection.approval, way);
        let outcome = match self.hall.prepare(&request.name, request.arguments.unwrap_or_default()).await {
            Ok((road, call)) => self.hall.run(&road, task, call, &asker, &context, thread).await,
            Err(refusal) => Some(Outcome::Refused(refusal)),
        };
        let outcome = outcome.unwrap_or_else(|| Outcome::Refused(cancelled()));
        if let Some(question) = asker.open_question() {
            return Ok(question.into());
        }
        if matches!(outcome, Outcome::Steered(..)) && !begins_alone(&context) {
            // The tools that were found are listed from now on.
            context.peer.notify_tool_list_changed().await.ok();
        }
        if let Outcome::Done { changes, checkpoint, .. } = &outcome {
            self.hall.collect();
            let id = checkpoint.as_deref().unwrap_or("none");
            let news = format!("{}: {} changed, checkpoint {id}", request.name, changes.len());
            self.listener.inform(&news).await;
        }
        let outcome = match outcome {
            Outcome::Denied(_) if asker.declined_delete() => Outcome::Refused(cancelled()),
            outcome => outcome,
        };
        answer::result(outcome, task, &request.name, self.hall.paging).map(CallToolResponse::from)
    }

    /// The way to the client's user, if the client can ask.
    fn way(&self, request: &CallToolRequestParams, context: &RequestContext<RoleServer>) -> Way {
        let elicitation = context.client_capabilities().and_then(|client| client.elicitation);
        // A client that names no kind means forms, which came first.
        if !elicitation.is_some_and(|kinds| kinds.form.is_some() || kinds.url.is_none()) {
            return Way::None;
        }
        if begins_alone(context) {
            let who = Visitor::of(context).principal;
            return Way::later(self.hall.seal.clone(), who.id(), request);
        }
        match context.protocol_version() {
            Some(_) => Way::Now(context.peer.clone()),
            None => Way::None,
        }
    }
}

/// Whether the protocol is one in which only the client begins.
fn begins_alone(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version >= ProtocolVersion::V_2026_07_28)
}

fn no_method(method: &str) -> ErrorData {
    let method: String = method.chars().take(100).collect();
    ErrorData::new(ErrorCode::METHOD_NOT_FOUND, format!("there is no method {method}"), None)
}

/// Lists here have one page, so there is no cursor that could be right.
fn one_page(request: Option<PaginatedRequestParams>) -> Result<(), ErrorData> {
    match request.and_then(|request| request.cursor) {
        Some(_) => Err(ErrorData::invalid_params("the list has one page; leave `cursor` out", None)),
        None => Ok(()),
    }
}

fn cancelled() -> Refusal {
    Refusal::new("cancelled", "it was called off; nothing was changed", "call again when the user is ready")
}
