//! `demo`: a scripted session on a copy of the sample workspace, checked to the byte.

use std::path::{Path, PathBuf};

use crate::cargo::{self, Step};
use crate::failure::Failure;
use crate::{place, plugins, say, tree};

const SAMPLE: &str = "examples/workspace";
const SCRIPT: &str = "examples/scripts/demo.jsonl";
const PROMPT: &str = "Only administrators may see /admin, as the notes say: make the server check \
    that, and name the front desk as the contact in the settings. Then leave a greeting in Chinese \
    in hello.txt, read it back and confirm.";

/// A file that the session changes, and how. All other files must stay as they are.
struct Change {
    path: &'static str,
    old: &'static str,
    new: &'static str,
}

/// The branch keeps the indentation of its place, though the script sends it without; the settings
/// keep their Windows line endings, though the script sends plain ones.
const CHANGES: [Change; 2] = [
    Change {
        path: "src/server.rs",
        old: r#"            // TODO: anybody who is signed in gets in here, not only administrators.
            if session.user.is_some() {
                ("200 OK", shelf.readers().join("\n"))
            } else {
                ("401 Unauthorized", "sign in first\n".into())
            }
"#,
        new: r#"            match session.role {
                Role::Admin => ("200 OK", shelf.readers().join("\n")),
                Role::Reader => ("403 Forbidden", "administrators only\n".into()),
                Role::Guest => ("401 Unauthorized", "sign in first\n".into()),
            }
"#,
    },
    Change {
        path: "config/office.ini",
        old: "[admin]\r\ncontact = nobody\r\n",
        new: "[admin]\r\ncontact = front desk\r\n",
    },
];

/// The file that the session makes.
const GREETING: (&str, &str) = ("hello.txt", "你好，世界！\n今天也请记得还书。\n");

const REAL_MODELS: &str = "\
The answers came from a script. `cargo install --path host` puts `claw` on your search path; then,
in any folder of yours, with a real model:

  a service          OPENAI_API_KEY=…   claw run --model openai/gpt-5-mini \"…\"
                     (deepseek, openrouter, groq, mistral and gemini work the same way)
  on this machine    ollama pull qwen3; claw run --model ollama/qwen3 \"…\"
  any other server   [providers.NAME] in the configuration, then --model NAME/MODEL;
                     examples/config.toml explains each key";

pub(crate) fn run() -> Result<(), Failure> {
    plugins::run(&[])?;
    cargo::cargo("build").args(["-p", "clawhold"]).run()?;

    let stage = place::target().join("demo");
    tree::remove(&stage)?;
    // Two copies: one to work on, one to compare with.
    for copy in ["before", "workspace"] {
        tree::copy(&place::root().join(SAMPLE), &stage.join(copy))?;
    }

    say::heading("The run, as a user sees it");
    session(&stage)?;
    say::heading("What it changed");
    difference(&stage)?;
    check(&stage.join("before"), &stage.join("workspace"))?;

    say::heading("All files are as they must be");
    let log = log(&stage)?;
    say::text(&format!("Session log: {}\n", place::shown(&log)));
    say::text(REAL_MODELS);
    Ok(())
}

fn session(stage: &Path) -> Result<(), Failure> {
    let claw = place::claw().map_err(|error| {
        Failure::new(
            format!("cannot tell where this program lies: {error}"),
            "run it through cargo",
        )
    })?;
    Step::new(place::shown(&claw))
        .args(["run", "--model", &format!("script:{SCRIPT}")])
        .args(["-C", &place::shown(&stage.join("workspace")), PROMPT])
        // A home of its own: the user's settings, plugins and sessions play no part.
        .env("CLAWHOLD_HOME", &place::shown(&stage.join("home")))
        .without_env("CLAWHOLD_MODEL")
        .without_env("CLAWHOLD_SESSIONS")
        .advice("`claw doctor` may say more; the session log is below target/demo/home/state")
        .run()
}

/// Shows the difference by git, or by diff where git is not installed. Both answer 1 for "they
/// differ".
fn difference(stage: &Path) -> Result<(), Failure> {
    let colour = if say::stdout_in_colour() { "--color=always" } else { "--color=never" };
    let by_git = ["--no-pager", "diff", "--no-index", colour, "before", "workspace"];
    for (program, arguments) in [("git", &by_git[..]), ("diff", &["-ruN", "before", "workspace"])] {
        let shown = Step::new(program).args(arguments.iter().copied()).folder(stage);
        match shown.exit_code() {
            Ok(Some(0)) => {
                return Err(Failure::new("the session changed nothing", "see what the run said"));
            }
            Ok(Some(1)) => return Ok(()),
            _ => {}
        }
    }
    say::note("neither `git` nor `diff` is here to show it");
    Ok(())
}

