//! A nats-server of a test's own on loopback, as `cargo xtask nats` installs it, and someone who listens to all that is said there.

use std::fs;
use std::io::{BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};

use tempfile::TempDir;

use crate::limited::{LimitedChild as _, LimitedLines as _, limited_until};
use crate::must;

/// A server. It is killed when it is dropped.
#[derive(Debug)]
pub struct Nats {
    program: PathBuf,
    folder: TempDir,
    port: u16,
    more: String,
    server: Option<Child>,
}

impl Nats {
    /// Starts one, if it is installed in the build folder of a binary, usually `env!("CARGO_BIN_EXE_team-executor")`.
    #[track_caller]
    pub fn start(binary: &str) -> Option<Self> {
        Self::start_with(binary, "")
    }

    /// The same with more of its configuration.
    #[track_caller]
    pub fn start_with(binary: &str, more: &str) -> Option<Self> {
        let program =
            Path::new(binary).ancestors().map(|above| above.join("nats/nats-server")).find(|path| path.is_file())?;
        let folder = must("creating a folder in", &std::env::temp_dir(), tempfile::tempdir());
        let free = must("asking for a port", Path::new("loopback"), TcpListener::bind("127.0.0.1:0"));
        let port = must("asking for a port", Path::new("loopback"), free.local_addr()).port();
        drop(free);
        let mut nats = Self { program, folder, port, more: more.to_owned(), server: None };
        nats.resume();
        Some(nats)
    }

    /// Its address.
    pub fn url(&self) -> String {
        format!("nats://127.0.0.1:{}", self.port)
    }

    /// Kills it, as a power cut would but for what the system holds.
    pub fn kill(&mut self) {
        if let Some(mut server) = self.server.take() {
            let _gone_already = server.kill();
            server.limited_wait();
        }
    }

    /// Starts it again with what it had, and waits until it answers.
    #[track_caller]
    pub fn resume(&mut self) {
        self.kill();
        let (path, config) = (self.folder.path().join("server.conf"), self.folder.path().display());
        let text = format!(
            "listen: \"127.0.0.1:{}\"\njetstream {{ store_dir: \"{config}/store\", sync_interval: always }}\n{}",
            self.port, self.more
        );
        must("writing", &path, fs::write(&path, text));
        let log = self.folder.path().join("log");
        let mut command = Command::new(&self.program);
        command
            .arg("-c")
            .arg(&path)
            .arg("-l")
            .arg(&log)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        self.server = Some(must("starting", &self.program, command.spawn()));
        limited_until("the server answers", || TcpStream::connect(("127.0.0.1", self.port)).ok());
        limited_until("the server is ready", || {
            fs::read_to_string(&log).ok()?.contains("Server is ready").then_some(())
        });
    }

    /// Someone who hears every message from now on.
    #[track_caller]
    pub fn listen(&self) -> Listener {
        let mut out = self.connect("{\"verbose\":false}");
        must("listening", Path::new("server"), out.write_all(b"SUB > 1\r\nPING\r\n"));
        let mut lines = BufReader::new(must("listening", Path::new("server"), out.try_clone()));
        while lines.limited_line().is_some_and(|line| line.trim_end() != "PONG") {}
        let heard = Arc::new(Mutex::new(Vec::new()));
        let hears = Arc::clone(&heard);
        let listen = move || {
            let mut buffer = [0; 1 << 16];
            while let Ok(count @ 1..) = lines.read(&mut buffer) {
                hears.lock().unwrap_or_else(PoisonError::into_inner).extend_from_slice(&buffer[..count]);
                if buffer[..count].starts_with(b"PING") {
                    let _gone_then = out.write_all(b"PONG\r\n");
                }
            }
        };
        std::thread::spawn(listen);
        Listener { heard }
    }

    /// Says something, as any program could that may connect.
    #[track_caller]
    pub fn publish(&self, subject: &str, text: &str) {
        let said = self.say("{\"verbose\":false}", &format!("PUB {subject} {}\r\n{text}\r\n", text.len()));
        assert!(!said.contains("-ERR"), "{said}");
    }

    /// Whether this user may say something under a subject.
    #[track_caller]
    pub fn may_publish(&self, user: &str, password: &str, subject: &str) -> bool {
        let login = format!("{{\"verbose\":false,\"user\":\"{user}\",\"pass\":\"{password}\"}}");
        let said = self.say(&login, &format!("PUB {subject} 0\r\n\r\n"));
        assert!(!said.contains("Authorization Violation"), "{said}");
        !said.contains("Permissions Violation")
    }

    /// What the server answers to one command.
    #[track_caller]
    fn say(&self, login: &str, command: &str) -> String {
        let mut stream = self.connect(login);
        must("publishing", Path::new("server"), stream.write_all(format!("{command}PING\r\n").as_bytes()));
        let mut lines = BufReader::new(stream);
        let said = std::iter::from_fn(|| lines.limited_line().filter(|line| line.trim_end() != "PONG"));
        said.collect::<Vec<_>>().join("\n")
    }

    #[track_caller]
    fn connect(&self, login: &str) -> TcpStream {
        let mut stream = must("connecting to", Path::new("server"), TcpStream::connect(("127.0.0.1", self.port)));
        must("connecting to", Path::new("server"), stream.write_all(format!("CONNECT {login}\r\n").as_bytes()));
        stream
    }
}

impl Drop for Nats {
    fn drop(&mut self) {
        self.kill();
    }
}

/// All that was said.
#[derive(Debug)]
pub struct Listener {
    heard: Arc<Mutex<Vec<u8>>>,
}

impl Listener {
    /// All of it so far, as text.
    pub fn heard(&self) -> String {
        String::from_utf8_lossy(&self.heard.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }
}
