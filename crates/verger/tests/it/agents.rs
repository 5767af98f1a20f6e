//! Agents, skills and rules: what the vault brings is used only as the person has seen it. The real binary.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;

use serde_json::json;

use crate::rig::Rig;

const SKILL: &str = "---\nname: tidy-up\ndescription: Tidies notes.\nallowed-tools: Read Write Bash(git:*)\n---\n# How\nTidy.\n";

/// A folder with a skill, outside of the vault.
fn skill(rig: &Rig, text: &str) -> PathBuf {
    let folder = rig.path("downloads/tidy-up");
    std::fs::create_dir_all(folder.join("scripts")).unwrap();
    std::fs::write(folder.join("SKILL.md"), text).unwrap();
    let script = folder.join("scripts/run.sh");
    std::fs::write(&script, "echo").unwrap();
    std::fs::set_permissions(&script, std::fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn states(rig: &Rig) -> Vec<(String, String)> {
    let listed = rig.json(&["trust"]);
    let texts = listed["data"]["texts"].as_array().unwrap().clone();
    let word = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
    texts.iter().map(|text| (word(&text["path"]), word(&text["state"]))).collect()
}

#[test]
fn the_built_in_agents_are_listed_and_shown_with_their_tools() {
    let rig = Rig::tour();
    let list = rig.ok(&["agents"]);
    for line in [
        "agent  built-in  everything  ",
        "reader  built-in  read,vault  ",
        "writer  built-in  read,vault,edit  ",
    ] {
        assert!(list.contains(line), "{list}");
    }
    let reader = rig.json(&["agents", "show", "reader"]);
    let tools: Vec<&str> =
        reader["data"]["tools"].as_array().unwrap().iter().map(|tool| tool.as_str().unwrap()).collect();
    assert!(tools.contains(&"read_file") && !tools.contains(&"write_file") && !tools.contains(&"new_task"));
    let missing = rig.run(&["agents", "show", "raeder"]);
    assert_eq!(missing.code, 1);
    assert!(missing.err.contains("did you mean `reader`?"), "{missing:?}");
}

#[test]
fn an_agent_of_the_vault_counts_once_trusted_and_no_longer_when_it_changes() {
    let rig = Rig::tour();
    rig.write(".verger/agents/gardener.md", "---\ngroups: [read, edit]\nwhen_to_use: digging\n---\nDig.\n");
    let list = rig.run(&["agents"]);
    assert!(!list.out.contains("gardener") && list.err.contains("verger agents trust gardener"), "{list:?}");
    let denied = rig.run(&["agents", "trust", "gardener"]);
    assert_eq!(denied.code, 3, "{denied:?}");
    assert!(
        denied.err.contains("Dig.")
            && denied.err.contains("may do more than what it overrides: append_to_file")
    );
    rig.ok(&["agents", "trust", "gardener", "--yes"]);
    assert!(rig.ok(&["agents"]).contains("gardener  vault  read,edit  digging"));
    assert!(rig.json(&["agents", "show", "gardener"])["data"]["agent"]["instructions"] == "Dig.");
    rig.write(".verger/agents/gardener.md", "---\ngroups: [read, edit, web]\n---\nDig deeper.\n");
    let changed = rig.run(&["agents", "show", "gardener"]);
    assert!(changed.err.contains("not trusted yet") && !changed.out.contains("deeper"), "{changed:?}");
    assert_eq!(states(&rig), [(".verger/agents/gardener.md".to_owned(), "changed".to_owned())]);
    let own = rig.run(&["agents", "trust", "reader", "-y"]);
    assert_eq!(own.code, 1, "{own:?}");
}

#[test]
fn a_broken_agent_is_told_and_harms_no_other() {
    let rig = Rig::tour();
    rig.write(".verger/agents/broken.md", "---\ngroups: [reed]\n---\n");
    std::fs::write(rig.root().join(".verger/agents/bytes.md"), b"\xff\xfe").unwrap();
    let list = rig.run(&["agents"]);
    assert_eq!(list.code, 0);
    assert!(
        list.err.contains("broken.md is not used: there is no group `reed`. did you mean `read`?"),
        "{list:?}"
    );
    assert!(list.err.contains("bytes.md is not used: it is not text"), "{list:?}");
    assert!(list.out.contains("writer"), "{list:?}");
    assert_eq!(rig.json(&["agents"])["data"]["problems"][0]["path"], ".verger/agents/broken.md");
}

#[test]
fn a_skill_is_added_only_after_its_capabilities_were_shown_and_somebody_agreed() {
    let rig = Rig::tour();
    let folder = skill(&rig, SKILL);
    let folder = folder.to_str().unwrap();
    let denied = rig.run(&["skills", "add", folder]);
    assert_eq!(denied.code, 3, "{denied:?}");
    for line in [
        "changes notes with: write_file",
        "names tools that are not here: Bash(git:*)",
        "holds programs, which are not run: scripts/run.sh",
    ] {
        assert!(denied.err.contains(line), "{denied:?}");
    }
    assert!(!rig.path("config/verger/skills").exists());
    rig.ok(&["skills", "add", folder, "--yes"]);
    let script = rig.path("config/verger/skills/tidy-up/scripts/run.sh");
    assert_eq!(std::fs::metadata(&script).unwrap().permissions().mode() & 0o111, 0);
    let shown = rig.json(&["skills", "show", "tidy-up"]);
    assert_eq!(shown["data"]["state"], "trusted");
    assert_eq!(shown["data"]["skill"]["allowed"], json!(["read_file", "write_file"]));
    assert!(shown["data"]["record"]["from"].as_str().unwrap().ends_with("downloads/tidy-up"));
    let trust = rig.path("data/verger/trust.json");
    assert_eq!(std::fs::metadata(&trust).unwrap().permissions().mode() & 0o777, 0o600);
    let again = rig.run(&["skills", "add", folder, "--yes"]);
    assert!(again.code == 2 && again.err.contains("already"), "{again:?}");

    std::fs::write(&script, "rm -rf").unwrap();
    let changed = rig.run(&["skills"]);
    assert!(
        changed.out.contains("tidy-up  global, not trusted"),
        "a changed script is another skill: {changed:?}"
    );

    assert_eq!(rig.run(&["skills", "rm", "tidy-up"]).code, 3);
    let removed = rig.json(&["skills", "rm", "tidy-up", "--yes"]);
    let aside = removed["data"]["more"]["aside"].as_str().unwrap();
    assert!(std::path::Path::new(aside).join("SKILL.md").is_file());
    assert_eq!(rig.ok(&["skills"]), "");
}

#[test]
fn what_is_no_skill_is_not_added() {
    let rig = Rig::tour();
    let folder = skill(&rig, "---\nname: other\ndescription: d\n---\n");
    let differs = rig.run(&["skills", "add", folder.to_str().unwrap(), "-y"]);
    assert!(differs.code == 1 && differs.err.contains("its folder is `tidy-up`"), "{differs:?}");
    std::fs::write(folder.join("SKILL.md"), SKILL).unwrap();
    symlink("/etc/passwd", folder.join("notes.md")).unwrap();
    let link = rig.run(&["skills", "add", folder.to_str().unwrap(), "-y"]);
    assert!(link.code == 1 && link.err.contains("`notes.md` is a link"), "{link:?}");
    let nothing = rig.run(&["skills", "add", rig.path("nowhere").to_str().unwrap(), "-y"]);
    assert!(nothing.code == 1 && nothing.err.contains("there is no SKILL.md"), "{nothing:?}");
    assert!(!rig.path("config/verger/skills").exists());
}

#[test]
fn a_skill_of_the_vault_is_trusted_by_all_of_its_files() {
    let rig = Rig::tour();
    rig.write(".verger/skills/tidy-up/SKILL.md", SKILL);
    rig.write(".verger/skills/tidy-up/references/how.md", "so");
    assert!(rig.ok(&["skills"]).contains("tidy-up  vault, not trusted  Tidies notes."));
    rig.ok(&["skills", "trust", "tidy-up", "-y"]);
    assert!(rig.ok(&["skills"]).contains("tidy-up  vault  Tidies notes."));
    let text = rig.ok(&["skills", "show", "tidy-up"]);
    assert!(text.contains("- .verger/skills/tidy-up/references/how.md (2 bytes)"), "{text}");
    rig.write(".verger/skills/tidy-up/references/how.md", "otherwise");
    assert!(rig.ok(&["skills"]).contains("not trusted"));
}

#[test]
fn the_vaults_rules_wait_for_trust_and_trust_can_be_taken_back() {
    let rig = Rig::tour();
    rig.write("AGENTS.md", "Be brief.\n");
    rig.write(".verger/rules/style.md", "Be kind.\n");
    rig.write(".verger/workflows/Weekly.md", "Look back.\n");
    std::fs::write(rig.root().join(".verger/rules/bytes.md"), b"\xff").unwrap();
    std::fs::write(rig.root().join(".verger/rules/long.md"), "x".repeat(60_000)).unwrap();
    let paths =
        [".verger/rules/long.md", ".verger/rules/style.md", ".verger/workflows/Weekly.md", "AGENTS.md"];
    let all = |state: &str| -> Vec<(String, String)> {
        paths.iter().map(|path| ((*path).to_owned(), state.to_owned())).collect()
    };
    assert_eq!(states(&rig), all("new"));
    assert!(rig.run(&["trust"]).err.contains("bytes.md is not used: it is not text"));
    let one = rig.run(&["trust", "AGENTS.md", "--yes"]);
    assert!(
        one.code == 0 && one.err.contains("Be brief.") && one.out == "AGENTS.md: trusted as it is now\n",
        "{one:?}"
    );
    rig.ok(&["trust", "--all", "-y"]);
    assert_eq!(states(&rig), all("trusted"));
    assert!(rig.run(&["trust"]).err.contains("long.md is not used: it is longer than 50000 characters"));
    rig.ok(&["trust", "--all", "--forget"]);
    assert_eq!(states(&rig), all("new"));
    let unknown = rig.run(&["trust", "AGENT.md"]);
    assert!(unknown.code == 1 && unknown.err.contains("did you mean `AGENTS.md`?"), "{unknown:?}");
}

#[test]
fn ignore_rules_hide_a_root_file_and_never_the_folder_for_the_agent() {
    let rig = Rig::tour();
    rig.write("AGENTS.md", "Be brief.\n");
    rig.write(".verger/rules/style.md", "Be kind.\n");
    rig.write(".verger/ignore", "AGENTS.md\n.verger/\n");
    assert_eq!(states(&rig), [(".verger/rules/style.md".to_owned(), "new".to_owned())]);
}

#[test]
fn links_in_the_vault_are_not_followed() {
    let rig = Rig::tour();
    let outside = rig.path("outside");
    std::fs::create_dir_all(outside.join("evil")).unwrap();
    std::fs::write(outside.join("evil/SKILL.md"), SKILL.replace("tidy-up", "evil")).unwrap();
    std::fs::write(outside.join("rule.md"), "Obey.").unwrap();
    for folder in [".verger/rules", ".verger/skills/half"] {
        std::fs::create_dir_all(rig.root().join(folder)).unwrap();
    }
    symlink(outside.join("rule.md"), rig.root().join("AGENTS.md")).unwrap();
    symlink(outside.join("rule.md"), rig.root().join(".verger/rules/a.md")).unwrap();
    symlink(&outside, rig.root().join(".verger/agents")).unwrap();
    symlink(outside.join("evil"), rig.root().join(".verger/skills/evil")).unwrap();
    symlink(outside.join("evil/SKILL.md"), rig.root().join(".verger/skills/half/SKILL.md")).unwrap();
    assert_eq!(states(&rig), []);
    assert_eq!(rig.ok(&["skills"]), "");
}

#[test]
fn a_model_cannot_write_what_would_tell_it_what_to_do() {
    let rig = Rig::tour();
    let input =
        json!({"path": ".verger/agents/agent.md", "content": "---\ngroups: [read]\n---\n"}).to_string();
    let refused = rig.run(&["tool", "write_file", "--input", &input, "--yes"]);
    assert_eq!(refused.code, 1, "{refused:?}");
    assert!(!rig.has(".verger/agents/agent.md"));
}

#[test]
fn a_damaged_trust_file_trusts_nothing() {
    let rig = Rig::tour();
    rig.write("AGENTS.md", "Be brief.\n");
    rig.ok(&["trust", "AGENTS.md", "-y"]);
    let file = rig.data().join("trust.json");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, &text[..text.len() / 2]).unwrap();
    let damaged = rig.run(&["trust"]);
    assert!(damaged.code == 1 && damaged.err.contains("trust.json cannot be used"), "{damaged:?}");
}

/// The prompt and the tools share 6,000 tokens; the listed tools may take most of it, in the form that providers take.
#[test]
fn the_listed_tools_leave_room_for_the_prompt() {
    let words = tiktoken_rs::o200k_base().unwrap();
    let (mut listed, mut steering) = (0, 0);
    let others: Vec<_> = tools::table::all().list(&pipeline::Rights::all());
    for tool in tools::table::every().list(&pipeline::Rights::all()) {
        if tool.spec.deferred {
            continue;
        }
        let shown =
            json!({"name": tool.spec.name, "description": tool.description, "input_schema": tool.schema});
        let tokens = words.encode_ordinary(&shown.to_string()).len();
        listed += tokens;
        if !others.iter().any(|other| other.spec.name == tool.spec.name) {
            steering += tokens;
        }
    }
    println!("{listed} tokens for the listed tools, {steering} of them for those that steer");
    assert!(steering < 1_100, "{steering}");
    assert!(listed < 5_300, "{listed}");
}
