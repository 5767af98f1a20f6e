//! What a person types and sends along, as the loop wants it: commands expanded, mentioned notes behind the words, pictures
//! checked, text files wrapped as what they are.

use agent::commands::{Kind, Typed};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use llm::chat::Part;
use pipeline::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use vault::policy::Scope;

use super::problem::Problem;
use crate::chat::cast::with_mentions;
use crate::enclosed;
use crate::study::Study;

/// The longest text, in bytes.
const LONGEST: usize = 1024 * 1024;
/// The most files in one message.
const MOST: usize = enclosed::MOST_PICTURES;
/// The longest name of a file, in characters.
const LONGEST_NAME: usize = 200;

/// A file that is sent along.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Attachment {
    /// Its name.
    pub name: String,
    /// What kind of file it is, e.g. `image/png` or `text/plain`.
    pub media_type: String,
    /// Its bytes in base64, with padding.
    pub base64: String,
}

/// The parts of a message. Waits for the disk: notes may be mentioned.
pub fn parts(study: &Study, text: &str, attachments: &[Attachment]) -> Result<Vec<Part>, Problem> {
    if text.len() > LONGEST {
        let hint = "say it shorter, or send it as a file";
        return Err(Refusal::new("too_long", "the text is longer than 1 MiB", hint).into());
    }
    if attachments.len() > MOST {
        let message = format!("more than {MOST} files were sent");
        return Err(Refusal::new("too_many_files", message, "send fewer at once").into());
    }
    let mut parts = words(study, text)?;
    for attachment in attachments {
        parts.push(enclosure(attachment)?);
    }
    match parts.is_empty() {
        true => Err(Problem::bad("nothing was said", "send a text or a picture")),
        false => Ok(parts),
    }
}

/// The person's words, and behind them, in a part of its own, what they mention.
pub fn words(study: &Study, text: &str) -> Result<Vec<Part>, Problem> {
    let text = expanded(study, text)?;
    let text = text.trim();
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let mind = &study.mind;
    let scope = Scope::new(mind.reach.clone(), mind.road.vault().rules()?);
    let whole = with_mentions(&mind.road, &scope, text);
    let notes = whole.strip_prefix(text).unwrap_or_default().trim_start().to_owned();
    let mut parts = vec![Part::Text { text: text.to_owned() }];
    if !notes.is_empty() {
        parts.push(Part::Text { text: notes });
    }
    Ok(parts)
}

/// The text of a workflow or skill for its name; any other text as it is.
fn expanded(study: &Study, text: &str) -> Result<String, Problem> {
    match study.company.commands.parse(text) {
        Typed::Words(words) => Ok(words.to_owned()),
        Typed::Command { name, kind: Kind::Workflow | Kind::Skill, rest } => {
            Ok(study.company.told_by(name, rest)?)
        }
        Typed::Command { name, kind: Kind::BuiltIn, .. } => {
            let message = format!("/{name} is a command of the terminal");
            let hint = "use the page's own buttons; a text that begins with // is said as it is";
            Err(Refusal::new("command_unknown", message, hint).into())
        }
        Typed::Unknown { name, near } => {
            let near = near.map_or(String::new(), |near| format!("did you mean /{near}? "));
            let hint = format!("{near}A text that begins with // is said as it is");
            Err(Refusal::new("command_unknown", format!("there is no command /{name}"), hint).into())
        }
    }
}

fn enclosure(attachment: &Attachment) -> Result<Part, Problem> {
    if attachment.media_type.starts_with("image/") {
        return Ok(enclosed::picture(&attachment.media_type, &attachment.base64)?);
    }
    let name: String = attachment.name.chars().filter(|c| !c.is_control()).take(LONGEST_NAME).collect();
    let no_text = || {
        let hint = "send text files and pictures; put other files into the vault and mention them";
        Refusal::new("file_refused", format!("`{name}` is neither text nor a picture"), hint)
    };
    let bytes = STANDARD.decode(&attachment.base64).map_err(|_| no_text())?;
    let text = String::from_utf8(bytes).ok().filter(|text| !text.contains('\0')).ok_or_else(no_text)?;
    if text.len() > 4 * LONGEST {
        let message = format!("`{name}` is longer than 4 MiB");
        return Err(Refusal::new("too_long", message, "put it into the vault and mention it").into());
    }
    Ok(Part::Text { text: enclosed::outside(&name, &text) })
}
