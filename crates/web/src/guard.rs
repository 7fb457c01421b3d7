//! Which requests are heard. A page of another site can send requests to this machine, also under a name that it made lead
//! here: so a request must name this server exactly, have its token, and, where it changes something, come from its page.

use std::hint::black_box;

use hyper::header::{self, HeaderMap, HeaderName};
use hyper::http::request::Parts;
use hyper::{Method, StatusCode, Version};

use crate::answer::{Refused, refuse};

/// Who may come in.
pub(crate) struct Door {
    /// How a request may name this server.
    hosts: [String; 3],
    token: String,
    /// No request changes anything.
    pub(crate) read_only: bool,
}

impl Door {
    /// Of a server at a port.
    pub(crate) fn new(port: u16, token: String, read_only: bool) -> Self {
        Self { hosts: ["127.0.0.1", "localhost", "[::1]"].map(|host| format!("{host}:{port}")), token, read_only }
    }

    /// What holds for every request, for the files of the page too.
    pub(crate) fn admit(&self, request: &Parts) -> Result<(), Refused> {
        if request.version != Version::HTTP_11 {
            return Err(refuse(StatusCode::HTTP_VERSION_NOT_SUPPORTED, "this server speaks HTTP/1.1", ""));
        }
        // A whole address may name another server than the header does.
        let named = only(&request.headers, header::HOST).filter(|_| request.uri.authority().is_none());
        if !named.is_some_and(|named| self.hosts.iter().any(|host| host == named)) {
            let help = format!("open http://{}/", self.hosts[0]);
            return Err(refuse(StatusCode::MISDIRECTED_REQUEST, "this server has another name", &help));
        }
        // A length that is told twice can be understood twice.
        if request.headers.contains_key(header::TRANSFER_ENCODING) {
            return Err(refuse(StatusCode::LENGTH_REQUIRED, "the length of a request must be told", ""));
        }
        match request.method {
            Method::GET | Method::HEAD | Method::POST => Ok(()),
            _ => Err(refuse(StatusCode::METHOD_NOT_ALLOWED, "only GET, HEAD and POST are understood", "")),
        }
    }

    /// What holds for everything that says something about runs.
    pub(crate) fn trust(&self, request: &Parts) -> Result<(), Refused> {
        let given = only(&request.headers, header::AUTHORIZATION).and_then(|given| given.strip_prefix("Bearer "));
        if !given.is_some_and(|given| is_same(given, &self.token)) {
            let help = "open the address that `team-executor ui` printed; each start has another token";
            return Err(refuse(StatusCode::UNAUTHORIZED, "the token of this page is missing or not valid", help));
        }
        let site = only(&request.headers, HeaderName::from_static("sec-fetch-site"));
        if site.is_some_and(|site| !matches!(site, "same-origin" | "none")) {
            return Err(refuse(StatusCode::FORBIDDEN, "requests of other sites are refused", ""));
        }
        if request.method == Method::POST { self.may_act(request) } else { Ok(()) }
    }

    fn may_act(&self, request: &Parts) -> Result<(), Refused> {
        if self.read_only {
            let help = "start it without --read-only, or type the command";
            return Err(refuse(StatusCode::FORBIDDEN, "this page was started with --read-only", help));
        }
        // Its own name: the page at `localhost` is another site than the one at `127.0.0.1`.
        let host = only(&request.headers, header::HOST).unwrap_or_default();
        let origin = only(&request.headers, header::ORIGIN).and_then(|origin| origin.strip_prefix("http://"));
        if origin != Some(host) {
            return Err(refuse(StatusCode::FORBIDDEN, "a request that acts must come from the page itself", ""));
        }
        let kind = only(&request.headers, header::CONTENT_TYPE).unwrap_or_default();
        if kind.split(';').next().map(str::trim) != Some("application/json") {
            return Err(refuse(StatusCode::UNSUPPORTED_MEDIA_TYPE, "a request that acts must be JSON", ""));
        }
        Ok(())
    }
}

/// A header that is there once, and is text.
fn only(headers: &HeaderMap, name: HeaderName) -> Option<&str> {
    let mut all = headers.get_all(name).iter();
    match (all.next(), all.next()) {
        (Some(value), None) => value.to_str().ok(),
        _ => None,
    }
}

/// Whether two texts are the same. How long that takes says nothing about where they differ.
fn is_same(one: &str, other: &str) -> bool {
    let differs = one.bytes().zip(other.bytes()).fold(0, |differs, (a, b)| black_box(differs | (a ^ b)));
    one.len() == other.len() && differs == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_the_same_only_as_a_whole() {
        assert!(is_same("", "") && is_same("abc", "abc"));
        for (one, other) in [("abc", "abd"), ("abc", "ab"), ("", "a"), ("abc", "abcd")] {
            assert!(!is_same(one, other) && !is_same(other, one), "{one} {other}");
        }
    }
}
