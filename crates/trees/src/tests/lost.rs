//! No work is lost: what goes, what stays, and what is told of it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use team_executor_agents::git::Git;

use super::{Place, git_in, story, write};
use crate::{Consent, Dirty, Extras, Land, Landed, Repository, Scope, Story, Submodules, Trees, Trouble};

#[test]
fn what_a_lost_worker_left_is_kept_before_the_next_attempt() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "half.txt", "half\n");
    let next = trees.make("A", 2, &[]).unwrap();
    assert!(!next.path.join("half.txt").exists(), "it begins anew");
    assert_eq!(place.shown(&next.lost.unwrap(), "half.txt"), "half\n");
    assert_eq!(place.shown("refs/team-executor/EX-1/t/A/1/lost", "half.txt"), "half\n");
    write(&made.path, "half.txt", "changed afterwards\n");
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let kept: Vec<_> = kept.iter().map(|one| (one.folder.as_str(), one.stays.as_deref())).collect();
    assert_eq!(kept, [("A.1", Some("it was changed since its commit: half.txt")), ("A.2", None)]);
    assert!(made.path.is_dir() && !next.path.exists(), "an unused one goes");
}

#[test]
fn unfinished_tree_goes_and_a_finished_one_stays() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let path = trees.path("A", 1);
    let unfinished = path.with_extension("1.tmp");
    write(&unfinished, "x", "half a checkout");
    let lock = place.project().join(".git/refs/team-executor/EX-1/t/A/1/base.lock");
    write(lock.parent().unwrap(), "base.lock", "");
    let trees = place.open().unwrap();
    assert!(!unfinished.exists() && !lock.exists());
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "mine", "of a worker");
    assert_eq!(trees.make("A", 1, &[]).unwrap().base, made.base, "the same base after a crash");
    let there = std::fs::read_dir(made.path.parent().unwrap()).unwrap().map(|entry| entry.unwrap().path());
    let found: Vec<_> = there.filter(|path| path.to_string_lossy().contains("A.1-found")).collect();
    assert_eq!(std::fs::read_to_string(found[0].join("mine")).unwrap(), "of a worker");
}

#[test]
fn large_file_or_a_repository_inside_is_no_result() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    let large = std::fs::File::create(made.path.join("large.bin")).unwrap();
    large.set_len((50 << 20) + 1).unwrap();
    let wrong = trees.deliver("A", 1, &story()).unwrap().wrong;
    assert!(wrong[0].starts_with("large.bin: it has 50 MiB"), "{wrong:?}");
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let why = kept[0].stays.as_deref();
    assert_eq!(why, Some("it was changed since its commit: large.bin"), "what no commit holds stays");
    let made = trees.make("A", 2, &[]).unwrap();
    git_in(&place.env, &made.path, &["init", "-q", "inside"]);
    write(&made.path.join("inside"), "x", "1");
    git_in(&place.env, &made.path.join("inside"), &["add", "x"]);
    git_in(&place.env, &made.path.join("inside"), &["commit", "-q", "-m", "x"]);
    let wrong = trees.deliver("A", 2, &story()).unwrap().wrong;
    assert!(wrong[0].starts_with("inside: it is a repository of its own"), "{wrong:?}");
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let why = "it holds another repository, of which a commit keeps nothing: inside";
    assert_eq!(kept[1].stays.as_deref(), Some(why));
}

