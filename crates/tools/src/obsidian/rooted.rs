//! Paths as this surface takes them: a slash in front means the vault's root, as it did in the original. Anything that
//! climbs out of the vault is refused as everywhere.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::IntoDeserializer;
use serde::{Deserialize, Deserializer};

/// A path, a folder or a destination, read without the slashes in front of it. Those behind it are `T`'s affair.
#[derive(Debug, Clone, Default)]
pub(super) struct Rooted<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Rooted<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Rooted<T>, D::Error> {
        let text = String::deserialize(deserializer)?;
        T::deserialize(text.trim_start_matches(['/', '\\']).into_deserializer()).map(Rooted)
    }
}

impl<T: JsonSchema> JsonSchema for Rooted<T> {
    fn schema_name() -> Cow<'static, str> {
        T::schema_name()
    }
    fn inline_schema() -> bool {
        true
    }
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        T::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use vault::VaultPath;

    #[test]
    fn slashes_around_a_path_mean_nothing_and_climbing_is_refused() {
        for (text, expected) in [
            ("a.md", Ok("a.md")),
            ("/a.md", Ok("a.md")),
            ("//F\\a.md/", Ok("F/a.md")),
            ("\\F/a.md", Ok("F/a.md")),
            ("/", Err("path_invalid")),
            ("/../a.md", Err("path_traversal")),
            ("/F/%2e%2e/a.md", Err("path_traversal")),
            ("C:/a.md", Err("path_invalid")),
            ("~/a.md", Err("path_invalid")),
        ] {
            let read = serde_json::from_value::<Rooted<VaultPath>>(text.into());
            match (&read, expected) {
                (Ok(path), Ok(expected)) => assert_eq!(path.0.as_str(), expected),
                (Err(error), Err(reason)) => assert!(error.to_string().contains(reason), "{error}"),
                _ => panic!("{text}: {read:?}"),
            }
        }
    }
}
