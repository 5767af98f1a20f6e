//! The command line: what can be typed, each with its help. No logic.

use std::path::{Path, PathBuf};

use clap::{Args, Parser, Subcommand};

use crate::failure::Failure;
use crate::install::Client;
use crate::mcp::Surface;

/// Verger looks after a Markdown vault: it reads, finds, changes and takes back, and asks before it writes.
#[derive(Debug, Parser)]
#[command(
    name = "verger",
    version,
    about,
    disable_help_subcommand = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  verger init ~/Notes          make a vault known
  verger read \"Seed library\"   read a note by its name
  verger search quince         find a text in all notes
  verger append Inbox.md \"- call Ines\"
  verger undo                  take the last change back

Exit codes: 0 fine, 1 refused or failed, 2 usage, 3 not approved, 4 `check` found problems.
More: verger help COMMAND, verger help exit-codes, verger man"
)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
    /// Options that every command takes.
    #[command(flatten)]
    pub global: Global,
}

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Print one JSON value on stdout, errors too.
    #[arg(long, global = true)]
    pub json: bool,
    /// Linear text: no colour, no box lines, numbered choices.
    #[arg(long, global = true)]
    pub plain: bool,
    /// The vault's folder (else the one you are in, else `vault` in config.toml). `verger mcp` takes it several times.
    #[arg(long, global = true, value_name = "PATH", env = "VERGER_VAULT", value_hint = clap::ValueHint::DirPath)]
    pub vault: Vec<PathBuf>,
}

impl Global {
    /// The vault of a command that works on one.
    pub fn one_vault(&self) -> Result<Option<&Path>, Failure> {
        match self.vault.as_slice() {
            [] => Ok(None),
            [one] => Ok(Some(one)),
            _ => Err(Failure::usage(
                "this command works on one vault",
                "give --vault once; `verger mcp` takes several",
            )),
        }
    }
}

/// Options of commands that change the vault.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct Writing {
    /// Do not ask: yes to everything that this command asks.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// Show what would change and change nothing.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
}

/// Options of commands that speak with a model.
#[derive(Debug, Clone, Default, Args)]
pub struct Asking {
    /// The model: `provider@model`, an alias, `fast`, `main` or `flagship`, or `script@FILE`.
    #[arg(long, value_name = "MODEL", env = "VERGER_MODEL")]
    pub model: Option<String>,
    /// Who speaks (see `verger agents`).
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
    /// Go on with this conversation (see `verger sessions`).
    #[arg(long, value_name = "ID")]
    pub session: Option<String>,
    /// Go on with a conversation whose last turn was left half way, without saying anything new.
    #[arg(long, value_name = "ID", conflicts_with = "session")]
    pub go_on: Option<String>,
    /// Do not ask: yes to every change of the vault. What would send something away still needs a person.
    #[arg(long, short = 'y')]
    pub yes: bool,
    /// At most this many answers of the model.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=1000))]
    pub rounds: Option<u32>,
    /// At most this long.
    #[arg(long, value_name = "N")]
    pub seconds: Option<u64>,
    /// At most this many tokens.
    #[arg(long, value_name = "N")]
    pub tokens: Option<u64>,
    /// At most this much money.
    #[arg(long, value_name = "DOLLARS")]
    pub dollars: Option<f64>,
}

