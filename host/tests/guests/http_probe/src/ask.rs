//! One request, by the interface itself.

use serde_json::{Map, Value, json};
use wasip2::http::outgoing_handler::handle;
use wasip2::http::types::{
    ErrorCode, Fields, FutureIncomingResponse, IncomingResponse, Method, OutgoingBody,
    OutgoingRequest, Scheme,
};
use wasip2::io::streams::StreamError;

#[derive(Debug, Clone)]
pub(crate) struct Ask {
    pub(crate) method: String,
    pub(crate) scheme: String,
    pub(crate) authority: String,
    pub(crate) path: String,
    pub(crate) headers: Vec<(String, String)>,
    /// So many bytes of body.
    pub(crate) body: Option<u64>,
    /// So many bytes of the answer are told; all are read.
    pub(crate) keep: u64,
    /// So many of it are begun before the first is waited for.
    pub(crate) at_once: u64,
}

/// Asks and reads the whole answer; an error is said as the guest sees it.
pub(crate) fn ask(ask: &Ask) -> Result<Value, String> {
    let mut begun = Vec::new();
    for _ in 0..ask.at_once {
        begun.push(begin(ask)?);
    }
    let mut last = Value::Null;
    for future in &begun {
        last = read(&wait(future)?, ask.keep)?;
    }
    Ok(last)
}

fn begin(ask: &Ask) -> Result<FutureIncomingResponse, String> {
    let fields = Fields::new();
    for (name, value) in &ask.headers {
        fields
            .append(name, value.as_bytes())
            .map_err(|error| format!("the header `{name}`: {error:?}"))?;
    }
    let request = OutgoingRequest::new(fields);
    let method = match ask.method.as_str() {
        "GET" => Method::Get,
        "POST" => Method::Post,
        "PUT" => Method::Put,
        "CONNECT" => Method::Connect,
        "TRACE" => Method::Trace,
        other => Method::Other(other.to_owned()),
    };
    let scheme = match ask.scheme.as_str() {
        "http" => Scheme::Http,
        "https" => Scheme::Https,
        other => Scheme::Other(other.to_owned()),
    };
    request.set_method(&method).map_err(|()| "the method is not taken")?;
    request.set_scheme(Some(&scheme)).map_err(|()| "the scheme is not taken")?;
    request.set_authority(Some(&ask.authority)).map_err(|()| "the authority is not taken")?;
    request.set_path_with_query(Some(&ask.path)).map_err(|()| "the path is not taken")?;
    let body = match ask.body {
        Some(size) => Some((size, request.body().map_err(|()| "no body is taken")?)),
        None => None,
    };
    let future = handle(request, None).map_err(|code| format!("not begun: {code:?}"))?;
    if let Some((size, body)) = body {
        send(size, body)?;
    }
    Ok(future)
}

fn send(size: u64, body: OutgoingBody) -> Result<(), String> {
    let stream = body.write().map_err(|()| "the body has no stream")?;
    let mut left = usize::try_from(size).unwrap_or(usize::MAX);
    while left > 0 {
        let piece = left.min(4096);
        // The host closes the stream when it has refused; the reason comes with the answer.
        if stream.blocking_write_and_flush(&vec![b'x'; piece]).is_err() {
            return Ok(());
        }
        left -= piece;
    }
    drop(stream);
    let _ = OutgoingBody::finish(body, None);
    Ok(())
}

fn wait(future: &FutureIncomingResponse) -> Result<IncomingResponse, String> {
    loop {
        match future.get() {
            None => future.subscribe().block(),
            Some(Ok(Ok(response))) => return Ok(response),
            Some(Ok(Err(code))) => return Err(said(&code)),
            Some(Err(())) => return Err("asked for twice".into()),
        }
    }
}

fn said(code: &ErrorCode) -> String {
    format!("no answer: {code:?}")
}

fn read(response: &IncomingResponse, keep: u64) -> Result<Value, String> {
    let headers: Map<String, Value> = response
        .headers()
        .entries()
        .into_iter()
        .map(|(name, value)| (name, Value::String(String::from_utf8_lossy(&value).into_owned())))
        .collect();
    let body = response.consume().map_err(|()| "the body is gone")?;
    let stream = body.stream().map_err(|()| "the stream is gone")?;
    let (mut kept, mut size) = (Vec::new(), 0_u64);
    loop {
        match stream.blocking_read(64 << 10) {
            Ok(bytes) => {
                size += bytes.len() as u64;
                let room = usize::try_from(keep).unwrap_or(usize::MAX).saturating_sub(kept.len());
                kept.extend_from_slice(&bytes[..bytes.len().min(room)]);
            }
            Err(StreamError::Closed) => break,
            Err(StreamError::LastOperationFailed(error)) => {
                return Err(format!("after {size} bytes: {}", error.to_debug_string()));
            }
        }
    }
    Ok(json!({
        "status": response.status(),
        "headers": headers,
        "body": String::from_utf8_lossy(&kept),
        "size": size,
    }))
}
