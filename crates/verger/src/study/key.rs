//! Where the key of a provider is: in an environment variable (`key_env`), in the system's keyring (`key = "keyring"`), or in a file
//! that only the person can read (`key_file`). The key itself never stands in `config.toml`.

use std::path::PathBuf;

use llm::Provider;
use toml::{Table, Value};

use crate::{keyring, place};

/// The fields of a provider that tell of its key.
pub const FIELDS: [&str; 3] = ["key", "key_env", "key_file"];

/// Where a key is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Key {
    /// None is needed.
    None,
    /// In this environment variable.
    Variable(String),
    /// In the keyring, under the provider's name.
    Keyring,
    /// In this file; from the configuration's folder on.
    File(PathBuf),
}

impl Key {
    /// Where the key of this provider is, by its settings and by habit; what is wrong with them otherwise.
    pub fn of(name: &str, settings: Option<&Table>) -> Result<Key, String> {
        let field = |field: &str| settings.and_then(|table| table.get(field));
        let text = |value: &Value| value.as_str().filter(|text| !text.trim().is_empty()).map(str::to_owned);
        match (field("key"), field("key_env"), field("key_file")) {
            (None, None, None) => {
                let usual = Provider::usual_key(name).filter(|_| field("url").is_none());
                Ok(usual.map_or(Key::None, |variable| Key::Variable(variable.to_owned())))
            }
            (Some(Value::String(word)), None, None) if word == "keyring" => Ok(Key::Keyring),
            (Some(_), None, None) => {
                Err("a key does not belong into a file; name its environment variable with \
                 `key_env`, or write `key = \"keyring\"` and give it in the page's settings"
                    .to_owned())
            }
            (None, Some(variable), None) => text(variable)
                .map(Key::Variable)
                .ok_or_else(|| "`key_env` must be the name of an environment variable".to_owned()),
            (None, None, Some(file)) => text(file)
                .map(|file| Key::File(file.into()))
                .ok_or_else(|| "`key_file` must be the path of a file".to_owned()),
            _ => Err("one of `key`, `key_env` and `key_file` is enough".to_owned()),
        }
    }

    /// The key, if it is there; why not, where that can be told.
    pub fn find(&self, name: &str) -> Result<Option<String>, String> {
        let found = match self {
            Key::None => None,
            Key::Variable(variable) => std::env::var(variable).ok(),
            Key::Keyring => keyring::get(name).map_err(|trouble| trouble.to_string())?,
            Key::File(file) => Some(place::read_private(&path(file)?)?),
        };
        Ok(found.filter(|key| !key.trim().is_empty()))
    }

    /// Why there is no key, and what to do.
    pub fn missing(&self, name: &str) -> (String, String) {
        match self {
            Key::None | Key::Variable(_) => {
                let usual = Provider::usual_key(name).unwrap_or("its key");
                let variable = if let Key::Variable(variable) = self { variable } else { usual };
                let hint =
                    format!("export {variable}=…, or take a model on this machine: --model ollama@NAME");
                (format!("the variable {variable} is not set"), hint)
            }
            Key::Keyring => {
                let why = match self.find(name) {
                    Err(why) => why,
                    Ok(_) => "the keyring holds none for it".to_owned(),
                };
                (
                    why,
                    "give it in the settings of the page (verger serve), or name a variable with `key_env`"
                        .to_owned(),
                )
            }
            Key::File(file) => {
                let why = self.find(name).err().unwrap_or_else(|| "it is empty".to_owned());
                let hint = "put the key into it and let only yourself read it: chmod 600".to_owned();
                (format!("the file {} does not help: {why}", file.display()), hint)
            }
        }
    }
}

/// Where a key file lies: from the configuration's folder on, or a whole path.
pub fn path(file: &std::path::Path) -> Result<PathBuf, String> {
    let folder = place::config_folder().map_err(|failure| failure.refusal.message)?;
    Ok(folder.join(place::expand(file)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_has_one_place_and_it_is_never_the_file_itself() {
        for (settings, expected) in [
            ("", Some(Key::Variable("OPENAI_API_KEY".to_owned()))),
            ("url = 'http://127.0.0.1:1'", Some(Key::None)),
            ("key = 'keyring'", Some(Key::Keyring)),
            ("key_env = 'MINE'", Some(Key::Variable("MINE".to_owned()))),
            ("key_file = 'keys/openai'", Some(Key::File("keys/openai".into()))),
            ("key = 'sk-1'", None),
            ("key = 1", None),
            ("key_env = ''", None),
            ("key_file = true", None),
            ("key = 'keyring'\nkey_env = 'MINE'", None),
        ] {
            let table: Table = settings.parse().unwrap();
            assert_eq!(Key::of("openai", Some(&table)).ok(), expected, "{settings}");
        }
        assert_eq!(Key::of("ollama", None), Ok(Key::None));
    }

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a test makes its files")]
    fn a_key_file_that_others_can_read_is_not_used() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("below/key");
        place::write_private(&file, "sk-1\n").unwrap();
        let key = Key::File(file.clone());
        assert_eq!(key.find("x").unwrap().as_deref(), Some("sk-1\n"));
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
        assert!(key.find("x").unwrap_err().contains("others can read it"));
        assert!(place::remove_private(&file).unwrap() && !place::remove_private(&file).unwrap());
        assert!(key.find("x").is_err());
    }
}
