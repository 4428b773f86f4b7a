// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// A replay store that calls a closure with the outcome of a use, so that no task has to wait for it.
package protocol CallbackReplayStore: ReplayStore, AnyObject {
    /// False if the settings of the store exclude callbacks. Does not change.
    var callsBack: Bool { get }

    /// Does the same as ``ReplayStore/record(_:at:)`` with a token that is consumed, and as
    /// ``ReplayStore/examine(_:at:)`` with another.
    ///
    /// - Parameter receive: Called once, on any thread, possibly before this function returns; with `nil` if the outcome is unknown.
    func ask(_ use: TokenUse, isConsumed: Bool, receive: @escaping @Sendable (UseOutcome?) -> Void)
}
