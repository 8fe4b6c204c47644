//! `grep`: a regular expression over the files of a tree, with the libraries of ripgrep.

mod matcher;
mod output;
mod prefilter;
mod secrets;

use std::fs;
use std::io::Read;

use clawhold_sdk::failure::invalid;
use clawhold_sdk::{Args, Failure, Reply};
use globset::GlobMatcher;
use grep_matcher::LineTerminator;
use grep_regex::RegexMatcher;
use grep_searcher::{BinaryDetection, Searcher, SearcherBuilder};
use serde_json::json;

use crate::disk::{File, Kind};
use crate::names::shown;
use crate::walk::{MAX_DEPTH, Walk, walk};
use crate::{fault, pattern};
use output::{Output, Sink};
use prefilter::Prefilter;

/// Files up to this size are searched as a whole, in one buffer for all.
const MAX_WHOLE: usize = 8 << 20;

/// How much of a larger file is searched.
const MAX_SEARCHED: u64 = 1 << 30;

/// The longest line, and the most that is held of a large file.
const HEAP: usize = 32 << 20;

/// How far into a file a NUL byte is looked for before it is searched, as git does.
const SNIFFED: usize = 8_000;

/// What to search for.
#[derive(Debug, Clone)]
pub struct Request {
    /// The regular expression.
    pub pattern: String,
    /// A file or a folder.
    pub path: String,
    /// Only files like this, or with `!` before it, only others.
    pub glob: Option<String>,
    /// Lines shown around each match.
    pub context: usize,
    /// How letters compare.
    pub case: Case,
    /// Whether a match may go over several lines.
    pub multiline: bool,
    /// How many matches are shown.
    pub limit: usize,
}

/// How letters compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Case {
    /// Capitals count if the pattern has some.
    #[default]
    Smart,
    /// Capitals count.
    Sensitive,
    /// Capitals do not count.
    Insensitive,
}

impl Request {
    /// A search for `pattern` in the working directory with nothing else said.
    pub fn of(pattern: &str) -> Self {
        Self {
            pattern: pattern.to_owned(),
            path: ".".to_owned(),
            glob: None,
            context: 0,
            case: Case::Smart,
            multiline: false,
            limit: 200,
        }
    }

    fn new(mut args: Args) -> Result<Self, Failure> {
        let mut request = Self::of(&args.text("pattern")?);
        if let Some(path) = args.opt_text("path")? {
            request.path = path;
        }
        request.glob = args.opt_text("glob")?.filter(|glob| !glob.is_empty());
        request.context = args.opt_whole("context")?.unwrap_or(0).min(20) as usize;
        request.multiline = args.opt_flag("multiline")?.unwrap_or(false);
        request.limit = args.opt_whole("limit")?.unwrap_or(200).clamp(1, 2_000) as usize;
        request.case = match args.opt_text("case")?.as_deref() {
            None | Some("smart") => Case::Smart,
            Some("sensitive") => Case::Sensitive,
            Some("insensitive") => Case::Insensitive,
            Some(other) => {
                return Err(invalid(format!(
                    "`case` is `smart`, `sensitive` or `insensitive`, not `{}`",
                    shown(other)
                )));
            }
        };
        Ok(request)
    }
}

/// Runs the tool.
pub fn call(args: Args) -> Result<Reply, Failure> {
    run(&Request::new(args)?)
}

