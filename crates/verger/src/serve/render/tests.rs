use std::time::{Duration, Instant};

use regex::Regex;
use vault::policy::{Limits, Scope};
use vault::{Vault, VaultPath};

use super::*;

struct Rig {
    _folder: tempfile::TempDir,
    vault: Vault,
    scope: Scope,
}

#[expect(clippy::disallowed_methods, reason = "makes a vault on disk")]
fn rig(files: &[(&str, &str)]) -> Rig {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let file = folder.path().join("vault").join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    }
    std::fs::create_dir_all(folder.path().join("vault")).unwrap();
    let vault = Vault::open(&folder.path().join("vault"), &folder.path().join("data")).unwrap();
    let scope = Scope::new(Limits::default(), vault.rules().unwrap());
    Rig { _folder: folder, vault, scope }
}

const NOTES: &[(&str, &str)] = &[
    ("Here.md", "x"),
    ("Plan.md", "# Plan\nIntro.\n## Goals\nGrow ==well==. ^goal\n\n- [ ] water\n## Later\nNot now."),
    ("Loop.md", "around ![[Loop]] and ![[Round]]"),
    ("Round.md", "![[Loop]]"),
    ("pics/leaf.png", "png"),
    ("song.mp3", "mp3"),
    ("Secret.md", "hidden words"),
    (".vergerignore", "Secret.md\n"),
];

fn html(text: &str) -> String {
    let rig = rig(NOTES);
    let here = VaultPath::parse("Here.md").unwrap();
    let view = rig.vault.view(&rig.scope);
    markdown(text, &Place { view: &view, from: Some(&here) })
}

fn words(text: &str) -> String {
    let rig = rig(NOTES);
    let view = rig.vault.view(&rig.scope);
    answer(text, &Place { view: &view, from: None })
}

/// Each text gives HTML that holds all of these.
#[track_caller]
fn holds(rows: &[(&str, &[&str])]) {
    let rig = rig(NOTES);
    let here = VaultPath::parse("Here.md").unwrap();
    let view = rig.vault.view(&rig.scope);
    for (text, parts) in rows {
        let html = markdown(text, &Place { view: &view, from: Some(&here) });
        for part in *parts {
            assert!(html.contains(part), "{text:?} gave\n{html}\nwithout {part}");
        }
        assert_eq!(clean::once(&html), html, "{text:?} is not clean");
    }
}

#[test]
fn wiki_links_lead_to_the_pages_of_notes() {
    holds(&[
        ("[[Plan]]", &["<a class=\"note-link\" href=\"#/notes/Plan.md\">Plan</a>"]),
        ("[[Plan#Goals|the goals]]", &["href=\"#/notes/Plan.md?h=h-goals\">the goals</a>"]),
        ("[[Plan#^goal]]", &["href=\"#/notes/Plan.md?h=b-goal\">Plan &gt; goal</a>"]),
        ("**[[Plan]]**", &["<strong><a class=\"note-link\""]),
        ("[[#Part]]", &["href=\"#/notes/Here.md?h=h-part\">Part</a>"]),
        (
            "[[Nothing <b>]]",
            &["<a class=\"note-link missing\" href=\"#/notes/Nothing%20%3Cb%3E.md\">Nothing &lt;b&gt;</a>"],
        ),
        ("[p](Plan.md#Goals)", &["<a class=\"note-link\" href=\"#/notes/Plan.md?h=h-goals\">p</a>"]),
        ("| a |\n|---|\n| [[Plan|x]] |", &["<td><a class=\"note-link\" href=\"#/notes/Plan.md\">x</a></td>"]),
        ("`[[Plan]]` \\[[Plan]]", &["<code>[[Plan]]</code>", " [[Plan]]"]),
    ]);
}

