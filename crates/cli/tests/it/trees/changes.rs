//! `changes` and `merge`: what tasks changed is shown, taken over and merged again, in every state of a run.

use std::process::Stdio;

use serde_json::Value;
use team_executor_testkit::limited::*;
use team_executor_testkit::{Run, World};

use super::{branch, does, git, prompt, repository, run, scripted, shown, users};
use crate::run::{arguments, folder, read};

fn json(ran: &Run) -> Value {
    serde_json::from_str(&ran.stdout).unwrap_or_else(|error| panic!("{error}: {ran}"))
}

/// Two tasks, the second of which builds on the first.
fn finished() -> World {
    let world = repository(&[("A", ""), ("B", "A")], "", &[("a.txt", "1\n2\n3\n"), ("gone", "x\n")]);
    does(&world, "A", "printf '1\\ntwo\\n3\\n4\\n' > a.txt; rm gone");
    does(&world, "B", "printf '\\000\\001' > logo.bin; mkdir -p src; echo b > 'src/b c.txt'");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    world
}

#[test]
fn changes_of_a_finished_run_are_listed_and_shown() {
    let world = finished();
    let all = world.run(&["changes", "--session=S"]);
    assert_eq!(all.code, Some(0), "{all}");
    assert!(all.stdout.starts_with("2 changed tasks of run EX-"), "{all}");
    assert!(all.stdout.contains("\n  A  merged "), "{all}");
    assert!(all.stdout.contains("  2 files, +2 -2\n"), "{all}");
    let branch = branch(&world);
    assert!(all.stdout.ends_with(&format!("take it over with: git merge {branch}\n")), "{all}");
    let one = world.run(&["changes", "B", "--session=S"]);
    assert!(one.stdout.contains("  binary          logo.bin\n"), "{one}");
    assert!(one.stdout.contains("      +1      -0  src/b c.txt\n"), "{one}");
    let found = json(&world.run(&["changes", "--session=S", "--stat", "--format", "json"]));
    assert_eq!((&found["files"], &found["added"], &found["removed"]), (&4.into(), &3.into(), &2.into()));
    assert_eq!((&found["branch"], &found["landed"]), (&branch.as_str().into(), &true.into()));
    let base = git(&world, &["rev-parse", "HEAD"]).trim().to_owned();
    assert_eq!((&found["base"], &found["tasks"][0]["base"]), (&base.as_str().into(), &base.as_str().into()));
    assert_eq!(found["tasks"][1]["base"], found["tasks"][0]["commit"], "what its parent delivered");
    assert_eq!(found["tasks"][1]["files_changed"][0]["added"], Value::Null, "a binary file has no lines");
    let unknown = world.run(&["changes", "C", "--session=S"]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.stderr.contains("there are no changes of a task 'C'"), "{unknown}");
    let both = world.run(&["changes", "--patch", "--stat", "--session=S"]);
    assert_eq!(both.code, Some(2), "{both}");
}

#[test]
fn patch_applies_and_a_branch_is_made_once() {
    let world = finished();
    let before = users(&world);
    let patch = world.run(&["changes", "A", "--patch", "--session=S"]);
    assert_eq!(patch.code, Some(0), "{patch}");
    let whole = world
        .shell(&format!("{} changes --patch --session=S | git apply --check", env!("CARGO_BIN_EXE_team-executor")));
    assert_eq!(whole.code, Some(0), "{whole}");
    assert!(patch.stdout.contains("-2\n+two\n") && patch.stdout.contains("deleted file mode"), "{patch}");
    let made = world.run(&["changes", "A", "--branch", "review/A", "--session=S"]);
    assert_eq!(made.code, Some(0), "{made}");
    assert_eq!(git(&world, &["diff", "--name-only", "HEAD", "review/A"]), "a.txt\ngone\n");
    assert_eq!(
        world.run(&["changes", "A", "--branch", "review/A", "--session=S"]).code,
        Some(0),
        "it is there already"
    );
    for (name, why) in [
        ("main", "the branch `main` is there already, and names other work"),
        ("a..b", "`a..b` cannot be the name of a branch"),
        ("review", "the branch `review` cannot be made"),
    ] {
        let refused = world.run(&["changes", "A", "--branch", name, "--session=S"]);
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains(why), "{refused}");
    }
    git(&world, &["branch", "-q", "-D", "review/A"]);
    assert_eq!(users(&world), before);
}

