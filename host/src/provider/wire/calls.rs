//! Calls that come in fragments.

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::dialect::DraftCall;
use super::extras::merge;

/// Calls on their way, in the order in which they were first heard of.
#[derive(Debug, Default)]
pub(in crate::provider) struct Calls {
    calls: Vec<DraftCall>,
    /// The service's number of a call to its place here.
    by_index: HashMap<u64, usize>,
}

/// One fragment.
#[derive(Debug, Default)]
pub(in crate::provider) struct Fragment<'f> {
    pub(in crate::provider) index: Option<u64>,
    pub(in crate::provider) id: &'f str,
    pub(in crate::provider) name: &'f str,
    pub(in crate::provider) arguments: &'f str,
    pub(in crate::provider) extras: Map<String, Value>,
}

impl Calls {
    /// Adds a fragment to the call that it belongs to. The number decides, where there is one;
    /// but services are known that send whole calls all with the same number, or with none.
    pub(in crate::provider) fn add(&mut self, fragment: Fragment<'_>) {
        let at = self.place(&fragment);
        let call = &mut self.calls[at];
        if call.id.is_empty() {
            fragment.id.clone_into(&mut call.id);
        }
        // A name that is repeated with each fragment is not a longer name.
        if call.name != fragment.name {
            call.name.push_str(fragment.name);
        }
        call.arguments.push_str(fragment.arguments);
        for (key, value) in fragment.extras {
            merge(&mut call.extras, &key, value);
        }
    }

    pub(in crate::provider) fn take(&mut self) -> Vec<DraftCall> {
        self.by_index.clear();
        std::mem::take(&mut self.calls)
    }

    fn place(&mut self, fragment: &Fragment<'_>) -> usize {
        let known = match fragment.index {
            Some(index) => self.by_index.get(&index).copied(),
            // Without a number, an id or a name begins a call, and anything else goes on with it.
            None if !fragment.id.is_empty() => {
                self.calls.iter().rposition(|call| call.id == fragment.id)
            }
            None if !fragment.name.is_empty() => None,
            None => self.calls.len().checked_sub(1),
        };
        let fits = |at: &usize| {
            let own = &self.calls[*at].id;
            own.is_empty() || fragment.id.is_empty() || own == fragment.id
        };
        if let Some(at) = known.filter(fits) {
            return at;
        }
        self.calls.push(DraftCall::default());
        let at = self.calls.len() - 1;
        if let Some(index) = fragment.index {
            self.by_index.insert(index, at);
        }
        at
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Piece<'p> = (Option<u64>, &'p str, &'p str, &'p str);

    fn check(fragments: &[Piece<'_>], want: &[(&str, &str, &str)]) {
        let mut calls = Calls::default();
        for &(index, id, name, arguments) in fragments {
            calls.add(Fragment { index, id, name, arguments, extras: Map::new() });
        }
        let got = calls.take();
        let got: Vec<_> = got
            .iter()
            .map(|call| (call.id.as_str(), call.name.as_str(), call.arguments.as_str()))
            .collect();
        assert_eq!(got, want, "{fragments:?}");
    }

    #[test]
    fn fragments_find_their_call() {
        let (zero, one) = (Some(0), Some(1));
        // As the protocol says, with two calls interleaved and a name in two parts.
        check(
            &[
                (zero, "a", "re", ""),
                (one, "b", "x", "{"),
                (zero, "", "ad", "{\"p\""),
                (one, "", "", "}"),
                (zero, "", "", ":1}"),
            ],
            &[("a", "read", "{\"p\":1}"), ("b", "x", "{}")],
        );
        // Id and name with each fragment.
        check(&[(zero, "a", "x", "{"), (zero, "a", "x", "}")], &[("a", "x", "{}")]);
        // Whole calls, all with number 0.
        check(
            &[(zero, "a", "x", "{}"), (zero, "b", "x", "{}")],
            &[("a", "x", "{}"), ("b", "x", "{}")],
        );
        // No numbers.
        check(
            &[(None, "a", "x", "{"), (None, "", "", "}"), (None, "b", "y", "{}")],
            &[("a", "x", "{}"), ("b", "y", "{}")],
        );
        // Neither numbers nor ids.
        check(&[(None, "", "x", "{}"), (None, "", "x", "{}")], &[("", "x", "{}"), ("", "x", "{}")]);
        // The id comes late.
        check(&[(zero, "", "x", "{"), (zero, "a", "", "}")], &[("a", "x", "{}")]);
        // A number that no array could hold.
        check(&[(Some(u64::MAX), "a", "x", "{}")], &[("a", "x", "{}")]);
        // The same id under two numbers stays two calls; ids become unique later.
        check(
            &[(zero, "a", "x", "{}"), (one, "a", "y", "{}")],
            &[("a", "x", "{}"), ("a", "y", "{}")],
        );
    }

    #[test]
    fn n21_two_hundred_calls_keep_their_order() {
        let mut calls = Calls::default();
        for index in 0..200 {
            let id = format!("c{index}");
            calls.add(Fragment { index: Some(index), id: &id, name: "t", ..Fragment::default() });
        }
        let ids: Vec<String> = calls.take().into_iter().map(|call| call.id).collect();
        assert_eq!(ids, (0..200).map(|index| format!("c{index}")).collect::<Vec<_>>());
    }
}
