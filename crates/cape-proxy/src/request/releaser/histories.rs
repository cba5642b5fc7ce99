//! The theorem of `ledger.md`, enumerated: two users with comparable messages, who go on by what they are
//! sent, and every transcript of their requests with its probability.
//!
//! Reading, planning and paying are the proxy's own, on a ledger. Only the draws are not made but gone
//! through: two draws are one if and only if they come from the same bytes and the same secret. Each check
//! must fail where a fault is planted.

use std::collections::{BTreeMap, HashMap};

use cape::law::Shape;
use cape::levels::Key;
use cape::lexicon::{Lexicon, Listed};
use cape::mechanism::cape::{Cape, Drawn, Settings as CapeSettings};
use cape::privacy::Epsilon;
use cape::sanitizer::{Sanitizer, written};
use cape::text::Level;
use cape_ledger::{Cost, Key as KeyFile, Ledger, Limits};
use tempfile::TempDir;

use super::{Paid, Releaser};
use crate::request::body::BodyText;
use crate::request::policy::Field;
use crate::settings::{Memory, Settings};

/// A planted fault.
#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    /// Each message is drawn for anew, though it is paid for once.
    FreshDraws,
    /// An ordinary word costs what its own law loses, and a protected one what its law does.
    ChargedByLevel,
}

/// Four listed words, each pair of which is ranked in opposite orders.
fn lexicon() -> Lexicon {
    let words = "Alice\tlf\nLondon\tlp\nasthma\tlI\nthe\tlo\n";
    let file = |magic: &[u8], rows: &[[i8; 2]]| {
        let sizes = [rows.len(), 2].map(|size| (size as u32).to_le_bytes()).concat();
        let data = rows.concat().iter().map(|v| v.cast_unsigned()).collect();
        [magic.to_vec(), sizes, data].concat()
    };
    let vectors = file(b"CAPEVEC1", &[[-100, 0], [0, 100], [0, -100], [100, 0]]);
    Lexicon::new(words, vectors, file(b"CAPENGR1", &[[3, 1], [-2, 5]])).unwrap()
}

/// ε₁ = 1 for protected words, ε₂ = 3 for ordinary ones.
fn cape() -> Cape {
    let settings = CapeSettings {
        epsilon: Epsilon::new(1.0).unwrap(),
        shape: Shape { k: 1, alpha: None },
        epsilon_ordinary: Some(Epsilon::new(3.0).unwrap()),
        ..CapeSettings::default()
    };
    Cape::new(lexicon().into(), settings).unwrap()
}

async fn releaser(memory: Memory, shared_map: bool) -> (Releaser, TempDir) {
    let dir = tempfile::tempdir().unwrap();
    let key = KeyFile::open(&dir.path().join("key")).unwrap();
    let file = dir.path().join("ledger.db");
    let ledger = Ledger::open(file.to_str().unwrap(), key).await.unwrap();
    let settings = Settings { memory, shared_map, ..Settings::default() };
    (Releaser::start(Sanitizer::words(cape()), ledger, &settings).unwrap(), dir)
}

/// A user: the texts that are new in a turn, by the texts that the service got in the turn before. None
/// ends the conversation.
type User<'a> = &'a dyn Fn(usize, &[String]) -> Option<Vec<(Field, String)>>;

/// What the service sees, turn by turn.
type Transcript = Vec<Vec<String>>;

/// One course of a conversation.
struct Course {
    transcript: Transcript,
    probability: f64,
    /// The counters after each turn.
    counted: Vec<Cost>,
    /// The outcome of each draw, in order.
    outcomes: Vec<usize>,
}

/// Goes through a conversation with an account of its own. Draws have these outcomes, and the first one
/// where none is given.
async fn course(
    releaser: &Releaser,
    user: User<'_>,
    fault: Fault,
    given: &[usize],
    name: &str,
) -> Course {
    let cape = releaser.sanitizer.cape().unwrap();
    let account = releaser.ledger.account(b"key", name);
    let mut said: Vec<BodyText> = Vec::new();
    let mut drawn: HashMap<(usize, [u8; 32], Vec<u8>), usize> = HashMap::new();
    let mut course =
        Course { transcript: vec![], probability: 1.0, counted: vec![], outcomes: vec![] };
    let (mut sent, mut sum) = (Vec::new(), Cost::default());
    for turn in 0.. {
        let Some(new) = user(turn, &sent) else { break };
        for (field, text) in new {
            said.push(BodyText { field, text, passes: false, begins: said.is_empty(), own: false });
        }
        let read = releaser.read(&account, &said).await.unwrap();
        assert!(read.known.is_empty());
        let Paid { planned, secrets, mut spent } =
            releaser.pay(&account, &said, &read).await.unwrap();
        let mut secrets = secrets.into_iter();
        sent.clear();
        let mut by_level = 0.0;
        for (i, planned) in planned.iter().enumerate() {
            let mut words = Vec::new();
            for key in &planned.plan.keys {
                let secret = secrets.next().unwrap();
                // a message of a later turn is another message
                let message = if fault == Fault::FreshDraws { 1 + turn * 100 + i } else { 0 };
                let name = (message, secret, cape.drawn_from(key));
                let word = *drawn.entry(name).or_insert_with(|| {
                    let word = given.get(course.outcomes.len()).copied().unwrap_or(0);
                    course.outcomes.push(word);
                    course.probability *= probability(cape, key, word);
                    by_level += cape.law(key.level).epsilon();
                    word
                });
                words.push(Drawn::Word(Listed(word as u32)));
            }
            sent.push(written(cape, &planned.text, &planned.plan, &words, false).text);
        }
        if fault == Fault::ChargedByLevel {
            spent.epsilon = Cost::new(1, by_level).epsilon;
        }
        sum = sum.plus(spent);
        course.counted.push(sum);
        course.transcript.push(sent.clone());
    }
    course
}

