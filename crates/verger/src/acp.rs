//! `verger acp`: the door for editors that speak the Agent Client Protocol, over stdin and stdout.
//!
//! stdout carries JSON-RPC and nothing else; trouble goes to stderr. The protocol is the official SDK's, version 1. Every
//! change walks the road, so the client's own file methods (`fs/*`) and terminals are deliberately not used: a note
//! that an editor wrote for us would have no checkpoint, no audit line and no stale check.

mod asker;
mod calls;
mod desk;
mod fault;
mod hall;
mod prompt;
mod questions;
mod replay;
mod room;
mod settings;
mod turn;
mod wire;

use std::sync::Arc;
use std::time::Duration;

use agent_client_protocol::v1::schema::{
    AuthenticateResponse, ClientNotification, ClientRequest, CloseSessionResponse, DeleteSessionResponse,
    PromptRequest, PromptResponse, SetSessionModeResponse,
};
use agent_client_protocol::v1::{ConnectionTo, Responder};
use agent_client_protocol::{Agent, Client, Error};
use llm::chat::Part;
use serde::Serialize;
use serde_json::Value;

use crate::args::{AcpOptions, Global};
use crate::chat::ask::{runtime, unknown_agent};
use crate::failure::{Exit, Failure};
use crate::study::{Study, Wanted};
use crate::terminal::Terminal;
use desk::Line;
use hall::Hall;
use room::Turn;
use wire::Wire;

/// How long the last words may take to be written, and threads to end.
const FAREWELL: Duration = Duration::from_millis(500);

/// Serves one client until it closes stdin.
pub fn serve(global: &Global, options: &AcpOptions, terminal: &Terminal) -> Result<(), Failure> {
    let wanted = Wanted { model: options.model.clone(), person: true, ..Wanted::default() };
    let study = Study::open(global, &wanted)?;
    let agent = options.agent.as_deref().unwrap_or(study.agent()).to_owned();
    let known = study.mind.cast.slugs();
    if !known.contains(&agent) {
        return Err(unknown_agent(&agent, &known));
    }
    for (id, _) in study.mind.road.vault().recovered() {
        terminal.note(&format!("note: an interrupted change was put in order at start ({id})"));
    }
    let hall = Arc::new(Hall::new(study, agent, options.model.is_some()));
    let runtime = runtime()?;
    let ended = runtime.block_on(talk(&hall));
    runtime.block_on(hall.farewell());
    runtime.shutdown_timeout(FAREWELL);
    if let Err(error) = hall.study.mind.road.vault().save() {
        terminal
            .note(&format!("what was indexed could not be saved, the next start reads it again: {error}"));
    }
    ended
}

async fn talk(hall: &Arc<Hall>) -> Result<(), Failure> {
    let failed = |message: String| Failure::new(Exit::Failed, "acp", message, "start it again");
    let wire = Wire::start(tokio::runtime::Handle::current())
        .map_err(|error| failed(format!("no thread: {error}")))?;
    let (asked, told) = (Arc::clone(hall), Arc::clone(hall));
    let connection = Agent
        .v1()
        .name("verger")
        .on_receive_request(
            async move |request: ClientRequest, responder: Responder<Value>, to: ConnectionTo<Client>| {
                request_of(&asked, request, responder, &to).await
            },
            agent_client_protocol::on_receive_request!(),
        )
        .on_receive_notification(
            async move |notification: ClientNotification, _: ConnectionTo<Client>| {
                if let ClientNotification::CancelNotification(cancel) = notification
                    && let Ok(room) = told.room(&cancel.session_id.0)
                {
                    room.stop();
                }
                Ok(())
            },
            agent_client_protocol::on_receive_notification!(),
        )
        .connect_to(wire.channel);
    let ended = tokio::select! {
        ended = connection => ended.map_err(|error| failed(format!("the connection broke down: {}", error.message))),
        () = wire.gone.notified() => return Ok(()),
        () = told_to_end() => return Ok(()),
    };
    // A client that does not read its last lines does not keep us.
    let _ = tokio::time::timeout(FAREWELL, wire.written).await;
    ended
}

/// Waits for the signals by which other programs, or a person, end this one.
async fn told_to_end() {
    let interrupted = tokio::signal::ctrl_c();
    #[cfg(unix)]
    if let Ok(mut signal) = tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
        tokio::select! {
            _ = signal.recv() => {}
            _ = interrupted => {}
        }
        return;
    }
    if interrupted.await.is_err() {
        std::future::pending().await
    }
}

