//! Computes expressions over rows. Bounded: every step is counted, and so are nesting and the size of texts and lists.
//!
//! Everything comes from the catalog through what may be seen; a file that may not be seen is not there.

mod properties;

use std::cell::{Cell, RefCell};
use std::collections::HashSet;

use super::ast::{Expression, Kind, Operator};
use super::model::{Base, PropertyId};
use super::value::{Day, Value};
use super::{Context, functions, methods, names, operators};
use crate::catalog::{Catalog, FileInfo, Leads, Visible};
use crate::note::links::LinkStyle;
use crate::path::VaultPath;
use crate::query::dql::date::{Date, Zone};
use crate::query::dql::text::{unit_slice, units};
use crate::text::Text;

/// Steps of work for one view: an operator, a call, a byte of a text that is made.
pub(crate) const MOST_STEPS: u64 = 50_000_000;
/// How deep expressions and formulas may be nested while computing.
const DEEPEST: u32 = 110;
/// How deep lists and objects may be nested.
const DEEPEST_VALUE: u32 = 100;
/// The longest text that may be made, in bytes.
const LONGEST_TEXT: usize = 1 << 20;
/// The longest list that may be made.
const LONGEST_LIST: usize = 200_000;

/// Why an expression has no value.
#[derive(Debug)]
pub(crate) enum Fault {
    /// It makes no sense for this row: what, and where in the expression.
    Failed(String, Option<usize>),
    /// It is too much.
    Limit(String),
}

pub(crate) type Computed<T = Value> = Result<T, Fault>;

pub(crate) fn failed<T>(message: impl Into<String>) -> Computed<T> {
    Err(Fault::Failed(message.into(), None))
}

/// One file, with the formulas that were computed for it.
pub(crate) struct Row<'a> {
    pub info: &'a FileInfo,
    formulas: RefCell<Vec<Option<Value>>>,
}

impl<'a> Row<'a> {
    pub(crate) fn new(info: &'a FileInfo) -> Row<'a> {
        Row { info, formulas: RefCell::default() }
    }
}

/// What an expression sees.
#[derive(Clone, Copy, Default)]
pub(crate) struct Scope<'s> {
    pub row: Option<&'s Row<'s>>,
    pub item: Option<&'s Value>,
    pub index: usize,
    pub sum: Option<&'s Value>,
    pub values: Option<&'s Value>,
}

/// Computes the expressions of one base for one asker.
pub(crate) struct Evaluator<'a> {
    pub catalog: &'a Catalog,
    pub visible: Visible<'a>,
    pub base: &'a Base,
    pub local: Zone,
    pub now: Date,
    /// The properties that the user's editor keeps as text, even if they look like a date.
    pub texts: &'a HashSet<String>,
    leads: RefCell<Leads<'a, 'a>>,
    this: Option<&'a FileInfo>,
    /// Where links of the base itself start.
    origin: Option<VaultPath>,
    steps: Cell<u64>,
    depth: Cell<u32>,
    random: Cell<u64>,
}

