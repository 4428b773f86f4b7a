// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import Synchronization

/// Calls a delegate, one callback after another, independently of the client. A slow application delays its own callbacks
/// and nothing else.
final class CallbackQueue: Sendable {
    typealias Delegate = any AccessEnablerDelegate

    private let jobs = SerialQueue()
    private let source: Mutex<@Sendable () -> Delegate?>

    init(_ delegate: Delegate?) { source = Mutex { delegate } }

    /// The delegate; `nil` if there is none, or it was released.
    var delegate: Delegate? { source.withLock { $0 }() }

    /// Sets the source of the delegate, which is called before each callback.
    func use(_ delegate: @escaping @Sendable () -> Delegate?) { source.withLock { $0 = delegate } }

    func call(_ callback: @escaping @Sendable (Delegate) async -> Void) {
        guard delegate != nil else { return }
        jobs.add { if let delegate = self.delegate { await callback(delegate) } }
    }

    /// Waits until all callbacks that are queued now have run.
    func drain() async { await jobs.drain() }
}

extension CallbackQueue {
    func tracking(_ event: TrackingEvent) {
        call { delegate in await delegate.sendTrackingData(event.data, forEventType: event.type) }
    }

    func status(_ id: AdvancedStatus.DocumentedID, message: String? = nil, resource: String? = nil) {
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
