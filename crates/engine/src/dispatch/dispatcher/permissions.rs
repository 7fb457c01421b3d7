//! What agents ask to be allowed while they work. A person is asked at the terminal, or answers by a command; who answers
//! neither way is waited for by the conversation itself, which takes that for a no after its time.

use team_executor_agents::driver::door::Word;
use team_executor_core::run::Run;

use super::desk::RealDesk;
use crate::control::Answer;
use crate::control::request::Permission;
use crate::event::{self, Event, Kind};
use crate::prepare::talk;

impl RealDesk<'_> {
    /// Asks a person whether an agent may do what it wants to.
    pub(super) fn agent_asks(&mut self, rules: &Run, asked: &Permission) -> Answer {
        let stage = rules.stage().word();
        if self.slot_of(rules, &asked.attempt).is_none() {
            return Answer::refused(stage, "no such attempt is running".to_owned());
        }
        let stage = stage.to_owned();
        self.permissions.push_back(asked.clone());
        if self.permissions.len() == 1 {
            self.ask_for_permission(rules);
        }
        Answer { stage, outcome: Ok(vec!["a person is asked".to_owned()]) }
    }

    /// Tells an agent what a person has typed. The end of the input answers nothing.
    pub(super) fn permitted(&mut self, rules: &Run, line: Option<&str>) {
        let Some(asked) = self.permissions.front().cloned() else { return };
        let allow = match line.map(|line| line.trim().to_lowercase()).as_deref() {
            None => return self.permissions.clear(),
            Some("y" | "yes" | "allow") => true,
            Some("n" | "no" | "deny") => false,
            Some(_) => {
                (self.tell)(event::warning("that was not understood".to_owned()));
                return self.ask_for_permission(rules);
            }
        };
        self.permissions.pop_front();
        let (run, word) = (self.at.path.clone(), Word::Answer { question: Some(asked.question), allow });
        // The conversation may take a moment, and the run does not wait for it.
        std::thread::spawn(move || talk::tell(&run, &asked.task, &word));
        self.ask_for_permission(rules);
    }

    /// Asks about the first that is still of interest.
    fn ask_for_permission(&mut self, rules: &Run) {
        while let Some(asked) = self.permissions.front().cloned() {
            if self.slot_of(rules, &asked.attempt).is_some() {
                let Permission { task, question, tool, what, .. } = asked;
                let asked = self.options.ask.is_some();
                (self.tell)(Event::live(Kind::Asks { task, question, tool, what, asked }));
                if self.options.ask.is_none() {
                    self.permissions.pop_front(); // it is answered by a command, or not at all
                    continue;
                }
                return;
            }
            self.permissions.pop_front();
        }
    }
}
