//! The format of one manifest: its shape, its reader and its writer.

use std::sync::Arc;

use team_executor_core::{Artifact, ArtifactKind, Priority, TaskId, Validation};

use crate::draft;
use crate::fields::{self, ID, field, text, text_of};
use crate::finding::{Findings, Severity};
use crate::json::Value;
use crate::limits;
use crate::reading::{About, Reading};
use crate::shape::{Field, Object, Other, Type};
use crate::side::{names, read_each};
use crate::span::{Source, Span};

const FOLDER: &str = "artifacts";
/// What the manifest of a folder of artifacts is called.
pub const NAME: &str = "artifact-manifest.json";

/// What is said about them.
pub static ABOUT: About = About {
    subject: "artifact-manifest.json",
    schema: "artifact",
    limit: limits::DISCOVERY_BYTES,
    if_missing: "it is written when a worker delivers",
    if_wrong: "or let the task deliver again",
};

/// The shape of one.
pub static SHAPE: Type = Type::Object(&OBJECT);

/// The shape of one, for files that hold several.
pub static OBJECT: Object = Object {
    about: "A deliverable",
    fields: &[
        Field::expected("artifact_id", &ID, "its key or its folder's name is used", "Unique name of the artifact")
            .or(&["id"]),
        Field::expected(
            "artifact_type",
            &Type::Word(ArtifactKind::WORDS, KINDS),
            "`document` is used",
            "What sort of thing it is",
        )
        .or(&["type", "kind"]),
        // Whether it stays inside the session is a rule and not a matter of shape: see `check`.
        Field::required("path", &Type::Name, "Where it is, relative to the session folder").or(&["file"]),
        Field::required("creator_role", &Type::Name, "Name of the role that made it").or(&[
            "creator",
            "role",
            "created_by",
        ]),
        Field::optional("version", &VERSION, "1.0, 1.1, …"),
        Field::expected(
            "validation_status",
            &Type::Word(Validation::WORDS, VALIDATIONS),
            "`pending` is used",
            "Whether it may be built on",
        )
        .or(&["status"]),
        Field::optional("validation_summary", &Type::Nullable(&Type::Text), "Why, for people"),
        Field::optional("dependencies", &DEPENDENCIES, "Ids of the artifacts that it builds on")
            .or(&["depends_on", "deps"]),
        Field::optional("metadata", &Type::Object(&METADATA), "More about it"),
    ],
};

pub(crate) static METADATA: Object = Object {
    about: "More about an artifact",
    fields: &[
        Field::optional("created_at", &Type::Time, "When it was made"),
        Field::optional("task_id", &ID, "The task that made it"),
        Field::optional("priority", &Type::Word(Priority::WORDS, &[]), "The priority of that task"),
        Field::optional("file_size", &Type::Whole(0), "Bytes"),
        Field::optional("checksum", &Type::Text, "sha256:…"),
    ],
};

static VERSION: Type = Type::Or(
    &Type::Text,
    &[Other { ty: &Type::Number(f64::MIN, f64::MAX), understood: "a version that is a number was read as text" }],
);

static DEPENDENCIES: Type = Type::Or(
    &Type::List(&ID),
    &[Other { ty: &Type::Text, understood: "`dependencies` that are one string were read as a list of one" }],
);

const KINDS: &[(&str, &str)] = &[
    ("doc", "document"),
    ("docs", "document"),
    ("documentation", "document"),
    ("markdown", "document"),
    ("source", "code"),
    ("tests", "test"),
    ("configuration", "config"),
];

const VALIDATIONS: &[(&str, &str)] = &[
    ("", "pending"),
    ("draft", "pending"),
    ("pass", "passed"),
    ("valid", "passed"),
    ("validated", "passed"),
    ("approved", "passed"),
    ("fail", "failed"),
    ("invalid", "failed"),
    ("rejected", "failed"),
];

/// An artifact, and where its fields stand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Manifest {
    /// The artifact.
    pub artifact: Artifact,
    /// The file that it stands in.
    pub file: Arc<str>,
    /// Where its id stands, or its beginning.
    pub id: Span,
    /// Where its path stands.
    pub path: Span,
    /// Where its creator stands.
    pub creator: Span,
    /// Where its version stands, if it has one.
    pub version: Option<Span>,
    /// Where its dependencies stand.
    pub dependencies: Vec<Span>,
}

