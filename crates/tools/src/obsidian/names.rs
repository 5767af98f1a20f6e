//! Regular expressions on names, as `nameRegex` takes them: linear in time, so none has to be guessed unsafe.

use pipeline::Refusal;
use regex::{Regex, RegexBuilder};

/// The longest one.
const LONGEST: usize = 256;

/// The pattern, if there is one.
pub(super) fn pattern(text: Option<&str>) -> Result<Option<Regex>, Refusal> {
    text.map(compile).transpose()
}

fn compile(text: &str) -> Result<Regex, Refusal> {
    let refuse = |reason: &'static str, message: String, hint: &str| {
        Refusal::new(reason, message, hint).with("nameRegex", crate::page::clip(text, LONGEST))
    };
    if text.chars().count() > LONGEST {
        let message = format!("nameRegex is longer than {LONGEST} characters");
        return Err(refuse("regex_invalid", message, "use a shorter one"));
    }
    RegexBuilder::new(text).size_limit(1 << 20).build().map_err(|error| match error {
        regex::Error::CompiledTooBig(_) => refuse(
            "regex_unsafe",
            "nameRegex would become too large".to_owned(),
            "use no counted repeats inside of others",
        ),
        error => {
            // The last line says what is wrong; those before draw where.
            let shown = error.to_string();
            let last = shown.lines().last().unwrap_or_default();
            let message = format!("nameRegex is not valid: {}", last.trim_start_matches("error: "));
            refuse("regex_invalid", message, "mend it; look-around and back-references are not known")
        }
    })
}
