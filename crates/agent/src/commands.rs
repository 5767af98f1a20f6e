//! What a person may type with a slash: commands of the conversation, workflows, skills. Parsed, listed, completed.
//!
//! Deliberately not here: what a command does; each door does that, and may leave some out.

use pipeline::refusal::nearest;
use serde::Serialize;

use crate::skills::Skills;
use crate::text::clip;
use crate::workflows::Workflows;

/// A command.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Command {
    /// Its name behind the slash.
    pub name: String,
    /// What can be typed behind it.
    pub arguments: String,
    /// What it does.
    pub help: String,
    /// What kind it is.
    pub kind: Kind,
}

/// What a command is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// One of the conversation itself.
    BuiltIn,
    /// A workflow.
    Workflow,
    /// A skill.
    Skill,
}

/// The commands of the conversation itself: name, arguments, help.
pub const BUILT_IN: [(&str, &str, &str); 20] = [
    ("agent", "[SLUG]", "show or change the agent"),
    ("agents", "", "list the agents"),
    ("cost", "", "show what this conversation has used"),
    ("export", "", "print the conversation as Markdown"),
    ("fork", "", "go on in a copy of this conversation"),
    ("go", "", "go on with a turn that was stopped half way"),
    ("help", "[COMMAND]", "list the commands"),
    ("model", "[NAME]", "show or change the model"),
    ("new", "", "start a new conversation"),
    ("quit", "", "leave (Ctrl-D does it, too)"),
    ("rename", "TITLE", "give the conversation a title"),
    ("resume", "ID", "go on with an earlier conversation"),
    ("rules", "", "show the rules that are in force"),
    ("sessions", "", "list the latest conversations"),
    ("shorten", "", "make the conversation shorter now"),
    ("skills", "", "list the skills"),
    ("todo", "", "show the to-do list"),
    ("tool", "NAME JSON", "call a tool by hand"),
    ("tools", "", "list the tools"),
    ("undo", "", "take back what the last turn changed"),
];

/// What was typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Typed<'t> {
    /// Words for the model.
    Words(&'t str),
    /// A command and what stands behind it.
    Command {
        /// Its name.
        name: &'t str,
        /// What kind it is.
        kind: Kind,
        /// The rest, trimmed.
        rest: &'t str,
    },
    /// Looks like a command, and there is none of that name.
    Unknown {
        /// What was typed.
        name: &'t str,
        /// What was probably meant.
        near: Option<String>,
    },
}

/// All commands there are.
#[derive(Debug, Clone, Default)]
pub struct Commands {
    commands: Vec<Command>,
}

impl Commands {
    /// The built-in ones, then workflows, then skills; a name belongs to the first that has it.
    pub fn new(workflows: &Workflows, skills: &Skills) -> Commands {
        let mut all = Commands::default();
        for (name, arguments, help) in BUILT_IN {
            all.add(name, arguments, help, Kind::BuiltIn);
        }
        for workflow in workflows.list() {
            all.add(&workflow.slug, "[TEXT]", &workflow.help, Kind::Workflow);
        }
        for skill in skills.list() {
            all.add(&skill.name, "[TEXT]", &clip(&skill.description, 100), Kind::Skill);
        }
        all
    }

    fn add(&mut self, name: &str, arguments: &str, help: &str, kind: Kind) {
        if self.find(name).is_none() {
            let (name, arguments, help) = (name.to_owned(), arguments.to_owned(), help.to_owned());
            self.commands.push(Command { name, arguments, help, kind });
        }
    }

    /// The command of this name.
    pub fn find(&self, name: &str) -> Option<&Command> {
        self.commands.iter().find(|command| command.name == name)
    }

    /// All of them.
    pub fn list(&self) -> &[Command] {
        &self.commands
    }

