//! Figures at scale, for a person: `VERGER_BENCH_VAULT=DIR cargo test --release --test index -- --ignored figures --nocapture`.
//! The vault is one of those that the generator makes; its planted words are asked for.

use std::path::Path;
use std::time::{Duration, Instant};

use super::rig::*;
use vault::VaultPath;
use vault::catalog::Visible;
use vault::disk::Disk;
use vault::files::{Files, Kind};
use vault::index::{RankedQuery, Sight};
use vault::search::Query;

fn cpu() -> Duration {
    let text = std::fs::read_to_string("/proc/self/stat").unwrap();
    let rest = text.rsplit(')').next().unwrap();
    let ticks: u64 = rest.split_whitespace().skip(11).take(2).map(|text| text.parse::<u64>().unwrap()).sum();
    Duration::from_millis(ticks * 10)
}

fn memory(name: &str) -> String {
    let text = std::fs::read_to_string("/proc/self/status").unwrap();
    text.lines().find(|line| line.starts_with(name)).unwrap_or_default().to_owned()
}

fn timed<T>(what: &str, work: impl FnOnce() -> T) -> T {
    let (wall, used) = (Instant::now(), cpu());
    let out = work();
    println!("{what:<44} {:>9.1?} wall {:>9.1?} cpu", wall.elapsed(), cpu() - used);
    out
}

