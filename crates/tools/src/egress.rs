//! The way out: the one place that makes HTTP clients for tools, and the guard that keeps them off this machine and
//! its network.
//!
//! A [`Way`] knows the hosts that a person named in the configuration; everything else must be public. The address is
//! judged twice, because reqwest never asks its resolver about a literal address: [`Way::check`] judges the URL before
//! every hop, the resolver judges what a name leads to and connects to nothing else. Redirects are never followed by
//! the client itself. Deliberately not here: what is fetched and why.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::{Client, Response, Url, redirect};

/// How long a connection may take to come about.
const CONNECT: Duration = Duration::from_secs(15);
/// The most redirects that are followed.
pub const HOPS: usize = 5;

/// Why something is not reached.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Blocked {
    /// Not a web address.
    #[error("`{0}` is not an http or https address")]
    Scheme(String),
    /// A name and password in the address.
    #[error("the address carries a user name or password")]
    Credentials,
    /// No host, or not clearly one.
    #[error("the address names no host, or not clearly")]
    Host,
    /// A port of another service.
    #[error("port {0} belongs to another kind of service")]
    Port(u16),
    /// This machine or its network.
    #[error("`{0}` lies on this machine or in its own network")]
    Private(String),
    /// Sent on too often.
    #[error("it was redirected more than {HOPS} times")]
    Redirects,
    /// Too long an answer.
    #[error("the answer is longer than {0} bytes")]
    TooLarge(usize),
}

/// What may be reached.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Way {
    named: Arc<[String]>,
}

