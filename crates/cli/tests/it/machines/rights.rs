//! A host needs few rights, and the server refuses the rest.

use super::*;

/// As `docs/how-to/several-machines.md` says it, with passwords in the place of certificates.
const ACCOUNTS: &str = r#"accounts {
  TEAM {
    jetstream: enabled
    users: [
      { user: "leader", password: "leads" }
      { user: "host-1", password: "works", permissions: {
          publish: [ "te.p.host-1", "te.e.host-1.>", "te.l.host-1.>", "te.n.host-1.>", "te.b.>",
                     "$JS.API.STREAM.INFO.*", "$JS.API.STREAM.MSG.GET.TE_HOSTS", "$JS.API.STREAM.MSG.GET.TE_ENDS",
                     "$JS.API.STREAM.MSG.GET.TE_BLOBS",
                     "$JS.API.CONSUMER.INFO.TE_WORK.host-1", "$JS.API.CONSUMER.CREATE.TE_WORK.host-1.te.w.host-1.>",
                     "$JS.API.CONSUMER.MSG.NEXT.TE_WORK.host-1", "$JS.ACK.TE_WORK.host-1.>" ]
          subscribe: [ "_INBOX_host-1.>", "te.c.host-1" ] } }
    ]
  }
}
"#;

fn login(world: &World, user: &str, password: &str) {
    let folder = world.dir().with_file_name("home").join(".config/team-executor");
    std::fs::create_dir_all(&folder).expect("a folder");
    let file = folder.join("password");
    std::fs::write(&file, format!("{password}\n")).expect("a password");
    let config = format!("[backend]\nuser = \"{user}\"\npassword_file = \"{}\"\n", file.display());
    std::fs::write(folder.join("config.toml"), config).expect("a config file");
}

#[test]
fn host_with_least_rights_works_and_can_do_no_more() {
    let Some(nats) = Nats::start_with(BINARY, ACCOUNTS) else {
        return lacks("nats-server", "the rights of a host");
    };
    let (world, of_host) = (run::tasks(&[("A", ""), ("B", "A")]), World::new(BINARY));
    login(&world, "leader", "leads");
    login(&of_host, "host-1", "works");
    let checked = world.run(&["backend", "check", "--backend", &nats.url()]);
    assert_eq!(checked.code, Some(0), "{checked}");
    let _host = Host::start(&of_host, &nats, "host-1", &["--slots", "1"]);
    let worker = "head -c 100000 /dev/zero > $TEAM_EXECUTOR_ARTIFACTS/large; echo did $TEAM_EXECUTOR_TASK";
    let done = run_with(&world, &nats, worker, &["--local", "0"]);
    assert_eq!(done.code, Some(0), "{done}");
    assert_eq!(run::column(&world, "findings"), ["did A", "did B"]);
    let may = |subject: &str| nats.may_publish("host-1", "works", subject);
    assert!(may("te.p.host-1") && nats.may_publish("leader", "leads", "te.w.host-1.x"));
    for subject in [
        "te.p.host-2",
        "te.e.host-2.run.key",
        "te.l.host-2.run.key",
        "te.w.host-1.x",
        "te.c.host-2",
        "$JS.API.CONSUMER.CREATE.TE_WORK.host-1.te.w.host-2.>",
        "$JS.API.CONSUMER.CREATE.TE_WORK.spy.te.w.>",
        "$JS.API.STREAM.MSG.GET.TE_WORK",
        "$JS.API.STREAM.PURGE.TE_WORK",
        "$JS.API.STREAM.DELETE.TE_ENDS",
        "$JS.API.STREAM.UPDATE.TE_ENDS",
    ] {
        assert!(!may(subject), "{subject}");
    }
    let stranger = World::new(BINARY);
    let refused = stranger.run(&["hosts", "--backend", &nats.url()]);
    assert_eq!(refused.code, Some(74), "{refused}");
}
