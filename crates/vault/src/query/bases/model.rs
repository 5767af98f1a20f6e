//! A base in types: filters, formulas, properties, summaries and views, every expression checked.
//!
//! Keys that are not known at the top are kept in the file and named in [`Base::notices`]; those inside a view belong to
//! the view's plugin and are nobody's business here.

mod read;

use super::ast::Expression;
use super::error::BaseError;
use super::lex::Mistake;
use super::summary::Summary;
use crate::text::Text;

/// A base.
#[derive(Debug, Default)]
pub struct Base {
    /// The filter of all views.
    pub filters: Option<Filter>,
    /// The formulas, in their order.
    pub formulas: Vec<Formula>,
    /// What is said about properties.
    pub properties: Vec<Property>,
    /// The views, in their order.
    pub views: Vec<BaseView>,
    /// What is odd, but no reason to refuse.
    pub notices: Vec<String>,
    /// The summaries that the base defines.
    pub(crate) summaries: Vec<Custom>,
}

/// A filter: one test, or several together.
#[derive(Debug)]
pub enum Filter {
    /// Every one of them is true.
    And(Vec<Filter>),
    /// Any of them is true.
    Or(Vec<Filter>),
    /// None of them is true.
    Not(Vec<Filter>),
    /// One expression.
    Test(Box<Test>),
}

/// An expression with its text and its place in the base.
#[derive(Debug)]
pub struct Test {
    /// Where it stands, e.g. `views[1].filters.and[0]`.
    pub place: String,
    /// As written.
    pub text: String,
    pub(crate) expression: Expression,
}

/// A formula.
#[derive(Debug)]
pub struct Formula {
    /// Its name.
    pub name: String,
    /// What it computes.
    pub test: Test,
}

/// A summary that the base defines.
#[derive(Debug)]
pub(crate) struct Custom {
    pub name: String,
    pub test: Test,
}

/// What is said about a property.
#[derive(Debug)]
pub struct Property {
    /// As written.
    pub id: String,
    /// Which property.
    pub property: PropertyId,
    /// What views call it.
    pub display_name: Option<String>,
}

/// A property that a view shows, sorts or groups by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PropertyId {
    /// Of the note: `note.x`, or just `x`.
    Note(Text),
    /// Of the file: `file.x`.
    File(&'static str),
    /// A formula, by its place in the base.
    Formula(usize),
    /// A formula that is not there any more; always empty.
    Gone(Text),
}

/// A view.
#[derive(Debug)]
pub struct BaseView {
    /// `table`, `cards`, `list`, `map`, or a plugin's.
    pub kind: String,
    /// Its name.
    pub name: String,
    /// Its own filter, besides that of the base.
    pub filters: Option<Filter>,
    /// The most rows.
    pub limit: Option<usize>,
    /// By what rows are put together.
    pub group_by: Option<(PropertyId, Direction)>,
    /// By what rows are sorted, the first first.
    pub sort: Vec<(PropertyId, Direction)>,
    /// The columns, with their ids as written.
    pub order: Vec<(String, PropertyId)>,
    /// Which summary belongs to which property.
    pub(crate) summaries: Vec<(String, PropertyId, Summary)>,
}

/// Up or down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The smallest first.
    Ascending,
    /// The largest first.
    Descending,
}

impl Base {
    /// Reads a base: the text of a `.base` file or of a `base` code block.
    pub fn parse(text: &str) -> Result<Base, BaseError> {
        read::base(text)
    }

    /// The view of this name, or the first one. A base without views has one table of file names.
    pub fn view(&self, name: Option<&str>) -> Result<Option<&BaseView>, BaseError> {
        let Some(name) = name else { return Ok(self.views.first()) };
        let exact = self.views.iter().find(|view| view.name == name);
        let folded = || self.views.iter().find(|view| view.name.to_lowercase() == name.to_lowercase());
        match exact.or_else(folded) {
            Some(view) => Ok(Some(view)),
            None => Err(BaseError::NoView {
                name: name.to_owned(),
                names: self.views.iter().map(|view| view.name.clone()).collect(),
            }),
        }
    }

    /// What a column is called: its display name, or its id without the kind in front.
    pub fn display_name(&self, id: &str, property: &PropertyId) -> String {
        let said = self.properties.iter().find(|known| known.property == *property);
        if let Some(name) = said.and_then(|known| known.display_name.clone()) {
            return name;
        }
        match property {
            PropertyId::Note(name) | PropertyId::Gone(name) => name.to_string(),
            PropertyId::Formula(index) => {
                self.formulas.get(*index).map_or_else(|| id.to_owned(), |formula| formula.name.clone())
            }
            PropertyId::File(field) => format!("file.{field}"),
        }
    }
}

/// A mistake in an expression, with its place in the base.
pub(crate) fn misplaced(mistake: Mistake, place: &str, line: usize, text: &str) -> BaseError {
    let at = (0..=mistake.at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    BaseError::Expression {
        place: place.to_owned(),
        line,
        text: text.to_owned(),
        column: text[..at].chars().count() + 1,
        message: mistake.message,
        hint: mistake.hint,
    }
}
