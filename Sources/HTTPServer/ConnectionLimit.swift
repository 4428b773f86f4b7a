// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Metrics
package import NIOCore
internal import Synchronization

/// The connection limits of a listener.
///
/// An untrusted peer gets no connection. One address gets at most its quota. Connections of unauthenticated peers share
/// at most half of all: for each new one, the idlest of them is closed. A peer without a credential therefore cannot
/// block those that have one.
package final class ConnectionLimit: Sendable {
    /// The listener's name in metrics and answers.
    package let listener: String
    /// The most open connections.
    package let limit: Int
    /// The most open connections of one address.
    package let limitPerPeer: Int

    private let standing: @Sendable (SocketAddress?) -> PeerStanding
    private let report: @Sendable (PeerRefusal, SocketAddress?) -> Void
    private let opened: Counter
    private let refused: [PeerRefusal: Counter]
    private let open = Atomic<Int>(0)
    /// The connections of unauthenticated peers.
    private let unproven = Mutex<[ObjectIdentifier: ConnectionSlot]>([:])

    /// Creates the limits of a listener.
    ///
    /// - Parameters:
    ///   - standing: Returns the standing of a peer, by its address.
    ///   - report: Called for every connection that is refused.
    package init(
        listener: String,
        limits: HTTPLimits,
        factory: any MetricsFactory,
        standing: @escaping @Sendable (SocketAddress?) -> PeerStanding = { _ in .trusted },
        report: @escaping @Sendable (PeerRefusal, SocketAddress?) -> Void
    ) {
        self.listener = listener
        limit = limits.connections
        limitPerPeer = limits.connectionsPerPeer
        self.standing = standing
        self.report = report
        opened = Counter(label: "playgate_connections", dimensions: [("listener", listener)], factory: factory)
        refused = Dictionary(
            uniqueKeysWithValues: PeerRefusal.allCases.map { reason in
                let labels = [("listener", listener), ("reason", reason.rawValue)]
                return (reason, Counter(label: "playgate_connections_refused", dimensions: labels, factory: factory))
            }
        )
    }

    /// The number of open connections.
    package var count: Int { open.load(ordering: .relaxed) }

    /// True if the limit is reached.
    package var isFull: Bool { count >= limit }

    /// Creates a handler for the listener's server channel.
    package func makeHandler() -> ConnectionLimitHandler { ConnectionLimitHandler(self) }

    fileprivate func standing(of peer: SocketAddress?) -> PeerStanding { standing(peer) }

    fileprivate func refuse(for reason: PeerRefusal, peer: SocketAddress?) {
        refused[reason]?.increment()
        report(reason, peer)
    }

    fileprivate func noteOpened() {
        open.add(1, ordering: .relaxed)
        opened.increment()
    }

    fileprivate func release() { open.subtract(1, ordering: .relaxed) }

    // MARK: Proofs

    /// Returns the slot of a connection whose peer is not authenticated; `nil` for another one.
    package func slot(of channel: any Channel) -> ConnectionSlot? {
        unproven.withLock { $0[ObjectIdentifier(channel)] }
    }

    /// True if a connection can be closed for another one.
    fileprivate var hasUnproven: Bool { unproven.withLock { !$0.isEmpty } }

    /// Gives a slot to a connection whose peer is not authenticated.
    fileprivate func addUnproven(_ channel: any Channel) {
        let slot = ConnectionSlot(channel, in: self)
        unproven.withLock { $0[ObjectIdentifier(channel)] = slot }
    }

    /// Closes the idlest connection of an unauthenticated peer, if there are more than `most`.
    fileprivate func closeIdlest(ifMoreThan most: Int) {
        let idlest = unproven.withLock { unproven -> ConnectionSlot? in
            guard unproven.count > most, let idlest = unproven.min(by: { $0.value.lastUse < $1.value.lastUse })
            else { return nil }
            unproven[idlest.key] = nil
            return idlest.value
        }
        idlest?.channel.close(promise: nil)
    }

    /// The most connections of unauthenticated peers.
    fileprivate var limitOfUnproven: Int { (limit + 1) / 2 }

    fileprivate func remove(_ channel: any Channel) { unproven.withLock { $0[ObjectIdentifier(channel)] = nil } }
}

