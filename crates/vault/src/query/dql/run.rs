//! Runs a query: rows from [`super::rows`], clauses in written order, answers from the rows that remain.
//!
//! A row whose expression fails is dropped; if every row of a step fails, so does the query. Steps and rows are bounded.

use std::sync::Arc;

use super::ast::{Clause, Direction, Expression, Header, Id, Literal, Named, Query, Step};
use super::compare::is_truthy;
use super::evaluate::{Evaluator, Fault, failed};
use super::rows::{Row, by_keys, first_rows, scope, sort_keys};
use super::value::{Object, Scope, Value};
use crate::text::Text;

/// How many rows a step may make.
pub const MOST_ROWS: usize = 200_000;

/// How much an answer may be when it is written out.
const LARGEST_ANSWER: u64 = 400_000_000;

/// The answer of a query.
#[derive(Debug, Clone)]
pub enum QueryResult {
    /// Rows under headers.
    Table {
        /// One for each column.
        headers: Vec<String>,
        /// As many values as headers each.
        rows: Vec<Vec<Value>>,
    },
    /// One value per row.
    List {
        /// The values.
        values: Vec<Value>,
    },
    /// Tasks, possibly in groups.
    Task {
        /// The tasks.
        values: Vec<TaskEntry>,
    },
    /// Pages by day.
    Calendar {
        /// The day and the page.
        values: Vec<(Value, Value)>,
    },
}

/// A task or a group of them.
#[derive(Debug, Clone)]
pub enum TaskEntry {
    /// A task with all its fields.
    Task(Arc<Object>),
    /// Tasks that share a key.
    Group {
        /// The key.
        key: Value,
        /// The tasks or groups.
        rows: Vec<TaskEntry>,
    },
}

/// Rows and what their ids mean.
struct Rows {
    rows: Vec<Row>,
    groups: Vec<Text>,
}

pub(crate) fn run(at: &Evaluator<'_>, query: &Query) -> Result<QueryResult, Fault> {
    let (rows, rest) = first_rows(at, query)?;
    let rows = clauses(at, rows, rest)?;
    let found = match &query.header {
        Header::Table { fields, id } => table(at, &rows, fields, *id)?,
        Header::List { value, id } => list(at, &rows, value.as_ref(), *id)?,
        Header::Task => QueryResult::Task { values: tasks(&rows) },
        Header::Calendar(day) => calendar(at, &rows, day)?,
    };
    let size = match &found {
        QueryResult::Table { rows, .. } => sum(rows.iter().flatten().map(Value::size)),
        QueryResult::List { values } => sum(values.iter().map(Value::size)),
        QueryResult::Task { .. } => sum(rows.rows.iter().map(|row| row.data.size())),
        QueryResult::Calendar { values } => sum(values.iter().map(|(day, _)| day.size())),
    };
    if size > LARGEST_ANSWER {
        return Err(Fault::Limit(format!("the answer has more than {LARGEST_ANSWER} bytes")));
    }
    Ok(found)
}

fn sum(sizes: impl Iterator<Item = u64>) -> u64 {
    sizes.fold(0, u64::saturating_add)
}

/// Refuses more rows than a step may make.
pub(crate) fn bounded(rows: usize) -> Result<(), Fault> {
    if rows > MOST_ROWS {
        return Err(Fault::Limit(format!("the query makes more than {MOST_ROWS} rows")));
    }
    Ok(())
}

fn clauses(at: &Evaluator<'_>, rows: Vec<Row>, clauses: &[Clause]) -> Result<Rows, Fault> {
    let mut state = Rows { rows, groups: Vec::new() };
    for clause in clauses {
        let rows = std::mem::take(&mut state.rows);
        state.rows = match clause {
            Clause::From => return failed("FROM must come first, right behind the header"),
            Clause::Where(condition) => {
                let kept = each(at, "WHERE", rows, |row| at.evaluate(condition, &scope(row)))?;
                kept.into_iter().filter(|(_, value)| is_truthy(value)).map(|(row, _)| row).collect()
            }
            Clause::Sort(fields) => sort(at, rows, fields)?,
            Clause::Limit(amount) => limit(at, rows, amount)?,
            Clause::Flatten(field) => {
                if state.groups.last() == Some(&field.name) {
                    state.groups.pop();
                }
                flatten(at, rows, field)?
            }
            Clause::Group(field) => {
                state.groups.push(field.name.clone());
                group(at, rows, field)?
            }
        };
        bounded(state.rows.len())?;
    }
    Ok(state)
}

/// Computes something for each row. Rows that fail are dropped, unless all do.
fn each<T>(
    at: &Evaluator<'_>,
    step: &str,
    rows: Vec<Row>,
    compute: impl Fn(&Row) -> Result<T, Fault>,
) -> Result<Vec<(Row, T)>, Fault> {
    let count = rows.len();
    let mut first_failure = None;
    let mut out = Vec::with_capacity(count);
    for row in rows {
        at.charge(1)?;
        match compute(&row) {
            Ok(value) => out.push((row, value)),
            Err(Fault::Failed(message)) => first_failure = first_failure.or(Some(message)),
            Err(other) => return Err(other),
        }
    }
    match first_failure {
        Some(message) if out.is_empty() => {
            failed(format!("every row failed in {step}; the first: {message}"))
        }
        _ => Ok(out),
    }
}

fn sort(at: &Evaluator<'_>, rows: Vec<Row>, fields: &[(Expression, Direction)]) -> Result<Vec<Row>, Fault> {
    let mut keyed = each(at, "SORT", rows, |row| sort_keys(at, fields, row))?;
    at.charge(keyed.len() * 16)?;
    keyed.sort_by(|(_, a), (_, b)| by_keys(at, fields, a, b));
    Ok(keyed.into_iter().map(|(row, _)| row).collect())
}