/// R: G-03
#[test]
fn status_and_the_report_show_base_commit_and_lines() {
    let world = finished();
    let text = world.run(&["status", "--session=S"]);
    assert!(text.stdout.contains("      merged: 2 files, +2 -2, "), "{text}");
    assert!(text.stdout.contains("\nMerged: 4 files, +3 -2, "), "{text}");
    let status = json(&world.run(&["status", "--session=S", "--format", "json"]));
    let change = &status["tasks"][0]["change"];
    assert_eq!((&change["state"], &change["added"], &change["files"]), (&"merged".into(), &2.into(), &2.into()));
    assert_eq!(status["changes"]["landed"], true);
    let report = read(folder(&world).join("context.md"));
    let commit = change["commit"].as_str().expect("a commit");
    assert!(report.contains("- changes: 2 files, +2 -2; merged\n"), "{report}");
    assert!(report.contains(&format!("- commit: {commit} on ")), "{report}");
    assert!(report.contains("Together the tasks changed 4 files, +3 -2: `git diff "), "{report}");
}

#[test]
fn run_without_trees_has_no_changes_and_starts_no_git() {
    let world = crate::run::tasks(&[("A", "")]);
    assert_eq!(run(&world, "echo did it", &[]).code, Some(0));
    for command in [&["changes"][..], &["merge"], &["merge", "land"], &["merge", "retry"]] {
        let refused = world.run(&[command, &["--session=S"]].concat());
        assert_eq!(refused.code, Some(2), "{refused}");
        assert!(refused.stderr.contains("has a tree of its own"), "{refused}");
        assert!(refused.stderr.contains("isolation = \"worktree\" in [defaults]"), "{refused}");
    }
}

