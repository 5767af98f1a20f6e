//! Runs a view: which files pass its filters, in which order and groups, and what their columns and summaries say.
//!
//! A row on which a filter fails is left out and told in a notice; a cell that fails is empty and told in a notice; an
//! filter that fails on every row is an error.

use std::cell::RefCell;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use super::error::BaseError;
use super::evaluate::{Computed, Evaluator, Fault, Row, Scope};
use super::methods::list::key;
use super::model::{Base, BaseView, Direction, Filter, PropertyId, Test};
use super::operators::sort_order;
use super::value::Value;
use super::{Context, show};
use crate::catalog::{Catalog, Visible};
use crate::path::VaultPath;
use crate::view::View;

/// The most rows that a view may have.
pub const MOST_ROWS: usize = 200_000;

/// A column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Column {
    /// The property as the base writes it.
    pub id: String,
    /// What it is called.
    pub name: String,
    /// Which property.
    pub property: PropertyId,
}

/// One row.
#[derive(Debug)]
pub struct RowOut {
    /// The file.
    pub path: VaultPath,
    /// The group to which it belongs, by its place.
    pub group: Option<usize>,
    /// One value for each column.
    pub values: Vec<Value>,
}

/// Rows that belong together.
#[derive(Debug)]
pub struct GroupRows {
    /// What they have in common.
    pub key: Value,
    /// How many there are, shown or not.
    pub count: usize,
    /// The summaries of the group.
    pub summaries: Vec<Summed>,
}

/// A summary of one column.
#[derive(Debug)]
pub struct Summed {
    /// The property as the base writes it.
    pub id: String,
    /// The summary's name.
    pub summary: String,
    /// What it says.
    pub value: Value,
}

/// What a view shows.
#[derive(Debug)]
pub struct ViewRows {
    /// The view's name.
    pub view: String,
    /// Its type.
    pub kind: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows that were asked for.
    pub rows: Vec<RowOut>,
    /// The place of the first of them.
    pub offset: usize,
    /// How many rows the view has, its limit applied.
    pub count: usize,
    /// How many files pass its filters.
    pub total: usize,
    /// The groups, if it has any.
    pub groups: Option<Vec<GroupRows>>,
    /// The summaries of all its rows.
    pub summaries: Vec<Summed>,
    /// What is odd.
    pub notices: Vec<String>,
}

impl ViewRows {
    /// Keeps the first rows, and of the groups those that stand in them.
    pub fn truncate(&mut self, most: usize) {
        self.rows.truncate(most);
        let Some(groups) = &mut self.groups else { return };
        let first = self.rows.first().and_then(|row| row.group).unwrap_or(0);
        let behind = self.rows.last().and_then(|row| row.group).map_or(first, |last| last + 1);
        groups.truncate(behind);
        groups.drain(..first.min(groups.len()));
        self.rows.iter_mut().for_each(|row| row.group = row.group.map(|group| group - first));
    }

    /// Cuts every value whose text is longer than so many characters, and says so.
    pub fn clip(&mut self, most: usize) {
        let mut cut = 0;
        let mut clip = |value: &mut Value| {
            if show::length(value) > most {
                let text: String = show::show(value).chars().take(most).collect();
                *value = Value::text(text + "…");
                cut += 1;
            }
        };
        self.rows.iter_mut().flat_map(|row| &mut row.values).for_each(&mut clip);
        for group in self.groups.iter_mut().flatten() {
            clip(&mut group.key);
            group.summaries.iter_mut().for_each(|summed| clip(&mut summed.value));
        }
        self.summaries.iter_mut().for_each(|summed| clip(&mut summed.value));
        if cut > 0 {
            self.notices.push(format!("{cut} long values were cut to {most} characters"));
        }
    }
}

/// Which rows are wanted.
#[derive(Debug, Clone, Copy)]
pub struct Window {
    /// How many to pass over.
    pub offset: usize,
    /// How many to show.
    pub limit: usize,
}

impl Default for Window {
    fn default() -> Window {
        Window { offset: 0, limit: usize::MAX }
    }
}

/// Runs a view of a base over what a vault's view shows.
pub fn run(
    base: &Base,
    name: Option<&str>,
    window: Window,
    view: &View<'_>,
    context: &Context,
) -> Result<ViewRows, BaseError> {
    let texts = text_properties(view);
    view.catalog()?.ask(|catalog, visible| run_over(base, name, window, catalog, visible, &texts, context))
}

/// The same over a catalog.
pub(crate) fn run_over(
    base: &Base,
    name: Option<&str>,
    window: Window,
    catalog: &Catalog,
    visible: Visible<'_>,
    texts: &HashSet<String>,
    context: &Context,
) -> Result<ViewRows, BaseError> {
    let default = BaseView {
        kind: "table".to_owned(),
        name: "Table".to_owned(),
        filters: None,
        limit: None,
        group_by: None,
        sort: Vec::new(),
        order: Vec::new(),
        summaries: Vec::new(),
    };
    let spec = base.view(name)?.unwrap_or(&default);
    let at = Evaluator::new(catalog, visible, base, texts, context).map_err(without_place)?;
    Runner { at: &at, spec, faults: RefCell::default(), odd: RefCell::default() }.run(window)
}

