//! Front matter and headings of any text have their places inside it.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::front_matter::{self, Split};
use team_executor_files::markdown;

fuzz_target!(|text: &str| {
    if let Split::Found { yaml, body } = front_matter::split(text) {
        if let Err(error) = front_matter::parse(&text[yaml.range()], yaml.start) {
            assert!(text.get(error.span.range()).is_some());
        }
        for heading in markdown::headings(&text[body.range()], body.start) {
            assert!(text.get(heading.start as usize..heading.end as usize).is_some());
        }
    }
});
