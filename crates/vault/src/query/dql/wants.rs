//! What of a page a query can ask for, read off its expressions, so that nothing else is built.
//!
//! Names are gathered without regard to where they are used: a name behind a link is a field of another page. Wherever
//! a page could be seen as a whole (`row`, `rows`, an index that is computed), everything is wanted.
//! `what_is_not_mentioned_changes_no_answer` holds that this changes no answer.

use super::ast::{Clause, Expression, Header, Literal, Query, Step};
use super::functions;
use crate::text::Text;

/// The parts of `file`, in their order.
pub(crate) const FILE_PARTS: [&str; 20] = [
    "path",
    "folder",
    "name",
    "link",
    "outlinks",
    "inlinks",
    "etags",
    "tags",
    "aliases",
    "lists",
    "tasks",
    "ctime",
    "cday",
    "mtime",
    "mday",
    "size",
    "starred",
    "frontmatter",
    "ext",
    "day",
];

/// The parts that are fields of every task in an answer, if the page has them and the task has not.
const TASK_FIELDS: [&str; 5] = ["due", "created", "completion", "start", "scheduled"];

/// From so many names on, looking for each in every page costs more than building all.
const MOST_FIELDS: usize = 32;

/// What is asked of a page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Wants {
    all: bool,
    fields: Vec<Text>,
    /// One bit for each of [`FILE_PARTS`].
    file: u32,
}

impl Wants {
    /// All of it.
    pub fn everything() -> Wants {
        Wants { all: true, fields: Vec::new(), file: u32::MAX }
    }

    /// What expressions can ask for.
    pub(crate) fn of_expressions<'e>(expressions: impl IntoIterator<Item = &'e Expression>) -> Wants {
        let mut wants = Wants::default();
        expressions.into_iter().for_each(|expression| wants.expression(expression));
        wants
    }

    /// What these clauses can ask for.
    fn of_clauses(clauses: &[Clause]) -> Wants {
        let mut wants = Wants::default();
        for clause in clauses {
            match clause {
                Clause::From => {}
                Clause::Where(each) | Clause::Limit(each) => wants.expression(each),
                Clause::Sort(fields) => fields.iter().for_each(|(each, _)| wants.expression(each)),
                Clause::Flatten(each) | Clause::Group(each) => wants.expression(&each.field),
            }
        }
        wants
    }

    /// What a whole query can ask for.
    pub(crate) fn of_query(query: &Query) -> Wants {
        let mut wants = Wants::of_clauses(&query.clauses);
        match &query.header {
            Header::Table { fields, .. } => fields.iter().for_each(|field| wants.expression(&field.field)),
            Header::List { value, .. } => value.iter().for_each(|value| wants.expression(value)),
            Header::Task => wants.tasks(),
            Header::Calendar(day) => {
                wants.expression(&day.field);
                wants.part("link");
            }
        }
        wants
    }

    /// The tasks of pages, and the fields that tasks take from their pages.
    fn tasks(&mut self) {
        self.part("tasks");
        TASK_FIELDS.iter().for_each(|name| self.field(name));
    }

    /// Whether a page that was made for this has all that the other wants.
    pub(crate) fn covers(&self, other: &Wants) -> bool {
        let fields = self.all || !other.all && other.fields.iter().all(|name| self.fields.contains(name));
        fields && self.file & other.file == other.file
    }

    /// Whether all fields are wanted.
    pub(crate) fn all(&self) -> bool {
        self.all
    }

    /// The names of the fields that are wanted, if not all are.
    pub(crate) fn fields(&self) -> &[Text] {
        &self.fields
    }

    /// Whether anything of `file` is.
    pub(crate) fn any_of_file(&self) -> bool {
        self.file != 0
    }

    /// Whether this part of `file` is.
    pub(crate) fn of_file(&self, part: &str) -> bool {
        place(part).is_some_and(|place| self.file & (1 << place) != 0)
    }

    fn expression(&mut self, expression: &Expression) {
        match expression {
            Expression::Literal(_) => {}
            Expression::Variable(name) => self.chain(name, &[]),
            Expression::List(items) => items.iter().for_each(|item| self.expression(item)),
            Expression::Object(entries) => entries.iter().for_each(|(_, value)| self.expression(value)),
            Expression::Not(inner) => self.expression(inner),
            Expression::Lambda { body, .. } => self.expression(body),
            Expression::Chain { first, rest } => {
                self.expression(first);
                rest.iter().for_each(|(_, operand)| self.expression(operand));
            }
            Expression::Postfix { base, steps } => self.postfix(base, steps),
        }
    }

    fn postfix(&mut self, base: &Expression, steps: &[Step]) {
        if counts_rows(base, steps) {
            return;
        }
        match base {
            Expression::Variable(name) => self.chain(name, steps),
            other => {
                self.expression(other);
                self.chain("", steps);
            }
        }
    }

    /// A name and what stands behind it. A loop, for there may be as many steps as a query has bytes.
    fn chain(&mut self, name: &str, steps: &[Step]) {
        let mut name = name;
        for step in steps {
            match step {
                Step::Index(Expression::Literal(Literal::Text(part))) if name == "file" => {
                    self.part(part);
                    name = "";
                }
                Step::Index(Expression::Literal(Literal::Text(part))) => {
                    if !matches!(name, "" | "row" | "rows" | "this") {
                        self.field(name);
                    }
                    name = part;
                }
                Step::Index(Expression::Literal(Literal::Number(_))) => {}
                Step::Index(computed) => {
                    self.expression(computed);
                    *self = Wants::everything();
                    name = "";
                }
                Step::Call(arguments) => {
                    self.called(name);
                    arguments.iter().for_each(|argument| self.expression(argument));
                    name = "";
                }
            }
        }
        self.whole(name);
    }

    /// A function; some look into pages by themselves.
    fn called(&mut self, name: &str) {
        match name.to_lowercase().as_str() {
            // The day of the page that a link leads to.
            "date" => self.part("day"),
            // The fields that its arguments name.
            "extract" => *self = Wants::everything(),
            known if functions::is_known(known) => {}
            _ => self.whole(name),
        }
    }

    /// A name whose value is used as it is.
    fn whole(&mut self, name: &str) {
        match name {
            "" => {}
            "file" => self.file = u32::MAX,
            "row" | "rows" | "this" => *self = Wants::everything(),
            field => self.field(field),
        }
    }

    fn part(&mut self, part: &str) {
        if let Some(place) = place(part) {
            self.file |= 1 << place;
        }
    }

    fn field(&mut self, name: &str) {
        if self.all || self.fields.iter().any(|known| **known == *name) {
            return;
        }
        if self.fields.len() == MOST_FIELDS {
            *self = Wants::everything();
            return;
        }
        self.fields.push(name.into());
    }
}

