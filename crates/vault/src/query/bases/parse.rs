//! Reads one expression into its checked form. Unknown functions, methods, formulas and file properties are mistakes here,
//! before anything is run; a property that no note has is none.

use std::sync::Arc;

use super::ast::{Expression, Kind, Operator};
use super::lex::{self, Mistake, Placed, Token};
use super::names;
use super::value::{Pattern, Value};
use crate::query::dql::pattern;
use crate::text::Text;

/// The longest expression, in bytes.
const LONGEST: usize = 20_000;
/// How deep an expression may be nested.
const DEEPEST: u32 = 100;
/// How deep brackets and calls may be nested: the reader goes down the stack with each.
const DEEPEST_BRACKET: u32 = 50;

/// What names mean around an expression.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'n> {
    /// The formulas of the base, in their order.
    pub formulas: &'n [String],
    /// Whether `values` is the list that a summary sums up.
    pub in_summary: bool,
}

/// An expression, and the formulas that it asks for.
#[derive(Debug)]
pub(crate) struct Parsed {
    pub expression: Expression,
    pub formulas: Vec<usize>,
}

/// Reads an expression.
pub(crate) fn parse(text: &str, names: Names<'_>) -> Result<Parsed, Mistake> {
    if text.len() > LONGEST {
        return Err(Mistake::new(
            0,
            format!("an expression may have {LONGEST} bytes at most"),
            "split it into formulas",
        ));
    }
    if text.trim().is_empty() {
        return Err(Mistake::new(0, "there is no expression here", "write one, e.g. `status == \"open\"`"));
    }
    let tokens = lex::tokens(text)?;
    let mut parser =
        Parser { text, tokens, at: 0, depth: 0, lambdas: 0, sums: 0, names, formulas: Vec::new() };
    let expression = parser.either()?;
    match parser.token() {
        Token::End => Ok(Parsed { expression, formulas: parser.formulas }),
        _ => Err(parser.unexpected("an operator or the end")),
    }
}

struct Parser<'p> {
    text: &'p str,
    tokens: Vec<Placed>,
    at: usize,
    depth: u32,
    /// How many `map`, `filter` and `reduce` are around this place.
    lambdas: u32,
    /// How many of them are `reduce`.
    sums: u32,
    names: Names<'p>,
    formulas: Vec<usize>,
}

type Read = Result<Expression, Mistake>;

/// The ranks of operators between two values, the weakest first.
const RANKS: [&[(&str, Operator)]; 4] = [
    &[("==", Operator::Equal), ("!=", Operator::Unequal)],
    &[
        (">=", Operator::MoreOrEqual),
        ("<=", Operator::LessOrEqual),
        (">", Operator::More),
        ("<", Operator::Less),
    ],
    &[("+", Operator::Add), ("-", Operator::Subtract)],
    &[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)],
];