#[test]
fn outside_links_open_elsewhere_and_outside_images_are_not_loaded() {
    let out = "rel=\"noreferrer noopener\" target=\"_blank\"";
    holds(&[
        ("[x](https://a.example/?a=1&b=2)", &["href=\"https://a.example/?a=1&amp;b=2\"", out]),
        ("see https://a.example/x.", &["href=\"https://a.example/x\"", out, "</a>."]),
        ("![a leaf](https://a.example/l.png)", &["<a class=\"outside\"", ">a leaf</a>"]),
        ("<img src=\"https://a.example/l.png\" alt=leaf>", &["<a class=\"outside\"", ">leaf</a>"]),
        ("[x](javascript:alert(1))", &["<span class=\"dead-link\">x</span>"]),
        ("[x](//evil.example)", &["<span class=\"dead-link\">x</span>"]),
    ]);
    assert!(!html("![](https://a.example/l.png) ![](data:image/png;base64,AAAA)").contains("<img"));
}

#[test]
fn images_sound_and_notes_are_embedded() {
    holds(&[
        (
            "![[leaf.png|300]]",
            &["<img src=\"/api/file?path=pics/leaf.png\" alt=\"leaf\" width=\"300\" loading=\"lazy\">"],
        ),
        ("![a|20x30](pics/leaf.png)", &["alt=\"a\" width=\"20\" height=\"30\""]),
        ("![[song.mp3]]", &["<audio controls=\"\" preload=\"none\" src=\"/api/file?path=song.mp3\">"]),
        (
            "![[Plan]]",
            &[
                "<div class=\"embed\">",
                "<h2>Goals</h2>",
                "<input aria-label=\"Done\" disabled=\"\" type=\"checkbox\">",
            ],
        ),
        ("![[Plan#Goals]]", &["<mark>well</mark>"]),
        ("![[Plan^goal]]", &["Grow <mark>well</mark>."]),
        ("![[Plan#^goal]]", &["Grow <mark>well</mark>."]),
        ("![[Loop]]", &["around", "class=\"note-link\" href=\"#/notes/Loop.md\""]),
    ]);
    assert!(!html("![[Plan#Goals]]").contains("Not now"));
    assert!(!html("![[Plan]]").contains("<p></p>"));
}

#[test]
fn what_the_scope_hides_looks_like_what_does_not_exist() {
    for (hidden, missing) in [
        ("[[Secret]]", "[[Sacret]]"),
        ("![[Secret]]", "![[Sacret]]"),
        ("[x](Secret.md)", "[x](Sacret.md)"),
        ("![x](Secret.md)", "![x](Sacret.md)"),
        ("<a href=Secret.md>x</a>", "<a href=Sacret.md>x</a>"),
    ] {
        assert_eq!(html(hidden).replace("Secret", "Sacret"), html(missing));
        assert_eq!(words(hidden).replace("Secret", "Sacret"), words(missing));
    }
}

#[test]
fn callouts_have_a_look_a_title_and_may_fold() {
    holds(&[
        (
            "> [!tip] Water *daily*\n> text",
            &[
                "<div class=\"callout callout-tip\"><p class=\"callout-title\">Water <em>daily</em></p>",
                "<p>text</p>",
            ],
        ),
        (
            "> [!faq]- Why?\n> x",
            &["<details class=\"callout callout-question\"><summary class=\"callout-title\">Why?</summary>"],
        ),
        (
            "> [!bug]+\n> x",
            &[
                "<details class=\"callout callout-bug\" open=\"\"><summary class=\"callout-title\">Bug</summary>",
            ],
        ),
        ("> [!my-own]\n> x", &["callout-note", "My-own"]),
        ("> [!note] a\n> > [!info] b\n> > c", &["callout-info", "<p>c</p>"]),
        ("> plain", &["<blockquote>"]),
    ]);
}

#[test]
fn tasks_know_their_line() {
    holds(&[(
        "---\na: 1\n---\n- [ ] one\n- [x] two\n- [/] half",
        &[
            "<li class=\"task\"><input aria-label=\"Done\" data-line=\"4\" type=\"checkbox\"> one",
            "<li class=\"task task-done\"><input aria-label=\"Done\" data-line=\"5\" checked=\"\" type=\"checkbox\"> two",
            "<li class=\"task task-other\">",
            "<span class=\"task-mark\">/</span>",
        ],
    )]);
    assert!(!words("- [ ] one").contains("data-line"));
}

