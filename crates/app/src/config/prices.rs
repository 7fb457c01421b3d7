//! What models cost: `[prices."MODEL"]`, in dollars a million tokens.

use std::collections::BTreeMap;

use serde_json::json;
use team_executor_engine::{Price, Prices};
use toml::de::{DeTable, DeValue};

use super::read::tables;
use super::show::{List, quoted};
use super::values::{Reader, get};
use super::{Dollars, Set, Settings};

pub(super) const KEYS: &[&str] = &["input", "cached", "stored", "output"];
const EXPECTED: &str = "dollars a million tokens, as 3 or 0.25";

/// Reads all prices of a file.
pub(super) fn read(reader: &mut Reader<'_>, root: &DeTable<'_>) -> BTreeMap<String, Set<Price>> {
    let mut prices = BTreeMap::new();
    for (model, at, table) in tables(reader, root, "prices") {
        let section = format!("prices.{}", quoted(&model));
        reader.only(table, &section, KEYS);
        let [input, cached, stored, output] =
            [0, 1, 2, 3].map(|key| reader.set(table, KEYS[key], EXPECTED, micros).map(|set| set.value));
        for key in ["input", "output"].into_iter().filter(|key| get(table, key).is_none()) {
            let message = format!("[{section}] has no `{key}`");
            reader.wrong(message, at.clone(), "a price needs both", format!("add {key} = {EXPECTED}"));
        }
        if let (Some(input), Some(output)) = (input, output) {
            let price = Price { input, cached: cached.unwrap_or(input), stored: stored.unwrap_or(input), output };
            prices.insert(model, Set { value: price, from: reader.from(at) });
        }
    }
    prices
}

/// The prices that count.
pub(crate) fn prices(settings: &Settings) -> Prices {
    Prices::built_in_and(settings.prices.iter().map(|(model, set)| (model.clone(), set.value)))
}

/// Lists those that are set.
pub(super) fn show(list: &mut List, prices: &BTreeMap<String, Set<Price>>) {
    for (model, Set { value: Price { input, cached, stored, output }, from }) in prices {
        for (key, micros) in KEYS.iter().zip([input, cached, stored, output]) {
            let value = json!(Dollars(*micros).to_string());
            list.add(&format!("prices.{}.{key}", quoted(model)), value, from.clone());
        }
    }
}

/// An amount that may be nothing, in millionths of a dollar.
fn micros(value: &DeValue<'_>) -> Option<u64> {
    let text = match value {
        DeValue::Integer(number) if number.radix() == 10 => number.as_str(),
        DeValue::Float(number) => number.as_str(),
        _ => return None,
    };
    let is_nothing = text.bytes().all(|byte| matches!(byte, b'0' | b'.'));
    if is_nothing { Some(0) } else { text.parse::<Dollars>().ok().map(|dollars| dollars.0) }
}
