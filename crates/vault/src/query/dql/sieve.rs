//! Conditions and sortings that the catalog decides by itself, so that a note outside the answer never becomes a page.
//!
//! [`super::rows`] takes the clauses at the beginning of a query here; what can fail, or needs another file, is not
//! taken and goes the long way: comparisons of a field with a value in the query, `and`, `or`, `!`, and sorting by plain
//! values are what most queries ask. Both ways answer alike: `both_ways_give_the_same_rows` holds that.

use std::cell::Cell;
use std::cmp::Ordering;

use super::ast::{Direction, Expression, Literal, Operator, Step};
use super::collate;
use super::compare::{compare, is_truthy, sort_order};
use super::date::Zone;
use super::evaluate::Evaluator;
use super::held::{Field, Held, Key, Memo, Part};
use super::value::{Scope, Value};
use crate::catalog::FileInfo;
use crate::path::VaultPath;

/// What looking at one note may cost, in steps; dearer conditions are for those who count while they work.
const DEAREST: usize = 400;
/// How deep conditions may be nested here; deeper ones are for those who count depth.
const DEEPEST: u32 = 32;
/// How many rows are put aside beyond those that are wanted before the best are chosen.
const ASIDE: usize = 64;

/// What notes have to pass, in which order they are wanted, and how many.
#[derive(Debug)]
pub struct Sieve {
    local: Zone,
    tests: Vec<Test>,
    sort: Vec<(Leaf, Direction)>,
    limit: Option<usize>,
}

/// Whether a note passes.
#[derive(Debug)]
enum Test {
    /// The value counts as true.
    Truthy(Leaf),
    /// The value against one of the query.
    Compare { leaf: Leaf, operator: Operator, value: Value },
    /// The opposite.
    Not(Box<Test>),
    /// Several, from left to right.
    Chain { first: Box<Test>, rest: Vec<(Join, Test)> },
}

#[derive(Debug, Clone, Copy)]
enum Join {
    And,
    Or,
}

/// A value that the note alone decides.
#[derive(Debug)]
enum Leaf {
    /// A field.
    Field(Field),
    /// `file.name`.
    Name,
    /// `file.path`.
    Path,
    /// `file.size`.
    Size,
}

impl Sieve {
    /// Passes everything, in path order.
    pub(crate) fn open(local: Zone) -> Sieve {
        Sieve { local, tests: Vec::new(), sort: Vec::new(), limit: None }
    }

    /// Adds a condition; says no if it must go the long way.
    pub(crate) fn add(&mut self, at: &Evaluator<'_>, condition: &Expression) -> bool {
        let test = test(at, condition, 0);
        let taken = test.is_some();
        self.tests.extend(test);
        taken
    }

    /// Adds the sorting; says no if it must go the long way.
    pub(crate) fn sort_by(&mut self, fields: &[(Expression, Direction)]) -> bool {
        let leaves: Option<Vec<_>> =
            fields.iter().map(|(field, direction)| Some((leaf(field)?, *direction))).collect();
        let taken = leaves.is_some();
        self.sort = leaves.unwrap_or_default();
        taken
    }

    /// Leaves the sorting and the limit to others.
    pub(crate) fn unsorted(&mut self) {
        self.sort.clear();
        self.limit = None;
    }

    /// Wants only so many.
    pub(crate) fn first(&mut self, limit: Option<usize>) {
        self.limit = limit;
    }

    /// Whether looking at a note costs so little that the steps may be counted afterwards.
    pub(crate) fn is_cheap(&self) -> bool {
        self.weight() <= DEAREST
    }

    /// What looking at one note costs, in steps.
    pub(crate) fn weight(&self) -> usize {
        4 + self.tests.iter().map(Test::weight).sum::<usize>() + 4 * self.sort.len()
    }

    /// The notes that pass, in their order, and how many were looked at. Nothing where a value to sort by needs other files.
    pub(crate) fn sift<'c>(&self, notes: impl Iterator<Item = &'c FileInfo>) -> Option<Sifted> {
        let mut memo = Memo::new(self.local.clone());
        let mut best = Best { sieve: self, rows: Vec::new(), cut: false };
        let mut looked_at = 0;
        for info in notes {
            looked_at += 1;
            if self.tests.iter().all(|test| test.passes(info, &mut memo)) {
                best.take(info, &mut memo)?;
                if best.is_full() {
                    break;
                }
            }
        }
        Some(Sifted { paths: best.finish(), looked_at })
    }
}

/// What a sieve has let through.
#[derive(Debug)]
pub struct Sifted {
    /// The notes.
    pub paths: Vec<VaultPath>,
    /// How many were looked at.
    pub looked_at: usize,
}

