//! Texts as people see them, pinned: everyday mistakes, the status of a run in each state, and frames of the live view.
//! `INSTA_UPDATE=always cargo test -p team-executor --test it pinned::` writes them anew: read the difference.

mod frames;
mod mistakes;
mod status;

/// What differs between two runs of the same command. Times appear in full only where they are long.
const VARYING: &[(&str, &str)] = &[
    (r" \([^()]*idle\)", ""),
    (r",? waited \d+(\.\d)? s", ""),
    (r"(completed|failed)  \d+(\.\d)? s(, | *)", "$1  "),
    (r" \(\d+(\.\d)? s\)", ""),
    (r"(EX|TC)-([a-zA-Z-]+)-\d{4}-\d{2}-\d{2}", "$1-$2-DAY"),
    (r"\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(\.\d+)?(Z|\+00:00)", "MOMENT"),
    (r"\d{4}-\d{2}-\d{2}…", "DAY…"),
    (r"\b\d+\.\d s\b", "0.0 s"),
    (r"\b\d+ s\b", "0 s"),
    (r" \d+:\d{2}\b", " 0:00"),
    (r", about [^,\n]* left", ""),
    (r"\([0-9a-f]{10}\)", "(COMMIT)"),
    (r" +\n", "\n"),
];

/// Pins a text below a name.
#[track_caller]
fn pin(name: &str, text: &str) {
    insta::with_settings!({ filters => VARYING.to_vec() }, { insta::assert_snapshot!(name, text) });
}
