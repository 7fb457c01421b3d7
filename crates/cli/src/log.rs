//! The log of the program itself, for its bugs: off, unless `--log` or `TEAM_EXECUTOR_LOG` ask for it.
//! The last lines are kept in memory for the report of a crash; those that come with every task only if the log has them.

use std::collections::VecDeque;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use team_executor_beneath::{How, open_file};
use team_executor_files::{Code, Finding};
use tracing::field::{Field, Visit};
use tracing::level_filters::LevelFilter;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::MakeWriter;
use tracing_subscriber::layer::{Context, Layer, SubscriberExt as _};

use crate::failure::Failure;

/// How much is logged: `error`, `warn`, `info`, `debug`, `trace` or `off`.
const LEVEL: &str = "TEAM_EXECUTOR_LOG";
/// How many lines are kept for the report of a crash.
const KEPT: usize = 100;
/// What all crates of this program begin with. Others may log what a client or an agent says.
const OURS: &str = "team_executor";

static LAST: Mutex<Last> = Mutex::new(Last { lines: VecDeque::new(), run: None });

struct Last {
    lines: VecDeque<String>,
    /// The folder of the run that goes on.
    run: Option<PathBuf>,
}

/// Begins the log. Without a file, a level that was asked for goes to the standard error.
pub(crate) fn begin(file: Option<&Path>) -> Result<(), Failure> {
    let wanted = std::env::var(LEVEL).ok().map(|word| level(&word)).transpose()?;
    let out = match (file, wanted) {
        (Some(path), _) => Out::File(open(path)?),
        (None, Some(level)) if level > LevelFilter::OFF => Out::Terminal,
        (None, _) => Out::Nowhere,
    };
    let level = match (&out, wanted) {
        (Out::Nowhere, _) => LevelFilter::INFO,
        (_, Some(level)) => level,
        (_, None) => LevelFilter::DEBUG,
    };
    let ours = || Targets::new().with_target(OURS, level);
    let lines = tracing_subscriber::fmt::layer().with_writer(out).log_internal_errors(false);
    let all = tracing_subscriber::registry().with(lines.with_filter(ours())).with(RunFolder.with_filter(ours()));
    tracing::subscriber::set_global_default(all).ok(); // there is one already in tests only
    Ok(())
}

/// The last lines, and where the run is whose lines they are. Nothing if they cannot be had: this is asked in a crash.
pub(crate) fn last() -> Option<(PathBuf, Vec<String>)> {
    let last = LAST.try_lock().ok()?;
    Some((last.run.clone()?, last.lines.iter().cloned().collect()))
}

fn level(word: &str) -> Result<LevelFilter, Failure> {
    word.parse().map_err(|_| {
        let what = format!("`{word}` in {LEVEL} is not a level");
        Finding::error(Code::Usage, what).help(format!("{LEVEL}=debug; or error, warn, info, trace, off")).into()
    })
}

fn open(path: &Path) -> Result<File, Failure> {
    open_file(path, How::Append).map_err(|error| {
        let what = format!("cannot open the log {}: {error}", path.display());
        Finding::error(Code::Usage, what).help("name a regular file in a folder that is there").into()
    })
}

/// Where lines go, besides the memory.
enum Out {
    File(File),
    Terminal,
    Nowhere,
}

impl<'w> MakeWriter<'w> for Out {
    type Writer = Line<'w>;

    fn make_writer(&'w self) -> Line<'w> {
        Line(self)
    }
}

/// Writes one line, which comes whole.
struct Line<'w>(&'w Out);

impl Write for Line<'_> {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        {
            let mut last = LAST.lock().unwrap_or_else(PoisonError::into_inner);
            if last.lines.len() == KEPT {
                last.lines.pop_front();
            }
            last.lines.push_back(String::from_utf8_lossy(line).into_owned());
        }
        match self.0 {
            Out::File(file) => (&mut &*file).write_all(line)?,
            Out::Terminal => io::stderr().lock().write_all(line)?,
            Out::Nowhere => {}
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Learns where the run is from the line that says so.
struct RunFolder;

impl<S: Subscriber> Layer<S> for RunFolder {
    fn on_event(&self, event: &Event<'_>, _: Context<'_, S>) {
        if event.metadata().fields().field("run_folder").is_some() {
            event.record(&mut Self);
        }
    }
}

impl Visit for RunFolder {
    fn record_debug(&mut self, _: &Field, _: &dyn Debug) {}

    fn record_str(&mut self, field: &Field, value: &str) {
        if field.name() == "run_folder" {
            LAST.lock().unwrap_or_else(PoisonError::into_inner).run = Some(PathBuf::from(value));
        }
    }
}
