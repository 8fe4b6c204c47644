//! Finding what `old_text` means in a file, from strict to forgiving.
//!
//! A level is only reached when the one before found nothing, and must find exactly one place: a
//! looser reading of something ambiguous would be a guess. From the third level on only whole
//! lines match, so that a piece of a word is never taken for one.

use std::ops::Range;

use memchr::memmem::Finder;

use super::fold::{self, FoldedLines};
use super::lines::{self, Line};

/// How forgiving a match was.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Byte for byte.
    Exact,
    /// But for CRLF, CR and LF.
    LineEndings,
    /// But for white space at line ends, and blank lines around.
    TrailingSpace,
    /// But for white space around each line.
    Indentation,
    /// But for typographic quotes, dashes and spaces, too.
    Typography,
}

impl Level {
    /// The word in replies, for programs.
    pub fn id(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::LineEndings => "line_endings",
            Self::TrailingSpace => "trailing_space",
            Self::Indentation => "indentation",
            Self::Typography => "typography",
        }
    }

    /// What did not agree, for people.
    pub fn words(self) -> &'static str {
        match self {
            Self::Exact => "exact match",
            Self::LineEndings => "matched but for line endings",
            Self::TrailingSpace => "matched but for trailing white space",
            Self::Indentation => "matched but for indentation, which was kept",
            Self::Typography => "matched but for typographic quotes, dashes or spaces",
        }
    }
}

/// One place that matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// The bytes of the file. For whole lines, without the end of the last one.
    pub span: Range<usize>,
    /// The lines that matched, by number from 0, where whole lines did.
    pub lines: Option<Range<usize>>,
}

/// What was found.
#[derive(Debug, PartialEq, Eq)]
pub struct Found {
    /// At which level.
    pub level: Level,
    /// One place, or several when all were asked for. They do not overlap.
    pub places: Vec<Place>,
    /// How many blank lines at the start and the end of the old text had to be left out.
    pub dropped: (usize, usize),
}

/// Why nothing can be replaced.
#[derive(Debug, PartialEq, Eq)]
pub enum Miss {
    /// No level found anything.
    Nowhere,
    /// A level found several places; where the first of them begin, and how many they are.
    Many { level: Level, starts: Vec<usize>, count: usize },
    /// All were asked for, and two of them share bytes.
    Overlapping { start: usize },
}

/// How many places of an ambiguous match are told.
const TOLD: usize = 10;

/// Looks for `old`, which is not empty, in `text`. With `all`, several places are as good as one.
pub fn find(text: &[u8], old: &[u8], all: bool) -> Result<Found, Miss> {
    let search = Search { text, all };
    if let Some(found) = search.substring(text, old, Level::Exact, |range| range)? {
        return Ok(found);
    }
    if memchr::memchr2(b'\r', b'\n', old).is_some() && (has_cr(text) || has_cr(old)) {
        let (hay, needle) = (fold::endings(text), fold::endings(old));
        let back = |range| hay.range(range);
        if let Some(found) =
            search.substring(&hay.bytes, &needle.bytes, Level::LineEndings, back)?
        {
            return Ok(found);
        }
    }
    let cr_ends = lines::cr_only(text);
    let text_lines = lines::split(text, cr_ends);
    let old_lines = lines::split(old, cr_ends);
    let whole_lines =
        |level, trim: fn(&[u8]) -> &[u8]| search.whole_lines(&text_lines, &old_lines, level, trim);
    if let Some(found) = whole_lines(Level::TrailingSpace, <[u8]>::trim_ascii_end)? {
        return Ok(found);
    }
    if let Some(found) = whole_lines(Level::Indentation, <[u8]>::trim_ascii)? {
        return Ok(found);
    }
    if text.is_ascii() && old.is_ascii() {
        return Err(Miss::Nowhere);
    }
    let (hay, needle) = (fold::typography(text), fold::typography(old));
    if needle.bytes.trim_ascii().is_empty() {
        return Err(Miss::Nowhere);
    }
    let back = |range| hay.range(range);
    if let Some(found) = search.substring(&hay.bytes, &needle.bytes, Level::Typography, back)? {
        return Ok(found);
    }
    let fold = |line| fold::typography_of_line(line).trim_ascii().to_vec();
    let found = search.whole_lines(&text_lines, &old_lines, Level::Typography, fold)?;
    found.ok_or(Miss::Nowhere)
}

