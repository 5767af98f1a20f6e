//! Notes and finding through the page's API: what a person reads, ticks and finds, and what must not show.

use serde_json::{Value, json};

use crate::rig::Rig;
use crate::serve_rig::Serve;

fn house() -> (Rig, Serve) {
    let rig = Rig::empty();
    rig.write("Plan.md", "---\nstatus: open\ndue: 2026-05-01\nwho: \"[[People/Ada]]\"\n---\n# Plan\nSee [[People/Ada]] and [[Secret]].\n\n- [ ] water the beans\n- [x] done\n");
    rig.write("People/Ada.md", "Ada likes #beans and [[Plan]].\n");
    rig.write("Secret.md", "The secret beans link to [[Plan]].\n");
    rig.write("Hidden/x.md", "beans\n");
    rig.write("pics/leaf.png", "not really a picture");
    rig.write("evil.svg", "<svg onload=alert(1)>");
    rig.write(".verger/ignore", "Secret.md\nHidden/\n");
    let serve = Serve::start(&rig, &[]);
    (rig, serve)
}

#[test]
fn a_note_comes_with_its_text_its_properties_and_its_links() {
    let (_rig, serve) = house();
    let note = serve.json("/api/note?path=Plan.md");
    assert_eq!(note["name"], "Plan");
    let html = note["html"].as_str().unwrap();
    assert!(html.contains("<h1 id=\"h-plan\">Plan</h1>") && html.contains("data-line=\"9\""), "{html}");
    assert!(html.contains("note-link missing"), "a hidden note looks like none: {html}");
    assert_eq!(note["outline"], json!([{"level": 1, "text": "Plan", "id": "h-plan"}]));
    assert_eq!(
        note["properties"][1],
        json!({"name": "due", "kind": "date", "value": "2026-05-01", "html": "2026-05-01"})
    );
    assert!(note["properties"][2]["html"].as_str().unwrap().contains("#/notes/People/Ada.md"));
    assert_eq!(note["backlinks_total"], 1);
    assert_eq!(note["backlinks"][0]["path"], "People/Ada.md");
    assert!(note["backlinks"][0]["lines"][0]["html"].as_str().unwrap().starts_with("Ada likes"));
    assert_eq!(
        note["outgoing"],
        json!([{"path": "People/Ada.md", "text": "Ada"}, {"path": null, "text": "Secret"}])
    );
    assert!(note["obsidian"].as_str().unwrap().starts_with("obsidian://open?vault=vault&file=Plan.md"));
}

#[test]
fn a_note_that_did_not_change_is_not_sent_again() {
    let (rig, serve) = house();
    let first = serve.get("/api/note?path=Plan.md");
    let tag = first.header("etag").unwrap().to_owned();
    let again = serve.send("GET", "/api/note?path=Plan.md", &[("if-none-match", &tag)], "");
    assert_eq!((again.status, again.body.as_str()), (304, ""));
    rig.write("Plan.md", "now it is another text\n");
    let changed = serve.send("GET", "/api/note?path=Plan.md", &[("if-none-match", &tag)], "");
    assert!(changed.ok()["html"].as_str().unwrap().contains("another text"));
}

#[test]
fn what_is_ignored_shows_nowhere() {
    let (_rig, serve) = house();
    let missing = serve.get("/api/note?path=Secrat.md");
    let hidden = serve.get("/api/note?path=Secret.md");
    assert_eq!((hidden.status, hidden.reason()), (missing.status, missing.reason()));
    assert!(!hidden.body.contains("secret beans"));
    let answers = [
        serve.json("/api/tree"),
        serve.post_json("/api/names", &json!({"text": "secret", "limit": 10})).ok(),
        serve.post_json("/api/find", &json!({"text": "secret beans", "mode": "ranked"})).ok(),
        serve.post_json("/api/find", &json!({"text": "link to", "mode": "exact"})).ok(),
        serve.post_json("/api/find", &json!({"text": "secret beans", "mode": "meaning"})).ok(),
        serve.post_json("/api/find", &json!({"text": "LIST", "mode": "query"})).ok(),
    ];
    for answer in &answers {
        let text = answer.to_string();
        assert!(!text.contains("Secret.md") && !text.contains("Hidden"), "{text}");
    }
    assert_eq!(answers[3]["total"], 0);
    for path in ["Secret.md", "Hidden/x.md", ".verger/ignore", "../outside", "Hidden"] {
        let answer = serve.get(&format!("/api/file?path={path}"));
        assert!((400..500).contains(&answer.status), "{path}: {answer:?}");
    }
    assert_eq!(serve.get("/api/tree?folder=Hidden").status, 404);
}

#[test]
fn what_was_shown_before_is_gone_once_it_is_ignored() {
    let (rig, serve) = house();
    assert_eq!(serve.json("/api/note?path=Plan.md")["backlinks_total"], 1);
    assert!(
        serve.json("/api/note?path=People/Ada.md")["html"].as_str().unwrap().contains("class=\"note-link\"")
    );
    rig.write(".verger/ignore", "Secret.md\nHidden/\nPlan.md\n");
    assert_eq!(serve.get("/api/note?path=Plan.md").status, 404);
    let ada = serve.json("/api/note?path=People/Ada.md");
    assert!(ada["html"].as_str().unwrap().contains("note-link missing"), "{ada}");
    assert_eq!(ada["backlinks_total"], 0);
    rig.write(".verger/ignore", "Secret.md\nHidden/\nPeople/\n");
    assert_eq!(serve.json("/api/note?path=Plan.md")["backlinks_total"], 0);
}

