//! Where the guest's requests arrive.

use std::sync::Arc;
use std::time::Instant;

use http::{HeaderName, Request};
use tokio::sync::Semaphore;
use wasmtime_wasi_http::{
    Error, ForbiddenHeaderFilter, RequestOptions, Result, WasiBody, WasiHttpHooks,
};

use crate::policy::{Host, HttpRefusal};

use super::exchange::Exchange;
use super::fault::Fault;
use super::record::{HttpRecord, Log};
use super::redirects::Redirects;
use super::{HttpAccess, request};

/// Bytes that a guest may write to a request's body before the connection has taken them.
const BODY_PIECE: usize = 64 << 10;

type Answer = (http::Response<WasiBody>, Box<dyn Future<Output = Result<(), Error>> + Send>);

/// One call's side of HTTP.
pub(super) struct Hooks {
    access: Option<Arc<HttpAccess>>,
    deadline: Instant,
    /// Made at the first request.
    call: Option<Arc<Call>>,
    asked: u32,
}

/// What the requests of a call share.
pub(super) struct Call {
    pub log: Log,
    pub redirects: std::sync::Mutex<Redirects>,
    slots: Arc<Semaphore>,
}

impl Hooks {
    pub(super) fn new(access: Option<Arc<HttpAccess>>, deadline: Instant) -> Self {
        Self { access, deadline, call: None, asked: 0 }
    }

    pub(super) fn finish(self) -> HttpRecord {
        self.call.map(|call| call.log.take()).unwrap_or_default()
    }

    /// Judges a request and makes it ready. Nothing has left this machine yet.
    fn begin(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
    ) -> Result<Exchange, Error> {
        let access = self.access.get_or_insert_with(|| Arc::new(HttpAccess::nothing("NAME")));
        let at_once = access.rules.limits.at_once;
        let call = self.call.get_or_insert_with(|| {
            Arc::new(Call {
                log: Log::default(),
                redirects: std::sync::Mutex::default(),
                slots: Arc::new(Semaphore::new(at_once as usize)),
            })
        });
        self.asked = self.asked.saturating_add(1);
        let asked = self.asked;
        judged(access, call, asked, request, options, self.deadline).map_err(|fault| {
            call.log.fault(&fault);
            fault.to_guest()
        })
    }
}

fn judged(
    access: &Arc<HttpAccess>,
    call: &Arc<Call>,
    asked: u32,
    request: Request<WasiBody>,
    options: Option<RequestOptions>,
    deadline: Instant,
) -> Result<Exchange, Fault> {
    let (parts, body) = request.into_parts();
    let authority = parts.uri.authority().map(http::uri::Authority::as_str).unwrap_or_default();
    let scheme = parts.uri.scheme_str().unwrap_or_default();
    let target = access.rules.judge(&access.plugin, parts.method.as_str(), scheme, authority)?;
    let limits = &access.rules.limits;
    if asked > limits.requests {
        return Err(Fault::TooMany { limit: limits.requests });
    }
    let path = parts.uri.path_and_query().map(http::uri::PathAndQuery::as_str).unwrap_or_default();
    let url = request::url(&target, path).ok_or_else(|| HttpRefusal::Odd {
        authority: target.place(),
        why: "its path is understood in more than one way",
    })?;
    let hop = call.redirects.lock().unwrap_or_else(std::sync::PoisonError::into_inner).hop(&url);
    hop.judge(&target)?;
    let way = access.clients.way(&target, &url);
    if way.is_proxy() && matches!(target.host, Host::Address(_)) {
        return Err(HttpRefusal::AddressByProxy { place: target.place() }.into());
    }
    let slot = Arc::clone(&call.slots)
        .try_acquire_owned()
        .map_err(|_| Fault::TooManyAtOnce { limit: limits.at_once })?;
    let mut headers = parts.headers;
    hop.strip(&mut headers);
    request::prepare(&mut headers, access.secret_headers(&target));
    Ok(Exchange {
        access: Arc::clone(access),
        call: Arc::clone(call),
        target,
        way,
        hop,
        method: parts.method,
        url,
        headers,
        body: request::body(body, limits.request_body),
        options: options.unwrap_or_default(),
        deadline,
        slot: Arc::new(slot),
    })
}

impl WasiHttpHooks for Hooks {
    fn is_forbidden_header(&mut self, name: &HeaderName) -> bool {
        request::is_forbidden(name)
    }

    fn forbidden_header_filter(&mut self) -> ForbiddenHeaderFilter {
        Arc::new(request::is_forbidden)
    }

    /// Every scheme comes to be judged, so that a refusal is recorded and explained.
    fn is_supported_scheme(&mut self, _scheme: &http::uri::Scheme) -> bool {
        true
    }

    /// The client writes it from the URL that was judged.
    fn set_host_header(&mut self) -> bool {
        false
    }

    fn send_request(
        &mut self,
        request: Request<WasiBody>,
        options: Option<RequestOptions>,
        _processed: Box<dyn Future<Output = Result<(), Error>> + Send>,
    ) -> Box<dyn Future<Output = Result<Answer>> + Send> {
        let begun = self.begin(request, options);
        Box::new(async move {
            let response = begun?.run().await?;
            let nothing_left: Box<dyn Future<Output = Result<(), Error>> + Send> =
                Box::new(async { Ok(()) });
            Ok((response, nothing_left))
        })
    }

    fn p2_outgoing_body_chunk_size(&mut self) -> usize {
        BODY_PIECE
    }
}
