//! Functions on numbers, and those that fold a list into one value.

use crate::query::dql::ast::Operator;
use crate::query::dql::evaluate::{Evaluator, Fault, failed};
use crate::query::dql::show::grouped;
use crate::query::dql::value::{Lambda, Value};

pub(super) fn apply(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<Option<Value>, Fault> {
    Ok(Some(match (name, arguments) {
        ("round", [Value::Number(number)]) => Value::Number(half_up(*number)),
        ("round", [Value::Number(number), Value::Number(digits)]) => Value::Number(round(*number, *digits)),
        ("trunc", [Value::Number(number)]) => Value::Number(number.trunc()),
        ("floor", [Value::Number(number)]) => Value::Number(number.floor()),
        ("ceil", [Value::Number(number)]) => Value::Number(number.ceil()),
        ("round" | "trunc" | "floor" | "ceil", [Value::Null]) | ("round", [Value::Null, _]) => Value::Null,
        ("min" | "max", _) => extreme(at, name, arguments)?,
        ("sum", [Value::List(list)]) => fold(at, list, Operator::Add)?,
        ("product", [Value::List(list)]) => fold(at, list, Operator::Multiply)?,
        ("average", [Value::List(list)]) if list.is_empty() => Value::Null,
        ("average", [Value::List(list)]) => {
            let sum = fold(at, list, Operator::Add)?;
            at.operate(Operator::Divide, &sum, &Value::Number(list.len() as f64))?
        }
        ("sum" | "product" | "average", [other]) => other.clone(),
        ("minby" | "maxby", [Value::List(list), Value::Function(by)]) => extreme_by(at, name, list, by)?,
        ("minby" | "maxby", [Value::Null, Value::Function(_)]) => Value::Null,
        ("reduce", [Value::List(list), Value::Text(sign)]) => match operator(sign) {
            Some(operator) => fold(at, list, operator)?,
            None => return failed("`reduce` takes + - * / & | or a function"),
        },
        ("reduce", [Value::List(list), Value::Function(by)]) => fold_by(at, list, by)?,
        ("reduce", [Value::Null, _] | [_, Value::Null]) => Value::Null,
        ("currencyformat", [Value::Null, Value::Text(_)] | [Value::Null]) => Value::Null,
        ("currencyformat", [Value::Number(number)]) => Value::from(currency(*number, "USD")?),
        ("currencyformat", [Value::Number(number), Value::Text(code)]) => {
            Value::from(currency(*number, code)?)
        }
        _ => return Ok(None),
    }))
}

/// Halves go up, also below zero.
fn half_up(number: f64) -> f64 {
    (number + 0.5).floor()
}

fn round(number: f64, digits: f64) -> f64 {
    if digits <= 0.0 {
        return half_up(number);
    }
    let factor = 10_f64.powf(digits);
    half_up(number * factor) / factor
}

fn operator(sign: &str) -> Option<Operator> {
    Some(match sign {
        "+" => Operator::Add,
        "-" => Operator::Subtract,
        "*" => Operator::Multiply,
        "/" => Operator::Divide,
        "&" => Operator::And,
        "|" => Operator::Or,
        _ => return None,
    })
}

fn fold(at: &Evaluator<'_>, list: &[Value], operator: Operator) -> Result<Value, Fault> {
    let Some((first, rest)) = list.split_first() else { return Ok(Value::Null) };
    rest.iter().try_fold(first.clone(), |sum, next| at.operate(operator, &sum, next))
}

/// Nulls are passed over, so that fields that not every page has can be summed.
fn fold_by(at: &Evaluator<'_>, list: &[Value], by: &Lambda) -> Result<Value, Fault> {
    let Some((first, rest)) = list.split_first() else { return Ok(Value::Null) };
    let there = rest.iter().filter(|value| !value.is_null());
    there.into_iter().try_fold(first.clone(), |sum, next| at.call(by, vec![sum, next.clone()]))
}

fn extreme(at: &Evaluator<'_>, name: &str, arguments: &[Value]) -> Result<Value, Fault> {
    let mut values = arguments;
    let mut list;
    while let [Value::List(inner)] = values {
        at.charge(1)?;
        list = inner;
        values = list;
    }
    let mut best = Value::Null;
    for value in values {
        at.charge(1)?;
        let better = best.is_null()
            || match name {
                "min" => at.compare(&best, value).is_gt(),
                _ => at.compare(&best, value).is_le(),
            };
        if better && !value.is_null() {
            best = value.clone();
        }
    }
    Ok(best)
}

fn extreme_by(at: &Evaluator<'_>, name: &str, list: &[Value], by: &Lambda) -> Result<Value, Fault> {
    let mut best: Option<(Value, &Value)> = None;
    for value in list {
        let key = at.call(by, vec![value.clone()])?;
        if key.is_null() {
            continue;
        }
        let better = match &best {
            None => true,
            Some((known, _)) if name == "minby" => at.compare(known, &key).is_gt(),
            Some((known, _)) => at.compare(known, &key).is_lt(),
        };
        if better {
            best = Some((key, value));
        }
    }
    Ok(best.map(|(_, value)| value).or(list.first()).cloned().unwrap_or_default())
}

/// A number as money, as it is written in English.
fn currency(number: f64, code: &str) -> Result<String, Fault> {
    if code.len() != 3 || !code.bytes().all(|byte| byte.is_ascii_alphabetic()) {
        return failed(format!("`{code}` is not the three letters of a currency"));
    }
    let code = code.to_ascii_uppercase();
    let digits = match code.as_str() {
        "JPY" | "KRW" | "VND" | "CLP" | "ISK" | "XAF" | "XOF" | "XPF" | "PYG" | "UGX" | "RWF" => 0,
        "BHD" | "IQD" | "JOD" | "KWD" | "LYD" | "OMR" | "TND" => 3,
        _ => 2,
    };
    let sign = match code.as_str() {
        "USD" => "$",
        "EUR" => "€",
        "GBP" => "£",
        "JPY" => "¥",
        "INR" => "₹",
        "CNY" => "CN¥",
        "KRW" => "₩",
        "BRL" => "R$",
        "CAD" => "CA$",
        "AUD" => "A$",
        "MXN" => "MX$",
        "NZD" => "NZ$",
        "HKD" => "HK$",
        "TWD" => "NT$",
        "ILS" => "₪",
        "VND" => "₫",
        "PHP" => "₱",
        "XAF" => "FCFA\u{a0}",
        _ => "",
    };
    let minus = if number < 0.0 { "-" } else { "" };
    let amount = grouped(number.abs(), digits, digits);
    Ok(match sign {
        "" => format!("{minus}{code}\u{a0}{amount}"),
        _ => format!("{minus}{sign}{amount}"),
    })
}
