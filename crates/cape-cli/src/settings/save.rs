//! Settings written to cape.toml, because a user asked for it. The rest of the file stays as it is.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use toml_edit::{Array, DocumentMut, Item, Value, value};

use super::file::{File, file_name};
use super::listed::{WordOrFile, words};
use crate::failure::{Done, Failure, io};

/// Writes what the playground chooses: ε₁, k, the profile and the lists.
pub(crate) fn save(named: Option<&Path>, chosen: &cape::Settings) -> Done {
    let path = file_name(named);
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(io(format!("cannot read {}", path.display()), &error)),
    };
    let folder = path.parent().unwrap_or(Path::new(""));
    let text = saved(&text, folder, chosen)?;
    write(path, &text).map_err(|error| io(format!("cannot write {}", path.display()), &error))
}

/// The text of the file with these settings.
fn saved(text: &str, folder: &Path, chosen: &cape::Settings) -> Done<String> {
    let broken = || Failure::new("the settings file cannot be read", "correct it by hand first");
    let mut document: DocumentMut = text.parse().map_err(|_| broken())?;
    document["epsilon"] = value(chosen.epsilon.get());
    document["k"] = value(i64::try_from(chosen.shape.k).unwrap_or(i64::MAX));
    document["profile"] = value(chosen.profile.as_str());
    let lists =
        [("protect", &chosen.protect), ("ordinary", &chosen.ordinary), ("keep", &chosen.keep)];
    for (name, wanted) in lists {
        let list = list(document.get(name), folder, wanted)?;
        if list.is_empty() {
            document.remove(name);
        } else {
            document[name] = value(list);
        }
    }
    let text = document.to_string();
    File::parse(&text).map_err(|_| broken())?;
    Ok(text)
}

/// A list with its files first, and then the words that stand in none of them.
fn list(old: Option<&Item>, folder: &Path, wanted: &[String]) -> Done<Array> {
    let old = match old {
        Some(Item::Value(Value::String(one))) => vec![one.value().clone()],
        Some(Item::Value(Value::Array(several))) => {
            several.iter().filter_map(|word| word.as_str().map(str::to_owned)).collect()
        }
        _ => Vec::new(),
    };
    let is_file = |entry: &String| folder.join(entry).is_file();
    let mut list = Array::new();
    let mut inside = Vec::new();
    for entry in old.into_iter().filter(is_file) {
        let mut file = WordOrFile::from(entry.clone());
        folder.clone_into(&mut file.folder);
        inside.extend(words(&[file])?);
        list.push(entry);
    }
    if inside.iter().any(|word| !wanted.contains(word)) {
        return Err(Failure::new(
            "a word that was taken off a list stands in a file of words",
            "take it out of that file",
        ));
    }
    for word in wanted.iter().filter(|word| !inside.contains(word)) {
        list.push(word);
    }
    Ok(list)
}

/// Writes a file whole or not at all. A new one is its owner's alone: lists hold private words.
fn write(path: &Path, text: &str) -> std::io::Result<()> {
    let mut name = path.file_name().unwrap_or_default().to_owned();
    name.push(".new");
    let new = path.with_file_name(name);
    let mut options = fs::OpenOptions::new();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = options.open(&new)?;
    file.write_all(text.as_bytes())?;
    if let Ok(old) = fs::metadata(path) {
        file.set_permissions(old.permissions())?;
    }
    file.sync_all()?;
    fs::rename(new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(protect: &[&str], keep: &[&str]) -> cape::Settings {
        let list = |words: &[&str]| words.iter().map(|&word| word.to_owned()).collect();
        cape::Settings { protect: list(protect), keep: list(keep), ..cape::Settings::default() }
    }

    #[test]
    fn the_rest_of_the_file_stays() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("names.txt"), "Ann\nBo\n").unwrap();
        let old = "# mine\nepsilon = 4 # small\nprotect = [\"names.txt\", \"Cy\"]\nkeep = \"Rome\"\n\n\
                   [proxy]\nupstream = \"http://127.0.0.1:9/v1\"\n";
        let new = saved(old, dir.path(), &settings(&["Ann", "Bo", "Di"], &[])).unwrap();
        assert_eq!(
            new,
            "# mine\nepsilon = 8.0\nprotect = [\"names.txt\", \"Di\"]\nk = 100\nprofile = \"personal\"\n\n\
             [proxy]\nupstream = \"http://127.0.0.1:9/v1\"\n"
        );
        assert!(saved(old, dir.path(), &settings(&["Ann"], &[])).is_err());
        assert!(saved("epsilon = ", dir.path(), &settings(&[], &[])).is_err());
        assert!(saved("unknown = 1\n", dir.path(), &settings(&[], &[])).is_err());
    }

    #[test]
    fn a_new_file_is_made_and_read_again() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("cape.toml");
        save(Some(&path), &settings(&["Zoë"], &["\"quoted\" phrase"])).unwrap();
        let file = File::read(Some(&path)).unwrap().settings.cape;
        assert_eq!(words(&file.protect).unwrap(), ["Zoë"]);
        assert_eq!(words(&file.keep).unwrap(), ["\"quoted\" phrase"]);
        assert_eq!((file.epsilon, file.k), (Some(8.0), Some(100)));
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }
}
