//! The environment of a worker: the variables of its contract, and of the executor's own environment only what is on a
//! list. It reads no environment itself; the caller hands it in.

use std::path::Path;

/// Names the attempt for ever, also for tools that must not do a thing twice. It marks every process of the
/// attempt.
pub const ATTEMPT: &str = "TEAM_EXECUTOR_ATTEMPT";
/// The session: a worker's own, or the one that a person means.
pub const SESSION: &str = "TEAM_EXECUTOR_SESSION";
/// What every worker is told about its task.
pub const CONTRACT: [&str; 9] = [
    SESSION,
    "TEAM_EXECUTOR_RUN",
    "TEAM_EXECUTOR_TASK",
    "TEAM_EXECUTOR_ROLE",
    ATTEMPT,
    "TEAM_EXECUTOR_ARTIFACTS",
    "TEAM_EXECUTOR_RESULT",
    "TEAM_EXECUTOR_PROMPT",
    DEPTH,
];
/// How many executors are above a process.
pub const DEPTH: &str = "TEAM_EXECUTOR_DEPTH";
/// A worker may run an executor, but that one's workers may not.
const DEEPEST: u32 = 1;

/// Whether a variable passes from the executor's environment. Called for every variable of every attempt.
fn is_usual(name: &str) -> bool {
    matches!(
        name,
        "PATH"
            | "HOME"
            | "USER"
            | "LOGNAME"
            | "SHELL"
            | "LANG"
            | "LANGUAGE"
            | "TERM"
            | "COLORTERM"
            | "TMPDIR"
            | "TZ"
            | "HTTP_PROXY"
            | "HTTPS_PROXY"
            | "ALL_PROXY"
            | "NO_PROXY"
            | "http_proxy"
            | "https_proxy"
            | "all_proxy"
            | "no_proxy"
            | "SSL_CERT_FILE"
            | "SSL_CERT_DIR"
            | "NODE_EXTRA_CA_CERTS"
    ) || name.starts_with("LC_")
        || name.starts_with("XDG_")
}

/// Variables that never pass, even if asked for: they tell an agent that it runs inside another one, or
/// team-executor sets them.
fn is_never_passed(name: &str) -> bool {
    matches!(name, "CLAUDE_CODE_ENTRYPOINT" | "CLAUDE_CODE_SSE_PORT" | "CODEX_THREAD_ID" | "CODEX_CI" | "GEMINI_CLI")
        || ["CLAUDECODE", "CODEX_SANDBOX", "TEAM_EXECUTOR_"].iter().any(|start| name.starts_with(start))
}

/// The variables about a worker's task, the same for every agent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Contract<'a> {
    /// The session's folder.
    pub session: &'a Path,
    /// The run.
    pub run: &'a str,
    /// The task.
    pub task: &'a str,
    /// The role that it works in.
    pub role: &'a str,
    /// The key of the attempt.
    pub attempt: &'a str,
    /// The folder to write to.
    pub artifacts: &'a Path,
    /// Where it may write a result.
    pub result: &'a Path,
    /// Where its prompt is.
    pub prompt: &'a Path,
}

/// Executors inside workers of executors: refused, because each level would multiply the work of the one above.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("this executor runs inside {depth} others; at most {DEEPEST} is allowed")]
pub struct TooDeep {
    /// What the environment says.
    pub depth: String,
}

/// The complete environment of a worker: what `parent` has and a list allows, or `configured` names; then `extra`, which
/// may replace it; then the contract, which nothing can replace.
pub fn environment(
    parent: &[(String, String)],
    configured: &[String],
    extra: &[(String, String)],
    contract: &Contract<'_>,
) -> Result<Vec<(String, String)>, TooDeep> {
    let depth = depth(parent)?;
    let mut variables = without_contract(parent, configured, extra);
    let path = |path: &Path| path.to_string_lossy().into_owned();
    let ours = [
        (SESSION, path(contract.session)),
        ("TEAM_EXECUTOR_RUN", contract.run.to_owned()),
        ("TEAM_EXECUTOR_TASK", contract.task.to_owned()),
        ("TEAM_EXECUTOR_ROLE", contract.role.to_owned()),
        (ATTEMPT, contract.attempt.to_owned()),
        ("TEAM_EXECUTOR_ARTIFACTS", path(contract.artifacts)),
        ("TEAM_EXECUTOR_RESULT", path(contract.result)),
        ("TEAM_EXECUTOR_PROMPT", path(contract.prompt)),
        (DEPTH, (depth + 1).to_string()),
    ];
    variables.extend(ours.map(|(name, value)| (name.to_owned(), value)));
    Ok(variables)
}

/// The environment of a worker without its contract.
pub fn without_contract(
    parent: &[(String, String)],
    configured: &[String],
    extra: &[(String, String)],
) -> Vec<(String, String)> {
    let passed = parent.iter().filter(|(name, _)| passes(name, configured));
    let mut variables: Vec<(String, String)> = Vec::with_capacity(32);
    for (name, value) in passed.chain(extra).filter(|(name, _)| !is_never_passed(name)) {
        variables.retain(|(known, _)| known != name);
        variables.push((name.clone(), value.clone()));
    }
    variables
}

