//! `verger`: the command line. Reads what was typed, opens the door, and ends with an exit code.
//!
//! stdout is data; messages, questions and errors go to stderr. Deliberately not here: anything about notes.

mod acp;
mod args;
mod asker;
mod chat;
mod command;
mod config;
mod doctor;
mod door;
mod embedding;
mod enclosed;
mod failure;
mod foreign;
mod install;
mod keyring;
mod mcp;
mod note;
mod paper;
mod past;
mod place;
mod serve;
mod shelf;
mod socket;
mod study;
mod talks;
mod terminal;
mod trust;
mod world;

use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind;

use args::{Cli, Command, McpOptions, McpWhat};
use door::Door;
use failure::Failure;
use terminal::Terminal;

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return mistyped(&error),
    };
    let terminal = Terminal::new(cli.global.json, cli.global.plain);
    let ended = run(cli, &terminal).and_then(|()| terminal.finish());
    match ended {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => tell(&terminal, &failure),
    }
}

fn run(cli: Cli, terminal: &Terminal) -> Result<(), Failure> {
    use command::{
        agents, audit, check, dev, embed, find, help, history, init, query, query_base, rank, read, servers,
        sessions, skills, tool, trust, undo, write,
    };
    let open = || Door::open(&cli.global, terminal);
    match cli.command {
        Command::Init { path } => init::init(terminal, path.as_deref().or(cli.global.one_vault()?)),
        Command::Doctor => doctor::doctor(&cli.global, terminal),
        Command::Read { note } => read::read(&open()?, &note),
        Command::Ls { folder, recursive } => read::list(&open()?, folder.as_deref(), recursive),
        Command::Search { words, exact, meaning, regex, glob, folder, context, limit } => {
            let pattern = words.join(" ");
            if !(exact || regex || glob.is_some() || context.is_some()) {
                return rank::search(&open()?, &pattern, meaning, folder.as_deref(), limit.unwrap_or(10));
            }
            let (context, limit) = (context.unwrap_or(0), limit.unwrap_or(1_000));
            find::search(&open()?, find::Search { pattern, regex, glob, folder, context, limit })
        }
        Command::Query { base: Some(base), view, this, now, format, .. } => {
            query_base::query_base(&open()?, query_base::Asked { base, view, this, now, format })
        }
        Command::Query { query, jsonlogic, batch, this, now, format, watch, .. } => {
            let batch = batch.as_deref().map(|file| query::read_rows(terminal, file)).transpose()?;
            query::query(&open()?, query::Query { query, jsonlogic, batch, this, now, format, watch })
        }
        Command::Tags { tag } => find::tags(&open()?, tag.as_deref()),
        Command::Links { note } => find::links(&open()?, &note),
        Command::Daily { offset, create, append, writing } => {
            read::daily(&open()?, offset, create, append, writing)
        }
        Command::Health { kind: Some(kind), repair: true, writing, .. } => {
            find::repair(&open()?, &kind, writing)
        }
        Command::Health { kind, deep, .. } => find::health(&open()?, kind.as_deref(), deep),
        Command::New { path, content, writing } => write::new(&open()?, &path, content, writing),
        Command::Append { note, text, writing } => write::append(&open()?, &note, text, writing),
        Command::Mv { from, to, writing } => write::mv(&open()?, &from, &to, writing),
        Command::Rm { note, writing } => write::rm(&open()?, &note, writing),
        Command::Undo { id, task, last, force, writing } => {
            undo::undo(&open()?, &undo::Undo { id, task, last, force }, writing)
        }
        Command::History { note, limit } => history::history(&open()?, note.as_deref(), limit),
        Command::Diff { id, path } => history::diff(&open()?, &id, path.as_deref()),
        Command::Checkpoints { what } => history::checkpoints(&open()?, what),
        Command::Audit { what, last } => audit::audit(&open()?, what, last),
        Command::Grants { what } => audit::grants(&open()?, what),
        Command::Ask { words, asking } => chat::ask::ask(&cli.global, &words, &asking),
        Command::Chat { asking } => chat::room::chat(&cli.global, &asking),
        Command::Models => study::models::list(terminal),
        Command::Sessions { what } => sessions::sessions(&cli.global, what, terminal),
        Command::Agents { what } => agents::agents(&open()?, what),
        Command::Skills { what } => skills::skills(&open()?, what),
        Command::Trust(options) => trust::trust(&open()?, &options),
        Command::Acp(options) => acp::serve(&cli.global, &options, terminal),
        Command::Serve(options) => serve::serve(&cli.global, &options, terminal),
        Command::Note { what } => note::note(&cli.global, terminal, what),
        Command::Embed => embed::embed(&cli.global, terminal),
        Command::Check { read_data, repair } => check::check(&open()?, read_data, repair),
        Command::Tool { name, input, writing } => tool::tool(&open()?, &name, &input, writing),
        Command::Tools => tool::list(terminal),
        Command::Mcp(McpOptions { what: Some(McpWhat::Servers(what)), .. }) => {
            servers::servers(&open()?, what)
        }
        Command::Mcp(McpOptions { what: Some(McpWhat::Install(wanted)), .. }) => {
            install::install(&cli.global, &wanted, terminal)
        }
        Command::Dev { what: args::Dev::Prompt { agent } } => study::prompt(&cli.global, &agent, terminal),
        Command::Dev { what } => dev::dev(what),
        Command::Mcp(options) => mcp::serve(&cli.global, &options, terminal),
        Command::Docs { page } => tool::docs(terminal, page),
        Command::Completions { shell } => help::completions(terminal, shell),
        Command::Man => help::man(terminal),
        Command::Help { topic } => help::help(terminal, topic.as_deref()),
    }
}

