// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A pair of functions that receive a result: the documented form. Exactly one of them is called, once.
public struct AccessEnablerCallback<Value: Sendable>: Sendable {
    /// Receives the answer of the service, a result or an error.
    public let onResponse: @Sendable (Value) -> Void
    /// Receives the failure of the client, if it cannot send the request or not read the response.
    public let onFailure: @Sendable (Value) -> Void

    /// Creates a callback.
    public init(
        onResponse: @escaping @Sendable (Value) -> Void,
        onFailure: @escaping @Sendable (Value) -> Void
    ) {
        self.onResponse = onResponse
        self.onFailure = onFailure
    }
}

/// The result of an ``AccessEnablerCallback``, as a value.
public enum AccessEnablerResult<Value: Sendable>: Sendable {
    /// The answer of the service, a result or an error.
    case response(Value)
    /// The failure of the client: it cannot send the request or not read the response.
    case failure(Value)

    /// The value of either case.
    public var value: Value {
        switch self {
        case .response(let value), .failure(let value): value
        }
    }
}

extension AccessEnablerResult: Equatable where Value: Equatable {}
