//! Whether a text mentions something: whole words, whatever their case. A character of a script without blanks between
//! words is a word of its own.

/// The words of a text, in lower case. `C++` and `C#` are words.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Words(Vec<String>);

impl Words {
    /// Takes a text apart.
    pub(crate) fn split(text: &str) -> Self {
        let mut words = Vec::new();
        let mut word = String::new();
        for c in text.chars() {
            let goes_on = is_in_word(c) || (matches!(c, '+' | '#') && !word.is_empty());
            if stands_alone(c) || !goes_on {
                end(&mut word, &mut words);
            }
            if stands_alone(c) {
                words.push(c.to_string());
            } else if goes_on {
                word.extend(c.to_lowercase().filter(|lower| is_in_word(*lower) || *lower == c));
            }
        }
        end(&mut word, &mut words);
        Self(words)
    }

    /// Whether these words stand in it, next to each other and in this order. Nothing is never mentioned.
    pub(crate) fn mention(&self, phrase: &str) -> bool {
        let phrase = Self::split(phrase).0;
        !phrase.is_empty() && self.0.windows(phrase.len()).any(|window| window == phrase)
    }

    /// The first of some phrases that is mentioned.
    pub(crate) fn first<'p>(&self, phrases: impl IntoIterator<Item = &'p str>) -> Option<&'p str> {
        phrases.into_iter().find(|phrase| self.mention(phrase))
    }
}

fn end(word: &mut String, words: &mut Vec<String>) {
    if !word.is_empty() {
        words.push(std::mem::take(word));
    }
}

fn is_in_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Ideographs and kana.
const fn stands_alone(c: char) -> bool {
    matches!(c, '\u{3040}'..='\u{30FF}' | '\u{3400}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{20000}'..='\u{3FFFF}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn whole_words_count_and_their_case_does_not() {
        let words = Words::split("Harden the login against the OWASP Top-10; no author is C++, STRAßE.");
        for phrase in ["owasp", "OWASP top 10", "Login", "c++", "top-10", "straße"] {
            assert!(words.mention(phrase), "{phrase}");
        }
        for phrase in ["auth", "log", "top owasp", "c", "10 no author of", "", " ", "--"] {
            assert!(!words.mention(phrase), "{phrase}");
        }
        assert_eq!(words.first(["sql", "login", "owasp"]), Some("login"));
        assert_eq!(words.first([]), None);
    }

    #[test]
    fn scripts_without_blanks_are_searched_within() {
        let words = Words::split("修复登录的安全漏洞API");
        assert!(words.mention("安全") && words.mention("api") && words.mention("安全漏洞"));
        assert!(!words.mention("全安"));
    }

    proptest! {
        #[test]
        fn a_text_mentions_each_of_its_words(text in any::<String>()) {
            let words = Words::split(&text);
            for word in &words.0 {
                prop_assert!(words.mention(word), "{}", word);
            }
        }
    }
}
