//! Rules as a user writes them: their errors and self-tests, deny rules, what happens outside all
//! rules, what "always" stores, how programs are found, and the answer of `claw policy check`.
#![allow(clippy::unwrap_used)]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use clawhold::shell::{
    Allowlist, Decision, How, RealTree, RuleError, RuleSettings, SearchPath, Surroundings, Verdict,
    usual_directories,
};

fn settings(text: &str) -> RuleSettings {
    toml::from_str(text).unwrap()
}

fn list(text: &str) -> Allowlist {
    Allowlist::new(&settings(text)).unwrap()
}

fn judge_in(list: &Allowlist, dir: &Path, line: &str, terminal: bool) -> Verdict {
    let tree = RealTree::open(dir).unwrap();
    list.judge(line.as_bytes(), Surroundings { tree: &tree, search: None, terminal })
}

fn judge(list: &Allowlist, line: &str) -> Verdict {
    judge_in(list, tempfile::tempdir().unwrap().path(), line, true)
}

fn decisions(list: &Allowlist, rows: &[(&str, Decision)]) {
    for (line, wanted) in rows {
        let verdict = judge(list, line);
        assert_eq!(verdict.decision, *wanted, "{line:?}: {}", verdict.reason);
    }
}

#[test]
fn a_failing_self_test_names_the_rule() {
    let check = |rule: &str, wanted: &str| {
        let error = Allowlist::new(&settings(rule)).unwrap_err();
        assert!(error.to_string().contains(wanted), "{error}");
    };
    check(
        "[[allow]]\nprogram='ls'\nmatch=['ls']\n[[allow]]\nprogram='cat'\nargs=['x']\nmatch=['cat y']",
        "bash.allow 2 `cat x`: its `match` line `cat y`",
    );
    check(
        "[[allow]]\nprogram='ls'\noptions=['-l']\nnot_match=['ls -l']",
        "bash.allow 1 `ls`: its `not_match` line `ls -l`",
    );
    check("[[allow]]\nprogram='ls'\nmatch=['ls; $x']", "`$` at byte 4");
    check("[[deny]]\nprogram='rm'\nmatch=['ls']", "bash.deny 1 `rm`");
    check("[[deny]]\nprogram='rm'\nnot_match=['rm x']", "bash.deny 1 `rm`");
    check("[[deny]]\nprogram='rm'\noperands='paths'", "a deny rule knows");
    check("[[allow]]\nprogram='/bin/ls'", "bare name");
    check("[[allow]]\nprogram='cd'", "needs no rule");
    check("[[allow]]\nprogram='x'\noptions=['l']", "not an option entry");
    check("[[allow]]\nprogram='x'\noptions=['--']", "not an option entry");
    check("[[allow]]\nprogram='x'\noptions=['--a=b']", "not an option entry");
    check("[[allow]]\nprogram='x'\noptions=['-n NUMBER']", "not an option entry");
    assert!(matches!(
        Allowlist::new(&settings("[[deny]]\nprogram='rm'\nmatch=['ls']")),
        Err(RuleError::ShouldMatch { .. })
    ));
}

#[test]
fn a_misspelt_key_is_an_error() {
    assert!(toml::from_str::<RuleSettings>("[[allow]]\nprogram='ls'\nnotmatch=['x']").is_err());
    assert!(toml::from_str::<RuleSettings>("[[allow]]\nprogram='ls'\noperands='all'").is_err());
    assert!(toml::from_str::<RuleSettings>("outside='allow'").is_err());
}

#[test]
fn without_shipped_rules_only_ones_own_hold() {
    use Decision::{Allow, Ask};
    let own = "shipped_rules = false\n[[allow]]\nprogram='cat'\noperands='paths'";
    decisions(&list(own), &[("cat a", Allow), ("ls", Ask), ("cat -n a", Ask)]);
    decisions(&list(""), &[("ls", Allow), ("cat a", Allow), ("rm a", Ask)]);
}

/// A rule in the plain form, for a program that no shipped rule knows: what its options take is
/// not known, so both readings of every argument have to be harmless.
#[test]
fn options_of_unknown_appetite_are_read_both_ways() {
    use Decision::{Allow, Ask};
    let own = "[[allow]]\nprogram='tool'\noptions=['-e', '-x', '--opt', '--size NUM', '-n NUM']\noperands='paths'\n\
               [[allow]]\nprogram='seek'\noptions=['-e', '-v', '--opt']\noperands='pattern-then-paths'\n\
               [[allow]]\nprogram='cat'\noptions=['--odd']\noperands='paths'\n\
               [[allow]]\nprogram='quiet'\noptions=['-q']";
    decisions(
        &list(own),
        &[
            ("tool -e a", Allow),
            ("tool -ex a", Allow),
            ("tool --opt=a", Allow),
            ("tool --opt a", Allow),
            ("tool --size=3 a", Allow),
            ("tool --size 3 a", Allow),
            ("tool -n3 a", Allow),
            ("tool --size=../x", Ask),
            ("tool --opt=/etc/passwd", Ask),
            ("tool --opt=../x", Ask),
            ("tool --opt /etc/passwd", Ask),
            ("tool -e ../x", Ask),
            ("tool --op a", Ask),
            ("tool --opts a", Ask),
            ("tool -en3 a", Ask),
            ("tool -en 3", Ask),
            ("tool -ez a", Ask),
            // The dashes may be the value of `-e`, and then `--evil` is an option.
            ("tool -e -- --evil", Ask),
            ("tool -- --evil", Ask),
            ("seek pat a", Allow),
            ("seek /pat/ a", Allow),
            ("seek -e pat a", Allow),
            ("seek -e /etc/passwd", Ask),
            ("seek -ev /etc/passwd", Ask),
            ("seek /etc/passwd -e pat", Ask),
            ("seek --opt=pat /etc/passwd", Ask),
            ("cat -- --evil", Allow),
            ("cat --odd a -- --evil", Allow),
            ("cat --odd -- --evil", Ask),
            ("quiet -q", Allow),
            ("quiet -q a", Ask),
            ("quiet -q=a", Ask),
        ],
    );
}

