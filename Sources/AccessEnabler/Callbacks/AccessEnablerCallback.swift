// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What is called when an answer is there: the documented form of a result. Of both functions exactly one is called, once.
public struct AccessEnablerCallback<Value: Sendable>: Sendable {
    /// The service has answered, with a result or with its error.
    public let onResponse: @Sendable (Value) -> Void
    /// The client could not ask, or not understand the answer.
    public let onFailure: @Sendable (Value) -> Void

    /// Makes a callback.
    public init(
        onResponse: @escaping @Sendable (Value) -> Void,
        onFailure: @escaping @Sendable (Value) -> Void
    ) {
        self.onResponse = onResponse
        self.onFailure = onFailure
    }
}

/// The same as a value.
public enum AccessEnablerResult<Value: Sendable>: Sendable {
    /// The service has answered, with a result or with its error.
    case response(Value)
    /// The client could not ask, or not understand the answer.
    case failure(Value)

    /// What was answered, whoever did.
    public var value: Value {
        switch self {
        case .response(let value), .failure(let value): value
        }
    }
}

extension AccessEnablerResult: Equatable where Value: Equatable {}
