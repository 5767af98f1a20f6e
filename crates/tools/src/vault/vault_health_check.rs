//! `vault_health_check`: what is wrong or odd in the vault. It only reads; a repair is an ordinary edit.

use std::fmt::Write as _;

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vault::health::{self, Finding, FindingKind, Severity};

use crate::page::{clip, count, first_few, page};

/// Findings of one answer at most.
const MOST: usize = 500;
/// How many notes of one finding are named, and how much of a message is shown.
const NAMED: usize = 5;
const LONGEST: usize = 300;

/// The tool.
pub struct VaultHealthCheck;

/// Check the vault for broken links, orphans, duplicate names, tag variants, stale hubs, invalid front matter and the like.
/// Nothing is changed; each finding says which edit would mend it, and `vault_health_repair` makes those that are certain.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// Only findings of this kind.
    pub(crate) kind: Option<Kind>,
    /// How far to look.
    #[serde(default)]
    pub(crate) look: Look,
    /// Findings to list at most, up to 500.
    #[serde(default = "fifty")]
    pub(crate) limit: usize,
    /// How many to pass over: `next` of the page before.
    #[serde(default)]
    pub(crate) offset: usize,
}

/// How far to look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Look {
    /// At links, names, tags and properties.
    #[default]
    Catalog,
    /// At the texts too, for near duplicates and similar notes that are not linked; this reads every note.
    Texts,
}

impl Look {
    /// The findings.
    pub(crate) fn findings(self, view: &View<'_>) -> Result<Vec<Finding>, Refusal> {
        Ok(match self {
            Look::Catalog => view.catalog()?.health(),
            Look::Texts => view.health_of_texts()?,
        })
    }
}

/// A kind of finding, as a caller names it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Kind {
    InvalidFrontMatter,
    Unreadable,
    BrokenLink,
    DuplicateName,
    DuplicateAlias,
    TagVariant,
    NearDuplicate,
    EmptyNote,
    Orphan,
    MissingReciprocal,
    Hub,
    StaleHub,
    OneDomain,
    SimilarUnlinked,
}

impl From<FindingKind> for Kind {
    fn from(kind: FindingKind) -> Kind {
        match kind {
            FindingKind::InvalidFrontMatter => Kind::InvalidFrontMatter,
            FindingKind::Unreadable => Kind::Unreadable,
            FindingKind::BrokenLink => Kind::BrokenLink,
            FindingKind::DuplicateName => Kind::DuplicateName,
            FindingKind::DuplicateAlias => Kind::DuplicateAlias,
            FindingKind::TagVariant => Kind::TagVariant,
            FindingKind::NearDuplicate => Kind::NearDuplicate,
            FindingKind::EmptyNote => Kind::EmptyNote,
            FindingKind::Orphan => Kind::Orphan,
            FindingKind::MissingReciprocal => Kind::MissingReciprocal,
            FindingKind::Hub => Kind::Hub,
            FindingKind::StaleHub => Kind::StaleHub,
            FindingKind::OneDomain => Kind::OneDomain,
            FindingKind::SimilarUnlinked => Kind::SimilarUnlinked,
        }
    }
}

fn fifty() -> usize {
    50
}

/// A finding, made short enough to show.
#[derive(Serialize)]
struct Shown {
    kind: FindingKind,
    severity: Severity,
    paths: Vec<String>,
    total_paths: usize,
    line: Option<u32>,
    message: String,
    repair: Option<String>,
    /// Whether `vault_health_repair` can make the edit.
    repairable: bool,
    #[serde(skip)]
    text: String,
}

impl Tool for VaultHealthCheck {
    const SPEC: Spec = Spec::new("vault_health_check", Group::Vault, Effect::Answers).deferred();
    type Input = Input;
    async fn plan(&self, input: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let mut findings = input.look.findings(view)?;
        let counts = health::counts(&findings);
        findings.retain(|finding| input.kind.is_none_or(|kind| kind == Kind::from(finding.kind)));
        let shown: Vec<Shown> = findings.iter().map(shown).collect();
        let page = page(&shown, input.offset, input.limit.min(MOST), |finding| finding.text.len());
        let named: Vec<String> =
            counts.iter().map(|(kind, number)| format!("{number} {}", name(*kind))).collect();
        let mut text = match named.is_empty() {
            true => "no findings".to_owned(),
            false => format!("{}: {}", count(counts.values().sum(), "finding"), named.join(", ")),
        };
        if shown.is_empty() && !counts.is_empty() {
            text += "\nnone of the kind that was asked for";
        }
        page.items.iter().for_each(|finding| text += &format!("\n{}", finding.text));
        if let Some(next) = page.next {
            text += &format!("\n[{} more. Go on with offset {next}]", shown.len() - next);
        }
        let data = json!({
            "counts": counts, "findings": page.items, "total": shown.len(), "next": page.next
        });
        Ok(Plan::Answer(Output::new(text, data).from_vault("vault health")))
    }
}

