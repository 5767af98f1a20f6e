//! `vault_health_repair`: the certain repairs of one kind of finding, as one edit.

use std::collections::{BTreeMap, BTreeSet};

use pipeline::{Effect, Group, Output, Plan, Refusal, Spec, Tool, View};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use vault::health::{Finding, Mend};
use vault::{Change, VaultPath, moves};

use super::vault_health_check::{Kind, Look};
use crate::page::count;

/// Notes that one call changes at most; the answer says what is left.
const MOST: usize = 500;

/// Mend all findings of one kind whose repair is certain: tag variants, links by an alias, links back, empty notes, exact
/// copies, similar notes without a link. One edit, one undo. What a person must decide is left alone and counted.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Input {
    /// The kind of finding to mend.
    kind: Kind,
    /// Only findings about these notes; all if absent.
    #[serde(default)]
    paths: Vec<VaultPath>,
}

/// The tool.
pub struct VaultHealthRepair;

impl Tool for VaultHealthRepair {
    const SPEC: Spec = Spec::new("vault_health_repair", Group::Edit, Effect::Edits).deferred();
    type Input = Input;

    async fn plan(&self, Input { kind, paths }: Input, view: &View<'_>) -> Result<Plan, Refusal> {
        let look = match kind {
            Kind::NearDuplicate | Kind::SimilarUnlinked => Look::Texts,
            _ => Look::Catalog,
        };
        let mut findings = look.findings(view)?;
        findings.retain(|found| Kind::from(found.kind) == kind);
        findings.retain(|found| paths.is_empty() || found.paths.iter().any(|path| paths.contains(path)));
        let (certain, open): (Vec<&Finding>, Vec<&Finding>) =
            findings.iter().partition(|found| !found.mends.is_empty());
        let mends = certain.iter().flat_map(|found| &found.mends);
        let repaired = plan(mends.filter(|mend| is_wanted(mend, &paths)), view)?;
        if repaired.changes.is_empty() {
            return Err(nothing(findings.len(), open.len()));
        }
        Ok(told(repaired, open.len()))
    }
}

/// A repair that was asked for some notes changes no others; which of a pair is changed is the finding's choice.
fn is_wanted(mend: &Mend, paths: &[VaultPath]) -> bool {
    paths.is_empty() || paths.contains(mend.path()) || matches!(mend, Mend::Append { .. })
}

struct Repaired {
    changes: Vec<Change>,
    notes: usize,
    /// Notes that could not be mended, and why.
    skipped: Vec<String>,
    left: usize,
}

fn plan<'m>(mends: impl Iterator<Item = &'m Mend>, view: &View<'_>) -> Result<Repaired, Refusal> {
    let mut by_note: BTreeMap<&VaultPath, Vec<&Mend>> = BTreeMap::new();
    mends.for_each(|mend| by_note.entry(mend.path()).or_default().push(mend));
    let left = by_note.len().saturating_sub(MOST);
    let mut repaired = Repaired { changes: Vec::new(), notes: 0, skipped: Vec::new(), left };
    let mut trashed = BTreeSet::new();
    for (path, mends) in by_note.into_iter().take(MOST) {
        let change = match mends.iter().any(|mend| matches!(mend, Mend::Delete { .. })) {
            true => delete(path, view, &mut trashed),
            false => rewrite(path, &mends, view),
        };
        match change {
            Ok(changes) => {
                repaired.notes += usize::from(!changes.is_empty());
                repaired.changes.extend(changes);
            }
            Err(refusal) => repaired.skipped.push(format!("{path}: {}", refusal.message)),
        }
    }
    Ok(repaired)
}

fn rewrite(path: &VaultPath, mends: &[&Mend], view: &View<'_>) -> Result<Vec<Change>, Refusal> {
    let before = view.text(path)?;
    let after = mends.iter().try_fold(before.clone(), |text, mend| mend.apply(&text))?;
    match after == before {
        true => Ok(Vec::new()),
        false => Ok(vec![Change::replace(path.clone(), before, after)]),
    }
}

