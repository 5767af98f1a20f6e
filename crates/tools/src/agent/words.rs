//! Checks that the tools of a conversation share: a text is there and not too long, a name is one, a number fits.

use pipeline::Refusal;

/// A text that must say something, with its white space trimmed.
pub(crate) fn said(field: &str, text: &str, most: usize) -> Result<String, Refusal> {
    let text = text.trim();
    if text.is_empty() {
        return Err(invalid(field, "is empty", "say it in words"));
    }
    at_most(field, text, most)?;
    Ok(text.to_owned())
}

/// The same where it may be left out; blank is left out.
pub(crate) fn said_or_not(field: &str, text: Option<&str>, most: usize) -> Result<Option<String>, Refusal> {
    match text.map(str::trim).filter(|text| !text.is_empty()) {
        Some(text) => said(field, text, most).map(Some),
        None => Ok(None),
    }
}

/// A name of lower-case letters, digits and hyphens, as agents and skills have.
pub(crate) fn slug(field: &str, text: &str) -> Result<String, Refusal> {
    let text = text.trim();
    let fits = !text.is_empty()
        && text.len() <= 64
        && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-');
    match fits {
        true => Ok(text.to_owned()),
        false => Err(invalid(
            field,
            "is no name",
            "names have lower-case letters, digits and `-`, at most 64; use one that was listed",
        )),
    }
}

/// A refusal that names the field.
pub(crate) fn invalid(field: &str, what: &str, hint: &str) -> Refusal {
    Refusal::new("input_invalid", format!("`{field}` {what}"), hint).with("field", field)
}

/// Refuses a text of more characters.
pub(crate) fn at_most(field: &str, text: &str, most: usize) -> Result<(), Refusal> {
    // Bytes first: counting the characters of a huge text is work that nobody needs.
    let length = if text.len() <= most { 0 } else { text.chars().take(most + 1).count() };
    match length > most {
        true => Err(invalid(field, &format!("is longer than {most} characters"), "say it in fewer words")),
        false => Ok(()),
    }
}
