//! Text fidelity: kept text byte for byte, nothing sensitive verbatim, whatever the Unicode.

use std::path::Path;
use std::sync::{Arc, LazyLock};

use cape::mechanism::Mechanism;
use cape::mechanism::cape_paper::{CapePaper, Settings};
use cape::rng::seeded;
use cape::tokens::{Context, KeepList, LanguageModel, Outcome, assemble, recover};
use cape::{About, Epsilon, Level, Sanitizer, Secret};
use cape_models::{DEFAULT, Device, Files};
use proptest::prelude::*;

static TINY: LazyLock<Device> = LazyLock::new(|| {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fixtures/bert-tiny");
    Files::read(&dir).unwrap().load().unwrap()
});
static BIG: LazyLock<Device> = LazyLock::new(|| cape_models::load(DEFAULT).unwrap());

fn mechanism(device: &Device, context: Context) -> CapePaper {
    let paper = Settings::new(Epsilon::new(6.0).unwrap());
    let settings = Settings { context, ..paper };
    CapePaper::new(Arc::clone(&device.model) as Arc<dyn LanguageModel>, settings).unwrap()
}

fn sanitizer(device: &Device, context: Context) -> Sanitizer {
    let mechanism = Box::new(mechanism(device, context));
    let about = About { mechanism: "cape-paper", words: None, fingerprint: "of tests".into() };
    Sanitizer::tokens(Arc::clone(&device.tokenizer), KeepList::default(), mechanism, about)
}

/// Pieces that are hard on tokenizers, and ordinary words between them.
fn text() -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        4 => prop::sample::select(vec![
            "good", "The", "book", "doctor's", "it", "IT", "slowly", "walking", "theology", "42",
        ]).prop_map(str::to_owned),
        2 => prop::sample::select(vec![" ", "  ", "\t", "\n", "\r\n", "\u{a0}", "\u{2003}"])
            .prop_map(str::to_owned),
        2 => prop::sample::select(vec![
            "é", "e\u{301}", "ß", "İ", "東京", "한국", "👩\u{200d}👩\u{200d}👧", "🙂\u{fe0f}", "\u{200b}",
            "\u{feff}", "\u{fffd}", "ﬁ", "½", "ﷺ", "\u{1f1e9}\u{1f1ea}", "[MASK]", "[unused1]", "##ing",
        ]).prop_map(str::to_owned),
        1 => prop::sample::select(vec![",", ".", "!", "--", "'", "“", "…", "://", "@"])
            .prop_map(str::to_owned),
        1 => "\\PC{1,4}",
    ];
    prop::collection::vec(piece, 0..14).prop_map(|pieces| pieces.concat())
}

