//! Bodies that come compressed, decoded within a limit: a few bytes can stand for gigabytes.

use std::io::Read;

use axum::http::{HeaderMap, header};
use brotli_decompressor::Decompressor;
use flate2::read::MultiGzDecoder;
use ruzstd::decoding::StreamingDecoder;

use crate::fault::Fault;

/// The largest window of zstd that clients of HTTP may ask for (RFC 9659).
const WINDOW: u64 = 8 << 20;

/// How a body is encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Encoding {
    Plain,
    Zstd,
    Gzip,
    Brotli,
}

impl Encoding {
    /// The one that the headers name.
    pub(super) fn of(headers: &HeaderMap) -> Result<Self, Fault> {
        let mut named = headers.get_all(header::CONTENT_ENCODING).iter();
        let (Some(value), None) = (named.next(), named.next()) else {
            let several = headers.contains_key(header::CONTENT_ENCODING);
            return if several { Err(unknown("")) } else { Ok(Self::Plain) };
        };
        let name = value.to_str().unwrap_or_default().trim().to_ascii_lowercase();
        match name.as_str() {
            "" | "identity" => Ok(Self::Plain),
            "zstd" => Ok(Self::Zstd),
            "gzip" | "x-gzip" => Ok(Self::Gzip),
            "br" => Ok(Self::Brotli),
            name => Err(unknown(name)),
        }
    }

    /// The decoded body, if it has at most `max` bytes. No more are ever decoded.
    pub(super) fn decode(self, body: Vec<u8>, max: usize) -> Result<Vec<u8>, Fault> {
        let source = body.as_slice();
        match self {
            Self::Plain => Ok(body),
            Self::Gzip => read(MultiGzDecoder::new(source), max),
            Self::Brotli => read(Decompressor::new(source, 4096), max),
            Self::Zstd => {
                let decoder = StreamingDecoder::new_with_max_window_size(source, WINDOW);
                read(decoder.map_err(|_| Fault::Encoded)?, max)
            }
        }
    }
}

/// Names an encoding, if it is a name and no text.
fn unknown(name: &str) -> Fault {
    let is_name = name.len() <= 16 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-');
    Fault::Encoding(if is_name && !name.is_empty() { name.to_owned() } else { "given".into() })
}

fn read(decoder: impl Read, max: usize) -> Result<Vec<u8>, Fault> {
    let mut decoded = Vec::new();
    let length = decoder.take(max as u64 + 1).read_to_end(&mut decoded);
    match length.map_err(|_| Fault::Encoded)? {
        length if length > max => Err(Fault::TooLarge(max)),
        _ => Ok(decoded),
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use axum::http::HeaderValue;
    use flate2::Compression;
    use flate2::write::GzEncoder;
    use proptest::prelude::*;
    use ruzstd::encoding::{CompressionLevel, compress_to_vec};

    use super::*;

    const ALL: [Encoding; 3] = [Encoding::Zstd, Encoding::Gzip, Encoding::Brotli];

    /// A message as a block of brotli that is not compressed: the window's size, the length, the bytes, the end.
    fn brotli(text: &[u8]) -> Vec<u8> {
        assert!((1..=1 << 16).contains(&text.len()), "a length of sixteen bits");
        // window of 16 bits (0), not last (0), four nibbles (00), the length, uncompressed (1)
        let head = ((text.len() - 1) as u32) << 4 | 1 << 20;
        [&head.to_le_bytes()[..3], text, &[3]].concat()
    }

    fn encode(encoding: Encoding, text: &[u8]) -> Vec<u8> {
        match encoding {
            Encoding::Plain => text.to_vec(),
            Encoding::Zstd => compress_to_vec(text, CompressionLevel::Fastest),
            Encoding::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            Encoding::Brotli => brotli(text),
        }
    }

    #[test]
    fn bodies_are_decoded_within_the_limit() {
        let text = br#"{"model": "m", "messages": []}"#.repeat(100);
        for encoding in ALL {
            let body = encode(encoding, &text);
            assert_eq!(encoding.decode(body.clone(), text.len()).unwrap(), text, "{encoding:?}");
            let over = encoding.decode(body.clone(), text.len() - 1).unwrap_err();
            assert!(matches!(over, Fault::TooLarge(_)), "{encoding:?}");
            let cut = encoding.decode(body[..body.len() / 2].to_vec(), text.len()).unwrap_err();
            assert!(matches!(cut, Fault::Encoded), "{encoding:?}");
            assert!(encoding.decode(text.clone(), text.len()).is_err(), "{encoding:?}");
        }
    }

    #[test]
    fn a_bomb_is_not_decoded() {
        let bomb = encode(Encoding::Gzip, &vec![0; 256 << 20]);
        assert!(bomb.len() < 300_000);
        assert!(matches!(Encoding::Gzip.decode(bomb, 1 << 18), Err(Fault::TooLarge(_))));
        // a frame of zstd whose header asks for a window of 1 GiB
        let greedy = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 20 << 3, 0x01, 0x00, 0x00];
        assert!(matches!(Encoding::Zstd.decode(greedy.to_vec(), 1 << 18), Err(Fault::Encoded)));
        let modest = [0x28, 0xb5, 0x2f, 0xfd, 0x00, 10 << 3, 0x01, 0x00, 0x00];
        assert_eq!(Encoding::Zstd.decode(modest.to_vec(), 1 << 18).unwrap(), b"");
    }

    #[test]
    fn another_encoding_is_named_and_a_text_is_not() {
        let of = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::CONTENT_ENCODING, HeaderValue::from_str(value).unwrap());
            }
            Encoding::of(&headers).map_err(|fault| fault.to_string())
        };
        assert_eq!(of(&[]), Ok(Encoding::Plain));
        assert_eq!(of(&["ZSTD"]), Ok(Encoding::Zstd));
        assert_eq!(of(&["identity"]), Ok(Encoding::Plain));
        assert!(of(&["compress"]).unwrap_err().contains("the content encoding compress: it reads"));
        for several in [&["gzip, br"][..], &["gzip", "br"], &["my name is canary"]] {
            let told = of(several).unwrap_err();
            assert!(told.contains("zstd, gzip and br") && !told.contains("canary"), "{told}");
        }
    }

    proptest! {
        #[test]
        fn whatever_comes_ends_within_the_limit(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for encoding in ALL {
                let mut begun = encode(encoding, b"hello there, hello there");
                begun.truncate(6);
                for body in [bytes.clone(), [begun, bytes.clone()].concat()] {
                    let decoded = encoding.decode(body, 1000);
                    prop_assert!(decoded.map_or(0, |decoded| decoded.len()) <= 1000);
                }
            }
        }
    }
}
