//! JSON Schemas that artifacts must follow. Each is read once; nothing that it refers to is fetched.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use jsonschema::{PatternOptions, Validator};
use serde_json::Value;

/// The largest schema, and the largest file that is held against one.
pub(super) const MAX_BYTES: u64 = 16 << 20;
/// How many departures are told.
const TOLD: usize = 5;

/// Schemas that were read.
#[derive(Debug, Default)]
pub(super) struct Schemas(HashMap<PathBuf, Result<Validator, String>>);

impl Schemas {
    /// What is wrong with the bytes of a file, one line each.
    pub(super) fn departures(&mut self, schema: &Path, bytes: &[u8]) -> Vec<String> {
        let known = self.0.entry(schema.to_owned()).or_insert_with(|| read(schema));
        let validator = match known {
            Ok(validator) => validator,
            Err(why) => return vec![format!("the schema {} cannot be used: {why}", schema.display())],
        };
        match serde_json::from_slice::<Value>(bytes) {
            Err(error) => vec![format!("it is not JSON: {error}")],
            Ok(value) => departures(validator, &value),
        }
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
    read(path).map(drop)
}

fn read(path: &Path) -> Result<Validator, String> {
    let size = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !size.is_file() || size.len() > MAX_BYTES {
        return Err(format!("it is not a file of at most {MAX_BYTES} bytes"));
    }
    compiled(&std::fs::read(path).map_err(|error| error.to_string())?)
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
        assert_eq!(schemas.departures(&path, br#"{"name":"a","age":1}"#), Vec::<String>::new());
        let wrong = schemas.departures(&path, br#"{"age":"old"}"#);
        assert_eq!(wrong.len(), 2, "{wrong:?}");
        assert!(wrong.iter().any(|line| line.starts_with("/age: ")), "{wrong:?}");
        assert!(schemas.departures(&path, b"{")[0].starts_with("it is not JSON: "));
    }

    #[test]
    fn what_is_no_schema_or_would_have_to_be_fetched_cannot_be_used() {
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
