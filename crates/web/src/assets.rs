//! The files of the page, as they were written: nothing is built, and nothing is loaded from elsewhere.

use bytes::Bytes;

use crate::answer::tag;

const SCRIPT: &str = "text/javascript; charset=utf-8";
const STYLE: &str = "text/css; charset=utf-8";
const PAGE: &str = "text/html; charset=utf-8";
const PICTURE: &str = "image/svg+xml";

macro_rules! files {
    ($($name:literal $kind:ident),+ $(,)?) => {
        /// Each file with its type.
        const FILES: &[(&str, &str, &[u8])] = &[$(($name, $kind, include_bytes!(concat!("../assets/", $name)))),+];
    };
}

files! {
    "index.html" PAGE,
    "style.css" STYLE,
    "icon.svg" PICTURE,
    "app.js" SCRIPT,
    "api.js" SCRIPT,
    "stream.js" SCRIPT,
    "worker.js" SCRIPT,
    "ui.js" SCRIPT,
    "format.js" SCRIPT,
    "list.js" SCRIPT,
    "store.js" SCRIPT,
    "attention.js" SCRIPT,
    "views/runs.js" SCRIPT,
    "views/inbox.js" SCRIPT,
    "views/run.js" SCRIPT,
    "views/tasks.js" SCRIPT,
    "views/task.js" SCRIPT,
    "views/log.js" SCRIPT,
    "views/graph.js" SCRIPT,
    "views/timeline.js" SCRIPT,
    "views/plan.js" SCRIPT,
    "vendor/preact.mjs" SCRIPT,
    "vendor/hooks.mjs" SCRIPT,
    "vendor/htm.mjs" SCRIPT,
}

/// The page that shows every view.
pub(crate) const INDEX: &str = "index.html";

/// A file, ready to be sent.
pub(crate) struct Asset {
    pub(crate) kind: &'static str,
    pub(crate) bytes: Bytes,
    pub(crate) tag: String,
}

/// A file of the page; nothing if there is none of this name.
pub(crate) fn find(name: &str) -> Option<Asset> {
    let (_, kind, bytes) = FILES.iter().find(|(known, ..)| *known == name)?;
    let bytes = served(name, bytes);
    let tag = tag(&bytes);
    Some(Asset { kind, bytes, tag })
}

/// A browser finds modules by their address, and hooks name preact by its package: a map of names would have to stand in the page.
fn served(name: &str, bytes: &'static [u8]) -> Bytes {
    match (name, std::str::from_utf8(bytes)) {
        ("vendor/hooks.mjs", Ok(text)) => Bytes::from(text.replacen("from\"preact\"", "from\"./preact.mjs\"", 1)),
        _ => Bytes::from_static(bytes),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use sha2::{Digest as _, Sha256};

    use super::*;
    use crate::answer::hex;

    /// The files of others, as their packages on npm have them.
    const VENDORED: [(&str, &str); 9] = [
        ("vendor/preact.mjs", "bdcbd9abdf2c77c5c45326eab42191e949222d479d0d5f69467387a77040cb55"),
        ("vendor/hooks.mjs", "e862ab2973aa6455eaa0f77c5d832d2157d6be59a17c8ba546550a575b58c6b4"),
        ("vendor/htm.mjs", "ab33dd3f38059b9be4d5f5350128eefb2356639c4e0bbe9d9e8b3ba75847e9e4"),
        ("vendor/LICENSE.preact", "1fe6958409c8c257a70c587a18b6f7f412b179b456630790d30b2ec9a8e4b7d4"),
        ("vendor/LICENSE.htm", "740725f7252e750af735d0028cc534970772f513331e9f68150fede8fb3ce00f"),
        // Of our own.
        ("vendor/README.md", ""),
        ("vendor/preact.d.mts", ""),
        ("vendor/hooks.d.mts", ""),
        ("vendor/htm.d.mts", ""),
    ];

    fn folder() -> std::path::PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("assets")
    }

    fn written() -> BTreeSet<String> {
        let mut found = BTreeSet::new();
        let mut open = vec![folder()];
        while let Some(path) = open.pop() {
            for entry in std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()) {
                if entry.is_dir() {
                    open.push(entry);
                } else {
                    found.insert(entry.strip_prefix(folder()).unwrap().to_str().unwrap().to_owned());
                }
            }
        }
        found
    }

    #[test]
    fn vendored_files_are_those_of_their_packages() {
        for (name, sum) in VENDORED.into_iter().filter(|(_, sum)| !sum.is_empty()) {
            let bytes = std::fs::read(folder().join(name)).unwrap();
            assert_eq!(hex(&Sha256::digest(&bytes)), sum, "{name}");
        }
        let known: BTreeSet<_> = VENDORED.iter().map(|(name, _)| (*name).to_owned()).collect();
        let there: BTreeSet<_> = written().into_iter().filter(|name| name.starts_with("vendor/")).collect();
        assert_eq!(there, known);
    }

    #[test]
    fn every_file_of_the_page_is_served() {
        let served: BTreeSet<_> = FILES.iter().map(|(name, ..)| (*name).to_owned()).collect();
        let is_code = |name: &String| !name.ends_with(".md") && !name.ends_with(".mts") && !name.contains("LICENSE");
        let written: BTreeSet<_> = written().into_iter().filter(|name| is_code(name)).collect();
        assert_eq!(served, written);
    }

    #[test]
    fn modules_import_files_that_are_there_and_nothing_else() {
        for (name, _, _) in FILES.iter().filter(|(_, kind, _)| *kind == SCRIPT) {
            let asset = find(name).unwrap();
            let text = std::str::from_utf8(&asset.bytes).unwrap();
            let imports = text.split("from").skip(1).filter_map(|rest| {
                let rest = rest.trim_start();
                let quote = rest.chars().next().filter(|c| matches!(c, '"' | '\''))?;
                rest[1..].split(quote).next()
            });
            let here = Path::new(name).parent().unwrap();
            for import in
                imports.filter(|import| import.contains(".js") || import.contains(".mjs") || *import == "preact")
            {
                assert!(import.starts_with("./") || import.starts_with("../"), "{name} imports {import}");
                let mut path: Vec<&str> = here.to_str().unwrap().split('/').filter(|part| !part.is_empty()).collect();
                for part in import.split('/') {
                    match part {
                        "." => {}
                        ".." => drop(path.pop()),
                        part => path.push(part),
                    }
                }
                assert!(find(&path.join("/")).is_some(), "{name} imports {import}");
            }
        }
    }

    #[test]
    fn page_names_no_other_server_and_no_markup_is_made_of_text() {
        for (name, _, bytes) in FILES.iter().filter(|(name, ..)| !name.starts_with("vendor/")) {
            let text = std::str::from_utf8(bytes).unwrap();
            for banned in
                ["https://", "http://", "innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("]
            {
                let text = text.replace("http://www.w3.org/", "");
                assert!(!text.contains(banned), "{name} has {banned}");
            }
        }
    }
}
