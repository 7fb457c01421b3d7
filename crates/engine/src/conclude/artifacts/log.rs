//! What happened to the artifacts of a run, one line each, in the executor's own folder. A line is handed to
//! the system before its task is told to be over, so that a kill takes none; lines lost in a power cut are
//! recorded anew.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::Path;
use std::sync::Arc;

use team_executor_beneath::{How, open_file, read_regular};
use team_executor_core::{Artifact, TaskId};
use team_executor_files::json::{self, Layout, Value, Writer};
use team_executor_files::{Findings, manifest, write};
use team_executor_store::run_folder::EXECUTOR;

use super::places::Place;

const NAME: &str = "artifacts";

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    /// A new attempt begins: what earlier ones left was moved away.
    Begins,
    /// An attempt delivered, and a command judges that.
    Delivered,
    /// It was judged.
    Checked,
}

/// One line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Record {
    pub(super) what: What,
    pub(super) task: TaskId,
    pub(super) attempt: u32,
    pub(super) artifacts: Vec<(Place, Artifact)>,
}

/// The lines of a run.
#[derive(Debug)]
pub(super) struct Log(File);

impl What {
    const ALL: [Self; 3] = [Self::Begins, Self::Delivered, Self::Checked];

    const fn word(self) -> &'static str {
        match self {
            Self::Begins => "begins",
            Self::Delivered => "delivered",
            Self::Checked => "judged",
        }
    }
}

impl Log {
    /// Opens the log of a run, which is made if it is missing, and reads it.
    pub(super) fn open(run: &Path) -> io::Result<(Self, Vec<Record>)> {
        let mut file = open_file(&run.join(EXECUTOR).join(NAME), How::Append)?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        if bytes.last().is_some_and(|last| *last != b'\n') {
            // A line cut off by a crash is invalid, and the next one is valid.
            file.seek(SeekFrom::End(0))?;
            file.write_all(b"\n")?;
        }
        Ok((Self(file), records(&bytes)))
    }

    /// Adds a line.
    pub(super) fn append(&mut self, record: &Record) -> io::Result<()> {
        self.0.write_all(line(record).as_bytes())
    }

    /// Makes all lines durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.0.sync_data()
    }
}

/// What the log of a run says; nothing if there is none.
pub(super) fn read(run: &Path) -> io::Result<Vec<Record>> {
    match read_regular(&run.join(EXECUTOR).join(NAME)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(Vec::new()),
        read => Ok(records(&read?)),
    }
}

fn line(record: &Record) -> String {
    let mut out = Writer::new(Layout::Compact);
    out.begin_object();
    for (key, text) in [("record", record.what.word()), ("task", record.task.as_str())] {
        out.key(key);
        out.text(text);
    }
    out.key("attempt");
    out.plain(record.attempt);
    out.key("artifacts");
    out.begin_array();
    for (place, artifact) in &record.artifacts {
        out.begin_object();
        out.key("in");
        out.text(place.word());
        out.key("manifest");
        write::artifact_into(&mut out, artifact);
        out.end_object();
    }
    out.end_array();
    out.end_object();
    out.finish()
}

/// Lines that are not whole are left out.
fn records(bytes: &[u8]) -> Vec<Record> {
    bytes.split(|byte| *byte == b'\n').filter_map(|line| record(str::from_utf8(line).ok()?)).collect()
}

fn record(line: &str) -> Option<Record> {
    let document = json::parse(line).ok()?;
    let root = document.root();
    let word = root.get("record").and_then(Value::as_text)?;
    let file: Arc<str> = NAME.into();
    let artifact = |value: Value<'_, '_>| {
        let place = value.get("in").and_then(Value::as_text).and_then(|word| Place::from_word(&word))?;
        let manifest = manifest::understand(value.get("manifest")?, "", &file, &mut Findings::default())?;
        Some((place, manifest.artifact))
    };
    Some(Record {
        what: What::ALL.into_iter().find(|what| what.word() == word)?,
        task: TaskId::parse(&root.get("task").and_then(Value::as_text)?).ok()?,
        attempt: u32::try_from(root.get("attempt").and_then(Value::as_i64)?).ok()?,
        artifacts: root.get("artifacts")?.items().map(artifact).collect::<Option<_>>()?,
    })
}

#[cfg(test)]
mod tests {
    use super::super::registry::tests::{artifact, task};
    use super::*;

    #[test]
    fn lines_are_read_back_and_a_torn_one_costs_nothing_but_itself() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join(EXECUTOR)).unwrap();
        assert_eq!(read(dir.path()).unwrap(), []);
        let one = |what, place| Record {
            what,
            task: task("A"),
            attempt: 2,
            artifacts: vec![(place, artifact("A/x\"y", "artifacts/A/x", "A"))],
        };
        let all =
            [one(What::Delivered, Place::Run), one(What::Checked, Place::Project), one(What::Begins, Place::Session)];
        let (mut log, records) = Log::open(dir.path()).unwrap();
        assert_eq!(records, []);
        log.append(&all[0]).unwrap();
        let path = dir.path().join(EXECUTOR).join(NAME);
        let mut torn = std::fs::read(&path).unwrap();
        torn.extend_from_slice(b"{\"record\":\"jud");
        std::fs::write(&path, torn).unwrap();
        let (mut log, records) = Log::open(dir.path()).unwrap();
        assert_eq!(records, all[..1]);
        all[1..].iter().for_each(|record| log.append(record).unwrap());
        log.sync().unwrap();
        assert_eq!(read(dir.path()).unwrap(), all);
    }
}
