//! Which hosts are there, as their leader knows it. Nothing here looks at a clock of another machine: a host is missed by the time
//! in which the backend was reached and nothing new of it was there.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::wire::{PROTOCOL, Presence};

/// After so many of its leases without a word a host is lost. It ends its workers after one.
const LEASES: u32 = 2;

/// The hosts.
#[derive(Debug, Default)]
pub(crate) struct Roster {
    hosts: BTreeMap<String, Known>,
}

#[derive(Debug)]
struct Known {
    presence: Presence,
    /// How long nothing was heard of it while the backend was there.
    silent: Duration,
}

/// What a word of a host changes.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Heard {
    /// Nothing that matters to attempts.
    Same,
    /// It was not known before.
    New,
    /// It has lost its folder: what it had taken is gone.
    Emptied,
    /// It speaks another version of the messages.
    Strange,
}

impl Roster {
    /// A host says something.
    pub(crate) fn heard(&mut self, presence: Presence) -> Heard {
        let (name, home, protocol) = (presence.host.clone(), presence.home.clone(), presence.protocol);
        let before = self.hosts.insert(name, Known { presence, silent: Duration::ZERO });
        match before.map(|known| known.presence) {
            _ if protocol != PROTOCOL => Heard::Strange,
            None => Heard::New,
            Some(before) if before.home != home => Heard::Emptied,
            Some(_) => Heard::Same,
        }
    }

    /// So much time has passed in which the backend was there. These hosts are lost.
    pub(crate) fn passed(&mut self, time: Duration) -> Vec<String> {
        self.hosts.values_mut().for_each(|known| known.silent += time);
        let is_lost = |known: &Known| known.silent >= Duration::from_millis(known.presence.lease_ms) * LEASES;
        let lost: Vec<String> =
            self.hosts.iter().filter(|(_, known)| is_lost(known)).map(|(name, _)| name.clone()).collect();
        lost.iter().for_each(|name| drop(self.hosts.remove(name)));
        lost
    }

    /// A host that was never heard of since this leader began: it is missed like any other from now on.
    pub(crate) fn expect(&mut self, host: &str, lease: Duration) {
        let lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        self.hosts.entry(host.to_owned()).or_insert_with(|| Known {
            presence: Presence {
                protocol: PROTOCOL,
                version: String::new(),
                host: host.to_owned(),
                home: String::new(),
                incarnation: String::new(),
                slots: 0,
                labels: BTreeMap::new(),
                agents: Vec::new(),
                running: Vec::new(),
                drains: true,
                lease_ms,
            },
            silent: Duration::ZERO,
        });
    }

    /// Those that take work.
    pub(crate) fn open(&self) -> Vec<Presence> {
        let open = self.hosts.values().map(|known| &known.presence);
        open.filter(|host| host.protocol == PROTOCOL && !host.drains && host.slots > 0).cloned().collect()
    }
}

/// How many slots of a host are free for a leader that has given it these attempts and knows that those have ended.
pub(crate) fn free(host: &Presence, given: &BTreeSet<String>, ended: &BTreeSet<String>) -> usize {
    let others = host.running.iter().filter(|key| !given.contains(*key) && !ended.contains(*key)).count();
    host.slots.saturating_sub(given.len() + others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn presence(host: &str, home: &str) -> Presence {
        Presence {
            protocol: PROTOCOL,
            version: "1".to_owned(),
            host: host.to_owned(),
            home: home.to_owned(),
            incarnation: "i".to_owned(),
            slots: 4,
            labels: BTreeMap::new(),
            agents: Vec::new(),
            running: Vec::new(),
            drains: false,
            lease_ms: 60_000,
        }
    }

    #[test]
    fn silent_host_is_lost_after_two_leases_of_contact() {
        let mut roster = Roster::default();
        assert_eq!(roster.heard(presence("a", "1")), Heard::New);
        assert_eq!(roster.passed(Duration::from_secs(119)), Vec::<String>::new());
        assert_eq!(roster.heard(presence("a", "1")), Heard::Same);
        assert_eq!(roster.passed(Duration::from_secs(119)), Vec::<String>::new());
        // While the backend is away no time passes: nothing is told here.
        assert_eq!(roster.passed(Duration::from_secs(1)), ["a"]);
        assert_eq!(roster.open(), []);
        assert_eq!(roster.heard(presence("a", "1")), Heard::New, "it may come back");
    }

    #[test]
    fn host_that_never_says_a_word_is_lost_too() {
        let mut roster = Roster::default();
        roster.expect("a", Duration::from_secs(1));
        assert_eq!(roster.open(), [], "it gets no work before it is heard of");
        assert_eq!(roster.passed(Duration::from_secs(2)), ["a"]);
    }

    #[test]
    fn emptied_and_strange_hosts_are_recognised() {
        let mut roster = Roster::default();
        roster.heard(presence("a", "1"));
        assert_eq!(roster.heard(presence("a", "2")), Heard::Emptied);
        let older = Presence { protocol: PROTOCOL - 1, ..presence("b", "1") };
        assert_eq!(roster.heard(older), Heard::Strange);
        roster.heard(Presence { drains: true, ..presence("c", "1") });
        let open: Vec<_> = roster.open().into_iter().map(|host| host.host).collect();
        assert_eq!(open, ["a"], "no work for those that would not do it");
    }

    #[test]
    fn slot_that_several_say_is_taken_counts_once() {
        let set = |keys: &[&str]| keys.iter().map(|key| (*key).to_owned()).collect::<BTreeSet<_>>();
        let host = Presence { running: vec!["x".to_owned(), "y".to_owned(), "z".to_owned()], ..presence("a", "1") };
        assert_eq!(free(&host, &set(&[]), &set(&[])), 1);
        assert_eq!(free(&host, &set(&["x"]), &set(&["y"])), 2, "x is ours, y has ended since");
        assert_eq!(free(&host, &set(&["v", "w"]), &set(&[])), 0, "v and w are on their way");
    }
}
