//! The sandbox's calls over HTTP, for the test suites of shops. Any key of the environment may make
//! them.

use std::sync::Arc;

use axum::Router;
use axum::extract::rejection::RawPathParamsRejection;
use axum::extract::{RawPathParams, Request, State};
use axum::response::Response;
use axum::routing::{MethodRouter, get, post, put};
use tillgate_gateway::sandbox::{self, ROUTES, Route};

use super::auth::Caller;
use super::body::read_json_body;
use super::error::Failure;
use super::query::NoQuery;
use super::respond::json_answer;
use super::state::Http;

const V2: &str = "/v2";

/// All calls of the sandbox. They are served beside `/v2`, and below it for clients with one base
/// URL.
pub fn routes() -> Router<Arc<Http>> {
    let with_both = |router: Router<Arc<Http>>, route: &'static Route| {
        router
            .route(route.path, method_of(route))
            .route(&format!("{V2}{}", route.path), method_of(route))
    };
    ROUTES.iter().fold(Router::new(), with_both)
}

/// The parameters of a path, if readable.
type Named = Result<RawPathParams, RawPathParamsRejection>;

fn method_of(route: &'static Route) -> MethodRouter<Arc<Http>> {
    let handler =
        move |http: State<Arc<Http>>,
              caller: Caller,
              _: NoQuery,
              named: Named,
              request: Request| { call(route, http, caller, named, request) };
    match route.method {
        "GET" => get(handler),
        "PUT" => put(handler),
        _ => post(handler),
    }
}

async fn call(
    route: &'static Route,
    State(http): State<Arc<Http>>,
    caller: Caller,
    named: Named,
    request: Request,
) -> Result<Response, Failure> {
    // POST extends the chain or changes payments. PUT replaces a value, such as the end of a fault.
    if route.method == "POST" {
        caller.asks(&http)?;
        http.app.gateway.check_room()?;
    }
    let named = named.map_err(|_| Failure::not_found("record"))?;
    let (parts, body) = request.into_parts();
    let body = read_json_body(&parts.headers, body).await?;
    let subject = named.iter().next().map_or("", |(_, subject)| subject);
    let call = route.parse(&http.app.gateway, subject, &body)?;
    Ok(json_answer(sandbox::make(&http.app, call).await?.to_string()))
}
