//! A stream of server-sent events, cut at its blank lines and nowhere else.

/// More than this without a blank line is no event.
const LONGEST: usize = 4 << 20;

/// What is no stream of events.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Malformed;

/// Collects bytes until they are whole events.
#[derive(Default)]
pub(crate) struct Events {
    bytes: Vec<u8>,
    /// How many of them have been looked through.
    seen: usize,
}

impl Events {
    /// Gives `whole` the events that are whole now, each with its blank line, however the bytes were
    /// cut; those before what is malformed, too.
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        whole: &mut impl Extend<String>,
    ) -> Result<(), Malformed> {
        self.bytes.extend_from_slice(bytes);
        let mut begin = 0;
        while let Some(end) = end(&self.bytes, begin.max(self.seen)) {
            let event = self.bytes[begin..end].to_vec();
            begin = end;
            whole.extend([check(event)?]);
        }
        self.bytes.drain(..begin);
        // a blank line has at most four bytes, three of which may be here
        self.seen = self.bytes.len().saturating_sub(3);
        if self.bytes.len() > LONGEST { Err(Malformed) } else { Ok(()) }
    }

    /// What is left when the stream ends: nothing, or an event without its blank line.
    pub(crate) fn end(&mut self) -> Result<Option<String>, Malformed> {
        let mut rest = std::mem::take(&mut self.bytes);
        if rest.iter().all(u8::is_ascii_whitespace) {
            return Ok(None);
        }
        rest.extend_from_slice(b"\n\n");
        check(rest).map(Some)
    }
}

/// Where the first event ends.
fn end(bytes: &[u8], from: usize) -> Option<usize> {
    (from..bytes.len()).find_map(|at| {
        let blank = [&b"\n\n"[..], b"\r\n\r\n", b"\r\r"];
        blank.iter().find(|blank| bytes[at..].starts_with(blank)).map(|blank| at + blank.len())
    })
}

/// An event has lines of known fields, and data that are JSON or the end.
fn check(event: Vec<u8>) -> Result<String, Malformed> {
    let event = String::from_utf8(event).map_err(|_| Malformed)?;
    for line in event.lines() {
        let field = line.split_once(':').map_or(line, |(field, _)| field);
        if !["", "data", "event", "id", "retry"].contains(&field) {
            return Err(Malformed);
        }
    }
    match data(&event) {
        // some keep a connection alive by no data at all
        Some(data) if data != "[DONE]" && !data.is_empty() => {
            serde_json::from_str::<serde::de::IgnoredAny>(&data).map_err(|_| Malformed)?;
        }
        _ => {}
    }
    Ok(event)
}

/// The data of an event, if it has any.
pub(crate) fn data(event: &str) -> Option<String> {
    let lines = event.lines().filter_map(|line| line.strip_prefix("data:"));
    let lines: Vec<&str> = lines.map(|line| line.strip_prefix(' ').unwrap_or(line)).collect();
    (!lines.is_empty()).then(|| lines.join("\n").trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &str = "data: {\"a\": \"Zürich 🦀\"}\n\nevent: x\r\ndata: {\"b\":\r\ndata: 1}\r\n\r\n: ping\n\ndata: [DONE]\n\n";

    /// The events of a stream that comes in these pieces.
    fn pushed<'a>(pieces: impl IntoIterator<Item = &'a [u8]>) -> Vec<String> {
        let (mut events, mut found) = (Events::default(), Vec::new());
        for piece in pieces {
            events.push(piece, &mut found).unwrap();
        }
        assert_eq!(events.end(), Ok(None));
        found
    }

    #[test]
    fn every_cut_gives_the_same_events() {
        let bytes = STREAM.as_bytes();
        let whole = pushed([bytes]);
        assert_eq!(whole.len(), 4);
        assert_eq!(whole.concat(), STREAM);
        for first in 0..STREAM.len() {
            for second in first..STREAM.len() {
                let cut = [&bytes[..first], &bytes[first..second], &bytes[second..]];
                assert_eq!(pushed(cut), whole);
            }
        }
        assert_eq!(pushed(bytes.chunks(1)), whole);
    }

    #[test]
    fn data_are_joined() {
        let data: Vec<Option<String>> =
            pushed([STREAM.as_bytes()]).iter().map(|event| data(event)).collect();
        assert_eq!(data[1].as_deref(), Some("{\"b\":\n1}"));
        assert_eq!((data[2].as_deref(), data[3].as_deref()), (None, Some("[DONE]")));
    }

    #[test]
    fn what_is_no_event_is_malformed() {
        let endless = vec![b'a'; LONGEST + 1];
        let wrong: [&[u8]; 5] = [
            b"<html>\n\n",
            b"data: {\n\n",
            b"data: {}\nfoo: 1\n\n",
            b"data: \"\xff\"\n\n",
            &endless,
        ];
        for wrong in wrong {
            let mut found = Vec::new();
            let bytes = [b"data: 1\n\n", wrong].concat();
            assert_eq!(Events::default().push(&bytes, &mut found), Err(Malformed));
            assert_eq!(found, ["data: 1\n\n"]);
        }
        let mut cut = Events::default();
        assert_eq!(cut.push(b"data: {\"a\"", &mut Vec::new()), Ok(()));
        assert_eq!(cut.end(), Err(Malformed));
        let mut last = Events::default();
        assert_eq!(last.push(b"data:\n\ndata: [DONE]\n", &mut Vec::new()), Ok(()));
        assert_eq!(last.end(), Ok(Some("data: [DONE]\n\n\n".into())));
    }
}