fn place(part: &str) -> Option<usize> {
    FILE_PARTS.iter().position(|known| *known == part)
}

/// `length(rows)` looks at no row.
fn counts_rows(base: &Expression, steps: &[Step]) -> bool {
    let is = |expression: &Expression, word: &str| matches!(expression, Expression::Variable(name) if name.eq_ignore_ascii_case(word));
    matches!(steps, [Step::Call(arguments)] if is(base, "length")
        && matches!(arguments.as_slice(), [Expression::Variable(name)] if &**name == "rows"))
}

#[cfg(test)]
mod tests {
    use super::super::parse;
    use super::*;

    #[track_caller]
    fn check(query: &str, fields: &[&str], parts: &[&str]) {
        let wants = Wants::of_query(&parse::query(query).unwrap());
        let mut found: Vec<&str> = wants.fields().iter().map(|name| &**name).collect();
        found.sort_unstable();
        let of_file: Vec<&str> = FILE_PARTS.into_iter().filter(|part| wants.of_file(part)).collect();
        assert!(!wants.all(), "{query}");
        assert_eq!((found.as_slice(), of_file.as_slice()), (fields, parts), "{query}");
    }

    #[test]
    fn only_what_is_mentioned_is_wanted() {
        check("LIST", &[], &[]);
        check("TABLE a, b.c WHERE d > 1 SORT file.name LIMIT 20", &["a", "b", "c", "d"], &["name"]);
        check("TABLE author.file.size, row[\"odd name\"]", &["author", "odd name"], &["size"]);
        check("LIST rows.file.link GROUP BY status", &["status"], &["link"]);
        check("TABLE length(rows) GROUP BY status", &["status"], &[]);
        check("LIST map(file.tags, (t) => upper(t))", &["t"], &["tags"]);
        check(
            "TASK WHERE !completed",
            &["completed", "completion", "created", "due", "scheduled", "start"],
            &["tasks"],
        );
        check("LIST file.tasks[0].text", &["text"], &["tasks"]);
    }

    #[test]
    fn where_a_page_may_be_seen_whole_all_is_wanted() {
        for query in [
            "LIST row",
            "LIST rows GROUP BY a",
            "LIST map(rows, (r) => r.a) GROUP BY a",
            "LIST rows[0] GROUP BY a",
            "LIST a[b]",
            "LIST this",
            "LIST extract(author, \"a\")",
            "LIST rows.rows GROUP BY a GROUP BY b",
        ] {
            assert!(Wants::of_query(&parse::query(query).unwrap()).all(), "{query}");
        }
        let wants = Wants::of_query(&parse::query("LIST file").unwrap());
        assert!(!wants.all() && FILE_PARTS.iter().all(|part| wants.of_file(part)));
    }
}