/// The slot of a connection whose peer is not authenticated yet.
package final class ConnectionSlot: Sendable {
    fileprivate let channel: any Channel
    private let connectionLimit: ConnectionLimit
    private let used: Atomic<UInt64>

    fileprivate init(_ channel: any Channel, in connectionLimit: ConnectionLimit) {
        self.channel = channel
        self.connectionLimit = connectionLimit
        used = Atomic(NIODeadline.now().uptimeNanoseconds)
    }

    /// The uptime at the last request, or at the beginning, in nanoseconds.
    fileprivate var lastUse: UInt64 { used.load(ordering: .relaxed) }

    /// Notes a request.
    package func noteUse() { used.store(NIODeadline.now().uptimeNanoseconds, ordering: .relaxed) }

    /// Records that the peer is authenticated: its connection is not closed for another one.
    package func prove() { connectionLimit.remove(channel) }
}

/// Returns the standing of a peer before its first request.
package enum PeerStanding: Sendable {
    /// The peer may send requests.
    case trusted
    /// The peer may send requests if it presents a key or a certificate.
    case unknown
    /// The peer may not send requests.
    case untrusted
}

/// A reason to close a connection as soon as it is accepted.
package enum PeerRefusal: String, CaseIterable, Sendable {
    /// The peer is not trusted.
    case untrusted = "untrusted_peer"
    /// The peer has reached its quota of connections.
    case quota = "peer_quota"
}

/// Enforces the limits on accepted connections. While all slots are in use, new connections wait in the system's queue.
package final class ConnectionLimitHandler: ChannelDuplexHandler {
    package typealias InboundIn = any Channel
    package typealias InboundOut = any Channel
    package typealias OutboundIn = Never

    private let connectionLimit: ConnectionLimit
    private var count = 0
    /// The number of connections of each address. Peers without an address, such as those of unix sockets, have no quota.
    private var countOfPeers: [UInt128: Int] = [:]
    private var isReadHeld = false

    fileprivate init(_ connectionLimit: ConnectionLimit) { self.connectionLimit = connectionLimit }

    package func read(context: ChannelHandlerContext) {
        if count < connectionLimit.limit || connectionLimit.hasUnproven {
            context.read()
        } else {
            isReadHeld = true
        }
    }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let channel = unwrapInboundIn(data)
        let peer = channel.remoteAddress
        let standing = connectionLimit.standing(of: peer)
        let address = peer?.number
        if let reason = refusal(standing: standing, address: address) {
            connectionLimit.refuse(for: reason, peer: peer)
            channel.close(promise: nil)
            return
        }
        count += 1
        if standing == .unknown { connectionLimit.addUnproven(channel) }
        connectionLimit.closeIdlest(ifMoreThan: count > connectionLimit.limit ? 0 : connectionLimit.limitOfUnproven)
        if let address { countOfPeers[address, default: 0] += 1 }
        connectionLimit.noteOpened()
        let this = NIOLoopBound((self, context), eventLoop: context.eventLoop)
        channel.closeFuture.hop(to: context.eventLoop).whenComplete { _ in
            let (handler, context) = this.value
            handler.leave(channel, address: address, in: context)
        }
        context.fireChannelRead(data)
    }

    private func refusal(standing: PeerStanding, address: UInt128?) -> PeerRefusal? {
        if standing == .untrusted { return .untrusted }
        guard let address, let count = countOfPeers[address], count >= connectionLimit.limitPerPeer else { return nil }
        return .quota
    }

    private func leave(_ channel: any Channel, address: UInt128?, in context: ChannelHandlerContext) {
        count -= 1
        connectionLimit.remove(channel)
        if let address, let left = countOfPeers[address] {
            countOfPeers[address] = left > 1 ? left - 1 : nil
        }
        connectionLimit.release()
        guard isReadHeld, count < connectionLimit.limit else { return }
        isReadHeld = false
        context.read()
    }
}
