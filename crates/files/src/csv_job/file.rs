//! `csv-job.json`: what makes a session the session of a job, and its rows' results what they must be.

use crate::json::{self, Kind, Layout, Value, Writer};

/// Its name in the session's folder.
pub const FILE: &str = "csv-job.json";

/// What a job is about. Two with the same text are the same job.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Job {
    /// The table, absolute.
    pub input: String,
    /// The SHA-256 of its bytes.
    pub input_sha256: String,
    /// The instruction for each row, with `{column}` for its cells.
    pub instruction: String,
    /// The column that names the rows.
    pub id_column: Option<String>,
    /// The JSON Schema that each result must follow, as it was written.
    pub output_schema: Option<String>,
}

impl Job {
    /// As JSON text; nothing that can be left out is there.
    pub fn to_text(&self) -> String {
        let mut out = Writer::new(Layout::Pretty);
        out.begin_object();
        out.key("version");
        out.plain(1);
        for (name, text) in [
            ("input", Some(&self.input)),
            ("input_sha256", Some(&self.input_sha256)),
            ("instruction", Some(&self.instruction)),
            ("id_column", self.id_column.as_ref()),
        ] {
            if let Some(text) = text {
                out.key(name);
                out.text(text);
            }
        }
        if let Some(schema) = &self.output_schema {
            out.key("output_schema");
            out.raw(schema.trim());
        }
        out.end_object();
        out.finish()
    }

    /// From JSON text; nothing if it is not what [`Self::to_text`] writes.
    pub fn from_text(text: &str) -> Option<Self> {
        let document = json::parse(text).ok()?;
        let root = document.root();
        let text = |name: &str| root.get(name).and_then(Value::as_text).map(|text| text.into_owned());
        root.get("version").filter(|version| version.kind() == Kind::Number && version.raw() == "1")?;
        Some(Self {
            input: text("input")?,
            input_sha256: text("input_sha256")?,
            instruction: text("instruction")?,
            id_column: text("id_column"),
            output_schema: root.get("output_schema").map(|schema| schema.raw().to_owned()),
        })
    }
}
