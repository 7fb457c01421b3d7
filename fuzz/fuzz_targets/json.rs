//! A JSON text is refused at a place inside it, or every value of it can be looked at and written back.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_files::json;

fuzz_target!(|text: &str| {
    match json::parse(text) {
        Err(malformed) => assert!(text.get(malformed.span.range()).is_some()),
        Ok(document) => {
            let mut open = vec![document.root()];
            while let Some(value) = open.pop() {
                assert!(json::parse(value.raw()).is_ok());
                let _ = (value.as_text(), value.as_f64(), value.as_i64(), value.as_bool());
                open.extend(value.items());
                open.extend(value.entries().map(|entry| entry.value));
            }
        }
    }
});
