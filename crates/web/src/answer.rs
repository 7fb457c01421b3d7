//! Answers: a status, a body that never runs, and the headers that every answer has.

use std::convert::Infallible;

use bytes::Bytes;
use http_body_util::combinators::BoxBody;
use http_body_util::{BodyExt as _, Full};
use hyper::header::{self, HeaderName, HeaderValue};
use hyper::http::request::Parts;
use hyper::{Response, StatusCode};
use serde::Serialize;
use sha2::{Digest as _, Sha256};
use team_executor_app::Error;
use team_executor_app::bus::Refusal;

/// The body of an answer.
pub(crate) type Body = BoxBody<Bytes, Infallible>;
/// An answer.
pub(crate) type Reply = Response<Body>;

/// An answer that says why a request is not carried out.
pub(crate) type Refused = Box<Reply>;

/// What a page may do: run its own scripts, and talk to where it came from.
const POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types team-executor";

/// Headers of every answer, refusals included.
const HEADERS: [(HeaderName, &str); 8] = [
    (header::CONTENT_SECURITY_POLICY, POLICY),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    (HeaderName::from_static("cross-origin-embedder-policy"), "require-corp"),
    (HeaderName::from_static("permissions-policy"), "camera=(), microphone=(), geolocation=()"),
];

/// Text of others: it is shown as it is, or saved, and never run.
pub(crate) const TEXT: &str = "text/plain; charset=utf-8";
const JSON: &str = "application/json; charset=utf-8";

/// What the client is told about a request that is not carried out.
#[derive(Serialize)]
struct Told<'a> {
    error: &'a str,
    help: &'a str,
}

/// Gives an answer the headers that every answer has.
pub(crate) fn sealed(mut reply: Reply) -> Reply {
    for (name, value) in HEADERS {
        reply.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    reply.headers_mut().entry(header::CACHE_CONTROL).or_insert(HeaderValue::from_static("no-store"));
    reply
}

/// A body that is there as a whole.
pub(crate) fn whole(bytes: impl Into<Bytes>) -> Body {
    Full::new(bytes.into()).boxed()
}

fn reply(status: StatusCode, kind: &'static str, bytes: impl Into<Bytes>) -> Reply {
    let mut reply = Response::new(whole(bytes));
    *reply.status_mut() = status;
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    reply
}

/// A document.
pub(crate) fn json(value: &impl Serialize) -> Reply {
    match serde_json::to_vec(value) {
        Ok(bytes) => reply(StatusCode::OK, JSON, bytes),
        Err(error) => *refuse(StatusCode::INTERNAL_SERVER_ERROR, &error.to_string(), "reload the page"),
    }
}

/// A document that was written before; nothing but its tag if the client has it.
pub(crate) fn tagged(bytes: Bytes, tag: &str, request: &Parts) -> Reply {
    tagged_as(bytes, tag, JSON, request)
}

/// The same for a file of another type.
pub(crate) fn tagged_as(bytes: Bytes, tag: &str, kind: &'static str, request: &Parts) -> Reply {
    let known = request.headers.get(header::IF_NONE_MATCH).is_some_and(|known| known.as_bytes() == tag.as_bytes());
    let mut reply = match known {
        true => reply(StatusCode::NOT_MODIFIED, kind, Bytes::new()),
        false => reply(StatusCode::OK, kind, bytes),
    };
    if let Ok(tag) = HeaderValue::from_str(tag) {
        reply.headers_mut().insert(header::ETAG, tag);
    }
    reply.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    reply
}

/// The tag of some bytes.
pub(crate) fn tag(bytes: &[u8]) -> String {
    format!("\"{}\"", hex(&Sha256::digest(bytes)[..16]))
}

/// Bytes as letters and digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Text of others, to be looked at or saved.
pub(crate) fn text(body: Body, name: &str) -> Reply {
    let mut reply = Response::new(body);
    reply.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(TEXT));
    let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let name: String = name.chars().map(plain).collect();
    if let Ok(value) = HeaderValue::from_str(&format!("attachment; filename=\"{name}\"")) {
        reply.headers_mut().insert(header::CONTENT_DISPOSITION, value);
    }
    reply
}

/// Says why a request is not carried out.
pub(crate) fn refuse(status: StatusCode, error: &str, help: &str) -> Refused {
    let bytes = serde_json::to_vec(&Told { error, help }).unwrap_or_default();
    Box::new(reply(status, JSON, bytes))
}

/// There is no such thing.
pub(crate) fn missing(what: &str) -> Refused {
    refuse(StatusCode::NOT_FOUND, what, "reload the page; it lists what there is")
}

/// What `app` refuses.
pub(crate) fn failed(error: Error) -> Refused {
    let status = match &error {
        Error::Refused(_, team_executor_app::Kind::Io) => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::CONFLICT,
    };
    let Refusal { what, help } = error.into();
    refuse(status, &what, &help)
}
