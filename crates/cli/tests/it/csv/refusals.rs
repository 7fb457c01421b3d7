use super::{REPORTS, arguments, outputs, run, table};

#[test]
fn job_errors_have_places_and_nothing_is_made() {
    let world = table(1);
    let before = world.tree();
    let csv = |words: &[&str]| world.run(&[&["csv"], words, &["-y", "--agent-command", "true"]].concat());
    insta::assert_snapshot!(csv(&["people.csv", "--instruction", "Write to {nmae} at {{home}} and {street}"]), @r"
    $ team-executor csv people.csv --instruction 'Write to {nmae} at {{home}} and {street}' -y --agent-command true
    ------- stderr -------
    error: the table has no column 'nmae'
     --> --instruction:1:10
      |
    1 | Write to {nmae} at {{home}} and {street}
      |          ^^^^^^ no such column
    help: did you mean {name}?
    help: write {{ and }} for the characters { and }

    error: the table has no column 'street'
     --> --instruction:1:33
      |
    1 | Write to {nmae} at {{home}} and {street}
      |                                 ^^^^^^^^ no such column
    help: its columns are id, name
    help: write {{ and }} for the characters { and }

    [exit status: 2]
    ");
    insta::assert_snapshot!(csv(&["people.csv", "--instruction", "Greet {name}", "--id-column", "email"]), @r"
    $ team-executor csv people.csv --instruction 'Greet {name}' --id-column email -y --agent-command true
    ------- stderr -------
    error: people.csv has no column 'email' to take ids from
    help: its columns are id, name

    [exit status: 2]
    ");
    insta::assert_snapshot!(csv(&["none.csv", "--instruction", "x"]), @r"
    $ team-executor csv none.csv --instruction x -y --agent-command true
    ------- stderr -------
    error: none.csv cannot be read: no such file or directory
    help: check the path: team-executor csv FILE
    [exit status: 2]
    ");
    insta::assert_snapshot!(csv(&["people.csv", "--instruction", "x", "--output-schema", "people.csv"]), @r"
    $ team-executor csv people.csv --instruction x --output-schema people.csv -y --agent-command true
    ------- stderr -------
    error: the schema people.csv cannot be used: it is not JSON: expected value at line 1 column 1
    help: name a JSON Schema that refers to no other file: --output-schema FILE
    [exit status: 2]
    ");
    insta::assert_snapshot!(csv(&["people.csv", "--instruction", "x", "--session=S"]), @r"
    $ team-executor csv people.csv --instruction x --session=S -y --agent-command true
    ------- stderr -------
    error: `csv` takes no --session
    help: leave it out: team-executor csv
    [exit status: 2]
    ");
    insta::assert_snapshot!(csv(&["people.csv", "--instruction", " "]), @r"
    $ team-executor csv people.csv --instruction ' ' -y --agent-command true
    ------- stderr -------
    error: the instruction is empty, so there is nothing to do
    help: say what to do with a row: --instruction 'Summarise {url}'

    [exit status: 2]
    ");
    assert_eq!(world.tree(), before);
    world.write("ragged.csv", "a,b\n1,2,3\n");
    insta::assert_snapshot!(csv(&["ragged.csv", "--instruction", "x"]), @r"
    $ team-executor csv ragged.csv --instruction x -y --agent-command true
    ------- stderr -------
    error: a row of ragged.csv has 3 cells
     --> ragged.csv:2:1
      |
    2 | 1,2,3
      | ^^^^^ expected 2
    help: put a cell that contains a comma in quotes

    [exit status: 2]
    ");
    world.write("bytes.csv", b"a\n\xff\n");
    insta::assert_snapshot!(csv(&["bytes.csv", "--instruction", "x"]), @r"
    $ team-executor csv bytes.csv --instruction x -y --agent-command true
    ------- stderr -------
    error: bytes.csv cannot be read: it is not UTF-8 from byte 2 on
    help: check the path: team-executor csv FILE
    [exit status: 2]
    ");
}

#[test]
fn nothing_that_the_job_has_not_written_is_overwritten() {
    let world = table(2);
    world.write("mine.csv", "kept");
    for output in ["mine.csv", "people.csv"] {
        let run = run(&world, REPORTS, &["--output", output]);
        assert_eq!(run.code, Some(2), "{run}");
        assert!(run.stderr.contains("is there, and this job has not written it"), "{run}");
    }
    assert_eq!(std::fs::read_to_string(world.dir().join("mine.csv")).expect("it is there"), "kept");
    let nowhere = run(&world, REPORTS, &["--output", "none/out.csv"]);
    assert!(nowhere.code == Some(2) && nowhere.stderr.contains("none is no folder to write"), "{nowhere}");
    assert!(!world.dir().join(".workflow").exists(), "nothing was made");
    assert_eq!(run(&world, REPORTS, &["--output", "out.csv"]).code, Some(0));
    assert!(outputs(&world).is_empty());
    // A written file is ours, until a user changes it.
    assert_eq!(run(&world, REPORTS, &["--output", "out.csv"]).code, Some(0));
    world.write("out.csv", "edited");
    let run = run(&world, REPORTS, &["--output", "out.csv"]);
    assert_eq!(run.code, Some(2), "{run}");
    assert_eq!(std::fs::read_to_string(world.dir().join("out.csv")).expect("it is there"), "edited");
}

#[test]
fn file_appearing_during_a_job_is_not_overwritten() {
    let world = table(1);
    let worker = format!("echo mine >out.csv; {REPORTS}");
    let first = world.run(&arguments(&worker, &["--output", "out.csv"]));
    assert_eq!(first.code, Some(74), "{first}");
    assert_eq!(std::fs::read_to_string(world.dir().join("out.csv")).expect("it is there"), "mine\n");
    std::fs::remove_file(world.dir().join("out.csv")).expect("it is there");
    assert_eq!(world.run(&arguments(&worker, &["--output", "out.csv"])).code, Some(0));
    let written = std::fs::read_to_string(world.dir().join("out.csv")).expect("it is there");
    assert!(written.contains(",completed,1,"), "{written}");
}