/// What this thread has computed so far; on a loaded machine the wall says little.
fn thread_cpu() -> Duration {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

fn p50(what: &str, times: usize, mut work: impl FnMut() -> String) {
    let answer = work();
    let (mut walls, mut cpus): (Vec<Duration>, Vec<Duration>) = (0..times)
        .map(|_| {
            let (start, used) = (Instant::now(), thread_cpu());
            work();
            (start.elapsed(), thread_cpu() - used)
        })
        .unzip();
    walls.sort();
    cpus.sort();
    println!(
        "{what:<44} p50 {:>9.1?} p95 {:>9.1?} of this thread {:>9.1?}  {answer}",
        walls[times / 2],
        walls[times * 95 / 100],
        cpus[times / 2]
    );
}

#[test]
#[ignore = "figures for a person; needs VERGER_BENCH_VAULT"]
fn figures_at_scale() {
    let Some(root) = std::env::var_os("VERGER_BENCH_VAULT") else { return };
    let root = Path::new(&root);
    let data = tempfile::tempdir_in(root.parent().unwrap()).unwrap();
    let disk = Disk::open(root).unwrap();
    let (mut first, mut many) = (None, Vec::new());
    let walk = || {
        disk.walk(&mut |entry| {
            if entry.kind == Kind::File && many.len() < 1_200 {
                first.get_or_insert(entry.path.clone());
                many.push(entry.path);
            }
        })
    };
    timed("walk and stat", walk).unwrap();
    let index = timed("full build", || open(root, data.path()));
    println!("{:?} {} {}", index.stats(), memory("VmRSS"), memory("VmHWM"));
    if std::env::var_os("VERGER_BENCH_BUILD_ONLY").is_some() {
        return;
    }
    drop(index);
    let index = timed("open", || open(root, data.path()));
    println!("{} {}", memory("VmRSS"), memory("RssAnon"));
    let common = std::env::var("VERGER_BENCH_COMMON").unwrap_or_else(|_| "the".to_owned());
    let ask = |query: &Query| {
        let found = index.search(query, Visible::all()).unwrap();
        format!("{} lines in {} files", found.total_matches, found.files_matched)
    };
    timed("first search", || ask(&literal("quixotarnel")));
    let rows = [
        "quixotarnel",
        "quixotar",
        "amber lattice protocol",
        "lattice pro",
        "zzyxwvunobodywrotethis",
        &common,
        "the",
        "of the",
        "[[",
        "a",
    ];
    for text in rows {
        p50(&format!("exact {text}"), 41, || ask(&literal(text)));
    }
    p50("whole word the", 41, || ask(&Query { whole_word: true, ..literal("the") }));
    for text in [r"amber\s+lattice", r"quixot\w+", r"^## (Open|Decisions)", r"due:: 2025-0[1-3]"] {
        p50(&format!("regex {text}"), 11, || ask(&regex(text)));
    }
    for text in [
        "quixotarnel ",
        "amber lattice protocol",
        &format!("{common} "),
        "the amber of",
        "latice protokol ",
        "quixo",
    ] {
        p50(&format!("ranked {text}"), 41, || {
            let ranked = index.ranked(&RankedQuery::new(text), Visible::all(), 0).unwrap();
            format!(
                "{} notes, {} snippets",
                ranked.total,
                ranked.hits.iter().map(|hit| hit.snippets.len()).sum::<usize>()
            )
        });
    }
    let sees = |path: &VaultPath| !path.as_str().starts_with("Journal/");
    p50("exact rare through a filter", 21, || {
        format!("{}", index.search(&literal("quixotarnel"), Visible::only(&sees)).unwrap().total_matches)
    });
    let sight = Sight::default();
    p50("exact rare through a remembered filter", 21, || {
        format!(
            "{}",
            index.search_as(&literal("quixotarnel"), Visible::only(&sees), &sight).unwrap().total_matches
        )
    });
    let path = first.unwrap();
    p50("refresh one note", 200, || {
        index.refresh(std::slice::from_ref(&path)).unwrap();
        format!("{} segments", index.stats().segments)
    });
    // Different notes, one by one: small segments are merged on the way, and some calls save or merge on disk.
    let mut each: Vec<Duration> = many
        .iter()
        .map(|path| {
            let start = Instant::now();
            index.refresh(std::slice::from_ref(path)).unwrap();
            start.elapsed()
        })
        .collect();
    each.sort();
    let (half, most) = (each[each.len() / 2], each[each.len() * 95 / 100]);
    println!(
        "refresh {} notes in turn: p50 {half:.1?} p95 {most:.1?} max {:.1?}",
        each.len(),
        each[each.len() - 1]
    );
    println!("{:?} {:?}", index.stats(), index.take_events());
    p50("exact rare after refreshes", 41, || ask(&literal("quixotarnel")));
    println!("{} {}", memory("VmRSS"), memory("RssAnon"));
}

#[test]
#[ignore = "figures for a person; needs VERGER_BENCH_VAULT"]
fn catalog_alone() {
    let Some(root) = std::env::var_os("VERGER_BENCH_VAULT") else { return };
    let disk: std::sync::Arc<dyn Files> = std::sync::Arc::new(Disk::open(Path::new(&root)).unwrap());
    let live = timed("catalog", || vault::catalog::Live::build(disk)).unwrap();
    println!("{} {}", live.read().notes(Visible::all()).count(), memory("VmRSS"));
}

/// Both caches of a program that stays. With `VERGER_BENCH_DATA=DIR` the data folder is kept: the first run builds, the
/// second opens, each with its own memory.
#[test]
#[ignore = "figures for a person; needs VERGER_BENCH_VAULT"]
fn both_in_one_reading() {
    let Some(root) = std::env::var_os("VERGER_BENCH_VAULT") else { return };
    let root = Path::new(&root);
    let own = tempfile::tempdir_in(root.parent().unwrap()).unwrap();
    let kept = std::env::var_os("VERGER_BENCH_DATA").map(std::path::PathBuf::from);
    let data = kept.as_deref().unwrap_or(own.path());
    let disk = Disk::open(root).unwrap();
    timed("walk and stat", || disk.walk(&mut |_| ())).unwrap();
    let saved = vault::index::TextIndex::is_saved(&data.join("index"));
    let vault = vault::Vault::open(root, data).unwrap();
    let what = if saved { "index opened, catalog built" } else { "index and catalog built" };
    timed(what, || vault.watch(|_| ())).unwrap();
    println!("{} {} {}", memory("VmHWM"), memory("VmRSS"), memory("RssAnon"));
    let scope = vault::policy::Scope::default();
    p50("exact the, through the view", 41, || {
        format!("{}", vault.view(&scope).search(&literal("the")).unwrap().total_matches)
    });
    let rules = vault::policy::Rules::parse(&[("ignore", "Journal/\n*draft*\n".to_owned())], &[]).unwrap();
    let restricted = vault::policy::Scope::new(vault::policy::Limits::default(), rules);
    for text in ["quixotarnel", "the"] {
        p50(&format!("exact {text}, under an ignore file"), 21, || {
            format!("{}", vault.view(&restricted).search(&literal(text)).unwrap().total_matches)
        });
    }
    timed("save", || vault.save()).unwrap();
    println!("{} {}", memory("VmRSS"), memory("RssAnon"));
}

/// The first search of a program that stays and builds, beside ripgrep alone.
#[test]
#[ignore = "figures for a person; needs VERGER_BENCH_VAULT"]
fn first_search_while_building() {
    let Some(root) = std::env::var_os("VERGER_BENCH_VAULT") else { return };
    let root = Path::new(&root);
    let text = "quixotarnel";
    let start = Instant::now();
    if std::process::Command::new("rg").args(["-i", "-F", "-l", text]).arg(root).output().is_ok() {
        println!("rg -l {text:<38} {:>9.1?} wall", start.elapsed());
    }
    let data = tempfile::tempdir_in(root.parent().unwrap()).unwrap();
    let vault = vault::Vault::open(root, data.path()).unwrap();
    let scope = vault::policy::Scope::default();
    std::thread::scope(|threads| {
        let building = threads.spawn(|| vault.watch(|_| ()).unwrap());
        for wait in [0, 1_000] {
            std::thread::sleep(Duration::from_millis(wait));
            let what = format!("verger {text}, {wait} ms later, index built: {}", building.is_finished());
            timed(&what, || vault.view(&scope).search(&literal(text)).unwrap().total_matches);
        }
    });
}

/// A search with nothing indexed, beside ripgrep.
#[test]
#[ignore = "figures for a person; needs VERGER_BENCH_VAULT"]
fn first_search_by_reading() {
    let Some(root) = std::env::var_os("VERGER_BENCH_VAULT") else { return };
    let root = Path::new(&root);
    let data = tempfile::tempdir_in(root.parent().unwrap()).unwrap();
    let vault = vault::Vault::open(root, data.path()).unwrap();
    let scope = vault::policy::Scope::default();
    for text in ["quixotarnel", "nour"] {
        timed(&format!("verger {text}"), || vault.view(&scope).search(&literal(text)).unwrap().total_matches);
        let start = Instant::now();
        let time = || {
            let text = std::fs::read_to_string("/proc/self/stat").unwrap();
            let rest = text.rsplit(')').next().unwrap().to_owned();
            rest.split_whitespace().skip(13).take(2).map(|text| text.parse::<u64>().unwrap()).sum::<u64>()
                * 10
        };
        let used = time();
        let done = std::process::Command::new("rg").args(["-i", "-F", "-c", text]).arg(root).output();
        if done.is_ok() {
            println!("rg {text:<41} {:>9.1?} wall {:>6} ms cpu", start.elapsed(), time() - used);
        }
    }
}
