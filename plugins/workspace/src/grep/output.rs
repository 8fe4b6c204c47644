//! The lines that a search gives back, as many as a reply holds, and a count of the rest.

use std::fmt::Write;
use std::io;

use clawhold_sdk::clip;
use grep_matcher::Matcher;
use grep_regex::RegexMatcher;
use grep_searcher::{Searcher, SinkContext, SinkFinish, SinkMatch};

use crate::names::shown;

/// The longest reply, in bytes.
const MAX_TEXT: usize = 32 * 1024;

/// The longest line that is shown as a whole, in bytes.
const MAX_LINE: usize = 400;

/// How much is shown before a match that stands far to the right.
const BEFORE: usize = 100;

/// How many left-out secret files are named.
const NAMED: usize = 5;

/// What has been found so far.
#[derive(Debug)]
pub(super) struct Output {
    text: String,
    limit: usize,
    context: bool,
    shown: usize,
    /// All matches, and the files that have some.
    pub(super) matches: usize,
    pub(super) files: usize,
    /// Files that were not searched.
    pub(super) binary: usize,
    unreadable: usize,
    first_unreadable: Option<String>,
    secret: usize,
    secret_names: Vec<String>,
}

impl Output {
    /// Shows up to `limit` matches.
    pub(super) fn new(limit: usize, context: bool) -> Self {
        Self {
            text: String::new(),
            limit,
            context,
            shown: 0,
            matches: 0,
            files: 0,
            binary: 0,
            unreadable: 0,
            first_unreadable: None,
            secret: 0,
            secret_names: Vec::new(),
        }
    }

    /// Notes that a file was not searched because of its name.
    pub(super) fn leave_out_secret(&mut self, path: &str) {
        self.secret += 1;
        if self.secret_names.len() < NAMED {
            self.secret_names.push(shown(path).into_owned());
        }
    }

    /// Notes that a file could not be searched, or not to its end.
    pub(super) fn leave_out_unreadable(&mut self, path: &str, error: &io::Error) {
        self.unreadable += 1;
        self.first_unreadable.get_or_insert_with(|| format!("{}: {error}", shown(path)));
    }

    /// The text of the reply.
    pub(super) fn finish(mut self, pattern: &str) -> String {
        if self.matches == 0 {
            let _ = writeln!(self.text, "no match for `{}`", clip::clip(pattern, 200));
        }
        let more = self.matches - self.shown;
        if more > 0 {
            let _ = writeln!(
                self.text,
                "[{more} more matches; {} in {} files in all. Narrow the pattern, `path` or `glob`, or raise `limit`]",
                self.matches, self.files
            );
        }
        if self.secret > 0 {
            let names = self.secret_names.join(", ");
            let rest = if self.secret > NAMED { ", …" } else { "" };
            let _ = writeln!(
                self.text,
                "[{} secret-looking files were not searched: {names}{rest}]",
                self.secret
            );
        }
        if self.binary > 0 && self.matches == 0 {
            let _ = writeln!(self.text, "[{} binary files were not searched]", self.binary);
        }
        if let Some(first) = &self.first_unreadable {
            let count = self.unreadable;
            let files = if count == 1 { "file" } else { "files" };
            let _ =
                writeln!(self.text, "[{count} {files} could not be searched; the first: {first}]");
        }
        self.text
    }

    fn full(&self) -> bool {
        self.shown >= self.limit || self.text.len() >= MAX_TEXT
    }

    fn line(&mut self, path: &str, sign: char, number: Option<u64>, line: &[u8], at: usize) {
        let _ = write!(self.text, "{}{sign}{}{sign}", shown(path), number.unwrap_or(0));
        put_clipped(&mut self.text, line.trim_ascii_end(), at);
        self.text.push('\n');
    }
}

/// Appends a line, or the part of it around `at`.
fn put_clipped(out: &mut String, line: &[u8], at: usize) {
    if line.len() <= MAX_LINE {
        out.push_str(&String::from_utf8_lossy(line));
        return;
    }
    let from = if at + BEFORE > MAX_LINE { at.min(line.len()) - BEFORE } else { 0 };
    // Room for whole characters on both sides; what is torn at the edges is cut off below.
    let window = String::from_utf8_lossy(&line[from..(from + MAX_LINE).min(line.len())]);
    let clean = window.trim_matches('\u{fffd}');
    if from > 0 {
        let _ = write!(out, "[{from} bytes] …");
    }
    out.push_str(clean);
    if from + MAX_LINE < line.len() {
        let _ = write!(out, "… [{} bytes more]", line.len() - from - MAX_LINE);
    }
}

/// Takes the matches of one file.
pub(super) struct Sink<'a> {
    output: &'a mut Output,
    matcher: &'a RegexMatcher,
    path: &'a str,
    before: usize,
    /// Matches at which the file began, to take them back if it turns out to be binary.
    text_before: usize,
    shown_before: usize,
}

impl<'a> Sink<'a> {
    pub(super) fn new(output: &'a mut Output, matcher: &'a RegexMatcher, path: &'a str) -> Self {
        let (before, text_before, shown_before) = (output.matches, output.text.len(), output.shown);
        Self { output, matcher, path, before, text_before, shown_before }
    }
}

impl grep_searcher::Sink for Sink<'_> {
    type Error = io::Error;

    fn matched(&mut self, _: &Searcher, found: &SinkMatch<'_>) -> io::Result<bool> {
        self.output.matches += 1;
        if self.output.full() {
            return Ok(true);
        }
        self.output.shown += 1;
        for (i, line) in found.lines().enumerate() {
            let at = if line.len() > MAX_LINE {
                self.matcher.find(line)?.map_or(0, |found| found.start())
            } else {
                0
            };
            let number = found.line_number().map(|number| number + i as u64);
            self.output.line(self.path, ':', number, line, at);
        }
        Ok(true)
    }

    fn context(&mut self, _: &Searcher, context: &SinkContext<'_>) -> io::Result<bool> {
        if !self.output.full() {
            self.output.line(self.path, '-', context.line_number(), context.bytes(), 0);
        }
        Ok(true)
    }

    fn context_break(&mut self, _: &Searcher) -> io::Result<bool> {
        if !self.output.full() {
            self.output.text.push_str("--\n");
        }
        Ok(true)
    }

    fn finish(&mut self, _: &Searcher, finish: &SinkFinish) -> io::Result<()> {
        let output = &mut *self.output;
        if finish.binary_byte_offset().is_some() {
            output.text.truncate(self.text_before);
            output.shown = self.shown_before;
            output.matches = self.before;
            output.binary += 1;
        }
        if output.matches > self.before {
            output.files += 1;
            if output.context && output.text.len() > self.text_before {
                output.text.push_str("--\n");
            }
        }
        Ok(())
    }
}
