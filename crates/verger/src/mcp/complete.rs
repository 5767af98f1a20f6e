//! `completion/complete`: what the user may be about to type, for prompts and for the address of a note. Only names that the
//! client may read are offered, and nothing is said about how many others there are.

use jiff::ToSpan;
use jiff::civil::Date;
use pipeline::Road;
use rmcp::model::{CompleteRequestParams, CompletionInfo, ErrorData, Reference};
use vault::View;
use vault::periodic::Period;
use vault::policy::Limits;

use super::prompts::{self, Kind};
use super::resource;
use super::vaults::scope;

/// The values that fit what was typed so far, the best first.
pub fn complete(
    request: &CompleteRequestParams,
    road: &Road,
    limits: &Limits,
    today: Date,
) -> Result<CompletionInfo, ErrorData> {
    let scope = scope(road, limits).map_err(failed)?;
    let view = &road.vault().view(&scope);
    let kind = match &request.r#ref {
        Reference::Prompt(prompt) => prompts::kind(&prompt.name, &request.argument.name)?,
        Reference::Resource(template) if resource::is_note_template(&template.uri) => Kind::Note,
        _ => {
            return Err(ErrorData::invalid_params("there is no such template; use that of notes", None));
        }
    };
    let typed = &request.argument.value;
    let mut values = match kind {
        Kind::Day => days(today),
        Kind::Period => Period::ALL.iter().map(|period| period.name().to_owned()).collect(),
        Kind::Note => notes(view)?,
        Kind::Folder => folders(view)?,
        Kind::Tag => tags(view)?,
    };
    // A day is not sorted by name but by how near it is.
    let keep_order = kind == Kind::Day;
    let mut ranked: Vec<(u8, String)> =
        values.drain(..).filter_map(|value| Some((rank(&value, typed)?, value))).collect();
    if keep_order {
        ranked.sort_by_key(|(rank, _)| *rank);
    } else {
        ranked.sort();
    }
    let total = ranked.len();
    let shown = ranked.into_iter().take(CompletionInfo::MAX_VALUES).map(|(_, value)| value).collect();
    let has_more = total > CompletionInfo::MAX_VALUES;
    CompletionInfo::with_pagination(shown, u32::try_from(total).ok(), has_more)
        .map_err(|error| ErrorData::internal_error(error, None))
}

/// How well a value fits: it starts with what was typed, its name does, or it holds it somewhere.
fn rank(value: &str, typed: &str) -> Option<u8> {
    let (value, typed) = (value.to_lowercase(), typed.to_lowercase());
    let name = value.rsplit('/').next().unwrap_or_default();
    match () {
        () if value.starts_with(&typed) => Some(0),
        () if name.starts_with(&typed) => Some(1),
        () if value.contains(&typed) => Some(2),
        () => None,
    }
}

fn days(today: Date) -> Vec<String> {
    (0..30)
        .filter_map(|back| today.checked_sub(i64::from(back).days()).ok())
        .map(|day| day.to_string())
        .collect()
}

fn notes(view: &View<'_>) -> Result<Vec<String>, ErrorData> {
    let catalog = view.catalog().map_err(failed)?;
    Ok(catalog.ask(|catalog, visible| catalog.notes(visible).map(|info| info.path.to_string()).collect()))
}

fn folders(view: &View<'_>) -> Result<Vec<String>, ErrorData> {
    let mut all: Vec<String> = notes(view)?
        .iter()
        .flat_map(|path| path.match_indices('/').map(|(at, _)| path[..at].to_owned()).collect::<Vec<_>>())
        .collect();
    all.sort();
    all.dedup();
    Ok(all)
}

fn tags(view: &View<'_>) -> Result<Vec<String>, ErrorData> {
    let catalog = view.catalog().map_err(failed)?;
    Ok(catalog.ask(|catalog, visible| catalog.tags(visible).into_iter().map(|tag| tag.name).collect()))
}

fn failed(error: vault::Error) -> ErrorData {
    super::answer::error(&error.into())
}
