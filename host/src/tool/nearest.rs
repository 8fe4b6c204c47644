//! What somebody probably meant, for error messages only: nothing is ever run on a guess.

/// The candidates close to `wanted`, closest first, at most three. Close is: equal but for the
/// case, one contained in the other, or few changed letters for the length.
pub(super) fn nearest<'a>(wanted: &str, candidates: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    // Names come from the model; a long one costs its square, and is no slip of the pen anyway.
    if wanted.is_empty() || wanted.len() > 64 {
        return Vec::new();
    }
    let lower = wanted.to_lowercase();
    let mut close: Vec<(usize, &str)> = candidates
        .filter(|candidate| candidate.len() <= 64)
        .filter_map(|candidate| {
            let other = candidate.to_lowercase();
            let distance = distance(&lower, &other);
            let contained = lower.len() >= 3 && other.len() >= 3;
            let contained = contained && (other.contains(&lower) || lower.contains(&other));
            (contained || distance <= 1 + lower.len() / 3).then_some((distance, candidate))
        })
        .collect();
    close.sort_unstable();
    // Nothing else is close beside a name that differs in case only.
    if close.first().is_some_and(|(distance, _)| *distance == 0) {
        close.truncate(1);
    }
    close.into_iter().take(3).map(|(_, candidate)| candidate).collect()
}

/// The number of letters to insert, remove or replace (Levenshtein).
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.iter().enumerate() {
            let replaced = diagonal + usize::from(x != *y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        let tools = ["edit_file", "glob", "grep", "list_dir", "read_file", "write_file"];
        for (wanted, expect) in [
            ("readfile", &["read_file"][..]),
            ("Read_File", &["read_file"]),
            ("read", &["read_file"]),
            ("gerp", &["grep"]),
            ("launch_rocket", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(wanted, tools.into_iter()), expect, "{wanted}");
        }
    }
}
