//! Why a base gives no rows, in words that say what to change and where it stands.

/// Why a base cannot be read or run.
#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    /// Not valid YAML.
    #[error("line {line}: {message}")]
    Yaml {
        /// Line in the base, from 1.
        line: usize,
        /// What the reader says.
        message: String,
    },
    /// A key holds something else than it should.
    #[error("line {line}: `{place}` must be {expected}, but it is {found}")]
    Shape {
        /// Which key, e.g. `views[1].limit`.
        place: String,
        /// Line in the base, from 1.
        line: usize,
        /// What would fit.
        expected: &'static str,
        /// What stands there.
        found: String,
    },
    /// An expression that is not one.
    #[error("`{place}` (line {line}), column {column}: {message}")]
    Expression {
        /// Which expression, e.g. `views[1].filters.and[0]`.
        place: String,
        /// Line in the base, from 1.
        line: usize,
        /// The expression.
        text: String,
        /// Characters from 1.
        column: usize,
        /// What is wrong.
        message: String,
        /// What to try.
        hint: String,
    },
    /// Formulas that need each other.
    #[error("the formulas go round in a circle: {}", names.join(" → "))]
    Cycle {
        /// The circle; the last is the first again.
        names: Vec<String>,
    },
    /// There is no such view.
    #[error("there is no view `{name}`")]
    NoView {
        /// What was asked for.
        name: String,
        /// The views that there are.
        names: Vec<String>,
    },
    /// An expression that fails on every row.
    #[error("`{place}` fails on every row; the first, `{path}`: {message}")]
    Failed {
        /// Which expression.
        place: String,
        /// The first row.
        path: String,
        /// What went wrong there.
        message: String,
    },
    /// More work than is allowed.
    #[error("{message}")]
    Limit {
        /// Which limit.
        message: String,
    },
    /// The vault could not be read.
    #[error(transparent)]
    Vault(#[from] crate::Error),
}

impl BaseError {
    /// The reason as a word for programs.
    pub fn reason(&self) -> &'static str {
        match self {
            BaseError::Yaml { .. } | BaseError::Shape { .. } => "base_invalid",
            BaseError::Expression { .. } | BaseError::Cycle { .. } => "expression_invalid",
            BaseError::NoView { .. } => "view_unknown",
            BaseError::Failed { .. } => "base_failed",
            BaseError::Limit { .. } => "base_too_large",
            BaseError::Vault(_) => "vault",
        }
    }

    /// The same for a base that starts at this line of a note.
    #[must_use]
    pub fn from_line(mut self, first: usize) -> BaseError {
        if let BaseError::Yaml { line, .. }
        | BaseError::Shape { line, .. }
        | BaseError::Expression { line, .. } = &mut self
        {
            *line += first.saturating_sub(1);
        }
        self
    }

    /// What happened, with a caret under the place if it is an expression.
    pub fn message(&self) -> String {
        let BaseError::Expression { text, column, .. } = self else { return self.to_string() };
        let one_line = |c: char| if c.is_control() { ' ' } else { c };
        // A window around the place, so that the caret stands under it even in a very long expression.
        let from = column.saturating_sub(1).saturating_sub(80);
        let shown: String = text.chars().skip(from).take(200).map(one_line).collect();
        format!("{self}\n{shown}\n{}^", " ".repeat(column.saturating_sub(1).saturating_sub(from)))
    }

    /// What to do next.
    pub fn hint(&self) -> String {
        match self {
            BaseError::Yaml { .. } => {
                "a base is YAML: mend the line; expressions with quotes or `: ` stand in quotes".into()
            }
            BaseError::Shape { .. } => {
                "see the syntax of bases: filters, formulas, properties, summaries, views".into()
            }
            BaseError::Expression { hint, .. } => hint.clone(),
            BaseError::Cycle { .. } => "let one of them do without the others".into(),
            BaseError::NoView { names, .. } if names.is_empty() => "the base has no views".into(),
            BaseError::NoView { names, .. } => format!("the views are: {}", names.join(", ")),
            BaseError::Failed { .. } => "check the properties and types that it uses".into(),
            BaseError::Limit { .. } => {
                "narrow it: stricter filters, fewer nested lists, a smaller limit".into()
            }
            BaseError::Vault(_) => "look at the file".into(),
        }
    }
}