impl<'a> Evaluator<'a> {
    pub(crate) fn new(
        catalog: &'a Catalog,
        visible: Visible<'a>,
        base: &'a Base,
        texts: &'a HashSet<String>,
        context: &Context,
    ) -> Computed<Evaluator<'a>> {
        let local = Zone::Local(context.now.time_zone().clone());
        let Some(now) = Date::at(context.now.timestamp().as_millisecond(), local.clone()) else {
            return failed("the time is outside of the years that dates have");
        };
        let this = context.this.as_ref().and_then(|path| catalog.get(path, visible));
        Ok(Evaluator {
            catalog,
            visible,
            base,
            local,
            now,
            texts,
            leads: RefCell::new(catalog.leads(visible)),
            this,
            origin: context.this.clone().or_else(|| VaultPath::parse("query.base").ok()),
            steps: Cell::new(0),
            depth: Cell::new(0),
            random: Cell::new(context.seed),
        })
    }

    /// Counts work.
    pub(crate) fn charge(&self, steps: usize) -> Computed<()> {
        let sum = self.steps.get().saturating_add(steps as u64);
        self.steps.set(sum);
        if sum > MOST_STEPS {
            return Err(Fault::Limit(format!("the view takes more than {MOST_STEPS} steps")));
        }
        Ok(())
    }

    /// A text that was made.
    pub(crate) fn text(&self, text: impl Into<Text>) -> Computed {
        let text = text.into();
        self.fits(text.len())?;
        Ok(Value::Text(text))
    }

    /// Whether a text of this length may be made; asked before it is made where it may be long.
    pub(crate) fn fits(&self, length: usize) -> Computed<()> {
        if length > LONGEST_TEXT {
            return Err(Fault::Limit(format!("a text would be longer than {LONGEST_TEXT} bytes")));
        }
        // A view may not fill the memory either: what is made is what is charged.
        self.charge(length / 2)
    }

    /// A list that was made.
    pub(crate) fn list(&self, items: Vec<Value>) -> Computed {
        if items.len() > LONGEST_LIST {
            return Err(Fault::Limit(format!("a list would be longer than {LONGEST_LIST}")));
        }
        self.charge(items.len().saturating_mul(16))?;
        Ok(Value::list(items))
    }

    /// A number from 0 to 1, the next in the row that the seed starts (SplitMix64).
    pub(crate) fn random(&self) -> f64 {
        let next = self.random.get().wrapping_add(0x9E37_79B9_7F4A_7C15);
        self.random.set(next);
        let mixed = (next ^ (next >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// The file to which a target leads, from a file or from the base.
    pub(crate) fn resolve(&self, target: &str, from: Option<&VaultPath>) -> Option<&'a VaultPath> {
        let from = from.or(self.origin.as_ref())?;
        self.leads.borrow_mut().resolve(LinkStyle::Wiki, target, from)
    }

    /// What the catalog knows of a file.
    pub(crate) fn info(&self, path: &VaultPath) -> Option<&'a FileInfo> {
        self.catalog.get(path, self.visible)
    }

    /// Whether one of a file's links leads to another file; `text` decides where there is no such file.
    pub(crate) fn has_link(&self, info: &FileInfo, path: Option<&VaultPath>, text: &str) -> Computed<bool> {
        self.charge(info.links.len())?;
        let mut leads = self.leads.borrow_mut();
        Ok(info.links.iter().filter(|link| !link.target.is_empty()).any(|link| match path {
            Some(path) => may_lead(&link.target, path) && leads.follow(link, &info.path) == Some(path),
            None => &*link.target == text && leads.follow(link, &info.path).is_none(),
        }))
    }

    /// The value of an expression.
    pub(crate) fn evaluate(&self, expression: &Expression, scope: Scope<'_>) -> Computed {
        self.charge(1)?;
        if self.depth.get() >= DEEPEST {
            return Err(Fault::Limit(format!("expressions and formulas are nested deeper than {DEEPEST}")));
        }
        self.depth.set(self.depth.get() + 1);
        let found = self.evaluate_here(expression, scope);
        self.depth.set(self.depth.get() - 1);
        match found {
            Ok(value) if value.depth() > DEEPEST_VALUE => {
                Err(Fault::Limit(format!("a value is nested deeper than {DEEPEST_VALUE}")))
            }
            Err(Fault::Failed(message, None)) => Err(Fault::Failed(message, Some(expression.start))),
            other => other,
        }
    }

    fn evaluate_here(&self, expression: &Expression, scope: Scope<'_>) -> Computed {
        match &expression.kind {
            Kind::Constant(value) => Ok(value.clone()),
            Kind::List(items) => self.list(self.all(items, scope)?),
            Kind::Object(entries) => self.object(entries, scope),
            Kind::Note(name) => Ok(scope.row.map_or(Value::Null, |row| self.property(row.info, name))),
            Kind::AllProperties => Ok(scope.row.map_or(Value::Null, |row| self.properties(row.info))),
            Kind::File => Ok(scope.row.map_or(Value::Null, |row| Value::file(&row.info.path))),
            Kind::This => Ok(self.this.map_or(Value::Null, |info| Value::file(&info.path))),
            Kind::ThisProperty(name) => Ok(self.this.map_or(Value::Null, |info| self.property(info, name))),
            Kind::Formula(index) => self.formula(*index, scope),
            Kind::Item => Ok(scope.item.cloned().unwrap_or_default()),
            Kind::Position => Ok(Value::count(scope.index)),
            Kind::Sum => Ok(scope.sum.cloned().unwrap_or_default()),
            Kind::Values => Ok(scope.values.cloned().unwrap_or_default()),
            Kind::Not(inner) => Ok(Value::Bool(!self.evaluate(inner, scope)?.is_truthy())),
            Kind::Negative(inner) => operators::negative(&self.evaluate(inner, scope)?),
            Kind::And(parts) => self.until(parts, scope, false),
            Kind::Or(parts) => self.until(parts, scope, true),
            Kind::Chain(first, rest) => self.chain(first, rest, scope),
            Kind::Member(base, name) => self.member(base, name, scope),
            Kind::Index(base, index) => {
                self.index(&self.evaluate(base, scope)?, &self.evaluate(index, scope)?)
            }
            Kind::Call(name, arguments) => functions::call(self, name, arguments, scope),
            Kind::Method(base, name, arguments) => self.method(base, name, arguments, scope),
        }
    }

    /// The values of several expressions.
    pub(crate) fn all(&self, parts: &[Expression], scope: Scope<'_>) -> Computed<Vec<Value>> {
        parts.iter().map(|part| self.evaluate(part, scope)).collect()
    }

    fn object(&self, entries: &[(Text, Expression)], scope: Scope<'_>) -> Computed {
        let mut out: Vec<(Text, Value)> = Vec::with_capacity(entries.len());
        for (name, part) in entries {
            let value = self.evaluate(part, scope)?;
            match out.iter_mut().find(|(known, _)| known == name) {
                Some(entry) => entry.1 = value,
                None => out.push((name.clone(), value)),
            }
        }
        Ok(Value::object(out))
    }

    /// `&&` and `||`: nothing behind the part that decides is looked at.
    fn until(&self, parts: &[Expression], scope: Scope<'_>, decides: bool) -> Computed {
        for part in parts {
            if self.evaluate(part, scope)?.is_truthy() == decides {
                return Ok(Value::Bool(decides));
            }
        }
        Ok(Value::Bool(!decides))
    }

    fn chain(&self, first: &Expression, rest: &[(Operator, Expression)], scope: Scope<'_>) -> Computed {
        let mut left = self.evaluate(first, scope)?;
        for (operator, right) in rest {
            let right = self.evaluate(right, scope)?;
            left = operators::apply(self, *operator, &left, &right)?;
        }
        Ok(left)
    }

    /// `file.size` and the like need no value for the file itself.
    fn member(&self, base: &Expression, name: &str, scope: Scope<'_>) -> Computed {
        if let (Kind::File, Some(row)) = (&base.kind, scope.row) {
            return self.file_field(row.info, name);
        }
        self.field(&self.evaluate(base, scope)?, name)
    }

    fn method(
        &self,
        base: &Expression,
        name: &'static str,
        arguments: &[Expression],
        scope: Scope<'_>,
    ) -> Computed {
        if let (Kind::File, Some(row)) = (&base.kind, scope.row)
            && let Some(found) = methods::of_row(self, row.info, name, arguments, scope)
        {
            return found;
        }
        let base = self.evaluate(base, scope)?;
        methods::call(self, &base, name, arguments, scope)
    }

    /// A formula of the base for the row.
    pub(crate) fn formula(&self, index: usize, scope: Scope<'_>) -> Computed {
        let (Some(row), Some(formula)) = (scope.row, self.base.formulas.get(index)) else {
            return Ok(Value::Null);
        };
        if let Some(Some(known)) = row.formulas.borrow().get(index) {
            return Ok(known.clone());
        }
        let value = self
            .evaluate(&formula.test.expression, Scope { row: Some(row), ..Scope::default() })
            .map_err(|fault| within(fault, &formula.name))?;
        let mut formulas = row.formulas.borrow_mut();
        if formulas.len() <= index {
            formulas.resize(self.base.formulas.len().max(index + 1), None);
        }
        formulas[index] = Some(value.clone());
        Ok(value)
    }

    /// The value of a property that a view names.
    pub(crate) fn named(&self, property: &PropertyId, row: &Row<'_>) -> Computed {
        match property {
            PropertyId::Note(name) => Ok(self.property(row.info, name)),
            PropertyId::File(field) => self.file_field(row.info, field),
            PropertyId::Formula(index) => self.formula(*index, Scope { row: Some(row), ..Scope::default() }),
            PropertyId::Gone(_) => Ok(Value::Null),
        }
    }

    /// `value.name`.
    pub(crate) fn field(&self, value: &Value, name: &str) -> Computed {
        let number = |number: i64| Ok(Value::Number(number as f64));
        match value {
            Value::Null => Ok(Value::Null),
            Value::Object(object) => Ok(object.get(name).cloned().unwrap_or_default()),
            Value::Text(text) if name == "length" => Ok(Value::count(units(text))),
            Value::List(list) if name == "length" => Ok(Value::count(list.len())),
            Value::File(path) => match self.info(path) {
                Some(info) => self.file_field(info, name),
                None => Ok(Value::Null),
            },
            Value::Date(Day { at, .. }) => {
                let civil = at.civil();
                match name {
                    "year" => number(civil.year),
                    "month" => number(civil.month),
                    "day" => number(civil.day),
                    "hour" => number(civil.hour),
                    "minute" => number(civil.minute),
                    "second" => number(civil.second),
                    "millisecond" => number(civil.millisecond),
                    _ => no_field(value, name),
                }
            }
            other => no_field(other, name),
        }
    }

    /// `value[index]`.
    fn index(&self, value: &Value, index: &Value) -> Computed {
        match (value, index) {
            (Value::Null, _) => Ok(Value::Null),
            (Value::List(list), Value::Number(at)) => {
                Ok(place(*at).and_then(|at| list.get(at)).cloned().unwrap_or_default())
            }
            (Value::Text(text), Value::Number(at)) => match place(*at).filter(|at| *at < units(text)) {
                Some(at) => self.text(unit_slice(text, at, at + 1)),
                None => Ok(Value::Null),
            },
            (value, Value::Text(name)) => self.field(value, name),
            (value, index) => {
                failed(format!("a {} cannot be indexed by a {}", value.type_name(), index.type_name()))
            }
        }
    }
}

