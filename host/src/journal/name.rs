//! Names of sessions, and the calendar behind them.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// `YYYYMMDD-HHMMSS-xxxxxx`: when it began (UTC) and six random hexadecimal digits, so that
/// names sort by time and two sessions of one second differ.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct SessionId(String);

impl SessionId {
    /// A new name for a session that begins at `now`.
    pub fn new(now: SystemTime) -> Self {
        let mut random = [0_u8; 3];
        // Without randomness the clock has to do; the file is created exclusively in any case.
        if getrandom::fill(&mut random).is_err() {
            let nanos = since_epoch(now).subsec_nanos().to_le_bytes();
            random.copy_from_slice(&nanos[..3]);
        }
        let c = Civil::at(now);
        Self(format!(
            "{:04}{:02}{:02}-{:02}{:02}{:02}-{:02x}{:02x}{:02x}",
            c.year, c.month, c.day, c.hour, c.minute, c.second, random[0], random[1], random[2]
        ))
    }

    /// `text` where it has the form of a session's name; anything else could name another file.
    pub fn parse(text: &str) -> Option<Self> {
        let bytes = text.as_bytes();
        let good = bytes.len() == 22
            && bytes.iter().enumerate().all(|(i, b)| match i {
                8 | 15 => *b == b'-',
                16.. => matches!(b, b'0'..=b'9' | b'a'..=b'f'),
                _ => b.is_ascii_digit(),
            });
        good.then(|| Self(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for SessionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// `now` as RFC 3339 writes it: UTC, with milliseconds.
pub fn timestamp(now: SystemTime) -> String {
    let c = Civil::at(now);
    format!(
        "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z",
        c.year, c.month, c.day, c.hour, c.minute, c.second, c.millis
    )
}

fn since_epoch(now: SystemTime) -> Duration {
    now.duration_since(UNIX_EPOCH).unwrap_or_default()
}

struct Civil {
    year: u64,
    month: u64,
    day: u64,
    hour: u64,
    minute: u64,
    second: u64,
    millis: u32,
}

impl Civil {
    /// The Gregorian calendar counts best in years that begin in March, when the leap day comes
    /// last: 146,097 days are 400 years, and months then follow one line of slope 153/5.
    fn at(now: SystemTime) -> Self {
        let elapsed = since_epoch(now);
        let (days, rest) = (elapsed.as_secs() / 86_400, elapsed.as_secs() % 86_400);
        let shifted = days + 719_468;
        let (era, of_era) = (shifted / 146_097, shifted % 146_097);
        let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
        let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted_month = (5 * of_year + 2) / 153;
        let month = if shifted_month < 10 { shifted_month + 3 } else { shifted_month - 9 };
        Self {
            year: era * 400 + year_of_era + u64::from(month <= 2),
            month,
            day: of_year - (153 * shifted_month + 2) / 5 + 1,
            hour: rest / 3_600,
            minute: rest / 60 % 60,
            second: rest % 60,
            millis: elapsed.subsec_millis(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_calendar_is_right_at_its_corners() {
        for (seconds, expect) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_399, "2000-02-28T23:59:59.000Z"),
            (951_782_400, "2000-02-29T00:00:00.000Z"),
            (951_868_800, "2000-03-01T00:00:00.000Z"),
            (1_735_689_599, "2024-12-31T23:59:59.000Z"),
            (4_107_542_400, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(timestamp(UNIX_EPOCH + Duration::from_secs(seconds)), expect);
        }
    }

    #[test]
    fn req_099_a_session_is_named_by_its_time() {
        let id = SessionId::new(UNIX_EPOCH + Duration::from_secs(951_868_799));
        assert!(id.as_str().starts_with("20000229-235959-"), "{id}");
        assert_eq!(SessionId::parse(id.as_str()), Some(id));
    }

    #[test]
    fn no_other_file_passes_for_a_session() {
        for text in [
            "",
            "../20000229-000000-abcdef",
            "20000229-000000-ABCDEF",
            "20000229-000000-abcdef.x",
            "20000229/000000-abcdef",
        ] {
            assert_eq!(SessionId::parse(text), None, "{text}");
        }
    }
}
