//! What a client can read by address: `obsidian://vault/{path}`, `obsidian://tags`, `obsidian://status`.
//!
//! A read by address walks the road like any other: it is a tool that `tools/list` does not name. Deliberately not
//! here: the protocol (`server.rs`).

use pipeline::tool::{AnyTool, Planning};
use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, View};
use rmcp::model::{Resource, ResourceTemplate};
use serde_json::{Map, Value, json};
use vault::VaultPath;
use vault::files::Kind;
use vault::note;
use vault::policy::Limits;

use super::vaults::{Vaults, scope};

/// The name under which the road and the audit know it.
pub const TOOL: &str = "read_resource";

const NOTES: &str = "obsidian://vault/";
const TAGS: &str = "obsidian://tags";
const STATUS: &str = "obsidian://status";

/// Notes on one page of the listing.
const PAGE: usize = 200;

/// One page of what can be listed: the fixed addresses first, then the notes. `notes` are their addresses and paths, sorted;
/// the cursor is how many were listed before.
pub fn page(
    notes: &[(String, VaultPath)],
    cursor: Option<&str>,
) -> Result<(Vec<Resource>, Option<String>), Refusal> {
    let start = match cursor.map(str::parse::<usize>) {
        None => 0,
        Some(Ok(start)) if start > 0 && start <= notes.len() => start,
        Some(_) => {
            let hint = "pass nextCursor as it came, or leave it out to start anew";
            return Err(Refusal::new("cursor_invalid", "the cursor is not one of this list", hint));
        }
    };
    let mut listed = if start == 0 { list() } else { Vec::new() };
    let end = notes.len().min(start + PAGE);
    listed.extend(notes[start..end].iter().map(|(uri, path)| {
        Resource::new(uri.clone(), path.to_string())
            .with_title(path.stem())
            .with_mime_type("application/json")
    }));
    Ok((listed, (end < notes.len()).then(|| end.to_string())))
}

/// The notes of all vaults that a client with these limits may read: address and path, sorted in each vault.
pub fn notes(vaults: &Vaults, limits: &Limits) -> Result<Vec<(String, VaultPath)>, Refusal> {
    let mut all = Vec::new();
    for served in vaults.all() {
        let scope = scope(&served.road, limits)?;
        let catalog = served.road.vault().view(&scope).catalog()?;
        let mut paths: Vec<VaultPath> =
            catalog.ask(|catalog, visible| catalog.notes(visible).map(|info| info.path.clone()).collect());
        paths.sort();
        all.extend(paths.into_iter().map(|path| (vaults.address(served, address(&path)), path)));
    }
    Ok(all)
}

/// The address of a note.
pub fn address(path: &VaultPath) -> String {
    format!("{NOTES}{}", encode(path.as_str()))
}

/// Whether something lies at an address, judged by the address alone.
pub fn is_address(uri: &str) -> Result<(), Refusal> {
    Address::parse(uri).map(|_| ())
}

/// Whether this is the template of notes, as a client names it for completion.
pub fn is_note_template(uri: &str) -> bool {
    matches!(uri, NOTE_TEMPLATE | NOTE_TEMPLATE_OF_SEVERAL)
}

const NOTE_TEMPLATE: &str = "obsidian://vault/{+path}";
const NOTE_TEMPLATE_OF_SEVERAL: &str = "obsidian://vault/{+path}{?vault}";

/// The addresses that can be listed.
fn list() -> Vec<Resource> {
    vec![
        Resource::new(TAGS, "tags")
            .with_title("Tags")
            .with_description("All tags of the vault with the number of notes that carry each")
            .with_mime_type("application/json"),
        Resource::new(STATUS, "status")
            .with_title("Status")
            .with_description("Whether Verger serves the vault, and its version")
            .with_mime_type("application/json"),
    ]
}

/// The addresses of notes.
pub fn templates(several: bool) -> Vec<ResourceTemplate> {
    vec![
        ResourceTemplate::new(if several { NOTE_TEMPLATE_OF_SEVERAL } else { NOTE_TEMPLATE }, "note")
            .with_title("Note")
            .with_description("A note by its path with extension: content, frontmatter, tags and times")
            .with_mime_type("application/json"),
    ]
}

/// The name of notes in scopes.
pub const NOTE: &str = "note";

/// The name under which an address is listed; scopes carry it.
pub fn name(uri: &str) -> &'static str {
    match uri {
        TAGS => "tags",
        STATUS => "status",
        _ => NOTE,
    }
}

/// What is said when a token does not reach to an address.
pub fn out_of_scope(uri: &str) -> Refusal {
    let name = name(uri);
    Refusal::new(
        "not_permitted",
        format!("the token does not cover the resource `{name}`"),
        format!("use a token with the scope resource:{name}:read"),
    )
}

/// The tool behind the addresses.
pub struct ReadResource {
    spec: Spec,
    schema: Value,
}