fn delete(
    path: &VaultPath,
    view: &View<'_>,
    trashed: &mut BTreeSet<VaultPath>,
) -> Result<Vec<Change>, Refusal> {
    let changes = moves::plan_delete(view, path)?;
    let taken = changes.iter().any(|change| match change {
        Change::Move { to, .. } => !trashed.insert(to.clone()),
        _ => false,
    });
    match taken {
        true => Err(Refusal::new(
            "trash_name_taken",
            "a note of the same name goes to the trash in this edit",
            "repair once more to delete it too",
        )),
        false => Ok(changes),
    }
}

fn told(repaired: Repaired, open: usize) -> Plan {
    let Repaired { changes, notes, skipped, left } = repaired;
    let mut text = format!("mended {}", count(notes, "note"));
    if left > 0 {
        text += &format!("\n{} left for the next call", count(left, "note"));
    }
    if open > 0 {
        text += &format!("\n{} left for a person to decide", count(open, "finding"));
    }
    skipped.iter().for_each(|why| text += &format!("\nnot mended: {why}"));
    let data = json!({"notes": notes, "left": left, "undecided": open, "skipped": skipped});
    let summary = format!("mend {}", count(notes, "note"));
    Plan::edit(changes, summary, Output::new(text, data))
}

fn nothing(findings: usize, open: usize) -> Refusal {
    let (message, hint) = match findings {
        0 => ("there is no such finding".to_owned(), "vault_health_check lists what there is"),
        _ => (
            format!("{}, and a person must decide what to do", count(open.max(1), "finding")),
            "vault_health_check says what would mend each; make the edit with the ordinary tools",
        ),
    };
    Refusal::new("nothing_to_repair", message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use pipeline::testing::check;

    #[test]
    fn tags_are_written_as_most_notes_do_in_one_edit() {
        check(
            VaultHealthRepair,
            "a.md: #Tag and #to-do\n--- b.md: ---\ntags: [tag, TAG]\n---\n#tag #todo #todo",
            json!({"kind": "tag_variant"}),
            expect![[r#"
                mended 2 notes
                ~ a.md (15 -> 14 bytes)
                -#Tag and #to-do
                +#tag and #todo
                ~ b.md (41 -> 36 bytes)
                 ---
                -tags: [tag, TAG]
                +tags: [tag]
                 ---
                 #tag #todo #todo
            "#]],
        );
    }

    #[test]
    fn a_link_by_an_alias_is_mended_and_the_rest_is_left_to_a_person() {
        check(
            VaultHealthRepair,
            "a.md: [[Bee]] [[nowhere]]\n--- b.md: ---\naliases: Bee\n---\nx",
            json!({"kind": "broken_link"}),
            expect![[r#"
                mended 1 note
                1 finding left for a person to decide
                ~ a.md (19 -> 21 bytes)
                -[[Bee]] [[nowhere]]
                +[[b|Bee]] [[nowhere]]
            "#]],
        );
        check(
            VaultHealthRepair,
            "a.md: [[nowhere]]",
            json!({"kind": "broken_link"}),
            expect![
                "refused: nothing_to_repair: 1 finding, and a person must decide what to do. vault_health_check says what would mend each; make the edit with the ordinary tools"
            ],
        );
        check(
            VaultHealthRepair,
            "a.md: x",
            json!({"kind": "broken_link"}),
            expect![
                "refused: nothing_to_repair: there is no such finding. vault_health_check lists what there is"
            ],
        );
    }

    #[test]
    fn empty_notes_go_to_the_trash_one_name_at_a_time() {
        check(
            VaultHealthRepair,
            "a.md: \n--- x/a.md: \n--- c.md: \n--- b.md: [[c]]",
            json!({"kind": "empty_note"}),
            expect![[r#"
                mended 1 note
                1 finding left for a person to decide
                not mended: x/a.md: a note of the same name goes to the trash in this edit
                - a.md (to the trash, as .trash/a.md)
            "#]],
        );
    }

    #[test]
    fn a_link_back_is_added_where_a_property_links_and_only_for_the_notes_asked_for() {
        check(
            VaultHealthRepair,
            "a.md: ---\nup: \"[[b]]\"\n---\n--- b.md: text\n--- c.md: ---\nup: \"[[b]]\"\n---\n",
            json!({"kind": "missing_reciprocal", "paths": ["a.md"]}),
            expect![[r#"
                mended 1 note
                ~ b.md (4 -> 21 bytes)
                -text
                +text
                +
                +See also [[a]]
            "#]],
        );
    }
}
