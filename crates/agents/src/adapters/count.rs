//! What an agent uses, counted from its events while it works. Claude and Codex say it request by request. Of the others it is
//! estimated from what they send and write, until they say it themselves at the end of a turn.

use std::collections::VecDeque;

use serde_json::Value;

use super::stream::{Stream, number, text};

/// So many bytes of text are about one token.
const BYTES_A_TOKEN: u64 = 4;
/// The instructions and the tools that an agent sends with each request, in tokens; about what Gemini CLI and Codex send.
const INSTRUCTIONS: u64 = 8000;
/// So many messages can be under way at a time: those of agents that an agent starts come in between.
const UNDER_WAY: usize = 32;

/// Tokens of one request or several, and how many requests these were.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Counts {
    /// All that was sent.
    pub(super) input: u64,
    /// Of it, what came from a cache.
    pub(super) cached: u64,
    /// Of it, what was put into a cache.
    pub(super) stored: u64,
    pub(super) output: u64,
    pub(super) requests: u64,
}

impl Counts {
    /// As Anthropic says it: what went through a cache is told apart.
    pub(super) fn of_claude(usage: &Value) -> Self {
        let of = |key| number(usage, key).unwrap_or(0);
        let (cached, stored) = (of("cache_read_input_tokens"), of("cache_creation_input_tokens"));
        let input = of("input_tokens").saturating_add(stored).saturating_add(cached);
        Self { input, cached, stored, output: of("output_tokens"), requests: 0 }
    }

    fn with(self, other: Self, both: fn(u64, u64) -> u64) -> Self {
        Self {
            input: both(self.input, other.input),
            cached: both(self.cached, other.cached),
            stored: both(self.stored, other.stored),
            output: both(self.output, other.output),
            requests: both(self.requests, other.requests),
        }
    }

    fn plus(self, other: Self) -> Self {
        self.with(other, u64::saturating_add)
    }

    /// The larger of each.
    pub(super) fn or_more(self, other: Self) -> Self {
        self.with(other, u64::max)
    }
}

/// What is counted so far.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct Counting {
    /// What the agent itself has summed up.
    said: Counts,
    /// What came since.
    open: Counts,
    /// Messages of Claude whose blocks may not all have come.
    messages: VecDeque<(String, Counts)>,
    /// What an agent of which it is estimated sends with its next request, in bytes, besides its instructions.
    context: u64,
    /// Something was sent since the model answered last.
    is_answered: bool,
}

impl Stream {
    /// One block of a message of Claude came. Each block tells the usage of the whole message, with the output only begun.
    pub(super) fn block(&mut self, message: &Value) {
        // Text that Claude itself makes, such as an error message, is no answer of a model.
        let Some(id) = text(message, "id").filter(|_| text(message, "model") != Some("<synthetic>")) else { return };
        let written = message["content"].as_array().into_iter().flatten().map(length).fold(0, u64::saturating_add);
        let written = written / BYTES_A_TOKEN;
        let told = Counts { requests: 1, ..Counts::of_claude(&message["usage"]) };
        let blocks = || message["content"].as_array().into_iter().flatten();
        // A report by its schema is the last that it asks for.
        let uses_tool =
            |block: &Value| text(block, "type") == Some("tool_use") && text(block, "name") != Some("StructuredOutput");
        let goes_on = blocks().any(uses_tool);
        let Counting { open, messages, .. } = &mut self.counting;
        let known = messages.iter_mut().find(|(known, _)| known == id);
        let (was, now) = match known {
            Some((_, counts)) => {
                let was = *counts;
                let output = told.output.max(was.output.saturating_add(written));
                *counts = Counts { output, ..was.or_more(told) };
                self.usage.goes_on |= goes_on;
                (was, *counts)
            }
            None => {
                let now = Counts { output: told.output.max(written), ..told };
                messages.push_back((id.to_owned(), now));
                self.usage.goes_on = goes_on;
                (Counts::default(), now)
            }
        };
        *open = open.plus(now.with(was, u64::saturating_sub));
        if messages.len() > UNDER_WAY {
            messages.pop_front();
        }
        self.sum_up();
    }

    /// What was counted since the agent summed up last.
    pub(super) const fn open(&self) -> Counts {
        self.counting.open
    }

    /// The agent says what it used since it said so last.
    pub(super) fn settle(&mut self, counts: Counts) {
        self.counting.said = self.counting.said.plus(counts);
        self.forget_open();
    }

    /// The agent says what it used in all.
    pub(super) fn settle_all(&mut self, counts: Counts) {
        self.counting.said = counts;
        self.forget_open();
    }

    /// What the agent itself has summed up.
    pub(super) const fn said(&self) -> Counts {
        self.counting.said
    }

    /// What came since the last sum does not count.
    pub(super) fn forget_open(&mut self) {
        (self.counting.open, self.counting.is_answered) = (Counts::default(), false);
        self.counting.messages.clear();
        self.sum_up();
    }

    /// The model wrote something: the answer to a request, if something was sent since its last one.
    pub(super) fn answers(&mut self, bytes: u64) {
        let Counting { open, context, is_answered, .. } = &mut self.counting;
        if !std::mem::replace(is_answered, true) {
            self.usage.goes_on = false;
            open.requests += 1;
            open.input = open.input.saturating_add(INSTRUCTIONS.saturating_add(*context / BYTES_A_TOKEN));
        }
        open.output = open.output.saturating_add(bytes.div_ceil(BYTES_A_TOKEN));
        *context = context.saturating_add(bytes);
        self.sum_up();
    }

    /// The model uses a tool, and is asked again with what comes of that.
    pub(super) fn calls(&mut self, bytes: u64) {
        self.answers(bytes);
        self.usage.goes_on = true;
    }

    /// The model is told something with the next request.
    pub(super) fn is_sent(&mut self, bytes: u64) {
        self.counting.context = self.counting.context.saturating_add(bytes);
        self.counting.is_answered = false;
    }

    /// The agent says how much it sends with each request now.
    pub(super) fn sends(&mut self, tokens: u64) {
        self.counting.context = tokens.saturating_sub(INSTRUCTIONS).saturating_mul(BYTES_A_TOKEN);
    }

    fn sum_up(&mut self) {
        let Counting { said, open, .. } = &self.counting;
        let all = said.plus(*open);
        let usage = &mut self.usage;
        (usage.input, usage.cached, usage.stored, usage.output) = (all.input, all.cached, all.stored, all.output);
        usage.turns = (all.requests > 0).then_some(all.requests);
        usage.is_estimated = *open != Counts::default();
    }
}

/// How long a value is as text.
pub(super) fn length(value: &Value) -> u64 {
    match value {
        Value::Null => 0,
        Value::String(text) => text.len() as u64,
        Value::Array(all) => all.iter().map(length).fold(0, u64::saturating_add),
        Value::Object(all) => all.values().map(length).fold(0, u64::saturating_add),
        Value::Bool(_) | Value::Number(_) => 4,
    }
}
