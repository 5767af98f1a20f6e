//! Every function, method and file property there is, with how many arguments each takes; and what a wrong name may mean.

/// A function or method: its name, and the least and the most arguments it takes.
pub(crate) struct Known {
    pub name: &'static str,
    pub least: usize,
    pub most: usize,
}

const fn known(name: &'static str, least: usize, most: usize) -> Known {
    Known { name, least, most }
}

const ANY: usize = usize::MAX;

/// The functions that stand by themselves.
pub(crate) const FUNCTIONS: [Known; 16] = [
    known("escapeHTML", 1, 1),
    known("date", 1, 1),
    known("duration", 1, 1),
    known("file", 1, 1),
    known("html", 1, 1),
    known("if", 2, 3),
    known("image", 1, 1),
    known("icon", 1, 1),
    known("link", 1, 2),
    known("list", 1, 1),
    known("max", 1, ANY),
    known("min", 1, ANY),
    known("now", 0, 0),
    known("number", 1, 1),
    known("today", 0, 0),
    known("random", 0, 0),
];

/// The methods by the type on which they work.
pub(crate) const METHODS: [(&str, &[Known]); 9] = [
    (
        "any",
        &[known("isTruthy", 0, 0), known("isType", 1, 1), known("toString", 0, 0), known("isEmpty", 0, 0)],
    ),
    ("date", &[known("date", 0, 0), known("format", 1, 1), known("time", 0, 0), known("relative", 0, 0)]),
    (
        "string",
        &[
            known("contains", 1, 1),
            known("containsAll", 0, ANY),
            known("containsAny", 0, ANY),
            known("endsWith", 1, 1),
            known("lower", 0, 0),
            known("replace", 2, 2),
            known("repeat", 1, 1),
            known("reverse", 0, 0),
            known("slice", 1, 2),
            known("split", 1, 2),
            known("startsWith", 1, 1),
            known("title", 0, 0),
            known("trim", 0, 0),
        ],
    ),
    (
        "number",
        &[
            known("abs", 0, 0),
            known("ceil", 0, 0),
            known("floor", 0, 0),
            known("round", 0, 1),
            known("toFixed", 0, 1),
        ],
    ),
    (
        "list",
        &[
            known("contains", 1, 1),
            known("containsAll", 0, ANY),
            known("containsAny", 0, ANY),
            known("filter", 1, 1),
            known("flat", 0, 0),
            known("join", 0, 1),
            known("map", 1, 1),
            known("mean", 0, 0),
            known("reduce", 1, 2),
            known("reverse", 0, 0),
            known("slice", 1, 2),
            known("sort", 0, 0),
            known("unique", 0, 0),
        ],
    ),
    ("link", &[known("asFile", 0, 0), known("linksTo", 1, 1)]),
    (
        "file",
        &[
            known("asLink", 0, 1),
            known("hasLink", 1, 1),
            known("hasProperty", 1, 1),
            known("hasTag", 1, ANY),
            known("inFolder", 1, 1),
        ],
    ),
    ("object", &[known("keys", 0, 0), known("values", 0, 0)]),
    ("regexp", &[known("matches", 1, 1)]),
];

/// What a file knows of itself.
pub(crate) const FILE_FIELDS: [&str; 14] = [
    "name",
    "basename",
    "path",
    "folder",
    "ext",
    "size",
    "ctime",
    "mtime",
    "tags",
    "links",
    "embeds",
    "backlinks",
    "properties",
    "file",
];

/// What a date knows of itself.
pub(crate) const DATE_FIELDS: [&str; 7] = ["year", "month", "day", "hour", "minute", "second", "millisecond"];

/// Names from other languages, and what they are called here.
const ELSEWHERE: [(&str, &str); 22] = [
    ("includes", "contains"),
    ("icontains", "lower().contains"),
    ("tolowercase", "lower"),
    ("tolower", "lower"),
    ("downcase", "lower"),
    ("size", "length"),
    ("count", "length"),
    ("len", "length"),
    ("average", "mean"),
    ("avg", "mean"),
    ("sum", "reduce(acc + value, 0)"),
    ("some", "filter"),
    ("find", "filter"),
    ("default", "if"),
    ("choice", "if"),
    ("iif", "if"),
    ("dateformat", "format"),
    ("tostr", "toString"),
    ("string", "toString"),
    ("match", "matches"),
    ("test", "matches"),
    ("haskey", "hasProperty"),
];

/// The function of this name.
pub(crate) fn function(name: &str) -> Option<&'static Known> {
    FUNCTIONS.iter().find(|known| known.name == name)
}

/// The method of this name, on whatever type. The same name takes the same arguments on every type.
pub(crate) fn method(name: &str) -> Option<&'static Known> {
    METHODS.iter().flat_map(|(_, methods)| methods.iter()).find(|known| known.name == name)
}

/// The methods of a type, those of every type left out.
pub(crate) fn methods_of(kind: &str) -> Vec<&'static str> {
    let own = METHODS.iter().find(|(name, _)| *name == kind);
    own.into_iter().flat_map(|(_, methods)| methods.iter()).map(|known| known.name).collect()
}

/// `did you mean …?` for a name among others, or all of them if none is close.
pub(crate) fn suggestion<'a>(name: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let lower = name.to_lowercase();
    if let Some((_, here)) = ELSEWHERE.iter().find(|(elsewhere, _)| *elsewhere == lower) {
        return format!("did you mean `{here}`?");
    }
    match closest(&lower, names.clone()) {
        Some(known) => format!("did you mean `{known}`?"),
        None => {
            let mut all: Vec<&str> = Vec::new();
            names.for_each(|name| {
                if !all.contains(&name) {
                    all.push(name)
                }
            });
            match all.is_empty() {
                true => "there are none".to_owned(),
                false => format!("there are: {}", all.join(", ")),
            }
        }
    }
}

fn closest<'a>(lower: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let scored = names.filter_map(|known| {
        let other = known.to_lowercase();
        let starts =
            lower.len() > 2 && (other.starts_with(lower) || lower.starts_with(&other) && other.len() > 2);
        let edits = edits(lower, &other);
        let allowed = (lower.chars().count() / 3).clamp(1, 3);
        match (edits <= allowed, starts) {
            (true, _) => Some((edits, known)),
            (_, true) => Some((4, known)),
            _ => None,
        }
    });
    scored.min_by_key(|(edits, _)| *edits).map(|(_, known)| known)
}

/// How many letters must be changed, added, dropped or swapped with their neighbour; long texts are just far apart.
fn edits(a: &str, b: &str) -> usize {
    const LONGEST: usize = 40;
    let letters = |text: &str| text.chars().take(LONGEST).collect::<Vec<char>>();
    let (a, b) = (letters(a), letters(b));
    let mut table = vec![vec![0; b.len() + 1]; a.len() + 1];
    for i in 0..=a.len() {
        for j in 0..=b.len() {
            if i == 0 || j == 0 {
                table[i][j] = i + j;
                continue;
            }
            let changed = table[i - 1][j - 1] + usize::from(a[i - 1] != b[j - 1]);
            let mut least = changed.min(table[i - 1][j] + 1).min(table[i][j - 1] + 1);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                least = least.min(table[i - 2][j - 2] + 1);
            }
            table[i][j] = least;
        }
    }
    table[a.len()][b.len()]
}

/// The closest of the names of views, formulas and the like.
pub(crate) fn close_name<'a>(name: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    closest(&name.to_lowercase(), names)
}
