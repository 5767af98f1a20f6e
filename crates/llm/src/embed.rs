//! Models that turn texts into vectors: services over HTTP ([`openai`], [`ollama`]) and folders on this machine ([`folder`]).
//!
//! Used by the `verger` crate, which puts one of them behind the vault's own trait. Every vector that comes out of here has
//! the same width as the first one, length 1, and real numbers in it; anything else is an error.

pub mod folder;
pub mod ollama;
pub mod openai;

use crate::Error;

/// Checks what a service gave: one vector per text, all of the same width, all numbers real; each brought to length 1.
fn checked(service: &str, count: usize, mut vectors: Vec<Vec<f32>>) -> Result<Vec<Vec<f32>>, Error> {
    let wrong = |message: String| Err(Error::Answer { service: service.to_owned(), message });
    if vectors.len() != count {
        return wrong(format!("{} vectors for {count} texts", vectors.len()));
    }
    let width = vectors.first().map_or(0, Vec::len);
    if count > 0 && width == 0 {
        return wrong("an empty vector".to_owned());
    }
    if let Some(odd) = vectors.iter().find(|vector| vector.len() != width) {
        return wrong(format!("vectors of {width} and of {} numbers", odd.len()));
    }
    if vectors.iter().flatten().any(|number| !number.is_finite()) {
        return wrong("a vector with something that is no number".to_owned());
    }
    vectors.iter_mut().for_each(|vector| to_length_one(vector));
    Ok(vectors)
}

/// Brings a vector to length 1; one of zeros stays.
fn to_length_one(vector: &mut [f32]) {
    let square: f64 = vector.iter().map(|number| f64::from(*number) * f64::from(*number)).sum();
    if square > 0.0 && square.is_finite() {
        let length = square.sqrt();
        vector.iter_mut().for_each(|number| *number = (f64::from(*number) / length) as f32);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_whole_answers_pass() {
        let check =
            |vectors: &[&[f32]]| checked("s", 2, vectors.iter().map(|vector| vector.to_vec()).collect());
        assert_eq!(check(&[&[3.0, 4.0], &[0.0, 0.0]]).unwrap(), [[0.6, 0.8], [0.0, 0.0]]);
        for (bad, why) in [
            (&[&[1.0_f32][..]][..], "1 vectors for 2 texts"),
            (&[&[1.0], &[1.0, 2.0]], "of 1 and of 2"),
            (&[&[], &[]], "empty"),
            (&[&[1.0], &[f32::NAN]], "no number"),
            (&[&[1.0], &[f32::INFINITY]], "no number"),
        ] {
            assert!(check(bad).unwrap_err().to_string().contains(why), "{why}");
        }
    }
}
