//! The sandbox alone: everything may run, and canaries outside tell whether it got out.
#![allow(clippy::unwrap_used)]
#![allow(clippy::print_stderr, reason = "a test that is skipped says so and why")]

#[path = "support/canaries.rs"]
mod canaries;
#[path = "support/shell.rs"]
mod shell;

use std::io::Read as _;
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use canaries::Canaries;
use clawhold::model::Outcome;
use clawhold::shell::TierReport;
use serde_json::json;
use shell::{Lab, full, landlock};

fn tiers() -> Vec<TierReport> {
    [full(), landlock()].into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_outside_is_read_or_written() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let canaries = Canaries::around(&lab);
        let root = lab.root();
        let at = |below: &str| root.join(below).display().to_string();
        for path in ["user/.ssh/id_ed25519", "sibling/notes.txt", "ours/config.toml"].map(at) {
            for command in [
                format!("cat {path} $((0))"),
                format!("ln -s {path} link$RANDOM; cat link*"),
                format!("echo x >> {path}"),
                format!("rm -rf {path}; mv {path} here; cp {path} here; cat here"),
                format!(
                    "cat /proc/self/root{path}; cat /proc/1/root{path}; cat /proc/$PPID/root{path}"
                ),
                format!("chmod 777 {path}; truncate -s 0 {path}; ln {path} hard; cat hard"),
            ] {
                let text = lab.bash(&command).await;
                assert!(!text.contains("CANARY"), "{command}: {text}");
                canaries.are_untouched(&command);
            }
        }
        for command in [
            "cat /etc/shadow",
            "ls /root",
            "touch /usr/bin/evil /etc/evil",
            "cat /dev/mem /dev/sda /dev/vda",
        ] {
            let text = lab.bash(&format!("{command} $((1))")).await;
            assert!(!text.ends_with("exit code: 0"), "{command}: {text}");
        }
        assert!(!Path::new("/usr/bin/evil").exists() && !Path::new("/etc/evil").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_listener_outside_is_reached() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let canaries = Canaries::around(&lab);
        // One inside the workdir, of a program outside, counts as outside too.
        let inside = UnixListener::bind(lab.work().join("agent.sock")).unwrap();
        inside.set_nonblocking(true).unwrap();
        let tcp = canaries.tcp.local_addr().unwrap().port();
        let udp = canaries.udp.local_addr().unwrap().port();
        let unix = lab.root().join("sibling/socket").display().to_string();
        let python = |body: &str| format!("python3 -c 'import socket as s\n{body}' $((1))");
        let own = lab.work().join("agent.sock").display().to_string();
        for command in [
            format!("echo x > /dev/tcp/127.0.0.1/{tcp}"),
            format!("echo x > /dev/udp/127.0.0.1/{udp}"),
            python(&format!("c=s.socket(s.AF_UNIX);c.connect(\"{unix}\")")),
            python(&format!("c=s.socket(s.AF_UNIX);c.connect(\"{own}\")")),
            python(&format!(
                "a,b=s.socketpair(s.AF_UNIX,s.SOCK_DGRAM);a.sendto(b\"x\",\"{unix}\")"
            )),
            python("s.socket(40,s.SOCK_STREAM)"),
            python("s.socket(s.AF_PACKET,s.SOCK_RAW)"),
        ] {
            let text = lab.bash(&command).await;
            // A datagram to nowhere is sent without an error.
            let sent = command.contains("/dev/udp/");
            assert!(sent || !text.ends_with("exit code: 0"), "{command}: {text}");
            canaries.are_untouched(&command);
            assert!(inside.accept().is_err(), "{command}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_network_is_there_once_it_is_granted() {
    for tier in tiers() {
        let lab = Lab::with(tier, |settings| settings.network = true);
        let canaries = Canaries::around(&lab);
        let port = canaries.tcp.local_addr().unwrap().port();
        let text = lab.bash(&format!("echo hello > /dev/tcp/127.0.0.1/{port}")).await;
        assert_eq!(text, "(no output)\nexit code: 0");
        assert!(canaries.tcp.accept().is_ok());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_the_hosts_environment_gets_in() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let text =
            lab.bash("env; cat /proc/*/environ 2>/dev/null | tr '\\0' '\\n'; true $((0))").await;
        // Cargo gives every test this variable.
        assert!(std::env::var_os("CARGO_MANIFEST_DIR").is_some());
        assert!(!text.contains("CARGO_MANIFEST_DIR"), "{text}");
        for expected in ["GIT_PAGER=cat", "TERM=dumb", "GIT_TERMINAL_PROMPT=0"] {
            assert!(text.contains(expected), "{text}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_kernels_ways_out_are_closed() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        for command in [
            "unshare -U true",
            "unshare -m true",
            "mount -t tmpfs none .",
            "nsenter -t 1 -m true",
            "chroot . true",
            "strace true",
            "python3 -c 'import ctypes as c; l=c.CDLL(None,use_errno=True); exit(l.ptrace(0,0,0,0)!=-1)' && false",
            "python3 -c 'import ctypes as c; l=c.CDLL(None,use_errno=True); exit(0 if l.syscall(425,1,0)>=0 else 1)'",
        ] {
            let text = lab.bash(&format!("{command} || exit 9; exit $((0))")).await;
            assert!(text.ends_with("exit code: 9"), "{command}: {text}");
        }
    }
    let Some(tier) = full() else { return };
    let lab = Lab::new(tier);
    let text =
        lab.bash("grep -E 'NoNewPrivs|CapEff|Seccomp:' /proc/self/status; true $((0))").await;
    for line in ["NoNewPrivs:\t1", "Seccomp:\t2", "CapEff:\t0000000000000000"] {
        assert!(text.contains(line), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_runner_itself_is_out_of_reach() {
    if let Some(tier) = landlock() {
        let text = Lab::new(tier)
            .bash("kill -9 $PPID 2>/dev/null; kill -9 1 2>/dev/null; echo alive")
            .await;
        assert_eq!(text, "alive\nexit code: 0");
    }
    if let Some(tier) = full() {
        // Here it may be killed, and the whole sandbox ends with it.
        let lab = Lab::new(tier);
        let reply = lab.call("bash", json!({"command": "kill -9 $PPID; sleep 7654321"})).await;
        assert_eq!(reply.outcome, Outcome::Failed);
        assert!(
            shell::within(Duration::from_secs(2), || shell::processes_with("7654321").is_empty())
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn protected_places_stay_as_they_are() {
    let Some(tier) = full() else { return };
    let lab = Lab::new(tier);
    lab.put(".git/config", "[core]\n");
    lab.put(".git/hooks/pre-commit.sample", "x");
    lab.put(".git/modules/lib/config", "x");
    lab.put(".git/objects/keep", "x");
    lab.put(".envrc", "x");
    lab.put("deep/.vscode/settings.json", "{}");
    for command in [
        "echo evil >> .git/config",
        "echo evil > .git/hooks/pre-commit",
        "rm .envrc",
        "mv .git .git2",
        "rm -rf .git",
        "mv .git/hooks .git/other",
        "ln -sf /tmp/x .envrc",
        "echo evil > .git/modules/lib/config",
        "echo evil > deep/.vscode/tasks.json",
        "umount .envrc",
    ] {
        let text = lab.bash(&format!("{command} $((0))")).await;
        assert!(!text.ends_with("exit code: 0"), "{command}: {text}");
    }
    let read = |path: &str| std::fs::read_to_string(lab.work().join(path)).unwrap();
    assert_eq!(
        [read(".git/config"), read(".envrc"), read(".git/modules/lib/config")],
        ["[core]\n", "x", "x"]
    );
    assert!(!lab.work().join(".git/hooks/pre-commit").exists());
    assert!(!lab.work().join("deep/.vscode/tasks.json").exists());
    // What is not protected can be changed, and the repository with it.
    assert!(
        lab.bash("mkdir -p .git/objects; echo new > .git/objects/new; cat .git/objects/new")
            .await
            .starts_with("new\n")
    );
    let text = lab.bash("echo evil >> .git/config").await;
    assert!(text.contains("[sandbox]") && text.contains("protected"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_planted_is_taken_away_and_said() {
    let Some(tier) = full() else { return };
    let lab = Lab::new(tier);
    let folder = lab.root().join("session");
    lab.shell.keep_in(folder.clone());
    let command = "mkdir -p .git/hooks sub/.vscode .claw; echo evil > .git/hooks/post-checkout; echo evil > sub/.vscode/tasks.json; echo evil > .envrc; echo 'gitdir: evil' > sub/.git; echo fine > a.txt";
    let reply = lab.call("bash", json!({"command": command})).await;
    assert_eq!(reply.outcome, Outcome::Failed);
    let text = reply.observation();
    for path in [".git/hooks", "sub/.vscode", ".envrc", ".claw", "sub/.git"] {
        assert!(text.contains(&format!("`{path}` is protected")), "{path}: {text}");
        assert!(!lab.work().join(path).exists(), "{path}");
    }
    assert_eq!(reply.receipt.denials.len(), 5);
    assert!(lab.work().join("a.txt").exists());
    let mut kept = String::new();
    let found = walk(&folder);
    for path in found.iter().filter(|path| path.is_file()) {
        std::fs::File::open(path).unwrap().read_to_string(&mut kept).unwrap();
    }
    assert_eq!(kept.matches("evil").count(), 4, "nothing is lost: {found:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_spawned_process_plants_is_taken_away_when_it_has_ended() {
    let Some(tier) = full() else { return };
    let lab = Lab::new(tier);
    let command = "sleep 0.4; echo evil > .envrc; sleep $1 7";
    let spawned = lab.call("bash", json!({"command": command, "mode": "spawn"})).await;
    let pid = spawned.structured.unwrap()["pid"].as_u64().unwrap();
    assert!(shell::within(Duration::from_secs(5), || lab.work().join(".envrc").exists()));
    let text = lab.call("kill_process", json!({"pid": pid})).await.observation();
    assert!(
        text.contains("`.envrc` is protected") && !lab.work().join(".envrc").exists(),
        "{text}"
    );
    // And at the end of a session, for what nobody ended.
    let spawned = lab.call("bash", json!({"command": command, "mode": "spawn"})).await;
    assert!(spawned.outcome.is_done());
    let planted = lab.work().join(".envrc");
    assert!(shell::within(Duration::from_secs(5), || planted.exists()));
    let root = lab.end();
    assert!(root.path().join("work").exists() && !planted.exists());
}

fn walk(dir: &Path) -> Vec<std::path::PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        all.push(entry.path());
        all.extend(walk(&entry.path()));
    }
    all
}

#[tokio::test(flavor = "multi_thread")]
async fn git_init_works_and_no_stub_is_left() {
    let Some(tier) = full() else { return };
    let lab = Lab::new(tier);
    let text = lab.bash("git init -q . && git status --short; ls -A").await;
    assert_eq!(text, ".git\nexit code: 0");
    assert!(lab.work().join(".git/config").exists() && lab.work().join(".git/HEAD").exists());
    let names: Vec<_> =
        std::fs::read_dir(lab.work()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, [".git"], "no stub files");
    lab.put("a.txt", "x");
    let text = lab.bash("git add a.txt && git -c user.name=a -c user.email=a@b commit -qm one && git log --oneline").await;
    assert!(text.ends_with("exit code: 0"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn files_that_look_like_secrets_are_empty_inside() {
    let Some(tier) = full() else { return };
    let secret = "KEY=CANARY\n";
    let lab = Lab::new(tier.clone()).file(".env", secret).file("sub/server.pem", secret);
    let text = lab.bash("cat .env sub/server.pem; head -c 100 .env; cp .env copy; cat copy").await;
    assert!(!text.contains("CANARY"), "{text}");
    let lab = Lab::with(tier, |settings| settings.secret_files = vec![".env".into()]);
    lab.put(".env", secret);
    assert!(lab.bash("cat .env $((1))").await.contains("CANARY"), "granted by its user");
}

#[tokio::test(flavor = "multi_thread")]
async fn toolchains_are_shown_without_their_credentials() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let home = lab.root().join("user");
        for (path, text) in [
            (".cargo/bin/tool", "#!/bin/sh\necho a tool\n"),
            (".cargo/credentials.toml", "CANARY"),
            (".cargo/registry/index", "index\n"),
            (".npmrc", "CANARY"),
            (".config/gh/hosts.yml", "CANARY"),
        ] {
            let path = home.join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        // The layout is read when a session begins.
        let lab = Lab::with(lab.shell_tier(), |settings| settings.home = Some(home.clone()));
        let home = home.display();
        let text = lab
            .bash(&format!("cat {home}/.cargo/registry/index; cat {home}/.cargo/credentials.toml {home}/.npmrc {home}/.config/gh/hosts.yml; touch {home}/.cargo/registry/new || echo read-only"))
            .await;
        assert!(text.contains("index\n") && text.contains("read-only"), "{text}");
        assert!(!text.contains("CANARY"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_granted_is_there_and_nothing_beside_it() {
    for tier in tiers() {
        let outside = tempfile::tempdir().unwrap();
        let root = outside.path().canonicalize().unwrap();
        for name in ["read", "write", "other"] {
            std::fs::create_dir(root.join(name)).unwrap();
            std::fs::write(root.join(name).join("f"), name).unwrap();
        }
        let lab = Lab::with(tier, |settings| {
            settings.read = vec![root.join("read")];
            settings.write = vec![root.join("write")];
        });
        let at = root.display();
        let text = lab.bash(&format!("cat {at}/read/f {at}/write/f; echo new > {at}/write/g; echo new > {at}/read/g; cat {at}/other/f")).await;
        assert!(text.starts_with("readwrite"), "{text}");
        assert!(root.join("write/g").exists() && !root.join("read/g").exists());
        assert!(text.contains("[sandbox]") && !text.ends_with("exit code: 0"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_parts_of_a_line_share_one_private_tmp() {
    let Some(tier) = full() else { return };
    let lab = Lab::new(tier);
    let text = lab.bash("echo shared > /tmp/f && cat /tmp/f | cat; ls /tmp/f").await;
    assert_eq!(text, "shared\n/tmp/f\nexit code: 0");
    assert_eq!(
        lab.bash("ls /tmp/f 2>/dev/null; ls -A ~; true $((1))").await,
        "(no output)\nexit code: 0"
    );
}
