//! A parsed query. Chains of operators and of `.x`, `[x]`, `(x)` are flat lists: the tree is as deep as the brackets
//! in the text, which the parser bounds, so that walking and dropping a tree never runs out of stack.

use std::sync::Arc;

use super::date::{Civil, Date, Zone};
use super::duration::Duration;
use super::value::Link;
use crate::text::Text;

/// Something that can be computed.
#[derive(Debug, Clone, PartialEq)]
pub enum Expression {
    /// A value written out.
    Literal(Literal),
    /// A field of the row, or a parameter.
    Variable(Text),
    /// `[a, b]`.
    List(Vec<Expression>),
    /// `{a: 1}`.
    Object(Vec<(Text, Expression)>),
    /// `!a`.
    Not(Box<Expression>),
    /// `(a, b) => a + b`.
    Lambda {
        /// The names of its parameters.
        parameters: Vec<Text>,
        /// What it computes.
        body: Arc<Expression>,
    },
    /// Operators of one rank, from left to right.
    Chain {
        /// The leftmost operand.
        first: Box<Expression>,
        /// The others with the operator in front of each.
        rest: Vec<(Operator, Expression)>,
    },
    /// Indexes and calls behind something.
    Postfix {
        /// What they are applied to.
        base: Box<Expression>,
        /// One after the other.
        steps: Vec<Step>,
    },
}

/// One step behind an expression.
#[derive(Debug, Clone, PartialEq)]
pub enum Step {
    /// `.name` or `[expression]`.
    Index(Expression),
    /// `(arguments)`.
    Call(Vec<Expression>),
}

/// A value written out.
#[derive(Debug, Clone, PartialEq)]
pub enum Literal {
    /// `null`.
    Null,
    /// `true`, `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text in quotes, or a tag.
    Text(Text),
    /// A date.
    Date(DateLiteral),
    /// A date by name.
    Shorthand(Shorthand),
    /// A duration.
    Duration(Duration),
    /// A link.
    Link(Arc<Link>),
    /// Several of these, in an inline field.
    List(Vec<Literal>),
}

/// A date as written: without a zone of its own it is in the zone of whoever asks.
#[derive(Debug, Clone, PartialEq)]
pub struct DateLiteral {
    /// Its parts.
    pub civil: Civil,
    /// Its zone, if it names one.
    pub zone: Option<Zone>,
}

impl DateLiteral {
    /// The date for somebody in this zone.
    pub fn in_zone(&self, local: &Zone) -> Option<Date> {
        Date::new(self.civil, self.zone.clone().unwrap_or_else(|| local.clone()))
    }
}

/// Dates by name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shorthand {
    /// This moment.
    Now,
    /// Midnight of the day so many days from today.
    Day(i8),
    /// The first moment of this period.
    Start(Period),
    /// The last millisecond of this period.
    End(Period),
}

/// A period around today.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Period {
    /// Monday to Sunday.
    Week,
    /// The month.
    Month,
    /// The year.
    Year,
}

/// The operators between two values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    /// `+`
    Add,
    /// `-`
    Subtract,
    /// `*`
    Multiply,
    /// `/`
    Divide,
    /// `%`
    Remainder,
    /// `<`
    Less,
    /// `<=`
    LessOrEqual,
    /// `>`
    Greater,
    /// `>=`
    GreaterOrEqual,
    /// `=`
    Equal,
    /// `!=`
    NotEqual,
    /// `and`, `&`
    And,
    /// `or`, `|`
    Or,
}

impl Operator {
    /// How it is written.
    pub fn sign(self) -> &'static str {
        match self {
            Operator::Add => "+",
            Operator::Subtract => "-",
            Operator::Multiply => "*",
            Operator::Divide => "/",
            Operator::Remainder => "%",
            Operator::Less => "<",
            Operator::LessOrEqual => "<=",
            Operator::Greater => ">",
            Operator::GreaterOrEqual => ">=",
            Operator::Equal => "=",
            Operator::NotEqual => "!=",
            Operator::And => "and",
            Operator::Or => "or",
        }
    }
}

/// A whole query.
#[derive(Debug, Clone, PartialEq)]
pub struct Query {
    /// What comes out.
    pub header: Header,
    /// Which pages go in.
    pub source: Source,
    /// What happens to the rows, in written order.
    pub clauses: Vec<Clause>,
}

/// What a query answers with.
#[derive(Debug, Clone, PartialEq)]
pub enum Header {
    /// A table.
    Table {
        /// The columns.
        fields: Vec<Named>,
        /// Whether the row's file or group is the first column.
        id: Id,
    },
    /// A list.
    List {
        /// What each item shows besides the file.
        value: Option<Expression>,
        /// Whether each item shows its file or group.
        id: Id,
    },
    /// Tasks.
    Task,
    /// Days.
    Calendar(Named),
}

/// Whether the row's own name is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Id {
    /// It is.
    Shown,
    /// `WITHOUT ID`.
    Hidden,
}

/// An expression with its name.
#[derive(Debug, Clone, PartialEq)]
pub struct Named {
    /// The name behind `AS`, or the text of the expression.
    pub name: Text,
    /// The expression.
    pub field: Expression,
}

/// One step of a query.
#[derive(Debug, Clone, PartialEq)]
pub enum Clause {
    /// A `FROM` where none may be.
    From,
    /// `WHERE`.
    Where(Expression),
    /// `SORT`.
    Sort(Vec<(Expression, Direction)>),
    /// `LIMIT`.
    Limit(Expression),
    /// `FLATTEN`.
    Flatten(Named),
    /// `GROUP BY`.
    Group(Named),
}

/// Which end comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// The least.
    Ascending,
    /// The greatest.
    Descending,
}

/// Where pages come from.
#[derive(Debug, Clone, PartialEq)]
pub enum Source {
    /// Pages with a tag, or one below it.
    Tag(String),
    /// The rows of a CSV file.
    Csv(String),
    /// A folder or one file; empty for the whole vault.
    Folder(String),
    /// Pages that link to a file.
    Incoming(Link),
    /// Pages to which a file links.
    Outgoing(Link),
    /// All but these.
    Not(Box<Source>),
    /// Several, from left to right.
    Chain {
        /// The leftmost.
        first: Box<Source>,
        /// The others: [`Operator::And`] or [`Operator::Or`] in front of each.
        rest: Vec<(Operator, Source)>,
    },
}
