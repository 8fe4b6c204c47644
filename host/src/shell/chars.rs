//! Which characters may stand in a command line, and which need no quotes there.

/// Characters that mean themselves in every position of an unquoted word: the shell's ordinary
/// ones, and the letters and digits of all scripts.
pub(super) fn is_plain(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric()
            || matches!(c, '_' | '.' | '/' | ',' | ':' | '=' | '@' | '%' | '+' | '-')
    } else {
        c.is_alphanumeric()
    }
}

/// Characters that a reader cannot see or that rearrange what they see: controls but tab and
/// newline, white space beyond ASCII, and the property `Default_Ignorable_Code_Point` of Unicode
/// (`DerivedCoreProperties.txt`), to which the blank Braille cell is added.
pub(super) fn is_hidden(c: char) -> bool {
    if c.is_ascii() {
        return c.is_ascii_control() && c != '\t' && c != '\n';
    }
    c.is_control()
        || c.is_whitespace()
        || matches!(c,
            '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
            | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
            | '\u{2060}'..='\u{206f}' | '\u{2800}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}'
            | '\u{feff}' | '\u{ffa0}' | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}'
            | '\u{1d173}'..='\u{1d17a}' | '\u{e0000}'..='\u{e0fff}')
}
