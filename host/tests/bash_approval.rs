//! Who is asked, what they are shown, and what becomes of the answer.
#![allow(clippy::unwrap_used)]

#[path = "support/shell.rs"]
mod shell;

use std::sync::{Arc, Mutex};

use clawhold::model::Outcome;
use clawhold::shell::{Approval, RuleText, Shell, ShellError, Tier, TierReport};
use clawhold::tool::{Answer, Approver, Question};
use serde_json::json;
use shell::{Lab, confining, full, landlock};

/// Answers by a list, and keeps what was asked.
#[derive(Default)]
struct Scripted {
    answers: Mutex<Vec<Answer>>,
    asked: Mutex<Vec<Question>>,
}

#[async_trait::async_trait]
impl Approver for Scripted {
    async fn ask(&self, question: &Question) -> Answer {
        self.asked.lock().unwrap().push(question.clone());
        self.answers.lock().unwrap().remove(0)
    }
}

/// A lab whose user answers so; rules to remember go to the list.
fn asked(
    tier: TierReport,
    answers: Vec<Answer>,
) -> (Lab, Arc<Scripted>, Arc<Mutex<Vec<RuleText>>>) {
    let user = Arc::new(Scripted { answers: Mutex::new(answers), ..Scripted::default() });
    let stored: Arc<Mutex<Vec<RuleText>>> = Arc::default();
    let (approver, store) = (Arc::clone(&user), Arc::clone(&stored));
    let lab = Lab::with(tier, |settings| {
        settings.rules.outside = None;
        settings.approval = Approval::Ask;
        settings.approver = approver;
        settings.remember = Some(Arc::new(move |rules| {
            store.lock().unwrap().extend_from_slice(rules);
            Ok(())
        }));
    });
    (lab, user, stored)
}

#[tokio::test(flavor = "multi_thread")]
async fn the_whole_line_is_shown_and_the_answer_holds() {
    let Some(tier) = full() else { return };
    let answers = vec![Answer::Once, Answer::No, Answer::NoBecause("use make".into())];
    let (lab, user, _) = asked(tier, answers);
    let line = "echo $((1 + 1)) > made; cat made";
    let call = async || lab.call("bash", json!({"command": line, "cwd": "."})).await;
    assert_eq!(call().await.observation(), "2\nexit code: 0");
    let refused = call().await;
    assert_eq!(refused.outcome, Outcome::Denied);
    assert_eq!(refused.receipt.denials[0].what, "command");
    let refused = call().await;
    assert!(refused.observation().contains("use make"), "{}", refused.observation());
    {
        let asked = user.asked.lock().unwrap();
        assert!(asked.iter().all(|question| question.what == line && question.remember.is_none()));
    }
    // What the rules allow is not asked about.
    assert_eq!(lab.bash("cat made").await, "2\nexit code: 0");
    assert_eq!(user.asked.lock().unwrap().len(), 3);
}

#[tokio::test(flavor = "multi_thread")]
async fn always_stores_exactly_what_was_shown() {
    let Some(tier) = full() else { return };
    let (lab, user, stored) = asked(tier, vec![Answer::Always, Answer::No]);
    assert!(lab.bash("mkdir new").await.ends_with("exit code: 0"));
    let shown = user.asked.lock().unwrap()[0].remember.clone().unwrap();
    assert_eq!(shown, "[\"mkdir\", \"new\"]");
    {
        let stored = stored.lock().unwrap();
        assert_eq!(stored.len(), 1);
        assert_eq!(
            (stored[0].program.as_str(), &stored[0].args[..]),
            ("mkdir", &["new".to_owned()][..])
        );
        assert!(stored[0].needs_sandbox);
    }
    // The same again is not asked about, another argument is.
    assert!(lab.bash("mkdir new").await.contains("exists"));
    let other = lab.call("bash", json!({"command": "mkdir other"})).await;
    assert_eq!(other.outcome, Outcome::Denied);
    assert_eq!(user.asked.lock().unwrap().len(), 2);
}

#[tokio::test(flavor = "multi_thread")]
async fn what_wants_the_full_sandbox_is_asked_about_in_a_weaker_one() {
    let Some(tier) = landlock() else { return };
    let (lab, user, _) = asked(tier.clone(), vec![Answer::No]);
    let reply = lab.call("bash", json!({"command": "git status"})).await;
    assert_eq!(reply.outcome, Outcome::Denied);
    assert!(user.asked.lock().unwrap()[0].reason.contains("full sandbox"));
    // Neither mode without a question lets it pass.
    for approval in [Approval::Safe, Approval::Deny] {
        let lab = Lab::with(tier.clone(), |settings| settings.approval = approval);
        for command in ["git status", "echo $((1))"] {
            let reply = lab.call("bash", json!({"command": command})).await;
            assert_eq!(reply.outcome, Outcome::Denied, "{approval:?} {command}");
        }
        assert_eq!(lab.bash("ls").await, "(no output)\nexit code: 0");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_any_sandbox_there_is_no_shell_unless_the_user_says_so() {
    let none = TierReport { tier: Tier::None, bubblewrap: None, why_not: Some("a reason".into()) };
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("work")).unwrap();
    let mut settings = confining(none.clone(), &dir.path().canonicalize().unwrap());
    match Shell::new(settings.clone()) {
        Err(error @ ShellError::NoSandbox(_)) => {
            let text = error.to_string();
            assert!(text.contains("a reason") && text.contains("--bash-without-sandbox"), "{text}");
        }
        other => panic!("{other:?}"),
    }
    settings.without_sandbox = true;
    assert!(Shell::new(settings).is_ok());
    let lab = Lab::with(none, |settings| settings.without_sandbox = true).file("a.txt", "x\n");
    assert_eq!(lab.bash("cat a.txt").await, "x\nexit code: 0");
    let reply = lab.call("bash", json!({"command": "echo $((1))"})).await;
    assert_eq!(reply.outcome, Outcome::Denied, "only what the rules allow");
}
