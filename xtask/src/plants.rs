//! Mistakes that are planted in a copy of the program, one at a time: the simulator, or the tests of a crate, must find each of them.
//! The tables are `crates/sim/plants.toml` and `crates/trees/plants.toml`; the program itself knows nothing of them.

use std::fs;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use toml::{Table, Value};

use crate::shell::{Outcome, command, files, read, root};

/// The mistakes that the simulator must find.
pub(crate) const OF_SIM: &str = "crates/sim/plants.toml";
/// Where the copy of the sources is.
const SCRATCH: &str = "target/plants/source";
/// A simulation that takes longer has not found anything.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a simulation that may have ended is looked at.
const GLANCE: Duration = Duration::from_millis(5);

/// One mistake: a text that is in a file exactly once, and what is put in its place.
#[derive(Debug)]
struct Plant {
    name: String,
    file: String,
    text: String,
    with: String,
}

/// Looks for a mistake in a copy of the sources, which is built in another folder: what found it, if something did.
pub(crate) type Hunt<'h> = &'h dyn Fn(&Path, &Path) -> Outcome<Option<String>>;

/// Plants every mistake of a table, one after the other, and looks for it.
pub(crate) fn run(table: &str, only: Option<&str>, hunt: Hunt<'_>) -> Outcome {
    let mut plants = plants(table)?;
    plants.retain(|plant| only.is_none_or(|only| plant.name.contains(only) || plant.file.contains(only)));
    // Neighbours are built together: of what is not touched between them nothing is built again.
    plants.sort_by(|one, other| other.file.cmp(&one.file));
    if plants.is_empty() {
        return Err(format!("no plant has that in its name or file\nhelp: the names are in {table}"));
    }
    let (scratch, target) = (scratch()?, root().join("target/plants/build"));
    let mut missed = Vec::new();
    for plant in &plants {
        let original = read(&plant.file)?;
        let file = scratch.join(&plant.file);
        write(&file, &plant.put_into(&original)?)?;
        let found = hunt(&scratch, &target);
        write(&file, &original)?;
        match found.map_err(|error| format!("{}: {error}", plant.name))? {
            Some(found) => println!("{:<44} {found}", plant.name),
            None => {
                println!("{:<44} NOT FOUND", plant.name);
                missed.push(plant.name.as_str());
            }
        }
    }
    println!("{} of {} plants found", plants.len() - missed.len(), plants.len());
    if missed.is_empty() { Ok(()) } else { Err(format!("not found: {}", missed.join(", "))) }
}

impl Plant {
    fn parse(name: &str, value: &Value) -> Option<Self> {
        let text = |key: &str| Some(value.get(key)?.as_str()?.to_owned());
        let breaks = text("breaks")?;
        (!breaks.is_empty()).then_some(())?;
        Some(Self { name: name.to_owned(), file: text("file")?, text: text("text")?, with: text("with")? })
    }

    /// The file with the mistake in it.
    fn put_into(&self, original: &str) -> Outcome<String> {
        // Tests at the end of a file may say the same.
        let end = original.find("#[cfg(test)]").unwrap_or(original.len());
        match original[..end].matches(&self.text).count() {
            1 => Ok(original.replacen(&self.text, &self.with, 1)),
            count => Err(format!("{}: its text is {count} times in {}\nhelp: correct its table", self.name, self.file)),
        }
    }
}

/// All plants of a table, by name.
fn plants(path: &str) -> Outcome<Vec<Plant>> {
    let table: Table = read(path)?.parse().map_err(|error| format!("{path}: {error}"))?;
    let plants = table.iter().map(|(name, value)| {
        Plant::parse(name, value).ok_or_else(|| format!("{path}: {name} needs file, text, with and breaks"))
    });
    plants.collect()
}

