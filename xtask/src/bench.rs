//! `cargo xtask bench`: runs the benchmarks in crates/*/benches.

use crate::shell::{Outcome, command, files, must_succeed};

/// Runs all benchmarks, or those whose own or whose crate's name is given; `args` go to the benchmarks.
pub(crate) fn run(name: Option<&str>, args: &[String]) -> Outcome {
    let sources = files("crates", "rs")?;
    let benches: Vec<_> = sources.iter().filter_map(|path| Bench::at(path)).collect();
    let chosen: Vec<_> = benches.iter().filter(|bench| name.is_none_or(|name| bench.is(name))).collect();
    if chosen.is_empty() {
        let known: Vec<_> = benches.iter().map(|bench| format!("{} (of {})", bench.name, bench.krate)).collect();
        return Err(format!("no such benchmark; there are: [{}]", known.join(", ")));
    }
    for bench in chosen {
        let manifest = format!("crates/{}/Cargo.toml", bench.krate);
        let mut command = command(&format!("cargo bench --manifest-path {manifest} --bench {} --", bench.name));
        must_succeed(command.args(args))?;
    }
    Ok(())
}

#[derive(Debug, PartialEq, Eq)]
struct Bench<'a> {
    krate: &'a str,
    name: &'a str,
}

impl<'a> Bench<'a> {
    /// The benchmark that a source file is, if it is one.
    fn at(path: &'a str) -> Option<Self> {
        match path.split('/').collect::<Vec<_>>()[..] {
            ["crates", krate, "benches", file] => Some(Self { krate, name: file.strip_suffix(".rs")? }),
            _ => None,
        }
    }

    fn is(&self, name: &str) -> bool {
        self.name == name || self.krate == name
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_directly_in_a_benches_folder_are_benchmarks() {
        let parse = Bench { krate: "files", name: "parse" };
        assert_eq!(Bench::at("crates/files/benches/parse.rs"), Some(parse));
        assert_eq!(Bench::at("crates/files/benches/common/mod.rs"), None);
        assert_eq!(Bench::at("crates/files/src/lib.rs"), None);
    }

    #[test]
    fn a_benchmark_is_chosen_by_its_name_or_its_crate() {
        let bench = Bench { krate: "files", name: "parse" };
        assert!(bench.is("parse"));
        assert!(bench.is("files"));
        assert!(!bench.is("par"));
    }

    #[test]
    fn an_unknown_name_is_refused() {
        assert!(run(Some("no-such-benchmark"), &[]).is_err_and(|e| e.starts_with("no such benchmark; there are: [")));
    }
}
