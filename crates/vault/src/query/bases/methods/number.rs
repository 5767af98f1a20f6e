//! The methods of numbers, rounded as JavaScript rounds.

use super::super::evaluate::{Computed, Evaluator, failed};
use super::super::value::Value;
use super::no_method;
use crate::query::dql::show::show_number;

/// Calls a method of a number.
pub(super) fn call(at: &Evaluator<'_>, number: f64, name: &str, arguments: &[Value]) -> Computed {
    let digits = match arguments.first() {
        None | Some(Value::Null) => 0.0,
        Some(Value::Number(digits)) => digits.trunc(),
        Some(other) => {
            return failed(format!("`{name}` takes a number of digits, not a {}", other.type_name()));
        }
    };
    match name {
        "abs" => Ok(Value::Number(number.abs())),
        "ceil" => Ok(Value::Number(number.ceil())),
        "floor" => Ok(Value::Number(number.floor())),
        "round" => Ok(Value::Number(round(number, digits.clamp(-100.0, 100.0) as i32))),
        "toFixed" if (0.0..=100.0).contains(&digits) => at.text(fixed(number, digits as usize)),
        "toFixed" => failed("`toFixed` takes 0 to 100 digits"),
        _ => no_method(&Value::Number(number), name),
    }
}

/// Halves go up; the digits decide as they are written, so that 1.005 rounds to 1.01.
pub(crate) fn round(number: f64, digits: i32) -> f64 {
    let half_up = |number: f64| (number + 0.5).floor();
    if !number.is_finite() || number.fract() == 0.0 && digits >= 0 {
        return number;
    }
    if digits == 0 {
        return half_up(number);
    }
    let shifted: f64 = format!("{number}e{digits}").parse().unwrap_or(number);
    format!("{}e{}", half_up(shifted), -digits).parse().unwrap_or(number)
}

/// A number with so many digits behind the point; an exact half goes away from zero.
fn fixed(number: f64, digits: usize) -> String {
    if !number.is_finite() || number.abs() >= 1e21 {
        return show_number(number);
    }
    let power = 10f64.powi(digits as i32);
    let scaled = number.abs() * power;
    let exact_half = digits <= 22 && scaled.fract() == 0.5 && number.abs().mul_add(power, -scaled) == 0.0;
    let text = match exact_half {
        true => format!("{:.digits$}", (scaled + 0.5) / power),
        false => format!("{:.digits$}", number.abs()),
    };
    let zero = text.bytes().all(|b| matches!(b, b'0' | b'.'));
    if number < 0.0 && !zero { format!("-{text}") } else { text }
}
