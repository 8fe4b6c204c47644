//! Cutting text to a budget of bytes without splitting a character, and saying so.

/// The largest index at or below `at` that does not split a character.
pub fn floor_boundary(text: &str, at: usize) -> usize {
    if at >= text.len() {
        return text.len();
    }
    (0..=at).rev().find(|&i| text.is_char_boundary(i)).unwrap_or(0)
}

/// At most `limit` bytes of the beginning, then how much was left out.
pub fn clip_end(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let kept = floor_boundary(text, limit);
    format!("{}… [{} bytes more]", &text[..kept], text.len() - kept)
}

/// Beginning and end, `limit` bytes together, with the middle replaced by a note of its size.
pub fn clip_middle(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let head = floor_boundary(text, limit / 2);
    let tail_at = text.len() - (limit - limit / 2);
    let tail = (tail_at..=text.len()).find(|&i| text.is_char_boundary(i)).unwrap_or(text.len());
    format!("{}\n[… {} bytes left out …]\n{}", &text[..head], tail - head, &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_character_is_never_split() {
        for limit in 0..12 {
            for clipped in [clip_end("目录目录", limit), clip_middle("目录目录", limit)] {
                assert!(!clipped.contains('\u{fffd}'), "{limit}: {clipped}");
            }
        }
    }

    #[test]
    fn what_fits_is_left_alone() {
        assert_eq!(clip_end("abc", 3), "abc");
        assert_eq!(clip_middle("abc", 3), "abc");
    }

    #[test]
    fn the_note_counts_what_is_gone() {
        assert_eq!(clip_end("abcdef", 2), "ab… [4 bytes more]");
        assert_eq!(clip_middle("abcdefgh", 4), "ab\n[… 4 bytes left out …]\ngh");
    }
}
