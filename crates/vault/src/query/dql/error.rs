//! Why a query gives no answer, in words that say what to change.

/// Why a query failed.
#[derive(Debug, thiserror::Error)]
pub enum QueryError {
    /// The text is no query.
    #[error("line {line}, column {column}: expected {expected}, found {found}. {hint}")]
    Parse {
        /// Byte in the text.
        position: usize,
        /// From 1.
        line: usize,
        /// Characters from 1.
        column: usize,
        /// What would have fitted.
        expected: String,
        /// What stands there.
        found: String,
        /// What to try.
        hint: &'static str,
    },
    /// The query is well formed, but it cannot be computed.
    #[error("{message}")]
    Evaluate {
        /// What went wrong.
        message: String,
    },
    /// The query would take more work than is allowed.
    #[error("{message}. Narrow it: a smaller FROM, a LIMIT, fewer nested functions")]
    Limit {
        /// Which limit.
        message: String,
    },
    /// The vault could not be read.
    #[error(transparent)]
    Vault(#[from] crate::Error),
}

impl QueryError {
    /// The status that batch mode reports.
    pub fn status(&self) -> &'static str {
        if matches!(self, QueryError::Parse { .. }) { "parse-error" } else { "error" }
    }

    pub(crate) fn limit(message: String) -> QueryError {
        QueryError::Limit { message }
    }

    pub(crate) fn parse(text: &str, position: usize, expected: &[&str]) -> QueryError {
        let before = text.get(..position).unwrap_or(text);
        let rest = text.get(position..).unwrap_or("");
        let start = before.rfind('\n').map_or(0, |at| at + 1);
        let mut seen: Vec<&str> = Vec::new();
        expected.iter().filter(|word| **word != "//").for_each(|word| {
            if !seen.contains(word) {
                seen.push(word);
            }
        });
        let expected = seen;
        QueryError::Parse {
            position,
            line: before.matches('\n').count() + 1,
            column: before[start..].chars().count() + 1,
            expected: match expected.is_empty() {
                true => "the end".to_owned(),
                false => expected.join(", "),
            },
            found: match rest.split_whitespace().next() {
                None => "the end".to_owned(),
                Some(word) => format!("`{}`", word.chars().take(24).collect::<String>()),
            },
            hint: hint(text, before, rest),
        }
    }
}

fn hint(text: &str, before: &str, rest: &str) -> &'static str {
    let lower = rest.trim_start().to_ascii_lowercase();
    if lower.starts_with("==") || before.ends_with('=') && lower.starts_with('=') {
        return "Equality is written with one `=`.";
    }
    if lower.starts_with("not ") || before.trim_end().to_ascii_lowercase().ends_with(" not") {
        return "There is no `not`; write `!(…)`.";
    }
    let first = text.split_whitespace().nth(1).unwrap_or("");
    if first.eq_ignore_ascii_case("sort") {
        return "`LIST SORT x` reads `SORT` as a field; put FROM or WHERE in front, e.g. `LIST WHERE true SORT x`.";
    }
    if before.is_empty() || text.trim().is_empty() {
        return "A query starts with TABLE, LIST, TASK or CALENDAR.";
    }
    if lower.starts_with('\'') {
        return "Texts stand in double quotes.";
    }
    "A query is: TABLE|LIST|TASK|CALENDAR fields FROM source WHERE … SORT … GROUP BY … FLATTEN … LIMIT …"
}
