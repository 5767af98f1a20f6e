//! `obsidian_get_links`: what a note links to, and what links to it. The original has no such tool.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use vault::VaultPath;

use super::rooted::Rooted;
use super::target::find;
use crate::vault::GetLinkedNotes;
use crate::vault::get_linked_notes::{self, Direction};

/// List what a note links to (`forward`), what links to it (`backlinks`), or both.
#[derive(Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Input {
    /// Path of the note.
    path: Rooted<VaultPath>,
    /// Which links.
    #[serde(default)]
    direction: Links,
    /// Notes to list in each direction, up to 500.
    #[serde(default = "hundred")]
    limit: usize,
    /// How many to pass over: `next` of the page before.
    #[serde(default)]
    offset: usize,
}

#[derive(Debug, Clone, Copy, Default, Deserialize, serde::Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
enum Links {
    #[default]
    Both,
    Forward,
    Backlinks,
}

fn hundred() -> usize {
    100
}

/// The tool.
pub struct GetLinks;

impl Tool for GetLinks {
    const SPEC: Spec = Spec::new("obsidian_get_links", Group::Vault, Effect::Answers);
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let direction = match input.direction {
            Links::Both => Direction::Both,
            Links::Forward => Direction::Forward,
            Links::Backlinks => Direction::Backlinks,
        };
        let path = find(view, &input.path.0)?;
        let inner = get_linked_notes::Input { path, direction, limit: input.limit, offset: input.offset };
        GetLinkedNotes.plan(inner, view).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;
    use serde_json::json;

    #[test]
    fn links_are_listed_in_both_directions_or_one() {
        let vault = "a.md: [[b]] [[nowhere]]\n--- b.md: ![[a]]\n--- c.md: [[a]]";
        check(
            GetLinks,
            vault,
            json!({"path": "/a.md"}),
            expect![[r#"
            a.md
            links to 2:
              b.md (line 1)
              nowhere (line 1) (unresolved)
            linked from 2:
              b.md (line 1, embedded)
              c.md (line 1)"#]],
        );
        check(
            GetLinks,
            vault,
            json!({"path": "a.md", "direction": "backlinks", "limit": 1}),
            expect![[r#"
            a.md
            linked from 2:
              b.md (line 1, embedded)
              [1 more. Go on with offset 1]"#]],
        );
        check(
            GetLinks,
            vault,
            json!({"path": "z.md"}),
            expect![
                "refused: note_missing: there is no `z.md` in the vault. did you mean `a.md`, `b.md`, `c.md`?"
            ],
        );
        check(
            GetLinks,
            vault,
            json!({"path": "a.md", "direction": "up"}),
            expect![
                "refused: input_invalid: the input does not fit: unknown variant `up`, expected one of `both`, `forward`, `backlinks`. the fields are path, direction, limit, offset"
            ],
        );
    }
}
