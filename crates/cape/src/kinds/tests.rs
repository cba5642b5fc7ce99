use super::*;
use crate::rng::seeded;
use crate::units::{Options, cut};

const NEAR: [Kind; 8] = [
    Kind::Number,
    Kind::Amount,
    Kind::Date,
    Kind::Time,
    Kind::Day,
    Kind::MonthOfYear,
    Kind::Month,
    Kind::Weekday,
];
const UNIFORM: [Kind; 5] = [Kind::Email, Kind::Url, Kind::Ip, Kind::Identifier, Kind::Secret];

fn is_one_unit(text: &str, kind: Kind) {
    for options in [
        Options::default(),
        Options { code: true, ..Options::default() },
        Options { json: true, ..Options::default() },
    ] {
        let units = cut(text, options).unwrap();
        assert_eq!(units.len(), 1, "{text}");
        assert_eq!((units[0].start, units[0].end, units[0].kind), (0, text.len(), kind), "{text}");
    }
}

#[test]
fn kinds_are_word_near_or_uniform() {
    let near = Kind::ALL.into_iter().filter(|kind| kind.is_near());
    assert!(near.eq(NEAR) && NEAR.iter().all(|&kind| grid_len(kind) > 2));
    let uniform = Kind::ALL.into_iter().filter(|kind| *kind != Kind::Word && !kind.is_near());
    assert!(uniform.eq(UNIFORM) && UNIFORM.iter().all(|&kind| grid_len(kind) == 0));
    let names: std::collections::BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.as_str()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
}

#[test]
fn every_grid_value_is_one_unit_of_its_kind_and_its_own_nearest() {
    for kind in NEAR {
        for index in 0..grid_len(kind) {
            let text = grid_text(kind, index);
            assert_eq!(grid_index(kind, &text), index, "{text}");
            is_one_unit(&text, kind);
        }
    }
}

#[test]
fn ranks_and_indices_are_inverse() {
    for kind in NEAR {
        let n = grid_len(kind);
        for from in [0, 1, 2, 5, n / 2 - 1, n / 2, n / 2 + 1, n - 3, n - 2, n - 1] {
            let mut seen = vec![false; n];
            let mut distance = 0;
            for r in 1..=n {
                let index = grid_nth(kind, from, r);
                assert_eq!(grid_rank(kind, from, index), r, "{kind:?} {from} {index}");
                assert!(!std::mem::replace(&mut seen[index], true));
                assert!(index.abs_diff(from) >= distance, "no nearer one comes later");
                distance = index.abs_diff(from);
            }
        }
        assert_eq!((grid_nth(kind, 3, 1), grid_nth(kind, 3, 2), grid_nth(kind, 3, 3)), (3, 2, 4));
    }
}

#[test]
fn values_go_to_the_nearest_of_the_grid() {
    for (text, nearest) in [
        ("0", "0"),
        ("007", "7"),
        ("15", "15"),
        ("15.00", "15"),
        ("15.4", "15"),
        ("15.5", "15"),
        ("15.6", "16"),
        ("3,14", "3"),
        ("-5", "5"),
        ("−5", "5"),
        ("+5", "5"),
        ("999", "999"),
        ("1,200", "1200"),
        ("1,234.56", "1230"),
        ("1.234,50", "1230"),
        ("1234", "1230"),
        ("1977", "1977"),
        ("2024", "2024"),
        ("2104", "2100"),
        ("2106", "2110"),
        ("45678", "45700"),
        ("1,234,567", "1230000"),
        ("9999999", "9990000"),
        ("99,999,999,999", "9990000"),
        ("1:2", "1"),
        ("4-4-2", "4"),
        ("3.11.4", "3"),
        ("1e5", "100000"),
        ("1.5e-3", "0"),
        ("1e999", "9990000"),
        ("", "0"),
        ("☪", "0"),
    ] {
        assert_eq!(grid_text(Kind::Number, grid_index(Kind::Number, text)), nearest, "{text}");
    }
    for (text, nearest) in [
        ("$1,200.50", "$1200"),
        ("15€", "$15"),
        ("€15", "$15"),
        ("£3m", "$3000000"),
        ("$2bn", "$9990000"),
        ("-$5", "$5"),
        ("US$40", "$40"),
        ("15 €", "$15"),
        ("$1.5k", "$1500"),
        ("£ 3", "$3"),
    ] {
        assert_eq!(grid_text(Kind::Amount, grid_index(Kind::Amount, text)), nearest, "{text}");
    }
    for (text, nearest) in [
        ("2024-02-29", "2024-02-29"),
        ("15/03/2024", "2024-03-15"),
        ("3/15/24", "2024-03-15"),
        ("3/4/77", "1977-03-04"),
        ("15.03.2024", "2024-03-15"),
        ("03.04.2024", "2024-04-03"),
        ("2024/3/5", "2024-03-05"),
        ("1066-10-14", "1930-01-01"),
        ("2999-01-01", "2050-12-31"),
        ("2024-03-15T14:30:00Z", "2024-03-15"),
        ("15.03.2024,5", "2024-03-15"),
        ("5:15.03.2024", "2024-03-15"),
        ("", "1930-01-01"),
    ] {
        assert_eq!(grid_text(Kind::Date, grid_index(Kind::Date, text)), nearest, "{text}");
    }
    for (text, nearest) in [
        ("14:30", "14:30"),
        ("14:32:59", "14:30"),
        ("2:33pm", "14:35"),
        ("12am", "00:00"),
        ("12PM", "12:00"),
        ("3pm", "15:00"),
        ("24:00", "23:55"),
        ("23:58", "23:55"),
        ("99pm", "00:00"),
        ("5 pm", "17:00"),
        ("9.30 a.m", "09:30"),
        ("12:15 PM", "12:15"),
        ("5.30pm", "17:30"),
        ("17:30 pm", "17:30"),
        ("17 pm", "17:00"),
    ] {
        assert_eq!(grid_text(Kind::Time, grid_index(Kind::Time, text)), nearest, "{text}");
    }
}