/// A copy of the program's sources. Only what has changed is copied, so that only that is built again, and what is not there
/// any more is removed.
fn scratch() -> Outcome<PathBuf> {
    let scratch = root().join(SCRATCH);
    let mut copied = vec!["Cargo.toml".to_owned(), "Cargo.lock".to_owned(), "rust-toolchain.toml".to_owned()];
    for folder in ["crates", "xtask"] {
        for extension in ["rs", "toml", "json", "md", "csv"] {
            copied.extend(files(folder, extension)?);
        }
    }
    for old in files(SCRATCH, "rs")? {
        let is_old = |name: &str| !copied.iter().any(|copied| copied == name);
        if old.strip_prefix(SCRATCH).and_then(|name| name.strip_prefix('/')).is_some_and(is_old) {
            fs::remove_file(root().join(&old)).map_err(|error| format!("{old}: {error}"))?;
        }
    }
    for name in copied {
        let text = read(&name)?;
        let to = scratch.join(&name);
        if fs::read_to_string(&to).ok().as_ref() != Some(&text) {
            write(&to, &text)?;
        }
    }
    Ok(scratch)
}

fn write(path: &Path, text: &str) -> Outcome {
    let folder = path.parent().unwrap_or(path);
    let written = fs::create_dir_all(folder).and_then(|()| fs::write(path, text));
    written.map_err(|error| format!("{}: {error}", path.display()))
}

/// Builds the simulator with what is planted, and says where it is.
pub(crate) fn simulator(scratch: &Path, target: &Path) -> Outcome<PathBuf> {
    let mut cargo = command("cargo build --quiet --profile sim --package team-executor-sim");
    let built = cargo.current_dir(scratch).env("CARGO_TARGET_DIR", target).output();
    let built = built.map_err(|error| format!("cargo could not be started: {error}"))?;
    if !built.status.success() {
        return Err(format!("it cannot be built:\n{}", String::from_utf8_lossy(&built.stderr)));
    }
    Ok(target.join("sim/team-executor-sim"))
}

/// Runs the simulator: what it has found and how soon, or nothing.
pub(crate) fn look_for(sim: &Path, runs: u64, seed: u64) -> Outcome<Option<String>> {
    let began = Instant::now();
    let mut command = Command::new(sim);
    command.args(["--runs", &runs.to_string(), "--seed", &seed.to_string(), "--seconds", "60"]);
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn().map_err(|error| format!("{}: {error}", sim.display()))?;
    let status = loop {
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) => break status,
            None if began.elapsed() > PATIENCE => {
                child.kill().and_then(|()| child.wait()).map_err(|error| error.to_string())?;
                return Err("the simulation does not end".to_owned());
            }
            None => thread::sleep(GLANCE),
        }
    };
    let mut text = String::new();
    let stdout = child.stdout.as_mut().map(|out| out.read_to_string(&mut text));
    let stderr = child.stderr.as_mut().map(|out| out.read_to_string(&mut text));
    stdout.into_iter().chain(stderr).collect::<Result<Vec<_>, _>>().map_err(|error| error.to_string())?;
    if status.success() {
        return Ok(None);
    }
    let broken = text.lines().find_map(|line| line.strip_prefix("broken: "));
    let broken = broken.ok_or_else(|| format!("the simulation ended with {status}: {text}"))?;
    let runs = text.lines().find_map(|line| line.split_once(" runs of ").map(|(runs, _)| runs)).unwrap_or("?");
    let broken = broken.split("; again").next().unwrap_or(broken);
    Ok(Some(format!("{:>7} runs {:>6} ms  {broken}", runs, began.elapsed().as_millis())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_plant_fits_exactly_one_place() {
        for (table, least) in [(OF_SIM, 40), (crate::trees::PLANTS, 12)] {
            let plants = plants(table).unwrap();
            assert!(plants.len() >= least, "{table}: {}", plants.len());
            for plant in plants {
                let original = read(&plant.file).unwrap();
                assert_ne!(plant.put_into(&original).unwrap(), original, "{}", plant.name);
            }
        }
    }

    #[test]
    fn a_plant_whose_text_is_missing_or_there_twice_is_refused() {
        let plant = Plant { name: "p".to_owned(), file: "f".to_owned(), text: "a".to_owned(), with: "b".to_owned() };
        assert_eq!(plant.put_into("xax").unwrap(), "xbx");
        assert!(plant.put_into("aa").unwrap_err().contains("2 times"));
        assert!(plant.put_into("x").unwrap_err().contains("0 times"));
        assert!(plant.put_into("x #[cfg(test)] a").is_err());
    }
}
