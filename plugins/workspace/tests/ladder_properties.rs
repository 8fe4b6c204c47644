//! Whatever the texts are: a match changes nothing outside itself, and an exact one is a plain
//! replacement.
#![allow(clippy::unwrap_used)]

use clawhold_workspace::edit::{ladder, splice};
use proptest::prelude::*;

/// Texts over a small alphabet, so that matches, near matches and repetitions are frequent.
fn text(len: std::ops::Range<usize>) -> impl Strategy<Value = String> {
    let piece = prop_oneof![
        Just("a"),
        Just("b"),
        Just("ab"),
        Just(" "),
        Just("  "),
        Just("\t"),
        Just("\n"),
        Just("\n"),
        Just("\r\n"),
        Just("\r"),
        Just("é"),
        Just("“"),
        Just("\""),
        Just("–"),
        Just("-"),
        Just("\u{a0}"),
    ];
    proptest::collection::vec(piece, len).prop_map(|pieces| pieces.concat())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn only_the_matched_bytes_change(file in text(0..40), old in text(1..8), new in text(0..8)) {
        let (file, old, new) = (file.as_bytes(), old.as_bytes(), new.as_bytes());
        if let Ok(found) = ladder::find(file, old, false) {
            prop_assert_eq!(found.places.len(), 1);
            let place = &found.places[0];
            prop_assert!(place.span.start <= place.span.end && place.span.end <= file.len());
            let (bytes, more) = splice::replacement(file, old, new, &found, place);
            prop_assert!(place.span.end + more <= file.len());
            prop_assert!(std::str::from_utf8(&bytes).is_ok());
            if found.level == ladder::Level::Exact {
                prop_assert_eq!(&file[place.span.clone()], old);
                // Nothing but line ends may differ from what the caller gave.
                let plain = |bytes: &[u8]| String::from_utf8_lossy(bytes).replace(['\r', '\n'], "");
                prop_assert_eq!(plain(&bytes), plain(new));
            }
        }
    }

    #[test]
    fn every_match_at_once_never_overlaps(file in text(0..40), old in text(1..4)) {
        if let Ok(found) = ladder::find(file.as_bytes(), old.as_bytes(), true) {
            for pair in found.places.windows(2) {
                prop_assert!(pair[0].span.end <= pair[1].span.start);
            }
        }
    }

    #[test]
    fn leaving_the_old_text_as_it_is_changes_nothing(file in text(0..40), old in text(1..8)) {
        let (file, old) = (file.as_bytes(), old.as_bytes());
        if let Ok(found) = ladder::find(file, old, false) {
            let place = &found.places[0];
            let (bytes, more) = splice::replacement(file, old, old, &found, place);
            prop_assert_eq!(&bytes[..], &file[place.span.clone()]);
            prop_assert_eq!(more, 0);
        }
    }

    #[test]
    fn what_is_cut_out_of_a_file_is_found(file in text(1..40), from in 0..200_usize, len in 1..40_usize) {
        let from = file.floor_char_boundary(from % file.len());
        let to = file.ceil_char_boundary((from + len).min(file.len()));
        let found = ladder::find(file.as_bytes(), &file.as_bytes()[from..to], false);
        match found {
            Ok(found) => prop_assert_eq!(found.places[0].span.clone(), from..to),
            Err(miss) => prop_assert!(matches!(miss, ladder::Miss::Many { level: ladder::Level::Exact, .. }), "{:?}", miss),
        }
    }
}
