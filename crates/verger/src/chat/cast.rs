//! The agents, skills and standing instructions of a vault, as the loop wants them.

use agent::{Cast, Persona, SkillText};
use pipeline::{Group, Refusal, Rights};

use crate::failure::Failure;
use crate::place::Place;

/// Who can speak in this vault.
pub struct Company;

/// Looks who can speak in this vault.
pub fn open(_: &Place) -> Result<Company, Failure> {
    Ok(Company)
}

impl Cast for Company {
    fn persona(&self, slug: &str) -> Persona {
        let (rights, notice) = match slug {
            "agent" => (Rights::all(), None),
            "reader" => (Rights::groups([Group::Read, Group::Vault, Group::Agent]), None),
            gone => (
                Rights::read_only(),
                Some(format!("the agent `{gone}` is gone; this conversation can only read")),
            ),
        };
        Persona {
            slug: slug.to_owned(),
            name: slug.to_owned(),
            role: "You are Verger, the caretaker of the user's vault.".to_owned(),
            instructions: String::new(),
            rights,
            model: None,
            notice,
        }
    }

    fn slugs(&self) -> Vec<String> {
        vec!["agent".to_owned(), "reader".to_owned()]
    }

    fn skills(&self) -> String {
        String::new()
    }

    fn skill(&self, name: &str) -> Result<SkillText, Refusal> {
        Err(Refusal::new("skill_unknown", format!("there is no skill `{name}`"), "list them"))
    }

    fn standing(&self) -> String {
        String::new()
    }
}
