//! A program for the tests of custody: a keeper, and an executor that can be killed.

use std::io::{self, BufRead as _, PipeWriter, Read as _, Write as _};
use std::os::fd::AsFd as _;
use std::path::Path;
use std::process::ExitCode;
use std::sync::mpsc;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use team_executor_agents::{Assignment, Keepers, ask, driver, keeper};

fn main() -> ExitCode {
    match std::env::args().nth(1).as_deref() {
        Some(keeper::ARGUMENT) => keeper::main(),
        Some("greet") => try_out(true).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Some("ask") => try_out(false).map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        Some("execute") => execute().map_or(ExitCode::FAILURE, |()| ExitCode::SUCCESS),
        _ => ExitCode::FAILURE,
    }
}

/// Tries out a program, its arguments behind it, for ever.
fn try_out(greets: bool) -> io::Result<()> {
    let words: Vec<String> = std::env::args().skip(2).collect();
    let (program, args) = words.split_first().ok_or(io::ErrorKind::InvalidInput)?;
    let (command, root) = ((Path::new(program), args), Path::new("/"));
    if greets {
        driver::greet(command, &[], root, Duration::from_secs(600)).map_err(io::Error::other)?;
    } else {
        ask(command, &[], root, "", Duration::from_secs(600))?;
    }
    Ok(())
}

/// Starts what is on standard input, one assignment per line and slot, and prints the events, for ever.
fn execute() -> io::Result<()> {
    let ledgers = std::env::args_os().nth(2).ok_or(io::ErrorKind::InvalidInput)?;
    let mut keepers = Keepers::new(std::env::current_exe()?, ledgers.into(), 1);
    let (mut woken, wake) = io::pipe()?;
    let (sender, assignments) = mpsc::channel();
    std::thread::spawn(move || read(&sender, wake));
    let mut slots = 0..;
    loop {
        let events = keepers.wait(woken.as_fd(), None)?;
        let mut out = io::stdout().lock();
        events.iter().try_for_each(|event| writeln!(out, "{event:?}").and_then(|()| out.flush()))?;
        let mut ready = [PollFd::new(&woken, PollFlags::IN)];
        if poll(&mut ready, Some(&Timespec::default()))? > 0 {
            woken.read_exact(&mut [0])?;
        }
        slots.by_ref().zip(assignments.try_iter()).for_each(|(slot, assignment)| keepers.start(slot, assignment));
    }
}

fn read(assignments: &mpsc::Sender<Assignment>, mut wake: PipeWriter) -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let sent = assignments.send(serde_json::from_str(&line?)?);
        sent.map_err(io::Error::other)?;
        wake.write_all(b".")?;
    }
    // Nothing more will come: a reader at the other end of the pipe must not be woken by its end.
    loop {
        std::thread::park();
    }
}
