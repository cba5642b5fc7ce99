//! The file of groups that were made before, and whether it holds the ones wanted.

use std::fs;
use std::io::Write;
use std::path::Path;

use ring::digest::{SHA256, digest};

use crate::files::replace;

/// The first bytes of a file of groups; the last of them is the version.
const MAGIC: &[u8; 8] = b"capegrp\x01";

/// The length of a key, and of a checksum.
const SUM: usize = 32;

/// Where groups came from.
#[derive(Debug)]
pub(crate) enum GroupsFrom {
    /// The file had them.
    Loaded,
    /// They were made, and are in the file now.
    Stored,
    /// They were made, and could not be stored.
    NotStored(std::io::Error),
}

/// The groups in the file at `path`, if it holds those of this key and is whole; otherwise they are
/// made, and stored there for the next time.
///
/// The key stands for all that the groups depend on: the vectors, the order of words and K.
pub(crate) fn load_or_make(
    path: &Path,
    key: &[u8; SUM],
    make: impl FnOnce() -> Vec<Vec<u32>>,
) -> (Vec<Vec<u32>>, GroupsFrom) {
    if let Some(groups) = fs::read(path).ok().and_then(|bytes| decode(&bytes, key)) {
        return (groups, GroupsFrom::Loaded);
    }
    let groups = make();
    replace::clear(path);
    let bytes = encode(&groups, key);
    let source = match replace::with(path, |file| file.write_all(&bytes)) {
        Ok(()) => GroupsFrom::Stored,
        Err(why) => GroupsFrom::NotStored(why),
    };
    (groups, source)
}

/// Magic, key, then 32-bit little-endian numbers (how many groups; of each how many words, and the
/// words), then the SHA-256 of all before.
fn encode(groups: &[Vec<u32>], key: &[u8; SUM]) -> Vec<u8> {
    let numbers = 1 + groups.iter().map(|group| 1 + group.len()).sum::<usize>();
    let mut bytes = Vec::with_capacity(MAGIC.len() + 4 * numbers + 2 * SUM);
    bytes.extend_from_slice(MAGIC);
    bytes.extend_from_slice(key);
    let mut put = |number: u32| bytes.extend_from_slice(&number.to_le_bytes());
    put(groups.len() as u32);
    for group in groups {
        put(group.len() as u32);
        for &word in group {
            put(word);
        }
    }
    let sum = digest(&SHA256, &bytes);
    bytes.extend_from_slice(sum.as_ref());
    bytes
}

/// None unless the bytes are what [`encode`] gives for some groups and this key.
fn decode(bytes: &[u8], key: &[u8; SUM]) -> Option<Vec<Vec<u32>>> {
    let (content, sum) = bytes.split_at_checked(bytes.len().checked_sub(SUM)?)?;
    let numbers = content.strip_prefix(MAGIC)?.strip_prefix(key)?;
    if digest(&SHA256, content).as_ref() != sum {
        return None;
    }
    let (numbers, []) = numbers.as_chunks::<4>() else { return None };
    let mut numbers = numbers.iter().map(|&number| u32::from_le_bytes(number));
    let count = numbers.next()?;
    let mut groups = Vec::new();
    for _ in 0..count {
        let len = numbers.next()? as usize;
        let group: Vec<u32> = numbers.by_ref().take(len).collect();
        if group.len() < len {
            return None;
        }
        groups.push(group);
    }
    numbers.next().is_none().then_some(groups)
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &[u8; SUM] = &[7; SUM];

    fn some() -> Vec<Vec<u32>> {
        vec![vec![3, 1, 4], vec![], vec![u32::MAX]]
    }

    fn never() -> Vec<Vec<u32>> {
        panic!("they are in the file")
    }

    #[test]
    fn groups_are_made_once() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("groups");
        let (groups, source) = load_or_make(&path, KEY, some);
        assert!(groups == some() && matches!(source, GroupsFrom::Stored));
        let (groups, source) = load_or_make(&path, KEY, never);
        assert!(groups == some() && matches!(source, GroupsFrom::Loaded));
        assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1, "nothing beside it");

        let empty = dir.path().join("empty");
        load_or_make(&empty, KEY, Vec::new);
        assert!(load_or_make(&empty, KEY, never).0.is_empty());
    }

    #[test]
    fn another_key_makes_them_anew() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("groups");
        load_or_make(&path, &[8; SUM], || vec![vec![0]]);
        let (groups, source) = load_or_make(&path, KEY, some);
        assert!(groups == some() && matches!(source, GroupsFrom::Stored));
        assert!(matches!(load_or_make(&path, KEY, never).1, GroupsFrom::Loaded));
    }

    #[test]
    fn each_spoilt_or_missing_byte_is_seen() {
        let whole = encode(&some(), KEY);
        assert_eq!(decode(&whole, KEY), Some(some()));
        for i in 0..whole.len() {
            assert_eq!(decode(&whole[..i], KEY), None, "cut at {i}");
            let mut spoilt = whole.clone();
            spoilt[i] ^= 1;
            assert_eq!(decode(&spoilt, KEY), None, "spoilt at {i}");
        }
        assert_eq!(decode(&[&whole[..], &[0]].concat(), KEY), None);
    }

    #[test]
    fn numbers_that_do_not_add_up_are_no_groups() {
        for numbers in [&[2, 1, 5][..], &[1, 9, 5], &[1, 1, 5, 5], &[]] {
            let mut bytes = [&MAGIC[..], KEY].concat();
            bytes.extend(numbers.iter().flat_map(|number: &u32| number.to_le_bytes()));
            let sum = digest(&SHA256, &bytes);
            bytes.extend_from_slice(sum.as_ref());
            assert_eq!(decode(&bytes, KEY), None, "{numbers:?}");
        }
    }

    #[test]
    fn a_spoilt_file_is_replaced() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("groups");
        fs::write(&path, &encode(&some(), KEY)[1..]).unwrap();
        assert!(matches!(load_or_make(&path, KEY, some).1, GroupsFrom::Stored));
        assert!(matches!(load_or_make(&path, KEY, never).1, GroupsFrom::Loaded));
    }

    #[test]
    fn groups_that_cannot_be_stored_are_made_all_the_same() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "no folder").unwrap();
        let folder = dir.path().join("folder");
        fs::create_dir(&folder).unwrap();
        for path in [file.join("groups"), folder] {
            let (groups, source) = load_or_make(&path, KEY, some);
            assert!(groups == some() && matches!(source, GroupsFrom::NotStored(_)));
        }
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "nothing is left over");
    }
}
