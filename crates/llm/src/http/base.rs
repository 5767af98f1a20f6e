//! The address of a service: over TLS, or on this machine.
//!
//! Read once from the settings; everything else builds on it and never changes the host.

use std::net::IpAddr;

use reqwest::Url;

use crate::Error;

/// The address of a service.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Base(pub(super) Url);

impl Base {
    /// Reads an address: `https://…`, or `http://` to this machine. No name or key in it, nothing behind `?` or `#`.
    pub fn parse(text: &str) -> Result<Base, Error> {
        let refuse = |why| Err(Error::Address { url: without_credentials(text), why });
        let Ok(url) = Url::parse(text.trim()) else { return refuse("it is not a web address") };
        if !url.username().is_empty() || url.password().is_some() {
            return refuse("a key or a password does not belong into an address");
        }
        if url.query().is_some() || url.fragment().is_some() {
            return refuse("it must end before `?` and `#`");
        }
        match url.scheme() {
            "https" => Ok(Base(url)),
            "http" if is_this_machine(&url) => Ok(Base(url)),
            "http" => refuse("without TLS anybody on the way can read the notes"),
            _ => refuse("it must begin with https://"),
        }
    }

    /// Host and port, for messages and for a model's name.
    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        self.0.port().map_or_else(|| host.to_owned(), |port| format!("{host}:{port}"))
    }

    /// Whether texts leave this machine on their way.
    pub fn is_local(&self) -> bool {
        is_this_machine(&self.0)
    }

    /// The whole of it, as a person would write it.
    pub(crate) fn text(&self) -> String {
        self.0.to_string()
    }

    /// Its path, without a slash at the end.
    pub(crate) fn path(&self) -> &str {
        self.0.path().trim_end_matches('/')
    }

    /// The same address with another path.
    pub(crate) fn with_path(&self, path: &str) -> Base {
        let mut url = self.0.clone();
        url.set_path(path);
        Base(url)
    }

    /// The address one piece further down. A piece with a slash or a dot in it stays one piece and leads nowhere else.
    pub(crate) fn piece(&self, piece: &str) -> Base {
        let mut url = self.0.clone();
        if let Ok(mut pieces) = url.path_segments_mut() {
            pieces.pop_if_empty().push(piece);
        }
        Base(url)
    }

    /// The address with something behind `?`; never a key.
    pub(crate) fn with(&self, name: &str, value: &str) -> Base {
        let mut url = self.0.clone();
        url.query_pairs_mut().append_pair(name, value);
        Base(url)
    }

    /// The address below this one; `root` stands for the path of an address that has none.
    pub fn at(&self, root: &str, path: &str) -> Base {
        let mut url = self.0.clone();
        let own = url.path().trim_end_matches('/').to_owned();
        let own = if own.is_empty() { root.trim_end_matches('/').to_owned() } else { own };
        url.set_path(&format!("{own}/{}", path.trim_start_matches('/')));
        Base(url)
    }
}

/// Whatever is before an `@` may be a password.
fn without_credentials(text: &str) -> String {
    match text.rsplit_once('@') {
        Some((before, after)) => {
            let scheme = before.split_once("://").map_or("", |(scheme, _)| scheme);
            format!("{scheme}://…@{after}")
        }
        None => text.to_owned(),
    }
}

fn is_this_machine(url: &Url) -> bool {
    let Some(host) = url.host_str() else { return false };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    match host.parse::<IpAddr>() {
        Ok(IpAddr::V6(address)) => {
            address.is_loopback() || address.to_ipv4_mapped().is_some_and(|address| address.is_loopback())
        }
        Ok(IpAddr::V4(address)) => address.is_loopback(),
        Err(_) => host.eq_ignore_ascii_case("localhost"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_go_over_tls_or_stay_on_this_machine() {
        for good in [
            "https://api.example.com/v1",
            "http://localhost:11434",
            "http://127.0.0.1:8080/v1/",
            "http://[::1]:9",
            "http://2130706433/",
        ] {
            assert!(Base::parse(good).is_ok(), "{good}");
        }
        for bad in [
            "http://example.com",
            "http://192.168.1.7:11434",
            "http://localhost.example.com",
            "http://0.0.0.0",
            "ftp://127.0.0.1",
            "file:///etc/passwd",
            "api.example.com",
            "",
            "https://example.com/v1?key=1",
            "https://user:pass@example.com",
        ] {
            assert!(matches!(Base::parse(bad), Err(Error::Address { .. })), "{bad}");
        }
    }

    #[test]
    fn a_password_in_an_address_is_not_repeated() {
        let error = Base::parse("https://user:hunter2@example.com/x").unwrap_err();
        assert!(!format!("{error} {error:?}").contains("hunter2"));
    }

    #[test]
    fn paths_are_joined_below_the_base() {
        let at = |base: &str| Base::parse(base).unwrap().at("/v1", "embeddings").0.to_string();
        assert_eq!(at("https://e.org"), "https://e.org/v1/embeddings");
        assert_eq!(at("https://e.org/"), "https://e.org/v1/embeddings");
        assert_eq!(at("https://e.org/v1/"), "https://e.org/v1/embeddings");
        assert_eq!(at("https://e.org/api/openai"), "https://e.org/api/openai/embeddings");
    }

    #[test]
    fn a_name_in_an_address_leads_nowhere_else() {
        let base = Base::parse("https://e.org/v1beta").unwrap();
        for (name, path) in [
            ("gemini-3:stream", "/v1beta/gemini-3:stream"),
            ("../../admin", "/v1beta/..%2F..%2Fadmin"),
            ("a?key=1#x", "/v1beta/a%3Fkey=1%23x"),
        ] {
            assert_eq!(base.piece(name).0.as_str(), format!("https://e.org{path}"), "{name}");
        }
        for dots in ["..", "."] {
            assert_eq!(base.piece(dots).0.as_str(), "https://e.org/v1beta", "{dots}");
        }
        assert_eq!(base.with("alt", "s&e").0.as_str(), "https://e.org/v1beta?alt=s%26e");
    }
}
