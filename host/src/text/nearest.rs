//! The name somebody probably meant.

/// The candidate closest to `word`, where it is close enough to be worth naming: at most a third
/// of its letters away, transposed neighbours counting once.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    candidates
        .into_iter()
        .map(|candidate| (distance(word, candidate), candidate))
        .filter(|(distance, candidate)| *distance <= candidate.chars().count().div_ceil(3))
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, candidate)| candidate)
}

/// Edits between two words: insertion, deletion, substitution, and exchange of neighbours
/// (optimal string alignment). Words are cut at 64 letters, so that no input takes long.
fn distance(a: &str, b: &str) -> usize {
    let a: Vec<char> = a.chars().take(64).collect();
    let b: Vec<char> = b.chars().take(64).collect();
    let mut rows = vec![vec![0; b.len() + 1]; a.len() + 1];
    rows[0] = (0..=b.len()).collect();
    for (i, row) in rows.iter_mut().enumerate() {
        row[0] = i;
    }
    for i in 1..=a.len() {
        for j in 1..=b.len() {
            let changed = usize::from(a[i - 1] != b[j - 1]);
            let mut best =
                (rows[i - 1][j] + 1).min(rows[i][j - 1] + 1).min(rows[i - 1][j - 1] + changed);
            if i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] {
                best = best.min(rows[i - 2][j - 2] + 1);
            }
            rows[i][j] = best;
        }
    }
    rows[a.len()][b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn close_words_only() {
        let check = |word: &str, expect: Option<&str>| {
            assert_eq!(nearest(word, ["openai", "ollama", "model", "base_url"]), expect, "{word}");
        };
        check("opanai", Some("openai"));
        check("oepnai", Some("openai"));
        check("ollma", Some("ollama"));
        check("modle", Some("model"));
        check("baseurl", Some("base_url"));
        check("zzz", None);
        check("", None);
    }
}