/// How the page is served.
#[derive(Debug, clap::Args)]
pub struct ServeOptions {
    /// Where to listen; other machines are let in only with TLS or `--without-tls`.
    #[arg(long, value_name = "ADDR:PORT", env = "VERGER_ADDRESS", default_value = "127.0.0.1:4780")]
    pub address: std::net::SocketAddr,
    /// The address under which browsers reach it, if that is another one (behind a proxy): `https://notes.example`.
    #[arg(long, value_name = "URL")]
    pub public_url: Option<String>,
    /// Let pages of this origin call `/v1` and `/mcp` with a token: `app://obsidian.md`; may be given several times.
    #[arg(long, value_name = "ORIGIN")]
    pub allow_origin: Vec<String>,
    /// Open the page in the browser.
    #[arg(long)]
    pub open: bool,
    /// Print a new login link for the server that runs at this address, and end.
    #[arg(long)]
    pub link: bool,
    /// Print a file for systemd or launchd that starts this server with these options at login, and end.
    #[arg(long, value_name = "KIND", num_args = 0..=1, default_missing_value = crate::serve::service::USUAL)]
    pub print_service: Option<crate::serve::service::Manager>,
    /// Make an access token of this name for a program, print it, and end.
    #[arg(long, value_name = "NAME")]
    pub new_token: Option<String>,
    /// How far the new token reaches; may be given several times. Without it: read and chat.
    #[arg(long, value_enum, value_name = "WHAT", requires = "new_token")]
    pub may: Vec<crate::serve::tokens::May>,
    /// Encrypt with this certificate (a PEM file, the whole chain).
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The certificate's private key (a PEM file).
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// Listen for other machines although nothing is encrypted.
    #[arg(long)]
    pub without_tls: bool,
    /// The model: `provider@model`, an alias, `fast`, `main` or `flagship`, or `script@FILE`.
    #[arg(long, value_name = "MODEL", env = "VERGER_MODEL")]
    pub model: Option<String>,
    /// Who speaks in a new conversation (see `verger agents`).
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
}