#[test]
fn the_marks_of_notes_are_read() {
    holds(&[
        ("a ==b **c** d== e", &["<mark>b <strong>c</strong> d</mark> e"]),
        ("a #garden/herbs b", &["<a class=\"tag\" href=\"#/find?q=tag%3Agarden%2Fherbs\">#garden/herbs</a>"]),
        ("`==a==` and 1 == 2", &["<code>==a==</code> and 1 == 2"]),
        (
            "a[^n]\n\n[^n]: The *note*.",
            &["<a href=\"#/notes/Here.md?h=fn-1\">1</a>", "<li id=\"fn-1\">", "<em>note</em>"],
        ),
        (
            "$a<b$ and\n\n$$c$$",
            &["<code class=\"math\">a&lt;b</code>", "<code class=\"math math-block\">c</code>"],
        ),
        (
            "```rust\nlet a = \"<\";\n```",
            &["<pre><code class=\"language-rust\">let a = \"&lt;\";\n</code></pre>"],
        ),
        ("```mermaid\ngraph\n```", &["<figcaption>Mermaid diagram</figcaption>"]),
        ("text ^id-1", &["<span class=\"block-id\" id=\"b-id-1\">"]),
        ("|a|b|\n|-|-:|\n|1|2|", &["<th>a</th><th class=\"right\">b</th>", "<td class=\"right\">2</td>"]),
        (
            "<details>\n<summary>More</summary>\n\n*in*\n\n</details>\n\nout",
            &["<details>\n<summary>More</summary>\n<p><em>in</em></p>\n</details>"],
        ),
        ("a <kbd onclick=x>K</kbd> &copy; <u class=toast>u</u>", &["<kbd>K</kbd>", "©", "<u>u</u>"]),
    ]);
    let out = html("shown %%hidden%% end\n\n%%\nall this\n%%\n\nlast");
    assert!(!out.contains("hidden") && !out.contains("all this") && out.contains("last"), "{out}");
}

#[test]
fn headings_have_stable_ids_of_their_own() {
    let rig = rig(NOTES);
    let view = rig.vault.view(&rig.scope);
    let note = note("# A *b* `c`\n## Über\n## Über\n## !!\n", &Place { view: &view, from: None });
    let ids: Vec<&str> = note.outline.iter().map(|heading| heading.id.as_str()).collect();
    assert_eq!(ids, ["h-a-b-c", "h-über", "h-über-2", "h-section"]);
    assert_eq!(note.outline[0].text, "A b c");
    assert!(note.html.contains("<h2 id=\"h-über-2\">Über</h2>"), "{}", note.html);
}

#[test]
fn words_show_html_as_text_and_embed_nothing() {
    let out =
        words("<b>x</b> ![[Plan]] ![[leaf.png]] ![p](pics/leaf.png) %%not hidden%%\n\n<div>\nblock\n</div>");
    assert!(out.contains("&lt;b&gt;x&lt;/b&gt;") && out.contains("&lt;div&gt;"), "{out}");
    assert!(out.contains("%%not hidden%%"), "{out}");
    assert!(!out.contains("<img") && !out.contains("class=\"embed\"") && !out.contains(" id="), "{out}");
}

#[test]
fn one_line_is_shown_without_its_marker() {
    let rig = rig(NOTES);
    let view = rig.vault.view(&rig.scope);
    let place = Place { view: &view, from: None };
    assert_eq!(line("  - [ ] see *it*", &place), "see <em>it</em>");
    assert_eq!(line("> ## Title", &place), "Title");
    assert!(line("#tag here", &place).starts_with("<a class=\"tag\""));
    assert_eq!(marked("a <b> c", &[(2, 5), (90, 99)]), "a <mark>&lt;b&gt;</mark> c");
}