/// Searches what `request` says.
pub fn run(request: &Request) -> Result<Reply, Failure> {
    if request.pattern.is_empty() {
        return Err(invalid("`pattern` is empty").hint("give the text or expression to look for"));
    }
    let (matcher, multiline) = matcher::build(request)?;
    let filter = request.glob.as_deref().map(Filter::new).transpose()?;
    let crlf = matcher::ends_lines(request) && !multiline;
    let searcher = SearcherBuilder::new()
        .line_number(true)
        .line_terminator(if crlf { LineTerminator::crlf() } else { LineTerminator::byte(b'\n') })
        .multi_line(multiline)
        .before_context(request.context)
        .after_context(request.context)
        .binary_detection(BinaryDetection::quit(0))
        .heap_limit(Some(HEAP))
        .build();
    let mut search = Search {
        prefilter: Prefilter::new(request),
        matcher,
        searcher,
        buffer: Vec::new(),
        output: Output::new(request.limit, request.context > 0),
    };

    let told = |error| fault::io("search", &request.path, &error);
    if fs::metadata(&request.path).map_err(told)?.is_dir() {
        let options = Walk { base: &request.path, depth: MAX_DEPTH, hidden: true, ignored: false };
        let tally = walk(&options, |item| {
            if item.kind != Kind::File {
                return;
            }
            if filter.as_ref().is_some_and(|filter| !filter.wants(item.rel, item.name)) {
                return;
            }
            if secrets::looks_secret(item.name) {
                search.output.leave_out_secret(item.path);
                return;
            }
            if let Err(error) = search.file(item.path) {
                search.output.leave_out_unreadable(item.path, &error);
            }
        })
        .map_err(told)?;
        return Ok(reply(request, search.output, &tally.notes()));
    }
    let name = request.path.rsplit('/').next().unwrap_or(&request.path);
    if secrets::looks_secret(name) {
        search.output.leave_out_secret(&request.path);
    } else {
        search.file(&request.path).map_err(told)?;
    }
    Ok(reply(request, search.output, ""))
}

fn reply(request: &Request, output: Output, notes: &str) -> Reply {
    let (matches, files) = (output.matches, output.files);
    let text = output.finish(&request.pattern) + notes;
    Reply::text(text).structured(&json!({"matches": matches, "files": files}))
}

struct Search {
    prefilter: Option<Prefilter>,
    matcher: RegexMatcher,
    searcher: Searcher,
    /// Holds one file after the other. It is as long as the largest so far, so that only growing
    /// it costs anything.
    buffer: Vec<u8>,
    output: Output,
}

impl Search {
    fn file(&mut self, path: &str) -> std::io::Result<()> {
        let mut file = File::open(path)?;
        let mut len = 0;
        loop {
            if len == self.buffer.len() {
                if len >= MAX_WHOLE {
                    return self.large(path, file, len);
                }
                self.buffer.resize((len * 2).max(64 * 1024), 0);
            }
            let got = file.read(&mut self.buffer[len..])?;
            let begun = len < SNIFFED;
            len += got;
            if begun && is_binary(&self.buffer[..len.min(SNIFFED)]) {
                self.output.binary += 1;
                return Ok(());
            }
            if got == 0 {
                break;
            }
        }
        let text = &self.buffer[..len];
        if self.prefilter.as_ref().is_some_and(|filter| !filter.may_match(text)) {
            return Ok(());
        }
        let sink = Sink::new(&mut self.output, &self.matcher, path);
        self.searcher.search_slice(&self.matcher, &self.buffer[..len], sink)
    }

    /// Goes on with a file of which the buffer holds the beginning only.
    fn large(&mut self, path: &str, file: File, len: usize) -> std::io::Result<()> {
        let rest = file.take(MAX_SEARCHED - len as u64);
        let sink = Sink::new(&mut self.output, &self.matcher, path);
        let whole = std::io::Cursor::new(&self.buffer[..len]).chain(rest);
        self.searcher.search_reader(&self.matcher, whole, sink)
    }
}

/// A NUL byte in what is no UTF-16 text, which the searcher decodes.
fn is_binary(start: &[u8]) -> bool {
    memchr::memchr(0, start).is_some()
        && !start.starts_with(b"\xff\xfe")
        && !start.starts_with(b"\xfe\xff")
}

/// Which files are searched, by name.
struct Filter {
    glob: GlobMatcher,
    /// Whether the pattern speaks of names only, at any depth.
    names: bool,
    negated: bool,
}

impl Filter {
    fn new(glob: &str) -> Result<Self, Failure> {
        let negated = glob.starts_with('!');
        let glob = glob.trim_start_matches('!');
        let glob = glob.strip_prefix("./").unwrap_or(glob);
        Ok(Self { glob: pattern::compile(glob)?, names: !glob.contains('/'), negated })
    }

    fn wants(&self, rel: &str, name: &str) -> bool {
        self.glob.is_match(if self.names { name } else { rel }) != self.negated
    }
}
