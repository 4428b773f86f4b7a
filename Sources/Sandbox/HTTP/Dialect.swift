// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

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
