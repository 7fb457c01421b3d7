//! Clients that change how a run goes on while it does.

use serde_json::json;
use team_executor_testkit::limited::*;

use super::Served;
use crate::run::limit::Four;
use crate::run::start;

#[test]
fn client_changes_how_many_workers_there_are() {
    let mut four = Four::new();
    let executor = start(&four.world, &four.worker);
    four.pulse.wait_alive(3);
    let mut client = Served::new(&four.world, &[]);
    let done = client.call("limit", &json!({"session": "S", "workers": 4})).expect("it is done");
    assert_eq!(done["did"], json!(["at most 4 workers at a time"]));
    four.pulse.wait_alive(1);
    let refused = client.call("limit", &json!({"session": "S", "workers": 1, "role": "nobody"}));
    assert!(refused.expect_err("there is no such role").contains("no task has the role 'nobody'"));
    let both = client.call("limit", &json!({"session": "S", "workers": 1, "role": "worker", "agent": "a"}));
    assert!(both.expect_err("for one of them").contains("not for both"));
    four.open();
    assert_eq!(executor.limited_output().status.code(), Some(0));
}
