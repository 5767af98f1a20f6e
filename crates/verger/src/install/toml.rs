//! TOML, edited in place: one table below another is set or removed, and every other byte stays.

use serde_json::Value;
use toml_edit::{Array, DocumentMut, Item, Table, value};

use super::Refused;

/// The text with the table `outer.name` holding these fields (texts and lists of texts). The same text if it is so already.
pub fn set(text: &str, outer: &str, name: &str, fields: &Value) -> Result<String, Refused> {
    edit(text, |document| {
        let servers = document.entry(outer).or_insert_with(|| {
            let mut table = Table::new();
            table.set_implicit(true);
            Item::Table(table)
        });
        let servers = servers.as_table_like_mut().ok_or_else(|| not_a_table(outer))?;
        let mut table = Table::new();
        for (key, field) in fields.as_object().into_iter().flatten() {
            table.insert(key, item(field));
        }
        match servers.get_mut(name) {
            None => drop(servers.insert(name, Item::Table(table))),
            Some(old) => {
                // What the user added to it (time limits, an environment) stays.
                let old = old.as_table_like_mut().ok_or_else(|| not_a_table(name))?;
                for (key, field) in table {
                    let same = old.get(&key).is_some_and(|before| shown(before) == shown(&field));
                    if !same {
                        old.insert(&key, field);
                    }
                }
            }
        }
        Ok(())
    })
}

/// The text without the table `outer.name`.
pub fn remove(text: &str, outer: &str, name: &str) -> Result<String, Refused> {
    edit(text, |document| {
        let Some(servers) = document.get_mut(outer) else { return Ok(()) };
        servers.as_table_like_mut().ok_or_else(|| not_a_table(outer))?.remove(name);
        Ok(())
    })
}

fn edit(text: &str, change: impl FnOnce(&mut DocumentMut) -> Result<(), Refused>) -> Result<String, Refused> {
    // The library writes line feeds; a file of the other kind is turned and turned back.
    let crlf = text.contains("\r\n");
    let plain = if crlf { text.replace("\r\n", "\n") } else { text.to_owned() };
    let mut document: DocumentMut = plain.parse().map_err(|error: toml_edit::TomlError| {
        let at = error.span().map_or(0, |span| span.start.min(plain.len()));
        let (line, column) = super::json::place(&plain, at);
        let message = error.message().lines().next().unwrap_or("it is not valid").to_owned();
        Refused::new(format!("{message} (line {line}, column {column})"))
    })?;
    change(&mut document)?;
    let after = document.to_string();
    let after = if crlf { after.replace('\n', "\r\n") } else { after };
    Ok(after)
}

fn item(field: &Value) -> Item {
    match field {
        Value::String(text) => value(text.as_str()),
        Value::Array(items) => {
            let texts: Array = items.iter().filter_map(Value::as_str).collect();
            value(texts)
        }
        other => value(other.to_string()),
    }
}

fn shown(item: &Item) -> String {
    item.to_string().trim().to_owned()
}

fn not_a_table(name: &str) -> Refused {
    Refused::new(format!("`{name}` is no table"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const NASTY: &str = "# mine\nmodel = \"x\" # why\n\n[mcp_servers.other] # theirs\ncommand = 'o'\nargs = [ \"a\", # one\n  \"b\" ]\n\n[[profile]]\nname = \"p\"\n";

    #[test]
    fn a_table_is_added_and_removed_and_every_other_byte_stays() {
        let fields = json!({"command": "/bin/v", "args": ["mcp", "--vault", "/a b"]});
        for text in [NASTY.to_owned(), String::new(), NASTY.replace('\n', "\r\n")] {
            let after = set(&text, "mcp_servers", "verger", &fields).unwrap();
            let lines: Vec<&str> = after.lines().collect();
            assert!(text.lines().all(|line| lines.contains(&line)), "{after}");
            let table: toml::Table = after.parse().unwrap();
            assert_eq!(table["mcp_servers"]["verger"]["args"][2].as_str(), Some("/a b"), "{after}");
            assert_eq!(set(&after, "mcp_servers", "verger", &fields).unwrap(), after, "twice is as once");
            assert_eq!(remove(&after, "mcp_servers", "verger").unwrap().trim_end(), text.trim_end());
        }
    }

    #[test]
    fn what_the_user_added_to_our_table_stays() {
        let text = "[mcp_servers.verger]\ncommand = \"old\" # ours\nstartup_timeout_sec = 20\nargs = []\n";
        let after = set(text, "mcp_servers", "verger", &json!({"command": "new", "args": []})).unwrap();
        assert!(after.contains("startup_timeout_sec = 20") && after.contains("command = \"new\""), "{after}");
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_place() {
        for (text, expected) in [
            ("a = \n", "(line 1, column"),
            ("a = 1\nb = [\n", "(line "),
            ("a = 1\na = 2\n", "(line 2"),
            ("mcp_servers = 3\n", "`mcp_servers` is no table"),
        ] {
            let error = set(text, "mcp_servers", "verger", &json!({})).unwrap_err().to_string();
            assert!(error.contains(expected), "{text}: {error}");
        }
    }
}