impl Parser<'_> {
    fn token(&self) -> &Token {
        self.tokens.get(self.at).map_or(&Token::End, |placed| &placed.token)
    }

    fn start(&self) -> usize {
        self.tokens.get(self.at).map_or(self.text.len(), |placed| placed.start)
    }

    fn take(&mut self, sign: &str) -> bool {
        let found = matches!(self.token(), Token::Sign(here) if *here == sign);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, sign: &'static str) -> Result<(), Mistake> {
        if self.take(sign) { Ok(()) } else { Err(self.unexpected(&format!("`{sign}`"))) }
    }

    fn unexpected(&self, expected: &str) -> Mistake {
        let found = match self.tokens.get(self.at) {
            Some(Placed { token: Token::End, .. }) | None => "the end".to_owned(),
            Some(placed) => {
                format!("`{}`", self.text[placed.start..placed.end].chars().take(24).collect::<String>())
            }
        };
        let hint = match self.token() {
            Token::Name(word) if word.eq_ignore_ascii_case("and") => "and is written `&&`",
            Token::Name(word) if word.eq_ignore_ascii_case("or") => "or is written `||`",
            Token::Name(word) if word.eq_ignore_ascii_case("not") => "not is written `!`",
            Token::Name(_) => {
                "a property with spaces or hyphens is written `note[\"my property\"]`; texts stand in quotes"
            }
            Token::End => "something is missing at the end",
            _ => "see the syntax of bases: operators, functions, `a.b`, `a[0]`",
        };
        Mistake::new(self.start(), format!("expected {expected}, found {found}"), hint)
    }

    fn made(&self, start: usize, kind: Kind, inner: u32) -> Read {
        if inner >= DEEPEST {
            return Err(Mistake::new(
                start,
                format!("this is nested deeper than {DEEPEST}"),
                "split it into formulas",
            ));
        }
        Ok(Expression { kind, start, depth: inner + 1 })
    }

    fn deeper<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T, Mistake>) -> Result<T, Mistake> {
        if self.depth >= DEEPEST_BRACKET {
            let start = self.start();
            return Err(Mistake::new(
                start,
                format!("this is nested deeper than {DEEPEST_BRACKET}"),
                "split it into formulas",
            ));
        }
        self.depth += 1;
        let found = read(self);
        self.depth -= 1;
        found
    }

    fn either(&mut self) -> Read {
        self.deeper(|parser| {
            parser.logic("||", Kind::Or, |parser| parser.logic("&&", Kind::And, |parser| parser.rank(0)))
        })
    }

    fn logic(
        &mut self,
        sign: &str,
        kind: fn(Vec<Expression>) -> Kind,
        below: impl Fn(&mut Self) -> Read,
    ) -> Read {
        let start = self.start();
        let first = below(self)?;
        if !matches!(self.token(), Token::Sign(here) if *here == sign) {
            return Ok(first);
        }
        let mut all = vec![first];
        while self.take(sign) {
            all.push(below(self)?);
        }
        let depth = deepest(&all);
        self.made(start, kind(all), depth)
    }

    fn rank(&mut self, rank: usize) -> Read {
        let Some(operators) = RANKS.get(rank) else { return self.unary() };
        let start = self.start();
        let first = self.rank(rank + 1)?;
        let mut rest = Vec::new();
        while let Some(operator) = self.operator(operators) {
            rest.push((operator, self.rank(rank + 1)?));
        }
        if rest.is_empty() {
            return Ok(first);
        }
        let depth = rest.iter().map(|(_, part)| part.depth).max().unwrap_or(0).max(first.depth);
        self.made(start, Kind::Chain(Box::new(first), rest), depth)
    }

    fn operator(&mut self, operators: &[(&str, Operator)]) -> Option<Operator> {
        let Token::Sign(sign) = self.token() else { return None };
        let found = operators.iter().find(|(written, _)| written == sign).map(|(_, operator)| *operator);
        self.at += usize::from(found.is_some());
        found
    }

    fn unary(&mut self) -> Read {
        let start = self.start();
        for (sign, kind) in [
            ("!", Kind::Not as fn(Box<Expression>) -> Kind),
            ("-", Kind::Negative as fn(Box<Expression>) -> Kind),
        ] {
            if self.take(sign) {
                let inner = self.deeper(Self::unary)?;
                let depth = inner.depth;
                return self.made(start, kind(Box::new(inner)), depth);
            }
        }
        self.postfix()
    }

    fn postfix(&mut self) -> Read {
        let mut base = self.primary()?;
        loop {
            if self.take(".") {
                base = self.member(base)?;
            } else if self.take("[") {
                let index = self.either()?;
                self.expect("]")?;
                base = self.indexed(base, index)?;
            } else if matches!(self.token(), Token::Sign("(")) {
                return Err(Mistake::new(
                    self.start(),
                    "this cannot be called",
                    "functions and methods are called by name",
                ));
            } else {
                return Ok(base);
            }
        }
    }

    fn member(&mut self, base: Expression) -> Read {
        let at = self.start();
        let name = match self.token() {
            Token::Name(name) => name.clone(),
            _ => return Err(self.unexpected("a name")),
        };
        self.at += 1;
        if matches!(self.token(), Token::Sign("(")) {
            return self.method(base, &name, at);
        }
        self.field(base, &name, at)
    }

    fn field(&mut self, base: Expression, name: &str, at: usize) -> Read {
        let (start, depth) = (base.start, base.depth);
        let kind = match &base.kind {
            Kind::AllProperties => Kind::Note(name.into()),
            Kind::This if name == "file" => Kind::Member(Box::new(base), name.into()),
            Kind::This => Kind::ThisProperty(name.into()),
            _ if is_file(&base.kind) && !names::FILE_FIELDS.contains(&name) => {
                return Err(unknown_file_field(name, at));
            }
            _ => Kind::Member(Box::new(base), name.into()),
        };
        self.made(start, kind, depth)
    }

    fn indexed(&mut self, base: Expression, index: Expression) -> Read {
        if let Kind::Constant(Value::Text(name)) = &index.kind
            && (matches!(base.kind, Kind::AllProperties | Kind::This) || is_file(&base.kind))
        {
            let (name, at) = (name.clone(), index.start);
            return self.field(base, &name, at);
        }
        let (start, depth) = (base.start, base.depth.max(index.depth));
        self.made(start, Kind::Index(Box::new(base), Box::new(index)), depth)
    }

    fn method(&mut self, base: Expression, name: &str, at: usize) -> Read {
        let Some(known) = names::method(name) else {
            return Err(unknown_method(name, at, is_file(&base.kind)));
        };
        let of_file =
            || names::methods_of("file").contains(&name) || names::methods_of("any").contains(&name);
        if is_file(&base.kind) && !of_file() {
            return Err(unknown_method(name, at, true));
        }
        let lambda = matches!(known.name, "filter" | "map" | "reduce");
        let arguments = self.arguments(known, at, lambda)?;
        let depth = deepest(&arguments).max(base.depth);
        let start = base.start;
        self.made(start, Kind::Method(Box::new(base), known.name, arguments), depth)
    }

    /// What stands in the brackets; the first argument of `map` and its like sees `value` and `index`.
    fn arguments(
        &mut self,
        known: &names::Known,
        at: usize,
        lambda: bool,
    ) -> Result<Vec<Expression>, Mistake> {
        self.expect("(")?;
        let mut out = Vec::new();
        while !self.take(")") {
            if !out.is_empty() {
                self.expect(",")?;
            }
            let inside = u32::from(lambda && out.is_empty());
            let sum = inside * u32::from(known.name == "reduce");
            self.lambdas += inside;
            self.sums += sum;
            let argument = self.either();
            self.lambdas -= inside;
            self.sums -= sum;
            out.push(argument?);
        }
        if out.len() < known.least || out.len() > known.most {
            let count = |count: usize| {
                if count == 1 { "1 argument".to_owned() } else { format!("{count} arguments") }
            };
            let takes = match (known.least, known.most) {
                (least, most) if least == most => count(least),
                (least, usize::MAX) => format!("at least {}", count(least)),
                (least, most) => format!("{least} to {}", count(most)),
            };
            return Err(Mistake::new(
                at,
                format!("`{}` takes {takes}, not {}", known.name, out.len()),
                "see the functions of bases",
            ));
        }
        Ok(out)
    }

    fn primary(&mut self) -> Read {
        let start = self.start();
        let token = self.token().clone();
        let constant = |value: Value| Kind::Constant(value);
        let kind = match token {
            Token::Number(number) => constant(Value::Number(number)),
            Token::Text(text) => constant(Value::text(text)),
            Token::Pattern(source, flags) => constant(compiled(&source, &flags, start)?),
            Token::Name(name) => {
                self.at += 1;
                return self.named(&name, start);
            }
            Token::Sign("(") => {
                self.at += 1;
                let inner = self.either()?;
                self.expect(")")?;
                return Ok(inner);
            }
            Token::Sign("[") => return self.list(start),
            Token::Sign("{") => return self.object(start),
            _ => return Err(self.unexpected("a value")),
        };
        self.at += 1;
        self.made(start, kind, 0)
    }

    fn list(&mut self, start: usize) -> Read {
        self.at += 1;
        let mut items = Vec::new();
        while !self.take("]") {
            if !items.is_empty() {
                self.expect(",")?;
            }
            items.push(self.either()?);
        }
        let depth = deepest(&items);
        self.made(start, Kind::List(items), depth)
    }

    fn object(&mut self, start: usize) -> Read {
        self.at += 1;
        let mut entries: Vec<(Text, Expression)> = Vec::new();
        while !self.take("}") {
            if !entries.is_empty() {
                self.expect(",")?;
            }
            let name = match self.token() {
                Token::Text(name) | Token::Name(name) => name.as_str().into(),
                _ => return Err(self.unexpected("a name in quotes")),
            };
            self.at += 1;
            self.expect(":")?;
            let value = self.either()?;
            entries.push((name, value));
        }
        let depth = entries.iter().map(|(_, value)| value.depth).max().unwrap_or(0);
        self.made(start, Kind::Object(entries), depth)
    }

    fn named(&mut self, name: &str, start: usize) -> Read {
        if matches!(self.token(), Token::Sign("(")) {
            let Some(known) = names::function(name) else { return Err(unknown_function(name, start)) };
            let arguments = self.arguments(known, start, false)?;
            let depth = deepest(&arguments);
            return self.made(start, Kind::Call(known.name, arguments), depth);
        }
        let kind = match name {
            "true" => Kind::Constant(Value::Bool(true)),
            "false" => Kind::Constant(Value::Bool(false)),
            "null" | "undefined" => Kind::Constant(Value::Null),
            "value" if self.lambdas > 0 => Kind::Item,
            "index" if self.lambdas > 0 => Kind::Position,
            "acc" if self.sums > 0 => Kind::Sum,
            "values" if self.names.in_summary => Kind::Values,
            "file" => Kind::File,
            "this" => Kind::This,
            "note" => Kind::AllProperties,
            "formula" => return self.formula(start),
            name => Kind::Note(name.into()),
        };
        self.made(start, kind, 0)
    }

    fn formula(&mut self, start: usize) -> Read {
        let by_index = !self.take(".");
        if by_index {
            self.expect("[").map_err(|_| self.unexpected("`.` and the name of a formula"))?;
        }
        let at = self.start();
        let name = match (self.token(), by_index) {
            (Token::Name(name), false) | (Token::Text(name), true) => name.clone(),
            _ => return Err(self.unexpected("the name of a formula")),
        };
        self.at += 1;
        if by_index {
            self.expect("]")?;
        }
        let Some(index) = self.names.formulas.iter().position(|known| *known == name) else {
            let hint = names::suggestion(&name, self.names.formulas.iter().map(String::as_str));
            return Err(Mistake::new(at, format!("there is no formula `{name}`"), hint));
        };
        self.formulas.push(index);
        self.made(start, Kind::Formula(index), 0)
    }
}