#[test]
fn names_of_days_and_months_have_values() {
    for (kind, text, nearest) in [
        (Kind::Day, "3 May", "3 May"),
        (Kind::Day, "Jan. 12th", "12 January"),
        (Kind::Day, "3rd of MAY", "3 May"),
        (Kind::Day, "sept 31", "30 September"),
        (Kind::Day, "29 February", "29 February"),
        (Kind::MonthOfYear, "june 2014", "June 2014"),
        (Kind::MonthOfYear, "Dec 1910", "December 1930"),
        (Kind::MonthOfYear, "May 2099", "May 2050"),
        (Kind::Month, "JULY", "July"),
        (Kind::Weekday, "monday", "Monday"),
    ] {
        assert_eq!(grid_text(kind, grid_index(kind, text)), nearest, "{text}");
    }
}

#[test]
fn the_days_of_the_grid_follow_each_other() {
    assert_eq!(grid_len(Kind::Date), 44_195); // 121 years, 30 of them leap
    let mut last = String::new();
    for index in 0..grid_len(Kind::Date) {
        let text = grid_text(Kind::Date, index);
        assert!(last < text);
        last = text;
    }
    assert_eq!((grid_text(Kind::Date, 0), last), ("1930-01-01".into(), "2050-12-31".into()));
    assert!(date::parse("2023-02-29").is_none() && date::parse("1900-02-29").is_none());
    assert!(date::parse("2000-02-29").is_some() && date::parse("0000-01-01").is_none());
}

#[test]
fn uniform_values_are_one_unit_of_their_kind_and_valid() {
    let mut rng = seeded(3, 0);
    for kind in UNIFORM {
        let values: std::collections::BTreeSet<String> =
            (0..2000).map(|_| uniform(kind, &mut rng)).collect();
        assert!(values.len() > 600, "{kind:?}");
        for value in &values {
            is_one_unit(value, kind);
        }
        if kind == Kind::Identifier {
            assert!(values.iter().all(|digits| identifier::luhn(digits).is_multiple_of(10)));
        }
    }
}

#[test]
fn every_documentation_address_can_be_drawn() {
    let mut rng = seeded(4, 0);
    let seen: std::collections::BTreeSet<_> =
        (0..20_000).map(|_| uniform(Kind::Ip, &mut rng)).collect();
    assert_eq!(seen.len(), 3 * 256);
}

#[test]
fn checksums() {
    for card in ["4111111111111111", "5555555555554444", "378282246310005"] {
        assert_eq!(identifier::luhn(card) % 10, 0);
    }
    assert_ne!(identifier::luhn("4111111111111112") % 10, 0);
    for account in ["DE89370400440532013000", "GB82WEST12345698765432"] {
        assert!(is_iban(account));
    }
    assert!(!is_iban("DE89370400440532013001") && !is_iban("DE89") && !is_iban(""));
}
