// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// How an endpoint speaks, and so how its errors are told.
enum Dialect: Sendable {
    /// Dynamic client registration: a word in JSON.
    case registration
    /// REST API v1: JSON or XML.
    case v1
    /// Preauthorization of REST API v1: the error stands beside no resources.
    case v1Preauthorization
    /// REST API v2: JSON.
    case v2
    /// What the native SDKs called: XML.
    case legacy
    /// For people.
    case page
    /// Concurrency Monitoring, and the switches: JSON.
    case plain
}