/// Options of `verger acp`.
#[derive(Debug, Clone, Default, Args)]
pub struct AcpOptions {
    /// The model: `provider@model`, an alias, `fast`, `main` or `flagship`, or `script@FILE`.
    #[arg(long, value_name = "MODEL", env = "VERGER_MODEL")]
    pub model: Option<String>,
    /// Who speaks in a new conversation (see `verger agents`).
    #[arg(long, value_name = "AGENT")]
    pub agent: Option<String>,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Make a vault known: its rule files, and its entry in config.toml.
    #[command(
        after_help = "Without PATH: lists the vaults that Obsidian knows.\nExample: verger init ~/Notes"
    )]
    Init {
        /// The vault's folder.
        #[arg(value_hint = clap::ValueHint::DirPath)]
        path: Option<PathBuf>,
    },
    /// Look whether everything is in order, and say what to do where it is not.
    Doctor,
    /// Print a note, or one section of it.
    #[command(
        after_help = "Examples:\n  verger read Journal/2026-05-07.md\n  verger read \"[[Seed library]]\"\n  verger read \"Seed library#Loans\""
    )]
    Read {
        /// A path, a name, `[[a wiki link]]`, each with `#Heading` for one section.
        note: String,
    },
    /// List a folder.
    Ls {
        /// The folder (else the whole vault's top).
        folder: Option<String>,
        /// Everything below it too.
        #[arg(long, short)]
        recursive: bool,
    },
    /// Find notes by their words, the best first; or every line with an exact text.
    #[command(
        after_help = "Examples:\n  verger search quince tree          the best notes, with the lines that say why\n  verger search --meaning 'keeping slugs away'\n  verger search -x 'quince tree'      every line with this text: path:line:text\n  verger search --regex '\\d{4}-\\d\\d' --in Journal -C 1\n  verger search todo --glob '*.md'"
    )]
    Search {
        /// The words; case does not count, and other forms of a word (notes, noted) are found too.
        #[arg(required = true)]
        words: Vec<String>,
        /// Every line with exactly this text (also with --regex, --glob and -C).
        #[arg(long, short = 'x')]
        exact: bool,
        /// Notes that are about it in other words count too.
        #[arg(long, conflicts_with_all = ["exact", "regex", "glob", "context"])]
        meaning: bool,
        /// The pattern is a regular expression.
        #[arg(long, short = 'e')]
        regex: bool,
        /// Only files that fit this glob, e.g. `*.md`.
        #[arg(long, short)]
        glob: Option<String>,
        /// Only in this folder.
        #[arg(long = "in", value_name = "FOLDER")]
        folder: Option<String>,
        /// Lines to show before and after each match.
        #[arg(long, short = 'C', value_name = "LINES")]
        context: Option<usize>,
        /// Stop after this many notes (10 if not said) or matching lines (1000).
        #[arg(long, short = 'm', value_name = "COUNT")]
        limit: Option<usize>,
    },
    /// List the models that can be asked: of services whose key is set, and of Ollama and LM Studio on this machine.
    Models,
    /// Talk with a model that knows the vault: it searches, reads, and changes what you approve.
    #[command(
        after_help = "Examples:\n  verger chat\n  verger chat --agent reader --model ollama@qwen3\n  verger chat --session 3fa9\n\nIn it: /help lists the commands, @ completes notes, Ctrl-C stops a turn, Ctrl-D ends."
    )]
    Chat {
        #[command(flatten)]
        asking: Asking,
    },
    /// Ask a model one question; it may use the vault's tools to answer it.
    #[command(
        after_help = "Examples:\n  verger ask \"What did I decide about the fence?\"\n  git log -5 | verger ask \"Put this into today's note\" --yes\n  verger ask --json \"List open loops\"     every event as a line of JSON\n\nExit codes: 0 answered, 1 failed or a limit was reached. Connect a model first: docs/guide/models.md"
    )]
    Ask {
        /// The question; what comes through a pipe is put behind it.
        words: Vec<String>,
        #[command(flatten)]
        asking: Asking,
    },
    /// Work in an editor that speaks the Agent Client Protocol (Zed, Neovim, Obsidian plugins), over stdin and stdout.
    #[command(
        after_help = "The editor starts it itself, e.g. Zed with this in its settings:\n  {\"agent_servers\": {\"Verger\": {\"type\": \"custom\", \"command\": \"verger\", \"args\": [\"acp\", \"--vault\", \"/path/to/vault\"]}}}\nMore: docs/guide/acp.md"
    )]
    Acp(AcpOptions),
    /// Serve a web page for the vault and its agent, and the API behind it, on this machine.
    Serve(ServeOptions),
    /// A chat that lives in a note: let a model answer it, make one, name it, clear it.
    #[command(
        after_help = "Examples:\n  verger note new --template Meeting\n  verger note run \"ChatGPT_MD/chats/20260507091500.md\"\n  verger note title Chat --yes\n\nThe form of such a note is in docs/guide/notes-chat.md. Ctrl-C stops an answer and keeps what is there."
    )]
    Note {
        /// What to do.
        #[command(subcommand)]
        what: NoteWhat,
    },
    /// Work out the meaning of all notes now, with the embedding model of config.toml; it can be stopped and goes on later.
    Embed,
    /// Ask the vault a query in Dataview's language, or a JSONLogic rule.
    #[command(
        after_help = "Examples:\n  verger query 'TABLE due, status FROM #project WHERE !done SORT due'\n  verger query 'TASK WHERE !completed' --format csv\n  verger query 'TASK WHERE !completed' --watch\n  verger query --jsonlogic '{\"in\": [\"garden\", {\"var\": \"tags\"}]}'\n  verger query --batch rows.jsonl --now 2026-05-01T09:00:00Z\n  verger query --base Books.base --view Open"
    )]
    Query {
        /// The query: TABLE, LIST, TASK or CALENDAR … FROM … WHERE … SORT … GROUP BY … LIMIT …
        #[arg(required_unless_present_any = ["jsonlogic", "batch", "base"])]
        query: Option<String>,
        /// A JSONLogic rule instead, over path, content, frontmatter, tags, stat, links and backlinks of each note.
        #[arg(long, value_name = "RULE", conflicts_with = "query")]
        jsonlogic: Option<String>,
        /// Many queries: a file of JSON lines `{\"id\", \"query\"}` or `{\"id\", \"expr\"}` (`-`: stdin); one JSON line comes back for each.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "jsonlogic"])]
        batch: Option<String>,
        /// An Obsidian base instead: a `.base` file, or a note with a `base` code block.
        #[arg(long, value_name = "FILE", conflicts_with_all = ["query", "jsonlogic", "batch"])]
        base: Option<String>,
        /// Which view of the base; the first one if not said.
        #[arg(long, value_name = "NAME", requires = "base", conflicts_with_all = ["query", "jsonlogic", "batch"])]
        view: Option<String>,
        /// The note in which the query stands (`this`).
        #[arg(long, value_name = "NOTE")]
        this: Option<String>,
        /// The time to take for now, e.g. 2026-05-01T09:00:00Z.
        #[arg(long, value_name = "TIME")]
        now: Option<String>,
        /// How the answer looks: a table on a terminal, Markdown where the output goes elsewhere.
        #[arg(long, value_enum)]
        format: Option<QueryFormat>,
        /// Stay, and print again whenever the answer has changed (Ctrl-C ends it).
        #[arg(long, conflicts_with = "batch")]
        watch: bool,
    },
    /// List all tags, or the notes that carry one.
    Tags {
        /// The tag, with or without `#`; `a` finds `a/b` too.
        tag: Option<String>,
    },
    /// Show where a note leads and what leads to it.
    Links {
        /// A path, a name or `[[a wiki link]]`.
        note: String,
    },
    /// Show the daily note; make it or add to it.
    #[command(
        after_help = "Examples:\n  verger daily\n  verger daily --offset -1\n  verger daily --append \"- watered the quince\""
    )]
    Daily {
        /// Days from today: -1 is yesterday.
        #[arg(long, default_value_t = 0, allow_hyphen_values = true, value_name = "DAYS")]
        offset: i64,
        /// Make it from its template if it is not there.
        #[arg(long)]
        create: bool,
        /// Add this text at its end (`-`: from stdin); makes the note first if need be.
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        append: Option<String>,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// Show what is wrong or odd in the vault, and mend it: broken links, duplicate names, tag variants, near duplicates.
    #[command(
        after_help = "Examples:\n  verger health\n  verger health --deep --kind near_duplicate\n  verger health --kind tag_variant --repair --dry-run"
    )]
    Health {
        /// Only findings of this kind, e.g. `broken_link`.
        #[arg(long)]
        kind: Option<String>,
        /// Read the notes too: near duplicates, and similar notes that are not linked.
        #[arg(long)]
        deep: bool,
        /// Mend the findings of the kind whose repair is certain, in one change that can be undone.
        #[arg(long, requires = "kind", conflicts_with = "deep")]
        repair: bool,
        #[command(flatten)]
        writing: Writing,
    },
    /// Make a note.
    #[command(
        after_help = "Examples:\n  verger new Inbox/Idea.md --content \"# Idea\"\n  date | verger new Log.md --content -"
    )]
    New {
        /// The new note's path; `.md` is added where there is no extension.
        path: String,
        /// Its text (`-`: from stdin).
        #[arg(long, short, default_value = "", hide_default_value = true, allow_hyphen_values = true)]
        content: String,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// Add text at the end of a note.
    Append {
        /// A path, a name or `[[a wiki link]]`.
        note: String,
        /// The text (`-`: from stdin).
        #[arg(allow_hyphen_values = true)]
        text: String,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// Move or rename a note or folder; links to it follow.
    Mv {
        /// What to move.
        from: String,
        /// Where to.
        to: String,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// Move a note to the vault's trash.
    Rm {
        /// A path, a name or `[[a wiki link]]`.
        note: String,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// Take a change back: the newest that is not taken back yet, or the one named.
    #[command(
        after_help = "Examples:\n  verger undo\n  verger undo 3fa9\n  verger undo --task cli-3fa9c1d2e4b5\n  verger undo --last 3"
    )]
    Undo {
        /// The change's id, or the start of it (see `verger history`).
        #[arg(conflicts_with_all = ["task", "last"])]
        id: Option<String>,
        /// Everything that this task did.
        #[arg(long, value_name = "TASK", conflicts_with = "last")]
        task: Option<String>,
        /// The newest N changes, one after the other.
        #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
        last: Option<u16>,
        /// Take it back although a file was changed by somebody else since; the newer text stays in the history.
        #[arg(long)]
        force: bool,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// Show what was changed, when and by whom, newest first.
    History {
        /// Only changes of this note.
        note: Option<String>,
        /// At most this many.
        #[arg(long, default_value_t = 50, value_name = "COUNT")]
        limit: usize,
    },
    /// Show a change as a diff.
    Diff {
        /// The change's id, or the start of it.
        id: String,
        /// Only this file of it.
        path: Option<String>,
    },
    /// Look after the store of checkpoints.
    Checkpoints {
        /// What to do.
        #[command(subcommand)]
        what: Option<Checkpoints>,
    },
    /// Show what was asked, approved, denied and done.
    Audit {
        /// `verify` reads the whole chain and says whether a line was changed.
        #[command(subcommand)]
        what: Option<AuditWhat>,
        /// The newest N lines.
        #[arg(long, default_value_t = 20, value_name = "N")]
        last: usize,
    },
    /// List, give and take back standing grants.
    Grants {
        /// What to do.
        #[command(subcommand)]
        what: Option<Grants>,
    },
    /// List the agents, look at one, and trust one that the vault brings.
    #[command(
        after_help = "Examples:\n  verger agents\n  verger agents show writer\n  verger agents trust gardener"
    )]
    Agents {
        /// What to do.
        #[command(subcommand)]
        what: Option<AgentsWhat>,
    },
    /// List the skills, look at one, add one, and trust one that the vault brings.
    #[command(
        after_help = "Examples:\n  verger skills\n  verger skills add ~/Downloads/pdf-forms\n  verger skills trust tidy-up"
    )]
    Skills {
        /// What to do.
        #[command(subcommand)]
        what: Option<SkillsWhat>,
    },
    /// List what the vault would tell the agent (AGENTS.md, rules, workflows, agents, skills), and trust it as it is.
    #[command(
        after_help = "Examples:\n  verger trust\n  verger trust AGENTS.md\n  verger trust --all\n  verger trust AGENTS.md --forget"
    )]
    Trust(TrustOptions),
    /// List, search, fork, rename and remove conversations.
    #[command(
        after_help = "ID is a conversation's id, the start of it, or its title.\nExamples:\n  verger sessions\n  verger sessions search quince --role user\n  verger sessions fork 3fa9 --at 12\n  verger sessions rename 3fa9 Garden plans"
    )]
    Sessions {
        /// What to do.
        #[command(subcommand)]
        what: Option<SessionsWhat>,
    },
    /// Check the store, the audit, how they fit together, and the conversations.
    Check {
        /// Read the stored files too and compare them with their names.
        #[arg(long)]
        read_data: bool,
        /// Put a damaged store aside and start a new one from what can be read.
        #[arg(long)]
        repair: bool,
    },
    /// Call a tool by hand.
    #[command(
        after_help = "Examples:\n  verger tool read_file --input '{\"path\": \"Inbox.md\"}'\n  verger tool write_file --input @call.json --dry-run\n  echo '{\"path\": \"x.md\"}' | verger tool read_file --input -"
    )]
    Tool {
        /// The tool's name (see `verger tools`).
        name: String,
        /// Its input as JSON; `-` reads stdin, `@FILE` a file.
        #[arg(long, short, default_value = "{}", value_name = "JSON")]
        input: String,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// List the tools.
    Tools,
    /// Serve the vault to AI clients (Model Context Protocol), over stdin and stdout or over HTTP.
    #[command(
        after_help = "A client starts it itself, e.g. with this in its settings:\n  {\"mcpServers\": {\"vault\": {\"command\": \"verger\", \"args\": [\"mcp\", \"--vault\", \"/path/to/vault\"]}}}\nOr you start it for several clients: verger mcp --http\nThe variables that it reads are in docs/guide/mcp-http.md."
    )]
    Mcp(McpOptions),
    /// For those who work on Verger.
    #[command(hide = true)]
    Dev {
        /// What to do.
        #[command(subcommand)]
        what: Dev,
    },
    /// Print a page of the documentation.
    Docs {
        /// Which page.
        page: Page,
    },
    /// Print completions for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
    /// Print the manual page.
    #[command(after_help = "Example: verger man | man -l -")]
    Man,
    /// Explain a command, or a topic: `exit-codes`.
    Help {
        /// The command or topic.
        topic: Option<String>,
    },
}

