//! Packages of the program are installed from their files in an empty folder, and run.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use team_executor_testkit::limited::LimitedCommand as _;
use team_executor_testkit::{lacks, xtask};

const BIN: &str = env!("CARGO_BIN_EXE_team-executor");

/// What a package is installed into, with everything that a package manager writes.
struct Place {
    folder: PathBuf,
    path: String,
}

impl Place {
    fn new(root: &Path, name: &str) -> Self {
        let folder = root.join(name);
        fs::create_dir(&folder).expect("a folder");
        // As far as tests are concerned this machine has nothing but its system programs.
        Self { folder, path: "/usr/local/sbin:/usr/sbin:/sbin:/usr/local/bin:/usr/bin:/bin".to_owned() }
    }

    /// Runs a command line here, which must succeed; what it prints.
    #[track_caller]
    fn sh(&self, line: &str) -> String {
        let mut shell = Command::new("sh");
        shell.args(["-ec", line]).current_dir(&self.folder).env_clear();
        let output = shell.env("PATH", &self.path).env("HOME", &self.folder).limited_output();
        let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let (stdout, stderr) = (said(&output.stdout), said(&output.stderr));
        assert!(output.status.success(), "{line}: {}\n{stdout}{stderr}", output.status);
        stdout
    }

    /// The program that was installed runs a team of two here, and refuses what is refused.
    #[track_caller]
    fn tries(&self, program: &str) {
        assert_eq!(self.sh(&format!("{program} --version")), format!("team-executor {}\n", env!("CARGO_PKG_VERSION")));
        fs::create_dir(self.folder.join("S")).expect("a session");
        fs::write(self.folder.join("S/tasks.csv"), TASKS).expect("tasks");
        self.sh(&format!("{program} run --session=S --agent-command 'echo did it' -y"));
        assert!(self.sh("cat .workflow/.csv-wave/EX-*/results.csv").contains("did it"), "{program}");
        self.sh(&format!("code=0; {program} validate --session=nowhere || code=$?; [ $code = 2 ]"));
    }
}

const TASKS: &str = "id,title,description,deps,context_from,exec_mode,role,wave,status,findings,error\n\
                     A,A,,,,csv-wave,worker,1,pending,,\nB,B,,A,,csv-wave,worker,2,pending,,\n";

fn has(program: &str, untested: &str) -> bool {
    let found = Command::new("sh").args(["-c", &format!("command -v {program}")]).limited_output().status.success();
    if !found {
        lacks(program, untested);
    }
    found
}

/// One file of a folder, by its end.
fn file(folder: &Path, end: &str) -> PathBuf {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut found = files.filter(|path| path.to_string_lossy().ends_with(end));
    found.next().unwrap_or_else(|| panic!("no file ends with {end}"))
}

#[test]
fn packages_are_installed_and_run_from_their_files() {
    let root = tempfile::tempdir().expect("a folder");
    let root = root.path().canonicalize().expect("its path");
    let dist = Place::new(&root, "dist");
    let made = Command::new(xtask()).args(["dist", "--binary", BIN, "--to"]).arg(&dist.folder).limited_output();
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    assert_eq!(dist.sh("sha256sum --check SHA256SUMS").lines().filter(|line| line.ends_with(": OK")).count(), 4);

    let archive = Place::new(&root, "archive");
    archive.sh(&format!("tar --strip-components=1 -xzf {}", file(&dist.folder, ".tar.gz").display()));
    archive.tries("./team-executor");
    let found = archive.sh(
        "ls man/man1 completions; head -c 60 LICENSE-MIT; grep -c '^[a-z0-9_-]* [0-9.]*: ' THIRD-PARTY-LICENSES.txt",
    );
    for part in
        ["team-executor.1\n", "team-executor-run.1\n", "team-executor-task-create.1\n", "_team-executor\n", "MIT"]
    {
        assert!(found.contains(part), "{part} is missing in\n{found}");
    }
    let sections = archive.sh("readelf --section-headers --wide team-executor || true");
    assert!(!sections.contains(".symtab") && !sections.contains(".debug_info"), "it is not stripped");

    if has("dpkg", "installing the Debian package") {
        let debian = Place::new(&root, "debian");
        debian.sh("mkdir -p root/var/lib/dpkg/info root/var/lib/dpkg/updates; : >root/var/lib/dpkg/status");
        let package = file(&dist.folder, ".deb");
        debian.sh(&format!("dpkg --root=\"$PWD/root\" --force-not-root --force-depends -i {} 2>&1", package.display()));
        debian.tries("root/usr/bin/team-executor");
        debian.sh("gzip -dc root/usr/share/man/man1/team-executor-run.1.gz | grep -q '^\\.TH '");
    }

    if has("npm", "installing the npm packages") {
        let npm = Place::new(&root, "npm");
        let (launcher, platform) =
            (file(&dist.folder, &format!("executor-{}.tgz", env!("CARGO_PKG_VERSION"))), linux(&dist.folder));
        let quiet = "--offline --ignore-scripts --no-audit --no-fund --no-update-notifier";
        npm.sh(&format!("npm install {quiet} {} {}", launcher.display(), platform.display()));
        npm.tries("npx --offline --no-update-notifier -- team-executor");
        npm.sh("rm -r node_modules/@team-executor");
        let said = npm
            .sh("code=0; npx --offline --no-update-notifier -- team-executor --version 2>&1 || code=$?; [ $code = 2 ]");
        assert!(said.contains("error: team-executor has no binary for linux on "), "{said}");
    }
}

fn linux(folder: &Path) -> PathBuf {
    let files = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
    let mut found = files.filter(|path| path.to_string_lossy().contains("executor-linux-"));
    found.next().expect("a package for this machine")
}

#[test]
fn reference_pages_say_what_the_program_says() {
    let checked = Command::new(xtask()).args(["reference", "--check", "--binary", BIN]).limited_output();
    assert!(checked.status.success(), "{}", String::from_utf8_lossy(&checked.stderr));
}
