//! The rows that a query starts with: pages of its source that pass its first conditions.
//!
//! Conditions, the sorting and the limit that stand at the beginning of a query are worked out while the pages go by, in
//! small lots: a page that is not kept is forgotten at once, a sorting with a limit keeps only the best, and what only
//! the columns ask for is made for the rows that remain. Answers are those of one clause after the other.
//! What of this the catalog can decide by itself never becomes a page: see [`super::sieve`].

use std::cmp::Ordering;
use std::sync::Arc;

use super::ast::{Clause, Direction, Expression, Header, Query};
use super::compare::is_truthy;
use super::csv;
use super::evaluate::{Evaluator, Fault, failed};
use super::page::Maker;
use super::run::bounded;
use super::sieve::Sieve;
use super::source::{Place, places};
use super::value::{Link, Object, Scope, Value};
use super::wants::Wants;
use crate::path::VaultPath;

/// How many pages are made at a time.
const LOT: usize = 1_024;
/// How many at first, where a few rows may be enough.
const FIRST_LOT: usize = 64;

/// A row.
#[derive(Debug, Clone)]
pub(crate) struct Row {
    /// The page, or what a group shares.
    pub(crate) id: Value,
    /// Its variables.
    pub(crate) data: Arc<Object>,
}

/// The rows behind the first clauses, and the clauses that are left.
pub(crate) fn first_rows<'q>(
    at: &Evaluator<'_>,
    query: &'q Query,
) -> Result<(Vec<Row>, &'q [Clause]), Fault> {
    let mut lead = Lead::of(at, query)?;
    let of_tasks = matches!(query.header, Header::Task);
    let sifted = if of_tasks { None } else { sift(at, query, &mut lead)? };
    if let Some(Sieved::All(paths)) = sifted {
        return Ok((rows_of(at, paths)?, lead.rest));
    }
    let places = match sifted {
        Some(Sieved::Some(paths)) => paths.into_iter().map(Place::Page).collect(),
        _ => places(at, &query.source)?,
    };
    let mut keep = Keep::new(at, &lead, of_tasks);
    let mut lot = Vec::new();
    let mut size = if lead.limit.is_some() && lead.sort.is_none() { FIRST_LOT } else { LOT };
    for place in places {
        at.charge(50)?;
        match place {
            Place::Page(path) => {
                lot.push(path);
                if lot.len() >= size {
                    keep.pages(at, std::mem::take(&mut lot))?;
                    size = (size * 2).min(LOT);
                }
            }
            Place::Csv(path) => {
                keep.pages(at, std::mem::take(&mut lot))?;
                keep.table(at, &path)?;
            }
        }
        if keep.is_full() {
            break;
        }
    }
    keep.pages(at, lot)?;
    Ok((keep.finish(at)?, lead.rest))
}

/// What the catalog could decide by itself.
enum Sieved {
    /// The rows, sorted and limited.
    All(Vec<VaultPath>),
    /// Notes that pass the first conditions; the others are left.
    Some(Vec<VaultPath>),
}

/// Takes from the lead what the catalog can decide by itself.
fn sift(at: &Evaluator<'_>, query: &Query, lead: &mut Lead<'_>) -> Result<Option<Sieved>, Fault> {
    let mut sieve = Sieve::open(at.local.clone());
    let taken = lead.conditions.iter().take_while(|condition| sieve.add(at, condition)).count();
    let mut all = taken == lead.conditions.len() && sieve.sort_by(lead.sort.unwrap_or_default());
    let mut found = None;
    if !sieve.is_cheap() {
        return Ok(None);
    }
    if all {
        sieve.first(lead.limit);
        found = at.pages.sifted(&query.source, &sieve);
    }
    if found.is_none() && taken > 0 {
        all = false;
        sieve.unsorted();
        found = at.pages.sifted(&query.source, &sieve);
    }
    let Some(found) = found else { return Ok(None) };
    at.charge(100_usize.saturating_add(found.looked_at.saturating_mul(sieve.weight())))?;
    if all {
        bounded(found.paths.len())?;
    }
    lead.conditions.drain(..taken);
    Ok(Some(if all { Sieved::All(found.paths) } else { Sieved::Some(found.paths) }))
}

