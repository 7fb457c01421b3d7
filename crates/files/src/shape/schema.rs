//! A shape as a JSON Schema (draft 2020-12): what the format demands, without the departures that readers understand.

use super::{Object, Presence, Type};
use crate::json::{Layout, Writer};

/// The JSON Schema of a shape, ready to be printed.
pub(crate) fn schema(name: &str, title: &str, ty: &Type) -> String {
    let mut writer = Writer::new(Layout::Pretty);
    writer.begin_object();
    entry(&mut writer, "$schema", "https://json-schema.org/draft/2020-12/schema");
    entry(&mut writer, "$id", &format!("team-executor:{name}"));
    entry(&mut writer, "title", title);
    body(&mut writer, ty);
    writer.end_object();
    writer.finish()
}

fn entry(writer: &mut Writer, key: &str, text: &str) {
    writer.key(key);
    writer.text(text);
}

fn number(writer: &mut Writer, key: &str, value: impl std::fmt::Display) {
    writer.key(key);
    writer.plain(value);
}

fn nested(writer: &mut Writer, key: &str, ty: &Type) {
    writer.key(key);
    writer.begin_object();
    body(writer, ty);
    writer.end_object();
}

/// The keywords of a type, inside an object that is open.
fn body(writer: &mut Writer, ty: &Type) {
    match ty {
        Type::Text => entry(writer, "type", "string"),
        Type::Name => {
            entry(writer, "type", "string");
            entry(writer, "pattern", "\\S");
        }
        Type::Path => {
            entry(writer, "type", "string");
            entry(writer, "pattern", "^(?!/)(?!.*(^|/)\\.\\.(/|$))");
        }
        Type::Bool => entry(writer, "type", "boolean"),
        Type::Whole(min) => {
            entry(writer, "type", "integer");
            if *min > i64::MIN {
                number(writer, "minimum", min);
            }
        }
        Type::Number(min, max) => {
            entry(writer, "type", "number");
            if min.is_finite() {
                number(writer, "minimum", min);
            }
            if max.is_finite() {
                number(writer, "maximum", max);
            }
        }
        Type::Time => {
            entry(writer, "type", "string");
            entry(writer, "format", "date-time");
        }
        Type::Word(words, _) => {
            entry(writer, "type", "string");
            writer.key("enum");
            writer.texts(*words);
        }
        Type::List(element) => {
            entry(writer, "type", "array");
            nested(writer, "items", element);
        }
        Type::Filled(element) => {
            entry(writer, "type", "array");
            number(writer, "minItems", 1);
            nested(writer, "items", element);
        }
        Type::Map(element) => {
            entry(writer, "type", "object");
            nested(writer, "additionalProperties", element);
        }
        Type::Object(object) => properties(writer, object),
        Type::Nullable(inner) => {
            writer.key("anyOf");
            writer.begin_array();
            writer.begin_object();
            body(writer, inner);
            writer.end_object();
            writer.raw("{ \"type\": \"null\" }");
            writer.end_array();
        }
        Type::Or(canonical, _) => body(writer, canonical),
        Type::Anything => {}
    }
}

fn properties(writer: &mut Writer, object: &Object) {
    entry(writer, "type", "object");
    entry(writer, "description", object.about);
    let required: Vec<_> = object
        .fields
        .iter()
        .filter(|f| matches!(f.presence, Presence::Required | Presence::Expected(_)))
        .map(|f| f.name)
        .collect();
    if !required.is_empty() {
        writer.key("required");
        writer.texts(required);
    }
    writer.key("properties");
    writer.begin_object();
    for field in object.fields.iter().filter(|field| !matches!(field.presence, Presence::Known(_))) {
        writer.key(field.name);
        writer.begin_object();
        if !matches!(field.ty, Type::Object(_)) {
            entry(writer, "description", field.about);
        }
        body(writer, field.ty);
        writer.end_object();
    }
    writer.end_object();
}