#[test]
fn deny_rules_hold_against_every_spelling() {
    use Decision::{Allow, Ask, Deny};
    let own = "outside = 'confine'\n[[allow]]\nprogram='git'\nargs=['push']\noptions=['--force','-f','-v']\noperands='any'\n\
               [[deny]]\nprogram='git'\nargs=['push']\noptions=['--force','-f']\nmatch=['git push -f x', 'git -C x push --force']\nnot_match=['git push x']\n\
               [[deny]]\nprogram='rm'";
    decisions(
        &list(own),
        &[
            ("git push origin", Allow),
            ("git push --force", Deny),
            ("git push origin --force=x", Deny),
            ("git push --forc", Deny),
            ("git push -vf", Deny),
            ("git -C y push -f", Deny),
            ("ls && git push -f", Deny),
            ("'g'it pu\"sh\" -f", Deny),
            ("rm x", Deny),
            ("cd nowhere && rm x", Deny),
            // Not understood, but it speaks of what is refused.
            ("rm $HOME", Deny),
            ("x=$(rm y)", Deny),
            ("echo `/bin/rm x`", Deny),
            // Not understood, and nothing of that kind: left to the sandbox.
            ("echo $HOME", Allow),
            ("farm $x", Allow),
        ],
    );
    decisions(
        &list("[[deny]]\nprogram='ls'"),
        &[("ls", Deny), ("cat a | ls", Deny), ("pwd", Allow), ("rm x", Ask)],
    );
}

#[test]
fn outside_the_rules_the_setting_decides() {
    use Decision::{Allow, Ask, Deny};
    let dir = tempfile::tempdir().unwrap();
    for (text, on_terminal, headless) in [
        ("", Ask, Deny),
        ("outside='ask'", Ask, Deny),
        ("outside='deny'", Deny, Deny),
        ("outside='confine'", Allow, Allow),
    ] {
        for line in ["rm x", "echo $x"] {
            assert_eq!(
                judge_in(&list(text), dir.path(), line, true).decision,
                on_terminal,
                "{text} {line}"
            );
            let verdict = judge_in(&list(text), dir.path(), line, false);
            assert_eq!(verdict.decision, headless, "{text} {line}");
            assert_eq!(verdict.how, How::Shell);
            assert_eq!(verdict.needs_sandbox, text.contains("confine"));
        }
    }
    let confined = judge(&list("outside='confine'"), "rm x");
    assert_eq!(confined.rule.as_deref(), Some("bash.outside"));
}

#[test]
fn what_runs_code_of_the_workdir_needs_the_sandbox() {
    for (line, needs) in [
        ("ls", false),
        ("git status", true),
        ("cargo test", true),
        ("ls && make", true),
        ("grep x a", false),
    ] {
        assert_eq!(judge(&list(""), line).needs_sandbox, needs, "{line}");
    }
}

#[test]
fn always_is_never_wider_than_what_was_shown() {
    use Decision::{Allow, Ask};
    let asked = judge(&list(""), "rm -r 'a b' && touch x | tee \"y|z\"");
    let rules = asked.rules_to_remember().unwrap();
    let stored =
        toml::to_string(&RuleSettings { allow: rules, ..RuleSettings::default() }).unwrap();
    decisions(
        &list(&stored),
        &[
            ("rm -r 'a b' && touch x | tee \"y|z\"", Allow),
            ("rm -r a\\ b", Allow),
            ("tee y\\|z", Allow),
            ("tee y", Ask),
            ("rm -r a b", Ask),
            ("rm -r 'a b' c", Ask),
            ("rm 'a b'", Ask),
            ("rm -r 'a b' -f", Ask),
            ("touch x y", Ask),
            ("touch ./x", Ask),
        ],
    );
    for line in ["rm *", "cd x && rm y", "echo $x", "rm x; cd y", "ls"] {
        assert!(judge(&list(""), line).rules_to_remember().is_none(), "{line}");
    }
}

