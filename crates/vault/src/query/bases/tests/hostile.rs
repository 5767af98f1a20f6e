//! Input that nobody should write: it ends, with a typed error or a value, and never takes the process down.

use proptest::prelude::*;

use super::super::run::run_over;
use super::*;

fn limited(text: &str) {
    let catalog = catalog();
    let found = value(&catalog, text);
    assert!(matches!(&found, Err(message) if message.starts_with("limit: ")), "{text}: {found:?}");
}

#[test]
fn work_texts_lists_and_nesting_are_bounded() {
    limited("\"x\".repeat(1e9)");
    limited("[1,2,3,4,5,6,7,8].map(\"y\".repeat(1e5)).reduce(acc + acc + value, \"\").length");
    limited("\"a\".repeat(100000).split(\"\").map(\"a\".repeat(100000).split(\"\"))");
    limited("\"a\".repeat(1000).split(\"\").reduce([acc], 0)");
    limited("\"a\".repeat(100000).replace(/a/g, \"$`$'$&\")");
    limited(
        "\"a\".repeat(500).split(\"\").reduce(list(acc).map([acc, acc]).flat().map([value]).flat().map(value).join(\"\") + acc, \"x\").length",
    );
}

#[test]
fn deep_and_long_expressions_are_refused_and_long_chains_are_not() {
    let names = Names { formulas: &[], in_summary: false };
    for deep in [
        "(".repeat(5_000) + "1",
        "[".repeat(5_000),
        "!".repeat(5_000) + "1",
        "-".repeat(5_000) + "1",
        "if(".repeat(5_000),
        "a".to_owned() + &".b".repeat(5_000),
        "a".to_owned() + &"[0]".repeat(5_000),
        "a".to_owned() + &".trim()".repeat(2_000),
    ] {
        assert!(parse::parse(&deep, names).is_err(), "{}", &deep[..20]);
    }
    assert!(parse::parse(&"x".repeat(30_000), names).is_err());
    let catalog = catalog();
    assert_eq!(value(&catalog, &format!("1{}", " + 1".repeat(3_000))), Ok(3001.into()));
    assert_eq!(value(&catalog, &format!("true{}", " && true".repeat(2_000))), Ok(true.into()));
}

#[test]
fn a_long_chain_of_formulas_ends_in_a_limit() {
    let chain: String = (0..1_000).map(|n| format!("  f{n}: formula.f{} + 1\n", n + 1)).collect();
    let base = format!("formulas:\n{chain}  f1000: '1'\nviews:\n  - name: V\n    order: [formula.f0]\n");
    let base = Base::parse(&base).unwrap();
    let found =
        run_over(&base, None, Window::default(), &catalog(), Visible::all(), &HashSet::new(), &context());
    assert!(matches!(found, Err(BaseError::Limit { .. })), "{found:?}");
}

#[test]
fn huge_bases_are_refused() {
    assert!(matches!(Base::parse(&"a".repeat(2 << 20)), Err(BaseError::Limit { .. })));
    let bomb = "a: &a [x,x,x,x,x,x,x,x,x]\nb: &b [*a,*a,*a,*a,*a,*a,*a,*a,*a]\nc: &c [*b,*b,*b,*b,*b,*b,*b,*b,*b]\nd: &d [*c,*c,*c,*c,*c,*c,*c,*c,*c]\ne: [*d,*d,*d,*d,*d,*d,*d,*d,*d]\n";
    assert!(matches!(Base::parse(bomb), Err(BaseError::Limit { .. })));
    let deep = format!("filters: {}", "{and: [".repeat(200));
    assert!(Base::parse(&deep).is_err());
    let many: String = (0..5_000).map(|n| format!("  f{n}: '1'\n")).collect();
    assert!(matches!(Base::parse(&format!("formulas:\n{many}")), Err(BaseError::Limit { .. })));
}

proptest! {
    #[test]
    fn any_text_is_an_expression_or_a_mistake_in_it(text in ".{0,60}") {
        let names = Names { formulas: &[], in_summary: false };
        if let Err(mistake) = parse::parse(&text, names) {
            prop_assert!(mistake.at <= text.len());
        }
        let _ = Base::parse(&text);
    }

    #[test]
    fn pieces_of_the_language_in_any_order_end(pieces in proptest::collection::vec(prop_oneof![
        Just("("), Just(")"), Just("["), Just("]"), Just("{"), Just("}"), Just(","), Just("."), Just("!"), Just("-"), Just("+"),
        Just("*"), Just("/"), Just("=="), Just("&&"), Just("||"), Just("<"), Just("price"), Just("file"), Just("this"),
        Just("note"), Just("formula"), Just("twice"), Just("value"), Just("1"), Just("2.5"), Just("\"a\""), Just("'b"),
        Just("/x/g"), Just("if("), Just("date("), Just(".map("), Just(".reduce("), Just(".lower()"), Just(".length"),
        Just("now()"), Just("true"), Just("null"), Just(":"), Just(" "), Just("ü"),
    ], 0..24)) {
        thread_local!(static CATALOG: Catalog = catalog());
        CATALOG.with(|catalog| { let _ = value(catalog, &pieces.concat()); });
    }

    #[test]
    fn any_yaml_of_a_base_is_read_or_refused(text in "(filters|formulas|views|  - |name|: |and|\\[|\\]|\\{|\\}|\n|  |'|\"|&a|\\*a|#|ä|\\||>|-|x){0,40}") {
        let _ = Base::parse(&text);
    }
}
