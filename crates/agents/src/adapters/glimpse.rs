//! What an agent is doing at the moment, for a screen: a few words out of the beginning of an event, which may be cut off.

/// What is worth to be shown of an event, the most telling first.
const KEYS: [&str; 6] = ["command", "file_path", "text", "tool_name", "name", "content"];

/// A few words out of an event; nothing if there are none in what is there of it, or if they are not the agent's.
pub fn glimpse(event: &str) -> Option<String> {
    if event.contains("\"role\":\"user\"") || event.contains("\"type\":\"system\"") {
        return None;
    }
    KEYS.iter().find_map(|key| {
        let (_, value) = event.split_once(&format!("\"{key}\":\""))?;
        let words = unescaped(value);
        (!words.trim().is_empty()).then_some(words)
    })
}

/// A text of JSON up to its end, in one line; what is escaped by number is left out.
fn unescaped(value: &str) -> String {
    let (mut words, mut letters) = (String::new(), value.chars());
    while let Some(letter) = letters.next().filter(|letter| *letter != '"') {
        words.push(match letter {
            '\\' => letters.next().filter(|letter| matches!(letter, '"' | '\\' | '/')).unwrap_or(' '),
            letter => letter,
        });
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_most_telling_words_of_an_event_are_shown() {
        for (event, words) in [
            (
                r#"{"type":"item.started","item":{"type":"command_execution","command":"cargo \"test\"\n--all","agg"#,
                Some("cargo \"test\" --all"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"tool_use","name":"Write","input":{"file_path":"/a/b.rs"}}]}}"#,
                Some("/a/b.rs"),
            ),
            (
                r#"{"type":"assistant","message":{"content":[{"type":"text","text":"I look into it an"#,
                Some("I look into it an"),
            ),
            (r#"{"type":"tool_use","tool_name":"read_file"}"#, Some("read_file")),
            (r#"{"type":"message","role":"assistant","content":"Done."}"#, Some("Done.")),
            (r#"{"type":"message","role":"user","content":"Do it."}"#, None),
            (r#"{"type":"system","subtype":"init","name":"x"}"#, None),
            (r#"{"type":"turn.started"}"#, None),
            (r#"{"text":""}"#, None),
            ("", None),
        ] {
            assert_eq!(glimpse(event).as_deref(), words, "{event}");
        }
    }
}
