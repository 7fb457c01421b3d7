//! What trees have besides the files of a commit, and what of a result is sent back.

use super::{branch, commit, does, git, prompt, repository, run, scripted, shown, starts, trees, users};
use crate::run::read;

#[test]
fn ignored_files_that_are_wanted_are_copied_and_never_committed() {
    let config = "[isolation]\ninclude = [\".env\"]\n";
    let files = [
        (".gitignore", ".env\n*.local\nbig/\nlink\n"),
        (".worktreeinclude", "conf/*.local\nseen.txt\n/link\n"),
        ("a", "1\n"),
    ];
    let world = repository(&[("A", "")], config, &files);
    for (name, text) in [(".env", "TOKEN=1\n"), ("conf/x.local", "x\n"), ("big/file", "x\n"), ("other.local", "x\n")] {
        world.write(name, text);
    }
    world.write("shared", "linked\n");
    std::os::unix::fs::symlink("shared", world.dir().join("link")).expect("a link");
    world.write(".git/info/exclude", "shared\n");
    let before = users(&world);
    let ran = run(
        &world,
        "sh -c ': > seen; find . -name .git -prune -o -type f -print | sort > seen; cat .env link >> seen; echo 2 >> .env'",
        &[],
    );
    assert_eq!(ran.code, Some(0), "{ran}");
    let expected = "./.env\n./.gitignore\n./.worktreeinclude\n./a\n./conf/x.local\n./link\n./seen\nTOKEN=1\nlinked\n";
    assert_eq!(shown(&world, &branch(&world), "seen"), expected);
    assert_eq!(
        git(&world, &["ls-tree", "-r", "--name-only", &branch(&world)]),
        ".gitignore\n.worktreeinclude\na\nseen\n"
    );
    assert_eq!((read(world.dir().join(".env")), users(&world)), ("TOKEN=1\n".to_owned(), before));
}