/// How probable it is that a key becomes this word, by the integers that are drawn from.
fn probability(cape: &Cape, key: &Key, word: usize) -> f64 {
    let share = cape.row(key).unwrap()[word];
    share.weight as f64 / share.total as f64
}

/// All transcripts of a user, each with its probability and the counters after each turn.
async fn transcripts(
    releaser: &Releaser,
    user: User<'_>,
    fault: Fault,
) -> BTreeMap<Transcript, (f64, Vec<Cost>)> {
    let n = cape().lexicon().len();
    let (mut all, mut given) = (BTreeMap::new(), Vec::new());
    for number in 0_usize.. {
        let course = course(releaser, user, fault, &given, &number.to_string()).await;
        let known: &mut (f64, Vec<Cost>) =
            all.entry(course.transcript).or_insert((0.0, course.counted));
        known.0 += course.probability;
        // the next outcomes, as an odometer counts
        given = course.outcomes;
        while given.last() == Some(&(n - 1)) {
            given.pop();
        }
        let Some(last) = given.last_mut() else { break };
        *last += 1;
    }
    let whole: f64 = all.values().map(|(probability, _)| probability).sum();
    assert!((whole - 1.0).abs() < 1e-9, "{whole}");
    all
}

/// What two users' transcripts give away.
struct Loss {
    /// The largest logarithm of a quotient of probabilities.
    worst: f64,
    /// Whether what is counted is the same for both, and no transcript gives away more than is counted.
    counted: bool,
    /// The number of transcripts, and the counters of the longest.
    transcripts: usize,
    most: Cost,
}