fn deepest(parts: &[Expression]) -> u32 {
    parts.iter().map(|part| part.depth).max().unwrap_or(0)
}

/// Whether the expression is a file whatever the row is.
fn is_file(kind: &Kind) -> bool {
    match kind {
        Kind::File | Kind::Call("file", _) | Kind::Method(_, "asFile", _) => true,
        Kind::Member(base, name) => {
            &**name == "file" && (matches!(base.kind, Kind::This) || is_file(&base.kind))
        }
        _ => false,
    }
}

fn compiled(source: &str, flags: &str, at: usize) -> Result<Value, Mistake> {
    if let Some(flag) = flags.chars().find(|flag| !"gimuy".contains(*flag)) {
        let hint =
            if flag == 's' { "write `[\\s\\S]` for any character" } else { "the flags are g, i, m, u, y" };
        return Err(Mistake::new(at, format!("the flag `{flag}` of the pattern is not supported"), hint));
    }
    match pattern::compile_with(source, flags) {
        Some(regex) => Ok(Value::Pattern(Arc::new(Pattern {
            source: source.to_owned(),
            flags: flags.to_owned(),
            regex,
        }))),
        None => Err(Mistake::new(
            at,
            "this pattern cannot be used",
            "look-around and back-references are not supported, and a pattern must not grow too large",
        )),
    }
}

