//! Who is let in: every request names a host that is ours, comes from a page that is ours, and, behind the door, holds a
//! cookie of ours. The answer to each carries what a browser needs to keep scripts and frames of others out.
//!
//! Cookies do not know ports: a page that another program serves on this machine would send ours along. So an origin must be
//! exactly the one that the request was sent to.

use std::sync::Arc;

use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri};
use axum::middleware::Next;
use axum::response::{IntoResponse, Response};

use super::house::House;
use super::problem::Problem;
use crate::socket::origin::Origin;

/// What the page may do: its own scripts and styles, no frames, no forms, and nothing from elsewhere.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: blob:; \
     media-src 'self'; connect-src 'self'; worker-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; \
     frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types verger";

/// What every answer says, unless it says something else itself.
const ALWAYS: [(HeaderName, &str); 6] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (header::CACHE_CONTROL, "no-store"),
];

/// Headers that decide something; two of a kind could be read in two ways.
const ONCE: [HeaderName; 5] =
    [header::HOST, header::ORIGIN, header::CONTENT_TYPE, header::CONTENT_LENGTH, header::AUTHORIZATION];

/// Every request: from where it comes.
pub async fn from_where(State(house): State<Arc<House>>, request: Request, next: Next) -> Response {
    let guest = guest(&house, request.uri(), request.headers());
    let asks_first = guest.is_some() && request.method() == Method::OPTIONS;
    let mut answer = match judge(&house, &request, guest.is_some()) {
        Ok(()) if asks_first => preflight(),
        Ok(()) => next.run(request).await,
        Err(problem) => problem.into_response(),
    };
    for (name, value) in ALWAYS {
        answer.headers_mut().entry(name).or_insert(HeaderValue::from_static(value));
    }
    if let Some(origin) = guest {
        answer.headers_mut().insert(header::ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        answer.headers_mut().append(header::VARY, HeaderValue::from_static("Origin"));
        let shown = HeaderValue::from_static("mcp-session-id, www-authenticate, retry-after");
        answer.headers_mut().insert(header::ACCESS_CONTROL_EXPOSE_HEADERS, shown);
    }
    answer
}

/// The origin of a page that was named at the start, where it asks what is for programs. There a token counts and no cookie
/// does, so such a page can do no more than its token.
fn guest(house: &House, address: &Uri, headers: &HeaderMap) -> Option<HeaderValue> {
    let origin = headers.get(header::ORIGIN).filter(|_| is_for_programs(address.path()))?;
    house.is_guest(origin.to_str().ok()?).then(|| origin.clone())
}

fn is_for_programs(path: &str) -> bool {
    path == "/mcp" || path.starts_with("/v1/")
}

/// What a browser asks before it lets a page call.
fn preflight() -> Response {
    let headers = "authorization, content-type, accept, last-event-id, mcp-session-id, mcp-protocol-version, mcp-method, mcp-name";
    let allowed = [
        (header::ACCESS_CONTROL_ALLOW_METHODS, "GET, POST, DELETE"),
        (header::ACCESS_CONTROL_ALLOW_HEADERS, headers),
        (header::ACCESS_CONTROL_MAX_AGE, "600"),
    ];
    (StatusCode::NO_CONTENT, allowed).into_response()
}

/// Requests behind the door: who they come from.
pub async fn inside(State(house): State<Arc<House>>, request: Request, next: Next) -> Response {
    match cookie(&house, request.headers()).is_some_and(|cookie| house.keys.is_cookie(cookie)) {
        true => next.run(request).await,
        false => {
            let hint = "open a login link: the one that `verger serve` printed, or a new one by `verger serve --link`";
            Problem::new(StatusCode::UNAUTHORIZED, "not_logged_in", "you are not logged in", hint)
                .into_response()
        }
    }
}

fn judge(house: &House, request: &Request, is_guest: bool) -> Result<(), Problem> {
    let (method, address, headers) = (request.method(), request.uri(), request.headers());
    if let Some(name) = ONCE.iter().find(|name| headers.get_all(*name).iter().count() > 1) {
        return Err(Problem::bad(format!("there are two headers `{name}`"), "send one"));
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
    // A request may name its host in the first line, too; then that one counts, so it must be as good.
    let first = address.authority().is_none_or(|authority| house.neighbours().may_name(authority.as_str()));
    if !first || !house.neighbours().may_name(host) {
        let hint = "use the address that `verger serve` printed; behind a proxy, start it with --public-url";
        return Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "host_unknown",
            "this host is not served here",
            hint,
        ));
    }
    if is_guest {
        return Ok(());
    }
    let foreign = || {
        let hint = "only the page of this server may call it; programs use /v1 and /mcp with a token, and pages of others \
                    too if they were named with --allow-origin";
        Problem::new(StatusCode::FORBIDDEN, "origin_refused", "a page from elsewhere may not call", hint)
    };
    // Where the browser says it itself, no guess is needed. A link that is followed is `cross-site` or `none`; it may open the page.
    let site = headers.get("sec-fetch-site").and_then(|site| site.to_str().ok());
    let opens = headers.get("sec-fetch-mode").is_some_and(|mode| mode == "navigate") && method == Method::GET;
    if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) && !opens {
        return Err(foreign());
    }
    match headers.get(header::ORIGIN) {
        None => Ok(()),
        Some(origin) if house.is_own_origin(origin.to_str().unwrap_or_default(), host) => Ok(()),
        Some(_) => Err(foreign()),
    }
}

/// Whether an origin is the one of the host that a request was sent to.
pub fn is_same(origin: &str, host: &str) -> bool {
    let of = |scheme: &str| Origin::parse(&format!("{scheme}://{host}"));
    Origin::parse(origin)
        .is_some_and(|origin| Some(&origin) == of("http").as_ref() || Some(&origin) == of("https").as_ref())
}

/// The cookie of this server among those that a browser sends.
pub fn cookie<'h>(house: &House, headers: &'h HeaderMap) -> Option<&'h str> {
    let name = house.cookie_name();
    let all = headers.get_all(header::COOKIE).iter().filter_map(|line| line.to_str().ok());
    let mut found = all.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
    found.find(|(known, _)| *known == name).map(|(_, value)| value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_origin_is_our_own() {
        for (origin, host, same) in [
            ("http://127.0.0.1:4780", "127.0.0.1:4780", true),
            ("https://notes.example", "notes.example", true),
            ("http://LOCALHOST:4780", "localhost:4780", true),
            ("http://localhost:4781", "localhost:4780", false),
            ("http://localhost:4780", "127.0.0.1:4780", false),
            ("null", "127.0.0.1:4780", false),
            ("http://evil.example", "127.0.0.1:4780", false),
            ("", "127.0.0.1:4780", false),
        ] {
            assert_eq!(is_same(origin, host), same, "{origin} {host}");
        }
    }
}
