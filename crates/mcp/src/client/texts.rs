//! Files that a client is shown: reports, as far as there is room, and what was delivered.

use std::io::Read as _;
use std::path::Path;

use team_executor_app::bus::Refusal;
use team_executor_beneath::{Dir, How, words};

use super::Call;
use super::roots::Inside;
use super::sessions::status;

/// The most that is read of a report.
const REPORT_BYTES: u64 = 512 << 10;

/// The report of a run, or as much of it as there is room for.
pub(super) struct Report {
    pub(super) run: String,
    pub(super) text: String,
    /// How many bytes are missing at its end.
    pub(super) left_out: u64,
    pub(super) path: String,
}

/// The report of the newest run of a session.
pub(super) async fn report(call: &Call<'_>, session: &str) -> Result<Report, Refusal> {
    let status = status(call, session).await?;
    let never = || Refusal {
        what: format!("{session} has no report: it was never run"),
        help: "run it first; `status` shows its progress".to_owned(),
    };
    let folder = status["folder"].as_str().ok_or_else(never)?;
    let path = Path::new(folder).join("context.md").display().to_string();
    let (text, left_out) = beginning(call, &path, REPORT_BYTES)?;
    let run = status["run"].as_str().unwrap_or_default().to_owned();
    Ok(Report { run, text, left_out, path })
}

/// The text of a file in a root.
pub(super) fn text_of(call: &Call<'_>, path: &str, limit: u64) -> Result<String, Refusal> {
    match beginning(call, path, limit)? {
        (text, 0) => Ok(text),
        _ => Err(not_shown(path, &format!("it is not a file of at most {limit} bytes"))),
    }
}

/// The text of a file in a root, up to so many bytes, and how many more there are.
fn beginning(call: &Call<'_>, path: &str, limit: u64) -> Result<(String, u64), Refusal> {
    let Inside { path: real, root } = call.roots.existing(path)?;
    let failed = |error: std::io::Error| not_shown(path, &error.to_string());
    // From the root on no link is followed: one may have been put there since.
    let below = real.strip_prefix(&root).ok().and_then(Path::to_str).unwrap_or_default();
    let file = Dir::open(&root).and_then(|root| root.file(below, How::ReadAnything));
    let file = file.map_err(|errno| not_shown(path, &words(errno)))?;
    let length = file.metadata().map_err(failed)?.len();
    let mut bytes = Vec::new();
    file.take(limit).read_to_end(&mut bytes).map_err(failed)?;
    if let Err(error) = str::from_utf8(&bytes)
        && error.error_len().is_none()
    {
        bytes.truncate(error.valid_up_to()); // a character that was cut in two
    }
    let left_out = length.saturating_sub(bytes.len() as u64);
    String::from_utf8(bytes).map(|text| (text, left_out)).map_err(|_| not_shown(path, "it is not text"))
}

fn not_shown(path: &str, why: &str) -> Refusal {
    Refusal { what: format!("{path} is not shown: {why}"), help: "open it yourself".to_owned() }
}
