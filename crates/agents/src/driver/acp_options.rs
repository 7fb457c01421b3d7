//! The model and the effort of a session of the Agent Client Protocol: an agent says what can be set, by one of two methods.

use serde_json::{Value, json};

use super::dialogue::text;

/// What is still to be set of a session, and what its agent offers.
#[derive(Debug, Default)]
pub(super) struct Wanted {
    model: Option<String>,
    effort: Option<String>,
    /// `configOptions` of the agent.
    options: Vec<Value>,
    /// `models.availableModels` of the agent.
    models: Vec<Value>,
}

/// A call that sets something.
#[derive(Debug, PartialEq)]
pub(super) struct Setting {
    pub(super) method: &'static str,
    pub(super) params: Value,
}

impl Wanted {
    /// A model and an effort, by the agent's own names.
    pub(super) fn new(model: Option<String>, effort: Option<String>) -> Self {
        Self { model, effort, ..Self::default() }
    }

    /// Takes what an answer of the agent says that can be set.
    pub(super) fn offered(&mut self, result: &Value) {
        if let Some(options) = result["configOptions"].as_array() {
            self.options.clone_from(options);
        }
        if let Some(models) = result["models"]["availableModels"].as_array() {
            self.models.clone_from(models);
        }
    }

    /// The next call, or why what is wanted cannot be set; nothing if all is set.
    pub(super) fn next(&mut self, session: &str) -> Option<Result<Setting, String>> {
        if let Some(model) = self.model.take() {
            let by_option = self.option("model", &model, session);
            return Some(by_option.unwrap_or_else(|| self.by_method(&model, session)));
        }
        let effort = self.effort.take()?;
        let lacks = || Err(format!("the agent offers no effort, so `effort = \"{effort}\"` cannot be set"));
        Some(self.option("thought_level", &effort, session).unwrap_or_else(lacks))
    }

    /// The call that sets an option of a category; nothing if the agent has none.
    fn option(&self, category: &str, wanted: &str, session: &str) -> Option<Result<Setting, String>> {
        let is_it = |option: &&Value| text(option, "category") == category;
        let option = self.options.iter().find(is_it)?;
        let values = option["options"].as_array().into_iter().flatten();
        // Values may stand in groups.
        let values = values.flat_map(|one| match one["options"].as_array() {
            Some(inner) => inner.iter().collect::<Vec<_>>(),
            None => vec![one],
        });
        let what = if category == "model" { "model" } else { "effort" };
        Some(chosen(what, wanted, values.map(|one| (text(one, "value"), text(one, "name")))).map(|value| Setting {
            method: "session/set_config_option",
            params: json!({"sessionId": session, "configId": option["id"], "value": value}),
        }))
    }

    fn by_method(&self, wanted: &str, session: &str) -> Result<Setting, String> {
        if self.models.is_empty() {
            return Err(format!(
                "the agent offers no choice of models, so `model = \"{wanted}\"` cannot be set; choose it in the agent's own \
                 settings or by `args`"
            ));
        }
        let value = chosen("model", wanted, self.models.iter().map(|one| (text(one, "modelId"), text(one, "name"))))?;
        Ok(Setting { method: "session/set_model", params: json!({"sessionId": session, "modelId": value}) })
    }
}

/// The value that is wanted, by itself or by its name.
fn chosen<'v>(what: &str, wanted: &str, values: impl Iterator<Item = (&'v str, &'v str)>) -> Result<&'v str, String> {
    const NAMED: usize = 20;
    let values: Vec<_> = values.collect();
    let exact = values.iter().find(|(value, _)| *value == wanted);
    let found = exact.or_else(|| values.iter().find(|(_, name)| name.eq_ignore_ascii_case(wanted)));
    found.map(|(value, _)| *value).ok_or_else(|| {
        let known: Vec<_> = values.iter().take(NAMED).map(|(value, _)| *value).collect();
        format!("the agent has no {what} `{wanted}`; it has: {}", known.join(", "))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wanted(model: &str, effort: &str) -> Wanted {
        let some = |word: &str| (!word.is_empty()).then(|| word.to_owned());
        Wanted::new(some(model), some(effort))
    }

    #[test]
    fn options_match_values_by_name_and_in_groups() {
        let mut it = wanted("Big One", "high");
        it.offered(&json!({"models": {"availableModels": [{"modelId": "x"}]}, "configOptions": [
            {"id": "m", "category": "model", "options": [{"group": "g", "options": [{"value": "big", "name": "Big one"}]}]},
            {"id": "t", "category": "thought_level", "options": [{"value": "high", "name": "High"}]},
        ]}));
        let set = |id: &str, value: &str| Setting {
            method: "session/set_config_option",
            params: json!({"sessionId": "s", "configId": id, "value": value}),
        };
        assert_eq!(it.next("s"), Some(Ok(set("m", "big"))));
        assert_eq!(it.next("s"), Some(Ok(set("t", "high"))));
        assert_eq!(it.next("s"), None);
    }

    #[test]
    fn model_is_set_by_its_method_where_there_is_no_option() {
        let mut it = wanted("x", "");
        it.offered(&json!({"models": {"availableModels": [{"modelId": "x", "name": "X"}]}}));
        let params = json!({"sessionId": "s", "modelId": "x"});
        assert_eq!(it.next("s"), Some(Ok(Setting { method: "session/set_model", params })));
    }

    #[test]
    fn agent_without_the_model_or_the_effort_is_refused_in_words() {
        let mut it = wanted("z", "");
        it.offered(&json!({"models": {"availableModels": [{"modelId": "x"}, {"modelId": "y"}]}}));
        assert_eq!(it.next("s"), Some(Err("the agent has no model `z`; it has: x, y".to_owned())));
        assert!(wanted("z", "").next("s").unwrap().unwrap_err().contains("offers no choice of models"));
        assert!(wanted("", "max").next("s").unwrap().unwrap_err().contains("offers no effort"));
        assert_eq!(wanted("", "").next("s"), None);
    }
}