/// A refusal in words on stderr; with `--json` as JSON on stdout too, so that a script always has something to parse.
fn tell(terminal: &Terminal, failure: &Failure) -> ExitCode {
    if terminal.json {
        let outcome = if failure.exit == failure::Exit::Denied { "denied" } else { "refused" };
        terminal.json(&serde_json::json!({"ok": false, "outcome": outcome, "error": failure.refusal}));
    }
    terminal.error(&failure.refusal.message, &failure.refusal.hint);
    failure.exit.into()
}

/// What clap has to say: help and version on stdout, a mistake on stderr with its hint.
fn mistyped(error: &clap::Error) -> ExitCode {
    let has = |flag: &str| std::env::args_os().any(|argument| argument == flag);
    let terminal = Terminal::new(has("--json"), has("--plain"));
    let text = error.render().to_string();
    if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
        terminal.data(&text);
        return ExitCode::SUCCESS;
    }
    if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        terminal.note(text.trim_end());
        return failure::Exit::Usage.into();
    }
    let (message, hint) = split_tip(&text, &meant_command());
    tell(&terminal, &Failure::usage(message, hint))
}

/// clap's text as a message and what to do: its tips, or where the help is.
fn split_tip(text: &str, command: &str) -> (String, String) {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut message = lines.next().unwrap_or("the command line does not make sense").to_owned();
    message = message.strip_prefix("error: ").unwrap_or(&message).to_owned();
    let mut tips = Vec::new();
    for line in lines {
        match line.strip_prefix("tip: ") {
            Some(tip) => tips.push(tip.to_owned()),
            None if line.starts_with("Usage:") => tips.push(line.replace("Usage:", "usage:")),
            None if line.starts_with("For more information") => {}
            None => message = format!("{message} {line}"),
        }
    }
    tips.push(match command {
        "" => "`verger help` lists the commands".to_owned(),
        command => format!("`verger help {command}` explains it"),
    });
    (message, tips.join("; "))
}

/// The command that was typed, if there is one of that name.
fn meant_command() -> String {
    let cli = <Cli as clap::CommandFactory>::command();
    let known = |name: &String| cli.get_subcommands().any(|command| command.get_name() == name);
    // Arguments need not be text; `args` would panic.
    std::env::args_os()
        .skip(1)
        .filter_map(|argument| argument.into_string().ok())
        .find(known)
        .unwrap_or_default()
}