/// R: G-05
#[test]
fn tree_goes_only_when_nothing_in_it_would_be_lost() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let work = |task: &str, own: &[&[&str]], after: &[(&str, &str)]| {
        let made = trees.make(task, 1, &[]).unwrap();
        write(&made.path, "work.txt", task);
        write(&made.path, "build.log", "ignored");
        trees.deliver(task, 1, &story()).unwrap();
        own.iter().for_each(|words| drop(git_in(&place.env, &made.path, words)));
        after.iter().for_each(|(name, text)| write(&made.path, name, text));
        let locked = made.path.join("locked");
        write(&locked, "x.log", "ignored, in a read-only folder");
        std::fs::set_permissions(&locked, std::fs::Permissions::from_mode(0o555)).unwrap();
        made.path
    };
    let clean = work("clean", &[], &[("other.log", "ignored")]);
    let commit: &[&[&str]] = &[&["checkout", "-q", "-f", "--detach"], &["commit", "-q", "--allow-empty", "-m", "own"]];
    let stays = [
        (work("changed", &[], &[("work.txt", "more")]), "it was changed since its commit: work.txt"),
        (work("committed", commit, &[("work.txt", "committed")]), "it has commits of its own"),
        (work("new", &[], &[("new.txt", "x")]), "it was changed since its commit: new.txt"),
        (
            work("stashed", &[&["branch", "own"], &["stash", "-q", "-u"]], &[]),
            "it was changed since its commit: work.txt",
        ),
        (
            work("with space", &[], &[("1", ""), ("2", ""), ("3", ""), ("4", "")]),
            "it was changed since its commit: 1, 2, 3 and 1 more",
        ),
    ];
    let advanced = trees.results().unwrap().values().next().unwrap().1.clone();
    trees.advance(trees.base(), &advanced).unwrap();
    let of_run = trees.stored(Consent::OfRun).unwrap();
    assert!(of_run.iter().all(|one| one.stays.as_deref() == Some("the run has not landed")), "{of_run:?}");
    trees.land(Land::Branch).unwrap();
    let objects = place.objects();
    let stored = trees.stored(Consent::OfRun).unwrap();
    assert_eq!(place.objects(), objects, "a look writes no object");
    assert!(stored.iter().all(|one| one.bytes > 4096), "{stored:?}");
    let of = |path: &Path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        stored.iter().find(|one| one.folder == name).unwrap().stays.clone()
    };
    assert_eq!(of(&clean), None);
    for (path, why) in &stays {
        assert_eq!(of(path).as_deref(), Some(*why));
    }
    trees.remove_stored(Consent::OfRun).unwrap();
    assert!(!clean.exists() && stays.iter().all(|(path, _)| path.join(".git").is_dir()));
}

