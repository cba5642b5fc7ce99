//! The key file, and the keys that are derived from it.

use std::fmt::{self, Write as _};
use std::fs::File;
use std::io::{ErrorKind, Read, Write as _};
use std::path::Path;

use ring::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::hkdf::{HKDF_SHA256, Prk, Salt};
use ring::hmac;
use ring::rand::{SecureRandom, SystemRandom};

use crate::error::{Error, KeyError, Result};

const LENGTH: usize = 32;

/// Whether a key file is for its owner alone, or for a group that root chose: a file of root's that nobody
/// may write is how Kubernetes mounts a secret for the group of a pod, whose user is not its owner. A file
/// of one's own, or one that can be written, is more likely open by mistake.
#[cfg(unix)]
fn is_private(mode: u32, owner: u32) -> bool {
    mode & !0o700 == 0 || (owner == 0 && mode & !0o440 == 0)
}

/// The secret of a ledger. Each use has a derived key of its own, so that none reveals another.
pub struct Key {
    derived: Prk,
    random: SystemRandom,
}

impl Key {
    /// Reads the key file, which must exist.
    pub fn open_existing(path: &Path) -> Result<Self> {
        let failed = |source| KeyError::Io { path: path.to_owned(), source };
        Self::read(File::open(path).map_err(failed)?, path)
    }

    /// Reads the key file, or makes one that its owner alone can read.
    pub fn open(path: &Path) -> Result<Self> {
        let failed = |source| KeyError::Io { path: path.to_owned(), source };
        match File::open(path) {
            Ok(file) => Self::read(file, path),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let mut secret = [0; LENGTH];
                SystemRandom::new().fill(&mut secret).map_err(|_| Error::Entropy)?;
                write_new(path, &secret).map_err(failed)?;
                // if two proxies start together, one makes the file and both read it
                Self::read(File::open(path).map_err(failed)?, path)
            }
            Err(error) => Err(failed(error).into()),
        }
    }

    fn read(file: File, path: &Path) -> Result<Self> {
        let failed = |source| KeyError::Io { path: path.to_owned(), source };
        #[cfg(unix)]
        {
            use std::os::unix::fs::MetadataExt;
            let about = file.metadata().map_err(failed)?;
            let mode = about.mode() & 0o7777;
            if !is_private(mode, about.uid()) {
                return Err(KeyError::Open { path: path.to_owned(), mode }.into());
            }
        }
        let mut secret = Vec::with_capacity(LENGTH + 1);
        file.take(LENGTH as u64 + 1).read_to_end(&mut secret).map_err(failed)?;
        if secret.len() != LENGTH {
            return Err(KeyError::Length(path.to_owned()).into());
        }
        let derived = Salt::new(HKDF_SHA256, b"cape ledger 1").extract(&secret);
        Ok(Self { derived, random: SystemRandom::new() })
    }

    /// The spender with this API key (or of this name): a keyed hash, which cannot be reversed.
    pub(crate) fn spender(&self, api_key: &[u8]) -> Spender {
        Spender(hex(hmac::sign(&self.mac("spender"), api_key).as_ref()))
    }

    /// A keyed hash of some parts, for one purpose.
    pub(crate) fn hash(&self, purpose: &'static str, parts: &[&[u8]]) -> [u8; 32] {
        hash(&self.mac(purpose), parts)
    }

    /// The secret of a map. Whoever has it can undo the map's draws.
    pub(crate) fn secret(&self, map: &[u8; 32]) -> [u8; 32] {
        let info = [b"secret".as_slice(), map];
        let okm = self.derived.expand(&info, HKDF_SHA256).expect("as long as the hash");
        let mut secret = [0; 32];
        okm.fill(&mut secret).expect("as long as the hash");
        secret
    }

    /// Bytes that nobody can know: the name of a map that lasts for one request.
    pub(crate) fn fresh(&self) -> Result<[u8; 32]> {
        let mut bytes = [0; 32];
        self.random.fill(&mut bytes).map_err(|_| Error::Entropy)?;
        Ok(bytes)
    }

    /// A keyed value that shows that a database belongs to this key.
    pub(crate) fn check(&self) -> Vec<u8> {
        hmac::sign(&self.mac("check"), b"").as_ref().into()
    }

    /// The key that places are hashed with.
    pub(crate) fn places(&self) -> hmac::Key {
        self.mac("place")
    }

    /// Encrypts a text for one place in the memory.
    pub(crate) fn seal(&self, place: &[u8], text: &str) -> Result<Vec<u8>> {
        let mut nonce = [0; NONCE_LEN];
        self.random.fill(&mut nonce).map_err(|_| Error::Entropy)?;
        let mut sealed = text.as_bytes().to_vec();
        self.cipher(place)
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(place),
                &mut sealed,
            )
            .map_err(|_| Error::Damaged("a text is too long to be remembered"))?;
        Ok([&nonce[..], &sealed].concat())
    }

    /// Decrypts a text that this key encrypted for this place.
    pub(crate) fn unseal(&self, place: &[u8], sealed: &[u8]) -> Result<String> {
        const DAMAGED: Error = Error::Damaged("a remembered text is not what was written");
        let (nonce, sealed) = sealed.split_first_chunk::<NONCE_LEN>().ok_or(DAMAGED)?;
        let mut text = sealed.to_vec();
        let length = self
            .cipher(place)
            .open_in_place(Nonce::assume_unique_for_key(*nonce), Aad::from(place), &mut text)
            .map_err(|_| DAMAGED)?
            .len();
        text.truncate(length);
        String::from_utf8(text).map_err(|_| DAMAGED)
    }

    fn mac(&self, purpose: &'static str) -> hmac::Key {
        let purpose = [purpose.as_bytes()];
        let okm = self.derived.expand(&purpose, hmac::HMAC_SHA256);
        okm.expect("a key as long as the hash").into()
    }

    /// A cipher for one place: random nonces of 96 bits then never come near their limit.
    fn cipher(&self, place: &[u8]) -> LessSafeKey {
        let info = [b"seal".as_slice(), place];
        let okm = self.derived.expand(&info, &AES_256_GCM).expect("a key as long as the hash");
        LessSafeKey::new(UnboundKey::from(okm))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// Hashes each part with its length, so that no two lists of parts are the same bytes.
pub(crate) fn hash(key: &hmac::Key, parts: &[&[u8]]) -> [u8; 32] {
    let mut context = hmac::Context::with_key(key);
    for part in parts {
        context.update(&(part.len() as u64).to_le_bytes());
        context.update(part);
    }
    context.sign().as_ref().try_into().expect("SHA-256 has 32 bytes")
}

/// Bytes as hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Writes a new file, whole or not at all; an existing one stays.
fn write_new(path: &Path, secret: &[u8]) -> std::io::Result<()> {
    let dir = match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    };
    // a temporary file is readable by its owner alone from the beginning
    let mut file = tempfile::NamedTempFile::new_in(dir)?;
    file.write_all(secret)?;
    file.as_file().sync_all()?;
    match file.persist_noclobber(path) {
        Err(failed) if failed.error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(failed) => Err(failed.error),
        // if a loss of power took the key back, the accounts under it could not be found again
        Ok(_) if cfg!(unix) => File::open(dir)?.sync_all(),
        Ok(_) => Ok(()),
    }
}

