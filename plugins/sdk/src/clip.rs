//! Cutting text to a size without cutting a character in two.

/// The longest start of `text` of at most `max` bytes that ends between characters.
pub fn head(text: &str, max: usize) -> &str {
    &text[..text.floor_char_boundary(max)]
}

/// The longest end of `text` of at most `max` bytes that begins between characters.
pub fn tail(text: &str, max: usize) -> &str {
    &text[text.ceil_char_boundary(text.len().saturating_sub(max))..]
}

/// `text` if it fits into `max` bytes, else its start and a mark that says how much is missing.
/// The mark comes on top of `max`.
pub fn clip(text: &str, max: usize) -> String {
    let kept = head(text, max);
    if kept.len() == text.len() {
        return text.to_owned();
    }
    format!("{kept}… [{} more bytes]", text.len() - kept.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cuts_between_characters() {
        for (text, max, expect_head, expect_tail) in [
            ("", 0, "", ""),
            ("abc", 2, "ab", "bc"),
            ("目录", 3, "目", "录"),
            ("目录", 4, "目", "录"),
            ("目录", 2, "", ""),
            ("目录", 99, "目录", "目录"),
        ] {
            assert_eq!(head(text, max), expect_head, "head of {text:?} at {max}");
            assert_eq!(tail(text, max), expect_tail, "tail of {text:?} at {max}");
        }
    }

    #[test]
    fn says_what_is_missing() {
        assert_eq!(clip("abcdef", 6), "abcdef");
        assert_eq!(clip("目录x", 4), "目… [4 more bytes]");
    }
}
