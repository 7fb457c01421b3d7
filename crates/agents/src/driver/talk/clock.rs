//! Actions when time is over: an agent is urged, interrupted and urged again, then closed; an unanswered
//! question is answered with no.

use std::time::Instant;

use serde_json::json;

use super::{Asked, Talk};

/// The message to an agent whose time is over.
const URGE: &str = "Your time is almost over. Stop what you are doing, and report now what you have: what is done, and what \
                    is not.";

impl Talk {
    /// When something is to be done whatever happens.
    pub(super) fn next_time(&self) -> Option<Instant> {
        let urge = self.urge_at.filter(|_| !self.urged);
        let cut = self.cut_at.filter(|_| !self.cut);
        let answers = self.questions.iter().filter_map(|asked| asked.until);
        [urge, cut, self.close_at].into_iter().flatten().chain(answers).min()
    }

    /// Does what is due.
    pub(super) fn look_at_the_clock(&mut self, now: Instant) {
        let is_past = |at: &Option<Instant>| at.is_some_and(|at| at <= now);
        while let Some(late) = self.questions.iter().position(|asked| is_past(&asked.until)) {
            let Asked { question, .. } = self.questions.remove(late);
            self.answer(&question, false, "none");
        }
        if self.over {
            return;
        }
        if is_past(&self.close_at) {
            self.mark("closed", &json!({"by": "limit"}));
            self.over = true;
        } else if is_past(&self.cut_at) && !self.cut {
            self.cut_at = None;
            if self.dialogue.is_busy() {
                self.interrupt_to_urge();
            }
        } else if is_past(&self.urge_at) && !self.urged {
            self.urge();
        }
    }

    fn urge(&mut self) {
        self.urged = true;
        self.mark("urged", &json!({}));
        if !self.dialogue.is_busy() {
            return if self.heard { self.say(URGE) } else { self.waiting.push_back(URGE.to_owned()) };
        }
        if self.dialogue.joins() {
            let mut out = Vec::new();
            self.dialogue.say(URGE, &mut out);
            return self.send(&out);
        }
        self.cut_at = None;
        self.interrupt_to_urge();
    }

    /// Ends the turn, and urges next, once.
    fn interrupt_to_urge(&mut self) {
        self.waiting.retain(|words| words != URGE);
        self.waiting.push_front(URGE.to_owned());
        self.interrupt();
    }
}
