// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

/// Calls a delegate, one callback after another, independently of the client. A slow application delays its own callbacks
/// and nothing else.
final class CallbackQueue: Sendable {
    typealias Callback = @Sendable (any EntitlementDelegate) async -> Void

    private let input: AsyncStream<Callback>.Continuation?
    private let task: Task<Void, Never>?

    init(_ delegate: (any EntitlementDelegate)?) {
        guard let delegate else {
            (input, task) = (nil, nil)
            return
        }
        let (stream, input) = AsyncStream<Callback>.makeStream()
        self.input = input
        task = Task { for await callback in stream { await callback(delegate) } }
    }

    /// Ends the queue. Callbacks that are queued still run after the client is released.
    deinit { input?.finish() }

    func call(_ callback: @escaping Callback) { input?.yield(callback) }

    /// Waits until all callbacks that are queued now have run.
    func drain() async {
        guard let input else { return }
        await withCheckedContinuation { continuation in
            if case .terminated = input.yield({ _ in continuation.resume() }) { continuation.resume() }
        }
    }
}

extension CallbackQueue {
    func tracking(_ event: TrackingEvent) {
        call { delegate in await delegate.sendTrackingData(event.data, forEventType: event.type) }
    }

    func status(_ id: AdvancedStatus.DocumentedID, _ message: String? = nil, resource: String? = nil) {
        call { delegate in await delegate.status(AdvancedStatus(id, message: message, resource: resource)) }
    }
}

extension TrackingEvent {
    fileprivate var type: TrackingEventType {
        switch self {
        case .authentication: .authentication
        case .authorization: .authorization
        case .providerSelection: .getSelectedProvider
        }
    }
}
