// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import HTTPTypes
internal import Hummingbird

/// An HTTP endpoint of the service.
struct Endpoint: Sendable {
    let method: HTTPRequest.Method
    /// The route pattern, with named segments: `/api/v2/:provider/sessions`.
    let path: String
    /// The operation that faults and throttling apply to; `nil` if neither applies.
    let operation: Operation?
    let dialect: Dialect
    let answer: @Sendable (EndpointRequest) async throws -> Response

    init(
        _ method: HTTPRequest.Method,
        path: String,
        operation: Operation?,
        dialect: Dialect,
        answer: @escaping @Sendable (EndpointRequest) async throws -> Response
    ) {
        self.method = method
        self.path = path
        self.operation = operation
        self.dialect = dialect
        self.answer = answer
    }
}

/// An operation that can be made to fail.
enum Operation: String, CaseIterable, Sendable {
    case register, token, configuration, regcode, sessions, authenticate, login, profiles, preauthorize, authorize
    case mediaToken, userMetadata, logout, concurrency
    /// A request of the service to a provider for a decision. Cached decisions need none.
    case mvpd
    /// Every operation except ``mvpd``.
    case any
}

/// The API style of an endpoint, which determines the form of its errors.
enum Dialect: Sendable {
    /// Dynamic client registration: an error code in JSON.
    case registration
    /// REST API v1: JSON or XML.
    case v1
    /// Preauthorization of REST API v1: an error beside an empty list of resources.
    case v1Preauthorization
    /// REST API v2: JSON.
    case v2
    /// The endpoints of the native SDKs: XML.
    case legacy
    /// Pages for people: HTML, or JSON if `Accept` names it.
    case page
    /// Concurrency Monitoring and the switches: JSON.
    case plain
}