const PROBES: &[&str] = &[
    "<script>alert(1)</script>",
    "<SCRIPT SRC=//x.example/x.js></SCRIPT>",
    "<img src=x onerror=alert(1)>",
    "<img src=\"javascript:alert(1)\">",
    "<img/src=x/onerror=alert(1)>",
    "<svg><script>alert(1)</script></svg>",
    "<svg/onload=alert(1)>",
    "<math><mtext><table><mglyph><style><!--</style><img title=\"--&gt;&lt;img src=1 onerror=alert(1)&gt;\">",
    "<a href=\"java\nscript:alert(1)\">x</a>",
    "<a href=\"&#106;avascript:alert(1)\">x</a>",
    "<a href=' javascript:alert(1)'>x</a>",
    "<a href=\"data:text/html,<script>alert(1)</script>\">x</a>",
    "[x](data:text/html;base64,PHNjcmlwdD4=)",
    "[x](JaVaScRiPt:alert(1))",
    "[x](vbscript:x) [y](\u{1}javascript:alert(1)) [z](file:///etc/passwd)",
    "[x]: javascript:alert(1)\n\n[x]",
    "<javascript:alert(1)>",
    "![x](javascript:alert(1)) ![[x\" onerror=\"alert(1)]]",
    "[[x\" onmouseover=\"alert(1)|y\" onclick=\"alert(1)]]",
    "[x](https://a.example/\" onclick=\"alert(1))",
    "![\" onerror=\"alert(1)](pics/leaf.png)",
    "```\" onclick=\"alert(1)\nx\n```",
    "> [!\" onclick=\"alert(1)] x",
    "> [!note|\" onclick=\"alert(1)] <script>alert(1)</script>",
    "# x <script>alert(1)</script> \" onclick=\"alert(1)",
    "#tag\" x [^\" onclick=\"a]\n\n[^\" onclick=\"a]: x",
    "<iframe src=https://a.example></iframe><object data=x></object><embed src=x>",
    "<form action=https://a.example><input name=q><button>go</button></form>",
    "<meta http-equiv=refresh content=0><base href=//a.example><link rel=stylesheet href=//a.example>",
    "<style>*{background:url(//a.example)}</style><p style=\"background:url(//a.example)\">x</p>",
    "<div id=main class=toasts data-line=1>x</div><input type=checkbox data-line=1 checked>",
    "<noscript><p title=\"</noscript><img src=x onerror=alert(1)>\">",
    "<template><script>alert(1)</script></template><xmp><script>alert(1)</script></xmp>",
    "<table><td><table><a><table><a><b><p><script>alert(1)</script>",
    "<img srcset=\"//a.example 1x\" src=//a.example><picture><source srcset=//a.example></picture>",
    "<video poster=//a.example src=//a.example autoplay></video><audio src=//a.example>",
    "<a href=https://a.example ping=//b.example download>x</a>",
    "\u{fdd0}0\u{fdd1} [[Plan]] \u{fdd0}99999999999999999999\u{fdd1} \u{fdd0}",
    "<!--[if IE]><script>alert(1)</script><![endif]--> <![CDATA[<script>alert(1)</script>]]> <?php x ?>",
    "<b><i><b><i>unclosed\n\n</i></b></b></i> <p><p></div></td>",
    "<details open ontoggle=alert(1)><summary>x",
];

const TAG: &str = r#"^<(/?)([a-z0-9]+)((?: [a-z-]+="[^"]*")*)>"#;

