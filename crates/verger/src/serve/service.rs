//! `verger serve --print-service`: a file that starts the server at login. It is only printed; the person puts it where their
//! system looks for it.
//!
//! A unit for systemd takes away what the server does not need, as far as one of a user can: the whole disk is read-only but for
//! the vault, the data and the configuration. Deliberately not here: installing it.

use std::path::{Path, PathBuf};

use crate::args::{Global, ServeOptions};
use crate::config::Config;
use crate::failure::{Exit, Failure};
use crate::place::{self, Place};
use crate::terminal::Terminal;

/// What starts programs on this kind of machine.
pub const USUAL: &str = if cfg!(target_os = "macos") { "launchd" } else { "systemd" };

/// What starts programs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum Manager {
    /// Linux: a unit for `~/.config/systemd/user/`.
    Systemd,
    /// macOS: a property list for `~/Library/LaunchAgents/`.
    Launchd,
}

/// Prints the file.
pub fn print(
    manager: Manager,
    global: &Global,
    options: &ServeOptions,
    terminal: &Terminal,
) -> Result<(), Failure> {
    let config_folder = place::config_folder()?;
    let config = Config::load(&config_folder)?;
    let place = place::find(global.one_vault()?, &config)?;
    let program = std::env::current_exe().map_err(|error| {
        let message = format!("the program's own place is not known: {error}");
        Failure::new(Exit::Failed, "internal", message, "start it by its whole path")
    })?;
    let command = command(&program, &place, options)?;
    let name = place.root.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let text = match manager {
        Manager::Systemd => {
            let writes = [place.root.clone(), place::data_folder()?, config_folder.clone()];
            systemd(&name, &command, &writes, &config_folder.join("environment"))?
        }
        Manager::Launchd => launchd(&command)?,
    };
    terminal.data(&text);
    terminal.note(match manager {
        Manager::Systemd => {
            "save it as ~/.config/systemd/user/verger.service, then: systemctl --user enable --now verger; \
             get a login link with `verger serve --link`"
        }
        Manager::Launchd => {
            "save it as ~/Library/LaunchAgents/verger.serve.plist, then: launchctl load -w that file; \
             get a login link with `verger serve --link`"
        }
    });
    Ok(())
}

/// The command with the options of now, each path from `/` on.
fn command(program: &Path, place: &Place, options: &ServeOptions) -> Result<Vec<String>, Failure> {
    let whole = |path: &PathBuf| std::path::absolute(path).map_err(|_| not_text(path));
    let mut words = vec![text(program)?, "--vault".into(), text(&place.root)?, "serve".into()];
    words.extend(["--address".into(), options.address.to_string()]);
    for (flag, value) in
        [("--public-url", &options.public_url), ("--model", &options.model), ("--agent", &options.agent)]
    {
        words.extend(value.iter().flat_map(|value| [flag.to_owned(), value.clone()]));
    }
    words
        .extend(options.allow_origin.iter().flat_map(|origin| ["--allow-origin".to_owned(), origin.clone()]));
    for (flag, file) in [("--tls-cert", &options.tls_cert), ("--tls-key", &options.tls_key)] {
        if let Some(file) = file {
            words.extend([flag.to_owned(), text(&whole(file)?)?]);
        }
    }
    if options.without_tls {
        words.push("--without-tls".into());
    }
    match words.iter().find(|word| word.chars().any(char::is_control)) {
        Some(_) => Err(Failure::usage(
            "a path or an option holds a line break or another sign that such a file cannot hold",
            "rename it",
        )),
        None => Ok(words),
    }
}

fn text(path: &Path) -> Result<String, Failure> {
    path.to_str().map(str::to_owned).ok_or_else(|| not_text(path))
}

fn not_text(path: &Path) -> Failure {
    Failure::usage(format!("{} cannot be written into such a file", path.display()), "rename it")
}