#[test]
fn the_answer_says_what_decided() {
    let dir = tempfile::tempdir().unwrap();
    let check = |line: &str, wanted: serde_json::Value| {
        let mut answer = judge_in(&list(""), dir.path(), line, true).to_json();
        answer.as_object_mut().unwrap().remove("reason");
        assert_eq!(answer, wanted, "{line}");
    };
    check(
        "ls -l|wc",
        serde_json::json!({"verdict": "allow", "rule": "shipped `ls`, shipped `wc`",
        "commands": [{"argv": ["ls", "-l"], "program": null}, {"argv": ["wc"], "program": null}]}),
    );
    check(
        "rm x",
        serde_json::json!({"verdict": "ask", "rule": "bash.outside", "commands": [{"argv": ["rm", "x"], "program": null}]}),
    );
    check("ls $x", serde_json::json!({"verdict": "ask", "rule": "bash.outside", "commands": []}));
    for (line, wanted) in [
        ("ls $x", "`$` at byte 3"),
        ("ls \u{202e}", "`\\u{202e}` at byte 3"),
        ("ls\u{a0}", "`\\u{a0}` at byte 2"),
        ("ls \u{3164}", "`\\u{3164}` at byte 3"),
        ("rm x", "no rule speaks of `rm`"),
        ("sort -o x", "shipped `sort`: the option `-o` is not on the rule's list"),
        ("cat /etc/passwd", "`/etc/passwd` is outside the workdir"),
        ("git diff", "the rule wants `--"),
        ("cd .. && ls", "`cd ..` leaves the workdir"),
    ] {
        let reason = judge(&list(""), line).reason;
        assert!(reason.contains(wanted), "{line}: {reason}");
    }
    assert_eq!(
        [Decision::Allow, Decision::Ask, Decision::Deny].map(Decision::exit_code),
        [0, 10, 11]
    );
}

#[test]
fn programs_come_from_fixed_places_outside_the_workdir() {
    let dir = tempfile::tempdir().unwrap();
    let place = |name: &str| {
        let path = dir.path().join(name);
        std::fs::create_dir_all(&path).unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o755)).unwrap();
        path
    };
    let program = |path: &Path| {
        std::fs::write(path, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(path, PermissionsExt::from_mode(0o755)).unwrap();
    };
    let (work, bin, late, inside, open) =
        (place("work"), place("bin"), place("late"), place("work/bin"), place("open"));
    std::fs::set_permissions(&open, PermissionsExt::from_mode(0o777)).unwrap();
    symlink(&inside, dir.path().join("alias")).unwrap();
    for path in
        [inside.join("ls"), bin.join("cat"), late.join("cat"), late.join("tool"), open.join("evil")]
    {
        program(&path);
    }
    std::fs::write(bin.join("tool"), "not executable").unwrap();
    symlink(inside.join("ls"), bin.join("sly")).unwrap();
    symlink(bin.join("cat"), bin.join("kitty")).unwrap();
    let dirs = [
        PathBuf::from("."),
        inside,
        dir.path().join("alias"),
        open,
        dir.path().join("none"),
        bin.clone(),
        late.clone(),
    ];
    let search = SearchPath::new(dirs, &work).unwrap();
    assert_eq!(search.directories(), [bin.clone(), late.clone()]);
    let found = |name: &str| search.find(name).map(|p| p.path);
    assert_eq!(found("cat"), Some(bin.join("cat")));
    assert_eq!(found("kitty"), Some(bin.join("kitty")));
    assert_eq!(found("tool"), Some(late.join("tool")));
    for name in ["ls", "evil", "sly", "absent"] {
        assert_eq!(found(name), None, "{name}");
    }
    // Pinned: exchanging the file is noticed, and a program that appears later is not picked up.
    let pinned = search.find("cat").unwrap();
    assert!(pinned.is_unchanged());
    std::fs::remove_file(bin.join("cat")).unwrap();
    std::fs::write(bin.join("cat"), "#!/bin/sh\nevil\n").unwrap();
    assert!(!pinned.is_unchanged());
    program(&bin.join("absent"));
    assert_eq!(found("absent"), None);
    assert_eq!(search.find("cat"), Some(pinned));
}

#[test]
fn verdicts_do_not_depend_on_what_is_installed() {
    let dir = tempfile::tempdir().unwrap();
    let tree = RealTree::open(dir.path()).unwrap();
    let search = SearchPath::new(usual_directories(None), dir.path()).unwrap();
    let list = list("[[allow]]\nprogram='no-such-program-anywhere'");
    for (line, installed) in [("ls", true), ("no-such-program-anywhere", false)] {
        let with = list.judge(
            line.as_bytes(),
            Surroundings { tree: &tree, search: Some(&search), terminal: true },
        );
        let without =
            list.judge(line.as_bytes(), Surroundings { tree: &tree, search: None, terminal: true });
        assert_eq!(with.decision, Decision::Allow);
        assert_eq!(with.commands[0].program.is_some(), installed, "{line}");
        assert_eq!(with.decision, without.decision);
    }
}
