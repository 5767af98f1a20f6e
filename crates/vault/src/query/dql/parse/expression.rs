//! Expressions and sources.

use std::sync::Arc;

use super::{Cursor, Found};
use crate::query::dql::ast::{Expression, Literal, Operator, Source, Step};

/// Words that begin a clause and so cannot be a field. `SORT` is none of them; that is how Dataview has it.
const KEYWORDS: [&str; 5] = ["FROM", "WHERE", "LIMIT", "GROUP", "FLATTEN"];
/// Calls behind one another (`f()()`), which are walked one inside the other.
const MOST_CALLS: usize = 16;

type Rule<'a, T> = fn(&mut Cursor<'a>) -> Option<T>;

impl<'a> Cursor<'a> {
    /// Any expression.
    pub(crate) fn expression(&mut self) -> Option<Expression> {
        self.deeper(|cursor| cursor.chain(Self::comparison, Self::and_or))
    }

    fn comparison(&mut self) -> Option<Expression> {
        self.chain(Self::sum, |cursor| {
            cursor.operator(&[
                (">=", Operator::GreaterOrEqual),
                ("<=", Operator::LessOrEqual),
                ("!=", Operator::NotEqual),
                (">", Operator::Greater),
                ("<", Operator::Less),
                ("=", Operator::Equal),
            ])
        })
    }

    fn sum(&mut self) -> Option<Expression> {
        self.chain(Self::product, |cursor| {
            cursor.operator(&[("+", Operator::Add), ("-", Operator::Subtract)])
        })
    }

    fn product(&mut self) -> Option<Expression> {
        self.chain(Self::postfix, |cursor| {
            cursor.operator(&[("*", Operator::Multiply), ("/", Operator::Divide), ("%", Operator::Remainder)])
        })
    }

    fn chain(&mut self, operand: Rule<'a, Expression>, operator: Rule<'a, Operator>) -> Option<Expression> {
        let first = operand(self)?;
        let rest = self.operands(operand, operator);
        if rest.is_empty() {
            return Some(first);
        }
        Some(Expression::Chain { first: Box::new(first), rest })
    }

    fn operands<T>(&mut self, operand: Rule<'a, T>, operator: Rule<'a, Operator>) -> Vec<(Operator, T)> {
        let mut rest = Vec::new();
        while let Some(next) = self.attempt(|cursor| {
            cursor.space();
            let sign = operator(cursor)?;
            cursor.space();
            Some((sign, operand(cursor)?))
        }) {
            rest.push(next);
        }
        rest
    }

    fn and_or(&mut self) -> Option<Operator> {
        for (word, operator) in [("and", Operator::And), ("or", Operator::Or)] {
            if self.rest().get(..word.len()).is_some_and(|here| here.eq_ignore_ascii_case(word)) {
                self.at += word.len();
                return Some(operator);
            }
        }
        self.operator(&[("&", Operator::And), ("|", Operator::Or)])
    }

    fn operator(&mut self, signs: &[(&str, Operator)]) -> Option<Operator> {
        let found = signs.iter().find(|(sign, _)| self.rest().starts_with(sign));
        let Some((sign, operator)) = found else { return self.missing("an operator") };
        self.at += sign.len();
        Some(*operator)
    }

    fn postfix(&mut self) -> Option<Expression> {
        let base = self.atom()?;
        let mut steps = Vec::new();
        let mut calls = 0;
        while let Some(step) = self.attempt(Self::step) {
            calls += usize::from(matches!(step, Step::Call(_)));
            if calls > MOST_CALLS {
                self.too_deep = true;
                return None;
            }
            steps.push(step);
        }
        if steps.is_empty() {
            return Some(base);
        }
        Some(Expression::Postfix { base: Box::new(base), steps })
    }

    fn step(&mut self) -> Option<Step> {
        match self.peek() {
            Some('.') => {
                self.at += 1;
                let name = self.identifier()?;
                Some(Step::Index(Expression::Literal(Literal::Text(name))))
            }
            Some('[') => {
                self.at += 1;
                self.space();
                let index = self.expression()?;
                self.space();
                self.take("]")?;
                Some(Step::Index(index))
            }
            Some('(') => {
                self.at += 1;
                self.space();
                let arguments = self.separated(Self::expression, Self::comma);
                self.space();
                self.take(")")?;
                Some(Step::Call(arguments))
            }
            _ => self.missing("`.`, `[` or `(`"),
        }
    }

    fn atom(&mut self) -> Option<Expression> {
        if let Some(link) = self.embed_link() {
            return Some(Expression::Literal(Literal::Link(Arc::new(link))));
        }
        match self.peek() {
            Some('!') => self.attempt(Self::negation),
            Some('[') => self.attempt(Self::list),
            Some('{') => self.attempt(Self::object),
            Some('(') => self.attempt(Self::lambda).or_else(|| self.attempt(Self::parentheses)),
            _ => self.literal_or_variable(),
        }
    }