/// The best rows so far.
struct Best<'s, 'c> {
    sieve: &'s Sieve,
    rows: Vec<(Vec<Key<'c>>, &'c FileInfo)>,
    /// Whether the first rows, as many as the limit, are sorted and the best of all before them.
    cut: bool,
}

impl<'c> Best<'_, 'c> {
    fn is_full(&self) -> bool {
        self.sieve.sort.is_empty() && self.sieve.limit.is_some_and(|limit| self.rows.len() >= limit)
    }

    fn take(&mut self, info: &'c FileInfo, memo: &mut Memo) -> Option<()> {
        let limit = self.sieve.limit.unwrap_or(usize::MAX);
        if self.cut && self.is_out(info, memo, limit) {
            return Some(());
        }
        let mut keys = Vec::with_capacity(self.sieve.sort.len());
        for (leaf, _) in &self.sieve.sort {
            keys.push(leaf.held(info, memo).into_key()?);
        }
        self.rows.push((keys, info));
        if !self.sieve.sort.is_empty() && self.rows.len() >= limit.saturating_mul(2).saturating_add(ASIDE) {
            self.sort();
            self.rows.truncate(limit);
            self.cut = true;
        }
        Some(())
    }

    /// Whether a note comes behind the last of the best. Of equal ones the earlier comes first.
    fn is_out(&self, info: &'c FileInfo, memo: &mut Memo, limit: usize) -> bool {
        let Some((last, _)) = limit.checked_sub(1).and_then(|place| self.rows.get(place)) else {
            return false;
        };
        for ((leaf, direction), last) in self.sieve.sort.iter().zip(last) {
            // What cannot be sorted here is for `take` to say.
            let Some(order) = leaf.held(info, memo).part().map(|part| order(part, last.part())) else {
                return false;
            };
            match directed(order, *direction) {
                Ordering::Less => return false,
                Ordering::Equal => {}
                Ordering::Greater => return true,
            }
        }
        true
    }

    fn sort(&mut self) {
        let directions = &self.sieve.sort;
        self.rows.sort_by(|(a, _), (b, _)| {
            let keys = a.iter().zip(b).zip(directions);
            let mut orders = keys.map(|((a, b), (_, way))| directed(order(a.part(), b.part()), *way));
            orders.find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
        });
    }

    fn finish(mut self) -> Vec<VaultPath> {
        if !self.sieve.sort.is_empty() {
            self.sort();
        }
        self.rows.truncate(self.sieve.limit.unwrap_or(usize::MAX));
        self.rows.into_iter().map(|(_, info)| info.path.clone()).collect()
    }
}

fn directed(order: Ordering, direction: Direction) -> Ordering {
    match direction {
        Direction::Ascending => order,
        Direction::Descending => order.reverse(),
    }
}

/// The order of two plain values, for sorting.
fn order(a: Part<'_>, b: Part<'_>) -> Ordering {
    match (a, b) {
        (Part::Text(a), Part::Text(b)) => collate::compare(a, b),
        (Part::Text(text), Part::Value(value)) => text_order(text, value),
        (Part::Value(value), Part::Text(text)) => text_order(text, value).reverse(),
        (Part::Value(a), Part::Value(b)) => sort_order(a, b, &str::to_owned),
    }
}

/// The order of a text and any value.
fn text_order(text: &str, value: &Value) -> Ordering {
    match value {
        Value::Text(other) => collate::compare(text, other),
        Value::Null => Ordering::Greater,
        other => "string".cmp(other.type_name()),
    }
}

impl Test {
    fn passes(&self, info: &FileInfo, memo: &mut Memo) -> bool {
        match self {
            Test::Truthy(leaf) => match leaf.held(info, memo) {
                Held::Text(text) => !text.is_empty(),
                Held::Plain(value) => is_truthy(&value),
                Held::Deep { truthy, .. } => truthy,
            },
            Test::Compare { leaf, operator, value } => {
                let order = match leaf.held(info, memo) {
                    Held::Text(text) => text_order(text, value),
                    // No path is asked for: a value of the query is no link, and holds none.
                    Held::Plain(held) => compare(&held, value, &str::to_owned),
                    Held::Deep { .. } if value.is_null() => Ordering::Greater,
                    Held::Deep { kind, .. } => kind.cmp(value.type_name()),
                };
                fits(*operator, order)
            }
            Test::Not(inner) => !inner.passes(info, memo),
            Test::Chain { first, rest } => {
                rest.iter().fold(first.passes(info, memo), |left, (join, right)| match join {
                    Join::And => left && right.passes(info, memo),
                    Join::Or => left || right.passes(info, memo),
                })
            }
        }
    }

