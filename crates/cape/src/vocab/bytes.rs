//! How byte-level vocabularies write bytes: a printable character for each, `Ġ` for the space.

/// The character of a byte: its own where that is printable, else one of the 68 from U+0100 on.
fn character(byte: u8) -> char {
    let code = match byte {
        0..=32 => 256 + u32::from(byte),
        127..=160 => 289 + u32::from(byte - 127),
        173 => 323,
        printable => u32::from(printable),
    };
    char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)
}

fn byte(character: char) -> Option<u8> {
    let code = u32::from(character);
    let byte = match code {
        33..=126 | 161..=172 | 174..=255 => code,
        256..=288 => code - 256,
        289..=322 => code - 289 + 127,
        323 => 173,
        _ => return None,
    };
    u8::try_from(byte).ok()
}

/// A text as a vocabulary writes it.
pub(crate) fn written(text: &str) -> String {
    text.bytes().map(character).collect()
}

/// The bytes of an entry; none where it is not written in bytes.
pub(crate) fn read(entry: &str) -> Option<Vec<u8>> {
    entry.chars().map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tokenizers::pre_tokenizers::byte_level::ByteLevel;

    #[test]
    fn bytes_are_written_as_the_library_writes_them() {
        let characters: Vec<char> = (0..=255).map(character).collect();
        let library = ByteLevel::alphabet();
        assert_eq!(characters.len(), library.len());
        assert!(characters.iter().all(|c| library.contains(c)));
        for (b, &c) in (0..=255).zip(&characters) {
            assert_eq!(byte(c), Some(b));
        }
        assert_eq!(written(" né"), "ĠnÃ©");
        assert_eq!(read("ĠnÃ©").as_deref(), Some(" né".as_bytes()));
        assert_eq!(read("中"), None);
        assert_eq!(read(" "), None);
    }
}
