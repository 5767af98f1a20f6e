//! What is changed in `config.toml`, and what is left as it was.

use super::*;
use serde_json::json;

const TEXT: &str = "# mine\nvault = '/v' # here\n\n[limits] # what may be read\n# why this one\nread = [ \"Notes\", # daily\n  \"Journal\" ]\nread_only = false   # for now\n\n[chat]\nrounds = 25 # enough\n\n# at the end\n";

fn set(text: &str, path: &[&str], value: Json) -> Result<String, Failure> {
    let path: Vec<String> = path.iter().map(|name| (*name).to_owned()).collect();
    changed(text, &path, &value)
}

#[track_caller]
fn check(text: &str, path: &[&str], value: Json, old: &str, new: &str) {
    let after = set(text, path, value).unwrap();
    assert!(text.contains(old) || old.is_empty(), "the test is about another text");
    assert_eq!(after, text.replacen(old, new, 1));
    Config::parse(&after).unwrap();
}

#[test]
fn a_value_is_replaced_and_every_other_byte_stays() {
    check(TEXT, &["limits", "read_only"], json!(true), "read_only = false   #", "read_only = true   #");
    check(TEXT, &["chat", "rounds"], json!(7), "rounds = 25", "rounds = 7");
    check(
        TEXT,
        &["limits", "read"],
        json!(["A", "b c"]),
        "[ \"Notes\", # daily\n  \"Journal\" ]",
        "[\"A\", \"b c\"]",
    );
}

#[test]
fn a_new_key_goes_into_its_table_and_a_new_table_to_the_end() {
    check(
        TEXT,
        &["chat", "agent"],
        json!("quill"),
        "rounds = 25 # enough\n",
        "rounds = 25 # enough\nagent = \"quill\"\n",
    );
    let after = set(TEXT, &["models", "main"], json!("a@b")).unwrap();
    assert!(after.starts_with(TEXT.trim_end_matches("\n# at the end\n")), "{after}");
    assert!(after.contains("\n[models]\nmain = \"a@b\"\n") && after.contains("# at the end\n"), "{after}");
    let after = set("", &["providers", "my own", "url"], json!("https://x")).unwrap();
    assert_eq!(after, "[providers.\"my own\"]\nurl = \"https://x\"\n");
}

#[test]
fn a_key_that_is_taken_out_leaves_the_comments_around_it() {
    check(TEXT, &["chat", "rounds"], Json::Null, "rounds = 25 # enough\n", "");
    check(TEXT, &["limits", "read"], Json::Null, "read = [ \"Notes\", # daily\n  \"Journal\" ]\n", "");
    check(TEXT, &["chat", "seconds"], Json::Null, "", "");
    check(TEXT, &["models", "main"], Json::Null, "", "");
    check(
        "models = { main = \"a@b\", fast = \"c@d\" }\n",
        &["models", "fast"],
        Json::Null,
        ", fast = \"c@d\" ",
        "",
    );
    check(
        "models.main = \"a@b\"\nmodels.fast = \"c@d\"\n",
        &["models", "fast"],
        Json::Null,
        "models.fast = \"c@d\"\n",
        "",
    );
}

#[test]
fn line_ends_and_a_byte_order_mark_stay() {
    let windows = TEXT.replace('\n', "\r\n");
    assert_eq!(set(&windows, &["chat", "rounds"], json!(7)).unwrap(), windows.replace("= 25", "= 7"));
    let marked = format!("\u{feff}{TEXT}");
    assert_eq!(set(&marked, &["chat", "rounds"], json!(7)).unwrap(), marked.replace("= 25", "= 7"));
    assert!(
        set("vault = 'x'\r\n[chat]\nrounds = 2\n", &["chat", "rounds"], json!(7)).is_err(),
        "both kinds of line ends"
    );
}

#[test]
fn hostile_values_stay_values() {
    for text in [
        "\"\n[mcp.servers.x]\ncommand = \"rm",
        "'''\"\"\"\n",
        "a\u{0}b\u{7f}\u{1b}[2J",
        "\\u0022 \u{202e}\u{feff}☃",
        "",
        "#",
    ] {
        let after = set(TEXT, &["models", "main"], json!(text)).unwrap();
        let table: toml::Table = after.parse().unwrap();
        assert_eq!(table["models"]["main"].as_str(), Some(text));
        assert_eq!(table.len(), 4, "{after}");
    }
    let after = set(TEXT, &["models", "aliases", "a]\n[vault"], json!("x@y")).unwrap();
    let table: toml::Table = after.parse().unwrap();
    assert_eq!(table["models"]["aliases"]["a]\n[vault"].as_str(), Some("x@y"));
}

