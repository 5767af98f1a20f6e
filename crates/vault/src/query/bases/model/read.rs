//! From the tree of the YAML to a [`Base`]: what has the wrong shape is refused with its key and line.

use super::{Base, BaseView, Custom, Direction, Filter, Formula, Property, PropertyId, Test, misplaced};
use crate::query::bases::error::BaseError;
use crate::query::bases::names;
use crate::query::bases::parse::{self, Names, unknown_file_field};
use crate::query::bases::summary::Summary;
use crate::query::bases::yaml::{self, Entry, Node, NodeKind};

/// The keys that a base has.
const KEYS: [&str; 5] = ["filters", "formulas", "properties", "summaries", "views"];
/// More views, formulas or filters than this are no base that a person wrote.
const MOST: usize = 2_000;

type Read<T> = Result<T, BaseError>;

/// Reads a base.
pub(super) fn base(text: &str) -> Read<Base> {
    let tree = yaml::read(text)?;
    let root = &tree.root;
    let mut base = Base::default();
    let formulas = mapping(root, "formulas", "a mapping of names to expressions")?;
    let names: Vec<String> = formulas.iter().map(|entry| entry.key.clone()).collect();
    let mut reader = Reader { names, custom: Vec::new(), notices: Vec::new(), expressions: 0 };
    reader.unknown_keys(root);
    base.formulas = reader.formulas(formulas)?;
    for entry in mapping(root, "summaries", "a mapping of names to expressions")? {
        let test = reader.test(&entry.value, format!("summaries.{}", entry.key), true)?.0;
        reader.custom.push(entry.key.clone());
        base.summaries.push(Custom { name: entry.key.clone(), test });
    }
    base.filters = match root.get("filters") {
        Some(entry) => reader.filter(&entry.value, "filters".to_owned())?,
        None => None,
    };
    for entry in mapping(root, "properties", "a mapping of properties")? {
        base.properties.push(reader.property(entry)?);
    }
    if let Some(entry) = root.get("views") {
        for (index, node) in list(&entry.value, "views", "a list of views")?.iter().enumerate() {
            base.views.push(reader.view(node, index)?);
        }
    }
    base.notices = reader.notices;
    Ok(base)
}

struct Reader {
    names: Vec<String>,
    custom: Vec<String>,
    notices: Vec<String>,
    expressions: usize,
}

impl Reader {
    fn unknown_keys(&mut self, root: &Node) {
        let NodeKind::Map(entries) = &root.kind else { return };
        for entry in entries.iter().filter(|entry| !KEYS.contains(&entry.key.as_str())) {
            let meant = names::close_name(&entry.key, KEYS.into_iter());
            let meant = meant.map(|known| format!("; did you mean `{known}`?")).unwrap_or_default();
            self.notices.push(format!(
                "line {}: the key `{}` is not known and was left alone{meant}",
                entry.line, entry.key
            ));
        }
    }

    fn formulas(&mut self, entries: &[Entry]) -> Read<Vec<Formula>> {
        let mut out = Vec::new();
        let mut needs = Vec::new();
        for entry in entries {
            let (test, formulas) = self.test(&entry.value, format!("formulas.{}", entry.key), false)?;
            out.push(Formula { name: entry.key.clone(), test });
            needs.push(formulas);
        }
        match circle(&needs) {
            Some(circle) => Err(BaseError::Cycle {
                names: circle.iter().map(|index| self.names[*index].clone()).collect(),
            }),
            None => Ok(out),
        }
    }

    /// One expression, and the formulas that it asks for.
    fn test(&mut self, node: &Node, place: String, in_summary: bool) -> Read<(Test, Vec<usize>)> {
        self.expressions += 1;
        if self.expressions > MOST {
            return Err(BaseError::Limit { message: format!("a base has at most {MOST} expressions") });
        }
        let text = match &node.kind {
            NodeKind::Scalar(text) => text.clone(),
            NodeKind::Empty => String::new(),
            _ => return Err(shape(node, &place, "an expression")),
        };
        let names = Names { formulas: &self.names, in_summary };
        let parsed =
            parse::parse(&text, names).map_err(|mistake| misplaced(mistake, &place, node.line, &text))?;
        Ok((Test { place, text, expression: parsed.expression }, parsed.formulas))
    }