/// Whether a variable of the executor's environment passes to a worker that is given these besides.
pub fn passes(name: &str, configured: &[String]) -> bool {
    !is_never_passed(name) && (is_usual(name) || configured.iter().any(|pattern| fits(pattern, name)))
}

/// Whether a variable is never passed, whatever is configured.
pub fn is_ours(name: &str) -> bool {
    is_never_passed(name)
}

/// How many executors are above this one; too many, or a number that cannot be read, is refused.
pub fn depth(parent: &[(String, String)]) -> Result<u32, TooDeep> {
    let Some((_, text)) = parent.iter().find(|(name, _)| name == DEPTH) else { return Ok(0) };
    text.parse().ok().filter(|depth| *depth <= DEEPEST).ok_or_else(|| TooDeep { depth: text.clone() })
}

/// Whether a name is meant; a star stands for any end.
fn fits(pattern: &str, name: &str) -> bool {
    pattern.strip_suffix('*').map_or(pattern == name, |start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn contract() -> Contract<'static> {
        Contract {
            session: Path::new("/s"),
            run: "r",
            task: "T-1",
            role: "dev",
            attempt: "r/T-1/2",
            artifacts: Path::new("/s/artifacts"),
            result: Path::new("/s/result.json"),
            prompt: Path::new("/s/prompt.md"),
        }
    }

    fn made(parent: &[(&str, &str)], configured: &[&str], extra: &[(&str, &str)]) -> Result<Vec<String>, TooDeep> {
        let pairs = |pairs: &[(&str, &str)]| pairs.iter().map(|(k, v)| ((*k).to_owned(), (*v).to_owned())).collect();
        let (parent, extra): (Vec<_>, Vec<_>) = (pairs(parent), pairs(extra));
        let configured: Vec<_> = configured.iter().map(|name| (*name).to_owned()).collect();
        let made = environment(&parent, &configured, &extra, &contract())?;
        Ok(made.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
    }

    #[test]
    fn names_of_the_contract_are_those_that_are_set() {
        let names: Vec<_> = made(&[], &[], &[]).unwrap();
        assert_eq!(names.iter().map(|pair| pair.split_once('=').unwrap().0).collect::<Vec<_>>(), CONTRACT);
    }

    const OURS: [&str; 8] = [
        "TEAM_EXECUTOR_SESSION=/s",
        "TEAM_EXECUTOR_RUN=r",
        "TEAM_EXECUTOR_TASK=T-1",
        "TEAM_EXECUTOR_ROLE=dev",
        "TEAM_EXECUTOR_ATTEMPT=r/T-1/2",
        "TEAM_EXECUTOR_ARTIFACTS=/s/artifacts",
        "TEAM_EXECUTOR_RESULT=/s/result.json",
        "TEAM_EXECUTOR_PROMPT=/s/prompt.md",
    ];

    #[test]
    fn the_contract_is_always_there_and_cannot_be_replaced() {
        let forged = [("TEAM_EXECUTOR_TASK", "other"), ("TEAM_EXECUTOR_EXTRA", "x")];
        let variables = made(&forged, &["TEAM_EXECUTOR_*"], &forged).unwrap();
        assert_eq!(variables[..8], OURS);
        assert_eq!(variables[8..], ["TEAM_EXECUTOR_DEPTH=1"]);
    }

    #[test]
    fn only_listed_or_configured_variables_pass() {
        let parent = [
            ("PATH", "/bin"),
            ("LC_ALL", "C"),
            ("AWS_SECRET_ACCESS_KEY", "s"),
            ("XDG_CONFIG_HOME", "/c"),
            ("MY_TOKEN", "t"),
            ("PATHS", "x"),
            ("LD_PRELOAD", "x"),
        ];
        assert_eq!(made(&parent, &[], &[]).unwrap()[..3], ["PATH=/bin", "LC_ALL=C", "XDG_CONFIG_HOME=/c"]);
        assert_eq!(made(&parent, &[], &[]).unwrap().len(), 12);
        assert!(made(&parent, &["MY_*"], &[]).unwrap().contains(&"MY_TOKEN=t".to_owned()));
    }

    #[test]
    fn outer_agent_variables_never_pass() {
        let nesting = [("CLAUDECODE", "1"), ("CLAUDE_CODE_ENTRYPOINT", "cli"), ("CODEX_SANDBOX_NETWORK_DISABLED", "1")];
        assert_eq!(made(&nesting, &["CLAUDE*", "CODEX*"], &nesting).unwrap().len(), 9);
    }

    #[test]
    fn variable_given_twice_has_its_last_value() {
        let variables = made(&[("PATH", "/bin")], &[], &[("PATH", "/a"), ("PATH", "/b")]).unwrap();
        assert_eq!(variables[..1], ["PATH=/b"]);
        assert_eq!(variables.len(), 10);
    }

    #[test]
    fn an_executor_may_run_in_a_worker_but_no_deeper() {
        assert!(made(&[(DEPTH, "1")], &[], &[]).unwrap().contains(&"TEAM_EXECUTOR_DEPTH=2".to_owned()));
        for depth in ["2", "4294967295", "-1", "", "x"] {
            let error = made(&[(DEPTH, depth)], &[], &[]).unwrap_err();
            assert_eq!(error, TooDeep { depth: depth.to_owned() });
        }
    }
}