/// The kind as data and people write it.
fn name(kind: FindingKind) -> String {
    match serde_json::to_value(kind) {
        Ok(Value::String(name)) => name,
        _ => format!("{kind:?}"),
    }
}

fn shown(finding: &Finding) -> Shown {
    let message = clip(&finding.message, LONGEST);
    let repair = finding.repair.as_deref().map(|repair| clip(repair, LONGEST));
    let mut text = format!("{}: {}", name(finding.kind), first_few(&finding.paths, NAMED));
    if let Some(line) = finding.line {
        let _ = write!(text, ", line {line}");
    }
    let _ = write!(text, ": {message}");
    if let Some(repair) = &repair {
        let _ = write!(text, " (repair: {repair})");
    }
    Shown {
        kind: finding.kind,
        severity: finding.severity,
        paths: finding.paths.iter().take(NAMED).map(ToString::to_string).collect(),
        total_paths: finding.paths.len(),
        line: finding.line,
        message,
        repair,
        repairable: !finding.mends.is_empty(),
        text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    const VAULT: &str =
        "a.md: [[b]]\n[[nowhere]] #Tag\n--- b.md: #tag #tag [[a]]\n--- c.md: \n--- x/b.md: ---\na: [\n---\n";

    #[test]
    fn findings_are_counted_by_kind_and_say_how_to_mend_them() {
        check(
            VaultHealthCheck,
            VAULT,
            json!({}),
            expect![[r#"
            7 findings: 1 invalid_front_matter, 1 broken_link, 1 duplicate_name, 1 tag_variant, 1 empty_note, 2 orphan
            invalid_front_matter: x/b.md: the front matter is not valid YAML (line 3): while parsing a node, did not find expected node content (repair: mend the YAML between the `---` lines by a text edit)
            broken_link: a.md, line 2: `nowhere` leads to nothing (repair: create the note, point the link elsewhere, or remove it)
            duplicate_name: b.md, x/b.md: 2 notes are called `b` (repair: rename one of them, or link with the folder in front)
            tag_variant: a.md: one tag is written in several ways: `#Tag` (1), `#tag` (2) (repair: write `#tag` in these notes too)
            empty_note: c.md: the note is empty (repair: delete the note, or write something in it)
            orphan: c.md: no note links to it, and it links to none (repair: link to it from a note that it belongs to)
            orphan: x/b.md: no note links to it, and it links to none (repair: link to it from a note that it belongs to)"#]],
        );
    }

    #[test]
    fn one_kind_page_by_page() {
        check(
            VaultHealthCheck,
            VAULT,
            json!({"kind": "orphan", "limit": 1}),
            expect![[r#"
            7 findings: 1 invalid_front_matter, 1 broken_link, 1 duplicate_name, 1 tag_variant, 1 empty_note, 2 orphan
            orphan: c.md: no note links to it, and it links to none (repair: link to it from a note that it belongs to)
            [1 more. Go on with offset 1]"#]],
        );
        check(
            VaultHealthCheck,
            VAULT,
            json!({"kind": "hub"}),
            expect![[r#"
                7 findings: 1 invalid_front_matter, 1 broken_link, 1 duplicate_name, 1 tag_variant, 1 empty_note, 2 orphan
                none of the kind that was asked for"#]],
        );
        check(VaultHealthCheck, "a.md: [[b]]\n--- b.md: [[a]]", json!({}), expect![[r#"no findings"#]]);
        check(
            VaultHealthCheck,
            VAULT,
            json!({"kind": "nonsense"}),
            expect![
                "refused: input_invalid: the input does not fit: unknown variant `nonsense`, expected one of `invalid_front_matter`, `unreadable`, `broken_link`, `duplicate_name`, `duplicate_alias`, `tag_variant`, `near_duplicate`, `empty_note`, `orphan`, `missing_reciprocal`, `hub`, `stale_hub`, `one_domain`, `similar_unlinked`. the fields are kind, look, limit, offset"
            ],
        );
    }

    #[test]
    fn a_check_is_a_read_and_needs_no_approval() {
        assert_eq!(VaultHealthCheck::SPEC.effect, Effect::Answers);
    }
}
