//! `help`, `completions`, `man`: about the command line itself.

use clap::{Command, CommandFactory};
use pipeline::refusal::nearest;

use crate::args::Cli;
use crate::failure::{EXIT_CODES, Exit, Failure};
use crate::terminal::Terminal;

/// Explains a command or topic.
pub fn help(terminal: &Terminal, topic: Option<&str>) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let text = match topic {
        None => command.render_long_help().to_string(),
        Some("exit-codes") => EXIT_CODES.to_owned(),
        Some(topic) => match command.find_subcommand_mut(topic) {
            Some(found) => found.render_long_help().to_string(),
            None => return Err(unknown(&command, topic)),
        },
    };
    terminal.data(&text);
    Ok(())
}

fn unknown(command: &Command, topic: &str) -> Failure {
    let names: Vec<&str> = command.get_subcommands().map(Command::get_name).chain(["exit-codes"]).collect();
    let hint = match nearest(topic, names.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => "`verger help` lists the commands".to_owned(),
    };
    Failure::usage(format!("there is no command or topic `{topic}`"), hint)
}

/// Prints completions.
pub fn completions(terminal: &Terminal, shell: clap_complete::Shell) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "verger", &mut script);
    terminal.data(&String::from_utf8_lossy(&script));
    Ok(())
}

/// Prints the manual page: the program, every command, the exit codes.
pub fn man(terminal: &Terminal) -> Result<(), Failure> {
    let mut command = Cli::command();
    command.build();
    let mut page = Vec::new();
    let failed = |error: std::io::Error| {
        Failure::new(
            Exit::Failed,
            "internal",
            format!("the page cannot be made: {error}"),
            "please report it",
        )
    };
    let main = clap_mangen::Man::new(command.clone());
    main.render(&mut page).map_err(failed)?;
    for sub in command.get_subcommands() {
        page.extend_from_slice(format!("\n.SH \"VERGER {}\"\n", sub.get_name().to_uppercase()).as_bytes());
        let man = clap_mangen::Man::new(sub.clone());
        man.render_description_section(&mut page).map_err(failed)?;
        man.render_synopsis_section(&mut page).map_err(failed)?;
        man.render_options_section(&mut page).map_err(failed)?;
    }
    page.extend_from_slice(b"\n.SH \"EXIT STATUS\"\n.nf\n");
    page.extend_from_slice(EXIT_CODES.as_bytes());
    page.extend_from_slice(b".fi\n");
    terminal.data(&String::from_utf8_lossy(&page));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent_and_everything_has_help() {
        Cli::command().debug_assert();
        let mut waiting = vec![Cli::command()];
        while let Some(command) = waiting.pop() {
            assert!(command.get_about().is_some(), "{} has no help", command.get_name());
            for argument in command.get_arguments() {
                assert!(argument.get_help().is_some(), "{} {}", command.get_name(), argument.get_id());
            }
            waiting.extend(command.get_subcommands().cloned());
        }
    }

    #[test]
    fn exit_codes_are_what_the_help_says() {
        for (exit, word) in [
            (Exit::Failed, "refused"),
            (Exit::Usage, "command line"),
            (Exit::Denied, "not approved"),
            (Exit::Problems, "check"),
        ] {
            let line = EXIT_CODES.lines().nth(exit as usize).unwrap();
            assert!(line.starts_with(&format!("{}  ", exit as u8)) && line.contains(word), "{line}");
        }
    }
}