fn unknown_function(name: &str, at: usize) -> Mistake {
    let hint = match names::method(name) {
        Some(known) => format!("`{0}` is a method; write `x.{0}(…)`", known.name),
        None => names::suggestion(name, names::FUNCTIONS.iter().map(|known| known.name)),
    };
    Mistake::new(at, format!("there is no function `{name}`"), hint)
}

fn unknown_method(name: &str, at: usize, of_file: bool) -> Mistake {
    if of_file {
        let known = names::methods_of("file").into_iter().chain(names::methods_of("any"));
        let hint = match names::FILE_FIELDS.contains(&name) {
            true => format!("`{name}` is a field; write it without `()`"),
            false => names::suggestion(name, known),
        };
        return Mistake::new(at, format!("a file has no method `{name}`"), hint);
    }
    let field = name == "length" || names::DATE_FIELDS.contains(&name) || names::FILE_FIELDS.contains(&name);
    let hint = match (field, names::function(name)) {
        (true, _) => format!("`{name}` is a field; write it without `()`"),
        (_, Some(known)) => format!("`{0}` is a function; write `{0}(x)`", known.name),
        _ => {
            let all = names::METHODS.iter().flat_map(|(_, methods)| methods.iter()).map(|known| known.name);
            names::suggestion(name, all)
        }
    };
    Mistake::new(at, format!("there is no method `{name}`"), hint)
}

/// `file.nmae`.
pub(crate) fn unknown_file_field(name: &str, at: usize) -> Mistake {
    let hint = match names::methods_of("file").contains(&name) {
        true => format!("`{name}` is a method; write `{name}(…)`"),
        false => names::suggestion(name, names::FILE_FIELDS.into_iter()),
    };
    Mistake::new(at, format!("a file has no property `{name}`"), hint)
}
