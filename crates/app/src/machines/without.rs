//! A build without the network code: it says so.

use team_executor_engine::{self as engine, Event, Failure, Options, Report};
use team_executor_files::{Code, Finding};

use super::{BackendCheck, HostNews, HostRow, HostStart, Sharing};
use crate::App;
use crate::config::backend::Reached;
use crate::error::Error;

const LACKS: &str = "this build of team-executor has no backend: it was built without the feature `nats`";

fn lacks() -> Error {
    Finding::error(Code::Usage, LACKS).help("build it with: cargo build --features nats, or use a package").into()
}

pub(super) fn host(_: &App, _: &Reached, _: HostStart, _: &mut dyn FnMut(HostNews)) -> Result<(), Error> {
    Err(lacks())
}

pub(super) fn hosts(_: &Reached) -> Result<Vec<HostRow>, Error> {
    Err(lacks())
}

pub(super) fn check(_: &Reached) -> Result<Vec<BackendCheck>, Error> {
    Err(lacks())
}

/// Runs a session on this machine; on others it cannot.
pub(crate) fn run(
    options: &mut Options,
    sharing: Option<&Sharing>,
    tell: &mut dyn FnMut(Event),
) -> Result<Report, Failure> {
    match sharing {
        Some(_) => Err(Failure::Backend { why: LACKS.to_owned() }),
        None => engine::run(options, tell),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Environment;

    #[test]
    fn build_without_the_network_names_what_it_lacks() {
        let (current, variables) = (Ok(std::env::temp_dir()), Vec::new());
        let app = App::new(Environment { current, exe: Ok("/x".into()), started_as: None, variables });
        let backend = Some("nats://127.0.0.1:1");
        let refused = [app.hosts(backend).map(drop), app.check_backend(backend).map(drop)];
        for error in refused.map(Result::unwrap_err) {
            assert_eq!(error.to_string(), LACKS);
        }
    }
}
