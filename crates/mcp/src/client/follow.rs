//! A command that was started apart is followed by its events: each change of the counts is progress, and the last event is
//! the answer. A client that cancels or leaves ends the following, and nothing else.

use std::time::{Duration, Instant};

use rmcp::model::{PingRequest, ProgressNotificationParam, ServerRequest};
use rmcp::service::{RequestContext, RoleServer};
use serde_json::{Value, json};
use team_executor_app::apart::Events;
use team_executor_app::bus::Refusal;
use tokio::time::timeout;

/// How often it is looked for news.
const EVERY: Duration = Duration::from_millis(200);
/// How many things that are wrong are told.
const TOLD: usize = 20;

/// The exit code of a command whose session another executor has.
pub(super) const HELD: u64 = 4;
/// How long it is waited then.
pub(super) const AGAIN: Duration = Duration::from_secs(1);
/// How long a client may take to answer the ping that follows the last progress.
const HEARING: Duration = Duration::from_secs(5);

/// Tells a client how far a call has come.
pub(super) struct Follower {
    context: RequestContext<RoleServer>,
}

/// How far a command is followed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Until {
    /// To its last event, of this type.
    Ended(&'static str),
    /// Until a run has begun.
    Begun,
}

/// How a command came out.
pub(super) enum Came {
    /// It has ended with this.
    Out(Value),
    /// It was refused, and its exit code says why.
    Refused(Refusal, Option<u64>),
    /// It goes on; this is how far it has come.
    On(Value),
}

impl Follower {
    /// For one request.
    pub(super) fn new(context: RequestContext<RoleServer>) -> Self {
        Self { context }
    }

    /// Follows a command to an event of this type, or for so long. The client has heard the last progress before it returns.
    pub(super) async fn follow(
        &self,
        events: Events,
        until: Until,
        patience: Option<Duration>,
    ) -> Result<Came, Refusal> {
        let mut has_told = false;
        let came = self.watch(events, until, patience, &mut has_told).await;
        if has_told && !self.context.ct.is_cancelled() {
            self.settle().await;
        }
        came
    }

    async fn watch(
        &self,
        mut events: Events,
        until: Until,
        patience: Option<Duration>,
        has_told: &mut bool,
    ) -> Result<Came, Refusal> {
        let began = Instant::now();
        let last = if let Until::Ended(last) = until { last } else { "run_ended" };
        let (mut end, mut counts, mut run) = (None, Value::Null, Value::Null);
        let mut wrong: Vec<Value> = Vec::new();
        loop {
            let is_over = events.are_over();
            let before = counts.clone();
            for event in events.news().map_err(|error| lost(&error.to_string()))? {
                counts = event.get("counts").unwrap_or(&counts).clone();
                run = event.get("run").unwrap_or(&run).clone();
                if event["type"] == last || event["type"] == "refused" {
                    end = Some(event);
                } else if event["type"] == "finding" && event["severity"] == "error" && wrong.len() < TOLD {
                    wrong.push(event);
                }
            }
            if counts != before {
                *has_told |= self.tell(&counts).await;
            }
            match end {
                Some(event) if is_over => {
                    let code = event["exit_code"].as_u64();
                    let with_findings = |refused| Came::Refused(explained(refused, &wrong), code);
                    return Ok(refusal(&event).map_or(Came::Out(event), with_findings));
                }
                None if is_over && !wrong.is_empty() => {
                    let refused = Refusal { what: "nothing was started".to_owned(), help: String::new() };
                    return Ok(Came::Refused(explained(refused, &wrong), None));
                }
                None if is_over => return Err(lost("it was ended from outside")),
                _ => {}
            }
            let has_begun = until == Until::Begun && run.is_string();
            let has_left = !has_begun && self.waits(EVERY).await;
            if has_begun || has_left || patience.is_some_and(|patience| began.elapsed() >= patience) {
                return Ok(Came::On(goes_on(&run, &counts)));
            }
        }
    }

    /// Waits for so long; says whether the client has cancelled its request.
    pub(super) async fn waits(&self, time: Duration) -> bool {
        timeout(time, self.context.ct.cancelled()).await.is_ok()
    }

    /// Waits until the client has dealt with everything that it was sent. A client that reads progress and answer in one
    /// piece may forget the call before it looks at the progress: the official SDK for TypeScript does.
    async fn settle(&self) {
        let ping = ServerRequest::PingRequest(PingRequest::default());
        let _unanswered = timeout(HEARING, self.context.peer.send_request(ping)).await;
    }

    /// Tells how many of how many tasks are over, and says whether the client listens. A deaf one misses nothing.
    async fn tell(&self, counts: &Value) -> bool {
        let Some(token) = self.context.meta.get_progress_token() else { return false };
        let count = |name: &str| counts[name].as_f64().unwrap_or(0.0);
        let words = format!(
            "{} completed, {} failed, {} skipped, {} running",
            counts["completed"], counts["failed"], counts["skipped"], counts["running"]
        );
        let over = count("completed") + count("failed") + count("skipped");
        let progress = ProgressNotificationParam::new(token, over).with_total(count("total")).with_message(words);
        self.context.peer.notify_progress(progress).await.is_ok()
    }
}

/// The answer about a run that goes on without being waited for.
pub(super) fn goes_on(run: &Value, counts: &Value) -> Value {
    json!({"ending": null, "goes_on": true, "run": run, "counts": counts})
}

/// A refusal with everything that was found to be wrong.
fn explained(mut refused: Refusal, wrong: &[Value]) -> Refusal {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    for finding in wrong {
        let place = match (&finding["file"], &finding["line"], &finding["column"]) {
            (Value::String(file), Value::Number(line), Value::Number(column)) => format!(" ({file}:{line}:{column})"),
            _ => String::new(),
        };
        refused.what.push_str(&format!("\n{}{place}", text(&finding["message"])));
        let help = finding["help"].as_array().into_iter().flatten().map(text);
        let help: Vec<_> = std::iter::once(refused.help).filter(|help| !help.is_empty()).chain(help).collect();
        refused.help = help.join("\n");
    }
    refused
}

/// What an event refuses, if it is one that does.
fn refusal(event: &Value) -> Option<Refusal> {
    let is_refused = event["type"] == "refused";
    let help = event["help"].as_array().into_iter().flatten().filter_map(Value::as_str).collect::<Vec<_>>();
    let what = event["message"].as_str().unwrap_or_default().to_owned();
    is_refused.then(|| Refusal { what, help: help.join("\n") })
}

fn lost(why: &str) -> Refusal {
    Refusal {
        what: format!("its outcome is unknown: {why}"),
        help: "status shows its progress, and the same call continues it".to_owned(),
    }
}
