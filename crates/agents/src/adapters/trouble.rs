//! Errors of an agent, and whether another attempt can help. Each agent words them differently.

mod clock;

/// The most that is kept of what an agent says.
const WORDS: usize = 1000;
/// No reset is later than this; what says so is not understood.
const LONGEST_MS: u64 = 8 * 24 * 3600 * 1000;

/// What went wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trouble {
    /// What it says about another attempt.
    pub class: Class,
    /// For people.
    pub words: String,
}

/// What trouble says about another attempt.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// It can help.
    Transient,
    /// It can help when there is quota again.
    Quota {
        /// When that is, in milliseconds since 1970, where it was said.
        until: Option<u64>,
    },
    /// It can help when the service answers again, or with the service of another agent.
    Unreachable,
    /// It cannot help: the agent is not logged in.
    Auth,
    /// It cannot help: the account has no credit left.
    Credit,
    /// It can help when there is more to be used: the agent kept to what it was told that it may use.
    Overspent,
    /// It cannot help.
    Fatal,
}

/// What services say of quota, in small letters.
const OF_QUOTA: &[&str] = &[
    "rate limit",
    "rate_limit",
    "usage limit",
    "quota",
    "too many requests",
    "overloaded",
    "resource_exhausted",
    "resource exhausted",
];
/// Phrases of services and agents that are not logged in.
const OF_AUTH: &[&str] =
    &["unauthorized", "authenticat", "api key", "api_key", "not logged in", "please log in", "please login", "/login"];
/// Phrases of services for an account without credit. Of some quotas they say "check your plan and billing
/// details" too.
const OF_CREDIT: &[&str] = &[
    "credit balance is too low",
    "insufficient_quota",
    "insufficient credit",
    "insufficient balance",
    "payment required",
    "out of credits",
];
/// What agents say where their service does not answer.
const OF_NETWORK: &[&str] = &[
    "waiting for network",
    "error sending request",
    "connection error",
    "connection refused",
    "unable to connect",
    "econnrefused",
    "enotfound",
    "eai_again",
    "etimedout",
    "fetch failed",
    "bad gateway",
    "service unavailable",
    "gateway timeout",
];
/// What stands before a length of time after which there is quota again.
const BEFORE_WAIT: &[&str] = &[
    "try again in ",
    "retry in ",
    "retry after ",
    "retry-after: ",
    "retrydelay\":\"",
    "retrydelay\": \"",
    "resets in ",
    "reset after ",
];

impl Trouble {
    /// Sorts what was said. `status` is that of the service, where it was said apart.
    pub(super) fn classify(status: Option<u64>, words: &str, now_ms: u64) -> Self {
        let small = words.to_lowercase();
        let says = |list: &[&str]| list.iter().any(|one| small.contains(one));
        let class = match status.or_else(|| status_in(words)) {
            Some(402) => Class::Credit,
            _ if says(OF_CREDIT) => Class::Credit,
            Some(401 | 403) => Class::Auth,
            Some(429 | 529) => Class::Quota { until: reset(&small, now_ms) },
            _ if says(OF_QUOTA) => Class::Quota { until: reset(&small, now_ms) },
            _ if says(OF_AUTH) => Class::Auth,
            Some(400 | 404 | 413 | 422) => Class::Fatal,
            Some(502..=504) => Class::Unreachable,
            _ if says(OF_NETWORK) => Class::Unreachable,
            _ => Class::Transient,
        };
        Self { class, words: words.chars().take(WORDS).collect() }
    }
}

/// The first status of HTTP that a text names.
fn status_in(words: &str) -> Option<u64> {
    let numbers = words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| word.len() == 3);
    numbers.filter_map(|word| word.parse().ok()).find(|status| {
        matches!(status, 400 | 401 | 402 | 403 | 404 | 408 | 413 | 422 | 429 | 500 | 502 | 503 | 504 | 529)
    })
}

/// When there is quota again, in milliseconds since 1970: after a wait that is named, at a time in seconds since then, or at
/// a time of day.
fn reset(small: &str, now_ms: u64) -> Option<u64> {
    let waits = BEFORE_WAIT.iter().filter_map(|before| small.split_once(before));
    let wait = waits.filter_map(|(_, rest)| length(rest)).find(|wait| *wait <= LONGEST_MS);
    let at = || {
        let times = small.split(|c: char| !c.is_ascii_digit()).filter(|word| word.len() == 10);
        let times = times.filter_map(|word| word.parse::<u64>().ok()).map(|seconds| seconds * 1000);
        times.into_iter().find(|at| (now_ms..=now_ms.saturating_add(LONGEST_MS)).contains(at))
    };
    wait.map(|wait| now_ms.saturating_add(wait)).or_else(at).or_else(|| clock::reset(small, now_ms, LONGEST_MS))
}