async fn compare(
    memory: Memory,
    shared_map: bool,
    fault: Fault,
    [one, other]: [User<'_>; 2],
) -> Loss {
    // two ledgers: neither user pays for the other
    let (first, _dir) = releaser(memory, shared_map).await;
    let (second, _dir) = releaser(memory, shared_map).await;
    let one = transcripts(&first, one, fault).await;
    let other = transcripts(&second, other, fault).await;
    let mut loss =
        Loss { worst: 0.0, counted: true, transcripts: one.len(), most: Cost::default() };
    let nothing = (0.0, Vec::new());
    for transcript in one.keys().chain(other.keys()) {
        let (p, counted) = one.get(transcript).unwrap_or(&nothing);
        let (q, also) = other.get(transcript).unwrap_or(&nothing);
        let own = (p / q).ln().abs();
        loss.worst = loss.worst.max(own);
        let charged = counted.last().copied().unwrap_or_default();
        loss.counted &= counted == also && own <= charged.epsilon.epsilon() + 1e-9;
        if charged.draws > loss.most.draws {
            loss.most = charged;
        }
    }
    loss
}

fn stated() -> (f64, f64) {
    let guarantee = cape().guarantee();
    (guarantee.protected, guarantee.bound)
}

fn at_most(loss: f64, stated: f64) -> bool {
    loss <= stated + 1e-9
}

/// Says a word in each of three turns.
fn repeats(word: &'static str) -> impl Fn(usize, &[String]) -> Option<Vec<(Field, String)>> {
    move |turn, _| {
        let said = [word.to_owned(), format!("{word}, {word}"), word.to_owned()];
        Some(vec![(Field::User, said.get(turn)?.clone())])
    }
}

/// Says a word, and goes on by what became of it.
fn adapts(word: &'static str) -> impl Fn(usize, &[String]) -> Option<Vec<(Field, String)>> {
    move |turn, sent| {
        let text = match (turn, sent.last().map(String::as_str)) {
            (0, _) => word.to_owned(),
            (1, Some("Alice")) => format!("\"London\" {word}"),
            (1, Some("London")) => "the the".to_owned(),
            // written with a capital, since it stands first
            (2, Some("The the")) => format!("London {word}"),
            _ => return None,
        };
        Some(vec![(Field::User, text)])
    }
}

/// Says a word, and has a tool fetch a page that the service knows.
fn fetches(word: &'static str) -> impl Fn(usize, &[String]) -> Option<Vec<(Field, String)>> {
    move |turn, _| match turn {
        0 => Some(vec![(Field::User, word.to_owned())]),
        1 => Some(vec![(Field::ToolResults, "Alice London".to_owned())]),
        _ => None,
    }
}

/// Two words that are protected, and one that is not.
const PROTECTED: [&str; 2] = ["Alice", "asthma"];
const ORDINARY: &str = "the";

#[tokio::test]
async fn a_protected_word_costs_its_loss_once_however_often_it_is_used() {
    let (protected, any) = stated();
    let users: [User<'_>; 2] = [&repeats(PROTECTED[0]), &repeats(PROTECTED[1])];
    for memory in [Memory::Account, Memory::Conversation] {
        let loss = compare(memory, false, Fault::None, users).await;
        assert!(at_most(loss.worst, protected) && loss.counted, "{}", loss.worst);
        // and it is reached: the check has power
        assert!(loss.worst > 0.9 * protected, "{}", loss.worst);
        assert_eq!((loss.transcripts, loss.most.draws, loss.most.maps), (4, 1, 1));
        assert_eq!(loss.most.epsilon, Cost::new(1, any).epsilon);
    }
    // drawn anew in each request, it costs as often, and that is counted
    let loss = compare(Memory::None, false, Fault::None, users).await;
    assert!(at_most(loss.worst, 3.0 * protected) && loss.counted);
    assert!(loss.worst > 2.5 * protected);
    assert_eq!((loss.transcripts, loss.most.draws, loss.most.maps), (64, 3, 3));
    // drawn anew and not counted, it is found
    let fault = compare(Memory::Account, false, Fault::FreshDraws, users).await;
    assert!(!at_most(fault.worst, protected), "{}", fault.worst);
}

#[tokio::test]
async fn users_may_go_on_by_what_they_are_sent() {
    let (protected, any) = stated();
    let users: [User<'_>; 2] = [&adapts(PROTECTED[0]), &adapts(PROTECTED[1])];
    let loss = compare(Memory::Account, false, Fault::None, users).await;
    assert!(at_most(loss.worst, protected) && loss.counted, "{}", loss.worst);
    assert!(loss.transcripts > 8 && loss.most.draws > 2, "{}", loss.transcripts);
    let fault = compare(Memory::Account, false, Fault::FreshDraws, users).await;
    assert!(!at_most(fault.worst, protected), "{}", fault.worst);
    // an ordinary word in the place of a protected one
    let users: [User<'_>; 2] = [&repeats(PROTECTED[0]), &repeats(ORDINARY)];
    let loss = compare(Memory::Account, false, Fault::None, users).await;
    assert!(at_most(loss.worst, any) && !at_most(loss.worst, protected) && loss.counted);
}

#[tokio::test]
async fn text_that_the_service_knows_has_a_map_of_its_own() {
    let (protected, _) = stated();
    for memory in [Memory::Account, Memory::Conversation] {
        let users: [User<'_>; 2] = [&fetches("Alice"), &fetches("London")];
        let loss = compare(memory, false, Fault::None, users).await;
        assert!(at_most(loss.worst, protected), "{}", loss.worst);
        assert_eq!((loss.transcripts, loss.most.draws, loss.most.maps), (64, 3, 2));
        assert!(loss.counted);
        // the words of the page would tell what Alice became
        let shared = compare(memory, true, Fault::None, users).await;
        assert_eq!(shared.worst, f64::INFINITY);
    }
}

#[tokio::test]
async fn what_is_counted_does_not_depend_on_levels() {
    let users: [User<'_>; 2] = [&repeats(PROTECTED[0]), &repeats(ORDINARY)];
    let loss = compare(Memory::Account, false, Fault::None, users).await;
    assert!(loss.counted);
    let fault = compare(Memory::Account, false, Fault::ChargedByLevel, users).await;
    assert!(!fault.counted);
    // both protected, it would even pass: the check needs both levels
    let users: [User<'_>; 2] = [&repeats(PROTECTED[0]), &repeats(PROTECTED[1])];
    assert!(compare(Memory::Account, false, Fault::ChargedByLevel, users).await.counted);
}

/// Limits hold before anything is drawn: a refused request leaves no trace, and gives no secret away.
#[tokio::test]
async fn a_limit_is_checked_before_the_draw() {
    let (releaser, _dir) = releaser(Memory::Account, false).await;
    let total = Some(Cost::new(1, stated().1).epsilon);
    releaser.set_limits(Limits { total, ..Limits::default() });
    let account = releaser.ledger.account(b"key", "");
    let said = |text: &str| {
        vec![BodyText {
            field: Field::User,
            text: text.into(),
            passes: false,
            begins: true,
            own: false,
        }]
    };
    let two = said("Alice asthma");
    let read = releaser.read(&account, &two).await.unwrap();
    assert!(releaser.pay(&account, &two, &read).await.is_err());
    let released = releaser.conversation(&account, &said("Alice")).await.unwrap();
    assert_eq!((released.spent.draws, released.spent.maps), (1, 1));
    let level = |text: &str| cape().plan(text).unwrap().keys[0].level;
    assert_eq!(PROTECTED.map(level), [Level::Protected; 2]);
    assert_eq!(level(ORDINARY), Level::Ordinary);
}
