//! The rules that travel with the vault: `.verger/ignore` and `.verger/protect`, shown to the person and changed by them. No tool and
//! no model comes here.

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use pipeline::World as _;
use pipeline::audit::{Ended, Entry};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::policy::{RuleFile, Rules, Scope};

use crate::config::write::word;
use crate::serve::api::area::{Area, Nothing};
use crate::serve::api::body::Told;
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::world::RealWorld;

/// How many of the notes that a rule is about are named.
const NAMED: usize = 20;
/// The longest text of rules that is tried while somebody types.
const LONGEST: usize = 256 * 1024;

/// The routes.
pub fn area() -> Area {
    Area::default()
        .get::<Nothing, _, _>("/api/settings/rules", "What the vault's ignore and protect files say.", shown)
        .post::<Tried, _, _>(
            "/api/settings/rules/try",
            "Which notes these rules would be about; nothing is changed.",
            tried,
        )
        .put::<Put, _, _>("/api/settings/rules", "Replaces one of the two files.", put)
}

/// One of the two files.
#[derive(Clone, Copy, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Which {
    /// What is hidden from every tool.
    Ignore,
    /// What may be read and not changed.
    Protect,
}

impl From<Which> for RuleFile {
    fn from(which: Which) -> RuleFile {
        match which {
            Which::Ignore => RuleFile::Ignore,
            Which::Protect => RuleFile::Protect,
        }
    }
}

/// Rules to be tried.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Tried {
    /// Which file they are for.
    file: Which,
    /// The rules, a pattern a line.
    text: String,
}

/// Rules to be kept.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Put {
    /// Which file.
    file: Which,
    /// Its new text.
    text: String,
    /// The `word` of the text that the person saw.
    saw: String,
}

async fn shown(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    let look = |house: &House| {
        let study = house.study();
        let vault = study.mind.road.vault();
        let one = |file: RuleFile| -> Result<Value, Problem> {
            let text = vault.rule_text(file)?;
            let mut others = Vec::new();
            for name in file.others() {
                if let Some(text) = vault.older_rule_text(name)? {
                    others.push(json!({"name": name, "text": text}));
                }
            }
            Ok(json!({"name": file.name(), "text": text, "word": named(text.as_deref()), "others": others}))
        };
        Ok(json!({
            "ignore": one(RuleFile::Ignore)?,
            "protect": one(RuleFile::Protect)?,
            "may_write": !study.config.limits.read_only,
        }))
    };
    house.look(look).await.map(Json)
}

/// Names a text; no file is another thing than an empty one.
fn named(text: Option<&str>) -> String {
    text.map_or_else(|| "none".to_owned(), word)
}

async fn tried(State(house): State<Arc<House>>, Told(told): Told<Tried>) -> Result<Json<Value>, Problem> {
    house.look(move |house| about(house, told.file.into(), &told.text)).await.map(Json)
}

fn about(house: &House, file: RuleFile, text: &str) -> Result<Value, Problem> {
    if text.len() > LONGEST {
        return Err(Problem::bad("these rules are too long to be tried", "write fewer, broader ones"));
    }
    let texts = [(file.name(), text.to_owned())];
    let rules = match file {
        RuleFile::Ignore => Rules::parse(&texts, &[]),
        RuleFile::Protect => Rules::parse(&[], &texts),
    };
    let rules = match rules {
        Ok(rules) => rules,
        Err(error) => return Ok(json!({"wrong": error.to_string()})),
    };
    let study = house.study();
    // The person decides what is hidden, so they see what is hidden now. Limits and secrets still hold.
    let scope = Scope::new(study.config.limits.clone(), Rules::default());
    let catalog = study.mind.road.vault().view(&scope).catalog()?;
    let hit = |path: &vault::VaultPath| match file {
        RuleFile::Ignore => rules.hides(path),
        RuleFile::Protect => rules.protects(path),
    };
    let (count, first, total) = catalog.ask(|catalog, visible| {
        let (mut count, mut total, mut first) = (0_usize, 0_usize, Vec::new());
        for info in catalog.files(visible) {
            total += 1;
            if hit(&info.path) {
                count += 1;
                if first.len() < NAMED {
                    first.push(info.path.to_string());
                }
            }
        }
        (count, first, total)
    });
    Ok(json!({"count": count, "first": first, "total": total}))
}

async fn put(State(house): State<Arc<House>>, Told(told): Told<Put>) -> Result<Json<Value>, Problem> {
    house.look(move |house| write(house, told.file.into(), &told.text, &told.saw)).await.map(Json)
}

fn write(house: &House, file: RuleFile, text: &str, saw: &str) -> Result<Value, Problem> {
    let study = house.study();
    let road = &study.mind.road;
    if study.config.limits.read_only {
        let hint = "switch it off in Settings, What may be touched";
        return Err(Problem::new(
            axum::http::StatusCode::FORBIDDEN,
            "read_only",
            "nothing may be changed: the vault is read-only here",
            hint,
        ));
    }
    let before = road.vault().rule_text(file)?;
    if named(before.as_deref()) != saw {
        let path = vault::VaultPath::parse(file.name())
            .map_err(|error| vault::Error::Path { text: file.name().to_owned(), error })?;
        return Err(vault::Error::Stale { path }.into());
    }
    road.vault().write_rules(file, before.as_deref(), text)?;
    let bytes = |text: Option<&str>| text.map_or(0, |text| text.len() as u64);
    road.audit.append(Entry {
        time: RealWorld.now().timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
        task: "settings".to_owned(),
        agent: "web".to_owned(),
        call: None,
        tool: "settings".to_owned(),
        outcome: Ended::Done,
        reason: None,
        approval: Some("once by web".to_owned()),
        checkpoint: None,
        paths: vec![file.name().to_owned()],
        bytes: Some((bytes(before.as_deref()), bytes(Some(text)))),
        input: json!({"file": file.name()}),
        milliseconds: 0,
    })?;
    house.beat(|pulse| {
        pulse.settings += 1;
        pulse.notes += 1;
    });
    Ok(
        json!({"done": {"text": format!("{} is saved and holds from now on", file.name()), "word": named(Some(text))}}),
    )
}