fn setting(path: &[&str], value: Json) -> Setting {
    Setting { path: path.iter().map(|name| (*name).to_owned()).collect(), value }
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at the files")]
fn what_could_not_be_read_back_is_not_written() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, TEXT).unwrap();
    let sheet = Sheet::read(folder.path()).unwrap();
    for (path, value) in [
        (&["vault"][..], json!("/etc")),
        (&["mcp", "servers", "x", "command"], json!("sh")),
        (&["chat", "roundz"], json!(1)),
        (&["chat", "rounds"], json!(0)),
        (&["chat", "rounds"], json!("many")),
        (&["chat", "rounds"], json!(1.5)),
        (&["chat", "rounds"], json!({"a": 1})),
        (&["limits", "read"], json!(["../x"])),
        (&["limits", "read"], json!([1])),
        (&["limits"], json!([])),
        (&["limits", "read", "a", "b", "c"], json!("x")),
        (&["chat", "agent"], json!("x".repeat(5_000))),
        (&["providers", "openai", "key"], json!("sk-123")),
        (&["limits", ""], json!("x")),
        (&[], json!("x")),
    ] {
        assert!(sheet.with(&[setting(path, value.clone())]).is_err(), "{path:?} {value}");
    }
    assert!(sheet.replace("[chat]\nrounds = 0\n").is_err());
    assert_eq!(std::fs::read_to_string(&file).unwrap(), TEXT);
    assert!(!sheet.has_backup());
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at the files")]
fn a_file_is_replaced_whole_keeps_its_mode_and_can_be_put_back() {
    use std::os::unix::fs::PermissionsExt;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, TEXT).unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o640)).unwrap();
    let sheet = Sheet::read(folder.path()).unwrap();
    let after = sheet.with(&[setting(&["chat", "rounds"], json!(7))]).unwrap();
    sheet.replace(&after).unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after);
    assert_eq!(std::fs::read_to_string(folder.path().join("config.toml.bak")).unwrap(), TEXT);
    for name in ["config.toml", "config.toml.bak"] {
        let mode = std::fs::metadata(folder.path().join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o640, "{name}");
    }
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 2);
    let later = Sheet::read(folder.path()).unwrap();
    later.go_back().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), TEXT);
    Sheet::read(folder.path()).unwrap().go_back().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), after, "going back twice is going forward");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test changes the file from outside")]
fn a_file_that_somebody_else_changed_meanwhile_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("config.toml");
    std::fs::write(&file, TEXT).unwrap();
    let sheet = Sheet::read(folder.path()).unwrap();
    let after = sheet.with(&[setting(&["chat", "rounds"], json!(7))]).unwrap();
    std::fs::write(&file, "# theirs\n").unwrap();
    let refused = sheet.replace(&after).unwrap_err();
    assert_eq!(refused.refusal.reason, "stale");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "# theirs\n");
    std::fs::write(&file, [b'#', 0xff]).unwrap();
    assert!(Sheet::read(folder.path()).is_err(), "not text");
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test looks at the files")]
fn without_a_file_one_is_made_and_going_back_empties_it() {
    let folder = tempfile::tempdir().unwrap();
    let sheet = Sheet::read(&folder.path().join("new")).unwrap();
    let after = sheet.with(&[setting(&["chat", "rounds"], json!(7))]).unwrap();
    sheet.replace(&after).unwrap();
    let file = folder.path().join("new/config.toml");
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "[chat]\nrounds = 7\n");
    Sheet::read(&folder.path().join("new")).unwrap().go_back().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "");
}

#[test]
fn what_is_set_and_taken_out_again_leaves_the_file_of_init_as_it_was() {
    let text = crate::config::template(Path::new("/v"));
    for (path, value) in [
        (&["limits", "read"][..], json!(["Notes"])),
        (&["limits", "read_only"], json!(true)),
        (&["approve", "reads"], json!(true)),
        (&["chat", "rounds"], json!(7)),
        (&["chat", "dollars"], json!(0.5)),
        (&["models", "main"], json!("a@b")),
        (&["checkpoints", "keep_days"], json!(3)),
    ] {
        let after = set(&text, path, value).unwrap();
        assert_ne!(Config::parse(&after).unwrap(), Config::parse(&text).unwrap(), "{path:?}");
        assert_eq!(after.lines().count(), text.lines().count() + 1, "{path:?}");
        assert_eq!(set(&after, path, Json::Null).unwrap(), text, "{path:?}");
    }
}
