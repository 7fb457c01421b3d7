//! Several machines over NATS JetStream.

use std::time::Duration;

use rustix::system::uname;
use team_executor_agents::adapters::Adapter;
use team_executor_agents::probe;
use team_executor_beneath::read_regular;
use team_executor_engine::{self as engine, Event, Failure, Options, Report, seam};
use team_executor_files::{Code, Finding};
use team_executor_hosts::{self as hosts, Address, Found, HostEvent, HostOptions, HostsCrew, PROTOCOL, Trouble};

use super::{BackendCheck, HostNews, HostRow, HostStart, Sharing};
use crate::App;
use crate::config::backend::Reached;
use crate::error::Error;
use crate::escape::shell_word;

/// Where a host's files are in the folder for the state of this program.
const FOLDER: &str = "host";

pub(super) fn host(app: &App, at: &Reached, start: HostStart, tell: &mut dyn FnMut(HostNews)) -> Result<(), Error> {
    let name = start.name.unwrap_or_else(|| uname().nodename().to_string_lossy().into_owned());
    let folder = start.workdir.map(|folder| app.path(&folder)).or_else(|| Some(app.state_folder()?.join(FOLDER)));
    let Some(folder) = folder else {
        let finding = Finding::error(Code::Usage, "a host needs a folder, and neither XDG_STATE_HOME nor HOME is set");
        return Err(finding.help("name one: --workdir DIR").into());
    };
    let options = HostOptions {
        address: address(at)?,
        name: name.clone(),
        folder,
        slots: start.slots as usize,
        labels: start.labels,
        agents: agents(app),
        lease: Duration::from_millis(start.lease_ms),
        exe: app.exe()?.to_owned(),
        environment: app.variables(),
    };
    let slots = start.slots;
    let served = hosts::host(&options, &mut |event| {
        tell(match event {
            HostEvent::Ready { server } => HostNews::Ready { host: name.clone(), slots, server },
            HostEvent::Started { key } => HostNews::Started { attempt: key },
            HostEvent::Ended { key, how } => HostNews::Ended { attempt: key, how },
            HostEvent::Problem(message) => HostNews::Warning { message },
            HostEvent::Draining { running } => HostNews::Draining { running },
        });
    });
    served.map_err(refused(at))
}

pub(super) fn hosts(at: &Reached) -> Result<Vec<HostRow>, Error> {
    let seen = hosts::present(&address(at)?).map_err(refused(at))?;
    let row = |seen: hosts::Seen| {
        let is_there = seen.is_there();
        let hosts::Seen { presence, ago } = seen;
        let state = match () {
            () if presence.protocol != PROTOCOL => "refused",
            () if presence.slots == 0 => "gone",
            () if !is_there => "missing",
            () if presence.drains => "draining",
            () => "ready",
        };
        HostRow {
            host: presence.host,
            state,
            slots: presence.slots,
            labels: presence.labels,
            agents: presence.agents,
            running: presence.running,
            seen_ms: u64::try_from(ago.as_millis()).unwrap_or(u64::MAX),
            version: presence.version,
        }
    };
    Ok(seen.into_iter().map(row).collect())
}

pub(super) fn check(at: &Reached) -> Result<Vec<BackendCheck>, Error> {
    let checked = hosts::check(&address(at)?).map_err(refused(at))?;
    let line = |checked: hosts::Checked| BackendCheck {
        check: checked.what,
        result: match checked.found {
            Found::Good => "good",
            Found::Note => "note",
            Found::Bad => "bad",
        },
        message: checked.words,
    };
    Ok(checked.into_iter().map(line).collect())
}

/// Runs a session, on this machine alone or on others too.
pub(crate) fn run(
    options: &mut Options,
    sharing: Option<&Sharing>,
    tell: &mut dyn FnMut(Event),
) -> Result<Report, Failure> {
    let Some(sharing) = sharing else { return engine::run(options, tell) };
    let address = address(&sharing.backend).map_err(|error| Failure::Backend { why: error.to_string() })?;
    let sharing = hosts::Sharing { address, local: sharing.local as usize, exe: options.exe.clone() };
    seam::run_with(options, |local, scene| HostsCrew::open(&sharing, local, scene), tell)
}

/// Everything that leads to the backend. The password is read anew each time.
fn address(at: &Reached) -> Result<Address, Error> {
    let Reached { url, ca, identity, login } = at.clone();
    let login = login.map(|(user, file)| {
        let read = read_regular(&file).map(|bytes| String::from_utf8_lossy(&bytes).trim_end().to_owned());
        read.map(|password| (user, password)).map_err(|error| {
            let message = format!("the password of the backend cannot be read: {}: {error}", file.display());
            Error::from(Finding::error(Code::Usage, message).help("correct [backend] password_file in your own file"))
        })
    });
    Ok(Address { url, ca, identity, login: login.transpose()? })
}

fn refused(at: &Reached) -> impl Fn(Trouble) -> Error {
    let flag = shell_word(&format!("--backend={}", at.url));
    move |trouble| {
        let finding = Finding::error(Code::Usage, trouble.to_string());
        Error::io(finding.help(format!("check the backend with: team-executor backend check {flag}")))
    }
}

/// The known agents that `PATH` leads to.
fn agents(app: &App) -> Vec<String> {
    let here = app.current().unwrap_or(std::path::Path::new("/")).to_owned();
    let names = Adapter::ALL.iter().map(|adapter| adapter.name()).chain(["opencode", "qwen"]);
    names.filter(|name| probe(name, app.variable("PATH"), &here).is_ok()).map(str::to_owned).collect()
}