/// What can be done with a chat that lives in a note.
#[derive(Debug, Clone, Subcommand)]
pub enum NoteWhat {
    /// Let the model answer the last message; the answer is written into the note as it comes.
    Run {
        /// A path, a name or `[[a wiki link]]`.
        note: String,
        /// The model, instead of the one that the note names.
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// The agent, instead of the one that the note names.
        #[arg(long, value_name = "AGENT")]
        agent: Option<String>,
        /// Do not ask: yes to every change that the model wants. What would send something away still needs a person.
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Make a chat, named by the date.
    New {
        /// The template, by its name.
        #[arg(long, value_name = "NAME")]
        template: Option<String>,
        /// The agent, by its name.
        #[arg(long, value_name = "NAME")]
        agent: Option<String>,
        /// The first message (`-`: from stdin).
        #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
        selection: Option<String>,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// Name a chat by what it is about; links to it follow.
    Title {
        /// A path, a name or `[[a wiki link]]`.
        note: String,
        /// The model, instead of the one that the note names.
        #[arg(long, value_name = "MODEL")]
        model: Option<String>,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
    /// Take all messages out of a chat; its front matter stays as it is.
    Clear {
        /// A path, a name or `[[a wiki link]]`.
        note: String,
        /// Asking.
        #[command(flatten)]
        writing: Writing,
    },
}

/// What can be done about AI clients and other servers besides serving.
#[derive(Debug, Clone, Subcommand)]
pub enum McpWhat {
    /// Enter Verger in the settings of an AI client; everything else in them stays as it is.
    #[command(
        after_help = "Examples:\n  verger mcp install claude-desktop --vault ~/Notes\n  verger mcp install zed --read-only --print\n  verger mcp install codex --remove"
    )]
    Install(Install),
    /// Other MCP servers, whose tools Verger may call.
    #[command(flatten)]
    Servers(McpServers),
}

/// Which client, and what it may do.
#[derive(Debug, Clone, Args)]
pub struct Install {
    /// The client.
    pub client: Client,
    /// The name of the entry.
    #[arg(long, default_value = "verger")]
    pub name: String,
    /// Show the entry and change nothing.
    #[arg(long)]
    pub print: bool,
    /// Take the entry out.
    #[arg(long, conflicts_with = "print")]
    pub remove: bool,
    /// The client's settings file, where it is not in its usual place.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub config: Option<PathBuf>,
    /// The client can change nothing.
    #[arg(long)]
    pub read_only: bool,
    /// The client's user is asked about every change.
    #[arg(long)]
    pub ask: bool,
    /// The client sees every tool at once.
    #[arg(long)]
    pub all_tools: bool,
}

/// How the vault is served to an AI client.
#[derive(Debug, Clone, Default, Args)]
pub struct McpOptions {
    /// Instead of serving.
    #[command(subcommand)]
    pub what: Option<McpWhat>,
    /// Which names the tools have.
    #[arg(long, value_enum, default_value_t)]
    pub surface: Surface,
    /// Nothing can be changed.
    #[arg(long)]
    pub read_only: bool,
    /// Show what would change and change nothing.
    #[arg(long, short = 'n')]
    pub dry_run: bool,
    /// Ask the client's user about every change; without a client that can ask, only standing grants hold.
    #[arg(long)]
    pub ask: bool,
    /// Serve over HTTP, at this address (127.0.0.1:3010 if not said), path /mcp.
    #[arg(long, value_name = "ADDR:PORT", num_args = 0..=1)]
    #[expect(clippy::option_option, reason = "the flag, and what stands behind it")]
    pub http: Option<Option<String>>,
    /// Over HTTP: ask nobody who they are. Only where nobody else can reach it.
    #[arg(long, conflicts_with = "token_file")]
    pub no_auth: bool,
    /// Over HTTP: the file that holds the bearer token; it is made if it is not there.
    #[arg(long, value_name = "FILE", value_hint = clap::ValueHint::FilePath)]
    pub token_file: Option<PathBuf>,
    /// Offer what the public conformance suites call, too.
    #[arg(long, hide = true)]
    pub conformance_fixtures: bool,
    /// List every tool at once, for clients that do not look again when more tools were found.
    #[arg(long)]
    pub all_tools: bool,
}

/// What can be done with other MCP servers.
#[derive(Debug, Clone, Subcommand)]
pub enum McpServers {
    /// List the MCP servers whose tools Verger may call.
    List,
    /// Start one and see whether it works.
    Test {
        /// Its name.
        name: String,
    },
    /// List the tools of one, or show one tool.
    Tools {
        /// The server's name.
        name: String,
        /// The tool's name.
        tool: Option<String>,
    },
    /// Look at a server of the vault's .mcp.json, and allow that it is started.
    Trust {
        /// Its name.
        name: String,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Log in at a server that wants it.
    Login {
        /// Its name.
        name: String,
    },
    /// Forget the login at a server.
    Logout {
        /// Its name.
        name: String,
    },
}

/// What can be done by those who work on Verger.
#[derive(Debug, Clone, Subcommand)]
pub enum Dev {
    /// Play the client for one scenario of the public conformance suite.
    ConformanceClient {
        /// The address of the scenario's server.
        url: String,
    },
    /// Print what a model is told before a conversation: the system prompt and the tools.
    Prompt {
        /// Which agent.
        #[arg(long, default_value = "agent")]
        agent: String,
    },
    /// Become another program that ends with its parent.
    BecomeServer {
        /// The parent's process id.
        parent: u32,
        /// The program and its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<std::ffi::OsString>,
    },
}

/// What can be done with agents.
#[derive(Debug, Clone, Subcommand)]
pub enum AgentsWhat {
    /// List them.
    List,
    /// Show one, with the tools that it may call.
    Show {
        /// Its slug.
        slug: String,
    },
    /// Look at one of the vault, and let it be used as it is.
    Trust {
        /// Its slug.
        slug: String,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
}

/// What can be done with skills.
#[derive(Debug, Clone, Subcommand)]
pub enum SkillsWhat {
    /// List them.
    List,
    /// Show one, with what it could do.
    Show {
        /// Its name.
        name: String,
    },
    /// Look at one, and let it be used as it is.
    Trust {
        /// Its name.
        name: String,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Copy one from a folder, after showing what it could do.
    Add {
        /// The folder that holds its SKILL.md.
        #[arg(value_hint = clap::ValueHint::DirPath)]
        folder: PathBuf,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
    /// Take one away; it is kept aside.
    Rm {
        /// Its name.
        name: String,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
}

/// What of the vault is trusted.
#[derive(Debug, Clone, Args)]
pub struct TrustOptions {
    /// Paths, agents or skills; without any, lists all of them.
    pub what: Vec<String>,
    /// Everything that waits (with --forget: everything that is trusted).
    #[arg(long, conflicts_with = "what")]
    pub all: bool,
    /// Trust it no longer.
    #[arg(long)]
    pub forget: bool,
    /// Do not ask.
    #[arg(long, short = 'y')]
    pub yes: bool,
}

/// What can be done with checkpoints.
#[derive(Debug, Clone, Subcommand)]
pub enum Checkpoints {
    /// List them, newest first.
    List {
        /// At most this many.
        #[arg(long, default_value_t = 50, value_name = "COUNT")]
        limit: usize,
    },
    /// Drop those that are too old or too many, by `[checkpoints]` in config.toml.
    Gc,
    /// Read the whole store and say what is wrong with it.
    Verify,
}

/// What can be done with the audit.
#[derive(Debug, Clone, Subcommand)]
pub enum AuditWhat {
    /// Read the whole chain and say whether a line was changed.
    Verify,
}

/// What can be done with conversations.
#[derive(Debug, Clone, Subcommand)]
pub enum SessionsWhat {
    /// List them, the one last worked on first.
    List {
        /// Only those with this in their title; case does not count.
        text: Vec<String>,
        /// Those that other conversations started, too.
        #[arg(long)]
        all: bool,
        /// At most this many.
        #[arg(long, default_value_t = 50, value_name = "COUNT")]
        limit: usize,
    },
    /// Find a text in what was said, newest first; case does not count, nothing in it is a wildcard.
    Search {
        /// The text.
        #[arg(required = true)]
        text: Vec<String>,
        /// Only what this role said: user, assistant or tool.
        #[arg(long)]
        role: Option<String>,
        /// Only in this conversation.
        #[arg(long = "in", value_name = "ID")]
        session: Option<String>,
        /// At most this many places, up to 30.
        #[arg(long, short = 'm', default_value_t = 10, value_name = "COUNT")]
        limit: usize,
    },
    /// Print a conversation as Markdown.
    #[command(alias = "export", after_help = "Example: verger sessions show 3fa9 > talk.md")]
    Show {
        /// The conversation.
        id: String,
    },
    /// Copy a conversation, to go on from there another way.
    Fork {
        /// The conversation.
        id: String,
        /// Only up to and with this step.
        #[arg(long, value_name = "N")]
        at: Option<u64>,
    },
    /// Give a conversation another title.
    Rename {
        /// The conversation.
        id: String,
        /// The title.
        #[arg(required = true)]
        title: Vec<String>,
    },
    /// Remove a conversation and those that it started, for good.
    Rm {
        /// The conversation.
        id: String,
        /// Do not ask.
        #[arg(long, short = 'y')]
        yes: bool,
    },
}

/// What can be done with grants.
#[derive(Debug, Clone, Subcommand)]
pub enum Grants {
    /// List them.
    List,
    /// Allow a tool on some paths without asking.
    #[command(
        after_help = "Example: verger grants add --tool append_to_file --paths 'Journal/**' --expires 7d"
    )]
    Add {
        /// The tool.
        #[arg(long)]
        tool: String,
        /// Paths that fit this pattern, as in `.gitignore`, from the vault's root.
        #[arg(long, value_name = "GLOB")]
        paths: String,
        /// When it ends: `30m`, `12h`, `7d`, `4w` (else never).
        #[arg(long, value_name = "TIME")]
        expires: Option<String>,
    },
    /// Take one back.
    Revoke {
        /// Its id, or the start of it.
        id: String,
    },
}

/// A page of the documentation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Page {
    /// Every tool: docs/tools.md.
    Tools,
    /// Every setting: docs/config.md.
    Config,
}

/// How the answer of a query looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum QueryFormat {
    /// Aligned columns, cut to the width of the terminal.
    Table,
    /// A Markdown table or list.
    Md,
    /// Comma-separated values.
    Csv,
    /// Typed JSON.
    Json,
}
