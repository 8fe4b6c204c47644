//! Timing, and the cost of child processes as the kernel counts it.

use std::path::Path;
use std::process::{Child, Command};
use std::time::{Duration, Instant};

/// The times of many runs of one thing.
pub struct Times(Vec<Duration>);

impl Times {
    /// Runs `body` as a warm-up, then `count` times.
    pub fn of(count: usize, mut body: impl FnMut()) -> Self {
        for _ in 0..count.div_ceil(10) {
            body();
        }
        let mut times: Vec<Duration> = (0..count)
            .map(|_| {
                let begun = Instant::now();
                body();
                begun.elapsed()
            })
            .collect();
        times.sort_unstable();
        Self(times)
    }

    pub fn percentile(&self, percent: usize) -> Duration {
        self.0[(self.0.len() - 1) * percent / 100]
    }

    pub fn median(&self) -> Duration {
        self.percentile(50)
    }

    /// One line of the report: name, median, 99th percentile, and the bound it is held against.
    pub fn report(&self, name: &str, bound: &str) {
        let (median, worst) = (self.median(), self.percentile(99));
        println!("{name:<52} p50 {:>10}  p99 {:>10}  {bound}", shown(median), shown(worst));
    }
}

pub fn shown(time: Duration) -> String {
    let micros = time.as_secs_f64() * 1e6;
    if micros < 1000.0 {
        format!("{micros:.1} µs")
    } else if micros < 1e6 {
        format!("{:.2} ms", micros / 1e3)
    } else {
        format!("{:.2} s", micros / 1e6)
    }
}

/// The binary under measurement, with nothing of the surroundings but what is given.
pub fn claw(home: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_claw"));
    command
        .env_clear()
        .env("CLAWHOLD_HOME", home)
        .env("PATH", std::env::var_os("PATH").unwrap_or_default());
    command.stdin(std::process::Stdio::null());
    command
}

/// Processor time and largest memory of a child that has ended.
pub struct Cost {
    pub processor: Duration,
    pub max_rss_kib: u64,
}

/// Waits for the child; /proc is asked just before it is reaped, while its figures stand.
pub fn cost_of(mut child: Child) -> Cost {
    let pid = child.id();
    let mut max_rss_kib = 0;
    let mut processor = Duration::ZERO;
    loop {
        if let Ok(status) = std::fs::read_to_string(format!("/proc/{pid}/status")) {
            let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let peak = peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok());
            max_rss_kib = peak.unwrap_or(max_rss_kib).max(max_rss_kib);
        }
        if let Ok(stat) = std::fs::read_to_string(format!("/proc/{pid}/stat")) {
            // Fields 14 and 15 of proc(5), counted behind the name, in ticks of 10 ms; schedstat
            // has nanoseconds but of the main thread only, so the ticks it is, over many turns.
            let fields: Vec<&str> =
                stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
            let ticks: u64 = fields
                .get(11..13)
                .map_or(0, |two| two.iter().filter_map(|t| t.parse::<u64>().ok()).sum());
            processor = processor.max(Duration::from_millis(ticks * 10));
            if fields.first() == Some(&"Z") {
                break;
            }
        } else {
            break;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    child.wait().unwrap();
    Cost { processor, max_rss_kib }
}
