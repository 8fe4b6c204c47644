//! The host's end of a runner: starting it, reading what it prints and reports, ending it.

use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::Duration;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use tokio::sync::watch;

use super::collect::Collector;
use super::job::{Ended, Job};

/// Between the request to end and the end.
pub(in crate::shell) const GRACE: Duration = Duration::from_secs(2);

/// A runner under way. Dropping it ends everything that it started.
#[derive(Debug)]
pub(in crate::shell) struct Running {
    pid: u32,
    /// The runner lives as long as this is open.
    stdin: Mutex<Option<ChildStdin>>,
    handle: Option<OwnedFd>,
    /// Whether the process that we started holds all the others in a namespace, so that killing
    /// it kills them.
    holds_all: bool,
    state: watch::Receiver<State>,
}

/// How far it has come.
#[derive(Debug, Clone, Default)]
struct State {
    /// The report, or why there will be none.
    ended: Option<Ended>,
    /// All output has been read.
    drained: bool,
    /// The process is gone.
    gone: bool,
}

/// Starts `command` as a runner and hands it `job`.
pub(in crate::shell) fn launch(
    mut command: Command,
    job: &Job,
    output: Arc<Collector>,
    holds_all: bool,
) -> io::Result<Running> {
    use std::os::unix::process::CommandExt as _;
    // Out of the terminal's foreground group: Ctrl-C is for us, and we say what it means.
    command.process_group(0);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut line = serde_json::to_vec(job).map_err(io::Error::other)?;
    line.push(b'\n');
    let mut child = spawn(command)?;
    let handle = i32::try_from(child.id())
        .ok()
        .and_then(Pid::from_raw)
        .and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    let (sender, state) = watch::channel(State::default());
    let sender = Arc::new(sender);
    let (stdin, stdout, stderr) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
    let running = Running { pid: child.id(), stdin: Mutex::default(), handle, holds_all, state };

    let drained = Arc::clone(&sender);
    std::thread::spawn(move || {
        if let Some(mut stdout) = stdout {
            let mut buffer = vec![0; 64 * 1024];
            while let Ok(count @ 1..) = stdout.read(&mut buffer) {
                output.feed(&buffer[..count]);
            }
        }
        drained.send_modify(|state| state.drained = true);
    });
    std::thread::spawn(move || {
        let mut said = Vec::new();
        if let Some(stderr) = stderr {
            for line in BufReader::new(stderr.take(1 << 20)).split(b'\n').map_while(Result::ok) {
                match serde_json::from_slice::<Ended>(&line) {
                    Ok(ended) => sender.send_modify(|state| {
                        state.ended.get_or_insert(ended);
                    }),
                    Err(_) => said.push(String::from_utf8_lossy(&line).into_owned()),
                }
            }
        }
        let status = child.wait();
        sender.send_modify(|state| {
            state.gone = true;
            state.ended.get_or_insert_with(|| without_report(&said, status.ok()));
        });
    });
    if let Some(mut stdin) = stdin {
        // A runner that is gone already has said why on its standard error.
        let _ = stdin.write_all(&line);
        *running.stdin.lock().unwrap_or_else(PoisonError::into_inner) = Some(stdin);
    }
    Ok(running)
}

/// A runner that ended without a report was killed, or never came up.
fn without_report(said: &[String], status: Option<std::process::ExitStatus>) -> Ended {
    let said = said.join("; ");
    let fault = match status {
        _ if !said.is_empty() => said,
        Some(status) => format!("the sandbox ended without a report ({status})"),
        None => "the sandbox ended without a report".into(),
    };
    Ended { fault: Some(fault), ..Ended::default() }
}

impl Running {
    /// The process that we started; in the full sandbox it is the one around everything.
    pub(in crate::shell) fn pid(&self) -> u32 {
        self.pid
    }

    /// The report, as soon as there is one.
    pub(in crate::shell) async fn ended(&self) -> Ended {
        self.wait_for(|state| state.ended.is_some()).await.ended.unwrap_or_default()
    }

    /// The report, if there is one by now.
    pub(in crate::shell) fn ended_by_now(&self) -> Option<Ended> {
        self.state.borrow().ended.clone()
    }

    /// Until all output is read, or `limit` has passed.
    pub(in crate::shell) async fn drained(&self, limit: Duration) {
        let all = self.wait_for(|state| state.drained);
        let _ = tokio::time::timeout(limit, all).await;
    }

    /// Until the process is gone, or `limit` has passed; whether it is gone.
    pub(in crate::shell) async fn gone(&self, limit: Duration) -> bool {
        tokio::time::timeout(limit, self.wait_for(|state| state.gone)).await.is_ok()
    }

    /// Whether the process is gone by now.
    pub(in crate::shell) fn is_gone(&self) -> bool {
        self.state.borrow().gone
    }

    /// Asks the runner to end everything: at once, after [`GRACE`] by force.
    pub(in crate::shell) fn ask_to_end(&self) {
        self.stdin.lock().unwrap_or_else(PoisonError::into_inner).take();
    }

    /// Ends everything now, where that can be done from outside; else as quickly as the runner
    /// does it.
    pub(in crate::shell) fn kill(&self) {
        self.ask_to_end();
        if self.holds_all {
            self.kill_process();
        }
    }

    /// Kills the process that we started, whatever becomes of others.
    pub(in crate::shell) fn kill_process(&self) {
        if let Some(handle) = &self.handle {
            // Fails only if it is gone already.
            let _ = pidfd_send_signal(handle, Signal::KILL);
        }
    }

    async fn wait_for(&self, fits: impl FnMut(&State) -> bool) -> State {
        let mut state = self.state.clone();
        // The sender lives until the last state has been sent.
        match state.wait_for(fits).await {
            Ok(state) => state.clone(),
            Err(_) => self.state.borrow().clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.kill();
    }
}

type Start = (Command, mpsc::Sender<io::Result<Child>>);

/// Starts a process from a thread that lives as long as this program. Bubblewrap is told by the
/// kernel when its parent dies, and means by that the thread which started it.
fn spawn(command: Command) -> io::Result<Child> {
    static STARTER: OnceLock<mpsc::Sender<Start>> = OnceLock::new();
    let starter = STARTER.get_or_init(|| {
        let (sender, jobs) = mpsc::channel::<Start>();
        std::thread::spawn(move || {
            for (mut command, answer) in jobs {
                let _ = answer.send(command.spawn());
            }
        });
        sender
    });
    let (answer, child) = mpsc::channel();
    let lost = || io::Error::other("the thread that starts processes is gone");
    starter.send((command, answer)).map_err(|_| lost())?;
    child.recv().map_err(|_| lost())?
}
