//! Times gathered and told: percentiles, ratios, and on what machine.

use std::time::{Duration, Instant};

use anyhow::Context as _;

/// The times of one way of doing something.
pub struct Times {
    name: String,
    all: Vec<Duration>,
    /// Processor time of one round on average, where it was taken: on a busy machine it says more than the clock.
    cpu: Option<Duration>,
}

impl Times {
    /// No times yet.
    pub fn new(name: impl Into<String>) -> Times {
        Times { name: name.into(), all: Vec::new(), cpu: None }
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
        let cpu = self.cpu.map(|cpu| format!("   cpu {}", milliseconds(cpu))).unwrap_or_default();
        format!(
            "{:<44} {:>5} rounds   p50 {}   p95 {}   max {}{cpu}",
            self.name,
            self.all.len(),
            shown(50),
            shown(95),
            shown(100)
        )
    }

    /// One line, with the verdict where there is a goal.
    pub fn told(&self, goal: Option<Duration>) -> String {
        goal.map_or_else(|| self.line(), |goal| self.judged(goal))
    }

    /// One line that says whether the median is within a goal.
    pub fn judged(&self, goal: Duration) -> String {
        let verdict = if self.percentile(50) <= goal { "met" } else { "MISSED" };
        format!("{}   goal {}: {verdict}", self.line(), milliseconds(goal).trim_start())
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

/// Does something so often, after once that is not counted, and gives the last answer too.
pub fn repeat<T>(
    name: impl Into<String>,
    rounds: usize,
    mut work: impl FnMut() -> anyhow::Result<T>,
) -> anyhow::Result<(Times, T)> {
    let mut times = Times::new(name);
    let mut answer = work()?;
    let before = cpu()?;
    for _ in 0..rounds {
        answer = times.time(&mut work)?;
    }
    times.cpu = Some((cpu()? - before) / rounds.max(1) as u32);
    Ok((times, answer))
}

/// Milliseconds as a goal.
pub const fn goal_ms(milliseconds: u64) -> Duration {
    Duration::from_millis(milliseconds)
}

/// Processor time of this process so far, in the kernel's hundredths of a second.
pub fn cpu() -> anyhow::Result<Duration> {
    let text = std::fs::read_to_string("/proc/self/stat")?;
    let behind_name = text.rsplit_once(')').context("the kernel's words are not understood")?.1;
    let ticks: u64 =
        behind_name.split_whitespace().skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum();
    Ok(Duration::from_millis(ticks * 10))
}

/// Peak resident memory of this process in MiB.
pub fn peak() -> anyhow::Result<f64> {
    memory("VmHWM:")
}

/// Resident memory of this process now, in MiB; of that, what is its own and no mapped file.
pub fn resident() -> anyhow::Result<(f64, f64)> {
    Ok((memory("VmRSS:")?, memory("RssAnon:")?))
}

fn memory(name: &str) -> anyhow::Result<f64> {
    let text = std::fs::read_to_string("/proc/self/status")?;
    let line = text.lines().find_map(|line| line.strip_prefix(name)).context("the kernel does not tell")?;
    let kilobytes: f64 = line.trim().trim_end_matches(" kB").trim().parse()?;
    Ok(kilobytes / 1024.0)
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
