//! Where hosts and runs on several machines meet: `[backend]` of the user's own file, `TEAM_EXECUTOR_BACKEND`, `--backend`.

use std::path::PathBuf;

use serde_json::json;
use team_executor_files::{Code, Finding};
use toml::de::DeTable;

use super::show::List;
use super::values::{Reader, get};
use super::{Origin, Set, Settings};
use crate::error::Error;

pub(super) const KEYS: &[&str] = &["url", "ca", "cert", "key", "user", "password_file"];
/// Names the backend in the environment.
pub(crate) const VARIABLE: &str = "TEAM_EXECUTOR_BACKEND";
/// As a backend: none, whatever is configured.
const NONE: &str = "none";
const SCHEMES: [&str; 2] = ["nats://", "tls://"];

/// What is configured of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Backend {
    pub(crate) url: Option<Set<String>>,
    pub(crate) ca: Option<Set<String>>,
    pub(crate) cert: Option<Set<String>>,
    pub(crate) key: Option<Set<String>>,
    pub(crate) user: Option<Set<String>>,
    pub(crate) password_file: Option<Set<String>>,
}

impl Backend {
    /// Reads the section. A project has no say in it: the backend says what hosts run.
    pub(super) fn read(reader: &mut Reader<'_>, root: &DeTable<'_>, home: Option<&str>) -> Self {
        let Some(value) = get(root, "backend") else { return Self::default() };
        if matches!(reader.from(value.span()), Origin::Project(_)) {
            let help = "move it to your own file; `team-executor config` says where that is".to_owned();
            let message = "a project cannot choose the backend".to_owned();
            reader.wrong(message, value.span(), "only your own file can say this", help);
            return Self::default();
        }
        let Some(table) = reader.table(root, "backend") else { return Self::default() };
        reader.only(table, "backend", KEYS);
        let url = reader.text(table, "url");
        if let (Some(set), Some(at)) = (&url, get(table, "url"))
            && let Err(why) = usable(&set.value)
        {
            reader.wrong(why, at.span(), "this is no address", EXAMPLE.to_owned());
        }
        let mut path = |key| {
            let set = reader.text(table, key)?;
            let at_home = set.value.strip_prefix("~/").zip(home).map(|(rest, home)| format!("{home}/{rest}"));
            Some(Set { value: at_home.unwrap_or(set.value), from: set.from })
        };
        let (ca, cert, key, password_file) = (path("ca"), path("cert"), path("key"), path("password_file"));
        Self { url, ca, cert, key, user: reader.text(table, "user"), password_file }
    }

    /// These, and what they leave open from others.
    pub(super) fn or(self, other: Self) -> Self {
        Self {
            url: self.url.or(other.url),
            ca: self.ca.or(other.ca),
            cert: self.cert.or(other.cert),
            key: self.key.or(other.key),
            user: self.user.or(other.user),
            password_file: self.password_file.or(other.password_file),
        }
    }

    /// Lists what is in force.
    pub(super) fn show(list: &mut List, settings: &Settings) {
        let Self { url, ca, cert, key, user, password_file } = &settings.backend;
        let all = [("url", url), ("ca", ca), ("cert", cert), ("key", key), ("user", user)];
        for (name, set) in all.into_iter().chain([("password_file", password_file)]) {
            if let Some(set) = set {
                list.add(&format!("backend.{name}"), json!(set.value), set.from.clone());
            }
        }
    }
}

const EXAMPLE: &str =
    "write it as nats://HOST:PORT or tls://HOST:PORT; several servers of a cluster with commas between";

/// A backend with everything that leads to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Reached {
    pub(crate) url: String,
    pub(crate) ca: Option<PathBuf>,
    pub(crate) identity: Option<(PathBuf, PathBuf)>,
    pub(crate) login: Option<(String, PathBuf)>,
}

/// The backend that counts: the flag's, then the variable's, then the user's file's; nothing if there is none.
pub(crate) fn reached(
    flag: Option<&str>,
    variable: Option<&str>,
    settings: &Settings,
) -> Result<Option<Reached>, Error> {
    let Backend { url, ca, cert, key, user, password_file } = &settings.backend;
    let configured = url.as_ref().map(|set| set.value.as_str());
    let chosen = flag.or_else(|| variable.filter(|url| !url.is_empty())).or(configured);
    let Some(url) = chosen.filter(|url| *url != NONE) else { return Ok(None) };
    if let Err(why) = usable(url) {
        return Err(Finding::error(Code::Usage, why).help(EXAMPLE).into());
    }
    let path = |set: &Option<Set<String>>| set.as_ref().map(|set| PathBuf::from(&set.value));
    let both = |message: &str| Err(Finding::error(Code::Usage, message).help("see them: team-executor config").into());
    let identity = match (path(cert), path(key)) {
        (None, None) => None,
        (Some(cert), Some(key)) => Some((cert, key)),
        _ => return both("[backend] has a certificate without its key, or a key without its certificate"),
    };
    let login = match (user, path(password_file)) {
        (None, None) => None,
        (Some(user), Some(file)) => Some((user.value.clone(), file)),
        _ => return both("[backend] has a user without a password_file, or a password_file without a user"),
    };
    Ok(Some(Reached { url: url.to_owned(), ca: path(ca), identity, login }))
}

/// Whether each of these is the address of a server. What is secret does not belong into one: addresses are shown and recorded.
fn usable(url: &str) -> Result<(), String> {
    for server in url.split(',').map(str::trim) {
        let Some(rest) = SCHEMES.iter().find_map(|scheme| server.strip_prefix(scheme)) else {
            return Err(format!("`{server}` does not begin with nats:// or tls://"));
        };
        if rest.contains('@') {
            return Err(
                "the address of a backend must hold no user and no password: [backend] user, password_file".to_owned()
            );
        }
        if rest.is_empty() || rest.contains(|c: char| c.is_whitespace() || c == '/') {
            return Err(format!("`{server}` names no server"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn set(value: &str) -> Option<Set<String>> {
        Some(Set { value: value.to_owned(), from: Origin::BuiltIn })
    }

    fn url(flag: Option<&str>, variable: Option<&str>, configured: Option<&str>) -> Option<String> {
        let backend = Backend { url: configured.and_then(set), ..Backend::default() };
        let settings = Settings { backend, ..Settings::default() };
        reached(flag, variable, &settings).unwrap().map(|reached| reached.url)
    }

    #[test]
    fn flag_wins_over_variable_and_file() {
        let [a, b, c] = ["nats://127.0.0.1:1", "tls://127.0.0.1:2", "nats://127.0.0.1:3,nats://127.0.0.1:4"].map(Some);
        assert_eq!(url(a, b, c).as_deref(), a);
        assert_eq!(url(None, b, c).as_deref(), b);
        assert_eq!(url(None, Some(""), c).as_deref(), c);
        assert_eq!(url(Some("none"), b, c), None);
        assert_eq!(url(None, None, None), None);
    }

    #[test]
    fn address_with_a_secret_or_without_a_server_is_refused() {
        for wrong in ["nats://me:secret@127.0.0.1:1", "127.0.0.1:4222", "nats://", "nats://127.0.0.1:1,x", "nats://a b"]
        {
            let error = reached(Some(wrong), None, &Settings::default()).unwrap_err();
            assert!(!error.to_string().contains("secret"), "{error}");
        }
        let backend = Backend { url: set("nats://127.0.0.1:1"), cert: set("/c"), ..Backend::default() };
        assert!(reached(None, None, &Settings { backend, ..Settings::default() }).is_err());
    }
}
