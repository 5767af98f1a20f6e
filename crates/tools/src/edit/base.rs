//! What `create_base` and `update_base` share: how a view is given, and what is asked of every base before it is written.

use pipeline::Refusal;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};
use vault::VaultPath;
use vault::query::bases::Base;

use crate::vault::query_base::refuse;

/// A view of a base.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, rename_all = "camelCase")]
pub(crate) struct ViewInput {
    /// Its name; each view of a base has its own.
    pub(crate) name: String,
    /// `table`, `cards`, `list`, `map`, or a plugin's; a new view is a table if absent.
    #[serde(default, rename = "type")]
    kind: Option<String>,
    /// A filter: an expression such as `status == "open"`, or {"and": [...]}, {"or": [...]}, {"not": [...]} of filters.
    #[serde(default)]
    filters: Option<Value>,
    /// The columns: `file.name`, `note.status` or `status`, `formula.total`.
    #[serde(default)]
    order: Option<Vec<String>>,
    /// By what the rows are sorted, the first first.
    #[serde(default)]
    sort: Option<Vec<By>>,
    /// By what the rows are put together.
    #[serde(default)]
    group_by: Option<By>,
    /// The most rows.
    #[serde(default)]
    limit: Option<usize>,
    /// Property to summary: Average, Min, Max, Sum, Range, Median, Stddev, Earliest, Latest, Checked, Unchecked, Empty,
    /// Filled, Unique, or one of the base's own.
    #[serde(default)]
    summaries: Option<Map<String, Value>>,
    /// Other keys that the view's type knows, e.g. {"rowHeight": "tall"}.
    #[serde(default)]
    options: Map<String, Value>,
}

/// A property and a direction.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct By {
    /// The property.
    property: String,
    /// Up or down.
    #[serde(default)]
    direction: Up,
}

/// Up or down.
#[derive(Debug, Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
pub(crate) enum Up {
    /// The smallest first.
    #[default]
    Asc,
    /// The largest first.
    Desc,
}

impl By {
    fn to_json(&self) -> Value {
        let direction = match self.direction {
            Up::Asc => "ASC",
            Up::Desc => "DESC",
        };
        json!({"property": self.property, "direction": direction})
    }
}

impl ViewInput {
    /// The keys that were given, in the order in which Obsidian writes them, the name left out.
    pub(crate) fn keys(&self) -> Vec<(String, Value)> {
        let sort = self.sort.as_ref().map(|sort| sort.iter().map(By::to_json).collect::<Value>());
        let known = [
            ("type", self.kind.clone().map(Value::from)),
            ("filters", self.filters.clone()),
            ("groupBy", self.group_by.as_ref().map(By::to_json)),
            ("order", self.order.clone().map(Value::from)),
            ("sort", sort),
            ("limit", self.limit.map(Value::from)),
            ("summaries", self.summaries.clone().map(Value::Object)),
        ];
        let known = known.into_iter().filter_map(|(key, value)| Some((key.to_owned(), value?)));
        known.chain(self.options.iter().map(|(key, value)| (key.clone(), value.clone()))).collect()
    }

    /// The view as a new one.
    pub(crate) fn as_new(&self) -> Value {
        let kind = Value::from(self.kind.clone().unwrap_or_else(|| "table".to_owned()));
        let mut out =
            Map::from_iter([("type".to_owned(), kind), ("name".to_owned(), self.name.clone().into())]);
        out.extend(self.keys());
        Value::Object(out)
    }
}

/// Refuses a name that Obsidian would not open as a base.
pub(crate) fn check_name(path: &VaultPath) -> Result<(), Refusal> {
    if path.extension() == Some("base") {
        return Ok(());
    }
    Err(Refusal::new("not_a_base", format!("`{path}` is not a base"), "name a file that ends in `.base`")
        .with("path", path))
}

/// Refuses a text that is no base, or one with a mistake in an expression; and tells its views.
pub(crate) fn checked(text: &str) -> Result<Value, Refusal> {
    let base = Base::parse(text).map_err(refuse)?;
    let mut names: Vec<&str> = base.views.iter().map(|view| view.name.as_str()).collect();
    let views = json!(names);
    names.sort_unstable();
    if let Some(twice) = names.windows(2).find(|pair| pair[0] == pair[1]) {
        return Err(Refusal::new(
            "base_invalid",
            format!("there would be two views named `{}`", twice[0]),
            "give each view its own name",
        ));
    }
    let formulas: Vec<&str> = base.formulas.iter().map(|formula| formula.name.as_str()).collect();
    Ok(json!({"views": views, "formulas": formulas, "notices": base.notices}))
}
