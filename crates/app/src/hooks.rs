//! Carries out reactions to events, beside the run: a thread of its own takes them one after the other. The run never
//! waits for it; when too many wait, the newest are dropped and counted.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, SyncSender, TrySendError, sync_channel};
use std::sync::{Arc, OnceLock};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use team_executor_agents::{Custodian, Ended, probe};
use team_executor_engine::event::{Event, Kind};

use crate::config::on::{Act, Reaction, type_of};
use crate::escape;

/// Where reactions run, in the folder for the state of this program.
const FOLDER: &str = "reactions";
/// How many reactions may wait.
const WAITING: usize = 256;
/// How long one may take.
const LIMIT: Duration = Duration::from_secs(30);
/// How long those that wait at the end of a run may take together.
const AT_END: Duration = Duration::from_secs(60);
/// How long to wait before a webhook is tried again.
const AGAIN: [Duration; 2] = [Duration::from_secs(1), Duration::from_secs(4)];

/// Reactions that wait, and the thread that carries them out.
#[derive(Debug)]
pub(crate) struct Hooks {
    reactions: Vec<Reaction>,
    queue: SyncSender<(Act, Event)>,
    thread: JoinHandle<Failures>,
    dropped: usize,
    ends: Arc<OnceLock<Instant>>,
}

/// How often each act failed, and the last reason.
type Failures = BTreeMap<String, (usize, String)>;

/// Where and with what programs are started.
#[derive(Debug, Clone)]
pub(crate) struct Around {
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) folder: PathBuf,
    /// This program, which is also its keepers'.
    pub(crate) exe: PathBuf,
    /// Where the user's own files of this program are, if that is known.
    pub(crate) state: Option<PathBuf>,
}

impl Hooks {
    /// Nothing where there are no reactions, or no thread for them.
    pub(crate) fn start(reactions: Vec<Reaction>, around: Around) -> Option<Self> {
        if reactions.is_empty() {
            return None;
        }
        let (queue, waiting) = sync_channel(WAITING);
        let ends: Arc<OnceLock<Instant>> = Arc::default();
        let end = Arc::clone(&ends);
        let thread = std::thread::Builder::new().name("hooks".to_owned());
        let thread = thread.spawn(move || carry_out(&waiting, &around, &end)).ok()?;
        Some(Self { reactions, queue, thread, dropped: 0, ends })
    }

    /// Queues the reactions to an event.
    pub(crate) fn tell(&mut self, event: &Event) {
        for reaction in self.reactions.iter().filter(|reaction| reaction.when.is(&event.kind)) {
            if let Err(TrySendError::Full(_)) = self.queue.try_send((reaction.act.clone(), event.clone())) {
                self.dropped += 1;
            }
        }
    }

    /// Waits for the reactions that are queued, and says what went wrong.
    pub(crate) fn finish(self) -> Vec<String> {
        let Self { queue, thread, dropped, ends, .. } = self;
        // The only one that sets it.
        let _is_set = ends.set(Instant::now() + AT_END);
        drop(queue);
        let failures = thread.join().unwrap_or_default();
        let failed = failures.into_iter().map(|(act, (times, why))| {
            let times = if times > 1 { format!(" {times} times, the last time") } else { String::new() };
            format!("the reaction `{act}` failed{times}: {why}")
        });
        let dropped = (dropped > 0).then(|| format!("{dropped} reactions to events were dropped: too many waited"));
        failed.chain(dropped).collect()
    }
}

fn carry_out(waiting: &Receiver<(Act, Event)>, around: &Around, ends: &OnceLock<Instant>) -> Failures {
    let mut failures = Failures::new();
    let mut hands = Hands { around, custodian: None };
    while let Ok((act, event)) = waiting.recv() {
        let left = ends.get().map_or(LIMIT, |end| end.saturating_duration_since(Instant::now()));
        let done =
            if left.is_zero() { Err("the run has ended".to_owned()) } else { hands.carry_out(&act, &event, left) };
        if let Err(why) = done {
            let failed = failures.entry(name(&act)).or_default();
            *failed = (failed.0 + 1, why);
        }
    }
    failures
}

/// The act as messages name it. An address may hold a secret.
fn name(act: &Act) -> String {
    match act {
        Act::Run(words) => escape::line(&words.join(" ")),
        Act::Desktop => "desktop".to_owned(),
        Act::Webhook(_) => "webhook".to_owned(),
    }
}

/// What carries reactions out.
struct Hands<'a> {
    around: &'a Around,
    /// There when it was needed.
    custodian: Option<Custodian>,
}