/// Reads every manifest below `artifacts/`, by the names of the folders.
pub fn read_all(reading: &mut Reading<'_>) -> Vec<Manifest> {
    let mut manifests = Vec::new();
    let names = names(reading, FOLDER, &ABOUT).into_iter();
    let files = names.map(|name| format!("{FOLDER}/{name}/{NAME}").into());
    read_each(reading, FOLDER, &ABOUT, files, |reading, file, text| {
        manifests.extend(one(reading, file, text));
        None
    });
    manifests
}

/// Reads one file; nothing if it is missing or does not describe an artifact.
pub fn read(reading: &mut Reading<'_>, file: &Arc<str>) -> Option<Manifest> {
    let mut manifest = None;
    read_each(reading, FOLDER, &ABOUT, [file.clone()], |reading, file, text| {
        manifest = one(reading, file, text);
        None
    });
    manifest
}

fn one(reading: &mut Reading<'_>, file: &Arc<str>, text: &str) -> Option<Manifest> {
    // Kept in any case: the rules that are checked later point into it.
    reading.sources.insert(file.clone(), Source::new(text.to_owned()));
    let document = reading.document(file, &ABOUT, Severity::Warning, text)?;
    reading.check(file, &ABOUT, Severity::Warning, &document, &SHAPE);
    let folder = file.rsplit('/').nth(1).unwrap_or_default();
    understand(document.root(), folder, file, &mut reading.findings)
}

/// The artifact that an object describes, under its own id or else the given name. Nothing, if the shape has already said
/// why: a required field is missing, or a word is none of its words.
pub fn understand(value: Value<'_, '_>, name: &str, file: &Arc<str>, findings: &mut Findings) -> Option<Manifest> {
    let start = Span { start: value.span().start, end: value.span().start + 1 };
    let place = |name| field(value, &OBJECT, name).map(Value::span);
    let id_place = place("artifact_id").unwrap_or(start);
    let id = text(value, &OBJECT, "artifact_id").unwrap_or_else(|| name.to_owned());
    let id = draft::artifact_id(&id, file, id_place, findings)?;
    let creator_place = place("creator_role")?;
    let creator = draft::role_name(&text(value, &OBJECT, "creator_role")?, file, creator_place, findings)?;
    let mut artifact = Artifact {
        id,
        kind: word(value, "artifact_type", "document", KINDS).and_then(|word| ArtifactKind::from_word(&word))?,
        path: text(value, &OBJECT, "path")?,
        creator,
        version: text(value, &OBJECT, "version"),
        validation: word(value, "validation_status", "pending", VALIDATIONS)
            .and_then(|word| Validation::from_word(&word))?,
        validation_summary: text(value, &OBJECT, "validation_summary"),
        dependencies: Vec::new(),
        task: None,
        priority: None,
        created_at: None,
        file_size: None,
        checksum: None,
    };
    if let Some(metadata) = field(value, &OBJECT, "metadata") {
        artifact.task = text(metadata, &METADATA, "task_id").and_then(|id| TaskId::parse(&id).ok());
        artifact.priority = text(metadata, &METADATA, "priority").and_then(|word| Priority::from_word(&word));
        artifact.created_at = fields::timestamp(metadata, &METADATA, "created_at");
        let size = field(metadata, &METADATA, "file_size").and_then(Value::as_i64);
        artifact.file_size = size.and_then(|size| u64::try_from(size).ok());
        artifact.checksum = text(metadata, &METADATA, "checksum");
    }
    let mut dependencies = Vec::new();
    for item in field(value, &OBJECT, "dependencies").into_iter().flat_map(one_or_many) {
        let Some(id) = text_of(item).filter(|id| !id.is_empty()) else { continue };
        if let Some(id) = draft::artifact_id(&id, file, item.span(), findings) {
            artifact.dependencies.push(id);
            dependencies.push(item.span());
        }
    }
    let (path, version) = (place("path").unwrap_or(start), place("version"));
    Some(Manifest { artifact, file: file.clone(), id: id_place, path, creator: creator_place, version, dependencies })
}

/// The word of a field, its meaning where it is a synonym, or what is used without it.
fn word(value: Value<'_, '_>, name: &str, without: &str, synonyms: &[(&str, &str)]) -> Option<String> {
    let Some(value) = field(value, &OBJECT, name) else { return Some(without.to_owned()) };
    let word = value.as_text()?;
    Some(synonyms.iter().find(|(synonym, _)| *synonym == word).map_or(&*word, |(_, meaning)| meaning).to_owned())
}

fn one_or_many<'d, 's>(value: Value<'d, 's>) -> impl Iterator<Item = Value<'d, 's>> {
    value.as_text().map(|_| value).into_iter().chain(value.items())
}
