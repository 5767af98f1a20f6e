//! What a person typed into the box: words, and tags that are asked for.

/// Words and tags.
#[derive(Debug, PartialEq, Eq)]
pub struct Words {
    /// What is left to look for.
    pub text: String,
    /// Tags without `#`.
    pub tags: Vec<String>,
}

impl Words {
    /// Takes `tag:name` and `#name` out of a text.
    pub fn read(text: &str) -> Words {
        let mut tags = Vec::new();
        let mut rest = Vec::new();
        for word in text.split_whitespace() {
            let tag = word
                .strip_prefix("tag:")
                .map(|tag| tag.trim_start_matches('#'))
                .or_else(|| word.strip_prefix('#'));
            match tag.filter(|tag| vault::note::tags::is_tag(tag)) {
                Some(tag) if tags.len() < 20 => tags.push(tag.to_owned()),
                _ => rest.push(word),
            }
        }
        Words { text: rest.join(" "), tags }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tags_are_told_from_words() {
        for (text, words, tags) in [
            ("engine oil", "engine oil", &[][..]),
            ("tag:car oil", "oil", &["car"][..]),
            ("tag:#a/b #c", "", &["a/b", "c"]),
            ("C# tag: #1 #", "C# tag: #1 #", &[]),
        ] {
            let tags: Vec<String> = tags.iter().map(|tag| (*tag).to_owned()).collect();
            assert_eq!(Words::read(text), Words { text: words.to_owned(), tags }, "{text}");
        }
    }
}
