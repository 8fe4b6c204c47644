//! Starting the commands of a decoded line: pipes, redirections, and which pipeline comes next.

use std::io::{self, PipeReader, Write as _};
use std::os::fd::AsFd as _;
use std::os::unix::process::CommandExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::job::{Job, Step};
use crate::shell::confine::Confined;
use crate::shell::lex::{Joint, Redirect};

/// A pipeline that was started.
#[derive(Debug, Default)]
pub(super) struct Started {
    /// The processes, by id.
    pub(super) pids: Vec<i32>,
    /// The one whose status is the pipeline's, or the status where it could not be started.
    pub(super) last: Option<i32>,
    pub(super) failed: Option<i32>,
}

/// The pipelines of a line, in order.
pub(super) fn pipelines(steps: &[Step]) -> impl Iterator<Item = &[Step]> {
    steps.chunk_by(|_, next| next.joint == Joint::Pipe)
}

/// Whether a pipeline runs after one that ended with `status`.
pub(super) fn runs_after(joint: Joint, status: i32) -> bool {
    match joint {
        Joint::First | Joint::Next | Joint::Pipe => true,
        Joint::And => status == 0,
        Joint::Or => status != 0,
    }
}

/// Starts one pipeline, all its commands in a process group of their own.
pub(super) fn start(pipeline: &[Step], job: &Job, confined: &Confined) -> Started {
    let mut started = Started::default();
    let mut input: Option<PipeReader> = None;
    let mut group = 0;
    for (index, step) in pipeline.iter().enumerate() {
        let last = index + 1 == pipeline.len();
        let prepared = prepare(step, job, input.take(), last);
        let result = prepared.and_then(|(mut command, reader)| {
            input = reader;
            command.process_group(group);
            confined.spawn(&mut command)
        });
        match result {
            Ok(pid) => {
                group = if group == 0 { pid } else { group };
                started.pids.push(pid);
                if last {
                    started.last = Some(pid);
                }
            }
            Err(error) => {
                let status = tell(&step.argv[0], &step.program, &error);
                if last {
                    started.failed = Some(status);
                }
            }
        }
    }
    started
}

/// Starts a shell on `text`.
pub(super) fn start_shell(
    shell: &Path,
    text: &str,
    cwd: &Path,
    job: &Job,
    confined: &Confined,
) -> Started {
    let mut command = Command::new(shell);
    command.args(["--noprofile", "--norc", "-c", text]).arg0("bash");
    let result = surround(&mut command, &job.root.join(cwd), job).and_then(|()| {
        command.stdin(Stdio::null()).process_group(0);
        command.stdout(ours()?).stderr(ours()?);
        confined.spawn(&mut command)
    });
    match result {
        Ok(pid) => Started { pids: vec![pid], last: Some(pid), failed: None },
        Err(error) => Started { failed: Some(tell("bash", shell, &error)), ..Started::default() },
    }
}

fn prepare(
    step: &Step,
    job: &Job,
    input: Option<PipeReader>,
    last: bool,
) -> io::Result<(Command, Option<PipeReader>)> {
    let mut command = Command::new(&step.program);
    command.arg0(&step.argv[0]).args(&step.argv[1..]);
    surround(&mut command, &job.root.join(&step.cwd), job)?;
    command.stdin(input.map_or_else(Stdio::null, Stdio::from));
    let (mut out, reader) = if last {
        (Target::Handle(ours()?), None)
    } else {
        let (reader, writer) = io::pipe()?;
        (Target::Handle(writer.into()), Some(reader))
    };
    let mut err = Target::Handle(ours()?);
    // In the order in which they stand: `2>&1 >/dev/null` leaves errors where output went before.
    for redirect in &step.redirects {
        match redirect {
            Redirect::OutToNull => out = Target::Null,
            Redirect::ErrToNull => err = Target::Null,
            Redirect::ErrToOut => err = out.again()?,
        }
    }
    command.stdout(out).stderr(err);
    Ok((command, reader))
}

fn surround(command: &mut Command, cwd: &Path, job: &Job) -> io::Result<()> {
    command.env_clear().envs(job.environment.iter().map(|(name, value)| (name, value)));
    // Without this look, a missing directory would read as a missing program.
    if !cwd.is_dir() {
        return Err(io::Error::other(format!("the directory `{}` is not there", cwd.display())));
    }
    command.current_dir(cwd);
    Ok(())
}

/// Where a stream goes.
enum Target {
    Null,
    Handle(std::os::fd::OwnedFd),
}

impl Target {
    fn again(&self) -> io::Result<Self> {
        Ok(match self {
            Self::Null => Self::Null,
            Self::Handle(handle) => Self::Handle(handle.try_clone()?),
        })
    }
}

impl From<Target> for Stdio {
    fn from(target: Target) -> Self {
        match target {
            Target::Null => Self::null(),
            Target::Handle(handle) => handle.into(),
        }
    }
}

/// The runner's own standard output.
fn ours() -> io::Result<std::os::fd::OwnedFd> {
    io::stdout().as_fd().try_clone_to_owned()
}

/// Says in the commands' output why one did not start, and gives the status a shell would.
fn tell(name: &str, program: &Path, error: &io::Error) -> i32 {
    let missing = error.kind() == io::ErrorKind::NotFound;
    let why = if missing {
        format!("`{}` is not there in the sandbox", program.display())
    } else {
        error.to_string()
    };
    // Whoever reads it may have left; then nobody wants to know.
    let _ = writeln!(io::stdout(), "{name}: cannot be started: {why}");
    if missing { 127 } else { 126 }
}
