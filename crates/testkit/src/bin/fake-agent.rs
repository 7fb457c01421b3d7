//! A worker that does what its arguments say, one after the other, for tests of those who run workers:
//!
//! `print TEXT`, `err TEXT`: a line to standard output or error. `flood BYTES`: lines without end. `not-utf8`: bytes that
//! are no text. `env`: its environment. `fds`: its open files. `group`: whether it leads one. `read-stdin`: all of its input.
//! `write FILE TEXT`: a file. `beat PIPE`: shows in a `Pulse` that it lives, until it is dead. `hold PIPE`: waits until
//! another process opens the pipe and closes it. `hang`: for ever. `close-output`: its output goes nowhere from now on.
//! `say SOCKET LINE`: prints the line that a socket answers. `ignore-term`: from now on. `exit CODE`, `signal NUMBER`: ends by it.
//! `spawn … ;`: a child that does what stands there. `spawn-and-wait … ;`: likewise, and waits for it. `daemon … ;`: a
//! process without parents, without output and in a session of its own.

use std::error::Error;
use std::fs::{self, File};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt as _;
use std::process::{Command, ExitCode, Stdio};

fn main() -> ExitCode {
    let mut script = Script { args: std::env::args().skip(1).collect::<Vec<_>>().into_iter(), open: Vec::new() };
    match script.run() {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            let _unheard = writeln!(io::stderr(), "fake-agent: {error}");
            ExitCode::from(99)
        }
    }
}

struct Script {
    args: std::vec::IntoIter<String>,
    /// Held until the end of the process.
    open: Vec<File>,
}

impl Script {
    fn run(&mut self) -> Result<u8, Box<dyn Error>> {
        while let Some(verb) = self.args.next() {
            let mut out = io::stdout();
            match verb.as_str() {
                "print" => writeln!(out, "{}", self.arg()?)?,
                "err" => writeln!(io::stderr(), "{}", self.arg()?)?,
                "flood" => flood(self.arg()?.parse()?)?,
                "not-utf8" => out.write_all(b"\xff\xfe\x80\n")?,
                "env" => std::env::vars().try_for_each(|(name, value)| writeln!(out, "{name}={value}"))?,
                "fds" => writeln!(out, "{}", open_files()?.join(" "))?,
                "group" => {
                    let leads = rustix::process::getpgrp() == rustix::process::getpid();
                    writeln!(out, "{}", if leads { "leads its group" } else { "is in a group" })?;
                }
                "read-stdin" => {
                    let mut text = Vec::new();
                    io::stdin().read_to_end(&mut text)?;
                    writeln!(out, "{} bytes: {}", text.len(), String::from_utf8_lossy(&text))?;
                }
                "write" => fs::write(self.arg()?, self.arg()?)?,
                "beat" => {
                    let mut pulse = File::options().write(true).open(self.arg()?)?;
                    pulse.write_all(b".")?;
                    self.open.push(pulse);
                }
                "hold" => drop(io::copy(&mut File::open(self.arg()?)?, &mut io::sink())?),
                "hang" => loop {
                    std::thread::park();
                },
                "say" => {
                    let mut socket = UnixStream::connect(self.arg()?)?;
                    writeln!(socket, "{}", self.arg()?)?;
                    let mut answer = String::new();
                    BufReader::new(socket).read_line(&mut answer)?;
                    write!(out, "{answer}")?;
                }
                "close-output" => {
                    let nowhere = File::options().write(true).open("/dev/null")?;
                    rustix::stdio::dup2_stdout(&nowhere)?;
                    rustix::stdio::dup2_stderr(&nowhere)?;
                }
                "ignore-term" => return Err(self.ignoring_term()?.into()),
                "exit" => return Ok(self.arg()?.parse()?),
                "signal" => {
                    let number = self.arg()?.parse()?;
                    let signal = rustix::process::Signal::from_named_raw(number).ok_or("no such signal")?;
                    rustix::process::kill_process(rustix::process::getpid(), signal)?;
                }
                "spawn" => drop(self.child()?.spawn()?),
                "spawn-and-wait" => drop(self.child()?.status()?),
                // The child makes a session and a child of its own in it, and ends.
                "daemon" => {
                    let mut middle = Command::new(std::env::current_exe()?);
                    middle.args(["in-a-session", "spawn"]).args(self.block());
                    middle.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
                }
                "in-a-session" => drop(rustix::process::setsid()?),
                other => return Err(format!("unknown: {other}").into()),
            }
        }
        Ok(0)
    }

    fn arg(&mut self) -> Result<String, String> {
        self.args.next().ok_or_else(|| "an argument is missing".to_owned())
    }

    /// What stands before the next semicolon.
    fn block(&mut self) -> Vec<String> {
        self.args.by_ref().take_while(|arg| arg != ";").collect()
    }

    fn child(&mut self) -> io::Result<Command> {
        let mut command = Command::new(std::env::current_exe()?);
        command.args(self.block());
        Ok(command)
    }

    /// Goes on as a program that ignores the signal: what is ignored stays ignored.
    fn ignoring_term(&mut self) -> io::Result<io::Error> {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", "trap '' TERM; exec \"$0\" \"$@\""]).arg(std::env::current_exe()?);
        Ok(command.args(self.args.by_ref()).exec())
    }
}

fn flood(bytes: usize) -> io::Result<()> {
    let line = [[b'x'; 99].as_slice(), b"\n"].concat();
    let mut out = io::BufWriter::with_capacity(1 << 16, io::stdout());
    for _ in 0..bytes / line.len() {
        out.write_all(&line)?;
    }
    out.write_all(&line[..bytes % line.len()])?;
    out.flush()
}

fn open_files() -> io::Result<Vec<String>> {
    let mut numbers: Vec<String> = Vec::new();
    for entry in fs::read_dir("/proc/self/fd")? {
        let entry = entry?;
        // The listing itself is open too.
        if fs::read_link(entry.path()).is_ok_and(|target| !target.starts_with("/proc")) {
            numbers.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    numbers.sort();
    Ok(numbers)
}
