//! How long a service asks to wait: headers and sentences.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

/// The wait that an answer asks for: `retry-after-ms`, then `Retry-After` (RFC 9110, section
/// 10.2.3: seconds or a date), then a sentence in its body. Nonsense and negative numbers ask
/// for nothing, a moment in the past for zero.
pub(super) fn asked(headers: &HeaderMap, body: &str, now: SystemTime) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|ms| seconds(ms, 0.001)) {
        return Some(wait);
    }
    if let Some(value) = text(RETRY_AFTER.as_str()) {
        if let Some(wait) = seconds(value, 1.0) {
            return Some(wait);
        }
        if let Some(then) = http_date(value) {
            // By the service's own clock where it says it: ours may be wrong.
            let now = text(DATE.as_str()).and_then(http_date).unwrap_or_else(|| {
                now.duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
            });
            return Some(Duration::from_secs(then.saturating_sub(now)));
        }
    }
    sentence(body)
}

/// A number of at least zero, times `unit` seconds.
fn seconds(text: &str, unit: f64) -> Option<Duration> {
    let number: f64 = text.parse().ok()?;
    Duration::try_from_secs_f64(number * unit).ok()
}

/// The wait in "try again in 1m2.5s" and its like: numbers with the units `ms`, `s`, `m`, `h`, or
/// with those words in full.
pub(super) fn sentence(text: &str) -> Option<Duration> {
    let lower = text.to_ascii_lowercase();
    let mut rest = ["try again in ", "retry after ", "retry in "]
        .iter()
        .find_map(|lead| lower.find(lead).map(|at| &lower[at + lead.len()..]))?;
    let mut total: Option<Duration> = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let after = after.trim_start_matches(' ');
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (word, after) = after.split_at(letters);
        let unit = match word {
            "ms" | "millisecond" | "milliseconds" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hour" | "hours" => 3600.0,
            _ => return total,
        };
        // "20s." ends a sentence: its dot belongs to no number.
        let Some(part) = seconds(number, unit) else { return total };
        total = Some(total.unwrap_or_default() + part);
        rest = after.trim_start_matches(' ');
    }
}

/// Seconds since 1970 of an HTTP date in any of its three forms (RFC 9110, section 5.6.7).
fn http_date(text: &str) -> Option<u64> {
    let fields: Vec<&str> = text.split([' ', ',', '-']).filter(|field| !field.is_empty()).collect();
    // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT; Sun Nov  6 08:49:37 1994
    let ([_, day, month, year, time, "GMT"] | [_, month, day, time, year]) = fields[..] else {
        return None;
    };
    let months =
        ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
    let month = months.iter().position(|name| *name == month)? as u64 + 1;
    let day: u64 = day.parse().ok().filter(|day| (1..=31).contains(day))?;
    let mut full: u64 = year.parse().ok().filter(|year| *year < 10_000)?;
    if year.len() == 2 {
        full += if full < 70 { 2000 } else { 1900 };
    }
    let clock: Vec<u64> = time.split(':').map(|part| part.parse().ok()).collect::<Option<_>>()?;
    let [hour, minute, second] = clock[..] else { return None };
    if hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    Some(days_since_1970(full, month, day)? * 86_400 + hour * 3600 + minute * 60 + second)
}

/// Days from 1970-01-01 in the Gregorian calendar. Years are counted from March, so that the leap
/// day is the last of its year.
fn days_since_1970(year: u64, month: u64, day: u64) -> Option<u64> {
    let (year, month) =
        if month > 2 { (year, month - 3) } else { (year.checked_sub(1)?, month + 9) };
    let before_month = (153 * month + 2) / 5;
    let days = 365 * year + year / 4 - year / 100 + year / 400 + before_month + day - 1;
    days.checked_sub(719_468)
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::{HeaderName, HeaderValue};

    fn check(headers: &[(&str, &str)], body: &str, want: Option<f64>) {
        let headers: HeaderMap = headers
            .iter()
            .map(|(name, value)| {
                (name.parse::<HeaderName>().unwrap(), HeaderValue::from_str(value).unwrap())
            })
            .collect();
        let now = UNIX_EPOCH + Duration::from_secs(784_111_777);
        let got = asked(&headers, body, now).map(|wait| wait.as_secs_f64());
        assert_eq!(got, want, "{headers:?} {body}");
    }

    #[test]
    fn n02_every_form_of_retry_after() {
        check(&[("retry-after", "2")], "", Some(2.0));
        check(&[("retry-after", "1.5")], "", Some(1.5));
        check(&[("retry-after", "86400")], "", Some(86_400.0));
        check(&[("retry-after-ms", "250")], "", Some(0.25));
        check(&[("retry-after-ms", "250"), ("retry-after", "9")], "", Some(0.25));
        check(&[("retry-after-ms", "x"), ("retry-after", "9")], "", Some(9.0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:40 GMT")], "", Some(3.0));
        check(&[("retry-after", "Sunday, 06-Nov-94 08:49:40 GMT")], "", Some(3.0));
        check(&[("retry-after", "Sun Nov  6 08:49:40 1994")], "", Some(3.0));
        check(&[("retry-after", "Sun, 06 Nov 1994 08:49:30 GMT")], "", Some(0.0));
        for nonsense in ["soon", "-5", "NaN", "inf", "1e300", "", "Sun, 99 Foo 1994 08:49:40 GMT"] {
            check(&[("retry-after", nonsense)], "", None);
        }
    }

    #[test]
    fn n45_a_date_counts_from_the_service_s_clock() {
        let date = ("date", "Wed, 01 Dec 2032 00:00:00 GMT");
        check(&[date, ("retry-after", "Wed, 01 Dec 2032 00:00:07 GMT")], "", Some(7.0));
    }

    #[test]
    fn n02_sentences_are_read() {
        check(&[], "Limit reached. Please try again in 20s. Contact us.", Some(20.0));
        check(&[], "Please try again in 1.5s", Some(1.5));
        check(&[], "Please try again in 842ms.", Some(0.842));
        check(&[], "Please try again in 6m0s.", Some(360.0));
        check(&[], "try again in 1 minute 5 seconds", Some(65.0));
        check(&[], "Retry after 3 seconds", Some(3.0));
        check(&[], "try again in a while", None);
        check(&[], "try again in 5 parsecs", None);
        check(&[], "no", None);
    }
}
