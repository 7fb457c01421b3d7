//! Work side by side becomes one branch that passes the tests.

use std::fmt::Write as _;

use super::{authors, branch, commit, does, git, prompt, repository, run, scripted, shown, starts, trees, users};
use crate::run::column;

/// A file with a line for each of twelve tasks, far enough apart to be merged.
fn lines() -> String {
    (1..=12).fold(String::new(), |mut text, nth| {
        write!(text, "T-{nth:02}: open\n-\n-\n-\n").expect("a string");
        text
    })
}

/// R: G-01
#[test]
fn twelve_tasks_on_shared_files_become_one_branch() {
    let ids: Vec<String> = (1..=12).map(|nth| format!("T-{nth:02}")).collect();
    let deps = ["", "", "", "", "", "", "T-01", "T-01;T-02", "T-03;T-04;T-05", "", "T-08;T-09", "T-11"];
    let list: Vec<(&str, &str)> = ids.iter().map(String::as_str).zip(deps).collect();
    let config = "[merge]\nverify = [\"sh\", \"check.sh\"]\n";
    let check = "! grep -L '^T-01: ' shared.txt | grep . && [ -e own/README ]";
    let world = repository(&list, config, &[("shared.txt", &lines()), ("own/README", ""), ("check.sh", check)]);
    git(&world, &["tag", "mine"]);
    world.write("shared.txt", lines() + "stashed\n");
    git(&world, &["stash", "-q"]);
    let before = users(&world);
    let worker = "sh -c 'sed -i \"s/^$TEAM_EXECUTOR_TASK: open/$TEAM_EXECUTOR_TASK: done/\" shared.txt; echo x > own/$TEAM_EXECUTOR_TASK; \
                  for on in T-01 T-08 T-11; do [ -e own/$on ] && echo \"$TEAM_EXECUTOR_TASK saw $on\" >> own/$TEAM_EXECUTOR_TASK; done; \
                  git stash list; git branch $TEAM_EXECUTOR_TASK; true'";
    let ran = run(&world, worker, &["-c", "6"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(users(&world), before);
    let branch = branch(&world);
    assert!(ran.stdout.contains(&format!("{branch}; git merge {branch} takes it over")), "{ran}");
    assert_eq!(shown(&world, &branch, "shared.txt"), lines().replace("open", "done"));
    assert_eq!(authors(&world, &branch), ids, "each change exactly once");
    let saw = ["T-01", "T-08", "T-11"].map(|on| format!("T-12 saw {on}\n")).concat();
    assert_eq!(shown(&world, &branch, "own/T-12"), format!("x\n{saw}"));
    assert_eq!(
        shown(&world, &branch, "own/T-07"),
        "x\nT-07 saw T-01\n",
        "it is based on what its parent did, and on nothing else"
    );
    git(&world, &["checkout", "-q", &branch]);
    git(&world, &["-c", "alias.t=!sh check.sh", "t"]);
    assert_eq!(trees(&world), Vec::<String>::new(), "everything in them is kept as commits");
}

#[test]
fn conflict_goes_back_with_both_sides_and_is_merged() {
    let world = repository(&[("A", ""), ("B", ""), ("C", "A;B")], "", &[("a.txt", "1\n")]);
    let dir = world.dir().display();
    for (own, other) in [("A", "B"), ("B", "A")] {
        // Both begin before one of them is merged.
        let meets = format!("touch {dir}/{own}.began; until [ -e {dir}/{other}.began ]; do sleep 0.01; done");
        let resolves = format!(
            "if grep -q '<<<<<<<' a.txt; then printf 'A and B\\n' > a.txt; else {meets}; echo {own} > a.txt; fi"
        );
        does(&world, own, &resolves);
    }
    does(&world, "C", "cat a.txt > seen.txt");
    let ran = run(&world, &scripted(&world), &["-c", "2"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let branch = branch(&world);
    assert_eq!(
        (shown(&world, &branch, "a.txt"), shown(&world, &branch, "seen.txt")),
        ("A and B\n".into(), "A and B\n".into())
    );
    assert_eq!(starts(&world, "A") + starts(&world, "B"), 3, "{ran}");
    let again = if starts(&world, "A") == 2 { "A" } else { "B" };
    let told = prompt(&world, again);
    assert!(told.contains("> it conflicts with what other tasks have changed since, in: a.txt"), "{told}");
    assert!(
        told.contains("These files hold conflicts between what was merged.") && told.contains("\n> a.txt\n"),
        "{told}"
    );
}

/// R: G-04
#[test]
fn conflict_that_stays_is_put_before_a_person() {
    for (config, most) in [("[defaults]\n", 3), ("[merge]\nconflict = \"checkpoint\"\n", 1)] {
        let world = repository(&[("A", ""), ("B", "")], config.trim_start_matches("[defaults]\n"), &[("a.txt", "1\n")]);
        let dir = world.dir().display();
        does(&world, "A", &format!("until [ -e {dir}/B.began ]; do sleep 0.01; done; echo A > a.txt"));
        // It always writes the whole file anew, and never looks at what is in it.
        let late = format!(
            "touch {dir}/B.began; while ! git --git-dir={dir}/.git for-each-ref | grep -q /trunk; do sleep 0.01; done; \
             git show HEAD:a.txt | grep -v '^[<>=A]' > a.txt; echo \"B $TEAM_EXECUTOR_ATTEMPT\" >> a.txt; git checkout -q --detach 2>&1; \
             case $TEAM_EXECUTOR_ATTEMPT in */1) ;; *) printf \"<<<<<<< x\\n>>>>>>> y\\n\" >> a.txt;; esac"
        );
        does(&world, "B", &late);
        let ran = run(&world, &scripted(&world), &["-c", "2", "--rounds", "2"]);
        assert_eq!((ran.code, starts(&world, "B")), (Some(3), most), "{config}: {ran}");
        assert!(ran.stderr.contains("Checkpoint after B: "), "{ran}");
        if most == 1 {
            assert!(ran.stderr.contains("not accepted: B: it conflicts with what other tasks have changed"), "{ran}");
            let gone_on = world.run(&["resume", "--session=S"]);
            assert_eq!(gone_on.code, Some(0), "{gone_on}");
            assert!(gone_on.stderr.contains("B: its changes are not merged"), "{gone_on}");
            assert_eq!(shown(&world, &branch(&world), "a.txt"), "A\n");
        } else {
            assert!(ran.stderr.contains("a.txt: the markers of a conflict are still in it"), "{ran}");
        }
    }
}

/// R: G-04
#[test]
fn breaker_in_a_batch_is_found_sent_back_and_mended() {
    let list = [("T-1", ""), ("T-2", ""), ("T-3", ""), ("T-4", ""), ("T-5", "")];
    let world = repository(&list, "[merge]\nverify = [\"sh\", \"check.sh\"]\nflaky = 0\n", &[("a", "")]);
    let dir = world.dir().display().to_string();
    // The first waits until all have delivered, so that those behind it are tried together.
    let check = format!(
        "echo run >> {dir}/checks.starts; \
         until [ $(git --git-dir={dir}/.git for-each-ref | grep -c /1/result) = 5 ]; do sleep 0.01; done; \
         if [ -e broken ]; then echo 'the whole is broken'; exit 1; fi"
    );
    world.write("check.sh", check);
    commit(&world);
    for nth in [1, 2, 4, 5] {
        does(&world, &format!("T-{nth}"), &format!("echo {nth} > file-{nth}"));
    }
    does(&world, "T-3", "if [ -e broken ]; then rm broken; else touch broken; fi; echo 3 > file-3");
    let ran = run(&world, &scripted(&world), &["-c", "5"]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(list.map(|(task, _)| starts(&world, task)), [1, 1, 2, 1, 1]);
    let told = prompt(&world, "T-3");
    assert!(told.contains("> with it the tests of the whole fail: `sh check.sh`: exit code 1"), "{told}");
    assert!(told.contains("> the whole is broken"), "{told}");
    let branch = branch(&world);
    assert_eq!(git(&world, &["ls-tree", "--name-only", &branch, "broken"]), "");
    assert_eq!(git(&world, &["ls-tree", "--name-only", &branch]).matches("file-").count(), 5);
    // One alone, then four together with at most three more to find the culprit among them, then what is left, then the mended one.
    assert!(starts(&world, "checks") <= 8, "{}", starts(&world, "checks"));
    assert_eq!(column(&world, "status"), ["completed"; 5]);
}
