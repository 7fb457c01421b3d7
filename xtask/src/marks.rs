//! Finds the marks `R: S-03, S-07` in doc comments above tests. It reads tokens, not lines, so that attributes of any
//! shape and tests inside macros count, and text inside string literals does not.

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::requirements::is_id;
use crate::shell::Outcome;

/// A test that names requirements.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The test function's name.
    pub(crate) test: String,
    /// The requirements that it names, in its order.
    pub(crate) ids: Vec<String>,
}

/// The marks of one source file; an error names the path and the line.
pub(crate) fn find(path: &str, source: &str) -> Outcome<Vec<Mark>> {
    let tokens: TokenStream =
        source.parse().map_err(|error: proc_macro2::LexError| format!("{path}:{}: {error}", line(error.span())))?;
    let mut marks = Vec::new();
    let mut streams = vec![tokens];
    while let Some(stream) = streams.pop() {
        let inner = find_in(stream, &mut marks).map_err(|(line, what)| format!("{path}:{line}: {what}"))?;
        streams.extend(inner.into_iter().rev());
    }
    Ok(marks)
}

/// What the attributes before an item say so far.
#[derive(Default)]
struct Pending {
    ids: Vec<String>,
    line: usize,
    is_test: bool,
}

impl Pending {
    fn read(&mut self, attribute: &Group) -> Result<(), (usize, String)> {
        let line = line(attribute.span_open());
        let tokens: Vec<_> = attribute.stream().into_iter().collect();
        if let [TokenTree::Ident(name), TokenTree::Punct(_), TokenTree::Literal(text)] = &tokens[..]
            && name == "doc"
            && let Some(list) = text.to_string().trim_matches('"').trim_start().strip_prefix("R:")
        {
            self.line = line;
            self.ids.extend(parse_ids(list).map_err(|what| (line, what))?);
        }
        // `test`, `tokio::test`, `tokio::test(…)`
        let path = tokens.iter().take_while(|token| !matches!(token, TokenTree::Group(_)));
        self.is_test |= matches!(path.last(), Some(TokenTree::Ident(name)) if name == "test");
        Ok(())
    }

    fn misplaced(&self) -> Result<(), (usize, String)> {
        match self.ids.first() {
            Some(id) => Err((self.line, format!("the mark {id} is not above a test function"))),
            None => Ok(()),
        }
    }
}

/// Collects the marks of one level and returns the levels inside it.
fn find_in(stream: TokenStream, marks: &mut Vec<Mark>) -> Result<Vec<TokenStream>, (usize, String)> {
    let mut inner = Vec::new();
    let mut pending = Pending::default();
    let mut tokens = stream.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(p) if p.as_char() == '#' => {
                let is_inner = tokens.next_if(|next| matches!(next, TokenTree::Punct(p) if p.as_char() == '!'));
                let is_attribute =
                    |next: &TokenTree| matches!(next, TokenTree::Group(g) if g.delimiter() == Delimiter::Bracket);
                if let Some(TokenTree::Group(attribute)) = tokens.next_if(is_attribute) {
                    pending.read(&attribute)?;
                    if is_inner.is_some() {
                        pending.misplaced()?;
                        pending = Pending::default();
                    }
                }
            }
            TokenTree::Ident(word) if word == "pub" || word == "async" => {}
            TokenTree::Ident(word) if word == "fn" => {
                let pending = std::mem::take(&mut pending);
                match tokens.peek() {
                    Some(TokenTree::Ident(name)) if pending.is_test && !pending.ids.is_empty() => {
                        marks.push(Mark { test: name.to_string(), ids: pending.ids });
                    }
                    _ => pending.misplaced()?,
                }
            }
            other => {
                std::mem::take(&mut pending).misplaced()?;
                if let TokenTree::Group(group) = other {
                    inner.push(group.stream());
                }
            }
        }
    }
    pending.misplaced()?;
    Ok(inner)
}

fn parse_ids(list: &str) -> Outcome<Vec<String>> {
    list.split(',')
        .map(str::trim)
        .map(|id| is_id(id).then(|| id.to_owned()).ok_or_else(|| format!("`{id}` is not an id such as `S-03`")))
        .collect()
}

fn line(span: proc_macro2::Span) -> usize {
    span.start().line
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(source: &str) -> Vec<(String, String)> {
        find("a.rs", source).unwrap().into_iter().map(|mark| (mark.test, mark.ids.join(" "))).collect()
    }

    fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
        expected.iter().map(|(test, ids)| ((*test).to_owned(), (*ids).to_owned())).collect()
    }

    #[test]
    fn marks_are_found_wherever_a_test_may_stand() {
        let source = r#"
            //! A file.
            fn ordinary() {}
            mod tests {
                /// Says why.
                ///
                /// R: S-03, S-07
                /// R: X-01
                #[test]
                fn plain() { let _ = "/// R: Z-99"; }

                #[test]
                /// R: S-04
                fn mark_after_the_attribute() {}

                /// R: S-05
                #[tokio::test(flavor = "current_thread")]
                #[cfg_attr(
                    feature = "x",
                    expect(unused)
                )]
                async fn asynchronous() {}

                proptest! {
                    /// R: M-03
                    #[test]
                    fn property(x in 0..9) {}
                }

                #[test]
                fn unmarked() {}
            }
        "#;
        let expected = [
            ("plain", "S-03 S-07 X-01"),
            ("mark_after_the_attribute", "S-04"),
            ("asynchronous", "S-05"),
            ("property", "M-03"),
        ];
        assert_eq!(found(source), pairs(&expected));
    }

    #[test]
    fn a_mark_that_is_not_above_a_test_is_an_error() {
        for source in [
            "\n/// R: S-03\nfn helper() {}",
            "\n/// R: S-03\nstruct S;",
            "\n/// R: S-03\nmod m { #[test] fn t() {} }",
            "\n//! R: S-03\n#[test] fn t() {}",
            "mod m {\n/// R: S-03\n}",
            "\n/// R: S-03\n#[cfg(test)] fn t() {}",
        ] {
            let error = Err("a.rs:2: the mark S-03 is not above a test function".to_owned());
            assert_eq!(find("a.rs", source), error, "{source}");
        }
    }

    #[test]
    fn invalid_id_list_is_an_error() {
        let error = |list| find("a.rs", &format!("\n/// R:{list}\n#[test] fn t() {{}}")).unwrap_err();
        assert_eq!(error(" S-3"), "a.rs:2: `S-3` is not an id such as `S-03`");
        assert_eq!(error(""), "a.rs:2: `` is not an id such as `S-03`");
        assert_eq!(error(" S-03,"), "a.rs:2: `` is not an id such as `S-03`");
        assert_eq!(error(" S-03 S-04"), "a.rs:2: `S-03 S-04` is not an id such as `S-03`");
    }

    #[test]
    fn invalid_rust_is_an_error_with_its_line() {
        assert!(find("a.rs", "fn f() {\n\"").unwrap_err().starts_with("a.rs:2: "));
    }
}
