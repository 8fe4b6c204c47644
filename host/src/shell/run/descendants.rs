//! The processes below this one, found in /proc, and ending them.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, kill_process};

/// All processes below this one. Empty where there is no /proc.
pub(super) fn descendants() -> Vec<Pid> {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let Some(pid) = entry.file_name().to_str().and_then(|name| name.parse::<i32>().ok()) else {
            continue;
        };
        if let Some(parent) = parent_of(pid) {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![getpid().as_raw_nonzero().get()];
    while let Some(pid) = open.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.extend(Pid::from_raw(child));
            open.push(child);
        }
    }
    found
}

/// Field 4 of `/proc/PID/stat` (proc(5)), counted behind the name, which may hold anything. A
/// zombie has ended already.
fn parent_of(pid: i32) -> Option<i32> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    (state != "Z").then_some(parent)
}

/// Sends `signal` to all of them.
pub(super) fn signal_all(signal: Signal) {
    for pid in descendants() {
        // One that has ended in the meantime needs no signal.
        let _ = kill_process(pid, signal);
    }
}

/// Kills until none is left or `limit` has passed: what is killed may have started something new
/// a moment before.
pub(super) fn kill_all(limit: Duration) {
    let deadline = Instant::now() + limit;
    loop {
        let alive = descendants();
        if alive.is_empty() || Instant::now() >= deadline {
            return;
        }
        for pid in alive {
            let _ = kill_process(pid, Signal::KILL);
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}
