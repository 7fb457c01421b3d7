//! Reads the types of a source file for the pages that describe them: names, doc comments, fields and values.

use std::collections::BTreeMap;

use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use crate::shell::{Outcome, read};

/// A variant or a field, with what its attributes say.
#[derive(Debug, Default, Clone)]
pub(crate) struct Member {
    pub(crate) name: String,
    pub(crate) doc: String,
    /// The type of a field, or of what a variant holds.
    pub(crate) kind: String,
    /// The number of a variant, if it has one.
    pub(crate) value: Option<String>,
    pub(crate) fields: Vec<Member>,
    /// Whether it is never written.
    pub(crate) is_hidden: bool,
    /// Whether its fields stand in its place.
    pub(crate) is_flat: bool,
    /// Whether it is left out when it says nothing.
    pub(crate) is_optional: bool,
}

/// The structs and enums of a source file, by name.
pub(crate) type Items = BTreeMap<String, Vec<Member>>;

/// Reads a source file, by its path relative to the root.
pub(crate) fn of_file(path: &str) -> Outcome<Items> {
    of_source(path, &read(path)?)
}

/// Reads the text of a source file.
pub(crate) fn of_source(path: &str, source: &str) -> Outcome<Items> {
    let tokens: TokenStream = source.parse().map_err(|error| format!("{path}: {error}"))?;
    Ok(items(tokens))
}

/// A name of a type as it is written in JSON.
pub(crate) fn snake(name: &str) -> String {
    let parts = name.char_indices().map(|(at, c)| if at > 0 && c.is_uppercase() { format!("_{c}") } else { c.into() });
    parts.collect::<String>().to_lowercase()
}

fn items(tokens: TokenStream) -> Items {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut items = Items::new();
    for (at, pair) in tokens.windows(2).enumerate() {
        if let [TokenTree::Ident(word), TokenTree::Ident(name)] = pair
            && (word == "enum" || word == "struct")
        {
            // Its parameters may be in between.
            let body = tokens[at + 2..].iter().find_map(|token| match token {
                TokenTree::Group(body) => Some((body.delimiter() == Delimiter::Brace).then_some(body)),
                _ => None,
            });
            items.extend(body.flatten().map(|body| (name.to_string(), members(body))));
        }
    }
    items
}

/// The variants of an enum, or the fields of a struct or a variant.
fn members(body: &Group) -> Vec<Member> {
    let (mut found, mut member) = (Vec::new(), Member::default());
    let mut tokens = body.stream().into_iter().peekable();
    while let Some(token) = tokens.next() {
        match token {
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                if let Some(TokenTree::Group(attribute)) = tokens.next() {
                    member.read(&attribute);
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ':' => {
                let mut depth = 0;
                while let Some(part) = tokens.next_if(|next| depth > 0 || !is_comma(next)) {
                    depth += match part.to_string().as_str() {
                        "<" => 1,
                        ">" => -1,
                        _ => 0,
                    };
                    member.kind.push_str(&part.to_string());
                }
            }
            TokenTree::Punct(punct) if punct.as_char() == ',' => found.push(std::mem::take(&mut member)),
            TokenTree::Ident(word) if word == "pub" => {}
            TokenTree::Ident(name) if member.name.is_empty() => member.name = name.to_string(),
            TokenTree::Group(fields) if fields.delimiter() == Delimiter::Brace => member.fields = members(&fields),
            TokenTree::Group(held) if held.delimiter() == Delimiter::Parenthesis && !member.name.is_empty() => {
                member.kind = held.stream().to_string()
            }
            TokenTree::Literal(value) => member.value = Some(value.to_string()),
            _ => {}
        }
    }
    found.extend((!member.name.is_empty()).then_some(member));
    found
}

fn is_comma(token: &TokenTree) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == ',')
}

impl Member {
    fn read(&mut self, attribute: &Group) {
        let tokens: Vec<TokenTree> = attribute.stream().into_iter().collect();
        match &tokens[..] {
            [TokenTree::Ident(doc), TokenTree::Punct(_), TokenTree::Literal(text)] if doc == "doc" => {
                let text = text.to_string();
                let text = text.strip_prefix('"').and_then(|text| text.strip_suffix('"')).unwrap_or(&text);
                let text = text.replace("\\\"", "\"").replace("\\'", "'");
                self.doc = [self.doc.as_str(), text.trim()].join(" ").trim().to_owned();
            }
            [TokenTree::Ident(serde), TokenTree::Group(options)] if serde == "serde" => {
                let options: Vec<TokenTree> = options.stream().into_iter().collect();
                let has = |word: &str| options.iter().any(|token| matches!(token, TokenTree::Ident(it) if it == word));
                self.is_hidden |= has("skip") || has("other");
                self.is_optional |= has("skip_serializing_if");
                self.is_flat |= has("flatten");
                if let [TokenTree::Ident(rename), TokenTree::Punct(_), TokenTree::Literal(name), ..] = &options[..]
                    && rename == "rename"
                {
                    self.name = name.to_string().trim_matches('"').to_owned();
                }
            }
            _ => {}
        }
    }
}