impl Default for ReadResource {
    fn default() -> ReadResource {
        ReadResource {
            spec: Spec::new(TOOL, Group::Read, Effect::Answers),
            schema: json!({"type": "object", "properties": {"uri": {"type": "string"}}, "required": ["uri"]}),
        }
    }
}

impl AnyTool for ReadResource {
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn description(&self) -> &str {
        "Read what an address of the vault names."
    }

    fn schema(&self) -> &Value {
        &self.schema
    }

    fn plan<'p>(&'p self, input: Value, view: &'p View<'p>) -> Result<Planning<'p>, Refusal> {
        let uri = input.get("uri").and_then(Value::as_str).unwrap_or_default();
        let address = Address::parse(uri)?;
        Ok(Box::pin(async move { read(&address, view) }))
    }
}

/// What an address names.
#[derive(Debug, PartialEq, Eq)]
enum Address {
    Note(VaultPath),
    Tags,
    Status,
}

impl Address {
    fn parse(uri: &str) -> Result<Address, Refusal> {
        match uri {
            TAGS => return Ok(Address::Tags),
            STATUS => return Ok(Address::Status),
            _ => {}
        }
        let path = uri.strip_prefix(NOTES).and_then(decode).ok_or_else(|| {
            Refusal::new(
                "uri_unknown",
                format!("there is nothing at `{}`", uri.chars().take(200).collect::<String>()),
                "use obsidian://vault/ with a path, obsidian://tags or obsidian://status",
            )
        })?;
        let path = VaultPath::parse(&path).map_err(|error| vault::Error::Path { text: path, error })?;
        Ok(Address::Note(path))
    }
}

/// `%20` and its like as the characters they stand for; `None` if that is no text.
pub fn decode(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let digits = [rest.next()?, rest.next()?].map(|digit| char::from(digit).to_digit(16));
        let [Some(high), Some(low)] = digits else { return None };
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

/// Percent-encoded, all but letters, digits and `-._~/`.
pub fn encode(text: &str) -> String {
    let byte = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' | b'/' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    };
    text.bytes().map(byte).collect()
}

fn read(address: &Address, view: &View<'_>) -> Result<Plan, Refusal> {
    match address {
        Address::Note(path) => read_note(path, view),
        Address::Tags => {
            let tags = view.catalog()?.ask(|catalog, visible| catalog.tags(visible));
            let tags: Vec<Value> =
                tags.iter().map(|tag| json!({"name": tag.name, "count": tag.files})).collect();
            Ok(Plan::Answer(Output::new("", json!({"tags": tags})).from_vault("tags")))
        }
        Address::Status => Ok(Plan::answer(
            "",
            json!({"status": "ok", "service": "verger", "authenticated": true,
                   "versions": {"self": env!("CARGO_PKG_VERSION")}}),
        )),
    }
}

fn read_note(path: &VaultPath, view: &View<'_>) -> Result<Plan, Refusal> {
    let text = view.text(path)?;
    let entry = view.look(path)?.filter(|entry| entry.kind == Kind::File);
    let (modified, size) =
        entry.map_or((0, 0), |entry| (entry.stat.modified_ns / 1_000_000, entry.stat.size));
    let parsed = note::parse(&text);
    let mut tags: Vec<&str> = Vec::new();
    for tag in &parsed.tags {
        if !tags.contains(&tag.name.as_str()) {
            tags.push(&tag.name);
        }
    }
    let front = parsed.front.as_ref().and_then(|front| front.values.as_ref().ok());
    let data = json!({
        "path": path,
        "content": text,
        "frontmatter": front.cloned().unwrap_or_else(Map::new),
        "tags": tags,
        // A file system need not know when a file was made; the last change is the time that all know.
        "stat": {"ctime": modified, "mtime": modified, "size": size},
    });
    Ok(Plan::Answer(Output::new("", data).from_vault(path.as_str())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(uri: &str, expected: &str) {
        let found = match Address::parse(uri) {
            Ok(Address::Note(path)) => path.to_string(),
            Ok(other) => format!("{other:?}"),
            Err(refusal) => refusal.reason.into_owned(),
        };
        assert_eq!(found, expected, "{uri}");
    }

    #[test]
    fn an_address_names_a_note_or_is_refused() {
        check("obsidian://vault/a/b.md", "a/b.md");
        check("obsidian://vault/a%20b%C3%A9.md", "a bé.md");
        check("obsidian://tags", "Tags");
        check("obsidian://status", "Status");
        check("obsidian://vault/../x.md", "path_traversal");
        check("obsidian://vault/a/%2e%2e/x.md", "path_traversal");
        check("obsidian://vault/%", "uri_unknown");
        check("obsidian://vault/%ff", "uri_unknown");
        check("file:///etc/passwd", "uri_unknown");
        check("", "uri_unknown");
    }
}