/// Rows with all that the query mentions. A note that has gone meanwhile is no row.
fn rows_of(at: &Evaluator<'_>, paths: Vec<VaultPath>) -> Result<Vec<Row>, Fault> {
    let mut rows = Vec::with_capacity(paths.len());
    for lot in paths.chunks(LOT) {
        at.charge(lot.len() * 16)?;
        let pages = at.pages.pages(lot, &at.maker)?;
        let row = |(path, data): (&VaultPath, Option<Arc<Object>>)| {
            Some(Row { id: Value::link(Link::file(path.as_str())), data: data? })
        };
        rows.extend(lot.iter().zip(pages).filter_map(row));
    }
    Ok(rows)
}

/// What a scope of a row sees.
pub(crate) fn scope(row: &Row) -> Scope {
    Scope::of_row(row.data.clone())
}

/// The values by which a row is sorted.
pub(crate) fn sort_keys(
    at: &Evaluator<'_>,
    fields: &[(Expression, Direction)],
    row: &Row,
) -> Result<Vec<Value>, Fault> {
    keys(at, fields, &scope(row))
}

/// The order of two rows by these values.
pub(crate) fn by_keys(
    at: &Evaluator<'_>,
    fields: &[(Expression, Direction)],
    a: &[Value],
    b: &[Value],
) -> Ordering {
    let orders = a.iter().zip(b).zip(fields).map(|((a, b), (_, direction))| match direction {
        Direction::Ascending => at.sort_order(a, b),
        Direction::Descending => at.sort_order(a, b).reverse(),
    });
    orders.into_iter().find(|order| order.is_ne()).unwrap_or(Ordering::Equal)
}

fn keys(at: &Evaluator<'_>, fields: &[(Expression, Direction)], scope: &Scope) -> Result<Vec<Value>, Fault> {
    fields.iter().map(|(field, _)| at.evaluate(field, scope)).collect()
}

/// The clauses at the beginning that are worked out page by page.
struct Lead<'q> {
    conditions: Vec<&'q Expression>,
    sort: Option<&'q [(Expression, Direction)]>,
    limit: Option<usize>,
    rest: &'q [Clause],
}

impl<'q> Lead<'q> {
    fn of(at: &Evaluator<'_>, query: &'q Query) -> Result<Lead<'q>, Fault> {
        let mut rest = query.clauses.as_slice();
        let mut conditions = Vec::new();
        while let [Clause::Where(condition), others @ ..] = rest {
            conditions.push(condition);
            rest = others;
        }
        let mut sort = None;
        if let [Clause::Sort(fields), others @ ..] = rest {
            sort = Some(fields.as_slice());
            rest = others;
        }
        let mut limit = None;
        if let [Clause::Limit(amount), others @ ..] = rest
            && let Value::Number(most) = at.evaluate(amount, &Scope::default())?
            && most >= 1.0
        {
            limit = Some(most as usize);
            rest = others;
        }
        Ok(Lead { conditions, sort, limit, rest })
    }

    /// What the conditions ask for, and what the sorting does.
    fn wants(&self) -> (Wants, Wants) {
        let sort = self.sort.into_iter().flatten().map(|(field, _)| field);
        (Wants::of_expressions(self.conditions.iter().copied()), Wants::of_expressions(sort))
    }
}

/// How one clause went over all rows: those that fail are dropped, unless all do.
#[derive(Default)]
struct Tally {
    passed: bool,
    failure: Option<String>,
}