/// A git that says it could not open a folder, as it does for an unreadable one; these tests may run as root, who can read all.
fn passing_over(place: &Place, verb: &str, why: &str) -> Trees {
    let bin = place.keep.path().join("bin");
    let real = Git::find(&place.env).unwrap();
    let real = format!("{real:?}").split('"').nth(1).unwrap().to_owned();
    let script = format!(
        "#!/bin/sh\ncase \" $* \" in *\" {verb} \"*) echo \"warning: could not open directory 'sub/': {why}\" >&2;; esac\nexec {real} \"$@\"\n"
    );
    write(&bin, "git", &script);
    std::fs::set_permissions(bin.join("git"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let env = vec![
        ("PATH".to_owned(), format!("{}:/usr/bin:/bin", bin.display())),
        ("HOME".to_owned(), place.env[1].1.clone()),
    ];
    let repository = Repository::open(&place.project(), &env, Submodules::Refuse).unwrap();
    Trees::open(repository, ("EX-1", "EX-1"), &place.root(), ("HEAD", Dirty::Refuse), Extras::default()).unwrap()
}

/// R: G-05
#[test]
fn folder_that_git_passes_over_is_no_part_of_a_result() {
    let place = Place::new();
    let trees = passing_over(&place, "ls-files", "Permission denied");
    trees.make("A", 1, &[]).unwrap();
    let wrong = trees.deliver("A", 1, &story()).unwrap().wrong;
    assert_eq!(wrong, ["sub/: it cannot be read; make it readable, or remove it"]);
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    assert!(kept[0].stays.as_deref().is_some_and(|why| why.contains("'sub/'")), "{kept:?}");
    let place = Place::new();
    let trees = passing_over(&place, "add", "Input/output error");
    trees.make("A", 1, &[]).unwrap();
    let failed = trees.deliver("A", 1, &story()).unwrap_err();
    assert_eq!(failed.to_string(), "warning: could not open directory 'sub/': Input/output error");
    let place = Place::new();
    let trees = passing_over(&place, "for-each-ref", "Too many open files");
    assert!(trees.results().is_err(), "what is overlooked would be missing in what builds on it");
}

#[test]
fn locks_of_a_killed_git_are_in_no_way() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let commit = place.attempt(&trees, "A", &[], &[("x", "1")]);
    trees.advance(trees.base(), &commit).unwrap();
    for lock in ["base.index.lock", "trunk..index.lock", "A.1.index.lock"] {
        write(trees.home(), lock, "");
    }
    assert!(trees.stage(&commit).is_ok(), "of an index");
    place.open().unwrap();
    assert!(!trees.home().join("A.1.index.lock").exists(), "at the next start");
    let heads = place.project().join(".git/refs/heads/te");
    write(&heads, "EX-1.lock", "");
    assert!(matches!(trees.land(Land::Branch), Err(Trouble::Failed(_))), "another git may just write this branch");
    let long_ago = std::time::SystemTime::now() - std::time::Duration::from_secs(60);
    std::fs::File::options().write(true).open(heads.join("EX-1.lock")).unwrap().set_modified(long_ago).unwrap();
    assert!(trees.land(Land::Branch).is_err(), "it is removed");
    assert!(matches!(trees.land(Land::Branch).unwrap(), Landed::Branch { .. }));
}

/// R: G-05
#[test]
fn changed_submodule_goes_back_and_its_tree_stays() {
    let place = Place::new();
    let lib = place.keep.path().join("lib").display().to_string();
    place.git(&["init", "-q", &lib]);
    write(Path::new(&lib), "lib.txt", "lib\n");
    place.git(&["-C", &lib, "add", "."]);
    place.git(&["-C", &lib, "commit", "-q", "-m", "lib"]);
    place.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &lib, "lib"]);
    place.commit();
    let repository = Repository::open(&place.project(), &place.env, Submodules::Init).unwrap();
    let extras = Extras { submodules: Submodules::Init, ..Extras::default() };
    let trees = Trees::open(repository, ("EX-1", "EX-1"), &place.root(), ("HEAD", Dirty::Refuse), extras).unwrap();
    for (task, change) in [("A", false), ("B", true)] {
        let made = trees.make(task, 1, &[]).unwrap();
        write(&made.path, task, "1");
        assert_eq!(trees.deliver(task, 1, &story()).unwrap().wrong, Vec::<String>::new());
        if change {
            write(&made.path, "lib/lib.txt", "changed\n");
        }
    }
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let why = "it holds another repository, of which a commit keeps nothing: lib";
    assert_eq!(kept.iter().map(|one| one.stays.as_deref()).collect::<Vec<_>>(), [None, Some(why)]);
    let made = trees.make("C", 1, &[]).unwrap();
    write(&made.path, "lib/new.txt", "new\n");
    let wrong = trees.deliver("C", 1, &story()).unwrap().wrong;
    assert!(wrong[0].starts_with("lib: it is a submodule"), "{wrong:?}");
}

/// R: G-05
#[test]
fn tree_of_which_no_commit_is_known_stays() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    let strange = trees.home().join("strange.1");
    std::fs::create_dir(&strange).unwrap();
    place.git(&["update-ref", "refs/team-executor/EX-1/t/B/1/result", "HEAD"]);
    std::fs::rename(&made.path, trees.path("B", 1)).unwrap();
    place.git(&["update-ref", "refs/team-executor/EX-1/t/B/2/lost", "HEAD"]);
    let of = |folder: &str| {
        let stored = trees.stored(Consent::OfUser).unwrap();
        stored.into_iter().find(|one| one.folder == folder).unwrap().stays
    };
    assert_eq!(of("strange.1").as_deref(), Some("no attempt of the run is known that has it"));
    std::fs::rename(trees.path("B", 1), trees.home().join("B.2-found")).unwrap();
    assert_eq!(of("B.2-found").as_deref(), Some("nothing of it is kept as a commit"));
}

