//! Who holds a lease: a process, named by its id and by when it started, so that a process that later has the same id
//! is not taken for it.
//!
//! Whether a holder still runs is read from `/proc`. Where that cannot be told (another system, another container), a
//! holder counts as running, and its lease ends by time.

/// This process, as a holder. A part of it may add `/name`, for people to see which one it is.
pub fn this_process() -> String {
    let pid = std::process::id();
    let started = started(pid).unwrap_or(0);
    match namespace() {
        Some(namespace) => format!("{pid}:{started}:{namespace}"),
        None => format!("{pid}:{started}"),
    }
}

/// Whether the holder's process has certainly ended.
pub fn is_gone(holder: &str) -> bool {
    let process = holder.split('/').next().unwrap_or_default();
    let mut parts = process.split(':');
    let (Some(pid), Some(start)) = (number(parts.next()), number(parts.next())) else { return false };
    let Ok(pid) = u32::try_from(pid) else { return false };
    // A process of another container has its own numbers: ours say nothing about it.
    if parts.next().map(str::to_owned) != namespace() || start == 0 {
        return false;
    }
    // Without our own entry there is no `/proc` to ask.
    if started(std::process::id()).is_none() {
        return false;
    }
    started(pid) != Some(start)
}

fn number(part: Option<&str>) -> Option<u64> {
    part?.parse().ok()
}

/// When a process started, in ticks since the machine did; none if there is no such process or it has ended already.
#[expect(clippy::disallowed_methods, reason = "the system's own list of processes, no vault file")]
fn started(pid: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in brackets and may hold anything; what follows the last bracket is counted.
    let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
    let state = fields.next()?;
    if matches!(state, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The number of the set of processes to which we belong.
#[expect(clippy::disallowed_methods, reason = "the system's own list of processes, no vault file")]
fn namespace() -> Option<String> {
    let link = std::fs::read_link("/proc/self/ns/pid").ok()?;
    Some(link.to_str()?.chars().filter(char::is_ascii_digit).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn we_run_and_a_process_that_ended_is_gone() {
        let own = this_process();
        assert!(!is_gone(&own), "{own}");
        assert!(!is_gone(&format!("{own}/web")), "a part of it");
        #[expect(clippy::disallowed_methods, reason = "a test needs a process that ends")]
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let pid = child.id();
        let holder = own.replacen(
            &format!("{}:{}", std::process::id(), started(std::process::id()).unwrap()),
            &format!("{pid}:{}", started(pid).unwrap()),
            1,
        );
        assert!(!is_gone(&holder), "{holder}");
        child.kill().unwrap();
        // Not waited for yet: it is dead all the same.
        for _ in 0..200 {
            if is_gone(&holder) {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
        assert!(is_gone(&holder), "{holder}");
        child.wait().unwrap();
        assert!(is_gone(&holder), "{holder}");
    }

    #[test]
    fn another_process_of_the_same_number_is_not_the_holder() {
        let own = this_process();
        let (pid, rest) = own.split_once(':').unwrap();
        let (start, namespace) = rest.split_once(':').unwrap();
        let earlier = start.parse::<u64>().unwrap() - 1;
        assert!(is_gone(&format!("{pid}:{earlier}:{namespace}")));
    }

    #[test]
    fn a_holder_that_cannot_be_judged_counts_as_running() {
        for holder in ["", "x", "1:2:3", "99999999999:1", "7:0", "someone else", ":::", "-1:5"] {
            assert!(!is_gone(holder), "{holder}");
        }
    }
}