impl Tally {
    fn count<T>(&mut self, found: Result<T, Fault>) -> Result<Option<T>, Fault> {
        match found {
            Ok(found) => {
                self.passed = true;
                Ok(Some(found))
            }
            Err(Fault::Failed(message)) => {
                self.failure.get_or_insert(message);
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    fn check(&self, step: &str) -> Result<(), Fault> {
        match &self.failure {
            Some(message) if !self.passed => {
                failed(format!("every row failed in {step}; the first: {message}"))
            }
            _ => Ok(()),
        }
    }
}

/// A row that was kept, with what it is sorted by.
struct Kept {
    source: Origin,
    data: Arc<Object>,
    keys: Vec<Value>,
}

/// Where a row comes from.
enum Origin {
    Page(Arc<VaultPath>),
    Table(Value),
}

/// The rows that are kept while pages go by.
struct Keep<'l, 'q> {
    lead: &'l Lead<'q>,
    of_tasks: bool,
    makers: Makers,
    conditions: Vec<Tally>,
    sorting: Tally,
    rows: Vec<Kept>,
    /// Whether the first rows, as many as the limit, are sorted and the best of all before them.
    cut: bool,
}

/// What makes pages for which step, where a step needs others than the one before.
struct Makers {
    conditions: Option<Maker>,
    sort: Option<Maker>,
    /// Whether the rows that remain are made anew with all that the query mentions.
    late: bool,
}

impl Makers {
    /// Tasks are shown with fields of their own, which cannot be made later, so they have all at once.
    fn of(at: &Evaluator<'_>, lead: &Lead<'_>, of_tasks: bool) -> Makers {
        if of_tasks {
            return Makers { conditions: None, sort: None, late: false };
        }
        let maker = |wants: &Wants| Some(Maker::new(wants.clone(), at.local.clone()));
        let (conditions, sort) = lead.wants();
        if lead.conditions.is_empty() || conditions.covers(&sort) {
            let both = if lead.conditions.is_empty() { &sort } else { &conditions };
            return Makers { conditions: maker(both), sort: None, late: !both.covers(at.maker.wants()) };
        }
        let late = !sort.covers(at.maker.wants());
        Makers { conditions: maker(&conditions), sort: maker(&sort), late }
    }
}

impl<'l, 'q> Keep<'l, 'q> {
    fn new(at: &Evaluator<'_>, lead: &'l Lead<'q>, of_tasks: bool) -> Keep<'l, 'q> {
        Keep {
            lead,
            of_tasks,
            makers: Makers::of(at, lead, of_tasks),
            conditions: lead.conditions.iter().map(|_| Tally::default()).collect(),
            sorting: Tally::default(),
            rows: Vec::new(),
            cut: false,
        }
    }

    /// Whether nothing more can come in.
    fn is_full(&self) -> bool {
        self.lead.sort.is_none() && self.lead.limit.is_some_and(|limit| self.rows.len() >= limit)
    }

    fn pages(&mut self, at: &Evaluator<'_>, paths: Vec<VaultPath>) -> Result<(), Fault> {
        let pages = at.pages.pages(&paths, self.makers.conditions.as_ref().unwrap_or(&at.maker))?;
        let both = paths.into_iter().zip(pages).filter_map(|(path, data)| Some((path, data?)));
        if self.of_tasks {
            for (path, data) in both {
                let path = Arc::new(path);
                for task in tasks(at, &data)? {
                    self.take(at, task, || Origin::Page(path.clone()))?;
                }
            }
            return Ok(());
        }
        let mut passed = Vec::new();
        for (path, data) in both {
            if self.passes(at, &data)? {
                passed.push((path, data));
            }
        }
        if let Some(maker) = &self.makers.sort {
            let (paths, _): (Vec<VaultPath>, Vec<_>) = passed.into_iter().unzip();
            let pages = at.pages.pages(&paths, maker)?;
            passed = paths.into_iter().zip(pages).filter_map(|(path, data)| Some((path, data?))).collect();
        }
        for (path, data) in passed {
            self.keep(at, data, || Origin::Page(Arc::new(path)))?;
        }
        Ok(())
    }

    fn table(&mut self, at: &Evaluator<'_>, path: &str) -> Result<(), Fault> {
        let Some(text) = at.pages.csv(path)? else {
            return failed(format!("there is no file `{path}`"));
        };
        at.charge(text.len())?;
        // Lines of a table are no pages, so they have no tasks.
        if !self.of_tasks {
            for (number, data) in csv::rows(&text, &at.local).into_iter().enumerate() {
                self.take(at, data, || Origin::Table(Value::from(format!("{path}#{number}"))))?;
            }
        }
        Ok(())
    }

    /// Works out the first clauses for one row.
    fn take(
        &mut self,
        at: &Evaluator<'_>,
        data: Arc<Object>,
        source: impl FnOnce() -> Origin,
    ) -> Result<(), Fault> {
        if self.passes(at, &data)? { self.keep(at, data, source) } else { Ok(()) }
    }

    /// Whether a row passes all conditions.
    fn passes(&mut self, at: &Evaluator<'_>, data: &Arc<Object>) -> Result<bool, Fault> {
        let scope = Scope::of_row(data.clone());
        for (condition, tally) in self.lead.conditions.iter().zip(&mut self.conditions) {
            at.charge(1)?;
            match tally.count(at.evaluate(condition, &scope))? {
                Some(value) if is_truthy(&value) => {}
                _ => return Ok(false),
            }
        }
        Ok(true)
    }

    /// Keeps a row that has passed, if it is among the best.
    fn keep(
        &mut self,
        at: &Evaluator<'_>,
        data: Arc<Object>,
        source: impl FnOnce() -> Origin,
    ) -> Result<(), Fault> {
        if self.is_full() {
            return Ok(());
        }
        let Some(fields) = self.lead.sort else {
            self.rows.push(Kept { source: source(), data, keys: Vec::new() });
            return self.bound();
        };
        at.charge(1)?;
        let found = keys(at, fields, &Scope::of_row(data.clone()));
        let Some(keys) = self.sorting.count(found)? else { return Ok(()) };
        at.charge(16)?;
        let Some(limit) = self.lead.limit else {
            self.rows.push(Kept { source: source(), data, keys });
            return self.bound();
        };
        // Of equal rows the earlier comes first, so a later one must be better than the last of the best.
        let is_out = |last: &Kept| by_keys(at, fields, &keys, &last.keys).is_ge();
        if self.cut && self.rows.get(limit - 1).is_some_and(is_out) {
            return Ok(());
        }
        self.rows.push(Kept { source: source(), data, keys });
        if self.rows.len() >= limit.saturating_mul(2).saturating_add(LOT) {
            self.sort(at, fields);
            self.rows.truncate(limit);
            self.cut = true;
        }
        self.bound()
    }

    fn bound(&self) -> Result<(), Fault> {
        bounded(self.rows.len())
    }

    fn sort(&mut self, at: &Evaluator<'_>, fields: &[(Expression, Direction)]) {
        self.rows.sort_by(|a, b| by_keys(at, fields, &a.keys, &b.keys));
    }

    /// The rows that remain, with all that the query mentions.
    fn finish(mut self, at: &Evaluator<'_>) -> Result<Vec<Row>, Fault> {
        let late = self.makers.late;
        self.conditions.iter().try_for_each(|tally| tally.check("WHERE"))?;
        self.sorting.check("SORT")?;
        if let Some(fields) = self.lead.sort {
            self.sort(at, fields);
        }
        self.rows.truncate(self.lead.limit.unwrap_or(usize::MAX));
        let mut rows = Vec::with_capacity(self.rows.len());
        let mut kept = self.rows.into_iter().peekable();
        while kept.peek().is_some() {
            let lot: Vec<Kept> = kept.by_ref().take(LOT).collect();
            completed(at, lot, late, &mut rows)?;
        }
        Ok(rows)
    }
}

/// Makes rows, their pages anew if they have not all that the query mentions.
fn completed(at: &Evaluator<'_>, lot: Vec<Kept>, late: bool, rows: &mut Vec<Row>) -> Result<(), Fault> {
    let path = |kept: &Kept| match &kept.source {
        Origin::Page(path) if late => Some(VaultPath::clone(path)),
        _ => None,
    };
    let paths: Vec<VaultPath> = lot.iter().filter_map(path).collect();
    let mut pages = at.pages.pages(&paths, &at.maker)?.into_iter();
    for kept in lot {
        let (id, data) = match kept.source {
            Origin::Table(id) => (id, Some(kept.data)),
            Origin::Page(path) => {
                let data = if late { pages.next().flatten() } else { Some(kept.data) };
                (Value::link(Link::file(path.as_str())), data)
            }
        };
        // A note that has gone meanwhile is no row.
        rows.extend(data.map(|data| Row { id, data }));
    }
    Ok(())
}

/// Every task of a page, with the page's own fields where the task has none.
fn tasks(at: &Evaluator<'_>, page: &Arc<Object>) -> Result<Vec<Arc<Object>>, Fault> {
    let Some(Value::Object(file)) = page.get("file") else { return Ok(Vec::new()) };
    let Some(Value::List(tasks)) = file.get("tasks") else { return Ok(Vec::new()) };
    let mut out = Vec::with_capacity(tasks.len());
    for task in tasks.iter() {
        let Value::Object(task) = task else { continue };
        at.charge(page.len())?;
        let mut data = Object::clone(task);
        for (name, value) in page.iter() {
            if !data.has(name) {
                data.set(name.clone(), value.clone());
            }
        }
        out.push(Arc::new(data));
    }
    Ok(out)
}
