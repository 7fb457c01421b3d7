//! A worker reports how its own task ended: its result file, whole and in the shape of a discovery, and nothing else.

use team_executor_core::moves::Moves as _;
use team_executor_core::{Judge, Task, TaskStatus, Verdict};
use team_executor_files::json::{self, Kind, Layout, Writer};
use team_executor_files::reading::Reading;
use team_executor_files::{MemoryFolder, discovery, findings_text, time};
use team_executor_store::{Durability, RealDisk, replace};

use super::{Attempt, Refusal, log};
use crate::begin::run_at;
use crate::clock;
use crate::conclude::{REPORTED_BY, RESULT_BYTES, Results, WorkerReport};
use crate::prepare::job::ResultSchema;

/// How a task ended, in its worker's words.
#[derive(Debug, Clone, Copy)]
pub struct OwnReport<'a> {
    /// Completed or failed.
    pub status: TaskStatus,
    /// What came out.
    pub findings: Option<&'a str>,
    /// Why it failed.
    pub error: Option<&'a str>,
    /// Whether the team may go on, from a supervisor.
    pub verdict: Option<Verdict>,
    /// How good the work of others is, 0 to 100, from a reviewer or an evaluator.
    pub quality_score: Option<f64>,
    /// The rest of a discovery, as JSON text.
    pub data: Option<&'a str>,
    /// Of a row of a table: its result, as JSON text.
    pub result: Option<&'a str>,
    /// Of a row of a table: no more rows are to be begun.
    pub stop: bool,
    /// Paths of what it delivers.
    pub artifacts: &'a [String],
}

impl OwnReport<'_> {
    /// A report that says nothing but how the task ended.
    pub const fn new(status: TaskStatus) -> Self {
        Self {
            status,
            findings: None,
            error: None,
            verdict: None,
            quality_score: None,
            data: None,
            result: None,
            stop: false,
            artifacts: &[],
        }
    }

    /// Writes the result, unless there is one that says how the task ended: the first report wins.
    pub fn write_first(&self, attempt: &Attempt, task: &Task) -> Result<(), Refusal> {
        let (_, _turn) = log::turn(&attempt.session)?;
        if let Some(status) = reported(attempt, task) {
            let what = format!("'{}' was already reported as {status}; the first report wins", attempt.task);
            return Err(Refusal::new(what, "nothing is left to report; end your work"));
        }
        self.write(attempt, task)
    }

    /// Writes the result of an attempt whose task is the one that was verified. The last report counts.
    pub fn write(&self, attempt: &Attempt, task: &Task) -> Result<(), Refusal> {
        let help = "team-executor task update --status completed --findings TEXT, or --status failed --error TEXT";
        let refused = |what: String| Refusal::new(what, help);
        TaskStatus::InProgress.moved(self.status).map_err(|illegal| refused(illegal.to_string()))?;
        let is_filled = |text: Option<&str>| text.is_some_and(|text| !text.trim().is_empty());
        match self.status {
            TaskStatus::Completed if !is_filled(self.findings) => {
                return Err(refused("a completed task needs findings".to_owned()));
            }
            TaskStatus::Completed if task.judge() == Some(Judge::Supervisor) && self.verdict.is_none() => {
                return Err(refused("a CHECKPOINT needs a verdict: --verdict pass, warn or block".to_owned()));
            }
            TaskStatus::Failed if !is_filled(self.error) => {
                return Err(refused("a failed task needs an error".to_owned()));
            }
            _ => {}
        }
        let findings = self.findings.unwrap_or_default();
        self.check(attempt, task, &findings_text::cut(findings))?;
        let folder = attempt.result();
        let folder = folder.parent().map(RealDisk::open_folder);
        let folder = folder.and_then(Result::ok).ok_or_else(|| refused("the folder of the run is gone".to_owned()))?;
        let (name, text) = (run_at::result_name(&attempt.task, attempt.number), self.text(attempt, task, findings));
        if text.len() as u64 > RESULT_BYTES {
            let what = format!("the result has {} bytes; the limit is {}", text.len(), RESULT_BYTES);
            return Err(Refusal::new(what, "write it to a file in $TEAM_EXECUTOR_ARTIFACTS, and report its path"));
        }
        let written = replace(&folder, &name, text.as_bytes(), Durability::Durable);
        written.map_err(|error| Refusal::disk("the result was not written", error))
    }

    /// Refuses what a discovery would not have.
    fn check(&self, attempt: &Attempt, task: &Task, findings: &str) -> Result<(), Refusal> {
        let help = "the data of a result: team-executor schema discovery";
        let data = self.data.map(json::parse).transpose();
        let data = data.map_err(|error| Refusal::new(format!("the data is not JSON: {}", error.message), help))?;
        if data.is_some_and(|data| data.root().kind() != Kind::Object) {
            return Err(Refusal::new("the data is not an object", help));
        }
        let text = self.text(attempt, task, findings);
        if self.status == TaskStatus::Completed
            && let Ok(Some(job)) = ResultSchema::read(&attempt.session)
        {
            let help = "report again, with the requested object in `result`";
            let report =
                WorkerReport::parse(&text, &task.id).map_err(|refused| Refusal::new(refused.to_string(), help))?;
            job.accept(Some(&report)).map_err(|why| Refusal::new(why, help))?;
        }
        let file = format!("{}/{}.json", discovery::FOLDER, task.id);
        let folder = MemoryFolder::default().with(&file, text);
        let mut reading = Reading::new(&folder, discovery::FOLDER);
        let found = discovery::read(&mut reading, &file.as_str().into());
        match reading.findings.iter().next() {
            Some(finding) => Err(Refusal::new(format!("the data is not that of a result: {}", finding.message), help)),
            None if found.is_none() => Err(Refusal::new("the result could not be read back", help)),
            None => Ok(()),
        }
    }

    fn text(&self, attempt: &Attempt, task: &Task, findings: &str) -> String {
        let mut out = Writer::new(Layout::Pretty);
        out.begin_object();
        let now = time::format(clock::now());
        let error = self.error.filter(|_| self.status == TaskStatus::Failed);
        for (key, text) in [
            ("task_id", Some(task.id.as_str())),
            ("worker", Some(task.id.as_str())),
            ("timestamp", Some(&now)),
            (REPORTED_BY, Some(&attempt.key)),
            ("status", Some(self.status.word())),
            ("findings", Some(findings)),
            ("supervision_verdict", self.verdict.map(Verdict::word)),
            ("error", error),
        ] {
            if let Some(text) = text {
                out.key(key);
                out.text(text);
            }
        }
        if let Some(score) = self.quality_score.filter(|score| score.is_finite()) {
            out.key("quality_score");
            out.plain(score);
        }
        if !self.artifacts.is_empty() {
            out.key("artifacts_produced");
            out.texts(self.artifacts);
        }
        if let Some(result) = self.result {
            out.key("result");
            out.raw(result.trim());
        }
        if self.stop {
            out.key("stop");
            out.plain(true);
        }
        out.key("data");
        out.raw(self.data.unwrap_or("{}").trim());
        out.end_object();
        out.finish()
    }
}

