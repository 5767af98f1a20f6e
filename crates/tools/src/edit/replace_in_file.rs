//! `replace_in_file`: a list of replacements in one file, each on what the one before left.

use pipeline::{Effect, Group, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};
use vault::VaultPath;
use vault::edit::replace::{self, Replacement};

use super::replacement::ReplacementInput;
use super::rewrite::Original;

/// Search and replace in a file, front matter included: text or regular expressions, several in order, written once. If
/// nothing is found nothing is changed. To replace one known piece of text use edit_file, which checks how often it occurs.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Path inside the vault, e.g. `Projects/Plan.md`.
    path: VaultPath,
    /// What to replace, in order; each works on what the one before left.
    #[schemars(length(min = 1))]
    replacements: Vec<ReplacementInput>,
    /// The version that you read; the edit is refused if the file has changed since.
    #[serde(default, rename = "ifMatch")]
    if_match: Option<String>,
}

/// The tool.
pub struct ReplaceInFile;

impl Tool for ReplaceInFile {
    const SPEC: Spec = Spec::new("replace_in_file", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        if input.replacements.is_empty() {
            return Err(Refusal::new(
                "input_invalid",
                "there is nothing to replace",
                "give at least one replacement",
            ));
        }
        let original = Original::read(view, input.path, input.if_match.as_deref())?;
        let wanted: Vec<Replacement> = input.replacements.iter().map(Replacement::from).collect();
        let replaced = replace::replace(original.text(), &wanted)?;
        let each: Vec<Value> = input
            .replacements
            .iter()
            .zip(&replaced.counts)
            .map(|(replacement, count)| json!({ "search": replacement.search, "count": count }))
            .collect();
        let total: usize = replaced.counts.iter().sum();
        let data = json!({ "totalReplacements": total, "perReplacement": each });
        original.becomes(replaced.text, &format!("replaced {total} times in"), data)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn replacements_are_made_in_order() {
        check(
            ReplaceInFile,
            "a.md: one two One\n",
            json!({"path": "a.md", "replacements": [
                {"search": "one", "replace": "two", "caseSensitive": false},
                {"search": "(t)wo", "replace": "$1WO", "useRegex": true, "replaceAll": false}]}),
            expect![[r#"
                replaced 3 times in `a.md`: +1 -1 lines, 12 -> 12 bytes, version be6267e1a4909b5c
                ~ a.md (12 -> 12 bytes)
                -one two One
                +tWO two two
            "#]],
        );
    }

    #[test]
    fn nothing_found_changes_nothing_and_a_bad_pattern_is_refused() {
        check(
            ReplaceInFile,
            "a.md: x",
            json!({"path": "a.md", "replacements": [{"search": "y", "replace": "z"}]}),
            expect!["nothing to change in `a.md`"],
        );
        check(
            ReplaceInFile,
            "a.md: x",
            json!({"path": "a.md", "replacements": [{"search": "(", "replace": "", "useRegex": true}]}),
            expect![
                "refused: regex_invalid: `(` is no regular expression that we know: unclosed group. mend the pattern; look-around and back-references are not supported (match more, and keep parts with $1)"
            ],
        );
        check(
            ReplaceInFile,
            "a.md: x",
            json!({"path": "a.md", "replacements": []}),
            expect!["refused: input_invalid: there is nothing to replace. give at least one replacement"],
        );
    }
}