#[test]
fn live_and_dead_run_are_shown_and_landed() {
    let world = repository(&[("A", ""), ("B", "A"), ("C", "B")], "", &[("a.txt", "1\n")]);
    let dir = world.dir().display();
    does(&world, "A", "echo A > a.txt");
    does(&world, "B", "echo B > b.txt");
    does(&world, "C", &format!("touch {dir}/C.began; until [ -e {dir}/go ]; do sleep 0.01; done; echo C > c.txt"));
    let worker = scripted(&world);
    let mut command = world.command(&arguments("--session=S", &worker, &["--trust-project"]));
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().expect("it starts");
    limited_until("C to begin", || world.dir().join("C.began").exists().then_some(()));
    let status = json(&world.run(&["merge", "--session=S", "--format", "json"]));
    assert_eq!((&status["merged"], &status["landed"]), (&vec!["A", "B"].into(), &false.into()), "{status}");
    let landed = world.run(&["merge", "land", "--session=S"]);
    assert_eq!(landed.code, Some(0), "{landed}");
    let branch = branch(&world);
    assert!(landed.stdout.contains(&format!("Branch {branch} is at ")), "{landed}");
    assert_eq!(git(&world, &["ls-tree", "--name-only", &branch]), "a.txt\nb.txt\n");
    child.kill().expect("it can be killed");
    child.limited_wait();
    let dead = json(&world.run(&["changes", "--session=S", "--format", "json"]));
    assert_eq!((&dead["landed"], &dead["branch"]), (&true.into(), &branch.as_str().into()));
    world.write("go", "");
    let ran = run(&world, &worker, &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert_eq!(git(&world, &["ls-tree", "--name-only", &branch]), "a.txt\nb.txt\nc.txt\n", "the run moves it along");
    git(&world, &["branch", "-q", "-f", &branch, "main"]);
    let kept = world.run(&["merge", "land", "--session=S"]);
    assert_eq!(kept.code, Some(1), "{kept}");
    assert!(kept.stdout.contains("the branch was changed since, and stays as it is"), "{kept}");
}

/// R: G-04
#[test]
fn change_that_does_not_merge_is_done_again_on_request() {
    let config = "[merge]\nconflict = \"checkpoint\"\n";
    let world = repository(&[("A", ""), ("B", "")], config, &[("a.txt", "1\n")]);
    let dir = world.dir().display();
    does(&world, "A", &format!("until [ -e {dir}/B.began ]; do sleep 0.01; done; echo A > a.txt"));
    let late = format!(
        "if grep -q '<<<<<<<' a.txt; then printf 'A and B\\n' > a.txt; else touch {dir}/B.began; \
         while ! git --git-dir={dir}/.git for-each-ref | grep -q /trunk; do sleep 0.01; done; echo B > a.txt; fi"
    );
    does(&world, "B", &late);
    let ran = run(&world, &scripted(&world), &["-c", "2"]);
    assert_eq!(ran.code, Some(3), "{ran}");
    let gone_on = world.run(&["resume", "--session=S"]);
    assert_eq!(gone_on.code, Some(0), "{gone_on}");
    assert!(gone_on.stderr.contains("`team-executor merge retry B`"), "{gone_on}");
    let status = world.run(&["merge", "--session=S"]);
    assert!(status.stdout.contains("Not merged") && status.stdout.contains("merge retry --session=S"), "{status}");
    let merged = world.run(&["merge", "retry", "A", "--session=S"]);
    assert_eq!(merged.code, Some(2), "{merged}");
    assert!(merged.stderr.contains("'A' has no changes that do not merge: it is merged"), "{merged}");
    let again = world.run(&["merge", "retry", "--session=S"]);
    assert_eq!(again.code, Some(0), "{again}");
    assert!(again.stdout.contains("resume --session=S"), "{again}");
    let ended = world.run(&["resume", "--session=S"]);
    assert_eq!(ended.code, Some(0), "{ended}");
    assert!(prompt(&world, "B").contains("These files hold conflicts"), "{}", prompt(&world, "B"));
    assert_eq!(shown(&world, &branch(&world), "a.txt"), "A and B\n");
    let nothing = world.run(&["merge", "retry", "--session=S"]);
    assert_eq!((nothing.code, nothing.stdout.as_str()), (Some(0), "All changes merge; nothing is to be done again\n"));
}

#[test]
fn clean_checkout_is_moved_along_where_that_is_wanted() {
    let config = "[merge]\nland = \"ff\"\n";
    let world = repository(&[("A", "")], config, &[("a.txt", "1\n"), ("tool", "x\n")]);
    let before = git(&world, &["reflog"]);
    let ran = run(&world, "sh -c 'echo 2 > a.txt; rm tool; echo new > new'", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(ran.stdout.contains("main, which has everything that is completed"), "{ran}");
    assert_eq!(read(world.dir().join("a.txt")), "2\n");
    assert!(!world.dir().join("tool").exists() && world.dir().join("new").exists());
    assert_eq!(git(&world, &["status", "--porcelain", "--untracked-files=no"]), "");
    assert_eq!(git(&world, &["branch", "--format=%(refname:short)"]), "main\n", "no branch is made besides");
    assert_eq!(git(&world, &["reflog"]).lines().count(), before.lines().count() + 1);
    assert_eq!(super::trees(&world), Vec::<String>::new());
}

#[test]
fn checkout_that_has_other_work_stays_and_a_branch_is_made() {
    let others: [(&str, &str); 4] = [
        ("there is work that is not committed: a.txt", "echo mine > a.txt"),
        ("main has commits that are not in the run", "echo mine > mine; git add mine; git commit -q -m mine"),
        ("no branch is checked out", "git checkout -q --detach"),
        ("a bisection is in progress", "git bisect start -q"),
    ];
    for (why, change) in others {
        let world = repository(&[("A", "")], "", &[("a.txt", "1\n")]);
        let ran = run(&world, "sh -c 'echo 2 > a.txt; echo new > new'", &[]);
        assert_eq!(ran.code, Some(0), "{ran}");
        git(&world, &["branch", "-q", "-D", &branch(&world)]);
        git(
            &world,
            &[
                "update-ref",
                "-d",
                git(&world, &["for-each-ref", "--format=%(refname)", "refs/team-executor/*/landed"]).trim(),
            ],
        );
        let changed = world.shell(change);
        assert_eq!(changed.code, Some(0), "{changed}");
        let (tree, before) = (read(world.dir().join("a.txt")), users(&world));
        let landed = world.run(&["merge", "land", "--ff", "--session=S"]);
        assert_eq!(landed.code, Some(0), "{landed}");
        assert!(landed.stdout.contains(&format!("The checkout was not moved along: {why}")), "{landed}");
        assert_eq!((read(world.dir().join("a.txt")), users(&world)), (tree, before), "{why}");
        assert_eq!(shown(&world, &branch(&world), "new"), "new\n");
    }
    let world = repository(&[("A", "")], "", &[("a.txt", "1\n")]);
    assert_eq!(run(&world, "sh -c 'echo new > new'", &[]).code, Some(0));
    world.write(".git/info/exclude", "new\n");
    world.write("new", "mine, and ignored\n");
    let landed = world.run(&["merge", "land", "--ff", "--session=S", "--format", "json"]);
    let found = json(&landed);
    assert_eq!(found["fast_forward"], false, "{landed}");
    assert!(found["why"].as_str().is_some_and(|why| why.contains("merge")), "{landed}");
    assert_eq!(read(world.dir().join("new")), "mine, and ignored\n");
    std::fs::remove_file(world.dir().join("new")).expect("it is there");
    let landed = world.run(&["merge", "land", "--ff", "--session=S"]);
    assert!(landed.stdout.starts_with("Branch main is at "), "{landed}");
    assert_eq!(read(world.dir().join("new")), "new\n");
}

/// R: G-03
#[test]
fn commits_are_artifacts_that_are_listed_verified_and_exported() {
    let world = finished();
    let list = json(&world.run(&["artifacts", "--session=S", "--format", "json"]));
    let commit = list["artifacts"][0]["id"].as_str().expect("an id").to_owned();
    let of_a = &list["artifacts"][0];
    assert_eq!((&of_a["task"], &of_a["type"], &of_a["state"]), (&"A".into(), &"code".into(), &"passed".into()));
    let text = world.run(&["artifacts", "--session=S"]);
    assert!(text.stdout.starts_with("2 artifacts of run ") && text.stdout.contains(&commit[..14]), "{text}");
    let shown = world.run(&["artifacts", "show", &commit[..14], "--session=S"]);
    assert!(shown.stdout.contains("passed: merged") && shown.stdout.contains("A (worker)"), "{shown}");
    let whole = world.run(&["artifacts", "verify", "--session=S"]);
    assert_eq!((whole.code, whole.stdout.as_str()), (Some(0), "2 of 2 artifacts as delivered\n"), "{whole}");
    let exported = world.run(&["export", "--session=S", "--to", "../out"]);
    assert_eq!(exported.code, Some(0), "{exported}");
    let out = world.dir().with_file_name("out");
    let bundle = out.join("changes.bundle").display().to_string();
    let clone = world.dir().with_file_name("clone").display().to_string();
    git(&world, &["clone", "-q", "--no-local", ".", &clone]);
    git(&world, &["-C", &clone, "fetch", "-q", &bundle, "refs/team-executor/*:refs/team-executor/*"]);
    git(&world, &["-C", &clone, "cat-file", "-e", &format!("{}^{{tree}}", commit.trim_start_matches("git:"))]);
    for patch in ["patches/A.patch", "patches/B.patch"] {
        git(&world, &["-C", &clone, "apply", "--index", &out.join(patch).display().to_string()]);
    }
    let together = git(&world, &["rev-parse", &format!("{}^{{tree}}", branch(&world))]);
    assert_eq!(git(&world, &["-C", &clone, "write-tree"]), together);
    let manifest = read(out.join("export-manifest.json"));
    assert!(manifest.contains("\"changes.patch\"") && manifest.contains("\"changes.bundle\""), "{manifest}");
    git(&world, &["repack", "-q", "-a", "-d", "-f", "--depth=1"]);
    let again = world.run(&["export", "--session=S", "--to", "../out"]);
    assert!(again.code == Some(0) && again.stdout.contains("Exported 0 files"), "{again}");
    assert!(!folder(&world).join(".executor/export").exists());
    let blob = git(&world, &["rev-parse", &format!("{}:src/b c.txt", branch(&world))]);
    let pack = std::fs::read_dir(world.dir().join(".git/objects/pack")).expect("packs");
    let pack = pack.map(|entry| entry.expect("an entry").path()).find(|path| path.extension() == Some("pack".as_ref()));
    let moved = world.dir().join("moved.pack");
    std::fs::rename(pack.expect("a pack"), &moved).expect("it is moved");
    std::fs::read_dir(world.dir().join(".git/objects/pack")).expect("packs").for_each(|entry| {
        std::fs::remove_file(entry.expect("an entry").path()).expect("it is removed");
    });
    let unpacked = world.shell("git unpack-objects -q < moved.pack");
    assert_eq!(unpacked.code, Some(0), "{unpacked}");
    let (folder, name) = blob.trim().split_at(2);
    std::fs::remove_file(world.dir().join(".git/objects").join(folder).join(name)).expect("an object");
    let lost = world.run(&["artifacts", "verify", "--session=S"]);
    assert_eq!(lost.code, Some(1), "{lost}");
    assert!(lost.stdout.contains("is not whole any more (B (worker))"), "{lost}");
    assert!(lost.stdout.ends_with("1 of 2 artifacts as delivered\n"), "{lost}");
}