impl Way {
    /// Everything public, and the hosts of these addresses, which a person wrote down.
    pub fn naming<'u>(addresses: impl IntoIterator<Item = &'u str>) -> Way {
        let hosts = addresses.into_iter().filter_map(|address| {
            let url = Url::parse(address).ok()?;
            url.host_str().map(tidy)
        });
        Way { named: hosts.collect() }
    }

    /// Reads an address that may be asked. What one reader of addresses takes for the host another takes for something
    /// else where there are odd letters in it, so there may be none.
    pub fn address(&self, text: &str) -> Result<Url, Blocked> {
        if text.contains(|c: char| c == '\\' || c.is_control() || c.is_whitespace()) {
            return Err(Blocked::Host);
        }
        let url = Url::parse(text).map_err(|_| Blocked::Host)?;
        self.check(&url).map(|()| url)
    }

    /// Whether this address may be asked, as far as the address itself tells.
    pub fn check(&self, url: &Url) -> Result<(), Blocked> {
        if !matches!(url.scheme(), "http" | "https") {
            return Err(Blocked::Scheme(url.scheme().to_owned()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(Blocked::Credentials);
        }
        let host = tidy(url.host_str().ok_or(Blocked::Host)?);
        let named = self.names(&host);
        match url.port() {
            Some(port) if !named && is_another_service(port) => return Err(Blocked::Port(port)),
            _ => {}
        }
        let private = match host.parse::<IpAddr>() {
            Ok(address) => !is_public(address),
            Err(_) => is_local_name(&host),
        };
        if private && !named { Err(Blocked::Private(host)) } else { Ok(()) }
    }

    /// Whether a person named this host. This machine is one host, whatever it is called.
    fn names(&self, host: &str) -> bool {
        self.named.iter().any(|named| named == host || (is_loopback(named) && is_loopback(host)))
    }

    /// A client that goes this way. It follows no redirect and knows no proxy.
    #[expect(clippy::disallowed_methods, reason = "the one place where HTTP clients are made")]
    pub fn client(&self) -> Result<Client, reqwest::Error> {
        // Fails if somebody was first, which is as good.
        rustls::crypto::ring::default_provider().install_default().ok();
        Client::builder()
            .redirect(redirect::Policy::none())
            .no_proxy()
            .connect_timeout(CONNECT)
            .dns_resolver(Arc::new(Resolver(self.clone())))
            .user_agent(concat!("verger/", env!("CARGO_PKG_VERSION")))
            .build()
    }
}

/// The body of an answer, if it is no longer than `most`.
pub async fn body(mut response: Response, most: usize) -> Result<Vec<u8>, EgressError> {
    let mut bytes = Vec::new();
    while let Some(piece) = response.chunk().await? {
        if bytes.len() + piece.len() > most {
            return Err(Blocked::TooLarge(most).into());
        }
        bytes.extend_from_slice(&piece);
    }
    Ok(bytes)
}

/// What can go wrong on the way.
#[derive(Debug, thiserror::Error)]
pub enum EgressError {
    /// It is not allowed.
    #[error(transparent)]
    Blocked(#[from] Blocked),
    /// It did not work.
    #[error(transparent)]
    Http(#[from] reqwest::Error),
}

/// Resolves names, and leaves out what may not be reached.
struct Resolver(Way);

impl Resolve for Resolver {
    fn resolve(&self, name: Name) -> Resolving {
        let (way, host) = (self.0.clone(), tidy(name.as_str()));
        Box::pin(async move {
            let found = tokio::net::lookup_host((host.as_str(), 0)).await?;
            let named = way.names(&host);
            let open: Vec<SocketAddr> = found.filter(|found| named || is_public(found.ip())).collect();
            if open.is_empty() {
                return Err(Blocked::Private(host).into());
            }
            Ok(Box::new(open.into_iter()) as Addrs)
        })
    }
}

/// A host as it is compared: lower case, no brackets, no final dot.
fn tidy(host: &str) -> String {
    host.trim_start_matches('[').trim_end_matches(']').trim_end_matches('.').to_ascii_lowercase()
}

fn is_loopback(host: &str) -> bool {
    let literal = host.parse::<IpAddr>().map(|address| plain(address).is_loopback());
    literal.unwrap_or_else(|_| host == "localhost" || host.ends_with(".localhost"))
}

/// Names that mean this machine, its network, or a cloud's own services.
fn is_local_name(host: &str) -> bool {
    const NAMES: [&str; 9] = [
        "localhost",
        "localhost.localdomain",
        "ip6-localhost",
        "ip6-loopback",
        "broadcasthost",
        "metadata",
        "metadata.goog",
        "metadata.azure.com",
        "instance-data",
    ];
    const BELOW: [&str; 14] = [
        ".localhost",
        ".local",
        ".localdomain",
        ".internal",
        ".lan",
        ".home",
        ".home.arpa",
        ".corp",
        ".intranet",
        // Public names that lead to whatever address is written in front of them, or to this machine.
        ".nip.io",
        ".sslip.io",
        ".xip.io",
        ".localtest.me",
        ".lvh.me",
    ];
    !host.contains('.') || NAMES.contains(&host) || BELOW.iter().any(|end| host.ends_with(end))
}

/// An address as it is meant: IPv4 in the clothes of IPv6 is IPv4.
fn plain(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V6(v6) => v6.to_ipv4_mapped().map_or(address, IpAddr::V4),
        IpAddr::V4(_) => address,
    }
}

/// Whether an address is out in the world.
fn is_public(address: IpAddr) -> bool {
    match plain(address) {
        IpAddr::V4(v4) => is_public_v4(v4),
        IpAddr::V6(v6) => is_public_v6(v6),
    }
}

fn is_public_v4(v4: Ipv4Addr) -> bool {
    let [a, b, c, _] = v4.octets();
    let reserved = v4.is_private()
        || v4.is_loopback()
        || v4.is_link_local()
        || v4.is_documentation()
        || a == 0
        || a >= 224
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (b == 18 || b == 19))
        // The cloud's own wire server.
        || v4 == Ipv4Addr::new(168, 63, 129, 16);
    !reserved
}

fn is_public_v6(v6: Ipv6Addr) -> bool {
    let parts = v6.segments();
    let inner = |high: u16, low: u16| Ipv4Addr::from((u32::from(high) << 16) | u32::from(low));
    match parts {
        // Translated, tunnelled: the address inside decides.
        [0x64, 0xff9b, 0, 0, 0, 0, high, low] => is_public_v4(inner(high, low)),
        [0x2002, high, low, ..] => is_public_v4(inner(high, low)),
        // Teredo and its like, documentation, everything that is not global unicast.
        [0x2001, second, ..] if second < 0x200 || second == 0xdb8 => false,
        [0x3fff, second, ..] if second < 0x1000 => false,
        [first, ..] => (0x2000..0x4000).contains(&first),
    }
}

/// Ports where something other than the web listens, so that a request could be taken for that.
fn is_another_service(port: u16) -> bool {
    const SERVICES: [u16; 34] = [
        0, 1, 7, 9, 11, 13, 17, 19, 20, 21, 22, 23, 25, 53, 69, 79, 110, 111, 119, 135, 137, 139, 143, 161,
        389, 445, 465, 514, 587, 993, 995, 1433, 3306, 3389,
    ];
    const DATABASES: [u16; 8] = [2375, 2379, 5432, 5900, 6379, 9200, 11211, 27017];
    SERVICES.contains(&port) || DATABASES.contains(&port) || (6665..=6669).contains(&port)
}

#[cfg(test)]
mod tests;