fn systemd(
    name: &str,
    command: &[String],
    writes: &[PathBuf],
    environment: &Path,
) -> Result<String, Failure> {
    let command: Vec<String> = command.iter().map(|word| argument(word)).collect();
    let writes: Vec<String> = writes
        .iter()
        .map(|path| text(path).map(|path| path_word(&format!("-{path}"))))
        .collect::<Result<_, _>>()?;
    let in_temporary =
        writes.iter().any(|path| path.starts_with("\"-/tmp/") || path.starts_with("\"-/var/tmp/"));
    let temporary = if in_temporary { "" } else { "PrivateTmp=yes\n" };
    Ok(format!(
        "[Unit]\n\
         Description=Verger, the page of {name}\n\
         \n\
         [Service]\n\
         Type=exec\n\
         ExecStart={command}\n\
         Restart=on-failure\n\
         RestartSec=5\n\
         # Keys of models, a line each: ANTHROPIC_API_KEY=…\n\
         EnvironmentFile={environment}\n\
         # Programs of other MCP servers that write elsewhere need a line ReadWritePaths= of their own.\n\
         ProtectSystem=strict\n\
         ReadWritePaths={writes}\n\
         {temporary}\
         NoNewPrivileges=yes\n\
         PrivateDevices=yes\n\
         ProtectClock=yes\n\
         ProtectControlGroups=yes\n\
         ProtectKernelLogs=yes\n\
         ProtectKernelModules=yes\n\
         ProtectKernelTunables=yes\n\
         RestrictAddressFamilies=AF_INET AF_INET6 AF_UNIX AF_NETLINK\n\
         RestrictNamespaces=yes\n\
         RestrictRealtime=yes\n\
         RestrictSUIDSGID=yes\n\
         LockPersonality=yes\n\
         SystemCallArchitectures=native\n\
         SystemCallFilter=@system-service\n\
         LimitNOFILE=4096\n\
         \n\
         [Install]\n\
         WantedBy=default.target\n",
        name = described(name),
        command = command.join(" "),
        environment = specifiers(&format!("-{}", text(environment)?)),
        writes = writes.join(" "),
    ))
}

/// A word of a command: nothing in it is a variable, a specifier or a quote.
fn argument(word: &str) -> String {
    quoted(word).replace('$', "$$")
}

/// A path in a list of paths; there `$` is only a sign.
fn path_word(word: &str) -> String {
    quoted(word)
}

fn quoted(word: &str) -> String {
    let word = specifiers(word).replace('\\', "\\\\").replace('"', "\\\"");
    format!("\"{word}\"")
}

fn specifiers(word: &str) -> String {
    word.replace('%', "%%")
}

fn described(name: &str) -> String {
    let plain: String = name.chars().filter(|c| !c.is_control() && *c != '\\').collect();
    specifiers(&plain)
}

fn launchd(command: &[String]) -> Result<String, Failure> {
    let words: String =
        command.iter().map(|word| format!("    <string>{}</string>\n", escaped(word))).collect();
    Ok(format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n\
         <!DOCTYPE plist PUBLIC \"-//Apple//DTD PLIST 1.0//EN\" \"http://www.apple.com/DTDs/PropertyList-1.0.dtd\">\n\
         <plist version=\"1.0\">\n\
         <dict>\n\
         \x20 <key>Label</key>\n\
         \x20 <string>verger.serve</string>\n\
         \x20 <key>ProgramArguments</key>\n\
         \x20 <array>\n\
         {words}\
         \x20 </array>\n\
         \x20 <key>RunAtLoad</key>\n\
         \x20 <true/>\n\
         \x20 <key>KeepAlive</key>\n\
         \x20 <dict>\n\
         \x20   <key>SuccessfulExit</key>\n\
         \x20   <false/>\n\
         \x20 </dict>\n\
         \x20 <key>ProcessType</key>\n\
         \x20 <string>Background</string>\n\
         </dict>\n\
         </plist>\n"
    ))
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn odd_words_stay_words() {
        for (word, shown) in [
            ("plain", "\"plain\""),
            ("/my notes/50% $HOME", "\"/my notes/50%% $$HOME\""),
            ("a\"b\\c", "\"a\\\"b\\\\c\""),
            ("'; rm -rf ~ #", "\"'; rm -rf ~ #\""),
        ] {
            assert_eq!(argument(word), shown, "{word}");
        }
        assert_eq!(path_word("-/a $b"), "\"-/a $b\"");
        assert_eq!(escaped("<a & \"b\">"), "&lt;a &amp; \"b\"&gt;");
    }

    #[test]
    fn an_option_that_no_file_can_hold_is_refused() {
        let place = Place { root: "/v\nw".into(), data: "/d".into() };
        let options = ServeOptions {
            address: "127.0.0.1:1".parse().unwrap(),
            public_url: None,
            allow_origin: Vec::new(),
            open: false,
            link: false,
            print_service: None,
            new_token: None,
            may: Vec::new(),
            tls_cert: None,
            tls_key: None,
            without_tls: false,
            model: None,
            agent: None,
        };
        assert!(command(Path::new("/bin/verger"), &place, &options).is_err());
        let place = Place { root: "/v".into(), data: "/d".into() };
        let options = ServeOptions { tls_cert: Some("c.pem".into()), agent: Some("ask".into()), ..options };
        let words = command(Path::new("/bin/verger"), &place, &options).unwrap();
        assert_eq!(
            words[..8],
            ["/bin/verger", "--vault", "/v", "serve", "--address", "127.0.0.1:1", "--agent", "ask"]
        );
        assert!(Path::new(&words[9]).is_absolute());
    }
}
