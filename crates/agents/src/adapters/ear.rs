//! Hears the events of an agent piece by piece, as its log grows.

use serde_json::Value;

use super::Adapter;
use super::stream::{LINE_BYTES, Stream};
use crate::json;

/// What an agent has said so far, wherever its output was cut.
#[derive(Debug)]
pub struct Ear {
    adapter: Adapter,
    stream: Stream,
    /// A line that has not ended yet.
    line: Vec<u8>,
    /// That line is too long to be an event.
    is_rest: bool,
}

impl Ear {
    /// Nothing was said yet.
    pub fn new(adapter: Adapter) -> Self {
        Self { adapter, stream: Stream::default(), line: Vec::new(), is_rest: false }
    }

    /// Takes the next bytes of the output. `at` is the time, in milliseconds since 1970.
    pub fn feed(&mut self, bytes: &[u8], at: u64) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            if !self.is_rest {
                self.line.extend_from_slice(piece);
            }
            if piece.ends_with(b"\n") {
                self.line_ends(at);
            } else if self.line.len() as u64 >= LINE_BYTES {
                (self.is_rest, self.line) = (true, Vec::new());
            }
        }
    }

    /// What its events add up to.
    pub const fn stream(&self) -> &Stream {
        &self.stream
    }

    fn line_ends(&mut self, at: u64) {
        if !std::mem::take(&mut self.is_rest)
            && let Ok(event @ Value::Object(_)) = json::value(&String::from_utf8_lossy(&self.line))
        {
            self.adapter.hear(&mut self.stream, &event, at);
        }
        self.line.clear();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_heard_wherever_the_output_is_cut() {
        let output = "{\"type\":\"init\",\"session_id\":\"g\",\"model\":\"pro\"}\nno event\n\
                      {\"type\":\"tool_use\",\"tool_name\":\"run_shell_command\",\"parameters\":{\"command\":\"make\"}}\n{\"ty"
            .as_bytes();
        for cut in 0..output.len() {
            let mut ear = Ear::new(Adapter::Gemini);
            ear.feed(&output[..cut], 0);
            ear.feed(&output[cut..], 0);
            assert_eq!(ear.stream().usage.session_id.as_deref(), Some("g"), "{cut}");
            assert_eq!(ear.stream().doing.as_deref(), Some("runs make"), "{cut}");
        }
    }

    #[test]
    fn line_that_is_too_long_is_skipped() {
        let mut ear = Ear::new(Adapter::Gemini);
        (0..=LINE_BYTES >> 20).for_each(|_| ear.feed(&vec![b'x'; 1 << 20], 0));
        assert!(ear.line.is_empty());
        ear.feed(b"\n{\"type\":\"init\",\"session_id\":\"g\"}\n", 0);
        assert_eq!(ear.stream().usage.session_id.as_deref(), Some("g"));
    }

    const ASKED: &str = r#"{"type":"assistant","message":{"id":"m1","content":[],"usage":{"input_tokens":9,"cache_read_input_tokens":90,"output_tokens":1}}}"#;

    /// R: A-10
    #[test]
    fn each_message_of_claude_counts_once_while_it_works() {
        let text = format!("{ASKED}\nnoise\n{ASKED}\n{}\n", ASKED.replace("m1", "m2"));
        for chunk in [1, 7, 100, text.len()] {
            let mut ear = Ear::new(Adapter::Claude);
            text.as_bytes().chunks(chunk).for_each(|bytes| ear.feed(bytes, 0));
            let usage = &ear.stream().usage;
            assert_eq!((usage.input, usage.cached, usage.turns), (198, 180, Some(2)), "chunks of {chunk}");
            assert!(usage.is_estimated, "no sum was said");
        }
    }

    /// R: A-12
    #[test]
    fn complaint_about_the_service_is_no_step() {
        let mut codex = Ear::new(Adapter::Codex);
        codex.feed(b"{\"type\":\"turn.started\"}\n", 0);
        codex.feed(b"{\"type\":\"error\",\"message\":\"Reconnecting... waiting for network\"}\n", 0);
        assert_eq!(codex.stream().steps, 1);
        let mut claude = Ear::new(Adapter::Claude);
        claude.feed(b"{\"type\":\"system\",\"subtype\":\"api_retry\"}\n", 0);
        assert_eq!(claude.stream().steps, 0);
    }
}
