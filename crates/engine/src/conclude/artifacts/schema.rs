//! JSON Schemas that artifacts must follow. Each is read once; nothing that it refers to is fetched.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};

use jsonschema::{PatternOptions, Validator};
use rustix::io::Errno;
use serde_json::Value;
use team_executor_beneath::{is_system_failure, ours, words};
use team_executor_files::ReadError;

/// The largest schema, and the largest file that is held against one.
pub(super) const MAX_BYTES: u64 = 16 << 20;
/// How many departures are told.
const TOLD: usize = 5;

/// Schemas that were read.
#[derive(Debug, Default)]
pub(super) struct Schemas(HashMap<PathBuf, Result<Validator, String>>);

impl Schemas {
    /// What is wrong with the bytes of a file, one line each.
    pub(super) fn departures(&mut self, schema: &Path, bytes: &[u8]) -> Result<Vec<String>, ReadError> {
        let known = match self.0.entry(schema.to_owned()) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => new.insert(match ours::read_chosen(schema, MAX_BYTES) {
                Err(errno) if is_system_failure(errno) => return Err(ReadError::Failed(words(errno))),
                read => usable_text(read),
            }),
        };
        Ok(match (known, serde_json::from_slice::<Value>(bytes)) {
            (Err(why), _) => vec![format!("the schema {} cannot be used: {why}", schema.display())],
            (Ok(_), Err(error)) => vec![format!("it is not JSON: {error}")],
            (Ok(validator), Ok(value)) => departures(validator, &value),
        })
    }
}

/// Where a value departs from a schema, one line each.
pub(crate) fn departures(schema: &Validator, value: &Value) -> Vec<String> {
    let told = |error: jsonschema::ValidationError<'_>| match error.instance_path().as_str() {
        "" => error.to_string(),
        path => format!("{path}: {error}"),
    };
    schema.iter_errors(value).take(TOLD).map(told).collect()
}

/// Whether a file is a JSON Schema that can be used here; why not otherwise.
pub fn usable(path: &Path) -> Result<(), String> {
    usable_text(ours::read_chosen(path, MAX_BYTES)).map(drop)
}

fn usable_text(read: Result<Vec<u8>, Errno>) -> Result<Validator, String> {
    match read {
        Err(Errno::FBIG | Errno::ISDIR | Errno::NXIO) => Err(format!("it is not a file of at most {MAX_BYTES} bytes")),
        read => compiled(&read.map_err(words)?),
    }
}

/// A schema that can be used here; why not otherwise.
pub(crate) fn compiled(schema: &[u8]) -> Result<Validator, String> {
    let schema: Value = serde_json::from_slice(schema).map_err(|error| format!("it is not JSON: {error}"))?;
    // These expressions need no time that grows without bound, whatever they are matched with.
    let options = jsonschema::options().with_pattern_options(PatternOptions::regex());
    options.build(&schema).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_follows_its_schema_or_it_is_said_where_not() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        std::fs::write(&path, r#"{"type":"object","required":["name"],"properties":{"age":{"type":"integer"}}}"#)
            .unwrap();
        let mut schemas = Schemas::default();
        assert_eq!(schemas.departures(&path, br#"{"name":"a","age":1}"#).unwrap(), Vec::<String>::new());
        let wrong = schemas.departures(&path, br#"{"age":"old"}"#).unwrap();
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong.iter().any(|line| line.starts_with("/age: ")), "{wrong:?}");
        assert!(schemas.departures(&path, b"{").unwrap()[0].starts_with("it is not JSON: "));
    }

    #[test]
    fn invalid_or_remote_schema_is_refused() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("s.json");
        std::fs::write(dir.path().join("other.json"), "{}").unwrap();
        for text in ["", "{\"type\": 1}", r#"{"$ref":"http://127.0.0.1:1/x.json"}"#, r#"{"$ref":"other.json"}"#] {
            std::fs::write(&path, text).unwrap();
            assert!(usable(&path).is_err(), "{text}");
        }
        assert!(usable(&dir.path().join("none")).is_err());
        assert!(usable(dir.path()).is_err());
        std::fs::write(&path, "{}").unwrap();
        assert_eq!(usable(&path), Ok(()));
    }
}