    fn literal_or_variable(&mut self) -> Option<Expression> {
        if let Some(yes) = self.attempt(Self::boolean) {
            return Some(Expression::Literal(Literal::Bool(yes)));
        }
        if let Some(number) = self.attempt(Self::number) {
            return Some(Expression::Literal(Literal::Number(number)));
        }
        if let Some(text) = self.attempt(Self::string) {
            return Some(Expression::Literal(Literal::Text(text)));
        }
        if let Some(date) = self.attempt(Self::date_field) {
            return Some(Expression::Literal(date));
        }
        if let Some(duration) = self.attempt(Self::duration_field) {
            return Some(Expression::Literal(duration));
        }
        if self.rest().starts_with("null") {
            self.at += 4;
            return Some(Expression::Literal(Literal::Null));
        }
        self.attempt(Self::variable)
    }

    fn variable(&mut self) -> Option<Expression> {
        let start = self.at;
        let name = self.identifier()?;
        if KEYWORDS.iter().any(|word| name.eq_ignore_ascii_case(word)) {
            self.at = start;
            return self.missing("a field");
        }
        Some(Expression::Variable(name))
    }

    /// `date(literal)`; anything else between the brackets is a call of the function.
    pub(crate) fn date_field(&mut self) -> Option<Literal> {
        self.take("date(")?;
        self.space();
        let found = self.date_plus()?;
        self.space();
        self.take(")")?;
        Some(match found {
            Found::Date(date) => Literal::Date(date),
            Found::Shorthand(shorthand) => Literal::Shorthand(shorthand),
        })
    }

    fn duration_field(&mut self) -> Option<Literal> {
        self.take("dur(")?;
        self.space();
        let duration = self.duration()?;
        self.space();
        self.take(")")?;
        Some(Literal::Duration(duration))
    }

    fn negation(&mut self) -> Option<Expression> {
        self.take("!")?;
        let inner = self.deeper(Self::postfix)?;
        Some(Expression::Not(Box::new(inner)))
    }

    fn list(&mut self) -> Option<Expression> {
        self.take("[")?;
        self.space();
        let items = self.separated(Self::expression, Self::comma);
        self.space();
        self.take("]")?;
        Some(Expression::List(items))
    }

    fn object(&mut self) -> Option<Expression> {
        self.take("{")?;
        self.space();
        let entries = self.separated(
            |cursor| {
                let name = cursor.attempt(Self::identifier).or_else(|| cursor.attempt(Self::string))?;
                cursor.space();
                cursor.take(":")?;
                cursor.space();
                Some((name, cursor.expression()?))
            },
            Self::comma,
        );
        self.space();
        self.take("}")?;
        Some(Expression::Object(entries))
    }

    fn lambda(&mut self) -> Option<Expression> {
        self.take("(")?;
        self.space();
        let parameters = self.separated(Self::identifier, Self::comma);
        self.space();
        self.take(")")?;
        self.space();
        self.take("=>")?;
        self.space();
        let body = self.expression()?;
        Some(Expression::Lambda { parameters, body: Arc::new(body) })
    }

    fn parentheses(&mut self) -> Option<Expression> {
        self.take("(")?;
        self.space();
        let inner = self.expression()?;
        self.space();
        self.take(")")?;
        Some(inner)
    }

    /// What stands behind `FROM`.
    pub(crate) fn source(&mut self) -> Option<Source> {
        self.deeper(|cursor| {
            let first = cursor.source_atom()?;
            let rest = cursor.operands(Self::source_atom, Self::and_or);
            if rest.is_empty() {
                return Some(first);
            }
            Some(Source::Chain { first: Box::new(first), rest })
        })
    }

    fn source_atom(&mut self) -> Option<Source> {
        match self.peek() {
            Some('(') => self.attempt(|cursor| {
                cursor.take("(")?;
                cursor.space();
                let inner = cursor.source()?;
                cursor.space();
                cursor.take(")")?;
                Some(inner)
            }),
            Some('-' | '!') => self.attempt(|cursor| {
                cursor.at += 1;
                let inner = cursor.deeper(Self::source_atom)?;
                Some(Source::Not(Box::new(inner)))
            }),
            Some('[') => self.link().map(Source::Incoming),
            Some('"') => self.string().map(|folder| Source::Folder(folder.to_string())),
            Some('#') => self.tag().map(Source::Tag),
            Some('o') => self.in_brackets("outgoing(", Self::link).map(Source::Outgoing),
            Some('c') => self.in_brackets("csv(", Self::string).map(|path| Source::Csv(path.to_string())),
            _ => self.missing("a source: #tag, \"folder\", [[link]], outgoing([[link]]) or csv(\"file\")"),
        }
    }

    fn in_brackets<T>(&mut self, open: &'static str, rule: Rule<'a, T>) -> Option<T> {
        self.attempt(|cursor| {
            cursor.take(open)?;
            cursor.space();
            let found = rule(cursor)?;
            cursor.space();
            cursor.take(")")?;
            Some(found)
        })
    }
}
