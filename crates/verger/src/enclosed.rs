//! What a person sends along with their words: pictures, checked before they are kept, and text of others, wrapped as what it
//! is. Used by the doors that take such things: `acp/*` and `serve/*`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use llm::chat::Part;
use pipeline::{Output, Refusal, wrap};

/// The largest picture, in bytes.
pub const LARGEST_PICTURE: usize = 10 * 1024 * 1024;
/// The most pictures in one message.
pub const MOST_PICTURES: usize = 20;
/// The kinds of pictures that models understand.
pub const PICTURES: [&str; 4] = ["image/png", "image/jpeg", "image/gif", "image/webp"];

/// A picture, if it is one that models understand.
pub fn picture(kind: &str, base64: &str) -> Result<Part, Refusal> {
    let refuse = |message: &str, hint: String| Err(Refusal::new("picture_refused", message, hint));
    if !PICTURES.contains(&kind) {
        let hint = format!("send one of {}", PICTURES.join(", "));
        return refuse("pictures of this kind cannot be sent", hint);
    }
    if base64.len() / 4 * 3 > LARGEST_PICTURE {
        return refuse("the picture is too large", "send at most 10 MiB".to_owned());
    }
    if base64.is_empty() || STANDARD.decode(base64).is_err() {
        let hint = "send its bytes in base64, with padding";
        return refuse("the picture is no base64", hint.to_owned());
    }
    Ok(Part::Image { media_type: kind.to_owned(), base64: base64.to_owned() })
}

/// Text that neither Verger nor the person wrote.
pub fn outside(source: &str, text: &str) -> String {
    let wrapped = wrap::for_model(&Output::new(text, ()).from_outside(source));
    format!("\n{wrapped}\n")
}
