//! Times gathered and told: percentiles, ratios, and on what machine.

use std::time::{Duration, Instant};

/// The times of one way of doing something.
pub struct Times {
    name: String,
    all: Vec<Duration>,
}

impl Times {
    /// No times yet.
    pub fn new(name: impl Into<String>) -> Times {
        Times { name: name.into(), all: Vec::new() }
    }

    /// Does it and takes the time.
    pub fn time<T>(&mut self, work: impl FnOnce() -> T) -> T {
        let start = Instant::now();
        let answer = work();
        self.all.push(start.elapsed());
        answer
    }

    /// A time that was taken elsewhere.
    pub fn push(&mut self, time: Duration) {
        self.all.push(time);
    }

    /// The time that this share of all stays within.
    pub fn percentile(&self, percent: usize) -> Duration {
        let mut sorted = self.all.clone();
        sorted.sort();
        let index = (sorted.len() * percent / 100).min(sorted.len().saturating_sub(1));
        sorted.get(index).copied().unwrap_or_default()
    }

    /// One line: name, how many, p50, p95, largest.
    pub fn line(&self) -> String {
        let shown = |percent| milliseconds(self.percentile(percent));
        format!(
            "{:<44} {:>5} rounds   p50 {}   p95 {}   max {}",
            self.name,
            self.all.len(),
            shown(50),
            shown(95),
            shown(100)
        )
    }

    /// One line: how many times as long as the other took.
    pub fn against(&self, other: &Times) -> String {
        let ratio = |percent| {
            self.percentile(percent).as_secs_f64()
                / other.percentile(percent).as_secs_f64().max(f64::MIN_POSITIVE)
        };
        format!("{} / {}: p50 {:.2}x   p95 {:.2}x", self.name, other.name, ratio(50), ratio(95))
    }
}

/// A time for people: three digits behind the point, in milliseconds.
pub fn milliseconds(time: Duration) -> String {
    format!("{:>9.3} ms", time.as_secs_f64() * 1e3)
}

/// Cores, kernel and how busy the machine is with other things; no names.
pub fn machine() -> String {
    let word = |path: &str| std::fs::read_to_string(path).unwrap_or_default().trim().to_owned();
    let cores = std::thread::available_parallelism().map_or(1, |cores| cores.get());
    let load: Vec<String> = word("/proc/loadavg").split(' ').take(3).map(str::to_owned).collect();
    format!("{cores} cores, Linux {}, load {}", word("/proc/sys/kernel/osrelease"), load.join(" "))
}
