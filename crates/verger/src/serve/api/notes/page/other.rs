//! Files that are no notes: what kind they are, and the rows of a base.

use serde_json::{Value, json};
use vault::VaultPath;

use crate::serve::api::find::table;
use crate::serve::house::House;
use crate::serve::render::links::{Media, media};

/// How the page shows a file.
pub fn kind(path: &VaultPath) -> &'static str {
    if path.is_note() {
        return "note";
    }
    match (media(path), path.extension().map(str::to_ascii_lowercase).as_deref()) {
        (Media::Image, _) => "image",
        (Media::Audio, _) => "audio",
        (Media::Video, _) => "video",
        (_, Some("pdf")) => "pdf",
        (_, Some("base")) => "base",
        (_, Some("canvas")) => "canvas",
        _ => "file",
    }
}

/// The rows of a base's first view, or why there are none.
pub fn base(house: &House, path: &VaultPath) -> Value {
    match house.answer("query_base", json!({"path": path, "limit": 200})) {
        Ok(output) => table::shown(&output.data),
        Err(problem) => json!({"problem": problem.words()}),
    }
}
