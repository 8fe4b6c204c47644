//! Moving new lines to the indentation of the lines that they replace.

use super::lines::indent;

/// How the indentation that a caller wrote relates to that of the file, learnt from the lines
/// that matched.
#[derive(Debug, Default)]
pub struct Shift {
    /// Pairs (as written, as in the file), without blank lines.
    pairs: Vec<(Vec<u8>, Vec<u8>)>,
    /// Columns of one step, as written.
    unit_written: usize,
    /// Columns of one step in the file, where it uses spaces.
    unit_file: usize,
    /// Whether the file indents by tabs.
    tabs: bool,
}

impl Shift {
    /// Learns from lines that correspond one to one.
    pub fn learn<'a>(pairs: impl Iterator<Item = (&'a [u8], &'a [u8])>) -> Self {
        let pairs: Vec<_> = pairs
            .filter(|(written, _)| !written.trim_ascii().is_empty())
            .map(|(written, file)| (indent(written).to_vec(), indent(file).to_vec()))
            .collect();
        let tabs = pairs.iter().any(|(_, file)| file.contains(&b'\t'));
        let unit_written = unit(pairs.iter().map(|(written, _)| written.as_slice()));
        let unit_file = unit(pairs.iter().map(|(_, file)| file.as_slice()));
        Self { pairs, unit_written, unit_file, tabs }
    }

    /// The file's form of an indentation as written.
    pub fn apply(&self, written: &[u8]) -> Vec<u8> {
        if let Some((_, file)) = self.pairs.iter().find(|(known, _)| known == written) {
            return file.clone();
        }
        // The deepest known indentation that this one goes on from.
        let base = self
            .pairs
            .iter()
            .filter(|(known, _)| written.starts_with(known))
            .max_by_key(|(known, _)| known.len());
        if let Some((known, file)) = base {
            let mut out = file.clone();
            out.extend(self.convert(&written[known.len()..]));
            return out;
        }
        // Shallower than all: take the difference away from the shallowest.
        let Some((known, file)) = self.pairs.iter().min_by_key(|(known, _)| known.len()) else {
            return written.to_vec();
        };
        let missing = known.get(written.len()..).unwrap_or_default();
        let less = self.convert(missing).len();
        file[..file.len().saturating_sub(less)].to_vec()
    }

    /// Additional indentation in the style of the file.
    fn convert(&self, more: &[u8]) -> Vec<u8> {
        let spaces = memchr::memchr_iter(b' ', more).count();
        let tabs = more.len() - spaces;
        if self.tabs {
            let mut out = vec![b'\t'; tabs + spaces / self.unit_written];
            out.resize(out.len() + spaces % self.unit_written, b' ');
            out
        } else if tabs > 0 {
            vec![b' '; spaces + tabs * self.unit_file]
        } else {
            more.to_vec()
        }
    }
}

/// The smallest step between indentations by spaces; four where there is none to see.
fn unit<'a>(indents: impl Iterator<Item = &'a [u8]>) -> usize {
    let mut widths: Vec<usize> =
        indents.filter(|indent| !indent.contains(&b'\t')).map(<[u8]>::len).collect();
    widths.push(0);
    widths.sort_unstable();
    let steps = widths.windows(2).map(|pair| pair[1] - pair[0]);
    // A step of one is drift, not a unit.
    steps.filter(|step| *step > 1).min().unwrap_or(4)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(pairs: &[(&str, &str)], written: &str, expect: &str) {
        let pairs = pairs.iter().map(|(a, b)| (a.as_bytes(), b.as_bytes()));
        let got = Shift::learn(pairs).apply(written.as_bytes());
        assert_eq!(String::from_utf8_lossy(&got), expect, "{written:?}");
    }

    #[test]
    fn d03_indentation_follows_the_file() {
        // All lines moved right.
        let right = [("if", "    if"), ("    x", "        x")];
        check(&right, "", "    ");
        check(&right, "    ", "        ");
        check(&right, "        ", "            ");
        // All lines moved left.
        let left = [("        if", "    if")];
        check(&left, "            ", "        ");
        check(&left, "    ", "");
        check(&left, "", "");
    }

    #[test]
    fn req_058_tabs_and_spaces_are_converted() {
        let to_tabs = [("    if", "\tif"), ("        x", "\t\tx")];
        check(&to_tabs, "            ", "\t\t\t");
        check(&to_tabs, "", "");
        let two_to_tabs = [("  if", "\tif"), ("    x", "\t\tx")];
        check(&two_to_tabs, "      ", "\t\t\t");
        let to_spaces = [("\tif", "  if"), ("\t\tx", "    x")];
        check(&to_spaces, "\t\t\t", "      ");
    }

    #[test]
    fn req_058_drift_by_one_is_no_unit() {
        check(&[("   a", "    a")], "       ", "        ");
        check(&[], "  ", "  ");
    }
}
