//! Workflows: texts that a person runs by name, `/weekly-review rest of the line`. The vault's own count once they are
//! trusted, because a name says nothing of what stands behind it.

use std::collections::BTreeMap;

use pipeline::Refusal;
use pipeline::refusal::nearest;
use serde::Serialize;

use crate::text::{Fault, LONGEST, Origin, Problem, Text, Trusted, clip, fits, is_name, one_line};

const MOST: usize = 500;
const HELP: usize = 200;

/// A workflow.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Workflow {
    /// Its name behind the slash.
    pub slug: String,
    /// What it does, in a line.
    pub help: String,
    /// The instructions.
    #[serde(skip)]
    pub text: String,
    /// Where it comes from.
    pub source: Origin,
    /// Its file.
    pub path: String,
}

/// All workflows.
#[derive(Debug, Clone, Default)]
pub struct Workflows {
    workflows: BTreeMap<String, Workflow>,
    waiting: BTreeMap<String, String>,
    problems: Vec<Problem>,
}

impl Workflows {
    /// Puts them together; one of the vault goes before an own one of the same name, once trusted.
    pub fn gather(texts: &[Text], trusted: Trusted<'_>) -> Workflows {
        let mut all = Workflows::default();
        for origin in [Origin::BuiltIn, Origin::Global, Origin::Vault] {
            for (at, text) in texts.iter().filter(|text| text.origin == origin).enumerate() {
                let read = if at < MOST { read(text) } else { Err(Fault::TooMany { most: MOST }) };
                match read {
                    Ok(workflow) if origin != Origin::Vault || trusted(text) => {
                        all.workflows.insert(workflow.slug.clone(), workflow);
                    }
                    Ok(workflow) => {
                        all.waiting.insert(workflow.slug, workflow.path);
                    }
                    Err(fault) => all.problems.push(Problem { path: text.path.clone(), fault }),
                }
            }
        }
        all
    }

    /// The message for a workflow and what was typed behind its name.
    pub fn expand(&self, slug: &str, rest: &str) -> Result<String, Refusal> {
        let Some(workflow) = self.workflows.get(slug) else { return Err(self.missing(slug)) };
        let head =
            format!("Carry out the workflow `{slug}`. These are its instructions:\n\n{}", workflow.text);
        Ok(match rest.trim() {
            "" => head,
            rest => format!("{head}\n\nWith this:\n\n{rest}"),
        })
    }

    fn missing(&self, slug: &str) -> Refusal {
        if let Some(path) = self.waiting.get(slug) {
            return Refusal::new(
                "workflow_untrusted",
                format!("the workflow `{slug}` comes with the vault and is not trusted as it is now"),
                format!("look at it: verger trust {path}"),
            );
        }
        let hint = match nearest(slug, self.workflows.keys().map(String::as_str)) {
            Some(meant) => format!("did you mean `/{meant}`?"),
            None => "`/help` lists them".to_owned(),
        };
        Refusal::new("workflow_unknown", format!("there is no workflow `{}`", clip(slug, 64)), hint)
    }

    /// The workflows that can be run, by name.
    pub fn list(&self) -> impl Iterator<Item = &Workflow> {
        self.workflows.values()
    }

    /// The names of those that wait for trust, with their files.
    pub fn waiting(&self) -> &BTreeMap<String, String> {
        &self.waiting
    }

    /// The files that are none, and why.
    pub fn problems(&self) -> &[Problem] {
        &self.problems
    }
}

fn read(text: &Text) -> Result<Workflow, Fault> {
    if !fits(&text.text, LONGEST) {
        return Err(Fault::TooLong { most: LONGEST });
    }
    let slug = slug(text.stem());
    if !is_name(&slug) {
        return Err(Fault::Name { name: one_line(&clip(text.stem(), 64)) });
    }
    let front = pipeline::front::split(&text.text);
    let start = front.as_ref().map_or(0, |front| front.block.end);
    let body = text.text.get(start..).unwrap_or_default().trim_start_matches('\u{feff}').trim();
    if body.is_empty() {
        return Err(Fault::Missing { field: "text" });
    }
    let values = front.map(|front| front.values).transpose()?.unwrap_or_default();
    let said = values.get("description").and_then(serde_json::Value::as_str);
    let first = body.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let help = clip(&one_line(said.unwrap_or(first)), HELP);
    Ok(Workflow { slug, help, text: body.to_owned(), source: text.origin, path: text.path.clone() })
}

/// `Weekly review` is typed as `/weekly-review`.
fn slug(stem: &str) -> String {
    let kept: String =
        stem.chars().map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' }).collect();
    // A name of other letters would become hyphens only; it is refused by `is_name`.
    kept.split('-').filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn text(origin: Origin, name: &str, text: &str) -> Text {
        Text { origin, path: format!(".verger/workflows/{name}"), text: text.to_owned() }
    }

    #[test]
    fn a_workflow_is_its_text_in_front_of_the_rest() {
        let file = "---\ndescription: Look back\n---\n# Review\nRead the week.";
        let all = Workflows::gather(&[text(Origin::Global, "Weekly review.md", file)], &|_| false);
        expect![[r#"
            Carry out the workflow `weekly-review`. These are its instructions:

            # Review
            Read the week.

            With this:

            only work"#]]
        .assert_eq(&all.expand("weekly-review", " only work\n").unwrap());
        assert_eq!(all.list().next().unwrap().help, "Look back");
        assert!(all.expand("weekly-review", "").unwrap().ends_with("Read the week."));
    }

    #[test]
    fn one_of_the_vault_waits_for_trust_and_does_not_hide_an_own_one() {
        let texts = [
            text(Origin::Global, "a.md", "mine"),
            text(Origin::Vault, "a.md", "theirs"),
            text(Origin::Vault, "b.txt", "x"),
        ];
        let all = Workflows::gather(&texts, &|_| false);
        assert!(all.expand("a", "").unwrap().ends_with("mine"));
        let refusal = all.expand("b", "").unwrap_err();
        assert_eq!(
            (&*refusal.reason, refusal.hint.as_str()),
            ("workflow_untrusted", "look at it: verger trust .verger/workflows/b.txt")
        );
        let trusted = Workflows::gather(&texts, &|_| true);
        assert!(trusted.expand("a", "").unwrap().ends_with("theirs"));
        assert_eq!(trusted.expand("bb", "").unwrap_err().hint, "did you mean `/b`?");
    }

    #[test]
    fn what_is_no_workflow_is_named() {
        let texts = [
            text(Origin::Global, "日本.md", "x"),
            text(Origin::Global, "empty.md", "---\na: b\n---\n \n"),
            text(Origin::Global, "broken.md", "---\na: [\n---\nx"),
            text(Origin::Global, "long.md", &"x".repeat(LONGEST + 1)),
        ];
        let all = Workflows::gather(&texts, &|_| true);
        assert_eq!((all.list().count(), all.problems().len()), (0, 4), "{:?}", all.problems());
    }
}
