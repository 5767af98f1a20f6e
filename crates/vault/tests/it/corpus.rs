//! Malformed notes: our own in `fixtures/notes`, and the shared corpus where it is there.
//! Nothing panics, nothing is slow, a no-op edit changes no byte, a property edit touches the front matter alone.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::json;
use vault::edit::{front, section};
use vault::note::{self, outline};

fn notes() -> Vec<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut all = Vec::new();
    for folder in [here.join("../../fixtures/notes"), here.join("../../../shared/corpora/md")] {
        match std::fs::read_dir(&folder) {
            Ok(entries) => all.extend(
                entries
                    .map(|entry| entry.unwrap().path())
                    .filter(|p| p.extension().is_some_and(|e| e == "md")),
            ),
            Err(_) => eprintln!("skipped: {} is not here", folder.display()),
        }
    }
    all.sort();
    assert!(all.len() >= 20, "where are the notes?");
    all
}

/// Debug builds are many times slower than what ships.
const LIMIT: Duration = Duration::from_secs(if cfg!(debug_assertions) { 8 } else { 1 });

#[test]
fn every_note_parses_in_time_and_survives_edits() {
    for file in notes() {
        let bytes = std::fs::read(&file).unwrap();
        // Bytes that are no text are never edited as text; `View::text` refuses them.
        let Ok(text) = String::from_utf8(bytes) else { continue };
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let start = Instant::now();
        let parsed = note::parse(&text);
        for span in parsed
            .links
            .iter()
            .map(|link| &link.span)
            .chain(parsed.tags.iter().filter(|t| !t.in_front).map(|t| &t.span))
        {
            assert!(text.get(span.clone()).is_some(), "{name}: {span:?} is no piece of the text");
        }
        let map = outline::document_map(&text);
        assert!(start.elapsed() < LIMIT, "{name}: parsing took {:?}", start.elapsed());
        a_noop_edit_changes_no_byte(&name, &text, &map);
        a_property_edit_touches_the_front_matter_alone(&name, &text, &parsed);
        an_append_keeps_every_old_byte(&name, &text);
        assert!(start.elapsed() < LIMIT * 2, "{name}: edits took {:?}", start.elapsed());
    }
}

fn a_noop_edit_changes_no_byte(name: &str, text: &str, map: &outline::DocumentMap) {
    assert_eq!(vault::edit::replace::replace(text, &[]).unwrap().text, text, "{name}");
    for heading in map.headings.iter().take(3) {
        let target = outline::Target::heading(heading);
        let Ok(read) = outline::read_section(text, &target) else { continue };
        let patch: vault::edit::patch::Patch = serde_json::from_value(json!({
            "operation": "replace", "scope": "content",
            "targetType": "heading", "target": heading,
            "content": read.content,
        }))
        .unwrap_or_else(|_| panic!("{name}: the patch form changed"));
        if let Ok(patched) = vault::edit::patch::apply(text, &patch) {
            assert_eq!(patched.text, text, "{name}: {heading}");
        }
    }
}

fn a_property_edit_touches_the_front_matter_alone(name: &str, text: &str, parsed: &note::Parsed) {
    let Ok(edited) = front::set(text, "harness_key", &json!("v")) else { return };
    // A byte order mark stays the first thing in the file, in front of the new block.
    let body = text[parsed.body..].trim_start_matches('\u{feff}');
    assert!(edited.ends_with(body), "{name}: the body changed");
    assert_eq!(front::get(&edited, "harness_key").unwrap(), Some(json!("v")), "{name}");
    let back = front::remove(&edited, "harness_key").unwrap();
    if parsed.front.as_ref().is_some_and(|front| front.values.as_ref().is_ok_and(|values| !values.is_empty()))
    {
        assert_eq!(back, text, "{name}: there and back");
    }
}

fn an_append_keeps_every_old_byte(name: &str, text: &str) {
    let mut instruction = section::Instruction::new(
        outline::Target::Root,
        section::Operation::Append,
        section::Content::Text("harness line".to_owned()),
    );
    instruction.apply_if_content_preexists = true;
    if let Ok(edited) = section::apply(text, &instruction) {
        let kept = text.trim_end();
        assert!(edited.starts_with(kept), "{name}: an old byte changed");
    }
}
