//! A text is refused as an id, or kept as it is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use team_executor_core::TaskId;

fuzz_target!(|text: &str| {
    if let Ok(id) = TaskId::parse(text) {
        assert_eq!(id.as_str(), text);
        assert_eq!(TaskId::parse(id.as_str()), Ok(id.clone()));
    }
});
