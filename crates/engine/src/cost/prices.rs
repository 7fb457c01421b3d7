//! What models cost, for agents that do not say what they spend. All of it is an estimate: prices change, and discounts, long
//! contexts and subscriptions are not known here.

use std::collections::BTreeMap;

use team_executor_core::run::Used;

/// What a million tokens cost, in millionths of a dollar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Price {
    /// Tokens that are sent.
    pub input: u64,
    /// Tokens that come from a cache.
    pub cached: u64,
    /// Tokens that are put into a cache.
    pub stored: u64,
    /// Tokens that are written.
    pub output: u64,
}

impl Price {
    /// What so much costs, in millionths of a dollar.
    fn cost(&self, used: &Used) -> u64 {
        let plain = used.input.saturating_sub(used.cached).saturating_sub(used.stored);
        let parts =
            [(plain, self.input), (used.cached, self.cached), (used.stored, self.stored), (used.output, self.output)];
        let sum: u128 = parts.iter().map(|(tokens, price)| u128::from(*tokens) * u128::from(*price)).sum();
        u64::try_from(sum.div_ceil(1_000_000)).unwrap_or(u64::MAX)
    }
}

/// The prices of models, by their names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prices(BTreeMap<String, Price>);

/// In cents a million tokens: sent, from a cache, written. Estimates: vendors change their prices, and the user's table replaces
/// these. Tokens put into a cache cost a quarter more than tokens sent with Claude, and nothing more with the others.
const BUILT_IN: &[(&str, [u64; 3])] = &[
    ("claude-fable-5", [1000, 100, 5000]),
    ("claude-haiku-4-5", [100, 10, 500]),
    ("claude-haiku-5-5", [50, 5, 50]),
    ("claude-opus-4-5", [500, 50, 2500]),
    ("claude-opus-5", [500, 50, 2500]),
    ("claude-opus-5-5", [400, 20, 2000]),
    ("claude-sonnet-4-5", [300, 30, 1500]),
    ("claude-sonnet-5", [200, 20, 1000]),
    ("claude-sonnet-5-5", [200, 10, 1000]),
    ("gemini-2.5-flash", [30, 3, 250]),
    ("gemini-2.5-pro", [125, 13, 1000]),
    ("gemini-3-flash", [50, 5, 300]),
    ("gemini-3-pro", [200, 20, 1200]),
    ("gpt-5", [125, 13, 1000]),
    ("gpt-5-codex", [125, 13, 1000]),
    ("gpt-5-mini", [25, 3, 200]),
    ("gpt-5.1", [125, 13, 1000]),
    ("gpt-5.1-codex", [125, 13, 1000]),
    ("gpt-5.2", [175, 18, 1400]),
    ("gpt-5.2-codex", [175, 18, 1400]),
    ("gpt-5.3-codex", [175, 18, 1400]),
    ("gpt-5.4", [250, 25, 1500]),
    ("gpt-5.4-mini", [75, 8, 450]),
    ("gpt-5.5", [500, 50, 3000]),
];

impl Prices {
    /// Those that are built in, and these in their place.
    pub fn built_in_and(own: impl IntoIterator<Item = (String, Price)>) -> Self {
        let built_in = BUILT_IN.iter().map(|(name, [input, cached, output])| {
            let [input, cached, output] = [input, cached, output].map(|cents| cents * 10_000);
            let stored = if name.starts_with("claude") { input + input / 4 } else { input };
            ((*name).to_owned(), Price { input, cached, stored, output })
        });
        Self(built_in.chain(own).collect())
    }

    /// The price of a model. A prefix before a slash and a date behind the name make no difference.
    pub fn find(&self, model: &str) -> Option<&Price> {
        let name = model.rsplit('/').next().unwrap_or(model);
        let exact = self.0.get(model).or_else(|| self.0.get(name));
        let is_same = |known: &str| name.strip_prefix(known).is_some_and(is_of_version);
        let mut near = self.0.iter().filter(|(known, _)| is_same(known));
        exact.or_else(|| near.next_back().map(|(_, price)| price))
    }

    /// What so much costs, in millionths of a dollar, if the model has a price.
    pub fn cost(&self, used: &Used) -> Option<u64> {
        Some(self.find(used.model.as_deref()?)?.cost(used))
    }
}

/// Whether the end of a name only says which edition of a model it is: a date, a size of the context.
fn is_of_version(end: &str) -> bool {
    let end = end.trim_start_matches(['-', '@', ':', '[']);
    let rest = end.trim_end_matches(']');
    ["latest", "preview", "1m"].contains(&rest) || rest.split('-').all(|part| part.len() >= 2 && is_number(part))
}

fn is_number(text: &str) -> bool {
    text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn price_is_found_by_the_name_and_its_editions_only() {
        let own = Price { input: 1, cached: 1, stored: 1, output: 1 };
        let prices = Prices::built_in_and([("scripted".to_owned(), own), ("gpt-5".to_owned(), own)]);
        assert_eq!(
            (prices.find("scripted"), prices.find("gpt-5"), prices.find("openai/gpt-5")),
            (Some(&own), Some(&own), Some(&own))
        );
        let opus = prices.find("claude-opus-5-5").unwrap();
        assert_eq!(prices.find("claude-opus-5-5-20261001"), Some(opus));
        assert_eq!(prices.find("claude-opus-5-5[1m]"), Some(opus));
        assert_eq!(prices.find("gemini-3-pro-preview").map(|price| price.input), Some(2_000_000));
        for unknown in ["gpt-5-pro", "gpt-6", "claude", "", "opus", "claude-opus-5-6"] {
            assert_eq!(prices.find(unknown), None, "{unknown}");
        }
    }

    #[test]
    fn cost_counts_each_kind_of_token_once() {
        let prices = Prices::built_in_and([]);
        let used = |input, cached, stored, output| {
            let model = Some("claude-opus-5-5".to_owned());
            Used { model, input, cached, stored, output, ..Used::default() }
        };
        let cost = |used: &Used| prices.cost(used);
        assert_eq!(cost(&used(1_000_000, 0, 0, 0)), Some(4_000_000));
        assert_eq!(cost(&used(1_000_000, 1_000_000, 0, 0)), Some(200_000));
        assert_eq!(cost(&used(1_000_000, 0, 1_000_000, 0)), Some(5_000_000));
        assert_eq!(cost(&used(0, 0, 0, 1_000_000)), Some(20_000_000));
        assert_eq!(cost(&used(1, 0, 0, 0)), Some(4));
        assert_eq!(cost(&Used { model: None, ..used(1, 0, 0, 0) }), None);
    }
}
