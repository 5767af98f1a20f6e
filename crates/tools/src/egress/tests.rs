//! The guard, row by row: own rows, and the shared corpus where it lies beside the checkout.

use super::*;
use std::path::Path;

fn judge(way: &Way, address: &str) -> Result<(), String> {
    way.address(address).map(|_| ()).map_err(|blocked| blocked.to_string())
}

#[test]
fn this_machine_and_its_network_are_not_reached_however_they_are_spelt() {
    let way = Way::default();
    for address in [
        "http://localhost/",
        "http://LocalHost./",
        "http://127.0.0.1/",
        "http://2130706433/",
        "http://0x7f.1/",
        "http://0/",
        "http://[::1]/",
        "http://[::ffff:127.0.0.1]/",
        "http://[::ffff:7f00:1]/",
        "http://[64:ff9b::7f00:1]/",
        "http://[2002:7f00:1::]/",
        "http://[fe80::1]/",
        "http://[fd00::1]/",
        "http://10.1.2.3/",
        "http://172.16.0.1/",
        "http://192.168.1.1/",
        "http://100.64.0.1/",
        "http://169.254.169.254/latest/",
        "http://metadata.google.internal/",
        "http://printer.local/",
        "http://router/",
        "http://169.254.169.254.nip.io/",
        "http://example.org\\@127.0.0.1/",
        "http://exa\tmple.org/",
        "http://user:pass@example.org/",
        "file:///etc/passwd",
        "gopher://example.org/",
        "http://example.org:22/",
    ] {
        assert!(judge(&way, address).is_err(), "{address}");
    }
    for address in ["https://example.org/mcp", "http://93.184.216.34:8080/", "http://172.15.255.255/ok"] {
        assert_eq!(judge(&way, address), Ok(()), "{address}");
    }
}

#[test]
fn a_host_that_a_person_named_is_reached_and_no_other_private_one() {
    let way = Way::naming(["http://localhost:8080/mcp", "http://10.0.0.7/"]);
    for address in ["http://localhost:9/x", "http://127.0.0.1:5432/", "http://[::1]/", "http://10.0.0.7/"] {
        assert_eq!(judge(&way, address), Ok(()), "{address}");
    }
    for address in ["http://10.0.0.8/", "http://169.254.169.254/", "file:///etc/passwd"] {
        assert!(judge(&way, address).is_err(), "{address}");
    }
}

#[tokio::test]
async fn a_name_that_leads_to_this_machine_is_not_connected_to() {
    let resolve = |way: Way| async move {
        let name = "localhost".parse().unwrap();
        Resolver(way).resolve(name).await.map(|found| found.count())
    };
    assert!(resolve(Way::default()).await.is_err());
    assert!(resolve(Way::naming(["http://127.0.0.1/"])).await.unwrap() > 0);
}

#[test]
#[expect(clippy::disallowed_methods, reason = "a test reads the shared corpus")]
fn the_shared_corpus_of_addresses_is_judged_as_it_says() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/corpora/ssrf.jsonl");
    let Ok(text) = std::fs::read_to_string(file) else {
        println!("skipped: no shared corpora beside the checkout");
        return;
    };
    let mut wrong = Vec::new();
    for line in text.lines() {
        let row: serde_json::Value = serde_json::from_str(line).unwrap();
        if row["needs"] != "static" {
            continue;
        }
        let (address, allow) = (row["url"].as_str().unwrap(), row["expect"] == "allow");
        let judged = judge(&Way::default(), address);
        if judged.is_ok() != allow {
            wrong.push(format!("{address}: {judged:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