/// R: G-05
#[test]
fn names_that_differ_only_in_case_are_never_taken_for_one() {
    let place = Place::new();
    place.git(&["config", "core.ignoreCase", "true"]);
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "B.TXT", "upper\n");
    if std::fs::read_to_string(made.path.join("b.txt")).unwrap() == "upper\n" {
        return; // Here they are one.
    }
    let delivered = trees.deliver("A", 1, &story()).unwrap();
    assert_eq!(place.shown(&delivered.commit, "B.TXT"), "upper\n", "it is not lost");
    let why = "another name differs from it only in case; rename one of them";
    assert_eq!(delivered.wrong, [format!("B.TXT: {why}"), format!("b.txt: {why}")]);
    let (one, other) =
        (place.attempt(&trees, "C", &[], &[("New", "1")]), place.attempt(&trees, "D", &[], &[("new", "2")]));
    assert_eq!(trees.candidate(&one, "D", &other).unwrap().conflicts, ["New", "new"]);
    write(&trees.path("C", 1), "A.TXT", "late\n");
    let kept = trees.remove_stored(Consent::OfUser).unwrap();
    let of_c = kept.iter().find(|one| one.folder == "C.1").unwrap();
    assert_eq!(of_c.stays.as_deref(), Some("it was changed since its commit: A.TXT"));
}

/// R: G-05
#[test]
fn content_that_a_killed_git_did_not_keep_is_read_again() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let made = trees.make("A", 1, &[]).unwrap();
    write(&made.path, "a.txt", "changed\n");
    write(&made.path, "noise.log", "ignored\n");
    let before = place.objects();
    // An index is written before the objects that it names are at their place.
    trees.tree_of(&made.path, "A", 1).unwrap();
    assert_ne!(place.objects(), before);
    let blob = place.git(&["hash-object", "-t", "blob", &made.path.join("a.txt").display().to_string()]);
    let (folder, file) = blob.trim().split_at(2);
    std::fs::remove_file(place.project().join(".git/objects").join(folder).join(file)).unwrap();
    let delivered = trees.deliver("A", 1, &story()).unwrap();
    assert_eq!((place.shown(&delivered.commit, "a.txt").as_str(), delivered.files), ("changed\n", 1));
}

/// R: G-05
#[test]
fn change_of_a_review_is_kept_and_is_no_result() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let story = Story { scope: Scope::Review, ..story() };
    let made = trees.make("R", 1, &[]).unwrap();
    write(&made.path, "a.txt", "tried\n");
    write(&made.path, "built.o", "x\n");
    let delivered = trees.deliver("R", 1, &story).unwrap();
    assert_eq!((&delivered.commit, delivered.files), (&made.base.commit, 0));
    let aside = delivered.aside.clone().unwrap();
    assert_eq!(aside.files, ["a.txt", "built.o"]);
    assert_eq!(place.shown(aside.commit.as_deref().unwrap(), "a.txt"), "tried\n");
    assert_eq!(trees.deliver("R", 1, &story).unwrap(), delivered, "asked again it says the same");
    place.git(&["update-ref", "-d", "refs/team-executor/EX-1/t/R/1/result"]);
    assert_eq!(trees.deliver("R", 1, &story).unwrap(), delivered, "also after a crash between both refs");
    assert_eq!(trees.results().unwrap()["R"], (1, made.base.commit));
    let idle = trees.make("Q", 1, &[]).unwrap();
    assert_eq!(trees.deliver("Q", 1, &story).unwrap().aside, None);
    write(&idle.path, "late.txt", "x\n");
    let stored = trees.remove_stored(Consent::OfUser).unwrap();
    let of = |folder: &str| stored.iter().find(|one| one.folder == folder).unwrap().stays.clone();
    assert_eq!(of("R.1"), None, "all of it is a commit");
    assert_eq!(of("Q.1").as_deref(), Some("it was changed since its commit: late.txt"));
}

#[test]
fn review_that_begins_with_a_conflict_may_resolve_it() {
    let place = Place::new();
    let trees = place.open().unwrap();
    let a = place.attempt(&trees, "A", &[], &[("a.txt", "A\n")]);
    let b = place.attempt(&trees, "B", &[], &[("a.txt", "B\n")]);
    let made = trees.make("R", 1, &[a, b]).unwrap();
    assert_eq!(made.base.conflicts, ["a.txt"]);
    write(&made.path, "a.txt", "AB\n");
    let delivered = trees.deliver("R", 1, &Story { scope: Scope::Review, ..story() }).unwrap();
    assert_eq!((delivered.aside, delivered.wrong), (None, vec![]));
    assert_eq!(place.shown(&delivered.commit, "a.txt"), "AB\n");
}
