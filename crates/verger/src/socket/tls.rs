//! Encryption of the doors that other machines reach: a certificate and its key, as the person has them in two files.
//!
//! Deliberately not here: getting a certificate, and who is let in.

use std::path::Path;
use std::sync::Arc;

use rustls::ServerConfig;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::TlsAcceptor;

use crate::failure::{Exit, Failure};
use crate::place;

/// What encrypts connections, from a chain of certificates and a key, both in PEM.
pub fn open(certificates: &Path, key: &Path) -> Result<TlsAcceptor, Failure> {
    let chain = place::read_named(certificates).map_err(|failure| named(failure, "--tls-cert"))?;
    let secret = place::read_named(key).map_err(|failure| named(failure, "--tls-key"))?;
    acceptor(&chain, &secret)
}

fn acceptor(chain: &str, secret: &str) -> Result<TlsAcceptor, Failure> {
    let chain: Vec<CertificateDer<'static>> = CertificateDer::pem_slice_iter(chain.as_bytes())
        .collect::<Result<_, _>>()
        .map_err(|error| wrong("--tls-cert", &error.to_string()))?;
    if chain.is_empty() {
        return Err(wrong("--tls-cert", "there is no certificate in the file"));
    }
    // Why a key cannot be read says nothing about what is in it.
    let secret = PrivateKeyDer::from_pem_slice(secret.as_bytes())
        .map_err(|_| wrong("--tls-key", "there is no private key in the file"))?;
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .map(|builder| builder.with_no_client_auth())
        .and_then(|builder| builder.with_single_cert(chain, secret))
        .map_err(|error| wrong("--tls-cert and --tls-key", &error.to_string()))?;
    let mut config = config;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(TlsAcceptor::from(Arc::new(config)))
}

fn wrong(flag: &str, why: &str) -> Failure {
    let hint = "give a chain of certificates and its private key, both as PEM";
    Failure::new(Exit::Usage, "tls", format!("{flag}: {why}"), hint)
}

fn named(failure: Failure, flag: &str) -> Failure {
    wrong(flag, &failure.refusal.message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_certificate_or_no_key_is_refused_and_not_repeated() {
        for (chain, secret) in
            [("", ""), ("hunter2", "hunter2"), ("-----BEGIN CERTIFICATE-----\nhunter2\n", "hunter2")]
        {
            let refused = acceptor(chain, secret).err().unwrap();
            assert_eq!(refused.refusal.reason, "tls");
            assert!(!refused.refusal.message.contains("hunter2"), "{}", refused.refusal.message);
        }
    }
}
