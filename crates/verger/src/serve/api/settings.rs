//! Settings: what `config.toml` says, models and their keys, approval, the vault's rules, agents and skills, other servers, grants,
//! and whether everything is in order. Each part is a file; here is what the parts share.

mod file;
mod grants;
mod keys;
mod models;
mod rules;
mod servers;
mod texts;

use std::sync::Arc;

use axum::Json;
use axum::extract::State;
use serde_json::{Value, json};

use super::area::{Area, Nothing};
use crate::config::Config;
use crate::config::write::{Setting, Sheet};
use crate::serve::house::House;
use crate::serve::problem::Problem;
use crate::{doctor, place};

/// The routes.
pub fn area() -> Area {
    let areas = [
        file::area(),
        models::area(),
        keys::area(),
        rules::area(),
        texts::area(),
        servers::area(),
        grants::area(),
    ];
    let area = Area::default().get::<Nothing, _, _>(
        "/api/settings/doctor",
        "Whether everything is in order, and what to do where it is not.",
        doctor,
    );
    areas.into_iter().fold(area, Area::join)
}

async fn doctor(State(house): State<Arc<House>>) -> Result<Json<Value>, Problem> {
    let look = |house: &House| {
        let study = house.study();
        Ok(json!({ "findings": doctor::look_at(&study.place, &study.config) }))
    };
    house.look(look).await.map(Json)
}

/// Changes `config.toml` and takes it up at once, all or nothing: what could not be taken up is not written.
fn save(house: &House, sheet: &Sheet, settings: &[Setting]) -> Result<String, Problem> {
    let after = sheet.with(settings)?;
    take_up(house, sheet, &after)?;
    Ok(after)
}

/// Puts this text in the place of `config.toml` and takes it up.
fn take_up(house: &House, sheet: &Sheet, after: &str) -> Result<(), Problem> {
    house.settle(|| taken_up(house, sheet, after))
}

fn taken_up(house: &House, sheet: &Sheet, after: &str) -> Result<(), Problem> {
    house.would_take(&Config::of_text(sheet.path(), after)?)?;
    sheet.replace(after)?;
    if let Err(problem) = house.renew() {
        // It looked right and was not: the program must start with it tomorrow, so it goes back.
        Sheet::read(&place::config_folder()?)?.go_back()?;
        return Err(problem);
    }
    house.beat(|pulse| pulse.settings += 1);
    Ok(())
}

/// `config.toml` as it stands.
fn sheet() -> Result<Sheet, Problem> {
    Ok(Sheet::read(&place::config_folder()?)?)
}

/// A setting by its path.
fn setting(path: &[&str], value: impl Into<Value>) -> Setting {
    Setting { path: path.iter().map(|name| (*name).to_owned()).collect(), value: value.into() }
}