impl Hands<'_> {
    fn carry_out(&mut self, act: &Act, event: &Event, left: Duration) -> Result<(), String> {
        match act {
            Act::Run(words) => self.start(words, &(event.to_json() + "\n"), event, left),
            Act::Desktop => {
                let (title, body) = headline(&event.kind);
                let words = ["notify-send", "--app-name=team-executor", "--", &title, &markup(&body)];
                self.start(&words.map(str::to_owned), "", event, left)
            }
            Act::Webhook(address) => self.webhook(address, event, left),
        }
    }

    /// Sends an event, and again if that fails. The address is no argument: those can be seen by other users.
    fn webhook(&mut self, address: &str, event: &Event, left: Duration) -> Result<(), String> {
        let words =
            ["curl", "--silent", "--show-error", "--fail", "--max-time", "10", "--config", "-"].map(str::to_owned);
        let quoted = |text: &str| text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        let input = format!(
            "url = \"{}\"\nheader = \"content-type: application/json\"\ndata-binary = \"{}\"\n",
            quoted(address),
            quoted(&event.to_json())
        );
        let mut sent = self.start(&words, &input, event, left);
        for wait in AGAIN.into_iter().filter(|wait| *wait < left) {
            if sent.is_ok() {
                break;
            }
            std::thread::sleep(wait);
            sent = self.start(&words, &input, event, left);
        }
        sent
    }

    /// Runs a program in custody, for as long as is left.
    fn start(&mut self, words: &[String], input: &str, event: &Event, left: Duration) -> Result<(), String> {
        let Some((program, args)) = words.split_first() else { return Ok(()) };
        let around = self.around;
        let Around { environment, folder, .. } = around;
        let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
        let found = probe(program, path, folder).map_err(|unusable| unusable.to_string())?;
        let mut environment = environment.clone();
        environment.extend(type_of(&event.kind).map(|name| ("TEAM_EXECUTOR_EVENT".to_owned(), name)));
        let left = left.min(LIMIT);
        let answer = self.custodian()?.ask((&found, args), &environment, folder, input, left);
        let answer = answer.map_err(|error| error.to_string())?;
        let said = String::from_utf8_lossy(&answer.err);
        let said = said.lines().rev().find(|line| !line.trim().is_empty());
        let said = said.map(|line| format!(": {}", escape::line(line))).unwrap_or_default();
        match answer.ended {
            Ended::Exit(0) => Ok(()),
            Ended::Exit(code) => Err(format!("exit code {code}{said}")),
            Ended::Signal(signal) => Err(format!("signal {signal}{said}")),
            Ended::CouldNotStart(obstacle) => Err(obstacle.reason),
            _ => Err(format!("it took longer than {} s", left.as_secs())),
        }
    }

    fn custodian(&mut self) -> Result<&mut Custodian, String> {
        match &mut self.custodian {
            Some(custodian) => Ok(custodian),
            none => {
                let Around { exe, state, .. } = self.around;
                let state = state.as_ref().ok_or("neither XDG_STATE_HOME nor HOME is set")?;
                let opened = Custodian::open(exe.clone(), &state.join(FOLDER)).map_err(|error| error.to_string())?;
                Ok(none.insert(opened))
            }
        }
    }
}

/// What a notification says.
fn headline(kind: &Kind) -> (String, String) {
    let (title, body) = match kind {
        Kind::Asks { task, tool, what, .. } => (format!("{task} asks to use {tool}"), what.clone()),
        Kind::Checkpoint { task, critique, .. } => {
            (format!("Checkpoint after {task}"), critique.clone().unwrap_or_default())
        }
        Kind::WaveFailed { wave } => (format!("Every task of wave {wave} failed"), String::new()),
        Kind::Halted { reason } => ("The run has stopped".to_owned(), reason.clone()),
        Kind::TaskFailed { task, error, .. } => (format!("{task} failed"), error.clone()),
        Kind::TaskCompleted { task, findings, .. } => (format!("{task} is completed"), findings.clone()),
        Kind::RunFinished { counts } => {
            let words = format!("{} of {} tasks completed", counts.completed, counts.total);
            ("The run is finished".to_owned(), words)
        }
        kind => (type_of(kind).unwrap_or_default(), String::new()),
    };
    (escape::line(&title), escape::line(&body))
}

/// Notifications understand some markup.
fn markup(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

/// Whether the program of each reaction is there; the first that is not, with what to do.
pub(crate) fn missing(reactions: &[Reaction], environment: &[(String, String)], folder: &Path) -> Option<String> {
    let path = environment.iter().find(|(name, _)| name == "PATH").map(|(_, path)| path.as_str());
    let program = |act: &Act| match act {
        Act::Run(words) => words.first().cloned(),
        Act::Desktop => Some("notify-send".to_owned()),
        Act::Webhook(_) => Some("curl".to_owned()),
    };
    let programs = reactions.iter().filter_map(|reaction| program(&reaction.act));
    programs.into_iter().find(|program| probe(program, path, folder).is_err())
}
