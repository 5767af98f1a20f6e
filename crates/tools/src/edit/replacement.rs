//! Search and replace, as tools take it.

use schemars::JsonSchema;
use serde::Deserialize;
use vault::edit::replace::Replacement;

/// One thing to replace.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct ReplacementInput {
    /// What to look for: text, or a regular expression with `useRegex`.
    #[schemars(length(min = 1))]
    pub(crate) search: String,
    /// What to put there; with `useRegex`, `$1`, `$&` and `$<name>` stand for what was found.
    replace: String,
    /// `search` is a regular expression.
    #[serde(default)]
    use_regex: bool,
    /// Upper and lower case differ.
    #[serde(default = "yes")]
    case_sensitive: bool,
    /// Only whole words.
    #[serde(default)]
    whole_word: bool,
    /// Any white space in `search` stands for any run of white space (text only).
    #[serde(default)]
    flexible_whitespace: bool,
    /// Every hit, not only the first.
    #[serde(default = "yes")]
    replace_all: bool,
}

fn yes() -> bool {
    true
}

impl From<&ReplacementInput> for Replacement {
    fn from(input: &ReplacementInput) -> Replacement {
        Replacement {
            search: input.search.clone(),
            replace: input.replace.clone(),
            use_regex: input.use_regex,
            case_sensitive: input.case_sensitive,
            whole_word: input.whole_word,
            flexible_whitespace: input.flexible_whitespace,
            replace_all: input.replace_all,
        }
    }
}