    fn filter(&mut self, node: &Node, place: String) -> Read<Option<Filter>> {
        let entries = match &node.kind {
            NodeKind::Empty => return Ok(None),
            NodeKind::Scalar(_) => {
                return self.test(node, place, false).map(|(test, _)| Some(Filter::Test(Box::new(test))));
            }
            NodeKind::List(_) => {
                return Err(shape(node, &place, "an expression, or a mapping with `and`, `or` or `not`"));
            }
            NodeKind::Map(entries) => entries,
        };
        let [entry] = entries.as_slice() else {
            return match entries.is_empty() {
                true => Ok(None),
                false => Err(shape(node, &place, "a mapping with exactly one of `and`, `or` and `not`")),
            };
        };
        let make: fn(Vec<Filter>) -> Filter = match entry.key.as_str() {
            "and" => Filter::And,
            "or" => Filter::Or,
            "not" => Filter::Not,
            _ => return Err(shape(node, &place, "a mapping with exactly one of `and`, `or` and `not`")),
        };
        let place = format!("{place}.{}", entry.key);
        let items = match &entry.value.kind {
            NodeKind::List(items) => items.as_slice(),
            NodeKind::Empty => &[],
            _ => std::slice::from_ref(&entry.value),
        };
        let mut filters = Vec::new();
        for (index, item) in items.iter().enumerate() {
            filters.extend(self.filter(item, format!("{place}[{index}]"))?);
        }
        Ok(Some(make(filters)))
    }

    fn property(&mut self, entry: &Entry) -> Read<Property> {
        let place = format!("properties.{}", entry.key);
        let property = self.id(&entry.key, &place, entry.line)?;
        let display_name = match &entry.value.kind {
            NodeKind::Empty => None,
            NodeKind::Map(_) => entry
                .value
                .get("displayName")
                .map(|name| text(&name.value, &format!("{place}.displayName")))
                .transpose()?,
            _ => return Err(shape(&entry.value, &place, "a mapping, e.g. `displayName: Price`")),
        };
        Ok(Property { id: entry.key.clone(), property, display_name })
    }

    /// The property that an id names.
    fn id(&mut self, id: &str, place: &str, line: usize) -> Read<PropertyId> {
        if let Some(field) = id.strip_prefix("file.") {
            let known = names::FILE_FIELDS.iter().find(|known| **known == field);
            let wrong = || misplaced(unknown_file_field(field, "file.".len()), place, line, id);
            return known.map(|field| PropertyId::File(field)).ok_or_else(wrong);
        }
        if let Some(name) = id.strip_prefix("formula.") {
            if let Some(index) = self.names.iter().position(|known| known == name) {
                return Ok(PropertyId::Formula(index));
            }
            let notice =
                format!("`{place}` names the formula `{name}`, which is not there; its values are empty");
            if !self.notices.contains(&notice) {
                self.notices.push(notice);
            }
            return Ok(PropertyId::Gone(name.into()));
        }
        Ok(PropertyId::Note(id.strip_prefix("note.").unwrap_or(id).into()))
    }

    fn view(&mut self, node: &Node, index: usize) -> Read<BaseView> {
        let place = format!("views[{index}]");
        if !matches!(node.kind, NodeKind::Map(_)) {
            return Err(shape(node, &place, "a mapping with `type` and `name`"));
        }
        let word =
            |key: &str| node.get(key).map(|entry| text(&entry.value, &format!("{place}.{key}"))).transpose();
        let kind = word("type")?.unwrap_or_else(|| "table".to_owned());
        let name = word("name")?.unwrap_or_else(|| format!("View {}", index + 1));
        let filters = match node.get("filters") {
            Some(entry) => self.filter(&entry.value, format!("{place}.filters"))?,
            None => None,
        };
        Ok(BaseView {
            kind,
            name,
            filters,
            limit: node.get("limit").map(|entry| limit(&entry.value, &place)).transpose()?.flatten(),
            group_by: self.group(node, &place)?,
            sort: self.sort(node, &place)?,
            order: self.order(node, &place)?,
            summaries: self.summaries(node, &place)?,
        })
    }

    fn group(&mut self, view: &Node, place: &str) -> Read<Option<(PropertyId, Direction)>> {
        let Some(entry) = view.get("groupBy") else { return Ok(None) };
        match entry.value.kind {
            NodeKind::Empty => Ok(None),
            _ => self.by(&entry.value, &format!("{place}.groupBy")).map(Some),
        }
    }

    fn sort(&mut self, view: &Node, place: &str) -> Read<Vec<(PropertyId, Direction)>> {
        let Some(entry) = view.get("sort") else { return Ok(Vec::new()) };
        let place = format!("{place}.sort");
        let items = list(&entry.value, &place, "a list of `property` and `direction`")?;
        items.iter().enumerate().map(|(index, item)| self.by(item, &format!("{place}[{index}]"))).collect()
    }

