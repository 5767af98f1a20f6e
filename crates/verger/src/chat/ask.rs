//! `verger ask`: one question, one answer, made for pipes.

use std::sync::Arc;

use agent::{Door, Halt, Limits, Over};
use llm::chat::Part;
use pipeline::approve::Beforehand;
use pipeline::{Asker, Nobody};

use super::asker::Person;
use super::screen::Screen;
use crate::args::{Asking, Global};
use crate::failure::{Exit, Failure};
use crate::study::{Study, Wanted};
use crate::terminal::Terminal;

/// Asks once.
pub fn ask(global: &Global, words: &[String], asking: &Asking) -> Result<(), Failure> {
    let terminal = Arc::new(Terminal::new(global.json, global.plain));
    let question = match asking.go_on {
        Some(_) => String::new(),
        None => question(&terminal, words)?,
    };
    let person = !asking.yes && terminal.can_ask() && !terminal.json;
    let wanted = Wanted { model: asking.model.clone(), person, ..Wanted::default() };
    let mut study = Study::open(global, &wanted)?;
    let limits = asking.limits(study.mind.limits);
    if let Some(mind) = Arc::get_mut(&mut study.mind) {
        mind.limits = limits;
    }
    let asker: Arc<dyn Asker> = match (asking.yes, person) {
        (true, _) => Arc::new(Beforehand),
        (_, true) => Arc::new(Person(Arc::clone(&terminal))),
        _ => Arc::new(Nobody),
    };
    let screen = Arc::new(Screen::new(Arc::clone(&terminal), asker, person));
    let runtime = runtime()?;
    let over = runtime.block_on(lead(&study, asking, question, &screen));
    // Other servers that were started end before we do.
    runtime.block_on(study.foreign.close());
    let over = over?;
    if !terminal.json && !terminal.is_screen() {
        terminal.data_line(&screen.last_answer());
    }
    if let Some(meter) = screen.meter().filter(|_| !terminal.json && terminal.is_screen()) {
        terminal.note(&meter);
    }
    ended(&over)
}

/// What was typed, and what came through a pipe.
fn question(terminal: &Terminal, words: &[String]) -> Result<String, Failure> {
    use std::io::IsTerminal;
    let typed = words.join(" ");
    let piped = match std::io::stdin().is_terminal() {
        true => String::new(),
        false => terminal.read_stdin()?,
    };
    let text = match (typed.trim().is_empty(), piped.trim().is_empty()) {
        (false, true) => typed,
        (true, false) => piped,
        (false, false) => format!("{typed}\n\n{}", piped.trim_end()),
        (true, true) => {
            return Err(Failure::usage(
                "there is no question",
                "verger ask \"What did I write about quinces?\"",
            ));
        }
    };
    Ok(text)
}

async fn lead(
    study: &Study,
    asking: &Asking,
    question: String,
    screen: &Arc<Screen>,
) -> Result<Over, Failure> {
    let halt = Halt::default();
    let stop = halt.clone();
    tokio::spawn(async move {
        while tokio::signal::ctrl_c().await.is_ok() {
            stop.stop();
        }
    });
    let mind = &study.mind;
    let door: Arc<dyn Door> = Arc::clone(screen) as Arc<dyn Door>;
    if let Some(id) = &asking.go_on {
        return go_on(study, id, &door, &halt).await;
    }
    let mut talk = match &asking.session {
        Some(id) => mind.resume(id).await?,
        None => {
            let agent = asking.agent.as_deref().unwrap_or(study.agent());
            let persona = mind.cast.persona(agent);
            if !mind.cast.slugs().iter().any(|slug| slug == agent) {
                return Err(unknown_agent(agent, &mind.cast.slugs()));
            }
            let own = persona.model.filter(|_| asking.model.is_none());
            let model = match own {
                Some(model) => model,
                None => study.model()?.to_owned(),
            };
            mind.begin(agent, &model).await?
        }
    };
    Ok(talk.say(vec![Part::Text { text: question }], &door, &halt).await?)
}

/// Takes up a turn that was left half way.
async fn go_on(study: &Study, id: &str, door: &Arc<dyn Door>, halt: &Halt) -> Result<Over, Failure> {
    let mut talk = study.mind.resume(id).await?;
    if !talk.is_half_way() {
        return Err(Failure::new(
            Exit::Failed,
            "nothing_left",
            "its last turn was led to its end",
            "say something more with --session",
        ));
    }
    Ok(talk.go_on(door, halt).await?)
}

/// There is no agent of this name.
pub fn unknown_agent(slug: &str, known: &[String]) -> Failure {
    let hint = match pipeline::refusal::nearest(slug, known.iter().map(String::as_str)) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("there are: {}", known.join(", ")),
    };
    Failure::new(Exit::Failed, "agent_unknown", format!("there is no agent `{slug}`"), hint)
}

/// How the command ends.
fn ended(over: &Over) -> Result<(), Failure> {
    let fail =
        |reason: &'static str, hint: &str| Err(Failure::new(Exit::Failed, reason, over.describe(), hint));
    match over {
        Over::Done | Over::Completed { .. } => Ok(()),
        Over::Stopped => fail("stopped", "what was done until then is in `verger history`"),
        Over::Empty => fail("empty", "ask again, or ask another model"),
        Over::Refused { .. } => fail("model_refused", "ask in another way, or ask another model"),
        Over::Failed { why, hint } => {
            Err(Failure::new(Exit::Failed, "model_failed", why.clone(), hint.clone()))
        }
        Over::Rounds { .. }
        | Over::Time { .. }
        | Over::Tokens { .. }
        | Over::Money { .. }
        | Over::Mistakes { .. } => fail(
            "limit",
            "give it more with --rounds, --seconds, --tokens or --dollars, or go on with --session",
        ),
    }
}

/// A runtime for conversations.
pub fn runtime() -> Result<tokio::runtime::Runtime, Failure> {
    tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().map_err(|error| {
        Failure::new(
            Exit::Failed,
            "internal",
            format!("cannot start: {error}"),
            "free some memory and try again",
        )
    })
}

impl Asking {
    /// The limits of this run.
    pub fn limits(&self, configured: Limits) -> Limits {
        Limits {
            rounds: self.rounds.unwrap_or(configured.rounds),
            time: self.seconds.map(std::time::Duration::from_secs).or(configured.time),
            tokens: self.tokens.or(configured.tokens),
            dollars: self.dollars.or(configured.dollars),
            mistakes: configured.mistakes,
        }
    }
}
