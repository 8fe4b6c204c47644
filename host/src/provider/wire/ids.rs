//! Ids of calls that occur once in a conversation.

use std::collections::HashSet;

use crate::model::Message;

/// Gives a new id to each of `ids` that is empty, or that a call of the conversation or an earlier
/// one of `ids` has already. New ids are `call00001` and so on: nine letters and digits, the
/// strictest form that any service demands.
pub(in crate::provider) fn unique_ids<'i>(
    ids: impl Iterator<Item = &'i mut String>,
    conversation: &[Message],
) {
    let mut ids = ids.peekable();
    if ids.peek().is_none() {
        return;
    }
    let earlier: HashSet<&str> = conversation
        .iter()
        .flat_map(|message| message.tool_calls.iter().map(|call| call.id.as_str()))
        .collect();
    let mut fresh: HashSet<String> = HashSet::new();
    let mut number = earlier.len();
    for id in ids {
        while id.is_empty() || earlier.contains(id.as_str()) || fresh.contains(id.as_str()) {
            number += 1;
            *id = format!("call{number:05}");
        }
        fresh.insert(id.clone());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::ToolCall;

    #[test]
    fn n20_empty_repeated_and_reused_ids_become_unique() {
        let check = |earlier: &[&str], ids: &[&str], want: &[&str]| {
            let mut message = Message::assistant("");
            message.tool_calls = earlier
                .iter()
                .map(|id| ToolCall { id: (*id).into(), name: "t".into(), arguments: "{}".into() })
                .collect();
            let mut ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
            unique_ids(ids.iter_mut(), &[message]);
            assert_eq!(ids, want);
        };
        check(&[], &["a", "b"], &["a", "b"]);
        check(&[], &["a", "a", ""], &["a", "call00001", "call00002"]);
        check(&["a"], &["a", "b"], &["call00002", "b"]);
        check(&["call00002"], &["", ""], &["call00003", "call00004"]);
        check(&["x", "call00003"], &[""], &["call00004"]);
        check(&[], &["", "call00001"], &["call00001", "call00002"]);
    }
}
