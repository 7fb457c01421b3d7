//! Colours, light and dark, and the marks of the statuses.
//!
//! The light colours are plain rules that every viewer understands; the dark ones stand in a media query. A colour never
//! says anything alone: each status has a mark of its own shape and its word, the critical path is also thicker.

use std::collections::{BTreeMap, BTreeSet};

use team_executor_core::TaskStatus;

/// System fonts only, so that nothing is loaded.
const FONTS: &str = "system-ui,-apple-system,'Segoe UI',Roboto,'Noto Sans','Helvetica Neue',Arial,'PingFang SC',\
                     'Microsoft YaHei','Noto Sans CJK SC',sans-serif";

/// Selector, property, light value, dark value.
const COLOURS: &[(&str, &str, &str, &str)] = &[
    (".page", "fill", "#f6f8fa", "#0d1117"),
    (".lane", "fill", "#ebeff4", "#151b23"),
    (".card", "fill", "#ffffff", "#212830"),
    (".card", "stroke", "#d1d9e0", "#3d444d"),
    (".card.critical", "stroke", "#8250df", "#ab7df8"),
    (".text", "fill", "#1f2328", "#f0f6fc"),
    (".muted", "fill", "#59636e", "#9198a1"),
    (".edge", "stroke", "#8d98a5", "#656f7c"),
    (".edge.critical", "stroke", "#8250df", "#ab7df8"),
    (".tip", "fill", "#8d98a5", "#656f7c"),
    (".tip.critical", "fill", "#8250df", "#ab7df8"),
    (".ink", "stroke", "#ffffff", "#0d1117"),
];

/// The colour of each status, light and dark, in the order of [`TaskStatus::ALL`].
const STATUSES: &[(&str, &str)] = &[
    ("#6e7781", "#8b949e"),
    ("#9a6700", "#d29922"),
    ("#0969da", "#4493f8"),
    ("#1a7f37", "#3fb950"),
    ("#cf222e", "#f85149"),
    ("#8a5a44", "#c69c85"),
];

/// The colours of roles: light ground and text, dark ground and text.
const ROLES: &[[&str; 4]] = &[
    ["#ddf4ff", "#0550ae", "#10304f", "#a5d6ff"],
    ["#dafbe1", "#116329", "#12351f", "#8ddb8c"],
    ["#fff1c2", "#7a4a00", "#3d2e00", "#eac55f"],
    ["#ffe4d6", "#953800", "#472108", "#ffb77c"],
    ["#fbe3f1", "#99286e", "#44163a", "#ff9bce"],
    ["#ece5ff", "#5e3bb5", "#2d2250", "#cbb2ff"],
    ["#d3f5f0", "#0b5c55", "#0c3835", "#7ddfd3"],
    ["#ffe3e3", "#a40e26", "#4a1519", "#ffaba8"],
    ["#e8ecd0", "#4f5a12", "#30350f", "#cdd68a"],
    ["#e3e8f0", "#3d4b60", "#2b3543", "#b8c6da"],
];

/// The class of a status.
pub(super) fn status_class(status: TaskStatus) -> &'static str {
    ["s0", "s1", "s2", "s3", "s4", "s5"][status as usize]
}

/// The word of a status, for people.
pub(super) fn status_name(status: TaskStatus) -> String {
    status.word().replace('_', " ")
}

/// The light colour of a status, for formats without themes.
pub(super) fn status_colour(status: TaskStatus) -> &'static str {
    STATUSES[status as usize].0
}

/// The number of each role's colour: decided by its name alone, unless another role of the picture has that colour.
pub(super) fn role_colours<'a>(roles: impl Iterator<Item = &'a str>) -> BTreeMap<&'a str, usize> {
    let mut taken = BTreeSet::new();
    let mut colours = BTreeMap::new();
    for role in roles.collect::<BTreeSet<_>>() {
        let wish = role.bytes().fold(5381_usize, |hash, byte| hash.wrapping_mul(33) ^ usize::from(byte)) % ROLES.len();
        let free = (0..ROLES.len()).map(|step| (wish + step) % ROLES.len()).find(|colour| !taken.contains(colour));
        let colour = free.unwrap_or(wish);
        taken.insert(colour);
        colours.insert(role, colour);
    }
    colours
}

