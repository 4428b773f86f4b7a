// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A pair of functions that receive a result: the documented form. Exactly one of them is called, once, on the main actor.
///
/// The functions may be plain ones, which capture values of the main actor. Those that are created elsewhere must not share
/// mutable values with other threads.
public struct AccessEnablerCallback<Value: Sendable>: @unchecked Sendable {
    // Called on the main actor only.
    private let response: (Value) -> Void
    private let failure: (Value) -> Void

    /// Creates a callback.
    public init(onResponse: @escaping (Value) -> Void, onFailure: @escaping (Value) -> Void) {
        response = onResponse
        failure = onFailure
    }

    /// Receives the answer of the service, a result or an error.
    @MainActor public func onResponse(_ result: Value) { response(result) }

    /// Receives the failure of the client, if it cannot send the request or not read the response.
    @MainActor public func onFailure(_ result: Value) { failure(result) }
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