/// Answers a request. All but a turn are answered in their order.
async fn request_of(
    hall: &Arc<Hall>,
    request: ClientRequest,
    responder: Responder<Value>,
    to: &ConnectionTo<Client>,
) -> Result<(), Error> {
    if !hall.is_open() && !matches!(request, ClientRequest::InitializeRequest(_)) {
        let hint = "send initialize before anything else";
        return responder.respond_with_error(fault::now(
            "not_initialized",
            "nothing is agreed upon yet",
            hint,
        ));
    }
    match request {
        ClientRequest::PromptRequest(request) => prompted(hall, request, responder, to),
        other => {
            let opened = opened(&other);
            let answer = answer(hall, other, to).await;
            let session = answer.as_ref().ok().and_then(|answer| match opened {
                Opened::New => answer.get("sessionId").and_then(Value::as_str).map(str::to_owned),
                Opened::Kept(id) => Some(id),
                Opened::Nothing => None,
            });
            responder.respond_with_result(answer)?;
            // Only now does the client know the conversation.
            if let Some(session) = session {
                hall.line(to, &session).show(settings::commands());
            }
            Ok(())
        }
    }
}

/// Which conversation a request opens.
enum Opened {
    New,
    Kept(String),
    Nothing,
}

fn opened(request: &ClientRequest) -> Opened {
    match request {
        ClientRequest::NewSessionRequest(_) => Opened::New,
        ClientRequest::LoadSessionRequest(load) => Opened::Kept(load.session_id.0.to_string()),
        ClientRequest::ResumeSessionRequest(resume) => Opened::Kept(resume.session_id.0.to_string()),
        _ => Opened::Nothing,
    }
}

async fn answer(hall: &Arc<Hall>, request: ClientRequest, to: &ConnectionTo<Client>) -> Result<Value, Error> {
    match request {
        ClientRequest::InitializeRequest(request) => value(&hall.initialize(&request.client_capabilities)),
        ClientRequest::AuthenticateRequest(_) => value(&AuthenticateResponse::new()),
        ClientRequest::NewSessionRequest(request) => {
            watch(hall);
            value(&hall.begin(&request.cwd).await?)
        }
        ClientRequest::LoadSessionRequest(request) => {
            watch(hall);
            value(&hall.load(&request.session_id.0, &request.cwd, to).await?)
        }
        ClientRequest::ResumeSessionRequest(request) => {
            watch(hall);
            value(&hall.reopen(&request.session_id.0, &request.cwd).await?)
        }
        ClientRequest::ListSessionsRequest(request) => {
            value(&hall.list(request.cwd.as_deref(), request.cursor.as_deref()).await?)
        }
        ClientRequest::CloseSessionRequest(request) => {
            hall.close(&request.session_id.0)?;
            value(&CloseSessionResponse::new())
        }
        ClientRequest::DeleteSessionRequest(request) => {
            hall.delete(&request.session_id.0).await?;
            value(&DeleteSessionResponse::new())
        }
        ClientRequest::SetSessionModeRequest(request) => {
            hall.use_agent(&request.session_id.0, &request.mode_id.0, to).await?;
            value(&SetSessionModeResponse::new())
        }
        ClientRequest::SetSessionConfigOptionRequest(request) => value(&hall.choose(&request, to).await?),
        _ => Err(Error::method_not_found()),
    }
}

fn value(answer: &impl Serialize) -> Result<Value, Error> {
    serde_json::to_value(answer).map_err(Error::into_internal_error)
}

/// Keeps what is known of the vault fresh from the first conversation on; a large one takes its time.
fn watch(hall: &Arc<Hall>) {
    let hall = Arc::clone(hall);
    // Where it cannot be watched, every answer looks at it anew.
    tokio::task::spawn_blocking(move || hall.study.mind.road.vault().watch(|_| {}).ok());
}

/// Begins a turn, which is answered when it ends.
fn prompted(
    hall: &Arc<Hall>,
    request: PromptRequest,
    responder: Responder<Value>,
    to: &ConnectionTo<Client>,
) -> Result<(), Error> {
    let session = request.session_id.0.to_string();
    let begun = hall.room(&session).and_then(|room| {
        let parts = prompt::parts(&request.prompt, &room.roots)?;
        // Here, in the order of the messages: a cancel that follows finds the turn.
        Ok((room.begin()?, parts))
    });
    let (turn, parts) = match begun {
        Ok(begun) => begun,
        Err(error) => return responder.respond_with_error(error),
    };
    let (hall, line) = (Arc::clone(hall), hall.line(to, &session));
    let runtime = tokio::runtime::Handle::current();
    // A thread for each turn: what walks the road stays on one, and reads files as it goes.
    tokio::task::spawn_blocking(move || runtime.block_on(lead(&hall, turn, parts, &line, responder)));
    Ok(())
}

async fn lead(hall: &Hall, turn: Turn, parts: Vec<Part>, line: &Line, responder: Responder<Value>) {
    let withdrawn = responder.cancellation();
    let ended = {
        let led = turn::lead(hall, &turn, parts, line);
        tokio::pin!(led);
        tokio::select! {
            ended = &mut led => ended,
            () = withdrawn.cancelled() => {
                turn.halt.stop();
                led.await
            }
        }
    };
    // The next prompt may follow the answer at once.
    drop(turn);
    let answer = ended.and_then(|reason| value(&PromptResponse::new(reason)));
    // A client that is gone hears nothing.
    let _ = responder.respond_with_result(answer);
}
