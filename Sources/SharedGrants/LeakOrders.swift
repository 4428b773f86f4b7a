// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Platform

/// The orders to an edge that decides by itself, in answer to its reports. All of them are valid until the next answer.
///
/// As it is sent: a version, the level of suspicion in quarters of a turn, and the number of the patterns, a byte each; the patterns
/// with their lengths; and 25 bytes for each order: its kind, the playback, and two times in Unix milliseconds, with the highest byte
/// first.
package struct LeakOrders: Sendable {
    /// The patterns of renditions.
    package let renditions: [RenditionPattern]
    package let orders: [Order]

    /// An order about a playback, by its hash: an edge that has not seen its grant learns nothing about it.
    package enum Order: Hashable, Sendable {
        /// Grants that were issued before are to be replaced by asking the gate, and all uses to be reported.
        ///
        /// - `isKnown`: True if the gate knows the holder from the edge.
        case watch(playback: UInt64, before: Timestamp, end: Timestamp, isKnown: Bool)
        /// The holder of the next grant is to be reported.
        case look(playback: UInt64, end: Timestamp)
    }

    /// The maximum number of orders.
    package static let maximumCount = 2048
    private static let version: UInt8 = 1

    /// Creates orders of their members.
    package init(renditions: [RenditionPattern], orders: [Order]) {
        (self.renditions, self.orders) = (renditions, orders)
    }

    /// The bytes of the orders. Those for which there is no room are left out.
    package var encoded: [UInt8] {
        let patterns = renditions.prefix(RenditionPattern.maximumCount)
        var bytes: [UInt8] = [Self.version, UInt8(4 * LeakWatch.suspicion), UInt8(patterns.count)]
        for pattern in patterns {
            bytes.append(UInt8(clamping: pattern.text.utf8.count))
            bytes += pattern.text.utf8
        }
        for order in orders.prefix(Self.maximumCount) {
            bytes.append(order.kind)
            bytes.append(order.playback, size: 8)
            for time in order.times { bytes.append(UInt64(bitPattern: time.millisecondsSince1970), size: 8) }
        }
        return bytes
    }
}

extension LeakOrders.Order {
    fileprivate var kind: UInt8 {
        switch self {
        case .watch(_, _, _, let isKnown): isKnown ? 2 : 1
        case .look: 3
        }
    }

    fileprivate var playback: UInt64 {
        switch self {
        case .watch(let playback, _, _, _), .look(let playback, _): playback
        }
    }

    fileprivate var times: [Timestamp] {
        switch self {
        case .watch(_, let before, let end, _): [before, end]
        case .look(_, let end): [Timestamp(millisecondsSince1970: 0), end]
        }
    }
}