    fn weight(&self) -> usize {
        match self {
            Test::Truthy(_) => 1,
            Test::Compare { .. } => 3,
            Test::Not(inner) => 1 + inner.weight(),
            Test::Chain { first, rest } => {
                first.weight() + rest.iter().map(|(_, test)| 1 + test.weight()).sum::<usize>()
            }
        }
    }
}

fn fits(operator: Operator, order: Ordering) -> bool {
    match operator {
        Operator::Less => order.is_lt(),
        Operator::LessOrEqual => order.is_le(),
        Operator::Greater => order.is_gt(),
        Operator::GreaterOrEqual => order.is_ge(),
        Operator::Equal => order.is_eq(),
        _ => order.is_ne(),
    }
}

/// The operator with its sides exchanged.
fn turned(operator: Operator) -> Operator {
    match operator {
        Operator::Less => Operator::Greater,
        Operator::LessOrEqual => Operator::GreaterOrEqual,
        Operator::Greater => Operator::Less,
        Operator::GreaterOrEqual => Operator::LessOrEqual,
        same => same,
    }
}

impl Leaf {
    fn held<'c, 'm>(&self, info: &'c FileInfo, memo: &'m mut Memo) -> Held<'c, 'm> {
        match self {
            Leaf::Field(field) => memo.field(info, field),
            Leaf::Name => Held::Text(info.path.stem()),
            Leaf::Path => Held::Text(info.path.as_str()),
            Leaf::Size => Held::plain(Value::Number(info.stat.size as f64)),
        }
    }
}

fn test(at: &Evaluator<'_>, expression: &Expression, depth: u32) -> Option<Test> {
    if depth > DEEPEST {
        return None;
    }
    match expression {
        Expression::Not(inner) => Some(Test::Not(Box::new(test(at, inner, depth + 1)?))),
        Expression::Chain { first, rest } => match rest.as_slice() {
            [(operator, right)] if is_comparison(*operator) => comparison(at, first, *operator, right),
            _ => {
                let first = Box::new(test(at, first, depth + 1)?);
                let join = |operator: &Operator| match operator {
                    Operator::And => Some(Join::And),
                    Operator::Or => Some(Join::Or),
                    _ => None,
                };
                let each = |(operator, right): &(Operator, Expression)| {
                    Some((join(operator)?, test(at, right, depth + 1)?))
                };
                Some(Test::Chain { first, rest: rest.iter().map(each).collect::<Option<_>>()? })
            }
        },
        other => leaf(other).map(Test::Truthy),
    }
}

fn is_comparison(operator: Operator) -> bool {
    use Operator::{Equal, Greater, GreaterOrEqual, Less, LessOrEqual, NotEqual};
    matches!(operator, Less | LessOrEqual | Greater | GreaterOrEqual | Equal | NotEqual)
}

/// A comparison of a leaf with a value of the query. `NaN` and durations have no opposite, so the sides are exchanged
/// only for values that have.
fn comparison(at: &Evaluator<'_>, left: &Expression, operator: Operator, right: &Expression) -> Option<Test> {
    if let (Some(leaf), Some(value)) = (leaf(left), plain(at, right)) {
        return Some(Test::Compare { leaf, operator, value });
    }
    let (value, leaf) = (plain(at, left)?, leaf(right)?);
    matches!(value, Value::Null | Value::Bool(_) | Value::Text(_)).then(|| Test::Compare {
        leaf,
        operator: turned(operator),
        value,
    })
}

/// A value that stands in the query and needs no other file.
fn plain(at: &Evaluator<'_>, expression: &Expression) -> Option<Value> {
    let Expression::Literal(literal) = expression else { return None };
    if matches!(literal, Literal::Link(_) | Literal::List(_)) {
        return None;
    }
    at.evaluate(expression, &Scope::default()).ok()
}

fn leaf(expression: &Expression) -> Option<Leaf> {
    match expression {
        Expression::Variable(name) if !matches!(&**name, "file" | "this" | "row" | "rows") => {
            Some(Leaf::Field(Field { name: name.clone(), hint: Cell::new(0) }))
        }
        Expression::Postfix { base, steps } => match (&**base, steps.as_slice()) {
            (Expression::Variable(file), [Step::Index(Expression::Literal(Literal::Text(part)))])
                if &**file == "file" =>
            {
                match &**part {
                    "name" => Some(Leaf::Name),
                    "path" => Some(Leaf::Path),
                    "size" => Some(Leaf::Size),
                    _ => None,
                }
            }
            _ => None,
        },
        _ => None,
    }
}
