//! The threads on which guests run. They are started when needed, kept for the next call, and
//! never waited for: a thread that is stuck in the kernel must not hold up the end of the host.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

/// An idle thread goes after this time.
const LINGER: Duration = Duration::from_secs(20);

type Job = Box<dyn FnOnce() + Send>;

/// A pool of at most `limit` threads.
#[derive(Debug)]
pub(super) struct Workers {
    shared: Arc<Shared>,
    limit: usize,
}

#[derive(Default)]
struct Shared {
    queue: Mutex<Queue>,
    changed: Condvar,
}

#[derive(Default)]
struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
    closed: bool,
}

impl std::fmt::Debug for Shared {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shared").finish_non_exhaustive()
    }
}

impl Workers {
    pub(super) fn new(limit: usize) -> Self {
        Self { shared: Arc::default(), limit }
    }

    /// Runs `job` on a thread of the pool, at once or when one is free. An error says that the
    /// system gives no thread and none is there.
    pub(super) fn run(&self, job: impl FnOnce() + Send + 'static) -> std::io::Result<()> {
        let mut queue = self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner);
        queue.jobs.push_back(Box::new(job));
        if queue.idle >= queue.jobs.len() || queue.threads >= self.limit {
            self.shared.changed.notify_one();
            return Ok(());
        }
        let shared = Arc::clone(&self.shared);
        let spawned = std::thread::Builder::new().name("tool".into()).spawn(move || shared.work());
        match spawned {
            Ok(_) => queue.threads += 1,
            Err(error) if queue.threads == 0 => {
                queue.jobs.pop_back();
                return Err(error);
            }
            Err(_) => {}
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn work(&self) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                // The job reports its own end; a panic in it must not cost the pool a thread.
                let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(job));
                queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                continue;
            }
            if queue.closed {
                break;
            }
            queue.idle += 1;
            let waited = self.changed.wait_timeout(queue, LINGER);
            let (guard, timeout) = waited.unwrap_or_else(PoisonError::into_inner);
            queue = guard;
            queue.idle -= 1;
            if timeout.timed_out() && queue.jobs.is_empty() {
                break;
            }
        }
        queue.threads -= 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_job_runs_and_a_panic_costs_nothing() {
        let workers = Workers::new(2);
        let (sender, receiver) = std::sync::mpsc::channel();
        for n in 0..20 {
            let sender = sender.clone();
            let job = move || {
                assert!(n != 7, "one job fails");
                let _ = sender.send(n);
            };
            workers.run(job).expect("a thread");
        }
        drop(sender);
        let mut done: Vec<i32> = receiver.iter().collect();
        done.sort_unstable();
        assert_eq!(done, (0..20).filter(|n| *n != 7).collect::<Vec<_>>());
    }
}
