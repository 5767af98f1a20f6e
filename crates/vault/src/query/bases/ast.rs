//! A checked expression: names are resolved, functions and methods are known, and how deep it is nested is bounded.

use super::value::Value;
use crate::text::Text;

/// An expression and where it starts, in bytes.
#[derive(Debug)]
pub(crate) struct Expression {
    pub kind: Kind,
    pub start: usize,
    /// How deep it is nested, itself included.
    pub depth: u32,
}

/// What an expression is.
#[derive(Debug)]
pub(crate) enum Kind {
    /// A number, text, pattern, `true`, `false`, `null`.
    Constant(Value),
    /// `[a, b]`.
    List(Vec<Expression>),
    /// `{"a": b}`.
    Object(Vec<(Text, Expression)>),
    /// A property of the row.
    Note(Text),
    /// All properties of the row.
    AllProperties,
    /// The row's file.
    File,
    /// The file in which the base stands.
    This,
    /// A property of that file.
    ThisProperty(Text),
    /// Another formula, by its place in the base.
    Formula(usize),
    /// `value`, `index` and `acc` in `map`, `filter`, `reduce`.
    Item,
    /// See [`Kind::Item`].
    Position,
    /// See [`Kind::Item`].
    Sum,
    /// `values` in a summary.
    Values,
    /// `!a`.
    Not(Box<Expression>),
    /// `-a`.
    Negative(Box<Expression>),
    /// `a && b && …`.
    And(Vec<Expression>),
    /// `a || b || …`.
    Or(Vec<Expression>),
    /// Operators of one rank, from the left.
    Chain(Box<Expression>, Vec<(Operator, Expression)>),
    /// `a.name`.
    Member(Box<Expression>, Text),
    /// `a[b]`.
    Index(Box<Expression>, Box<Expression>),
    /// `name(…)`.
    Call(&'static str, Vec<Expression>),
    /// `a.name(…)`.
    Method(Box<Expression>, &'static str, Vec<Expression>),
}

/// An operator between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Operator {
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    Equal,
    Unequal,
    Less,
    LessOrEqual,
    More,
    MoreOrEqual,
}

impl Operator {
    /// As it is written.
    pub(crate) fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
            Operator::Equal => "==",
            Operator::Unequal => "!=",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::More => ">",
            Operator::MoreOrEqual => ">=",
        }
    }
}
