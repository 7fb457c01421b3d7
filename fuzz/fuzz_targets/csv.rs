//! A table is refused at a place inside it, or written and read again it is the same.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::csv;

fuzz_target!(|text: &str| {
    let Ok(table) = csv::parse(text) else { return };
    let rows = || std::iter::once(table.header()).chain(table.records()).filter(|record| !record.is_empty());
    let mut written = String::new();
    for record in rows() {
        let cells: Vec<_> = record.cells().map(|cell| cell.value).collect();
        csv::write_record(&mut written, cells.iter().map(|cell| cell.as_ref()));
    }
    let Ok(again) = csv::parse(&written) else { return }; // a quoted cell may be longer than the limit
    let cells = |record: csv::Record<'_, '_>| record.cells().map(|cell| cell.value.into_owned()).collect::<Vec<_>>();
    let first: Vec<_> = rows().map(cells).collect();
    let second: Vec<_> =
        std::iter::once(again.header()).chain(again.records()).filter(|r| !r.is_empty()).map(cells).collect();
    assert_eq!(first, second);
});
