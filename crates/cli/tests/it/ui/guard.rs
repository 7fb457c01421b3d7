use std::io::{Read as _, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use serde_json::json;
use team_executor_testkit::limited::*;

use super::{Answer, LIMIT, SESSION, Served, session};

/// Headers that every answer has, refusals included.
const SEALS: [&str; 6] = [
    "content-security-policy: default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; \
     base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    "x-content-type-options: nosniff",
    "referrer-policy: no-referrer",
    "cross-origin-opener-policy: same-origin",
    "cross-origin-resource-policy: same-origin",
    "x-frame-options: deny",
];

fn check(answer: &Answer, status: u16, what: &str) {
    assert_eq!(answer.status, status, "{what}: {answer:?}");
    for seal in SEALS {
        assert!(answer.head.contains(seal), "{what}: {}", answer.head);
    }
    for banned in ["access-control-", "set-cookie"] {
        assert!(!answer.head.contains(banned), "{what}: {}", answer.head);
    }
}

/// R: U-04
#[test]
fn request_with_another_host_is_misdirected() {
    let world = session(&[("A", "")]);
    let page = Served::start(&world, &[]);
    let port = page.port;
    let auth = format!("Authorization: Bearer {}\r\nConnection: close\r\n", page.token);
    for host in [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("[::1]:{port}")] {
        for path in ["/", "/api/runs"] {
            let answer = page.raw(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{auth}\r\n").as_bytes());
            check(&answer, 200, &host);
        }
    }
    let wrong = [
        "evil.example".to_owned(),
        format!("evil.example:{port}"),
        "127.0.0.1".to_owned(),
        format!("127.0.0.1:{}", port ^ 1),
        format!("127.0.0.2:{port}"),
        format!("0.0.0.0:{port}"),
        format!("127.0.0.1.evil.example:{port}"),
        format!("LOCALHOST:{port}"),
        format!("localhost.:{port}"),
        format!("user@127.0.0.1:{port}"),
        format!("127.0.0.1:{port}, evil.example"),
        String::new(),
    ];
    for host in wrong {
        for path in ["/", "/a/app.js", "/api/runs"] {
            let answer = page.raw(format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n{auth}\r\n").as_bytes());
            assert!(answer.status == 421 || answer.status == 400, "{host} {path}: {answer:?}");
        }
    }
    let two = format!("GET / HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nHost: evil.example\r\n{auth}\r\n");
    let none = format!("GET / HTTP/1.1\r\n{auth}\r\n");
    let whole = format!("GET http://127.0.0.1:{port}/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{auth}\r\n");
    let foreign = format!("GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n{auth}\r\n");
    for request in [two, none, whole, foreign] {
        check(&page.raw(request.as_bytes()), 421, &request);
    }
}

/// R: U-04
#[test]
fn request_without_the_token_learns_nothing_of_runs() {
    let world = session(&[("A", "")]);
    let page = Served::start(&world, &[]);
    let (host, token) = (format!("Host: 127.0.0.1:{}\r\nConnection: close\r\n", page.port), &page.token);
    let other: String = token.chars().rev().collect();
    let given = [
        String::new(),
        "Authorization: Bearer \r\n".to_owned(),
        format!("Authorization: Bearer {other}\r\n"),
        format!("Authorization: Bearer {token}0\r\n"),
        format!("Authorization: Bearer {}\r\n", &token[1..]),
        format!("Authorization: {token}\r\n"),
        format!("Authorization: bearer {token}\r\n"),
        format!("Authorization: Basic {token}\r\n"),
        format!("Authorization: Bearer {token}\r\nAuthorization: Bearer {token}\r\n"),
        format!("Cookie: token={token}\r\n"),
    ];
    for given in &given {
        for path in ["/api/runs", "/api/stream", "/api/plan", "/api/runs/EX-x", "/api/nothing"] {
            let answer = page.raw(format!("GET {path} HTTP/1.1\r\n{host}{given}\r\n").as_bytes());
            check(&answer, 401, given);
            assert!(!answer.text().contains("TC-x"), "{answer:?}");
        }
    }
    for path in [format!("/api/runs?t={token}"), format!("/api/runs?token={token}")] {
        check(&page.raw(format!("GET {path} HTTP/1.1\r\n{host}\r\n").as_bytes()), 401, &path);
    }
    // The files of the page say nothing, and the address of a view has no token.
    for path in ["/", "/inbox", "/plan", "/r/EX-x", "/a/app.js", "/a/vendor/preact.mjs"] {
        let answer = page.raw(format!("GET {path} HTTP/1.1\r\n{host}\r\n").as_bytes());
        check(&answer, 200, path);
        assert!(!answer.text().contains(token.as_str()), "{path}");
    }
    assert_eq!(token.len(), 64, "256 bits");
}

/// R: U-04
#[test]
fn request_that_acts_comes_from_the_page_itself() {
    let world = session(&[("A", "")]);
    let run = world.run(&["run", SESSION, "--agent-command", "true", "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    let page = Served::start(&world, &[]);
    let name = page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    let body =
        json!({"to": "control", "request": {"version": 1, "request": "retry", "tasks": ["A"], "downstream": true}});
    let body = body.to_string();
    let send = |more: &str| {
        let (headers, length) = (page.headers(), body.len());
        let head = format!("POST /api/runs/{name}/requests HTTP/1.1\r\n{headers}{more}Content-Length: {length}");
        page.raw(format!("{head}\r\n\r\n{body}").as_bytes())
    };
    let (own, port) = (format!("Origin: http://127.0.0.1:{}\r\n", page.port), page.port);
    let kind = "Content-Type: application/json\r\n";
    let refused = [
        (kind.to_owned(), 403),
        (format!("{kind}Origin: http://evil.example\r\n"), 403),
        (format!("{kind}Origin: null\r\n"), 403),
        (format!("{kind}Origin: https://127.0.0.1:{port}\r\n"), 403),
        (format!("{kind}Origin: http://localhost:{port}\r\n"), 403),
        (format!("{kind}Origin: http://127.0.0.1:{}\r\n", port ^ 1), 403),
        (format!("{kind}{own}Origin: http://evil.example\r\n"), 403),
        (format!("{kind}{own}Sec-Fetch-Site: cross-site\r\n"), 403),
        (format!("{kind}{own}Sec-Fetch-Site: same-site\r\n"), 403),
        (own.clone(), 415),
        (format!("{own}Content-Type: text/plain\r\n"), 415),
        (format!("{own}Content-Type: application/x-www-form-urlencoded\r\n"), 415),
        (format!("{own}Content-Type: application/jsonp\r\n"), 415),
    ];
    for (more, status) in refused {
        check(&send(&more), status, &more);
    }
    let before = page.document(&format!("/api/runs/{name}"));
    assert_eq!(before["counts"]["completed"], 1, "nothing was done: {before}");
    check(&send(&format!("{own}{kind}Sec-Fetch-Site: same-origin\r\n")), 200, "the page itself");
    let after = page.document(&format!("/api/runs/{name}"));
    assert_eq!(after["counts"]["completed"], 0, "{after}");
}

/// R: U-04
#[test]
fn methods_and_forms_that_are_not_used_are_refused() {
    let world = session(&[("A", "")]);
    let page = Served::start(&world, &[]);
    let headers = page.headers();
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "PROPFIND"] {
        let answer = page.raw(format!("{method} /api/runs HTTP/1.1\r\n{headers}\r\n").as_bytes());
        assert!([400, 405, 421].contains(&answer.status), "{method}: {answer:?}");
        assert!(!answer.head.contains("access-control"), "{method}");
    }
    let post = format!(
        "POST /api/runs/x/requests HTTP/1.1\r\n{headers}Origin: http://127.0.0.1:{}\r\nContent-Type: application/json\r\n",
        page.port
    );
    // A length that is told twice, or in two ways, is how one request is smuggled in another.
    let smuggled = [
        format!("{post}Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked\r\n\r\n2\r\n{{}}\r\n0\r\n\r\n"),
        format!("{post}Transfer-Encoding: chunked, identity\r\n\r\n0\r\n\r\n"),
        format!("{post}Content-Length: 2\r\nContent-Length: 3\r\n\r\n{{}}"),
        format!("{post}Content-Length: -1\r\n\r\n"),
        format!("{post}Content-Length: 2, 2\r\n\r\n{{}}"),
        format!("{post}Content-Length : 2\r\n\r\n{{}}"),
        format!("GET /api/runs HTTP/1.1\r\n{headers} folded: x\r\n\r\n"),
        format!("GET /api/runs HTTP/1.1\nHost: 127.0.0.1:{}\n x\n\n", page.port),
        format!("GET /api/runs HTTP/2.0\r\n{headers}\r\n"),
        format!("GET  /api/runs HTTP/1.1\r\n{headers}\r\n"),
        "\u{16}\u{3}\u{1}\u{2}".to_owned(),
        "\r\n\r\nnonsense\r\n\r\n".to_owned(),
    ];
    for request in smuggled {
        let answer = page.raw(request.as_bytes());
        assert!(answer.status == 0 || (400..600).contains(&answer.status), "{request:?}: {answer:?}");
        assert!(answer.head.matches("http/1.1").count() <= 1, "one answer at most: {answer:?}");
    }
    let old = page.raw(format!("GET / HTTP/1.0\r\nHost: 127.0.0.1:{}\r\n\r\n", page.port).as_bytes());
    assert_eq!(old.status, 505, "{old:?}");
    assert_eq!(page.get("/api/runs").status, 200, "it goes on");
}

/// R: U-04
#[test]
fn addresses_lead_to_nothing_but_runs_of_the_project() {
    let world = session(&[("A", "")]);
    let run = world.run(&["run", SESSION, "--agent-command", "true", "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    world.write("secret", "do not tell");
    let page = Served::start(&world, &[]);
    let name = page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    let up = "..%2f..%2f..%2f..%2fsecret";
    for path in [
        "/a/../../../../etc/passwd".to_owned(),
        "/a/..%2f..%2fCargo.toml".to_owned(),
        format!("/a/{up}"),
        "/a/%00".to_owned(),
        "/a/".to_owned(),
        "/../secret".to_owned(),
        "/secret".to_owned(),
        "/api/runs/..".to_owned(),
        format!("/api/runs/{up}"),
        "/api/runs/EX-other".to_owned(),
        format!("/api/runs/{name}/artifacts/{up}"),
        format!("/api/runs/{name}/tasks/{up}/log"),
        format!("/api/runs/{name}/tasks/{up}"),
        format!("/api/runs/{name}/nothing"),
        format!("/api/plan?session={up}"),
        "/api/plan?session=/etc".to_owned(),
        "/api/plan".to_owned(),
        "/api".to_owned(),
    ] {
        let answer = page.get(&path);
        assert!([404, 409].contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.text().contains("do not tell") && !answer.text().contains("root:"), "{path}: {answer:?}");
    }
    assert_eq!(page.get("/api/runs/%zz").status, 400);
}

/// R: U-04
#[test]
fn large_requests_and_too_many_connections_are_bounded() {
    let world = session(&[("A", "")]);
    let page = Served::start(&world, &[]);
    let headers = page.headers();
    let long = format!("GET /api/runs HTTP/1.1\r\n{headers}X-Long: {}\r\n\r\n", "x".repeat(20 << 10));
    assert_eq!(page.raw(long.as_bytes()).status, 431);
    let long = format!("GET /{} HTTP/1.1\r\n{headers}\r\n", "x".repeat(40 << 10));
    assert!([414, 431].contains(&page.raw(long.as_bytes()).status));
    let many: String = (0..200).map(|nth| format!("X-{nth}: y\r\n")).collect();
    assert_eq!(page.raw(format!("GET /api/runs HTTP/1.1\r\n{headers}{many}\r\n").as_bytes()).status, 431);
    let body = "x".repeat((2 << 20) + 1);
    let own = format!("Origin: http://127.0.0.1:{}\r\nContent-Type: application/json\r\n", page.port);
    let head = format!("POST /api/runs/x/requests HTTP/1.1\r\n{headers}{own}Content-Length: {}\r\n\r\n", body.len());
    assert_eq!(page.raw(format!("{head}{body}").as_bytes()).status, 413);
    // 64 connections that say nothing; one more is closed at once.
    let mut open: Vec<_> = (0..64).map(|_| page.connect()).collect();
    let answer = limited_until("the connections are all taken", || {
        let answer = page.get("/");
        (answer.status == 0).then_some(answer)
    });
    assert!(answer.head.is_empty(), "{answer:?}");
    // Those that say nothing are closed in the end, and others get in.
    for stream in &mut open {
        stream.set_read_timeout(Some(LIMIT)).expect("a socket");
        let mut rest = Vec::new();
        let _end = stream.read_to_end(&mut rest);
    }
    assert_eq!(limited_until("room again", || Some(page.get("/")).filter(|answer| answer.status == 200)).status, 200);
}

/// R: U-04
#[test]
fn half_a_request_is_given_up() {
    let world = session(&[("A", "")]);
    let page = Served::start(&world, &[]);
    let mut stream = page.connect();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: 127.0.0.1").expect("it listens");
    let mut rest = Vec::new();
    let _end = stream.read_to_end(&mut rest);
    assert!(rest.is_empty() || rest.starts_with(b"HTTP/1.1 408"), "{}", String::from_utf8_lossy(&rest));
}

/// R: U-04
#[test]
fn page_listens_on_this_machine_only() {
    let world = session(&[("A", "")]);
    let page = Served::start(&world, &[]);
    for file in ["/proc/net/tcp", "/proc/net/tcp6"] {
        let text = std::fs::read_to_string(file).unwrap_or_default();
        let port = format!(":{:04X}", page.port);
        let listens = text.lines().filter_map(|line| {
            let mut words = line.split_whitespace().skip(1);
            let (local, state) = (words.next()?, words.nth(1)?);
            (local.ends_with(&port) && state == "0A").then_some(local)
        });
        for local in listens {
            let local_ones = ["0100007F", "00000000000000000000000001000000"];
            assert!(local_ones.contains(&local.split(':').next().unwrap_or_default()), "{file}: {local}");
        }
    }
    assert!(page.address.starts_with("http://127.0.0.1:"));
}

/// R: U-04
#[test]
fn text_of_others_is_sent_as_text_to_be_saved() {
    let world = session(&[("A", "")]);
    let worker =
        "printf '<script>alert(1)</script>\\n'; printf '<svg onload=alert(1)>' > $TEAM_EXECUTOR_ARTIFACTS/evil.html";
    let run = world.run(&["run", SESSION, "--agent-command", worker, "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    let page = Served::start(&world, &[]);
    let name = page.document("/api/runs")["runs"][0]["run"].as_str().expect("a run").to_owned();
    let artifacts = page.document(&format!("/api/runs/{name}/artifacts"));
    let id = artifacts["artifacts"][0]["id"].as_str().expect("an artifact").replace('/', "%2F");
    for path in [
        format!("/api/runs/{name}/tasks/A/log/text"),
        format!("/api/runs/{name}/artifacts/{id}"),
        format!("/api/runs/{name}/tasks/A/prompt"),
    ] {
        let answer = page.get(&path);
        check(&answer, 200, &path);
        assert!(answer.head.contains("content-type: text/plain; charset=utf-8"), "{path}: {}", answer.head);
        assert!(answer.head.contains("content-disposition: attachment"), "{path}: {}", answer.head);
    }
    let log = page.get(&format!("/api/runs/{name}/tasks/A/log/text"));
    assert!(log.text().contains("<script>alert(1)</script>"), "{}", log.text());
}

/// R: U-04
#[test]
fn read_only_page_refuses_every_request() {
    let world = session(&[("A", "")]);
    let run = world.run(&["run", SESSION, "--agent-command", "true", "-y"]);
    assert_eq!(run.code, Some(0), "{run}");
    let page = Served::start(&world, &["--read-only"]);
    let list = page.document("/api/runs");
    let name = list["runs"][0]["run"].as_str().expect("a run");
    assert_eq!(list["read_only"], true);
    assert_eq!(page.document(&format!("/api/runs/{name}"))["can_act"], false);
    let before = world.tree();
    for request in ["pause", "resume", "drain", "stop"] {
        let answer =
            page.ask(name, &json!({"to": "control", "request": {"version": 1, "request": request, "reason": ""}}));
        check(&answer, 403, request);
    }
    assert_eq!(world.tree(), before);
}

/// R: U-04
#[test]
fn second_start_finds_the_first_and_the_token_is_private() {
    let world = session(&[("A", "")]);
    let page = Served::start(&world, &[]);
    let second = world.run(&["ui", "--no-open"]);
    assert_eq!(second.code, Some(0), "{second}");
    assert_eq!(second.stdout.trim(), format!("The page is served already: {}", page.address));
    let folder = world.dir().with_file_name("home").join(".local/state/team-executor/ui");
    let files: Vec<_> =
        std::fs::read_dir(&folder).expect("a folder").map(|entry| entry.expect("a file").path()).collect();
    assert_eq!(files.len(), 2, "{files:?}");
    for file in files {
        let mode = file.metadata().expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file:?}");
    }
    let json = world.run(&["ui", "--format", "json"]);
    let told: serde_json::Value = serde_json::from_str(&json.stdout).expect("JSON");
    let wanted = json!({"version": 1, "address": page.address, "already": true, "read_only": false});
    assert_eq!((told, json.stderr.as_str()), (wanted, ""));
    let before = page.token.clone();
    drop(page);
    let third = Served::start(&world, &[]);
    assert_ne!(third.token, before, "each start has another token");
}

#[test]
fn taken_port_and_unknown_run_are_refused_with_a_help() {
    let world = session(&[("A", "")]);
    let page = Served::start(&world, &[]);
    let other = session(&[("A", "")]);
    let taken = other.run(&["ui", "--no-open", "--port", &page.port.to_string()]);
    assert_eq!(taken.code, Some(2), "{taken}");
    assert!(taken.stderr.contains("cannot listen on 127.0.0.1:") && taken.stderr.contains("help: "), "{taken}");
    let unknown = other.run(&["ui", "--no-open", "--run", "EX-nothing"]);
    assert_eq!(unknown.code, Some(2), "{unknown}");
    assert!(unknown.stderr.contains("there is no run EX-nothing"), "{unknown}");
}