    /// `property: x` with `direction: DESC`; older bases say `column` for `property`, and a name alone goes up.
    fn by(&mut self, node: &Node, place: &str) -> Read<(PropertyId, Direction)> {
        if let NodeKind::Scalar(id) = &node.kind {
            return Ok((self.id(id, place, node.line)?, Direction::Ascending));
        }
        let Some(entry) = node.get("property").or_else(|| node.get("column")) else {
            return Err(shape(node, place, "a mapping with `property` and `direction`"));
        };
        let id = text(&entry.value, &format!("{place}.property"))?;
        let property = self.id(&id, place, entry.line)?;
        let Some(entry) = node.get("direction") else { return Ok((property, Direction::Ascending)) };
        let place = format!("{place}.direction");
        let word = text(&entry.value, &place)?;
        match word.to_ascii_uppercase().as_str() {
            "ASC" => Ok((property, Direction::Ascending)),
            "DESC" => Ok((property, Direction::Descending)),
            _ => Err(shape(&entry.value, &place, "`ASC` or `DESC`")),
        }
    }

    fn order(&mut self, view: &Node, place: &str) -> Read<Vec<(String, PropertyId)>> {
        let Some(entry) = view.get("order") else { return Ok(Vec::new()) };
        let place = format!("{place}.order");
        let mut out = Vec::new();
        for (index, item) in list(&entry.value, &place, "a list of properties")?.iter().enumerate() {
            let place = format!("{place}[{index}]");
            let id = text(item, &place)?;
            let property = self.id(&id, &place, item.line)?;
            out.push((id, property));
        }
        Ok(out)
    }

    fn summaries(&mut self, view: &Node, place: &str) -> Read<Vec<(String, PropertyId, Summary)>> {
        let mut out = Vec::new();
        for entry in mapping(view, "summaries", "a mapping of properties to the names of summaries")? {
            let place = format!("{place}.summaries.{}", entry.key);
            let property = self.id(&entry.key, &place, entry.line)?;
            let name = text(&entry.value, &place)?;
            let summary = Summary::named(&name, &self.custom).map_err(|hint| BaseError::Expression {
                place,
                line: entry.value.line,
                column: 1,
                message: format!("there is no summary `{name}`"),
                text: name,
                hint,
            })?;
            out.push((entry.key.clone(), property, summary));
        }
        Ok(out)
    }
}

fn limit(node: &Node, place: &str) -> Read<Option<usize>> {
    match &node.kind {
        NodeKind::Empty => Ok(None),
        NodeKind::Scalar(text) => match text.parse::<usize>() {
            Ok(limit) => Ok(Some(limit)),
            Err(_) => Err(shape(node, &format!("{place}.limit"), "a whole number")),
        },
        _ => Err(shape(node, &format!("{place}.limit"), "a whole number")),
    }
}

fn text(node: &Node, place: &str) -> Read<String> {
    match &node.kind {
        NodeKind::Scalar(text) => Ok(text.clone()),
        NodeKind::Empty => Ok(String::new()),
        _ => Err(shape(node, place, "a text")),
    }
}

fn list<'n>(node: &'n Node, place: &str, expected: &'static str) -> Read<&'n [Node]> {
    match &node.kind {
        NodeKind::List(items) if items.len() <= MOST => Ok(items),
        NodeKind::List(_) => {
            Err(BaseError::Limit { message: format!("`{place}` has more than {MOST} entries") })
        }
        NodeKind::Empty => Ok(&[]),
        _ => Err(shape(node, place, expected)),
    }
}

fn mapping<'n>(node: &'n Node, key: &str, expected: &'static str) -> Read<&'n [Entry]> {
    match node.get(key).map(|entry| (&entry.value, &entry.value.kind)) {
        None | Some((_, NodeKind::Empty)) => Ok(&[]),
        Some((_, NodeKind::Map(entries))) if entries.len() <= MOST => Ok(entries),
        Some((_, NodeKind::Map(_))) => {
            Err(BaseError::Limit { message: format!("`{key}` has more than {MOST} entries") })
        }
        Some((value, _)) => Err(shape(value, key, expected)),
    }
}

fn shape(node: &Node, place: &str, expected: &'static str) -> BaseError {
    BaseError::Shape { place: place.to_owned(), line: node.line, expected, found: node.what() }
}

/// A way round in a circle, if there is one; the last is the first again.
fn circle(needs: &[Vec<usize>]) -> Option<Vec<usize>> {
    let mut done = vec![false; needs.len()];
    for start in 0..needs.len() {
        // Not by recursion: a chain of formulas may be as long as the base.
        let mut way: Vec<(usize, usize)> = vec![(start, 0)];
        let mut on_way = vec![false; needs.len()];
        on_way[start] = true;
        while let Some((at, next)) = way.last_mut() {
            let (here, need) = (*at, needs[*at].get(*next).copied());
            *next += 1;
            match need {
                Some(need) if on_way[need] => {
                    let from = way.iter().position(|(at, _)| *at == need)?;
                    return Some(way[from..].iter().map(|(at, _)| *at).chain([need]).collect());
                }
                Some(need) if !done[need] => {
                    on_way[need] = true;
                    way.push((need, 0));
                }
                Some(_) => {}
                None => {
                    done[here] = true;
                    on_way[here] = false;
                    way.pop();
                }
            }
        }
    }
    None
}
