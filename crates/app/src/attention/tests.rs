use super::*;

#[test]
fn lists_are_cut_by_kind_and_kinds_are_ranked() {
    let of = |kind| item(kind, None, String::new(), Vec::new());
    let many: Vec<Item> = (0..MOST + 5).map(|_| of(Kind::Failed)).chain([of(Kind::Slow)]).collect();
    let listed = cut(many);
    assert_eq!((listed.len(), listed[MOST].kind), (MOST + 1, Kind::Slow));
    assert!(Kind::Permission < Kind::Checkpoint && Kind::Stopped < Kind::Failed && Kind::Slow < Kind::Disk);
}

#[test]
fn ids_that_look_like_options_are_typed_behind_a_double_dash() {
    let typing = actions::Typing::new("team-executor".to_owned(), "my S", None, true);
    assert_eq!(typing.retry(&["-001"]).command, "team-executor retry '--session=my S' -- -001");
    assert_eq!(typing.retry(&["a b"]).command, "team-executor retry 'a b' '--session=my S'");
    assert_eq!(typing.retry(&["A", "-1"]).command, "team-executor retry '--session=my S' -- A -1");
}