/// Every tag and attribute is one that can do nothing.
#[track_caller]
fn harmless(html: &str, from: &str) {
    let tag = Regex::new(TAG).unwrap();
    let attribute = Regex::new(r#" ([a-z-]+)="([^"]*)""#).unwrap();
    for (at, _) in html.match_indices('<') {
        let found = tag.captures(&html[at..]).unwrap_or_else(|| panic!("{from:?} gave\n{html}"));
        let name = &found[2];
        let forbidden = [
            "script", "style", "iframe", "object", "embed", "form", "meta", "base", "link", "button", "svg",
            "math", "source", "picture", "template", "noscript",
        ];
        assert!(!forbidden.contains(&name), "{from:?} gave {name}:\n{html}");
        for pair in attribute.captures_iter(&found[3]) {
            let (key, value) = (&pair[1], pair[2].trim().to_ascii_lowercase());
            assert!(!key.starts_with("on"), "{from:?} gave {key}");
            assert!(
                !["style", "srcset", "ping", "action", "poster", "download", "name"].contains(&key),
                "{from:?}: {key}"
            );
            let links_safely = ["#/", "https://", "http://", "mailto:", "/api/file?path="]
                .iter()
                .any(|start| value.starts_with(start));
            assert!(key != "href" || links_safely, "{from:?} gave {value}");
            assert!(key != "src" || value.starts_with("/api/file?path="), "{from:?} gave {value}");
            assert!(
                key != "id" || ["h-", "b-", "fn"].iter().any(|start| value.starts_with(start)),
                "{from:?}: {value}"
            );
        }
    }
    assert_eq!(clean::once(html), html, "{from:?} is not clean");
}

#[test]
fn no_text_can_bring_a_script_a_style_or_a_request_elsewhere() {
    let rig = rig(NOTES);
    let here = VaultPath::parse("Here.md").unwrap();
    let view = rig.vault.view(&rig.scope);
    let place = Place { view: &view, from: Some(&here) };
    let mut texts: Vec<String> = PROBES.iter().map(|probe| (*probe).to_owned()).collect();
    texts.extend(
        PROBES
            .iter()
            .map(|probe| format!("- {probe}\n  > **{probe}** ==x\n\n| {probe} |\n|--|\n| {probe} |\n")),
    );
    texts.push(PROBES.join(" "));
    texts.push(PROBES.join("\n\n"));
    texts.extend(corpus());
    for text in &texts {
        harmless(&markdown(text, &place), text);
        harmless(&answer(text, &place), text);
        harmless(&line(text, &place), text);
    }
}

#[expect(clippy::disallowed_methods, reason = "reads the corpus where there is one")]
fn corpus() -> Vec<String> {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared/corpora/injections.jsonl");
    let Ok(text) = std::fs::read_to_string(file) else { return Vec::new() };
    let rows = text.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    rows.flat_map(|row| [row["text"].as_str().unwrap().to_owned(), row["note"].as_str().unwrap().to_owned()])
        .collect()
}

#[test]
fn a_note_cannot_wear_what_is_ours() {
    let out =
        html("<input type=checkbox data-line=3> <a class=note-link id=h-x href=https://a.example>x</a>");
    assert!(!out.contains("<input") && !out.contains("note-link") && !out.contains("h-x"), "{out}");
}

#[test]
fn huge_and_deep_texts_end_soon() {
    let rig = rig(NOTES);
    let view = rig.vault.view(&rig.scope);
    let place = Place { view: &view, from: None };
    for text in [
        "> ".repeat(20_000),
        "- ".repeat(20_000),
        "[".repeat(50_000),
        "![[Plan]] ".repeat(2_000),
        "*a **b ".repeat(20_000),
        "<div><b>".repeat(20_000),
        "<a href=x ".repeat(20_000),
        "==a ".repeat(20_000),
        "[^a]: x\n> ".repeat(5_000),
        "http".repeat(50_000),
        "> [!note]\n".repeat(1_000),
        "<details>\n\n".repeat(3_000),
        "\u{fdd0}".repeat(10_000),
        "&amp;&#x41;".repeat(20_000),
    ] {
        let start = Instant::now();
        let html = markdown(&text, &place);
        harmless_soon(start, &text);
        assert!(html.len() < 40 * 1024 * 1024);
        let start = Instant::now();
        answer(&text, &place);
        harmless_soon(start, &text);
    }
}

#[track_caller]
fn harmless_soon(start: Instant, text: &str) {
    // A debug build on a busy machine; what grows with the square of the size takes minutes.
    assert!(
        start.elapsed() < Duration::from_secs(20),
        "{:?} for {:?}",
        start.elapsed(),
        &text[..20.min(text.len())]
    );
}

#[test]
fn five_megabytes_are_shown_in_part() {
    let rig = rig(NOTES);
    let view = rig.vault.view(&rig.scope);
    let text = "A usual line with a [[Plan]] and a #tag in it, and some words.\n\n".repeat(80_000);
    let start = Instant::now();
    let html = markdown(&text, &Place { view: &view, from: None });
    assert!(html.contains("This note goes on."));
    assert!(start.elapsed() < Duration::from_secs(60), "{:?}", start.elapsed());
}
