//! An answer that a client has room for: of what is too long the beginning, tasks that matter first, and how much is missing.

use serde_json::{Map, Value, json};
use team_executor_core::TaskStatus;
use team_executor_files::findings_text::cut_to;

/// The most that is answered, in bytes.
pub(super) const ANSWER_BYTES: usize = 1 << 20;

/// A document, or as much of it as there is room for. `left_out` has for each of its fields that were shortened how many
/// entries are missing, and `counts` how many tasks there are of each status.
pub(super) fn fitted(mut document: Value, room: usize) -> Value {
    if size(&document) <= room {
        return document;
    }
    let Value::Object(fields) = &mut document else { return document };
    if let Some(Value::Array(tasks)) = fields.get_mut("tasks") {
        tasks.sort_by_key(urgency);
        let counts = json!(counts(tasks));
        fields.entry("counts").or_insert(counts);
    }
    // Whatever is small stays whole, and the rest shares what is left.
    let fair = room / (2 * fields.len().max(1));
    let (mut left, mut large) = (room / 2 + room / 4, Vec::new());
    for (name, value) in &*fields {
        match size(value) {
            size if size > fair => large.push(name.clone()),
            size => left = left.saturating_sub(size),
        }
    }
    let mut missing = Map::new();
    let share = left / large.len().max(1);
    for name in large {
        if let Some(value) = fields.get_mut(&name) {
            missing.insert(name, shorten(value, share).into());
        }
    }
    fields.insert("left_out".to_owned(), Value::Object(missing));
    document
}

/// Takes from a value what there is no room for; how many entries that were, or characters.
fn shorten(value: &mut Value, mut room: usize) -> usize {
    let mut fits = |name: &str, value: &Value| {
        let size = size(value) + name.len() + 4;
        let is_fit = size <= room;
        room -= if is_fit { size } else { 0 };
        is_fit
    };
    match value {
        Value::Array(list) => {
            let all: usize = list.iter().map(entries).sum();
            let whole = list.iter().take_while(|entry| fits("", entry)).count();
            // Of a list in it, such as a wave, a part is better than nothing.
            let has_part =
                list.get_mut(whole).filter(|entry| entry.is_array()).map(|part| shorten(part, room)).is_some();
            list.truncate(whole + usize::from(has_part));
            all - list.iter().map(entries).sum::<usize>()
        }
        Value::Object(fields) => {
            let all = fields.len();
            fields.retain(|name, value| fits(name, value));
            all - fields.len()
        }
        Value::String(text) => {
            let all = text.chars().count();
            *text = cut_to(text, room / 8).into_owned(); // one may be escaped as six
            all - text.chars().count()
        }
        _ => 0,
    }
}

/// What a list counts for: itself, or what is in it.
fn entries(value: &Value) -> usize {
    value.as_array().map_or(1, Vec::len)
}

/// How many bytes it has when it is sent.
pub(super) fn size(value: &Value) -> usize {
    struct Count(usize);
    impl std::io::Write for Count {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut count = Count(0);
    serde_json::to_writer(&mut count, value).map_or(usize::MAX, |()| count.0)
}

/// What failed comes first, then what is at work and what could be.
fn urgency(task: &Value) -> usize {
    use TaskStatus::{Failed, InProgress, Pending, Ready, Skipped};
    let status = task["status"].as_str().and_then(TaskStatus::from_word);
    let order = [Failed, InProgress, Ready, Skipped, Pending];
    order.iter().position(|known| Some(*known) == status).unwrap_or(order.len())
}

fn counts(tasks: &[Value]) -> Map<String, Value> {
    let mut counts = Map::new();
    for status in tasks.iter().filter_map(|task| task["status"].as_str()) {
        let before = counts.get(status).and_then(Value::as_u64).unwrap_or(0);
        counts.insert(status.to_owned(), (before + 1).into());
    }
    counts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_answer_keeps_what_matters_and_counts_the_rest() {
        let word = |nth: usize| {
            if nth == 900 {
                "failed"
            } else if nth == 800 {
                "in_progress"
            } else {
                "completed"
            }
        };
        let tasks: Vec<_> = (0..1_000).map(|nth| json!({"id": format!("T-{nth}"), "status": word(nth)})).collect();
        let waves = [(0..1_000).map(|nth| format!("T-{nth}")).collect::<Vec<_>>()];
        let attempts: Vec<_> = (0..1_000).collect();
        let document = json!({"run": "EX-1", "tasks": tasks, "waves": waves, "requirement": "\u{1}".repeat(20_000),
            "usage": {"total": 7, "attempts": attempts}});
        assert_eq!(fitted(document.clone(), size(&document)), document);
        let room = 8_000;
        let short = fitted(document, room);
        assert!(size(&short) <= room, "{}", size(&short));
        let ids: Vec<_> = short["tasks"].as_array().unwrap().iter().map(|task| &task["id"]).take(3).collect();
        assert_eq!(ids, ["T-900", "T-800", "T-0"]);
        assert_eq!(short["counts"], json!({"completed": 998, "failed": 1, "in_progress": 1}));
        let kept = |name: &str| short[name].as_array().unwrap().len();
        assert_eq!(short["left_out"]["tasks"], 1_000 - kept("tasks"));
        assert_eq!(short["left_out"]["waves"], 1_000 - short["waves"][0].as_array().unwrap().len());
        assert!(short["left_out"]["requirement"].as_u64().unwrap() > 19_000);
        assert_eq!((&short["run"], &short["usage"]), (&json!("EX-1"), &json!({"total": 7})));
    }
}
