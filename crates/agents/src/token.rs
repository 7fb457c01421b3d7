//! The secret of an attempt. It is made from a key that only the executor has in its memory, it is given to the worker in its
//! environment, and only a proof of it is written down: the secret cannot be made from the proof.

use std::fmt::Write as _;
use std::sync::OnceLock;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest as _, Sha256};

/// Names the secret in the environment of a worker.
pub const TOKEN: &str = "TEAM_EXECUTOR_TOKEN";

/// How many bytes of a digest are used.
const BYTES: usize = 16;

/// The secret of an attempt that this executor makes; nothing if the system has no randomness to give.
pub fn token(attempt: &str) -> Option<String> {
    static KEY: OnceLock<Option<[u8; 32]>> = OnceLock::new();
    let key = KEY.get_or_init(|| {
        let mut key = [0; 32];
        let filled = getrandom(&mut key, GetRandomFlags::empty()).ok()?;
        (filled == key.len()).then_some(key)
    });
    let key = key.as_ref()?;
    let inner = Sha256::new().chain_update(key).chain_update(attempt).finalize();
    Some(hex(&Sha256::new().chain_update(key).chain_update(inner).finalize()))
}

/// What may be written down of a secret.
pub fn proof(token: &str) -> String {
    hex(&Sha256::digest(token))
}

/// The proof of the secret in an environment.
pub(crate) fn proof_in(environment: &[(String, String)]) -> Option<String> {
    environment.iter().find(|(name, _)| name == TOKEN).map(|(_, token)| proof(token))
}

fn hex(digest: &[u8]) -> String {
    digest.iter().take(BYTES).fold(String::with_capacity(2 * BYTES), |mut text, byte| {
        let _into_a_string = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn token_is_of_its_attempt_alone_and_is_not_its_proof() {
        let (one, other) = (token("r/A/1").unwrap(), token("r/A/2").unwrap());
        assert_eq!(one, token("r/A/1").unwrap());
        assert_eq!(one.len(), 2 * BYTES);
        assert_ne!(one, other);
        assert_ne!(proof(&one), one);
        let environment = [(TOKEN.to_owned(), one.clone())];
        assert_eq!(proof_in(&environment), Some(proof(&one)));
        assert_eq!(proof_in(&[]), None);
    }
}
