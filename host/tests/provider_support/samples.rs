//! The same reply as each protocol streams it: a thought in two pieces, a text, two calls, counts.

#![allow(unreachable_pub, reason = "a test file includes it as a module")]

use clawhold::provider::{
    Anthropic, Ollama, OpenAi, OpenAiResponses, Provider, ProviderError, ServiceSettings,
};

use crate::provider_support::model_server::Play;

pub const ANTHROPIC: &str = r#"event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"m","stop_reason":null,"usage":{"input_tokens":10,"cache_creation_input_tokens":20,"cache_read_input_tokens":70,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}

event: ping
data: {"type": "ping"}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"先看"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"目录"}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"c2ln+/=="}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: content_block_start
data: {"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"b3BhcXVl"}}

event: content_block_stop
data: {"type":"content_block_stop","index":1}

event: content_block_start
data: {"type":"content_block_start","index":2,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":2,"delta":{"type":"text_delta","text":"Look 👀"}}

event: content_block_stop
data: {"type":"content_block_stop","index":2}

event: content_block_start
data: {"type":"content_block_start","index":3,"content_block":{"type":"tool_use","id":"toolu_1","name":"read_file","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":"{\"path\":\"a"}}

event: content_block_delta
data: {"type":"content_block_delta","index":3,"delta":{"type":"input_json_delta","partial_json":".txt\"}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":3}

event: content_block_start
data: {"type":"content_block_start","index":4,"content_block":{"type":"tool_use","id":"toolu_2","name":"now","input":{}}}

event: content_block_stop
data: {"type":"content_block_stop","index":4}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":42}}

event: message_stop
data: {"type":"message_stop"}

"#;

pub const OLLAMA: &str = r#"{"model":"m","created_at":"t","message":{"role":"assistant","content":"","thinking":"先看"},"done":false}
{"model":"m","created_at":"t","message":{"role":"assistant","content":"","thinking":"目录"},"done":false}
{"model":"m","created_at":"t","message":{"role":"assistant","content":"Look 👀"},"done":false}
{"model":"m","created_at":"t","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"read_file","arguments":{"path":"a.txt"}}}]},"done":false}
{"model":"m","created_at":"t","message":{"role":"assistant","content":"","tool_calls":[{"function":{"name":"now","arguments":{}}}]},"done":false}
{"model":"m","created_at":"t","message":{"role":"assistant","content":""},"done":true,"done_reason":"stop","total_duration":1,"prompt_eval_count":100,"eval_count":42}
"#;

pub const RESPONSES: &str = r#"event: response.created
data: {"type":"response.created","response":{"id":"resp_1","status":"in_progress","output":[]}}

event: response.output_item.added
data: {"type":"response.output_item.added","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[]}}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","delta":"先看"}

event: response.reasoning_summary_text.delta
data: {"type":"response.reasoning_summary_text.delta","item_id":"rs_1","delta":"目录"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":0,"item":{"id":"rs_1","type":"reasoning","summary":[{"type":"summary_text","text":"先看目录"}],"encrypted_content":"b3BhcXVl"}}

event: response.output_text.delta
data: {"type":"response.output_text.delta","item_id":"msg_1","output_index":1,"content_index":0,"delta":"Look 👀"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":1,"item":{"id":"msg_1","type":"message","status":"completed","role":"assistant","content":[{"type":"output_text","text":"Look 👀","annotations":[]}]}}

event: response.function_call_arguments.delta
data: {"type":"response.function_call_arguments.delta","item_id":"fc_1","output_index":2,"delta":"{\"path\":\"a.txt\"}"}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":2,"item":{"id":"fc_1","type":"function_call","status":"completed","call_id":"call_1","name":"read_file","arguments":"{\"path\":\"a.txt\"}"}}

event: response.output_item.done
data: {"type":"response.output_item.done","output_index":3,"item":{"id":"fc_2","type":"function_call","status":"completed","call_id":"call_2","name":"now","arguments":"{}"}}

event: response.completed
data: {"type":"response.completed","response":{"id":"resp_1","status":"completed","error":null,"incomplete_details":null,"output":[],"usage":{"input_tokens":100,"input_tokens_details":{"cached_tokens":70},"output_tokens":42}}}

"#;

pub const CHAT: &str = r#"data: {"id":"x","choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"先看"},"finish_reason":null}]}

data: {"id":"x","choices":[{"index":0,"delta":{"reasoning_content":"目录"},"finish_reason":null}]}

data: {"id":"x","choices":[{"index":0,"delta":{"content":"Look 👀","mark":"m"},"finish_reason":null}]}

data: {"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"read_file","arguments":"{\"path\":"}},{"index":1,"id":"c2","type":"function","extra":{"a":1},"function":{"name":"now","arguments":"{}"}}]},"finish_reason":null}]}

data: {"id":"x","choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"a.txt\"}"}}]},"finish_reason":null}]}

data: {"id":"x","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"x","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":42,"prompt_tokens_details":{"cached_tokens":70}}}

data: [DONE]

"#;

pub type Make = fn(ServiceSettings) -> Result<Box<dyn Provider>, ProviderError>;

fn boxed<P: Provider + 'static>(provider: P) -> Box<dyn Provider> {
    Box::new(provider)
}

pub const MAKERS: [(&str, Make, &str, &str); 4] = [
    (
        "text/event-stream",
        |settings| Anthropic::new(settings).map(boxed),
        ANTHROPIC,
        "/v1/messages",
    ),
    ("application/x-ndjson", |settings| Ollama::new(settings).map(boxed), OLLAMA, "/v1/api/chat"),
    (
        "text/event-stream",
        |settings| OpenAiResponses::new(settings).map(boxed),
        RESPONSES,
        "/v1/responses",
    ),
    (
        "text/event-stream",
        |settings| OpenAi::new(settings).map(boxed),
        CHAT,
        "/v1/chat/completions",
    ),
];

/// A chunked answer whose body comes in these chunks; without its end if it is `cut`.
pub fn chunks(media_type: &str, chunks: &[&[u8]], cut: bool) -> Play {
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {media_type}\r\ntransfer-encoding: chunked\r\n\r\n"
    );
    let play = chunks
        .iter()
        .filter(|chunk| !chunk.is_empty())
        .fold(Play::new().send(head.as_bytes()), |play, chunk| play.chunk(chunk));
    if cut { play.close() } else { play.send(b"0\r\n\r\n") }
}
