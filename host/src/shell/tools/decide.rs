//! Whether a line runs: the rules, the sandbox that they ask for, and whoever is asked.

use std::path::PathBuf;

use crate::model::{Denial, Failure, FailureCode, Outcome, Receipt, ToolReply};
use crate::shell::allowlist::Surroundings;
use crate::shell::run::{Step, Work};
use crate::shell::session::{Approval, Shell};
use crate::shell::verdict::{Decision, How, Verdict};
use crate::text::{clip_end, escape_line};
use crate::tool::{Answer, Question};

use super::failed;

/// What is to run, or the reply that says why nothing does.
pub(super) async fn decide(
    shell: &Shell,
    command: &str,
    cwd: &str,
) -> Result<Work, Box<ToolReply>> {
    // Judged as a line that changes there first, so that the rules see where it runs, and so does
    // whoever is asked.
    let line = match cwd {
        "" | "." => command.to_owned(),
        directory => format!("cd '{}' && {command}", directory.replace('\'', "'\\''")),
    };
    let around = Surroundings {
        tree: &shell.tree,
        search: Some(&shell.search),
        terminal: shell.settings.approval != Approval::Deny,
    };
    let verdict = shell.allowlist().judge(line.as_bytes(), around);
    let in_shell =
        || Work::Shell { shell: "/bin/bash".into(), text: line.clone(), cwd: PathBuf::new() };
    let full = shell.tier().is_full();
    match verdict.decision {
        Decision::Deny => Err(refused(&line, &verdict.reason, verdict.rule.as_deref())),
        Decision::Allow if verdict.needs_sandbox && !full => {
            let why = "it runs code of the workdir, or stands outside the rules, and the full sandbox is not there to hold it";
            ask(shell, &line, why, None).await.map(|()| in_shell())
        }
        Decision::Allow if verdict.how == How::Shell => Ok(in_shell()),
        Decision::Allow => direct(verdict),
        Decision::Ask => {
            ask(shell, &line, &verdict.reason, Some(&verdict)).await.map(|()| in_shell())
        }
    }
}

/// Exactly the commands that were judged.
fn direct(verdict: Verdict) -> Result<Work, Box<ToolReply>> {
    let mut steps = Vec::with_capacity(verdict.commands.len());
    for command in verdict.commands {
        let name = escape_line(&command.argv[0]);
        let Some(program) = command.program else {
            let message = format!("`{name}` is not installed where programs are looked for");
            return Err(Box::new(failed(FailureCode::NotFound, message)));
        };
        if !program.is_unchanged() {
            let message = format!(
                "the program `{}` was exchanged since this session first looked at it, so it is not started",
                program.path.display()
            );
            return Err(Box::new(failed(FailureCode::Conflict, message)));
        }
        steps.push(Step {
            joint: command.joint,
            program: program.path,
            argv: command.argv,
            redirects: command.redirects,
            cwd: command.cwd,
        });
    }
    Ok(Work::Direct(steps))
}

/// Asks, or answers as the mode of approval says.
async fn ask(
    shell: &Shell,
    line: &str,
    why: &str,
    verdict: Option<&Verdict>,
) -> Result<(), Box<ToolReply>> {
    let refuse = |why: String| Err(refused(line, &why, verdict.and_then(|v| v.rule.as_deref())));
    match shell.settings.approval {
        Approval::Deny => return refuse(format!("{why} (nobody can be asked)")),
        Approval::Safe if shell.tier().is_full() => return Ok(()),
        Approval::Safe => return refuse(format!("{why} (only the full sandbox makes it safe)")),
        Approval::Ask => {}
    }
    let rules = verdict.and_then(Verdict::rules_to_remember);
    let rules = rules.filter(|_| shell.settings.remember.is_some());
    let written = rules.as_ref().map(|rules| {
        let lines = rules.iter().map(|rule| {
            let words: Vec<&str> =
                std::iter::once(&rule.program).chain(&rule.args).map(String::as_str).collect();
            format!("{words:?}")
        });
        lines.collect::<Vec<_>>().join(", ")
    });
    let question = Question {
        tool: "bash".into(),
        what: line.to_owned(),
        reason: why.to_owned(),
        remember: written,
    };
    match shell.settings.approver.ask(&question).await {
        Answer::Once => Ok(()),
        Answer::Always => match rules.map(|rules| shell.remember(&rules)) {
            Some(Err(error)) => refuse(format!("the rule could not be stored: {error}")),
            Some(Ok(())) | None => Ok(()),
        },
        Answer::No => refuse(format!("{why}; it was not approved")),
        Answer::NoBecause(reason) => {
            refuse(format!("the user said no: {}", clip_end(&escape_line(&reason), 500)))
        }
    }
}

fn refused(line: &str, reason: &str, rule: Option<&str>) -> Box<ToolReply> {
    let shown = clip_end(&escape_line(line), 200);
    let failure = Failure::new(FailureCode::Denied, format!("`{shown}` was not run: {reason}"))
        .hint("use plain commands without shell syntax, other tools, or tell the user what you would need; the user allows commands by `[[bash.allow]]` in config.toml");
    let denial = Denial {
        what: "command".into(),
        subject: shown,
        reason: match rule {
            Some(rule) => format!("{rule}: {reason}"),
            None => reason.to_owned(),
        },
    };
    Box::new(ToolReply {
        receipt: Receipt { denials: vec![denial], ..Receipt::default() },
        ..ToolReply::failed(Outcome::Denied, failure)
    })
}
