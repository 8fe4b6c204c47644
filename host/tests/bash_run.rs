//! Running lines: results, time, output, what is left behind.
#![allow(clippy::unwrap_used)]

#[path = "support/shell.rs"]
mod shell;

use std::time::{Duration, Instant};

use clawhold::model::{FailureCode, Outcome};
use clawhold::tool::CallContext;
use serde_json::json;
use shell::{Lab, full, landlock, processes_with, within};

/// A number that no other process of this machine sleeps for.
fn unique() -> String {
    static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(1);
    let count = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
    format!("{}{:03}", 1_000_000 + std::process::id(), count)
}

/// Both tiers that this machine has.
fn tiers() -> Vec<clawhold::shell::TierReport> {
    [full(), landlock()].into_iter().flatten().collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn req_092_output_and_exit_code() {
    for tier in tiers() {
        let lab = Lab::new(tier).file("a.txt", "hello\n");
        let check = async |command: &str, expect: &str| {
            assert_eq!(lab.bash(command).await, expect, "{command}");
        };
        check("cat a.txt", "hello\nexit code: 0").await;
        check("ls && cat a.txt", "a.txt\nhello\nexit code: 0").await;
        check("echo one; echo two", "one\ntwo\nexit code: 0").await;
        check("cat a.txt | grep -c l", "1\nexit code: 0").await;
        check("ls nope 2>/dev/null || echo fallback", "fallback\nexit code: 0").await;
        check("ls nope 2>/dev/null && echo never", "(no output)\nexit code: 2").await;
        check("cat", "(no output)\nexit code: 0").await;
        check("echo $((1 + 2)); exit 7", "3\nexit code: 7").await;
        check("for i in 1 2; do echo $i; echo e$i >&2; done", "1\ne1\n2\ne2\nexit code: 0").await;
        check("kill -9 $$", "(no output)\nexit code: 137 (signal 9)").await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn req_048_what_a_failing_command_says_is_a_result_like_any_other() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let text = lab.bash("ls no-such-file").await;
        assert!(text.contains("no-such-file") && text.ends_with("exit code: 2"), "{text}");
        let reply = lab.call("bash", json!({"command": "exit 3"})).await;
        assert!(reply.failure.is_none());
        assert_eq!(reply.structured.unwrap()["exit_code"], 3);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_folder_of_a_call_is_where_it_runs() {
    for tier in tiers() {
        let lab = Lab::new(tier).file("sub/dir/b.txt", "b\n");
        for (command, cwd) in [
            ("cat b.txt", "sub/dir"),
            ("cat dir/b.txt", "sub"),
            ("cat b.txt; true $((1))", "sub/dir/"),
        ] {
            let reply = lab.call("bash", json!({"command": command, "cwd": cwd})).await;
            assert!(reply.observation().starts_with("b\n"), "{cwd}: {}", reply.observation());
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn req_047_a_line_that_does_not_end_is_ended_with_its_output_so_far() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let number = unique();
        for command in [
            format!("echo begun; sleep {number}"),
            format!("echo begun; trap '' TERM; sleep {number} & sleep {number}; wait"),
            format!("echo begun; setsid sleep {number} & sleep {number}"),
        ] {
            let begun = Instant::now();
            let reply = lab.call("bash", json!({"command": command, "timeout": 1})).await;
            assert_eq!(reply.outcome, Outcome::TimedOut, "{}", reply.observation());
            assert!(reply.observation().starts_with("begun\n"), "{}", reply.observation());
            assert!(begun.elapsed() < Duration::from_secs(6), "{:?}", begun.elapsed());
            assert!(
                within(Duration::from_secs(2), || processes_with(&number).is_empty()),
                "{command}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d11_a_background_process_holds_nothing_up_and_is_ended() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let number = unique();
        for command in [
            format!("echo out; sleep {number} & true"),
            format!("nohup sleep {number} >/dev/null 2>&1 & echo out"),
            format!("echo out; setsid sleep {number} & true"),
        ] {
            let begun = Instant::now();
            let text = lab.bash(&command).await;
            assert!(begun.elapsed() < Duration::from_secs(5), "{command}: {:?}", begun.elapsed());
            assert!(text.contains("out") && text.contains("left in the background"), "{text}");
            assert!(
                within(Duration::from_secs(2), || processes_with(&number).is_empty()),
                "{command}"
            );
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cancelled_call_leaves_nothing_running() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let number = unique();
        let context = CallContext::detached("c1");
        let cancel = context.cancel.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(500)).await;
            cancel.cancel();
        });
        let begun = Instant::now();
        let command = format!("echo begun; setsid sleep {number} & sleep {number}");
        let reply = lab.call_in("bash", json!({"command": command}), &context).await;
        assert!(matches!(reply.outcome, Outcome::Interrupted { .. }), "{:?}", reply.outcome);
        assert!(reply.observation().contains("begun"));
        assert!(begun.elapsed() < Duration::from_secs(3), "{:?}", begun.elapsed());
        assert!(within(Duration::from_secs(5), || processes_with(&number).is_empty()));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn d10_req_049_long_output_is_cut_on_every_branch_and_can_be_read_on() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let lines: String = (0..5000).map(|n| format!("line {n}\n")).collect::<Vec<_>>().concat();
        lab.put("long.txt", &lines);
        for (command, timeout) in [
            ("cat long.txt", 20),
            ("cat long.txt; exit 1 $((1))", 20),
            ("cat long.txt; sleep 60 $((0))", 1),
        ] {
            let reply = lab.call("bash", json!({"command": command, "timeout": timeout})).await;
            let text = reply.observation();
            assert!(text.len() < 9 * 1024, "{command}: {} bytes", text.len());
            assert!(
                text.starts_with("line 0\nline 1\n") && text.contains("\nline 4999\n"),
                "{text}"
            );
            assert!(text.contains("process_output"), "{text}");
        }
        let reply = lab.call("bash", json!({"command": "cat long.txt"})).await;
        let structured = reply.structured.unwrap();
        let pid = structured["pid"].as_u64().unwrap();
        // Read on to the end, piece by piece: nothing is lost and nothing comes twice.
        let (mut all, mut offset) = (String::new(), 0);
        while offset < lines.len() {
            let reply = lab.call("process_output", json!({"pid": pid, "offset": offset})).await;
            let text = reply.observation();
            let (piece, rest) = text.rsplit_once("\n[bytes ").unwrap();
            all.push_str(piece);
            let next = rest.split_once(" to ").unwrap().1.split(' ').next().unwrap();
            let next: usize = next.parse().unwrap();
            assert!(next > offset, "{rest}");
            offset = next;
        }
        assert!(all == lines, "{} and {} bytes", all.len(), lines.len());
        let tail = lab.call("process_output", json!({"pid": pid, "tail": 2})).await.observation();
        assert_eq!(tail, "line 4998\nline 4999\n[exit code: 0]");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_flood_is_held_back_and_ends() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let text = lab.bash("head -c 10000000 /dev/zero | tr '\\0' x; echo; echo end").await;
        assert!(text.len() < 9 * 1024 && text.contains("end\n"), "{} bytes", text.len());
        let reply = lab.call("bash", json!({"command": "yes", "timeout": 1})).await;
        assert_eq!(reply.outcome, Outcome::TimedOut);
        assert!(reply.observation().len() < 9 * 1024);
        let text = lab.bash("yes | head -n 1").await;
        assert_eq!(text, "y\nexit code: 0");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_fifo_and_a_prompt_cannot_hang_it() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let reply = lab.call("bash", json!({"command": "mkfifo f; cat f", "timeout": 1})).await;
        assert_eq!(reply.outcome, Outcome::TimedOut, "{}", reply.observation());
        let text = lab.bash("read -r line; echo \"got $line\"; test -t 0 || echo no terminal; (exec 3</dev/tty) 2>/dev/null || echo no tty").await;
        assert!(
            text.contains("got \n") && text.contains("no terminal\n") && text.contains("no tty"),
            "{text}"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn req_064_other_encodings_are_decoded_without_a_code_page() {
    for tier in tiers() {
        let text = "系统找不到指定的文件。\n";
        let gbk = encoding_rs::GB18030.encode(text).0.into_owned();
        let lab = Lab::new(tier).file("gbk.txt", &gbk);
        assert_eq!(lab.bash("cat gbk.txt").await, format!("{text}exit code: 0"));
        // One character, in two writes.
        let text = lab.bash("printf '\\xe7\\x9b'; sleep 0.2; printf '\\xae\\n'").await;
        assert_eq!(text, "目\nexit code: 0");
        let text = lab.bash("printf '\\033[31mred\\033[0m\\r\\n'").await;
        assert_eq!(text, "red\nexit code: 0");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn req_093_094_095_a_spawned_process_stays_until_it_is_ended() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let number = unique();
        let begun = Instant::now();
        let command = format!("echo ready; sleep {number} & sleep {number}");
        // Its timeout is not its end.
        let reply =
            lab.call("bash", json!({"command": command, "mode": "spawn", "timeout": 1})).await;
        assert!(begun.elapsed() < Duration::from_secs(2), "{:?}", begun.elapsed());
        let pid = reply.structured.as_ref().unwrap()["pid"].as_u64().unwrap();
        assert!(reply.observation().contains(&pid.to_string()));
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let text = lab.call("process_output", json!({"pid": pid})).await.observation();
        assert_eq!(text, "ready\n[still running]");
        assert!(!processes_with(&number).is_empty());
        let reply = lab.call("kill_process", json!({"pid": pid})).await;
        assert_eq!(reply.outcome, Outcome::Done, "{}", reply.observation());
        assert!(within(Duration::from_secs(2), || processes_with(&number).is_empty()));
        let text = lab.call("process_output", json!({"pid": pid})).await.observation();
        assert!(text.starts_with("ready\n[ended"), "{text}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_this_session_started_is_ended() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let mut stranger = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        for pid in [u64::from(stranger.id()), 1, 0] {
            let reply = lab.call("kill_process", json!({"pid": pid})).await;
            assert_eq!(reply.failure.unwrap().code, FailureCode::NotFound);
        }
        assert!(stranger.try_wait().unwrap().is_none());
        stranger.kill().unwrap();
        stranger.wait().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_spawned_ends_with_the_session() {
    for tier in tiers() {
        let lab = Lab::new(tier);
        let number = unique();
        let command = format!("setsid sleep {number} & sleep {number}");
        lab.call("bash", json!({"command": command, "mode": "spawn"})).await;
        assert!(within(Duration::from_secs(5), || !processes_with(&number).is_empty()));
        drop(lab);
        assert!(within(Duration::from_secs(5), || processes_with(&number).is_empty()));
    }
}
