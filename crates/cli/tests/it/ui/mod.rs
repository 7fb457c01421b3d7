//! The page: its requests as they are on the wire, and the page itself in a browser.

mod browser;
mod buttons;
mod documents;
mod guard;
mod types;

use std::io::{BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::process::{Child, ChildStdout, Stdio};
use std::time::Duration;

use serde_json::Value;
use team_executor_testkit::World;
use team_executor_testkit::limited::*;

/// Longer than any answer may take.
const LIMIT: Duration = Duration::from_secs(120);

/// A page that is served.
struct Served {
    child: Child,
    _output: BufReader<ChildStdout>,
    /// With the token.
    address: String,
    port: u16,
    token: String,
}

/// An answer as it was sent.
#[derive(Debug)]
struct Answer {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Served {
    fn start(world: &World, flags: &[&str]) -> Self {
        let mut command = world.command(&[&["ui", "--no-open"], flags].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().expect("it starts");
        let mut output = BufReader::new(child.stdout.take().expect("output"));
        let line = output.limited_line().expect("an address");
        let address = line.split_once(": ").expect("an address").1.to_owned();
        let (host, fragment) = address.split_once("/#t=").expect("a token");
        let token = fragment.split('&').next().unwrap_or_default().to_owned();
        let port = host.rsplit_once(':').expect("a port").1.parse().expect("a number");
        Self { child, _output: output, address, port, token }
    }

    /// Sends bytes as they are, and reads until the other end closes.
    fn raw(&self, bytes: &[u8]) -> Answer {
        let mut stream = self.connect();
        // A server that refuses may close before all was sent.
        let _sent = stream.write_all(bytes);
        Answer::read(stream)
    }

    fn connect(&self) -> TcpStream {
        let stream = TcpStream::connect(("127.0.0.1", self.port)).expect("it listens");
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        stream.set_write_timeout(Some(LIMIT)).expect("a socket");
        stream
    }

    /// The headers of a request by the page.
    fn headers(&self) -> String {
        format!("Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\nConnection: close\r\n", self.port, self.token)
    }

    fn get(&self, path: &str) -> Answer {
        self.raw(format!("GET {path} HTTP/1.1\r\n{}\r\n", self.headers()).as_bytes())
    }

    /// A document.
    fn document(&self, path: &str) -> Value {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        serde_json::from_slice(&answer.body).expect("JSON")
    }

    /// What is asked for of a run, as the page does.
    fn ask(&self, run: &str, body: &Value) -> Answer {
        let (body, port) = (body.to_string(), self.port);
        let own = format!("Origin: http://127.0.0.1:{port}\r\nContent-Type: application/json\r\n");
        let head =
            format!("POST /api/runs/{run}/requests HTTP/1.1\r\n{}{own}Content-Length: {}", self.headers(), body.len());
        self.raw(format!("{head}\r\n\r\n{body}").as_bytes())
    }
}

impl Drop for Served {
    fn drop(&mut self) {
        // It may be dead already.
        let _killed = self.child.kill();
        if !std::thread::panicking() {
            self.child.limited_wait();
        }
    }
}

impl Answer {
    fn read(mut stream: TcpStream) -> Self {
        let mut bytes = Vec::new();
        // A server that closes while more was to be read resets the connection; what it said is there.
        let _end = stream.read_to_end(&mut bytes);
        let end = bytes.windows(4).position(|four| four == b"\r\n\r\n").unwrap_or(bytes.len());
        let head = String::from_utf8_lossy(&bytes[..end]).to_ascii_lowercase();
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0);
        Self { status, body: bytes.get(end + 4..).unwrap_or_default().to_vec(), head }
    }

    fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }
}

/// A session of tasks, each with the tasks that it builds on.
fn session(tasks: &[(&str, &str)]) -> World {
    let world = World::new(env!("CARGO_BIN_EXE_team-executor"));
    let mut table = String::from("id,title,deps,role\n");
    table.extend(tasks.iter().map(|(id, deps)| format!("{id},Do {id},{deps},worker\n")));
    world.write(".workflow/.team/TC-x/tasks.csv", table);
    world
}

/// How the session above is named.
const SESSION: &str = "--session=.workflow/.team/TC-x";