/// One who spends, named by a keyed hash of the API key.
#[derive(Clone, PartialEq, Eq)]
pub struct Spender(String);

impl Spender {
    pub(crate) fn stored(name: &str) -> Self {
        Self(name.to_owned())
    }

    /// As it stands in the database, in hexadecimal digits.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Spender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn key(dir: &tempfile::TempDir, name: &str) -> Key {
        Key::open(&dir.path().join(name)).unwrap()
    }

    #[test]
    fn a_key_file_is_made_once_and_for_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("key");
        let made: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..8).map(|_| scope.spawn(|| Key::open(&path).unwrap().check())).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(made.iter().all(|check| *check == made[0]));
        assert_ne!(made[0], key(&dir, "other").check());
        assert_eq!(std::fs::read(&path).unwrap().len(), LENGTH);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 2);
    }

    #[cfg(unix)]
    #[test]
    fn a_secret_that_root_mounted_for_a_group_is_private() {
        let (root, other) = (0, 1000);
        for (mode, roots, others) in [
            (0o400, true, true),
            (0o600, true, true),
            (0o440, true, false),
            (0o040, true, false),
            (0o640, false, false),
            (0o460, false, false),
            (0o444, false, false),
            (0o441, false, false),
            (0o2440, false, false),
        ] {
            assert_eq!(is_private(mode, root), roots, "{mode:o}");
            assert_eq!(is_private(mode, other), others, "{mode:o}");
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_key_file_that_others_can_read_is_refused() {
        use std::os::unix::fs::PermissionsExt;
        let dir = tempfile::tempdir().unwrap();
        key(&dir, "key");
        let path = dir.path().join("key");
        for (mode, fine) in [(0o600, true), (0o400, true), (0o640, false), (0o604, false)] {
            std::fs::set_permissions(&path, PermissionsExt::from_mode(mode)).unwrap();
            let opened = Key::open(&path);
            let refused =
                matches!(opened, Err(Error::Key(KeyError::Open { mode: m, .. })) if m == mode);
            assert_eq!((opened.is_ok(), refused), (fine, !fine), "{mode:o}");
        }
    }

    #[test]
    fn a_file_of_another_length_is_no_key() {
        let dir = tempfile::tempdir().unwrap();
        for length in [0, 31, 33, 4096] {
            let mut file = tempfile::NamedTempFile::new_in(&dir).unwrap();
            file.write_all(&vec![7; length]).unwrap();
            let refused = Key::open(file.path());
            assert!(matches!(refused, Err(Error::Key(KeyError::Length(_)))), "{length}");
        }
    }

    #[test]
    fn a_sealed_text_opens_with_its_key_at_its_place_unchanged() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, other) = (key(&dir, "ours"), key(&dir, "other"));
        let (here, there) = ([1; 32], [2; 32]);
        let sealed = ours.seal(&here, "grüße").unwrap();
        assert_eq!(ours.unseal(&here, &sealed).unwrap(), "grüße");
        assert_ne!(ours.seal(&here, "grüße").unwrap(), sealed, "a nonce of its own each time");
        let refused = |key: &Key, place: &[u8], sealed: &[u8]| {
            matches!(key.unseal(place, sealed), Err(Error::Damaged(_)))
        };
        assert!(refused(&other, &here, &sealed));
        assert!(refused(&ours, &there, &sealed));
        for at in 0..sealed.len() {
            let mut changed = sealed.clone();
            changed[at] ^= 1;
            assert!(refused(&ours, &here, &changed));
            assert!(refused(&ours, &here, &sealed[..at]));
        }
    }

    #[test]
    fn spenders_differ_by_api_key_and_by_key_file() {
        let dir = tempfile::tempdir().unwrap();
        let (ours, other) = (key(&dir, "ours"), key(&dir, "other"));
        assert_eq!(ours.spender(b"sk-1"), key(&dir, "ours").spender(b"sk-1"));
        assert_ne!(ours.spender(b"sk-1"), ours.spender(b"sk-2"));
        assert_ne!(ours.spender(b"sk-1"), other.spender(b"sk-1"));
        assert_eq!(ours.spender(b"sk-1").as_str().len(), 64);
    }
}
