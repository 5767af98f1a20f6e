//! From where a request may come: the `Host` it names and the `Origin` of the page that sends it.
//!
//! A page of the web can make a browser send requests to this machine under a name of its own (DNS rebinding). It
//! cannot change what `Host` and `Origin` say, so both are compared with who may be there.

use std::net::{IpAddr, SocketAddr};

/// An origin as browsers write it: scheme, host and port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    scheme: String,
    host: String,
    /// What the scheme implies where none is written; 0 where it implies none.
    port: u16,
}

impl Origin {
    /// Reads an origin; `None` for anything else, `null` and `*` too. Programs that show pages of their own have
    /// schemes of their own: `app://obsidian.md`.
    pub fn parse(text: &str) -> Option<Origin> {
        let (scheme, rest) = text.split_once("://")?;
        let scheme = scheme.to_ascii_lowercase();
        let plain = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
        if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(plain) {
            return None;
        }
        let (host, port) = authority(rest)?;
        let usual = match scheme.as_str() {
            "https" => 443,
            "http" => 80,
            _ => 0,
        };
        Some(Origin { scheme, host, port: port.unwrap_or(usual) })
    }

    /// The origin of an address; what stands behind the host does not count.
    pub fn of_url(url: &str) -> Option<Origin> {
        let (scheme, rest) = url.split_once("://")?;
        Origin::parse(&format!("{scheme}://{}", rest.split(['/', '?', '#']).next()?))
    }

    /// Whether it is encrypted.
    pub fn is_https(&self) -> bool {
        self.scheme == "https"
    }

    /// Whether it is a page of the web, not of a program.
    pub fn is_web(&self) -> bool {
        self.is_https() || self.scheme == "http"
    }

    /// Whether it is a page that this machine serves.
    pub fn is_local(&self) -> bool {
        self.is_web() && is_local(&self.host)
    }
}

/// Who may be named as host, and whose pages may call.
pub struct Neighbours {
    /// Whether others can reach the address at all.
    open: bool,
    hosts: Vec<String>,
    origins: Vec<Origin>,
}

impl Neighbours {
    /// For a door at this address, with what the settings allow besides this machine.
    pub fn new(address: SocketAddr, public: Option<&str>, origins: Vec<Origin>) -> Neighbours {
        let public = public.and_then(Origin::of_url);
        let web = origins.iter().chain(&public).filter(|origin| origin.is_web());
        let hosts = web.map(|origin| origin.host.clone()).collect();
        let origins = origins.into_iter().chain(public).collect();
        Neighbours { open: !address.ip().is_loopback(), hosts, origins }
    }

    /// Whether a request may name this host.
    pub fn may_name(&self, host: &str) -> bool {
        let Some((host, _)) = authority(host) else { return false };
        // Rebinding needs a name of the attacker's; where others may come anyway, an address is none.
        is_local(&host) || (self.open && host.parse::<IpAddr>().is_ok()) || self.hosts.contains(&host)
    }

    /// Whether a page of this origin may call.
    pub fn may_call(&self, origin: &str) -> bool {
        Origin::parse(origin).is_some_and(|origin| origin.is_local() || self.origins.contains(&origin))
    }

    /// Whether a page of this origin was named in the settings, so that its browser may be told that it may call.
    pub fn is_named(&self, origin: &str) -> bool {
        Origin::parse(origin).is_some_and(|origin| self.origins.contains(&origin))
    }
}

fn is_local(host: &str) -> bool {
    host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
}

/// Host, in small letters and without brackets, and port.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    let (host, port) = match text.strip_prefix('[') {
        Some(rest) => {
            let (host, rest) = rest.split_once(']')?;
            host.parse::<std::net::Ipv6Addr>().ok()?;
            let port = if rest.is_empty() { None } else { Some(rest.strip_prefix(':')?) };
            (host, port)
        }
        None => match text.split_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    let plain = |c: char| c.is_ascii_alphanumeric() || "-._:".contains(c);
    if host.is_empty() || !host.chars().all(plain) {
        return None;
    }
    let port = port.map(|port| port.parse().ok()).map_or(Some(None), |port| port.map(Some))?;
    Some((host.to_ascii_lowercase(), port))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn here() -> Neighbours {
        let named = ["https://app.example", "app://obsidian.md"].map(|origin| Origin::parse(origin).unwrap());
        let named = named.to_vec();
        Neighbours::new("127.0.0.1:3010".parse().unwrap(), Some("https://vault.example/mcp"), named)
    }

    #[test]
    fn only_names_of_this_machine_and_those_in_the_settings_are_hosts() {
        for host in
            ["localhost", "LOCALHOST:3010", "127.0.0.1:3010", "[::1]:3010", "vault.example", "app.example:1"]
        {
            assert!(here().may_name(host), "{host}");
        }
        for host in [
            "",
            "evil.example.com",
            "obsidian.md",
            "localhost.evil.com",
            "evil.com:3010",
            "192.0.2.7",
            "localhost@evil.com",
            "127.0.0.1.evil.com",
            "[::1",
            "[evil.com]",
            "localhost:x",
            "localhost:",
            "local host",
        ] {
            assert!(!here().may_name(host), "{host}");
        }
        let open = Neighbours::new("0.0.0.0:3010".parse().unwrap(), None, Vec::new());
        assert!(open.may_name("192.0.2.7:3010") && open.may_name("[2001:db8::1]"));
        assert!(!open.may_name("evil.example.com"));
    }

    #[test]
    fn only_pages_of_this_machine_and_those_in_the_settings_may_call() {
        for origin in [
            "http://localhost:5173",
            "https://127.0.0.1",
            "http://[::1]:1",
            "https://app.example:443",
            "app://obsidian.md",
        ] {
            assert!(here().may_call(origin), "{origin}");
        }
        for origin in [
            "",
            "null",
            "*",
            "https://evil.example.com",
            "http://app.example",
            "https://app.example:8443",
            "http://localhost.evil.com",
            "file://localhost",
            "app://localhost",
            "https://obsidian.md",
            "chrome-extension://abcdef",
            "://x",
            "http://localhost/path",
            "http://u@localhost",
        ] {
            assert!(!here().may_call(origin), "{origin}");
        }
        assert!(here().is_named("https://app.example") && !here().is_named("http://localhost:5173"));
    }
}
