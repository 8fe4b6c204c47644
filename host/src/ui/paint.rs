//! Colour, where it is wanted.

/// Wraps text in the terminal's colour codes (ECMA-48, "select graphic rendition"), or leaves it.
#[derive(Debug, Clone, Copy)]
pub struct Paint {
    on: bool,
}

impl Paint {
    pub fn new(on: bool) -> Self {
        Self { on }
    }

    pub fn red(self, text: &str) -> String {
        self.wrap("31", text)
    }

    pub fn green(self, text: &str) -> String {
        self.wrap("32", text)
    }

    pub fn yellow(self, text: &str) -> String {
        self.wrap("33", text)
    }

    pub fn cyan(self, text: &str) -> String {
        self.wrap("36", text)
    }

    pub fn bold(self, text: &str) -> String {
        self.wrap("1", text)
    }

    pub fn dim(self, text: &str) -> String {
        self.wrap("2", text)
    }

    /// A unified diff with its lines coloured. The text must be escaped already.
    pub fn diff(self, text: &str) -> String {
        if !self.on {
            return text.to_owned();
        }
        text.split_inclusive('\n')
            .map(|line| {
                let (line, end) = line.strip_suffix('\n').map_or((line, ""), |line| (line, "\n"));
                let painted = match line.as_bytes().first() {
                    _ if line.starts_with("+++") || line.starts_with("---") => self.bold(line),
                    Some(b'+') => self.green(line),
                    Some(b'-') => self.red(line),
                    Some(b'@') => self.cyan(line),
                    _ => line.to_owned(),
                };
                painted + end
            })
            .collect()
    }

    fn wrap(self, code: &str, text: &str) -> String {
        if self.on { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_colour_nothing_changes() {
        let paint = Paint::new(false);
        assert_eq!(paint.red("a"), "a");
        assert_eq!(paint.diff("-a\n+b\n"), "-a\n+b\n");
    }

    #[test]
    fn a_diff_keeps_its_lines() {
        let painted = Paint::new(true).diff("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n z");
        assert_eq!(
            painted,
            "\x1b[1m--- a\x1b[0m\n\x1b[1m+++ b\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\
             \x1b[31m-x\x1b[0m\n\x1b[32m+y\x1b[0m\n z"
        );
    }
}
