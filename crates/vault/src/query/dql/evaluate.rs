//! Computes expressions. Bounded: every step is counted, and so is how deep calls and values are nested.
//!
//! A row that cannot be computed is a [`Fault::Failed`], which the query may pass over; a limit ends the query.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::sync::Arc;

use regex::Regex;

use super::Context;
use super::ast::{Expression, Literal, Operator, Period, Shorthand, Step};
use super::compare::{compare, is_truthy, sort_order};
use super::date::{Civil, Date, Zone, days_in_month};
use super::duration::{Duration, UNITS, Unit};
use super::error::QueryError;
use super::functions;
use super::operators;
use super::page::Maker;
use super::pages::Pages;
use super::parse::known_value;
use super::text::{unit_slice, units};
use super::value::{Lambda, Object, Scope, Value};
use super::wants::Wants;
use crate::path::VaultPath;
use crate::text::Text;

/// Steps of work for one query: an operator, a call, a byte of a text that is made.
pub const MOST_STEPS: u64 = 50_000_000;
/// How many compiled patterns are kept.
const MOST_PATTERNS: usize = 64;
/// How deep expressions, calls and values may be nested while computing.
const DEEPEST: u32 = 80;
/// How deep lists and objects may be nested.
const DEEPEST_VALUE: u32 = 300;
/// How much one value may be when it is written out.
const LARGEST_VALUE: u64 = 50_000_000;

/// Why an expression has no value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It makes no sense: wrong types, an unknown function.
    Failed(String),
    /// It is too much.
    Limit(String),
    /// The vault could not be read.
    Vault(Box<crate::Error>),
}

impl From<crate::Error> for Fault {
    fn from(error: crate::Error) -> Fault {
        Fault::Vault(Box::new(error))
    }
}

impl From<Fault> for QueryError {
    fn from(fault: Fault) -> QueryError {
        match fault {
            Fault::Failed(message) => QueryError::Evaluate { message },
            Fault::Limit(message) => QueryError::Limit { message },
            Fault::Vault(error) => QueryError::Vault(*error),
        }
    }
}

pub(crate) fn failed<T>(message: impl Into<String>) -> Result<T, Fault> {
    Err(Fault::Failed(message.into()))
}

/// Computes expressions for one query.
pub(crate) struct Evaluator<'a> {
    pub(crate) pages: &'a dyn Pages,
    pub(crate) local: Zone,
    pub(crate) now: Date,
    pub(crate) origin: Option<VaultPath>,
    /// Makes the pages with all that the query mentions.
    pub(crate) maker: Maker,
    this: Value,
    /// Pages that a link was followed to.
    linked: RefCell<HashMap<VaultPath, Option<Arc<Object>>>>,
    /// Dates that stand in the query, by the place of the literal; working one out takes longer than the rest of a row.
    dates: RefCell<HashMap<*const Literal, Value>>,
    steps: Cell<u64>,
    depth: Cell<u32>,
    patterns: RefCell<HashMap<String, Option<Arc<Regex>>>>,
}

