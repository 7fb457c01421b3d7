//! The browser and the modules for tests of the page, where `cargo xtask agents` put them or the machine has them.

use std::path::{Path, PathBuf};

use crate::lacks;

/// What browsers are called, as `cargo xtask agents` looks for them too.
const NAMES: [&str; 3] = ["chromium", "chromium-browser", "google-chrome"];

/// A browser, and the modules of npm that lead it.
#[derive(Debug)]
pub struct Chromium {
    /// The browser.
    pub program: PathBuf,
    /// The folder of the modules.
    pub modules: PathBuf,
}

impl Chromium {
    /// Finds a browser and these modules, for tests that are built in this folder. What is missing is said.
    #[track_caller]
    pub fn find(target: &Path, needed: &[&str], untested: &str) -> Option<Self> {
        let Some(program) = program(target) else {
            lacks("chromium", untested);
            return None;
        };
        let modules = modules(target, needed, untested)?;
        Some(Self { program, modules })
    }
}

/// The folder of these modules of npm. What is missing is said.
#[track_caller]
pub fn modules(target: &Path, needed: &[&str], untested: &str) -> Option<PathBuf> {
    let modules = target.join("agents/node_modules");
    match needed.iter().find(|name| !modules.join(name).exists()) {
        None => Some(modules),
        Some(missing) => {
            lacks(missing, untested);
            None
        }
    }
}

fn program(target: &Path) -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("CHROMIUM") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let installed = NAMES.iter().flat_map(|name| std::env::split_paths(&path).map(move |folder| folder.join(name)));
    installed.chain([target.join("chromium/chromium")]).find(|program| program.is_file())
}