/// The properties that the user's editor was told to keep as text.
fn text_properties(view: &View<'_>) -> HashSet<String> {
    let text = view.machinery_text(".obsidian/types.json").unwrap_or_default();
    let settings: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
    let types = settings.get("types").and_then(|types| types.as_object());
    let is_text = |kind: &serde_json::Value| matches!(kind.as_str(), Some("text" | "multitext"));
    types.into_iter().flatten().filter(|(_, kind)| is_text(kind)).map(|(name, _)| name.clone()).collect()
}

/// How often an expression was tried and failed, and how the first time.
#[derive(Default)]
struct Tally {
    tries: usize,
    fails: usize,
    first: Option<(String, String)>,
}

struct Runner<'r, 'a> {
    at: &'r Evaluator<'a>,
    spec: &'r BaseView,
    faults: RefCell<BTreeMap<String, Tally>>,
    /// Summaries that failed, in words.
    odd: RefCell<BTreeSet<String>>,
}

/// A row with what it is grouped and sorted by.
struct Kept<'a> {
    row: Row<'a>,
    group: Value,
    sort: Vec<Value>,
}

impl<'r, 'a> Runner<'r, 'a> {
    fn run(&self, window: Window) -> Result<ViewRows, BaseError> {
        let mut kept = self.filtered()?;
        let total = kept.len();
        self.sort(&mut kept)?;
        kept.truncate(self.spec.limit.unwrap_or(usize::MAX));
        let (groups, of_row) = self.groups(&kept)?;
        let columns = self.columns();
        let end = window.offset.saturating_add(window.limit).min(kept.len());
        let mut rows = Vec::new();
        for (place, kept) in kept.iter().enumerate().take(end).skip(window.offset) {
            let cells = columns.iter().map(|column| self.cell(&column.id, &column.property, &kept.row));
            let values = cells.collect::<Result<Vec<_>, _>>()?;
            rows.push(RowOut { path: kept.row.info.path.clone(), group: of_row.get(place).copied(), values });
        }
        let summaries = self.summaries(&kept.iter().collect::<Vec<_>>())?;
        Ok(ViewRows {
            view: self.spec.name.clone(),
            kind: self.spec.kind.clone(),
            columns,
            rows,
            offset: window.offset,
            count: kept.len(),
            total,
            groups,
            summaries,
            notices: self.notices()?,
        })
    }

    fn columns(&self) -> Vec<Column> {
        let base = self.at.base;
        let column = |(id, property): &(String, PropertyId)| Column {
            id: id.clone(),
            name: base.display_name(id, property),
            property: property.clone(),
        };
        match self.spec.order.is_empty() {
            true => vec![column(&("file.name".to_owned(), PropertyId::File("name")))],
            false => self.spec.order.iter().map(column).collect(),
        }
    }