#[test]
fn each_tree_is_set_up_before_its_worker_and_the_tests() {
    let config = "[isolation]\nsetup = \"sh setup.sh\"\nlimit = \"1m\"\n[merge]\nverify = [\"test\", \"-e\", \"deps/installed\"]\n";
    let setup = "mkdir -p deps; echo $TEAM_EXECUTOR_TASK >> deps/installed; echo setting up";
    let world = repository(&[("A", ""), ("B", "A")], config, &[(".gitignore", "deps\n"), ("setup.sh", setup)]);
    let ran = run(&world, "sh -c 'cp deps/installed seen-$TEAM_EXECUTOR_TASK'", &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let branch = branch(&world);
    assert_eq!((shown(&world, &branch, "seen-A"), shown(&world, &branch, "seen-B")), ("A\n".into(), "B\n".into()));
    assert!(!world.dir().join("deps").exists());
    let world = repository(&[("A", "")], "[isolation]\nsetup = \"sh setup.sh\"\n", &[("setup.sh", setup)]);
    let untrusted = world.run(&["run", "--session=S", "--agent-command", "true", "-y"]);
    assert_eq!(untrusted.code, Some(2), "{untrusted}");
    assert!(untrusted.stderr.contains("sh setup.sh"), "{untrusted}");
}

#[test]
fn setup_that_fails_is_tried_again_and_says_what_it_printed() {
    let config = "[isolation]\nsetup = [\"sh\", \"setup.sh\"]\n";
    let world = repository(&[("A", "")], config, &[("setup.sh", "")]);
    let dir = world.dir().display().to_string();
    world.write(
        "setup.sh",
        format!("echo no network today >&2; [ -e {dir}/../again ] || {{ touch {dir}/../again; exit 7; }}"),
    );
    commit(&world);
    does(&world, "A", "echo A > a");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!((ran.code, starts(&world, "A")), (Some(0), 1), "{ran}");
    assert!(ran.stderr.contains("its working tree was not set up: `sh setup.sh`: exit code 7"), "{ran}");
    let words: Vec<&str> = ran.stderr.split_whitespace().collect();
    assert!(words.join(" ").contains("exit code 7: no network today"), "{ran}");
}

/// A repository with a submodule at `lib`, which the user has.
fn with_submodule(config: &str) -> team_executor_testkit::World {
    let world = repository(&[("A", "")], config, &[("a", "1\n")]);
    let lib = world.dir().with_file_name("lib").display().to_string();
    git(&world, &["init", "-q", &lib]);
    std::fs::write(format!("{lib}/lib.txt"), "lib\n").expect("a file");
    git(&world, &["-C", &lib, "add", "."]);
    git(&world, &["-C", &lib, "commit", "-q", "-m", "lib"]);
    git(&world, &["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &lib, "lib"]);
    git(&world, &["commit", "-q", "-m", "with a submodule"]);
    world
}

#[test]
fn wanted_submodules_are_in_trees_and_stay_unchanged() {
    let refused = run(&with_submodule(""), "true", &[]);
    assert_eq!(refused.code, Some(2), "{refused}");
    assert!(refused.stderr.contains("set submodules = \"init\" in [isolation]"), "{refused}");
    let world = with_submodule("[isolation]\nsubmodules = \"init\"\n");
    world.write(".git/info/exclude", "*.prompt\n*.starts\n");
    let before = users(&world);
    let work = "case $TEAM_EXECUTOR_ATTEMPT in */1) echo changed >> lib/lib.txt; echo lost > half;; *) cat lib/lib.txt > seen; git -C lib status --porcelain >> seen;; esac";
    does(&world, "A", work);
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    assert!(
        ran.stderr.contains("lib: it is a submodule, and a commit keeps nothing of what is changed in it"),
        "{ran}"
    );
    assert_eq!(shown(&world, &branch(&world), "seen"), "lib\n");
    assert_eq!(trees(&world), ["A.1"], "the one that was changed stays");
    let doctor = world.run(&["doctor", "--session=S"]);
    let words: Vec<&str> = doctor.stdout.split_whitespace().collect();
    assert!(words.join(" ").contains("it holds another repository, of which a commit keeps nothing: lib"), "{doctor}");
    assert_eq!(users(&world), before);
}

#[test]
fn tree_can_fetch_only_where_that_is_wanted_and_never_push() {
    for (config, seen) in
        [("", ""), ("[isolation]\nremote = \"read\"\n", "origin\torigin.git (fetch)\norigin\tdisabled (push)\n")]
    {
        let world = repository(&[("A", "")], config, &[("a", "1\n")]);
        let bare = world.dir().with_file_name("origin.git").display().to_string();
        git(&world, &["clone", "-q", "--bare", ".", &bare]);
        git(&world, &["remote", "add", "origin", &bare]);
        let ran = run(
            &world,
            "sh -c 'git remote -v > seen; git push -q origin HEAD:refs/heads/pushed; git fetch -q origin; true'",
            &[],
        );
        assert_eq!(ran.code, Some(0), "{ran}");
        let expected = seen.replace("origin.git", &bare);
        assert_eq!(shown(&world, &branch(&world), "seen"), expected);
        assert_eq!(git(&world, &["-C", &bare, "for-each-ref", "--format=%(refname)"]), "refs/heads/main\n");
    }
}

#[test]
fn change_outside_of_the_scope_is_sent_back_until_it_is_undone() {
    let config = "[tasks.A]\nscope = [\"src/api/**\", \"*.md\"]\n";
    let world = repository(&[("A", ""), ("B", "")], config, &[("src/api/a.rs", "1\n"), ("src/main.rs", "1\n")]);
    let work = "case $TEAM_EXECUTOR_ATTEMPT in */1) echo 2 > src/api/a.rs; echo 2 > src/main.rs; echo x > README.md;; \
                */2) echo more > src/api/b.rs;; *) echo 1 > src/main.rs;; esac";
    does(&world, "A", work);
    does(&world, "B", "echo B > src/other");
    let ran = run(&world, &scripted(&world), &["--rounds", "5"]);
    assert_eq!((ran.code, starts(&world, "A")), (Some(0), 3), "{ran}");
    let why = "src/main.rs: the task may change only src/api/**, *.md; undo the change of this file";
    assert_eq!(ran.stderr.matches("src/main.rs: the task may change only").count(), 2, "it stays wrong: {ran}");
    assert!(prompt(&world, "A").contains(why), "{}", prompt(&world, "A"));
    assert_eq!(shown(&world, &branch(&world), "src/main.rs"), "1\n");
    assert_eq!(shown(&world, &branch(&world), "src/api/b.rs"), "more\n");
}

#[test]
fn new_secret_is_sent_back_and_an_old_one_is_not() {
    let token = format!("ghp_{}", "a1B2c3D4".repeat(5));
    let old = format!("old = \"{token}\"\n-\n-\n-\n");
    for (config, attempts) in [("", 2), ("[isolation]\nsecrets = \"allow\"\n", 1)] {
        let world = repository(&[("A", "")], config, &[("old.txt", &old)]);
        let work = format!(
            "case $TEAM_EXECUTOR_ATTEMPT in */1) echo 'token = {token}' > new.txt; echo more >> old.txt;; *) echo none > new.txt;; esac"
        );
        does(&world, "A", &work);
        let ran = run(&world, &scripted(&world), &[]);
        assert_eq!((ran.code, starts(&world, "A")), (Some(0), attempts), "{ran}");
        let is_told = ran.stderr.contains("new.txt: it holds what looks like a key or a token");
        assert_eq!(is_told, attempts == 2, "{ran}");
        assert!(!ran.to_string().contains("old.txt: it holds") && !ran.to_string().contains(&token), "{ran}");
    }
}

#[test]
fn wrong_settings_of_trees_are_refused_with_their_place() {
    for (config, why) in [
        ("[isolation]\ninclude = \".env\"\n", "a list of patterns, as in .gitignore"),
        ("[isolation]\ncache = [\"../other\"]\n", "a list of folders in the project that git ignores"),
        ("[isolation]\nsetup = []\n", "a command as a text, or as a list of a program and its arguments"),
        ("[isolation]\nlimit = \"1m\"\n", "[isolation] has a 'limit' and no 'setup'"),
        ("[isolation]\nsubmodules = true\n", "one of refuse, init"),
        ("[isolation]\nremote = \"write\"\n", "one of none, read"),
        ("[isolation]\nsecrets = \"ask\"\n", "one of refuse, allow"),
        ("[tasks.A]\nscope = [\"../other\"]\n", "a list of patterns of files in the repository"),
        ("[roles.worker]\nscope = [\"\"]\n", "a list of patterns of files in the repository"),
    ] {
        let world = repository(&[("A", "")], config, &[]);
        let refused = run(&world, "true", &[]);
        assert_eq!(refused.code, Some(2), "{config}: {refused}");
        assert!(
            refused.stderr.contains(why) && refused.stderr.contains("team-executor.toml:4:"),
            "{config}: {refused}"
        );
    }
    let world = repository(&[("A", "")], "[isolation]\nsecrets = \"allow\"\n[tasks.A]\nscope = [\"src/**\"]\n", &[]);
    let listed = world.run(&["config", "--session=S"]);
    assert!(listed.stdout.contains("isolation.secrets") && listed.stdout.contains("tasks.A.scope"), "{listed}");
}

#[test]
fn review_sees_the_work_and_may_change_nothing() {
    let world = repository(&[("A", ""), ("R", "A")], "[tasks.R]\nscope = []\n", &[("a.txt", "1\n")]);
    does(&world, "A", "echo A > a.txt");
    does(
        &world,
        "R",
        "cat a.txt; case $TEAM_EXECUTOR_ATTEMPT in */1) echo R > a.txt;; *) git checkout -q HEAD~1 -- a.txt;; esac",
    );
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!((ran.code, starts(&world, "R")), (Some(0), 2), "{ran}");
    assert!(prompt(&world, "R").contains("a.txt: the task may change no file; undo the change of this file"), "{ran}");
    assert_eq!(shown(&world, &branch(&world), "a.txt"), "A\n");
}

/// Each tree needs a folder that setting it up makes; how often it was made is counted.
fn with_dependencies(list: &[(&str, &str)]) -> team_executor_testkit::World {
    let config = "[isolation]\ncache = [\"deps\"]\nsetup = \"sh setup.sh\"\n";
    let files = [(".gitignore", "deps\n"), ("package-lock.json", "1\n"), ("setup.sh", "")];
    let world = repository(list, config, &files);
    let made = world.dir().join("made.starts").display().to_string();
    world
        .write("setup.sh", format!("[ -e deps/installed ] || {{ mkdir deps; touch deps/installed; echo >> {made}; }}"));
    commit(&world);
    world
}

/// R: G-01
#[test]
fn folder_of_dependencies_goes_from_tree_to_tree() {
    let world = with_dependencies(&[("A", ""), ("B", "A"), ("C", "B")]);
    for task in ["A", "B", "C"] {
        does(&world, task, &format!("[ -e deps/installed ] && echo {task} > own-{task}"));
    }
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!((ran.code, starts(&world, "made")), (Some(0), 1), "{ran}");
    assert!(!world.dir().join("deps").exists() && shown(&world, &branch(&world), "own-C") == "C\n");
    // B does not build on A, which changed what there is to depend on.
    let world = with_dependencies(&[("A", ""), ("B", "")]);
    does(&world, "A", "echo 2 > package-lock.json");
    does(&world, "B", "[ -e deps/installed ] && echo B > own-B");
    let ran = run(&world, &scripted(&world), &["-c", "1"]);
    assert_eq!((ran.code, starts(&world, "made")), (Some(0), 2), "{ran}");
}

/// R: G-01
#[test]
fn prompt_of_a_worker_in_a_tree_names_no_path_of_the_checkout() {
    let world = repository(&[("A", ""), ("B", "A")], "", &[("a.txt", "1\n")]);
    world.write("S/wisdom/learnings.md", "- it is slow\n");
    let deliver = "echo text > $TEAM_EXECUTOR_ARTIFACTS/a.md; echo $TEAM_EXECUTOR_ARTIFACTS > told";
    does(&world, "A", &format!("{deliver}; case $TEAM_EXECUTOR_ATTEMPT in */1) exit 3;; esac"));
    does(&world, "B", "echo '{\"status\":\"completed\",\"findings\":\"by a file\"}' > $TEAM_EXECUTOR_RESULT");
    let ran = run(&world, &scripted(&world), &[]);
    assert_eq!(ran.code, Some(0), "{ran}");
    let checkout = world.dir().display().to_string();
    for task in ["A", "B"] {
        let told = prompt(&world, task);
        assert!(!told.contains(&checkout), "{told}");
        assert!(told.contains("/run/artifacts/") && told.contains("/session/wisdom/learnings.md"), "{told}");
    }
    assert!(prompt(&world, "A").contains("The files of the last attempt are in "), "{}", prompt(&world, "A"));
    assert!(!shown(&world, &branch(&world), "told").contains(&checkout));
    assert_eq!(read(crate::run::folder(&world).join("artifacts/A/a.md")), "text\n");
    assert_eq!(crate::run::column(&world, "findings"), ["did it", "by a file"]);
    let again = world.run(&["prompt", "A", "--session=S"]);
    assert!(!again.stdout.contains(&checkout), "{again}");
}