fn limit(at: &Evaluator<'_>, mut rows: Vec<Row>, amount: &Expression) -> Result<Vec<Row>, Fault> {
    match at.evaluate(amount, &Scope::default())? {
        Value::Number(most) if most < 0.0 => {
            let dropped = (-most) as usize;
            rows.truncate(rows.len().saturating_sub(dropped));
            Ok(rows)
        }
        Value::Number(most) => {
            rows.truncate(most as usize);
            Ok(rows)
        }
        other => failed(format!("LIMIT takes a number, not a {}", other.type_name())),
    }
}

fn flatten(at: &Evaluator<'_>, rows: Vec<Row>, field: &Named) -> Result<Vec<Row>, Fault> {
    let mut out = Vec::new();
    for (row, value) in each(at, "FLATTEN", rows, |row| at.evaluate(&field.field, &scope(row)))? {
        let values = match &value {
            Value::List(list) => list.to_vec(),
            other => vec![other.clone()],
        };
        for value in values {
            at.charge(row.data.len())?;
            let mut data = Object::clone(&row.data);
            data.set(field.name.clone(), value);
            out.push(Row { id: row.id.clone(), data: Arc::new(data) });
        }
        bounded(out.len())?;
    }
    Ok(out)
}

fn group(at: &Evaluator<'_>, rows: Vec<Row>, field: &Named) -> Result<Vec<Row>, Fault> {
    let mut keyed = each(at, "GROUP BY", rows, |row| at.evaluate(&field.field, &scope(row)))?;
    at.charge(keyed.len() * 16)?;
    keyed.sort_by(|(_, a), (_, b)| at.sort_order(a, b));
    let mut groups: Vec<(Value, Vec<Value>)> = Vec::new();
    let mut last: Option<Value> = None;
    for (row, key) in keyed {
        let same = last.as_ref().is_some_and(|last| at.compare(&key, last).is_eq());
        match groups.last_mut() {
            Some((_, rows)) if same => rows.push(Value::Object(row.data)),
            _ => groups.push((key.clone(), vec![Value::Object(row.data)])),
        }
        last = Some(key);
    }
    Ok(groups
        .into_iter()
        .map(|(key, rows)| {
            let mut data = Object::default();
            data.set("key", key.clone());
            data.set("rows", Value::list(rows));
            data.set(field.name.clone(), key.clone());
            Row { id: key, data: Arc::new(data) }
        })
        .collect())
}

fn table(at: &Evaluator<'_>, rows: &Rows, fields: &[Named], id: Id) -> Result<QueryResult, Fault> {
    // Of columns with one name the last one counts for all, as in Dataview.
    let last = |name: &str| fields.iter().rfind(|field| &*field.name == name);
    let columns: Vec<&Named> = fields.iter().filter_map(|field| last(&field.name)).collect();
    let found = each(at, "the columns", rows.rows.clone(), |row| {
        columns.iter().map(|column| at.evaluate(&column.field, &scope(row))).collect::<Result<Vec<_>, _>>()
    })?;
    let first = rows.groups.last().map_or("File", |name| name);
    let shown = id == Id::Shown;
    let headers = shown.then(|| first.to_owned()).into_iter();
    Ok(QueryResult::Table {
        headers: headers.chain(fields.iter().map(|field| field.name.to_string())).collect(),
        rows: found
            .into_iter()
            .map(|(row, values)| shown.then_some(row.id).into_iter().chain(values).collect())
            .collect(),
    })
}

fn list(at: &Evaluator<'_>, rows: &Rows, value: Option<&Expression>, id: Id) -> Result<QueryResult, Fault> {
    let Some(value) = value else {
        return Ok(QueryResult::List { values: rows.rows.iter().map(|row| row.id.clone()).collect() });
    };
    let found = each(at, "the list", rows.rows.clone(), |row| at.evaluate(value, &scope(row)))?;
    let item = |(row, value): (Row, Value)| match id {
        Id::Shown => Value::Pair(Arc::new((row.id, value))),
        Id::Hidden => value,
    };
    Ok(QueryResult::List { values: found.into_iter().map(item).collect() })
}

fn calendar(at: &Evaluator<'_>, rows: &Rows, day: &Named) -> Result<QueryResult, Fault> {
    let text = |text: &str| Step::Index(Expression::Literal(Literal::Text(text.into())));
    let link = Expression::Postfix {
        base: Box::new(Expression::Variable("file".into())),
        steps: vec![text("link")],
    };
    let found = each(at, "the calendar", rows.rows.clone(), |row| {
        Ok((at.evaluate(&day.field, &scope(row))?, at.evaluate(&link, &scope(row))?))
    })?;
    Ok(QueryResult::Calendar { values: found.into_iter().map(|(_, pair)| pair).collect() })
}

fn tasks(rows: &Rows) -> Vec<TaskEntry> {
    rows.rows.iter().map(|row| entry(&row.data, rows.groups.len())).collect()
}

fn entry(data: &Arc<Object>, groups: usize) -> TaskEntry {
    let (Some(key), Some(Value::List(rows)), true) = (data.get("key"), data.get("rows"), groups > 0) else {
        return TaskEntry::Task(data.clone());
    };
    let inner = rows.iter().filter_map(|row| match row {
        Value::Object(row) => Some(entry(row, groups - 1)),
        _ => None,
    });
    TaskEntry::Group { key: key.clone(), rows: inner.collect() }
}