/// Fails unless `after` is `before` with [`CHANGES`] and [`GREETING`], byte for byte.
fn check(before: &Path, after: &Path) -> Result<(), Failure> {
    let mut expected = vec![(PathBuf::from(GREETING.0), GREETING.1.as_bytes().to_vec())];
    for file in tree::files(before)? {
        let inner = file.strip_prefix(before).unwrap_or(&file).to_path_buf();
        let mut content = tree::read(&file)?;
        if let Some(change) = CHANGES.iter().find(|change| inner == Path::new(change.path)) {
            content = changed(&content, change)?;
        }
        expected.push((inner, content));
    }
    for file in tree::files(after)? {
        let inner = file.strip_prefix(after).unwrap_or(&file);
        if !expected.iter().any(|(path, _)| path == inner) {
            return Err(wrong(inner, "should not be there"));
        }
    }
    for (path, content) in expected {
        let file = after.join(&path);
        if !file.is_file() {
            return Err(wrong(&path, "is missing"));
        }
        if tree::read(&file)? != content {
            return Err(wrong(&path, "does not hold what it should"));
        }
    }
    Ok(())
}

fn changed(content: &[u8], change: &Change) -> Result<Vec<u8>, Failure> {
    let text = String::from_utf8_lossy(content);
    if text.matches(change.old).count() == 1 {
        return Ok(text.replacen(change.old, change.new, 1).into_bytes());
    }
    Err(Failure::new(
        format!("`{SAMPLE}/{}` does not hold the text to change, or not once", change.path),
        "bring the sample, the script and xtask/src/demo.rs in line (git may have changed line endings)",
    ))
}

fn wrong(path: &Path, how: &str) -> Failure {
    Failure::new(
        format!("after the demo, `target/demo/workspace/{}` {how}", path.display()),
        "this is a bug in a tool or in the sample: compare with `target/demo/before`",
    )
}

/// The log that the session left: there must be exactly one.
fn log(stage: &Path) -> Result<PathBuf, Failure> {
    let sessions = stage.join("home/state/sessions");
    // Beside a log lies a folder of its name, with what the session kept for undo.
    let mut logs = tree::entries(&sessions)?;
    logs.retain(|file| file.extension().is_some_and(|extension| extension == "jsonl"));
    match <[PathBuf; 1]>::try_from(logs) {
        Ok([log]) => Ok(log),
        Err(logs) => Err(Failure::new(
            format!(
                "the session should have left one log in `{}`, not {}",
                place::shown(&sessions),
                logs.len()
            ),
            "see what the run said about its session",
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The sample, the script and the constants above say the same thing three times.
    #[test]
    fn sample_and_script_fit_what_is_checked() -> Result<(), Failure> {
        let script = tree::read(&place::root().join(SCRIPT))?;
        let script = String::from_utf8_lossy(&script);
        for change in &CHANGES {
            let sample = tree::read(&place::root().join(SAMPLE).join(change.path))?;
            changed(&sample, change)?;
            assert!(script.contains(change.path), "{}", change.path);
        }
        assert!(script.contains(&GREETING.1.replace('\n', r"\n")));
        Ok(())
    }

    #[test]
    fn a_wrong_file_is_found() -> Result<(), Failure> {
        let stage = std::env::temp_dir().join(format!("clawhold-demo-{}", std::process::id()));
        let (before, after) = (stage.join("before"), stage.join("after"));
        for folder in [&before, &after] {
            tree::copy(&place::root().join(SAMPLE), folder)?;
        }
        let complaint = || check(&before, &after).map_err(|failure| failure.to_string());
        assert!(complaint().is_err_and(|text| text.contains("hello.txt` is missing")));
        tree::replace(&after.join(GREETING.0), GREETING.1.as_bytes())?;
        assert!(complaint().is_err_and(|text| text.contains("does not hold")));
        for change in &CHANGES {
            let file = after.join(change.path);
            tree::replace(&file, &changed(&tree::read(&file)?, change)?)?;
        }
        assert_eq!(complaint(), Ok(()));
        tree::replace(&after.join("notes/.left-over"), b"x")?;
        assert!(complaint().is_err_and(|text| text.contains("should not be there")));
        tree::remove(&stage)
    }
}