    /// What a line means. A path (`/etc/hosts`) and a second slash (`//x`) are words: the first slash is then taken off.
    pub fn parse<'t>(&self, line: &'t str) -> Typed<'t> {
        let trimmed = line.trim_start();
        let Some(behind) = trimmed.strip_prefix('/') else { return Typed::Words(line) };
        if behind.starts_with('/') {
            return Typed::Words(behind);
        }
        let end = behind.find(char::is_whitespace).unwrap_or(behind.len());
        let (name, rest) = behind.split_at(end);
        let looks_like_one =
            !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_'));
        if !looks_like_one {
            return Typed::Words(line);
        }
        match self.find(name) {
            Some(command) => Typed::Command { name, kind: command.kind, rest: rest.trim() },
            None => Typed::Unknown {
                name,
                near: nearest(name, self.commands.iter().map(|command| command.name.as_str()))
                    .map(str::to_owned),
            },
        }
    }

    /// The commands that start with what stands before the cursor: `/wee`. None where that is no command.
    pub fn candidates(&self, before: &str) -> Vec<&Command> {
        let Some(start) = before.strip_prefix('/') else { return Vec::new() };
        if start.contains(|c: char| c.is_whitespace() || c == '/') {
            return Vec::new();
        }
        let start = start.to_lowercase();
        self.commands.iter().filter(|command| command.name.starts_with(&start)).collect()
    }

    /// The help: a line for each, or what one does.
    pub fn help(&self, about: &str) -> String {
        let about = about.trim().trim_start_matches('/');
        let shown = |command: &Command| {
            let typed = format!("/{} {}", command.name, command.arguments);
            format!("{:<24} {}\n", typed.trim_end(), command.help)
        };
        match self.find(about) {
            Some(command) => shown(command),
            None => self.commands.iter().map(shown).collect(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::skills::Found;
    use crate::text::{Origin, Text};

    fn commands() -> Commands {
        let text =
            |path: &str, text: &str| Text { origin: Origin::Global, path: path.into(), text: text.into() };
        let workflows = Workflows::gather(
            &[text("workflows/weekly.md", "Look back"), text("workflows/help.md", "shadow")],
            &|_| true,
        );
        let skill = "---\nname: tidy-up\ndescription: tidies\n---\n";
        let skills = Skills::gather(
            &[Found { text: text("skills/tidy-up/SKILL.md", skill), files: vec![] }],
            &[],
            &|_| true,
        );
        Commands::new(&workflows, &skills)
    }

    #[test]
    fn a_slash_and_a_known_name_is_a_command_and_all_else_is_words() {
        let all = commands();
        let command = |name, kind, rest| Typed::Command { name, kind, rest };
        for (line, expected) in [
            ("/help", command("help", Kind::BuiltIn, "")),
            ("  /agent  writer \n", command("agent", Kind::BuiltIn, "writer")),
            ("/weekly only work\nand more", command("weekly", Kind::Workflow, "only work\nand more")),
            ("/tidy-up Inbox", command("tidy-up", Kind::Skill, "Inbox")),
            ("hello /help", Typed::Words("hello /help")),
            ("/etc/hosts is a file", Typed::Words("/etc/hosts is a file")),
            ("//help", Typed::Words("/help")),
            ("/", Typed::Words("/")),
            ("/ x", Typed::Words("/ x")),
            ("/é", Typed::Words("/é")),
            ("", Typed::Words("")),
            ("/hepl", Typed::Unknown { name: "hepl", near: None }),
            ("/agens", Typed::Unknown { name: "agens", near: Some("agent".into()) }),
        ] {
            assert_eq!(all.parse(line), expected, "{line:?}");
        }
    }

    #[test]
    fn a_workflow_cannot_take_the_name_of_a_command() {
        assert_eq!(commands().find("help").unwrap().kind, Kind::BuiltIn);
    }

    #[test]
    fn what_was_begun_is_completed() {
        let all = commands();
        let names = |before: &str| -> Vec<String> {
            all.candidates(before).into_iter().map(|command| command.name.clone()).collect()
        };
        assert_eq!(names("/ag"), ["agent", "agents"]);
        assert_eq!(names("/W"), ["weekly"]);
        assert_eq!(names("/").len(), all.list().len());
        assert!(names("/help x").is_empty() && names("ag").is_empty() && names("/a/").is_empty());
    }

    #[test]
    fn the_help_names_every_command_once() {
        let all = commands();
        assert_eq!(all.help("").lines().count(), BUILT_IN.len() + 2);
        assert_eq!(all.help("/model"), "/model [NAME]            show or change the model\n");
        assert!(BUILT_IN.is_sorted_by_key(|(name, ..)| *name));
    }
}