/// Whether a target can lead to a file at all, by its last name; most cannot, and following one costs much more.
fn may_lead(target: &str, path: &VaultPath) -> bool {
    let last = target.rsplit('/').next().unwrap_or(target).trim();
    let ascii = last.is_ascii() && path.name().is_ascii();
    !ascii || last.eq_ignore_ascii_case(path.name()) || last.eq_ignore_ascii_case(path.stem())
}

fn place(number: f64) -> Option<usize> {
    (number >= 0.0 && number.fract() == 0.0 && number < 1e9).then_some(number as usize)
}

/// A fault in a formula keeps its words; its place is inside of the formula, not here.
fn within(fault: Fault, name: &str) -> Fault {
    match fault {
        Fault::Failed(message, at) if message.starts_with("in formula ") => Fault::Failed(message, at),
        Fault::Failed(message, Some(at)) => {
            Fault::Failed(format!("in formula `{name}`, byte {}: {message}", at + 1), Some(0))
        }
        other => other,
    }
}

fn no_field(value: &Value, name: &str) -> Computed {
    let kind = value.type_name();
    if names::methods_of(kind).contains(&name) || names::methods_of("any").contains(&name) {
        return failed(format!("`{name}` is a method of a {kind}; write `{name}(…)`"));
    }
    failed(format!("a {kind} has no field `{name}`"))
}