#[test]
fn nothing_is_ticked_where_nothing_may_be_written() {
    let (rig, serve) = house();
    rig.write(".verger/protect", "Plan.md\n");
    let before = rig.read("Plan.md");
    let version = serve.json("/api/note?path=Plan.md")["version"].clone();
    let body = json!({"path": "Plan.md", "line": 9, "version": version, "done": true});
    let refused = serve.post_json("/api/task", &body);
    assert!((400..500).contains(&refused.status), "{refused:?}");
    assert_eq!(rig.read("Plan.md"), before);
}

#[test]
fn the_tree_is_read_one_folder_at_a_time() {
    let (_rig, serve) = house();
    let root = serve.json("/api/tree");
    let names = |list: &Value| -> Vec<String> {
        list.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(names(&root["folders"]), ["People", "pics"]);
    assert_eq!(names(&root["files"]), ["evil.svg", "Plan"]);
    assert_eq!(root["folders"][0]["notes"], 1);
    assert_eq!(names(&serve.json("/api/tree?folder=People")["files"]), ["Ada"]);
    let found = serve.post_json("/api/names", &json!({"text": "pla", "limit": 5})).ok();
    assert_eq!(found["names"][0]["path"], "Plan.md");
}

#[test]
fn files_are_given_so_that_no_browser_runs_them() {
    let (_rig, serve) = house();
    let image = serve.get("/api/file?path=pics/leaf.png");
    assert_eq!(image.header("content-type"), Some("image/png"));
    assert_eq!(image.body, "not really a picture");
    let drawing = serve.get("/api/file?path=evil.svg");
    assert_eq!(drawing.header("content-type"), Some("application/octet-stream"));
    assert!(drawing.header("content-disposition").unwrap().starts_with("attachment"));
    for answer in [&image, &drawing] {
        assert_eq!(answer.header("x-content-type-options"), Some("nosniff"));
        assert!(answer.header("content-security-policy").unwrap().contains("sandbox"));
    }
    let part = serve.send("GET", "/api/file?path=pics/leaf.png", &[("range", "bytes=0-2")], "");
    assert_eq!(
        (part.status, part.body.as_str(), part.header("content-range")),
        (206, "not", Some("bytes 0-2/20"))
    );
}

#[test]
fn a_task_is_ticked_by_exactly_one_change_that_can_be_undone() {
    let (rig, serve) = house();
    let before = rig.read("Plan.md");
    let note = serve.json("/api/note?path=Plan.md");
    let tick = |line: u64, version: &Value, done: bool| {
        serve.post_json(
            "/api/task",
            &json!({"path": "Plan.md", "line": line, "version": version, "done": done}),
        )
    };
    let done = tick(9, &note["version"], true).ok()["done"].clone();
    assert_eq!(rig.read("Plan.md"), before.replace("[ ] water", "[x] water"));
    assert_eq!(done["before"], " ");
    assert!(done["checkpoint"].is_string(), "{done}");
    // The page that still shows the old version is told, and nothing changes.
    let stale = tick(10, &note["version"], false);
    assert_eq!((stale.status, stale.reason().as_str()), (409, "stale"));
    let nothing = tick(7, &done["version"], true);
    assert_eq!(nothing.status, 404, "{nothing:?}");
    tick(9, &done["version"], false).ok();
    assert_eq!(rig.read("Plan.md"), before);
    assert_eq!(
        serve
            .post_json("/api/task", &json!({"path": "Secret.md", "line": 1, "version": "x", "done": true}))
            .status,
        404
    );
}

#[test]
fn finding_answers_in_every_mode() {
    let (_rig, serve) = house();
    let find = |body: Value| serve.post_json("/api/find", &body);
    let best = find(json!({"text": "beans"})).ok();
    assert_eq!(best["total"], 2, "{best}");
    assert!(best["rows"][0]["html"].as_str().unwrap().contains("<mark>beans</mark>"), "{best}");
    let exact = find(json!({"text": "WATER the", "mode": "exact"})).ok();
    assert_eq!(
        (&exact["total"], &exact["notes"], &exact["rows"][0]["line"]),
        (&json!(1), &json!(1), &json!(9))
    );
    assert!(exact["rows"][0]["html"].as_str().unwrap().contains("<mark>water the</mark>"));
    let tagged = find(json!({"text": "tag:beans"})).ok();
    assert_eq!(tagged["rows"][0]["path"], "People/Ada.md", "{tagged}");
    let table = find(json!({"text": "TABLE status WHERE status", "mode": "query"})).ok()["table"].clone();
    assert_eq!(table["rows"], json!([["<a class=\"note-link\" href=\"#/notes/Plan.md\">Plan</a>", "open"]]));
    let wrong = find(json!({"text": "TABLE FROM FROM", "mode": "query"}));
    assert_eq!(wrong.reason(), "query_invalid");
    assert_eq!(find(json!({"text": "  "})).ok()["total"], 0);
    assert_eq!(find(json!({"text": "x".repeat(30_000)})).status, 400);
    assert_eq!(find(json!({"text": "x", "mode": "guess"})).status, 400);
    let folder = find(json!({"text": "beans", "folder": "People"})).ok();
    assert_eq!(folder["total"], 1, "{folder}");
}

#[test]
fn text_is_rendered_clean() {
    let (_rig, serve) = house();
    let html =
        serve.post_json("/api/render", &json!({"text": "a <script>x</script> [[Plan]] **b**"})).ok()["html"]
            .clone();
    assert_eq!(
        html,
        "<p>a  <a class=\"note-link\" href=\"#/notes/Plan.md\">Plan</a> <strong>b</strong></p>\n"
    );
}