    fn filtered(&self) -> Result<Vec<Kept<'a>>, BaseError> {
        let mut out = Vec::new();
        for info in self.at.catalog.files(self.at.visible) {
            let row = Row::new(info);
            let filters = self.at.base.filters.iter().chain(&self.spec.filters);
            let mut passes = Some(true);
            for filter in filters {
                passes = self.passes(filter, &row)?;
                if passes != Some(true) {
                    break;
                }
            }
            if passes == Some(true) {
                out.push(Kept { row, group: Value::Null, sort: Vec::new() });
            }
            if out.len() > MOST_ROWS {
                return Err(BaseError::Limit { message: format!("the view has more than {MOST_ROWS} rows") });
            }
        }
        Ok(out)
    }

    /// Whether a row passes; nothing if that cannot be told, and then it is not shown either way.
    fn passes(&self, filter: &Filter, row: &Row<'_>) -> Result<Option<bool>, BaseError> {
        let (parts, decides, decided) = match filter {
            Filter::Test(test) => {
                let found = self.tried(&test.place, row, |at| self.test(at, test, row))?;
                return Ok(found.map(|value| value.is_truthy()));
            }
            Filter::And(parts) => (parts, false, false),
            Filter::Or(parts) => (parts, true, true),
            Filter::Not(parts) => (parts, true, false),
        };
        for part in parts {
            match self.passes(part, row)? {
                None => return Ok(None),
                Some(found) if found == decides => return Ok(Some(decided)),
                Some(_) => {}
            }
        }
        // An empty group says nothing.
        Ok(Some(!decided || parts.is_empty()))
    }

    fn test(&self, at: &Evaluator<'_>, test: &Test, row: &Row<'_>) -> Computed {
        at.evaluate(&test.expression, Scope { row: Some(row), ..Scope::default() })
    }

    /// Computes something for a row; a failure is counted and gives nothing.
    fn tried(
        &self,
        place: &str,
        row: &Row<'_>,
        compute: impl FnOnce(&Evaluator<'_>) -> Computed,
    ) -> Result<Option<Value>, BaseError> {
        let found = compute(self.at);
        let mut faults = self.faults.borrow_mut();
        if !faults.contains_key(place) {
            faults.insert(place.to_owned(), Tally::default());
        }
        let Some(tally) = faults.get_mut(place) else { return Ok(None) };
        tally.tries += 1;
        match found {
            Ok(value) => Ok(Some(value)),
            Err(Fault::Failed(message, at)) => {
                tally.fails += 1;
                let column =
                    at.filter(|at| *at > 0).map(|at| format!(" (byte {})", at + 1)).unwrap_or_default();
                tally.first.get_or_insert_with(|| (row.info.path.as_str().to_owned(), message + &column));
                Ok(None)
            }
            Err(limit) => Err(without_place(limit)),
        }
    }

    fn cell(&self, id: &str, property: &PropertyId, row: &Row<'_>) -> Result<Value, BaseError> {
        let place = match property {
            PropertyId::Formula(index) => self
                .at
                .base
                .formulas
                .get(*index)
                .map_or_else(|| id.to_owned(), |formula| formula.test.place.clone()),
            _ => id.to_owned(),
        };
        Ok(self.tried(&place, row, |at| at.named(property, row))?.unwrap_or_default())
    }

    fn sort(&self, kept: &mut [Kept<'a>]) -> Result<(), BaseError> {
        let by = &self.spec.sort;
        for kept in kept.iter_mut() {
            if let Some((property, _)) = &self.spec.group_by {
                kept.group = self.cell("groupBy", property, &kept.row)?;
            }
            for (property, _) in by {
                let value = self.cell("sort", property, &kept.row)?;
                kept.sort.push(value);
            }
        }
        self.at.charge(kept.len().saturating_mul(16)).map_err(without_place)?;
        kept.sort_by(|a, b| {
            let grouped = self.spec.group_by.as_ref().map_or(Ordering::Equal, |(_, direction)| {
                directed(&a.group, &b.group, *direction).then_with(|| key(&a.group).cmp(&key(&b.group)))
            });
            let sorted = by.iter().zip(a.sort.iter().zip(&b.sort));
            let sorted = sorted.map(|((_, direction), (a, b))| directed(a, b, *direction));
            grouped.then_with(|| sorted.fold(Ordering::Equal, Ordering::then))
        });
        Ok(())
    }

    /// The groups, and for each row the group to which it belongs.
    fn groups(&self, kept: &[Kept<'a>]) -> Result<(Option<Vec<GroupRows>>, Vec<usize>), BaseError> {
        if self.spec.group_by.is_none() {
            return Ok((None, Vec::new()));
        }
        let mut groups: Vec<GroupRows> = Vec::new();
        let mut of_row = Vec::with_capacity(kept.len());
        for rows in kept.chunk_by(|a, b| key(&a.group) == key(&b.group)) {
            let Some(first) = rows.first() else { continue };
            of_row.extend(rows.iter().map(|_| groups.len()));
            let summaries = self.summaries(&rows.iter().collect::<Vec<_>>())?;
            groups.push(GroupRows { key: first.group.clone(), count: rows.len(), summaries });
        }
        Ok((Some(groups), of_row))
    }

    fn summaries(&self, kept: &[&Kept<'a>]) -> Result<Vec<Summed>, BaseError> {
        let mut out = Vec::new();
        for (id, property, summary) in &self.spec.summaries {
            let values =
                kept.iter().map(|kept| self.cell(id, property, &kept.row)).collect::<Result<Vec<_>, _>>()?;
            let name = summary.name(self.at);
            let value = match summary.compute(self.at, &values) {
                Ok(value) => value,
                Err(Fault::Failed(message, _)) => {
                    self.odd.borrow_mut().insert(format!("`summaries.{name}` failed for `{id}`: {message}"));
                    Value::Null
                }
                Err(limit) => return Err(without_place(limit)),
            };
            out.push(Summed { id: id.clone(), summary: name, value });
        }
        Ok(out)
    }

    /// What failed on some rows; a filter that failed on all of them is an error.
    fn notices(&self) -> Result<Vec<String>, BaseError> {
        let mut out = self.at.base.notices.clone();
        out.extend(self.odd.borrow().iter().cloned());
        for (place, tally) in self.faults.borrow().iter() {
            let Some((path, message)) = tally.first.clone() else { continue };
            // An empty cell hides no row; a filter that cannot be told hides them all.
            if tally.fails == tally.tries && place.contains("filters") {
                return Err(BaseError::Failed { place: place.clone(), path, message });
            }
            let rows = if tally.fails == 1 { "1 row".to_owned() } else { format!("{} rows", tally.fails) };
            out.push(format!("`{place}` failed on {rows}; the first, `{path}`: {message}"));
        }
        Ok(out)
    }
}

/// Nothing comes last, whatever the direction.
fn directed(a: &Value, b: &Value, direction: Direction) -> Ordering {
    match (a, b, direction) {
        (Value::Null, _, _) | (_, Value::Null, _) | (_, _, Direction::Ascending) => sort_order(a, b),
        (_, _, Direction::Descending) => sort_order(b, a),
    }
}

fn without_place(fault: Fault) -> BaseError {
    match fault {
        Fault::Failed(message, _) | Fault::Limit(message) => BaseError::Limit { message },
    }
}
