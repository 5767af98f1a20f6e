//! `init` and `doctor`: the first minute, and when something is wrong.

use std::os::unix::fs::symlink;

use crate::rig::Rig;

#[test]
fn init_makes_what_is_missing_and_never_overwrites() {
    let rig = Rig::empty();
    std::fs::create_dir(rig.root()).unwrap();
    let root = rig.root().display().to_string();
    rig.ok(&["init", &root]);
    assert!(rig.read(".verger/ignore").starts_with("# ") && rig.has(".verger/protect"));
    let config = std::fs::read_to_string(rig.path("config/verger/config.toml")).unwrap();
    assert!(config.contains(&format!("vault = \"{root}\"")), "{config}");
    rig.write(".verger/ignore", "Mine/\n");
    std::fs::remove_file(rig.root().join(".verger/protect")).unwrap();
    let again = rig.json(&["init", &root]);
    assert_eq!(again["data"]["made"].as_array().unwrap().len(), 1, "only what was missing");
    assert_eq!(rig.read(".verger/ignore"), "Mine/\n");
    assert_eq!(std::fs::read_to_string(rig.path("config/verger/config.toml")).unwrap(), config);
    let outside = rig.command(&["ls"]).current_dir(rig.path("home")).output().unwrap();
    assert_eq!(outside.status.code(), Some(0), "from anywhere, by the config");
}

#[test]
fn init_adds_the_vault_to_a_config_that_names_none() {
    let rig = Rig::tour();
    std::fs::create_dir_all(rig.path("config/verger")).unwrap();
    let own = "# mine\n[limits]\nread_only = true # for now\n";
    std::fs::write(rig.path("config/verger/config.toml"), own).unwrap();
    let root = rig.root().display().to_string();
    rig.ok(&["init", &root]);
    let config = std::fs::read_to_string(rig.path("config/verger/config.toml")).unwrap();
    assert_eq!(config, format!("vault = \"{root}\"\n{own}"));
}

#[test]
fn init_without_a_folder_lists_what_obsidian_knows() {
    let rig = Rig::tour();
    let said = rig.run(&["init"]);
    assert_eq!(said.code, 2);
    assert!(said.err.contains("hint: name your vault's folder: verger init PATH"), "{said:?}");
    std::fs::create_dir_all(rig.path("config/obsidian")).unwrap();
    let json = serde_json::json!({"vaults": {"a": {"path": rig.root()}, "b": {"path": "/nowhere/at all"}}});
    std::fs::write(rig.path("config/obsidian/obsidian.json"), json.to_string()).unwrap();
    let root = rig.root().display().to_string();
    assert_eq!(rig.ok(&["init"]), format!("{root}\n/nowhere/at all  (not there any more)\n"));
    assert_eq!(rig.json(&["init"])["data"]["vaults"][0]["found"], true);
}

#[test]
fn a_healthy_vault_gets_no_warning() {
    let rig = Rig::tour();
    rig.ok(&["append", "Inbox", "x", "-y"]);
    let said = rig.run(&["doctor"]);
    assert_eq!(said.code, 0, "{said:?}");
    assert!(!said.out.contains("fail"), "{said:?}");
    let findings = rig.json(&["doctor"]);
    for finding in findings["data"]["findings"].as_array().unwrap() {
        let machine = finding["what"].as_str().unwrap();
        assert!(finding["verdict"] == "ok" || machine.starts_with("free space"), "{finding}");
    }
}

/// A fault, the line of the doctor that finds it, and whether it is a failure.
#[test]
fn the_doctor_finds_seeded_faults() {
    type Fault = fn(&Rig);
    let faults: [(&str, Fault, &str, i32); 8] = [
        (
            "config",
            |rig| {
                std::fs::create_dir_all(rig.path("config/verger")).unwrap();
                std::fs::write(rig.path("config/verger/config.toml"), "vualt = 1").unwrap();
            },
            "fail  configuration",
            1,
        ),
        ("rules", |rig| rig.write(".verger/protect", "[z-a]\n"), "fail  rules", 1),
        (
            "rules are not text",
            |rig| std::fs::write(rig.root().join(".verger/ignore"), [0xff, 0xfe]).unwrap(),
            "fail  rules",
            1,
        ),
        (
            "audit",
            |rig| {
                let file = rig.data().join("audit.jsonl");
                let text = std::fs::read_to_string(&file).unwrap();
                std::fs::write(file, text.replace("append_to_file", "read_file")).unwrap();
            },
            "fail  audit",
            1,
        ),
        ("grants", |rig| std::fs::write(rig.data().join("grants.json"), "[{").unwrap(), "fail  grants", 1),
        (
            "store",
            |rig| {
                let file = rig.data().join("checkpoints.log");
                let mut bytes = std::fs::read(&file).unwrap();
                let middle = bytes.len() / 3;
                bytes[middle] ^= 0xff;
                bytes.extend_from_slice(&bytes.clone());
                std::fs::write(file, bytes).unwrap();
            },
            "fail  store",
            1,
        ),
        (
            "link",
            |rig| symlink("/etc", rig.root().join("etc")).unwrap(),
            "warn  links and special files: 1 symbolic",
            0,
        ),
        (
            "conflict",
            |rig| rig.write("Inbox.sync-conflict-20260101-120000-AAAAAAA.md", "x"),
            "warn  sync conflicts: 1",
            0,
        ),
    ];
    for (name, fault, line, code) in faults {
        let rig = Rig::tour();
        rig.ok(&["append", "Inbox", "x", "-y"]);
        fault(&rig);
        let said = rig.run(&["doctor"]);
        assert_eq!(said.code, code, "{name}: {said:?}");
        assert!(said.out.contains(line), "{name}: {}", said.out);
        let after = said.out.lines().skip_while(|text| !text.starts_with(line)).nth(1).unwrap_or_default();
        assert!(after.starts_with("      "), "{name} says what to do: {}", said.out);
    }
}

#[test]
fn data_inside_the_vault_is_a_failure() {
    let rig = Rig::tour();
    let output = rig.command(&["doctor"]).env("VERGER_DATA_DIR", rig.root().join("data")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&output.stdout).contains("fail  data folder"));
    let output = rig.command(&["ls"]).env("VERGER_DATA_DIR", rig.root().join("data")).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(!rig.has("data"), "nothing was made in the vault");
}