/// A length of time in milliseconds: `3s`, `2.5 seconds`, `1h5m`, `2 hours and 5 minutes`; a bare number is seconds.
fn length(text: &str) -> Option<u64> {
    let (mut rest, mut all) = (text, None);
    loop {
        rest = rest.trim_start_matches([' ', ',']);
        rest = rest.strip_prefix("and ").unwrap_or(rest);
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, behind) = rest.split_at(end);
        let Ok(number) = number.parse::<f64>() else { return all };
        let behind = behind.trim_start_matches(' ');
        let end = behind.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(behind.len());
        let (unit, behind) = behind.split_at(end);
        let millis = match unit {
            "ms" | "milliseconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60e3,
            "h" | "hour" | "hours" => 3600e3,
            "d" | "day" | "days" => 86_400e3,
            _ => 1e3,
        };
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "too much saturates; it has no sign"
        )]
        let millis = (number * millis).ceil() as u64;
        all = Some(all.unwrap_or(0).saturating_add(millis));
        rest = behind;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: u64 = 1_794_768_000_000;

    fn class(status: Option<u64>, words: &str) -> Class {
        Trouble::classify(status, words, NOW).class
    }

    #[test]
    fn service_errors_are_classified_by_status_then_words() {
        let quota = Class::Quota { until: None };
        for (status, words, expected) in [
            (Some(401), "no", Class::Auth),
            (Some(400), "no", Class::Fatal),
            (Some(429), "no", quota),
            (Some(500), "no", Class::Transient),
            (None, "unexpected status 401 Unauthorized: no, url: http://127.0.0.1:4003/v1", Class::Auth),
            (None, r#"{"error": {"type": "server_error", "code": "400", "message": "no"}}"#, Class::Fatal),
            (None, "[API Error: {\"error\":{\"code\":529}}]", quota),
            (None, "The model is overloaded", quota),
            (None, "You exceeded your current quota", quota),
            (None, "Not logged in. Please run /login", Class::Auth),
            (None, "[API Error: 400 API key not valid]", Class::Auth),
            (None, "stream disconnected before completion", Class::Transient),
            (None, "", Class::Transient),
            (Some(402), "no", Class::Credit),
            (Some(400), "Your credit balance is too low to access the Anthropic API.", Class::Credit),
            (None, "429: {\"code\": \"insufficient_quota\"}", Class::Credit),
            (
                None,
                "Reconnecting... waiting for network (Connection failed: error sending request)",
                Class::Unreachable,
            ),
            (None, "API Error: Connection refused (ECONNREFUSED)", Class::Unreachable),
            (Some(503), "no", Class::Unreachable),
        ] {
            assert_eq!(class(status, words), expected, "{status:?} {words}");
        }
    }

    #[test]
    fn reset_is_a_wait_or_a_time_or_none() {
        let until = |words: &str| match class(Some(429), words) {
            Class::Quota { until } => until.map(|until| until - NOW),
            other => panic!("{other:?}"),
        };
        assert_eq!(until("Please try again in 3s."), Some(3000));
        assert_eq!(until("rate limit; retry after 7"), Some(7000));
        assert_eq!(until("try again in 1.5 seconds"), Some(1500));
        assert_eq!(until("Try again in 2 hours and 5 minutes."), Some(7_500_000));
        assert_eq!(until("try again in 1h5m3s"), Some(3_903_000));
        assert_eq!(until(r#"{"retryDelay":"20ms"}"#), Some(20));
        assert_eq!(until("usage limit reached|1794768060"), Some(60_000));
        for not_said in ["usage limit reached|1694768060", "try again in 900 days", "try again in a while", "later"] {
            assert_eq!(until(not_said), None, "{not_said}");
        }
    }

    #[test]
    fn a_flood_of_words_is_cut() {
        assert_eq!(Trouble::classify(None, &"ä".repeat(5000), 0).words.chars().count(), WORDS);
    }
}
