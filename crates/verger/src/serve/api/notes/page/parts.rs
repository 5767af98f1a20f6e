//! What stands beside a note: its properties, and its links in and out with the lines in which they stand.

use std::collections::HashSet;

use serde_json::{Map, Value, json};
use vault::note::front::Front;
use vault::{VaultPath, View};

use crate::serve::problem::Problem;
use crate::serve::render::{self, Place};

/// Linking notes that are shown.
const LINKING: usize = 50;
/// Lines of each.
const LINES: usize = 3;
/// Links out that are shown.
const OUTGOING: usize = 200;
/// Characters of one line.
const LONGEST: usize = 400;

/// The front matter in its order, each value with its kind and as HTML.
pub fn properties(front: Option<&Front>, place: &Place<'_>) -> Value {
    let Some(front) = front else { return json!([]) };
    let values = match &front.values {
        Ok(values) => values,
        Err(error) => return json!([{"name": "front matter", "kind": "broken", "value": error.to_string()}]),
    };
    values.iter().take(100).map(|(name, value)| property(name, value, place)).collect()
}

fn property(name: &str, value: &Value, place: &Place<'_>) -> Value {
    let html = |text: &str| render::line(&clip(text), place);
    match value {
        Value::Array(items) => {
            let shown: Vec<String> = items
                .iter()
                .take(100)
                .map(|item| item.as_str().map_or_else(|| html(&item.to_string()), &html))
                .collect();
            json!({"name": name, "kind": "list", "value": value, "html": shown})
        }
        Value::String(text) => json!({"name": name, "kind": kind(text), "value": value, "html": html(text)}),
        Value::Bool(_) => json!({"name": name, "kind": "checkbox", "value": value}),
        Value::Number(_) => json!({"name": name, "kind": "number", "value": value}),
        Value::Null => json!({"name": name, "kind": "empty", "value": value}),
        Value::Object(_) => json!({"name": name, "kind": "object", "value": value}),
    }
}

fn kind(text: &str) -> &'static str {
    let digits = |part: &str, count| part.len() == count && part.bytes().all(|byte| byte.is_ascii_digit());
    let day = text.get(..10).is_some_and(|day| {
        let parts: Vec<&str> = day.split('-').collect();
        matches!(parts[..], [year, month, day] if digits(year, 4) && digits(month, 2) && digits(day, 2))
    });
    if day { "date" } else { "text" }
}

/// Adds tags, and the links in and out, to the answer about a file.
pub fn links(view: &View<'_>, path: &VaultPath, answer: &mut Value) -> Result<(), Problem> {
    let catalog = view.catalog()?;
    let (tags, outgoing, linking, total) = catalog.ask(|catalog, visible| {
        let tags: Vec<String> = catalog
            .get(path, visible)
            .map(|info| info.tag_names().into_iter().map(str::to_owned).collect())
            .unwrap_or_default();
        let mut seen = HashSet::new();
        let outgoing: Vec<Value> = catalog
            .outgoing(path, visible)
            .into_iter()
            .filter(|link| !link.link.target.is_empty() && link.to != Some(path))
            .filter(|link| {
                seen.insert(link.to.map_or_else(|| link.link.target.to_string(), ToString::to_string))
            })
            .take(OUTGOING)
            .map(|link| json!({"path": link.to, "text": link.to.map_or(&*link.link.target, VaultPath::stem)}))
            .collect();
        let (linking, total) = catalog.linking_notes(path, 0..LINKING, visible);
        let lines = |note: &vault::catalog::LinkingNote<'_>| {
            let mut lines: Vec<u32> = note.links.iter().map(|link| link.line).collect();
            lines.dedup();
            (note.from.clone(), lines)
        };
        (tags, outgoing, linking.iter().map(lines).collect::<Vec<_>>(), total)
    });
    let backlinks: Vec<Value> = linking.iter().map(|(from, lines)| backlink(view, from, lines)).collect();
    let more = json!({"tags": tags, "outgoing": outgoing, "backlinks": backlinks, "backlinks_total": total});
    if let (Some(answer), Value::Object(more)) = (answer.as_object_mut(), more) {
        answer.extend::<Map<String, Value>>(more);
    }
    Ok(())
}

fn backlink(view: &View<'_>, from: &VaultPath, lines: &[u32]) -> Value {
    let text = view.text(from).unwrap_or_default();
    let place = Place { view, from: Some(from) };
    let mut shown = Vec::new();
    let mut all = text.lines().zip(1u32..);
    for wanted in lines.iter().take(LINES) {
        if let Some((line, number)) = all.by_ref().find(|(_, number)| number == wanted) {
            shown.push(json!({"line": number, "html": render::line(&clip(line), &place)}));
        }
    }
    json!({"path": from, "name": from.stem(), "lines": shown, "count": lines.len()})
}

fn clip(text: &str) -> String {
    match text.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}
