//! The runner's whole life: one job, its deadline, and the end of everything that it started.

use std::io::{self, BufRead, BufReader, Read as _, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Resource, Rlimit, Signal, WaitOptions, kill_process_group, set_child_subreaper, setrlimit,
    setsid, wait,
};

use super::descendants::{descendants, kill_all, signal_all};
use super::job::{Ended, Job, Stop, Work};
use super::launch::GRACE;
use super::lists::{Started, pipelines, runs_after, start, start_shell};
use crate::shell::confine::Confined;

/// The hidden word by which the binary knows that it is to run commands.
pub const RUNNER_ARGUMENT: &str = "__run";

/// Longer jobs are refused; a command line has at most 8 KiB.
const LONGEST_JOB: u64 = 4 << 20;

/// What the two threads of a runner share.
struct Shared {
    /// The groups of the pipelines that run.
    groups: Mutex<Vec<i32>>,
    /// Why everything ends, once it does.
    stop: Mutex<Option<Stop>>,
    reported: AtomicBool,
}

/// Runs the job on standard input. What goes wrong is reported to the host.
pub fn runner_main() {
    let shared = Arc::new(Shared {
        groups: Mutex::default(),
        stop: Mutex::default(),
        reported: AtomicBool::new(false),
    });
    let ended =
        live(&shared).unwrap_or_else(|fault| Ended { fault: Some(fault), ..Ended::default() });
    shared.report(&ended);
    // Without children there are no descendants, since orphans come to us; looking through /proc
    // would cost more than all the rest.
    if has_children() {
        kill_all(GRACE);
    }
}

/// Whether a child is left. One that has ended is reaped by the question.
fn has_children() -> bool {
    !matches!(wait(WaitOptions::NOHANG), Err(rustix::io::Errno::CHILD))
}

fn live(shared: &Arc<Shared>) -> Result<Ended, String> {
    // No terminal: what asks for one gets an error and cannot hang. Fails only for a process that
    // leads a session already, which has none either.
    let _ = setsid();
    let mut input = BufReader::new(io::stdin());
    let mut line = String::new();
    input.by_ref().take(LONGEST_JOB).read_line(&mut line).map_err(|e| e.to_string())?;
    let job: Job = serde_json::from_str(&line).map_err(|e| format!("the job is not one: {e}"))?;
    // What loses its parent comes to us, so nothing that was started gets out of sight.
    set_child_subreaper(Some(rustix::process::getpid())).map_err(|e| e.to_string())?;
    // No dumps of memory in the workdir.
    let _ = setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let confined = Confined::new(&job.inner)?;
    watch(input, job.timeout_ms.map(Duration::from_millis), Arc::clone(shared));

    let mut ended = Ended::default();
    let mut status = 0;
    let mut run = |started: Started, status: &mut i32| {
        shared.group(started.pids.first().copied());
        let (code, signal) = wait_for(&started);
        shared.group(None);
        *status = code;
        ended.signal = signal;
    };
    match &job.work {
        Work::Shell { shell, text, cwd } => {
            run(start_shell(shell, text, cwd, &job, &confined), &mut status);
        }
        Work::Direct(steps) => {
            for pipeline in pipelines(steps) {
                if shared.stop().is_some() {
                    break;
                }
                if runs_after(pipeline[0].joint, status) {
                    run(start(pipeline, &job, &confined), &mut status);
                }
            }
        }
    }
    ended.stop = shared.stop();
    ended.code = Some(status);
    ended.left_behind = has_children();
    Ok(ended)
}

/// Waits until every process of the pipeline has ended, and reaps whatever else ends meanwhile.
fn wait_for(started: &Started) -> (i32, Option<i32>) {
    let mut result = (started.failed.unwrap_or(0), None);
    let mut open = started.pids.clone();
    while !open.is_empty() {
        match wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) => {
                let pid = pid.as_raw_nonzero().get();
                open.retain(|p| *p != pid);
                if started.last == Some(pid) {
                    let signal = status.terminating_signal();
                    let code =
                        signal.map_or_else(|| status.exit_status().unwrap_or(0), |s| 128 + s);
                    result = (code, signal);
                }
            }
            Ok(None) | Err(rustix::io::Errno::INTR) => {}
            Err(_) => break,
        }
    }
    result
}

/// Ends everything when the host closes its end or the time is up.
fn watch(input: BufReader<io::Stdin>, timeout: Option<Duration>, shared: Arc<Shared>) {
    let (closed, gone) = mpsc::channel::<()>();
    std::thread::spawn(move || {
        // Nothing more is ever sent: this returns when the other end closes.
        let _ = io::copy(&mut { input }, &mut io::sink());
        let _ = closed.send(());
    });
    std::thread::spawn(move || {
        let stop = match timeout.map(|limit| gone.recv_timeout(limit)) {
            Some(Err(RecvTimeoutError::Timeout)) => Stop::TimedOut,
            Some(_) => Stop::Asked,
            None => {
                let _ = gone.recv();
                Stop::Asked
            }
        };
        *shared.stop.lock().unwrap_or_else(PoisonError::into_inner) = Some(stop);
        shared.signal(Signal::TERM);
        let deadline = Instant::now() + GRACE;
        // Most end at once, and then nobody has to wait. The main thread reports and leaves.
        while Instant::now() < deadline && !descendants().is_empty() {
            std::thread::sleep(Duration::from_millis(10));
        }
        shared.signal(Signal::KILL);
        kill_all(GRACE);
        // What even this does not end hangs in the kernel. The sandbox ends with this process.
        std::thread::sleep(Duration::from_millis(200));
        shared.report(&Ended { stop: Some(stop), left_behind: true, ..Ended::default() });
        std::process::exit(0);
    });
}

impl Shared {
    fn group(&self, pid: Option<i32>) {
        let mut groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner);
        groups.clear();
        groups.extend(pid);
    }

    fn stop(&self) -> Option<Stop> {
        *self.stop.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// By group for where there is no /proc, and by descent for what left its group.
    fn signal(&self, signal: Signal) {
        let groups = self.groups.lock().unwrap_or_else(PoisonError::into_inner).clone();
        for group in groups.into_iter().filter_map(Pid::from_raw) {
            let _ = kill_process_group(group, signal);
        }
        signal_all(signal);
    }

    /// Tells the host how it ended, once.
    fn report(&self, ended: &Ended) {
        if self.reported.swap(true, Ordering::SeqCst) {
            return;
        }
        if let Ok(line) = serde_json::to_string(ended) {
            // Where nobody listens any more, nobody misses it.
            let _ = writeln!(io::stderr(), "{line}");
        }
    }
}