fn has_cr(text: &[u8]) -> bool {
    memchr::memchr(b'\r', text).is_some()
}

struct Search<'a> {
    text: &'a [u8],
    all: bool,
}

impl Search<'_> {
    fn substring(
        &self,
        hay: &[u8],
        needle: &[u8],
        level: Level,
        back: impl Fn(Range<usize>) -> Range<usize>,
    ) -> Result<Option<Found>, Miss> {
        let hits = self.hits(hay, needle, 1, level, |hit| back(hit).start)?;
        if hits.is_empty() {
            return Ok(None);
        }
        let places = hits.into_iter().map(|hit| Place { span: back(hit), lines: None }).collect();
        Ok(Some(Found { level, places, dropped: (0, 0) }))
    }

    /// Tries `old` as it is, then without the blank lines around it.
    fn whole_lines<'a, T: AsRef<[u8]>>(
        &self,
        text: &[Line<'a>],
        old: &[Line<'a>],
        level: Level,
        fold: impl Fn(&'a [u8]) -> T,
    ) -> Result<Option<Found>, Miss> {
        let is_blank = |line: &&Line| line.content.trim_ascii().is_empty();
        let head = old.iter().take_while(is_blank).count();
        let tail = old.iter().rev().take_while(is_blank).count();
        let hay = FoldedLines::new(text, &fold);
        for dropped in [(0, 0), (head, tail)] {
            let old = &old[dropped.0..old.len() - dropped.1];
            let needle = FoldedLines::new(old, &fold);
            // Blank lines alone are found everywhere; only an exact match says which are meant.
            if needle.bytes.iter().all(|byte| *byte == b'\n') {
                return Ok(None);
            }
            let start = |hit: Range<usize>| self.offset(text[hay.lines(&hit).start].content);
            let hits = self.hits(&hay.bytes, &needle.bytes, 2, level, start)?;
            if !hits.is_empty() {
                let places = hits.iter().map(|hit| {
                    let lines = hay.lines(hit);
                    let last = text[lines.end - 1].content;
                    let span =
                        self.offset(text[lines.start].content)..self.offset(last) + last.len();
                    Place { span, lines: Some(lines) }
                });
                return Ok(Some(Found { level, places: places.collect(), dropped }));
            }
            if (head, tail) == (0, 0) {
                break;
            }
        }
        Ok(None)
    }

    /// Where a line of the text begins in it.
    fn offset(&self, line: &[u8]) -> usize {
        line.as_ptr().addr() - self.text.as_ptr().addr()
    }

    /// The hits of `needle`, if they are as many as wanted. Two may share less than `shared` bytes
    /// (whole lines share the line feed between them).
    fn hits(
        &self,
        hay: &[u8],
        needle: &[u8],
        shared: usize,
        level: Level,
        start: impl Fn(Range<usize>) -> usize,
    ) -> Result<Vec<Range<usize>>, Miss> {
        let finder = Finder::new(needle);
        let step = needle.len() - (shared - 1);
        let next = |from: usize| finder.find(&hay[from..]).map(|at| from + at);
        let (mut hits, mut starts, mut count) = (Vec::new(), Vec::new(), 0);
        let mut from = 0;
        while let Some(at) = next(from) {
            let hit = at..at + needle.len();
            // Another one that begins inside this one makes it unclear which is meant.
            let inside = finder.find(&hay[at + 1..(at + step + needle.len() - 1).min(hay.len())]);
            if let Some(inside) = inside
                && inside + 1 < step
            {
                if self.all {
                    return Err(Miss::Overlapping { start: start(hit) });
                }
                count += 1;
            }
            count += 1;
            if starts.len() < TOLD {
                starts.push(start(hit.clone()));
            }
            if self.all || hits.is_empty() {
                hits.push(hit);
            }
            from = at + step;
        }
        if count > 1 && !self.all {
            return Err(Miss::Many { level, starts, count });
        }
        Ok(hits)
    }
}