/// The parts of the text that must come back: kept tokens and the white space between tokens.
fn check(device: &Device, text: &str, context: Context, seed: u64) {
    let release = sanitizer(device, context).release(text, &Secret::seeded(seed, 0)).unwrap();
    let mut rest = release.text.as_str();
    let mut at = 0;
    for token in &release.words {
        let gap = &text[at..token.start];
        assert!(gap.chars().all(char::is_whitespace), "only white space between tokens");
        rest = rest.strip_prefix(gap).expect("white space survives");
        // where words met without a space one may have been put in
        if !rest.starts_with(token.released.as_str()) {
            rest = rest.strip_prefix(' ').expect("a space and nothing else");
        }
        rest = rest.strip_prefix(token.released.as_str()).expect("tokens in order");
        if token.level == Level::Kept {
            assert_eq!(token.released, text[token.start..token.end], "byte for byte");
        }
        at = token.end;
    }
    assert_eq!(rest, &text[at..]);
    assert!(text[at..].chars().all(char::is_whitespace));
    device.tokenizer.tokenize(&release.text, &KeepList::default()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn kept_text_survives(text in text(), raw: bool, seed: u64) {
        let context = if raw { Context::Raw } else { Context::Released };
        check(&TINY, &text, context, seed);
    }

    #[test]
    fn any_unicode_is_perturbed_or_refused(text in any::<String>()) {
        let done = sanitizer(&TINY, Context::Raw).release(&text, &Secret::seeded(1, 0));
        let control = |c: char| c.is_control() && !matches!(c, '\t' | '\n' | '\r');
        prop_assert_eq!(done.is_err(), text.chars().any(control));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// Sensitive tokens reach the output through their draws alone: two prompts of the same public
    /// structure with the same outcomes become the same bytes, and show the model the same.
    #[test]
    fn comparable_prompts_with_equal_outcomes_are_released_alike(
        words in prop::collection::vec(0_usize..8, 3..8), seed: u64,
    ) {
        // alike in structure, different in words, in case and in characters
        const PAIRS: [(&str, &str); 8] = [
            ("good", "SLOW"), ("Book", "film"), ("london", "Doctor"), ("the", "the"), (",", ","),
            ("secret", "\u{1F642}"), ("letter", "e\u{301}"), ("42", "\u{200b}x\u{301}"),
        ];
        let text = |side: fn(&(&'static str, &'static str)) -> &'static str| {
            words.iter().map(|&w| side(&PAIRS[w])).collect::<Vec<_>>().join(" \t")
        };
        let (a, b) = (text(|pair| pair.0), text(|pair| pair.1));
        let keep = KeepList::default();
        let tokenize = |text: &str| TINY.tokenizer.tokenize(text, &keep).unwrap();
        let (ta, tb) = (tokenize(&a), tokenize(&b));
        prop_assume!(ta.as_slice().len() == tb.as_slice().len());
        for (x, y) in ta.as_slice().iter().zip(tb.as_slice()) {
            prop_assert!(x.kept == y.kept && x.piece == y.piece);
        }
        let outcomes =
            mechanism(&TINY, Context::Released).perturb(&ta, &mut seeded(seed, 0));
        let outcomes = outcomes.unwrap();
        let vocab = TINY.model.vocab();
        let (ra, rb) = (assemble(&a, &ta, &outcomes, vocab), assemble(&b, &tb, &outcomes, vocab));
        prop_assert!(ra.0 == rb.0);
    }
}

#[test]
fn the_default_models_tokenizer_too() {
    let texts = [
        "It's a naïve café\tin 東京,\n\nisn't it? 👩\u{200d}👩\u{200d}👧 ok\u{200b} \u{200b} …",
        "e\u{301}clair the\u{301} of \u{301} x",
        "theology of the Theologian",
        "한국어 and ﷺ and ½ and ﬁne",
    ];
    for (seed, text) in (0..).zip(texts) {
        check(&BIG, text, Context::Released, seed);
    }
}

/// Characters that the tokenizer drops must not pass through: they belong to the token that it touches, or to
/// an unknown token of its own.
#[test]
fn dropped_characters_are_sensitive() {
    let keep = KeepList::default();
    for text in ["the\u{301}", "\u{200b}the", "a \u{200b} the", "\u{fffd}"] {
        let tokens = BIG.tokenizer.tokenize(text, &keep).unwrap();
        let kept: String = tokens
            .as_slice()
            .iter()
            .filter(|token| token.kept.is_some())
            .map(|token| &text[token.start..token.end])
            .collect();
        assert!(kept.is_ascii(), "something odd is kept in {text:?}");
        assert!(tokens.sensitive().count() >= 1, "{text:?}");
    }
}

#[test]
fn a_special_token_typed_by_a_user_is_text() {
    let keep = KeepList::default();
    let tokens = BIG.tokenizer.tokenize("a [MASK] b", &keep).unwrap();
    let ids: Vec<_> = tokens.as_slice().iter().map(|token| token.id).collect();
    assert!(!ids.contains(&BIG.model.mask()));
    assert_eq!(ids.len(), 5);
}

/// Longer than the model: windows, never truncation.
#[test]
fn long_texts_are_perturbed_to_the_end() {
    let text = "good book and slow journey ".repeat(40);
    for context in [Context::Released, Context::Raw] {
        let release = sanitizer(&TINY, context).release(&text, &Secret::seeded(3, 0)).unwrap();
        assert_eq!(release.words.len(), 200);
        assert_eq!(release.privacy.draws, 160);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    /// The drawn tokens can be read off the released text: they are one way to cut it up.
    #[test]
    fn releases_can_be_read_back(text in text(), seed: u64) {
        let mechanism = mechanism(&TINY, Context::Raw);
        let (keep, vocab) = (KeepList::default(), TINY.model.vocab());
        let tokens = TINY.tokenizer.tokenize(&text, &keep).unwrap();
        let outcomes = mechanism.perturb(&tokens, &mut seeded(seed, 0)).unwrap();
        let (released, _) = assemble(&text, &tokens, &outcomes, vocab);
        let drawn = recover(&text, &tokens, &released, vocab).expect("it is a release");
        let again: Vec<Outcome> = drawn
            .iter()
            .zip(&outcomes)
            .map(|(id, outcome)| id.map_or(*outcome, |id| Outcome::Drawn { id, retention: 0.0 }))
            .collect();
        prop_assert!(assemble(&text, &tokens, &again, vocab).0 == released);
    }
}

#[test]
fn reading_back_is_exact_for_single_pieces_and_refuses_what_is_no_release() {
    let text = "the doctor was slow to a secret letter";
    let (keep, vocab) = (KeepList::default(), TINY.model.vocab());
    let tokens = TINY.tokenizer.tokenize(text, &keep).unwrap();
    let mechanism = mechanism(&TINY, Context::Released);
    for seed in 0..40 {
        let outcomes = mechanism.perturb(&tokens, &mut seeded(seed, 0)).unwrap();
        let (released, _) = assemble(text, &tokens, &outcomes, vocab);
        let drawn = recover(text, &tokens, &released, vocab).unwrap();
        for ((outcome, drawn), token) in outcomes.iter().zip(drawn).zip(tokens.as_slice()) {
            match outcome {
                // a piece of the other kind may look like one of the position's, which is taken then
                Outcome::Drawn { id, .. } if vocab.piece(*id) == Some(token.piece) => {
                    assert!(Some(*id) == drawn);
                }
                Outcome::Drawn { id, .. } => {
                    assert!(drawn.is_some_and(|drawn| vocab.surface(*id) == vocab.surface(drawn)));
                }
                _ => assert!(drawn.is_none()),
            }
        }
    }
    for other in ["", "the doctor", "a doctor was slow to a secret letter", "the zzz was a"] {
        assert!(recover(text, &tokens, other, vocab).is_none());
    }
}

#[test]
fn listed_phrases_are_kept() {
    let mut keep = KeepList::default();
    BIG.tokenizer.keep("東京\nNew York\n\nzürich", &mut keep).unwrap();
    let text = "new york, 東京 and Zürich or York";
    let tokens = BIG.tokenizer.tokenize(text, &keep).unwrap();
    let sensitive: Vec<&str> = tokens
        .sensitive()
        .map(|i| &text[tokens.as_slice()[i].start..tokens.as_slice()[i].end])
        .collect();
    assert_eq!(sensitive, ["York"]);
}
