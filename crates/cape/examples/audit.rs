//! The exact audit of one draw: its largest loss beside the stated ε, computed from the integers.
//!
//! ```text
//! cargo run -p cape --example audit
//! ```

use cape::audit::keys::KeyAudit;
use cape::lexicon::Listed;
use cape::{Cape, Kind, Lexicon, Settings};

fn main() -> cape::Result<()> {
    let cape = Cape::new(Lexicon::embedded(), Settings::default())?;
    // one listed word in 500 against Alice and a string that nobody knows; `cape audit exact` takes all
    let words = KeyAudit::of_lexicon(cape.lexicon(), 0).step_by(500).chain(["Alice", "Xyzzy"]);
    let audit = KeyAudit::new(&cape, words, false);
    let inputs = audit.inputs();
    let rows = (0..inputs.len() as u32).fold(audit.start(), |rows, i| audit.add(rows, i));

    let stated = cape.guarantee_for(&[Kind::Word]);
    for (between, found, stated) in [
        ("two protected words", rows.protected(), stated.protected),
        ("any two words", rows.any(), stated.bound),
    ] {
        let Some(found) = found else { continue };
        let word = |input: u32| &inputs[input as usize].word;
        let released = cape.lexicon().word(Listed(found.output as u32));
        println!("between {between}: loss {:.6}, stated {stated:.6}", found.loss());
        let [likely, unlikely] = [found.span.most, found.span.least].map(|side| word(side.input));
        println!("  {released:?} comes most from {likely:?}, least from {unlikely:?}");
        assert!(found.loss() <= stated);
    }
    Ok(())
}