/// How the task ended by the result that is there, if it says so.
fn reported(attempt: &Attempt, task: &Task) -> Option<String> {
    let results = Results::open(attempt.result().parent()?).ok()?;
    results.report(&task.id, attempt.number)?.status().map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use team_executor_core::{RoleName, TaskId};

    use super::*;

    const DONE: OwnReport<'_> = OwnReport { findings: Some("done"), ..OwnReport::new(TaskStatus::Completed) };

    #[test]
    fn only_a_whole_result_is_written_and_only_as_a_legal_move() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("agents")).unwrap();
        let attempt = Attempt {
            session: dir.path().to_owned(),
            run: dir.path().to_owned(),
            task: "A".to_owned(),
            number: 1,
            key: String::new(),
            token: None,
        };
        let task = Task::new(TaskId::parse("A").unwrap(), RoleName::parse("r").unwrap());
        for (report, why) in [
            (OwnReport { status: TaskStatus::Skipped, ..DONE }, "task cannot go from in_progress to skipped"),
            (OwnReport { status: TaskStatus::Pending, ..DONE }, "task cannot go from in_progress to pending"),
            (OwnReport { findings: Some(" "), ..DONE }, "a completed task needs findings"),
            (OwnReport { status: TaskStatus::Failed, ..DONE }, "a failed task needs an error"),
            (OwnReport { data: Some("{"), ..DONE }, "the data is not JSON: "),
            (OwnReport { data: Some("[]"), ..DONE }, "the data is not an object"),
            (OwnReport { data: Some(r#"{"verification":"hoped"}"#), ..DONE }, "the data is not that of a result: "),
            (OwnReport { data: Some(r#"{"a":1},"status":"failed","x":{}"#), ..DONE }, "the data is not JSON: "),
        ] {
            let refused = report.write(&attempt, &task).unwrap_err();
            assert!(refused.what.starts_with(why), "{refused}");
            assert!(!attempt.result().exists());
        }
        let long = "日".repeat(700);
        let data = r#"{"decisions":["d"],"wisdom":{"issues":["i"]}}"#;
        OwnReport { findings: Some(&long), data: Some(data), ..DONE }.write(&attempt, &task).unwrap();
        let text = std::fs::read_to_string(attempt.result()).unwrap();
        assert!(text.contains(&long) && text.contains(data), "{text}");
        OwnReport { status: TaskStatus::Failed, error: Some("no"), ..DONE }.write(&attempt, &task).unwrap();
        assert!(std::fs::read_to_string(attempt.result()).unwrap().contains("\"error\": \"no\""));
    }
}