/// The style sheet. Every rule is bound to `.plan`, so that it changes nothing around an embedded picture.
pub(super) fn style() -> String {
    let mut light = String::new();
    let mut dark = String::new();
    let mut rule = |selector: &str, property: &str, values: [&str; 2]| {
        for (sheet, value) in [&mut light, &mut dark].into_iter().zip(values) {
            sheet.push_str(&format!(".plan {selector}{{{property}:{value}}}\n"));
        }
    };
    for (selector, property, light, dark) in COLOURS {
        rule(selector, property, [light, dark]);
    }
    for (at, (light, dark)) in STATUSES.iter().enumerate() {
        rule(&format!(".s{at}"), "fill", [light, dark]);
        rule(&format!(".s{at}.line"), "stroke", [light, dark]);
    }
    for (at, [ground, text, dark_ground, dark_text]) in ROLES.iter().enumerate() {
        rule(&format!(".r{at}"), "fill", [ground, dark_ground]);
        rule(&format!(".t{at}"), "fill", [text, dark_text]);
    }
    format!(
        ".plan{{font-family:{FONTS}}}\n{light}\
         .plan .edge,.plan .line.line{{fill:none}}.plan .line{{stroke-width:1.8}}\n\
         .plan .ink{{fill:none;stroke-width:2;stroke-linecap:round;stroke-linejoin:round}}\n\
         @media (prefers-color-scheme:dark){{\n{dark}}}\n"
    )
}

/// The mark of a status, at a place.
pub(super) fn mark(status: TaskStatus, x: f64, y: f64) -> String {
    let class = status_class(status);
    let disc = format!("<circle r=\"8\" class=\"{class}\"/>");
    let ring = format!("<circle r=\"7\" class=\"{class} line\"/>");
    let shape = match status {
        TaskStatus::Pending => ring,
        TaskStatus::Ready => format!("{ring}<path d=\"M-2.2-3.6 4 0-2.2 3.6Z\" class=\"{class}\"/>"),
        TaskStatus::InProgress => format!("{ring}<path d=\"M0-7A7 7 0 0 1 0 7Z\" class=\"{class}\"/>"),
        TaskStatus::Completed => format!("{disc}<path d=\"M-3.6.3-1 2.8 3.6-2.6\" class=\"ink\"/>"),
        TaskStatus::Failed => format!("{disc}<path d=\"M-2.8-2.8 2.8 2.8M2.8-2.8-2.8 2.8\" class=\"ink\"/>"),
        TaskStatus::Skipped => format!("{ring}<path d=\"M-4.9 4.9 4.9-4.9\" class=\"{class} line\"/>"),
    };
    format!("<g transform=\"translate({x:.0} {y:.0})\">{shape}</g>")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_status_has_its_own_class_colour_and_mark() {
        assert_eq!(STATUSES.len(), TaskStatus::ALL.len());
        let different =
            |of: fn(TaskStatus) -> String| TaskStatus::ALL.iter().map(|&s| of(s)).collect::<BTreeSet<_>>().len();
        assert_eq!(different(|status| status_class(status).to_owned()), 6);
        assert_eq!(different(|status| status_colour(status).to_owned()), 6);
        assert_eq!(different(|status| mark(status, 0.0, 0.0).replace(status_class(status), "")), 6, "by shape alone");
    }

    #[test]
    fn roles_have_colours_of_their_own_while_there_are_enough() {
        let names: Vec<String> = (0..25).map(|n| format!("role-{n}")).collect();
        let ten = role_colours(names.iter().take(10).map(String::as_str));
        assert_eq!(ten.values().collect::<BTreeSet<_>>().len(), 10);
        assert_eq!(ten, role_colours(names.iter().take(10).rev().map(String::as_str)));
        assert_eq!(role_colours(names.iter().map(String::as_str)).len(), 25);
    }
}
