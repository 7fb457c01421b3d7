//! The result of a row of a job, as its worker reported it.

use serde_json::Value as Json;
use team_executor_agents::json;
use team_executor_files::json::{Kind, Value};

/// The result of a row: `result`, an object or its text; without it `data`. It is JSON text, which only a job reads.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Row {
    result: Option<String>,
    data: Option<String>,
}

impl Row {
    /// What a report has of it.
    pub(super) fn new(result: Option<Value<'_, '_>>, data: Option<Value<'_, '_>>) -> Self {
        let text = |result: Value<'_, '_>| result.as_text().map_or_else(|| result.raw().to_owned(), |text| text.into());
        let data = data.filter(|data| says_something(*data));
        Self { result: result.map(text), data: data.map(|data| data.raw().to_owned()) }
    }

    pub(super) fn or(self, other: Self) -> Self {
        Self { result: self.result.or(other.result), data: self.data.or(other.data) }
    }

    /// The object, if it is one.
    pub(crate) fn object(&self) -> Result<Json, String> {
        let text = self.result.as_ref().or(self.data.as_ref()).ok_or("the report has no `result`")?;
        match json::value(text).map_err(|error| format!("`result` of the report is not JSON: {error}"))? {
            result @ Json::Object(_) => Ok(result),
            _ => Err("`result` of the report is not an object".to_owned()),
        }
    }
}

/// Whether there is more in it than the lists that an agent must not leave out.
fn says_something(data: Value<'_, '_>) -> bool {
    let is_empty =
        |value: Value<'_, '_>| value.is_null() || value.kind() == Kind::Array && value.items().next().is_none();
    data.kind() == Kind::Object && !data.entries().all(|entry| is_empty(entry.value))
}