impl<'a> Evaluator<'a> {
    /// For one query, whose expressions must outlive this.
    pub(crate) fn new(pages: &'a dyn Pages, context: &Context, wants: Wants) -> Result<Evaluator<'a>, Fault> {
        let local = Zone::Local(context.now.time_zone().clone());
        let now = Date::at(context.now.timestamp().as_millisecond(), local.clone());
        let Some(now) = now else {
            return failed("the time of the query is outside of the years that dates have");
        };
        let maker = Maker::new(wants, local.clone());
        let this = match &context.this {
            Some(path) => only(pages.pages(std::slice::from_ref(path), &maker)?),
            None => None,
        };
        Ok(Evaluator {
            pages,
            local,
            now,
            origin: context.this.clone(),
            maker,
            this: Value::Object(this.unwrap_or_default()),
            linked: RefCell::default(),
            dates: RefCell::default(),
            steps: Cell::new(0),
            depth: Cell::new(0),
            patterns: RefCell::default(),
        })
    }

    /// Counts work.
    pub(crate) fn charge(&self, steps: usize) -> Result<(), Fault> {
        let sum = self.steps.get().saturating_add(steps as u64);
        self.steps.set(sum);
        if sum > MOST_STEPS {
            return Err(Fault::Limit(format!("the query takes more than {MOST_STEPS} steps")));
        }
        Ok(())
    }

    /// The full path of a link's path, or the path itself if it leads nowhere.
    pub(crate) fn full_path(&self, path: &str) -> String {
        match self.pages.resolve(path, self.origin.as_ref()) {
            Some(found) => found.as_str().to_owned(),
            None => path.to_owned(),
        }
    }

    pub(crate) fn compare(&self, a: &Value, b: &Value) -> std::cmp::Ordering {
        compare(a, b, &|path| self.full_path(path))
    }

    /// A total order, for sorting.
    pub(crate) fn sort_order(&self, a: &Value, b: &Value) -> std::cmp::Ordering {
        sort_order(a, b, &|path| self.full_path(path))
    }

    /// The value of an expression.
    pub(crate) fn evaluate(&self, expression: &Expression, scope: &Scope) -> Result<Value, Fault> {
        self.charge(1)?;
        if self.depth.get() >= DEEPEST {
            return Err(Fault::Limit(format!("calls are nested deeper than {DEEPEST}")));
        }
        self.depth.set(self.depth.get() + 1);
        let found = self.evaluate_here(expression, scope);
        self.depth.set(self.depth.get() - 1);
        let found = found?;
        bounded(&found)?;
        Ok(found)
    }

    // One small function per kind of expression: their frames lie on the stack once per level.
    fn evaluate_here(&self, expression: &Expression, scope: &Scope) -> Result<Value, Fault> {
        match expression {
            Expression::Literal(literal) => self.literal(literal),
            Expression::Variable(name) => Ok(self.variable(name, scope)),
            Expression::List(items) => self.all(items, scope).map(Value::list),
            Expression::Object(entries) => self.object(entries, scope),
            Expression::Not(inner) => self.negated(inner, scope),
            Expression::Lambda { parameters, body } => Ok(lambda(parameters, body, scope)),
            Expression::Chain { first, rest } => self.chain(first, rest, scope),
            Expression::Postfix { base, steps } => self.postfix(base, steps, scope),
        }
    }

    fn object(&self, entries: &[(Text, Expression)], scope: &Scope) -> Result<Value, Fault> {
        let mut object = Object::default();
        for (name, value) in entries {
            object.set(name.clone(), self.evaluate(value, scope)?);
        }
        Ok(Value::object(object))
    }

    fn negated(&self, inner: &Expression, scope: &Scope) -> Result<Value, Fault> {
        self.evaluate(inner, scope).map(|value| Value::Bool(!is_truthy(&value)))
    }

    fn chain(
        &self,
        first: &Expression,
        rest: &[(Operator, Expression)],
        scope: &Scope,
    ) -> Result<Value, Fault> {
        let mut left = self.evaluate(first, scope)?;
        for (operator, right) in rest {
            let right = self.evaluate(right, scope)?;
            left = self.operate(*operator, &left, &right)?;
        }
        Ok(left)
    }

    fn all(&self, items: &[Expression], scope: &Scope) -> Result<Vec<Value>, Fault> {
        let mut out = Vec::with_capacity(items.len());
        for item in items {
            out.push(self.evaluate(item, scope)?);
        }
        Ok(out)
    }

    fn variable(&self, name: &str, scope: &Scope) -> Value {
        match scope.get(name) {
            Some(value) => value.clone(),
            None if name == "this" => self.this.clone(),
            None if name == "row" => Value::Object(scope.row.clone()),
            None => Value::Null,
        }
    }

    pub(crate) fn operate(&self, operator: Operator, a: &Value, b: &Value) -> Result<Value, Fault> {
        self.charge(weight(a).min(weight(b)).saturating_add(1))?;
        operators::apply(self, operator, a, b)
    }

    /// Indexes and calls. An index of null gives null whatever stands in front of it, so it is looked at first.
    fn postfix(&self, base: &Expression, steps: &[Step], scope: &Scope) -> Result<Value, Fault> {
        let last_call = steps.iter().rposition(|step| matches!(step, Step::Call(_)));
        if last_call.is_some_and(|at| at + 1 == steps.len()) {
            return self.called(base, steps, scope);
        }
        let mut indexes = self.indexes(&steps[last_call.map_or(0, |at| at + 1)..], scope)?;
        let value = match (indexes.last(), last_call) {
            (Some(Value::Null), _) => {
                indexes.pop();
                Value::Null
            }
            (_, Some(at)) => self.called(base, &steps[..=at], scope)?,
            (Some(Value::Text(name)), None) if is_row(base, scope) => {
                let found = self.variable(name, scope);
                indexes.pop();
                found
            }
            (_, None) => self.evaluate(base, scope)?,
        };
        self.indexed(value, indexes)
    }

    /// The indexes behind the last one that is null, that one included; the last first.
    fn indexes(&self, steps: &[Step], scope: &Scope) -> Result<Vec<Value>, Fault> {
        let mut out = Vec::with_capacity(steps.len());
        for step in steps.iter().rev() {
            let Step::Index(index) = step else { continue };
            let index = self.evaluate(index, scope)?;
            let is_null = index.is_null();
            out.push(index);
            if is_null {
                break;
            }
        }
        Ok(out)
    }

    fn indexed(&self, mut value: Value, indexes: Vec<Value>) -> Result<Value, Fault> {
        for index in indexes.into_iter().rev() {
            self.charge(1)?;
            value = self.index(&value, &index)?;
        }
        Ok(value)
    }

    /// The last of the steps is a call.
    fn called(&self, base: &Expression, steps: &[Step], scope: &Scope) -> Result<Value, Fault> {
        let Some((Step::Call(arguments), before)) = steps.split_last() else {
            return failed("this is no call");
        };
        let arguments = self.all(arguments, scope)?;
        if let (Expression::Variable(name), true) = (base, before.is_empty()) {
            return self.called_by_name(&name.to_lowercase(), arguments, scope);
        }
        let function = match before.is_empty() {
            true => self.evaluate(base, scope)?,
            false => self.postfix(base, before, scope)?,
        };
        self.call_value(&function, arguments)
    }

    fn called_by_name(&self, name: &str, arguments: Vec<Value>, scope: &Scope) -> Result<Value, Fault> {
        if functions::is_known(name) {
            return self.function(name, arguments);
        }
        match scope.get(name).cloned() {
            Some(function) => self.call_value(&function, arguments),
            None => failed(format!("there is no function `{name}`{}", functions::near(name))),
        }
    }

    fn call_value(&self, function: &Value, arguments: Vec<Value>) -> Result<Value, Fault> {
        match function {
            Value::Function(lambda) => self.call(lambda, arguments),
            other => failed(format!("a {} is not a function", other.type_name())),
        }
    }

    pub(crate) fn function(&self, name: &str, arguments: Vec<Value>) -> Result<Value, Fault> {
        self.charge(arguments.iter().map(weight).fold(1, usize::saturating_add))?;
        functions::call(self, name, arguments)
    }

    /// Calls a function of the query. Parameters without an argument are seen from outside, as in Dataview.
    pub(crate) fn call(&self, lambda: &Lambda, arguments: Vec<Value>) -> Result<Value, Fault> {
        let names = lambda.parameters.iter().cloned().zip(arguments).collect();
        self.evaluate(&lambda.body, &lambda.scope.with(names))
    }

    fn literal(&self, literal: &Literal) -> Result<Value, Fault> {
        let is_date = matches!(literal, Literal::Shorthand(_) | Literal::Date(_));
        if is_date && let Some(known) = self.dates.borrow().get(&std::ptr::from_ref(literal)) {
            return Ok(known.clone());
        }
        let found = match literal {
            Literal::Shorthand(shorthand) => self.named_date(*shorthand).map(Value::Date),
            other => known_value(other, &self.local),
        };
        let Some(found) = found else { return failed("this is no date that can be written") };
        if is_date {
            self.dates.borrow_mut().insert(std::ptr::from_ref(literal), found.clone());
        }
        Ok(found)
    }

    /// A page that a link leads to; each is made once.
    fn page(&self, path: &VaultPath) -> Result<Option<Arc<Object>>, Fault> {
        if let Some(known) = self.linked.borrow().get(path) {
            return Ok(known.clone());
        }
        let page = only(self.pages.pages(std::slice::from_ref(path), &self.maker)?);
        self.linked.borrow_mut().insert(path.clone(), page.clone());
        Ok(page)
    }

    /// A date by name, counted from now.
    pub(crate) fn named_date(&self, shorthand: Shorthand) -> Option<Date> {
        let civil = self.now.civil();
        let day = |year, month, day| Date::new(Civil::day(year, month, day), self.local.clone());
        let monday = civil.day - self.now.weekday() + 1;
        let last = |date: Option<Date>| date?.minus(&Duration::of(Unit::Milliseconds, 1.0));
        match shorthand {
            Shorthand::Now => Some(self.now.clone()),
            Shorthand::Day(days) => day(civil.year, civil.month, civil.day + i64::from(days)),
            Shorthand::Start(Period::Week) => day(civil.year, civil.month, monday),
            Shorthand::Start(Period::Month) => day(civil.year, civil.month, 1),
            Shorthand::Start(Period::Year) => day(civil.year, 1, 1),
            Shorthand::End(Period::Week) => last(day(civil.year, civil.month, monday + 7)),
            Shorthand::End(Period::Month) => {
                last(day(civil.year, civil.month, days_in_month(civil.year, civil.month) + 1))
            }
            Shorthand::End(Period::Year) => last(day(civil.year + 1, 1, 1)),
        }
    }

    /// `value[index]`.
    pub(crate) fn index(&self, value: &Value, index: &Value) -> Result<Value, Fault> {
        match (value, index) {
            (Value::Object(object), Value::Text(name)) => Ok(object.get(name).cloned().unwrap_or_default()),
            (Value::Object(_), _) => failed("objects are indexed by name: `a.b` or `a[\"b\"]`"),
            (Value::Link(link), Value::Text(name)) => {
                let Some(path) = self.pages.resolve(&link.path, self.origin.as_ref()) else {
                    return Ok(Value::Null);
                };
                let page = self.page(&path)?;
                Ok(page.and_then(|page| page.get(name).cloned()).unwrap_or_default())
            }
            (Value::Link(_), _) => failed("links are indexed by the name of a field"),
            (Value::List(list), Value::Number(at)) => {
                Ok(position(*at).and_then(|at| list.get(at).cloned()).unwrap_or_default())
            }
            (Value::List(list), Value::Text(_)) => {
                let mut out = Vec::with_capacity(list.len());
                for item in list.iter() {
                    self.charge(1)?;
                    match self.index(item, index) {
                        Ok(found) => out.push(found),
                        Err(Fault::Failed(_)) => {}
                        Err(other) => return Err(other),
                    }
                }
                Ok(Value::list(out))
            }
            (Value::List(_), _) => failed("lists are indexed by number or by name"),
            (Value::Text(text), Value::Number(at)) => Ok(position(*at)
                .filter(|at| *at < units(text))
                .map(|at| Value::from(unit_slice(text, at, at + 1)))
                .unwrap_or_default()),
            (Value::Text(_), _) => failed("texts are indexed by number"),
            (Value::Date(date), Value::Text(name)) => Ok(date_part(date, name)),
            (Value::Duration(duration), Value::Text(name)) => Ok(duration_part(duration, name)),
            (Value::Date(_) | Value::Duration(_), _) => {
                failed("dates and durations are indexed by a unit's name")
            }
            _ => Ok(Value::Null),
        }
    }

    /// A compiled pattern; each is compiled once per query.
    pub(crate) fn pattern(
        &self,
        pattern: &str,
        compile: impl FnOnce(&str) -> Option<Regex>,
    ) -> Result<Arc<Regex>, Fault> {
        let mut patterns = self.patterns.borrow_mut();
        if !patterns.contains_key(pattern) {
            // The dearest step there is, and a pattern may come from the notes.
            self.charge(100_000)?;
            if patterns.len() >= MOST_PATTERNS {
                patterns.clear();
            }
            patterns.insert(pattern.to_owned(), compile(pattern).map(Arc::new));
        }
        match patterns.get(pattern).cloned().flatten() {
            Some(found) => Ok(found),
            None => failed(format!(
                "`{pattern}` is not a pattern that can be used; look-around and back-references are not supported"
            )),
        }
    }
}

/// Refuses a value that nobody could write out. By itself, to keep the frames of nested calls small.
#[inline(never)]
fn bounded(value: &Value) -> Result<(), Fault> {
    if value.depth() > DEEPEST_VALUE {
        return Err(Fault::Limit(format!("a value is nested deeper than {DEEPEST_VALUE}")));
    }
    if value.size() > LARGEST_VALUE {
        return Err(Fault::Limit(format!("a value has more than {LARGEST_VALUE} bytes")));
    }
    Ok(())
}

/// What looking at a value costs, in steps.
fn weight(value: &Value) -> usize {
    usize::try_from(value.size() / 64).unwrap_or(usize::MAX)
}

/// The one page of a list of one.
fn only(pages: Vec<Option<Arc<Object>>>) -> Option<Arc<Object>> {
    pages.into_iter().next().flatten()
}

fn lambda(parameters: &[Text], body: &Arc<Expression>, scope: &Scope) -> Value {
    let (parameters, body, scope) = (parameters.to_vec(), body.clone(), scope.clone());
    Value::Function(Arc::new(Lambda { parameters, body, scope }))
}

/// `row["odd name"]`, where `row` is no field of its own.
fn is_row(base: &Expression, scope: &Scope) -> bool {
    matches!(base, Expression::Variable(name) if &**name == "row" && scope.get("row").is_none())
}

fn position(number: f64) -> Option<usize> {
    (number >= 0.0 && number.fract() == 0.0 && number < 1e9).then_some(number as usize)
}

fn date_part(date: &Date, name: &str) -> Value {
    let civil = date.civil();
    Value::Number(match name {
        "year" => civil.year,
        "month" => civil.month,
        "weekyear" => date.iso_week().1,
        "week" => civil.day / 7 + 1,
        "weekday" => date.weekday(),
        "day" => civil.day,
        "hour" => civil.hour,
        "minute" => civil.minute,
        "second" => civil.second,
        "millisecond" => civil.millisecond,
        _ => return Value::Null,
    } as f64)
}

fn duration_part(duration: &Duration, name: &str) -> Value {
    let unit = UNITS.iter().find(|unit| unit.name() == name || unit.name().strip_suffix('s') == Some(name));
    unit.map_or(Value::Null, |unit| Value::Number(duration.total(*unit)))
}
