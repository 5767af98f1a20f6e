//! House rules as tests. A rule that only a reviewer knows is broken sooner or later.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::disallowed_methods, reason = "tests")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

/// Every file of the project with this ending, by its path from the root; build output and hidden folders left out.
fn files(ending: &str) -> Vec<String> {
    let root = root();
    let mut found = Vec::new();
    let mut waiting = vec![root.clone()];
    while let Some(folder) = waiting.pop() {
        for entry in std::fs::read_dir(&folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            if path.is_dir() {
                if name != "target" && !name.starts_with('.') {
                    waiting.push(path);
                }
            } else if name.ends_with(ending) && name != ".git" {
                found.push(path.strip_prefix(&root).unwrap().to_string_lossy().into_owned());
            }
        }
    }
    found.sort();
    found
}

fn text(path: &str) -> String {
    std::fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// Source that ships: no tests, no benches.
fn shipped() -> Vec<String> {
    let is_test = |path: &str| {
        path.contains("/tests/")
            || path.ends_with("/tests.rs")
            || path.contains("/benches/")
            || path.starts_with("benches/")
            || path.ends_with("/property.rs")
    };
    files(".rs").into_iter().filter(|path| path.starts_with("crates/") && !is_test(path)).collect()
}

/// The text in front of the first test module: what ships.
fn shipped_text(path: &str) -> String {
    let text = text(path);
    text.split("#[cfg(test)]\nmod ").next().unwrap_or_default().to_owned()
}

#[test]
fn arrows_between_crates_only_point_down() {
    let allowed: BTreeMap<&str, BTreeSet<&str>> = [
        ("verger-vault", vec![]),
        ("verger-llm", vec![]),
        ("verger-state", vec![]),
        ("verger-pipeline", vec!["verger-vault"]),
        ("verger-tools", vec!["verger-pipeline", "verger-vault", "verger-state"]),
        ("verger-agent", vec!["verger-pipeline", "verger-llm", "verger-state"]),
        (
            "verger",
            vec![
                "verger-vault",
                "verger-pipeline",
                "verger-tools",
                "verger-llm",
                "verger-state",
                "verger-agent",
            ],
        ),
        (
            "verger-benches",
            vec![
                "verger-vault",
                "verger-pipeline",
                "verger-tools",
                "verger-llm",
                "verger-state",
                "verger-agent",
            ],
        ),
    ]
    .into_iter()
    .map(|(name, edges)| (name, edges.into_iter().collect()))
    .collect();
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1", "--no-deps", "--offline"])
        .current_dir(root())
        .output()
        .unwrap();
    let metadata: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    assert!(packages.len() >= 4);
    for package in packages {
        let name = package["name"].as_str().unwrap();
        let may = allowed.get(name).unwrap_or_else(|| panic!("`{name}` is not in the drawing"));
        for dependency in package["dependencies"].as_array().unwrap() {
            let to = dependency["name"].as_str().unwrap();
            let is_ours = to == "verger" || to.starts_with("verger-");
            assert!(!is_ours || may.contains(to), "{name} -> {to} is not in the drawing");
        }
        for banned in ["utils", "common", "core", "types"] {
            assert!(!name.ends_with(banned), "{name}: there is no such crate in this house");
        }
    }
}

#[test]
fn there_is_exactly_one_clippy_toml() {
    assert_eq!(files("clippy.toml"), ["clippy.toml"], "a second one would silently replace the fences");
}

/// Who may pass the fences of `clippy.toml`, and why. The list is closed: a new line here needs a reason in the commit.
const THROUGH_THE_FENCE: [(&str, &str); 24] = [
    ("crates/llm/src/embed/folder/files.rs", "a model's folder, outside every vault"),
    ("crates/llm/src/http.rs", "the one HTTP client for models"),
    ("crates/state/src/db.rs", "the file of conversations"),
    ("crates/state/src/holder.rs", "asks /proc whether the holder of a lease still runs"),
    ("crates/vault/src/store.rs", "the store's own folder"),
    ("crates/vault/src/store/gc.rs", "the store's own files"),
    ("crates/vault/src/store/index.rs", "the text index's own folder"),
    ("crates/vault/src/store/log.rs", "the store's own file"),
    ("crates/vault/src/store/vectors.rs", "the saved vectors, a cache"),
    ("crates/pipeline/src/audit.rs", "the audit file"),
    ("crates/pipeline/src/grants.rs", "the grants file"),
    ("crates/pipeline/src/testing.rs", "fixtures of tests"),
    ("crates/tools/src/egress.rs", "the way out: HTTP clients behind the guard"),
    ("crates/tools/src/foreign/process.rs", "starts other MCP servers"),
    ("crates/tools/src/foreign/store.rs", "pins, trust and tokens of other MCP servers"),
    ("crates/verger/src/config.rs", "config.toml"),
    ("crates/verger/src/doctor.rs", "looks at the machine"),
    ("crates/verger/src/install/files.rs", "the settings files of AI clients"),
    ("crates/verger/src/mcp/desktop.rs", "starts the desktop's opener"),
    ("crates/verger/src/mcp/keys.rs", "fetches the published keys of an authorization server"),
    ("crates/verger/src/mcp/rest.rs", "talks to Obsidian's REST plugin"),
    ("crates/verger/src/place.rs", "finds the vault and the data folder"),
    ("crates/verger/src/shelf/own.rs", "the person's own agents, skills and rules"),
    ("crates/verger/src/world.rs", "the clock"),
];

#[test]
fn only_the_listed_files_pass_the_fences() {
    let listed: BTreeSet<String> = THROUGH_THE_FENCE.iter().map(|(path, _)| (*path).to_owned()).collect();
    let passing: BTreeSet<String> = shipped()
        .into_iter()
        .filter(|path| shipped_text(path).contains("clippy::disallowed_methods"))
        .collect();
    let unlisted: Vec<_> = passing.difference(&listed).collect();
    assert!(unlisted.is_empty(), "not on the list: {unlisted:?}");
    let gone: Vec<_> = listed.difference(&passing).collect();
    assert!(gone.is_empty(), "on the list, but they do not pass any fence: {gone:?}");
}

/// `rustix` is beneath the fences, so it has a fence of its own.
#[test]
fn raw_system_calls_are_made_in_few_places() {
    let allowed = [
        "crates/vault/src/disk.rs",
        "crates/vault/src/commit.rs",
        // Maps the files of the text index.
        "crates/vault/src/store/index_map.rs",
        "crates/pipeline/src/audit.rs",
        // Ends the process groups of other MCP servers.
        "crates/tools/src/foreign/process.rs",
        "crates/verger/src/doctor.rs",
        "crates/verger/src/terminal.rs",
    ];
    for path in shipped() {
        let raw = shipped_text(&path)
            .lines()
            .any(|line| line.contains("rustix::") && !line.trim_start().starts_with("//"));
        assert!(!raw || allowed.contains(&path.as_str()), "{path} makes raw system calls");
    }
    let commit = shipped_text("crates/vault/src/commit.rs");
    assert!(!commit.contains("rustix::fs"), "commit.rs changes files through disk.rs only");
}

#[test]
fn every_source_file_is_part_of_the_program() {
    for path in files(".rs").into_iter().filter(|path| path.starts_with("crates/")) {
        let file = Path::new(&path);
        let name = file.file_stem().unwrap().to_string_lossy().into_owned();
        let folder = file.parent().unwrap().to_string_lossy().into_owned();
        let is_root = matches!(name.as_str(), "main" | "lib" | "build")
            || folder.ends_with("/tests")
            || folder.ends_with("/benches");
        if is_root {
            continue;
        }
        // `a/b.rs` is declared in `a.rs`, or in the crate's root (or `it.rs`) if `a` is a source root.
        let parents = [format!("{folder}.rs"), format!("{folder}/lib.rs"), format!("{folder}/main.rs")];
        let declared = parents.iter().any(|parent| {
            root().join(parent).is_file()
                && text(parent).lines().any(|line| {
                    line.trim().trim_start_matches("pub ").trim_start_matches("pub(crate) ")
                        == format!("mod {name};")
                })
        });
        assert!(declared, "{path} is not declared anywhere: forgotten?");
    }
}

#[test]
fn files_are_named_for_what_is_in_them_and_say_what_they_are() {
    for path in shipped() {
        let name = path.rsplit('/').next().unwrap();
        assert!(
            !matches!(name, "mod.rs" | "utils.rs" | "util.rs" | "helpers.rs" | "common.rs" | "types.rs"),
            "{path}: name the thing"
        );
        assert!(
            text(&path).starts_with("//!"),
            "{path}: say in `//!` what this is, who calls it, what is not here"
        );
    }
}

#[test]
fn nothing_unfinished_ships() {
    for path in shipped() {
        let text = shipped_text(&path);
        for word in ["todo!(", "unimplemented!(", "FIXME", "TODO", "XXX", "(to be written)"] {
            assert!(!text.contains(word), "{path}: {word}");
        }
    }
}

#[test]
fn generated_docs_are_current() {
    let page = pipeline::docs::tools_page(&tools::table::every());
    assert_eq!(text("docs/tools.md"), page, "run `just docs` (cargo run -- docs tools > docs/tools.md)");
    let output = Command::new(env!("CARGO_BIN_EXE_verger")).args(["docs", "config"]).output().unwrap();
    assert_eq!(text("docs/config.md"), String::from_utf8(output.stdout).unwrap(), "run `just docs`");
}

#[test]
fn no_path_of_a_machine_is_in_the_tree() {
    let own = ["/wo", "rk/ma", "in"].concat();
    for path in files("").into_iter().filter(|path| !path.ends_with(".png")) {
        let Ok(text) = std::fs::read_to_string(root().join(&path)) else { continue };
        assert!(!text.contains(&own), "{path} names a path of a machine");
    }
}

#[test]
fn the_readme_and_ci_name_the_same_test_command() {
    for path in ["README.md", ".ci/run"] {
        assert!(text(path).contains("cargo test --workspace"), "{path}");
    }
    for path in [
        "ARCHITECTURE.md",
        "CONTRIBUTING.md",
        "CHANGELOG.md",
        "SECURITY.md",
        "LICENSE",
        "deny.toml",
        "docs/tools.md",
        "docs/config.md",
    ] {
        assert!(root().join(path).is_file(), "{path} is missing");
    }
}

/// A tool that only knows and reads must say so: the groups are what people grant.
#[test]
fn tools_of_the_read_group_only_answer() {
    use pipeline::{Effect, Group, Rights};
    for listing in tools::table::every().list(&Rights::all()) {
        let spec = &listing.spec;
        assert!(spec.group != Group::Read || spec.effect == Effect::Answers, "{}", spec.name);
        assert!(!listing.description.is_empty(), "{} has no description", spec.name);
        let fields = listing.schema["properties"].as_object().cloned().unwrap_or_default();
        for (field, schema) in fields {
            assert!(schema.get("description").is_some(), "{}.{field} has no description", spec.name);
        }
        assert_eq!(
            listing.schema["additionalProperties"],
            serde_json::json!(false),
            "{} takes unknown fields",
            spec.name
        );
    }
}

/// The road lends its vault to doors for looking and tidying; what commits is named in one file above the vault.
#[test]
fn only_the_road_commits() {
    let others = shipped()
        .into_iter()
        .filter(|path| !path.starts_with("crates/vault/") && path != "crates/pipeline/src/run.rs");
    let committing: Vec<String> =
        others.filter(|path| shipped_text(path).contains("vault::commit::Commit")).collect();
    assert_eq!(committing, Vec::<String>::new(), "changes go by a tool and `Road::run`");
    assert!(
        shipped_text("crates/pipeline/src/run.rs").contains("vault::commit::Commit"),
        "the rule looks for the wrong words"
    );
}
