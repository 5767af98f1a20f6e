//! What operators do with two values of which types.

use super::ast::Operator;
use super::compare::is_truthy;
use super::evaluate::{Evaluator, Fault, failed};
use super::show::show;
use super::value::{Object, Value};

pub(crate) fn apply(at: &Evaluator<'_>, operator: Operator, a: &Value, b: &Value) -> Result<Value, Fault> {
    let order = || at.compare(a, b);
    match operator {
        Operator::And => Ok(Value::Bool(is_truthy(a) && is_truthy(b))),
        Operator::Or => Ok(Value::Bool(is_truthy(a) || is_truthy(b))),
        Operator::Less => Ok(Value::Bool(order().is_lt())),
        Operator::LessOrEqual => Ok(Value::Bool(order().is_le())),
        Operator::Greater => Ok(Value::Bool(order().is_gt())),
        Operator::GreaterOrEqual => Ok(Value::Bool(order().is_ge())),
        Operator::Equal => Ok(Value::Bool(order().is_eq())),
        Operator::NotEqual => Ok(Value::Bool(order().is_ne())),
        _ => match calculate(at, operator, a, b)? {
            Some(value) => Ok(value),
            None => failed(format!(
                "`{}` does not work on a {} and a {}",
                operator.sign(),
                a.type_name(),
                b.type_name()
            )),
        },
    }
}

fn calculate(at: &Evaluator<'_>, operator: Operator, a: &Value, b: &Value) -> Result<Option<Value>, Fault> {
    if let (Value::Null, Value::Null) = (a, b) {
        return Ok(Some(Value::Null));
    }
    match operator {
        Operator::Add => add(at, a, b),
        Operator::Subtract => Ok(subtract(a, b)),
        Operator::Multiply => multiply(at, a, b),
        Operator::Divide => Ok(match (a, b) {
            (Value::Number(a), Value::Number(b)) => Some(Value::Number(a / b)),
            (Value::Duration(a), Value::Number(b)) => Some(Value::Duration(a.times(1.0 / b).normalized())),
            _ => None,
        }),
        _ => Ok(match (a, b) {
            (Value::Number(a), Value::Number(b)) => Some(Value::Number(a % b)),
            _ => None,
        }),
    }
}

fn add(at: &Evaluator<'_>, a: &Value, b: &Value) -> Result<Option<Value>, Fault> {
    Ok(Some(match (a, b) {
        (Value::Number(a), Value::Number(b)) => Value::Number(a + b),
        (Value::Text(_), _) | (_, Value::Text(_)) => {
            let text = show(a) + &show(b);
            at.charge(text.len())?;
            Value::from(text)
        }
        (Value::List(a), Value::List(b)) => {
            at.charge(a.len() + b.len())?;
            Value::list(a.iter().chain(b.iter()).cloned().collect())
        }
        (Value::Object(a), Value::Object(b)) => {
            at.charge(a.len() + b.len())?;
            let mut sum = Object::clone(a);
            b.iter().for_each(|(name, value)| sum.set(name.clone(), value.clone()));
            Value::object(sum)
        }
        (Value::Date(date), Value::Duration(by)) | (Value::Duration(by), Value::Date(date)) => {
            match date.plus(by) {
                Some(date) => Value::Date(date),
                None => return failed("the sum is outside of the years that dates have"),
            }
        }
        (Value::Duration(a), Value::Duration(b)) => Value::Duration(a.plus(b).normalized()),
        (Value::Date(_), Value::Null) | (Value::Null, Value::Date(_)) => Value::Null,
        _ => return Ok(None),
    }))
}

fn subtract(a: &Value, b: &Value) -> Option<Value> {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(Value::Number(a - b)),
        (Value::Date(a), Value::Date(b)) => a.since(b).map(|between| Value::Duration(between.normalized())),
        (Value::Date(date), Value::Duration(by)) => date.minus(by).map(Value::Date),
        (Value::Duration(a), Value::Duration(b)) => {
            Some(Value::Duration(a.plus(&b.times(-1.0)).normalized()))
        }
        (Value::Date(_), Value::Null) | (Value::Null, Value::Date(_)) => Some(Value::Null),
        _ => None,
    }
}

fn multiply(at: &Evaluator<'_>, a: &Value, b: &Value) -> Result<Option<Value>, Fault> {
    Ok(match (a, b) {
        (Value::Number(a), Value::Number(b)) => Some(Value::Number(a * b)),
        (Value::Text(text), Value::Number(times)) | (Value::Number(times), Value::Text(text)) => {
            let times = if *times > 0.0 { *times as usize } else { 0 };
            at.charge(text.len().saturating_mul(times))?;
            Some(Value::from(text.repeat(times)))
        }
        (Value::Duration(duration), Value::Number(by)) | (Value::Number(by), Value::Duration(duration)) => {
            Some(Value::Duration(duration.times(*by).normalized()))
        }
        _ => None,
    })
}
