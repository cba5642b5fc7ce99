//! The compact file beside word vectors: used while it is whole and its source the same, made anew
//! where it is not, and never in the way.

use std::fs::{File, FileTimes};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use cape_models::{CompactFile, Error, LoadPhase, Vectors};
use tempfile::TempDir;

const TEXT: &str = "the 1 2\na 3 4\nthe 5 6\nno word 7 8\n";

/// A folder with vectors in it, of a while ago.
struct Folder(TempDir);

impl Folder {
    fn new() -> Self {
        let folder = Self(tempfile::tempdir().unwrap());
        folder.put("v.txt", TEXT, 100);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// A file that was written so many seconds ago.
    fn put(&self, name: &str, bytes: impl AsRef<[u8]>, age: u64) {
        std::fs::write(self.path(name), bytes).unwrap();
        self.touch(name, age);
    }

    fn touch(&self, name: &str, age: u64) {
        let time = SystemTime::now() - Duration::from_secs(age);
        let file = File::options().write(true).open(self.path(name)).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    }

    /// The fate of the compact file, and the phases of the load.
    #[track_caller]
    fn load(&self, name: &str) -> (CompactFile, Vec<LoadPhase>) {
        let (vectors, phases) = load(&self.path(name)).unwrap();
        (vectors.compact, phases)
    }

    /// The names of all files.
    fn names(&self) -> Vec<String> {
        let entries = self.0.path().read_dir().unwrap();
        let mut names: Vec<_> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort_unstable();
        names
    }
}

fn load(path: &Path) -> cape_models::Result<(Vectors, Vec<LoadPhase>)> {
    let mut phases = Vec::new();
    let vectors = Vectors::load(path, &mut |progress| {
        assert!(progress.done <= progress.total);
        if phases.last() != Some(&progress.phase) {
            phases.push(progress.phase);
        }
    })?;
    Ok((vectors, phases))
}

fn read() -> (CompactFile, Vec<LoadPhase>) {
    (CompactFile::Read, vec![LoadPhase::Checking])
}

#[test]
fn the_second_load_reads_what_the_first_one_made() {
    let folder = Folder::new();
    let (first, phases) = load(&folder.path("v.txt")).unwrap();
    assert_eq!(
        (first.compact, phases),
        (CompactFile::Made, vec![LoadPhase::Reading, LoadPhase::Writing])
    );
    assert_eq!(folder.names(), ["v.txt", "v.txt.cape"]);
    let (second, phases) = load(&folder.path("v.txt")).unwrap();
    assert_eq!((second.compact, phases), read());
    assert_eq!(first.rows.data(), second.rows.data());
    assert!(first.words.iter().eq(second.words.iter()));
    assert_eq!((first.checksum, first.skipped), (second.checksum, second.skipped));
    assert_eq!((second.skipped.duplicates, second.skipped.unfit), (1, 1));
}

#[test]
fn every_spoilt_byte_is_noticed() {
    let folder = Folder::new();
    folder.load("v.txt");
    let right = std::fs::read(folder.path("v.txt.cape")).unwrap();
    for at in 0..right.len() {
        let mut spoilt = right.clone();
        spoilt[at] ^= 0x20;
        folder.put("v.txt.cape", &spoilt, 0);
        let (cache, phases) = folder.load("v.txt");
        assert!(matches!(cache, CompactFile::Remade(_)), "{at}: {cache:?}");
        assert!(phases.ends_with(&[LoadPhase::Reading, LoadPhase::Writing]));
        assert_eq!(std::fs::read(folder.path("v.txt.cape")).unwrap(), right);
    }
}

#[test]
fn a_file_that_is_cut_off_is_made_anew() {
    let folder = Folder::new();
    folder.load("v.txt");
    let right = std::fs::read(folder.path("v.txt.cape")).unwrap();
    for len in (0..right.len()).step_by(7) {
        folder.put("v.txt.cape", &right[..len], 0);
        assert!(matches!(folder.load("v.txt").0, CompactFile::Remade(_)), "{len}");
        assert_eq!(folder.load("v.txt"), read());
    }
}

#[test]
fn another_source_makes_another_file() {
    let folder = Folder::new();
    let changed = || CompactFile::Remade("its source has changed".into());
    folder.load("v.txt");
    folder.put("v.txt", TEXT.replace('4', "44"), 100);
    assert_eq!(folder.load("v.txt").0, changed());
    // of the same length: the time says that it may be another, its bytes that it is
    folder.put("v.txt", TEXT.replace('4', "55"), 50);
    assert_eq!(
        folder.load("v.txt"),
        (changed(), vec![LoadPhase::Comparing, LoadPhase::Reading, LoadPhase::Writing])
    );
    let (vectors, _) = load(&folder.path("v.txt")).unwrap();
    assert_eq!(vectors.rows.data(), [1.0, 2.0, 3.0, 55.0]);
}

#[test]
fn a_source_that_was_only_touched_is_compared_once() {
    let folder = Folder::new();
    folder.load("v.txt");
    folder.touch("v.txt", 50);
    assert_eq!(
        folder.load("v.txt"),
        (CompactFile::Read, vec![LoadPhase::Comparing, LoadPhase::Checking])
    );
    assert_eq!(folder.load("v.txt"), read());
}

#[test]
fn the_time_of_a_source_that_is_just_being_written_says_nothing() {
    let folder = Folder::new();
    folder.put("v.txt", TEXT, 0);
    folder.load("v.txt");
    let time = folder.path("v.txt").metadata().unwrap().modified().unwrap();
    std::fs::write(folder.path("v.txt"), TEXT.replace('4', "9")).unwrap();
    let file = File::options().write(true).open(folder.path("v.txt")).unwrap();
    file.set_times(FileTimes::new().set_modified(time)).unwrap();
    assert_eq!(folder.load("v.txt").0, CompactFile::Remade("its source has changed".into()));
}

#[test]
fn the_words_of_an_array_count_as_well() {
    let folder = Folder::new();
    let mut array = b"\x93NUMPY\x01\0\x40\0".to_vec();
    array.extend(
        format!("{:<64}", "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 1)}").bytes(),
    );
    array.extend([0, 0, 128, 63, 0, 0, 0, 64]);
    folder.put("a.npy", array, 100);
    folder.put("a.txt", "x\ny\n", 100);
    assert_eq!(folder.load("a.npy").0, CompactFile::Made);
    assert_eq!(folder.load("a.npy"), read());
    folder.touch("a.txt", 50);
    assert_eq!(
        folder.load("a.npy"),
        (CompactFile::Read, vec![LoadPhase::Comparing, LoadPhase::Checking])
    );
    folder.put("a.txt", "x\nz\n", 40);
    assert_eq!(folder.load("a.npy").0, CompactFile::Remade("its source has changed".into()));
    let (vectors, _) = load(&folder.path("a.npy")).unwrap();
    assert_eq!(vectors.words.iter().collect::<Vec<_>>(), ["x", "z"]);
    assert_eq!(vectors.rows.data(), [1.0, 2.0]);
}

#[test]
fn it_may_stand_for_a_source_that_is_gone() {
    let folder = Folder::new();
    folder.load("v.txt");
    assert_eq!(folder.load("v.txt.cape"), read());
    std::fs::remove_file(folder.path("v.txt")).unwrap();
    assert_eq!(folder.load("v.txt.cape"), read());
    assert_eq!(folder.load("v.txt"), read());
    assert_eq!(folder.names(), ["v.txt.cape"]);
    // there is nothing to make it anew from
    let mut spoilt = std::fs::read(folder.path("v.txt.cape")).unwrap();
    spoilt[10] ^= 1;
    folder.put("v.txt.cape", spoilt, 0);
    for name in ["v.txt", "v.txt.cape"] {
        match load(&folder.path(name)) {
            Err(Error::Vectors { why, .. }) => assert!(why.contains("damaged")),
            Err(other) => panic!("{other}"),
            Ok(_) => panic!("it was taken"),
        }
    }
}

#[test]
fn what_a_killed_run_left_is_removed_and_what_another_writes_is_not() {
    let folder = Folder::new();
    folder.put("v.txt.cape.1-0.part", "half a file", 0);
    folder.put("v.txt.cape.2-0.part", "half a file", 0);
    folder.put("w.txt.cape.2-0.part", "another's", 0);
    let writing = File::open(folder.path("v.txt.cape.2-0.part")).unwrap();
    writing.lock().unwrap();
    assert_eq!(folder.load("v.txt").0, CompactFile::Made);
    let kept = ["v.txt", "v.txt.cape", "v.txt.cape.2-0.part", "w.txt.cape.2-0.part"];
    assert_eq!(folder.names(), kept);
    drop(writing);
    assert_eq!(folder.load("v.txt"), read());
    assert_eq!(folder.names(), ["v.txt", "v.txt.cape", "w.txt.cape.2-0.part"]);
}

#[test]
fn where_it_cannot_be_written_the_vectors_are_right_all_the_same() {
    let folder = Folder::new();
    let (right, _) = load(&folder.path("v.txt")).unwrap();
    std::fs::remove_file(folder.path("v.txt.cape")).unwrap();
    std::fs::create_dir(folder.path("v.txt.cape")).unwrap();
    for _ in 0..2 {
        let (vectors, _) = load(&folder.path("v.txt")).unwrap();
        assert_eq!(vectors.compact, CompactFile::NotWritten("a folder is in its place".into()));
        assert_eq!((vectors.checksum, vectors.rows.data()), (right.checksum, right.rows.data()));
    }
    assert_eq!(folder.names(), ["v.txt", "v.txt.cape"]);
}

#[cfg(unix)]
#[test]
fn a_folder_that_may_not_be_written_to_is_left_alone() {
    use std::os::unix::fs::PermissionsExt;
    let folder = Folder::new();
    let mode = |mode| std::fs::Permissions::from_mode(mode);
    std::fs::set_permissions(folder.0.path(), mode(0o555)).unwrap();
    // whoever may do anything may do this
    let bites = File::create(folder.path("trial")).is_err();
    if bites {
        assert!(matches!(folder.load("v.txt").0, CompactFile::NotWritten(_)));
        assert_eq!(folder.names(), ["v.txt"]);
    }
    std::fs::set_permissions(folder.0.path(), mode(0o755)).unwrap();
}

#[test]
fn many_at_once_are_all_right() {
    let folder = Folder::new();
    let lines: Vec<_> = (0..20_000).map(|n| format!("w{n} {n} {} 0.5\n", n / 2)).collect();
    folder.put("v.txt", lines.concat(), 100);
    for spoil in [false, true, true] {
        if spoil {
            folder.put("v.txt.cape", "spoilt", 0);
        }
        let loads: Vec<Vectors> = std::thread::scope(|scope| {
            let threads: Vec<_> =
                (0..4).map(|_| scope.spawn(|| load(&folder.path("v.txt")).unwrap().0)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        for vectors in &loads {
            assert_eq!(vectors.words.len(), 20_000);
            assert_eq!(vectors.checksum, loads[0].checksum);
            assert_eq!(vectors.rows.data(), loads[0].rows.data());
        }
        assert_eq!(folder.load("v.txt"), read());
        assert_eq!(folder.names(), ["v.txt", "v.txt.cape"]);
    }
}
