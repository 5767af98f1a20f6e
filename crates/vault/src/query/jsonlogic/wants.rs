//! What of a note a rule can look at, so that nothing else is made. A name that is computed may be any.

use serde_json::Value as Json;

/// So many names are looked for one by one.
const MOST_NAMES: usize = 64;

/// What a rule may ask for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Wants {
    /// Names as `var` has them, e.g. `frontmatter.status`; nothing where everything is wanted.
    names: Option<Vec<String>>,
}

impl Wants {
    /// What this rule may ask for.
    pub(super) fn of(rule: &Json) -> Wants {
        let mut names = Vec::new();
        let known = gather(rule, &mut names, 0);
        // Looking for so many in every note costs more than making all.
        Wants { names: (known && names.len() <= MOST_NAMES).then_some(names) }
    }

    /// Whether a field of the note is.
    pub(super) fn field(&self, field: &str) -> bool {
        self.names.as_ref().is_none_or(|names| names.iter().any(|name| first(name) == field))
    }

    /// Whether a property of the front matter is.
    pub(super) fn property(&self, property: &str) -> bool {
        let asks = |name: &String| match name.strip_prefix("frontmatter") {
            Some("") => true,
            Some(rest) => rest.strip_prefix('.').is_some_and(|rest| first(rest) == property),
            None => false,
        };
        self.names.as_ref().is_none_or(|names| names.iter().any(asks))
    }
}

fn first(name: &str) -> &str {
    name.split('.').next().unwrap_or(name)
}

/// Gathers the names; says no where a name is not written out. Rules too deep to run are not looked into.
fn gather(rule: &Json, names: &mut Vec<String>, depth: u32) -> bool {
    if depth > 2 * super::DEEPEST {
        return false;
    }
    let inside =
        |values: &[Json], names: &mut Vec<String>| values.iter().all(|value| gather(value, names, depth + 1));
    let (operator, values) = match rule {
        Json::Array(items) => return inside(items, names),
        Json::Object(map) if map.len() == 1 => match map.iter().next() {
            Some(both) => both,
            None => return true,
        },
        _ => return true,
    };
    let single = std::slice::from_ref(values);
    let values = values.as_array().map_or(single, Vec::as_slice);
    match operator.as_str() {
        "var" => values.first().is_some_and(|name| named(name, names)) && inside(&values[1..], names),
        "missing" => match values.first() {
            Some(Json::Array(keys)) => keys.iter().all(|key| named(key, names)),
            _ => values.iter().all(|key| named(key, names)),
        },
        "missing_some" => match values.get(1) {
            Some(Json::Array(keys)) => keys.iter().all(|key| named(key, names)),
            _ => false,
        },
        // What stands second looks at the items of the list, not at the note.
        "map" | "filter" | "reduce" | "all" | "none" | "some" => {
            let of_note = values.iter().enumerate().filter(|(place, _)| *place != 1);
            of_note.map(|(_, value)| value).all(|value| gather(value, names, depth + 1))
        }
        _ => inside(values, names),
    }
}

fn named(name: &Json, names: &mut Vec<String>) -> bool {
    match name {
        Json::String(name) if !name.is_empty() => {
            if !names.contains(name) && names.len() <= MOST_NAMES {
                names.push(name.clone());
            }
            true
        }
        Json::Number(_) => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn only_what_a_rule_names_is_wanted() {
        let wants = Wants::of(&json!({"and": [{"var": ["frontmatter.status", {"var": "path"}]},
            {"some": [{"var": "tags"}, {"==": [{"var": ""}, "content"]}]}, {"missing": ["frontmatter.due", "stat.size"]}]}));
        for (field, wanted) in
            [("path", true), ("tags", true), ("stat", true), ("content", false), ("links", false)]
        {
            assert_eq!(wants.field(field), wanted, "{field}");
        }
        assert!(wants.property("status") && wants.property("due") && !wants.property("other"));
    }

    #[test]
    fn a_computed_name_may_be_any() {
        for rule in [
            json!({"var": {"cat": ["con", "tent"]}}),
            json!({"var": ""}),
            json!({"var": []}),
            json!({"missing": {"merge": []}}),
        ] {
            let wants = Wants::of(&rule);
            assert!(wants.field("content") && wants.property("x"), "{rule}");
        }
    }
}
