// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if Redis
    /// The slot of a key in a Redis Cluster.
    enum RedisSlot {
        /// The number of slots.
        static let count = 16_384

        /// Returns the slot of a key: CRC-16 (XMODEM) of the text in its first braces, or of the whole key without such.
        static func of(_ key: ArraySlice<UInt8>) -> Int {
            var bytes = key
            if let open = bytes.firstIndex(of: UInt8(ascii: "{")),
                let close = bytes[(open + 1)...].firstIndex(of: UInt8(ascii: "}")), close > open + 1
            {
                bytes = bytes[(open + 1)..<close]
            }
            var sum: UInt16 = 0
            for byte in bytes {
                sum ^= UInt16(byte) << 8
                for _ in 0..<8 { sum = sum & 0x8000 == 0 ? sum << 1 : sum << 1 ^ 0x1021 }
            }
            return Int(sum) % count
        }
    }

    /// A redirection to another server of a cluster.
    struct RedisRedirection: Equatable {
        /// True if the slot has moved for good; false if the keys of one call have (`ASK`).
        let isForGood: Bool
        let slot: Int
        let address: RedisSettings.Address

        /// Reads an error such as `MOVED 3999 127.0.0.1:6381`; `nil` if it is not a redirection.
        ///
        /// - Parameter server: The server that gave the error, whose host counts if the error names none.
        init?(_ text: String, from server: RedisSettings.Address) {
            let words = text.split(separator: " ")
            guard words.count >= 3, words[0] == "MOVED" || words[0] == "ASK", let slot = Int(words[1]),
                0..<RedisSlot.count ~= slot, let colon = words[2].lastIndex(of: ":"),
                let port = UInt16(words[2][words[2].index(after: colon)...]), port > 0
            else { return nil }
            isForGood = words[0] == "MOVED"
            self.slot = slot
            address = server.with(host: String(words[2][..<colon]), port: Int(port))
        }
    }

    extension RedisSettings.Address {
        /// The address that a server of a cluster names: an empty host is that of the server itself.
        package func with(host: String, port: Int) -> RedisSettings.Address {
            if host.isEmpty || host == "?", case .tcp(let own, _) = self { return .tcp(host: own, port: port) }
            return .tcp(host: host, port: port)
        }
    }

    /// The primaries of a cluster by slot.
    struct RedisSlotMap: Equatable {
        private(set) var primaries: [RedisSettings.Address?]

        /// True if each slot has a primary.
        var isComplete: Bool { primaries.allSatisfy { $0 != nil } }

        /// Reads the reply to `CLUSTER SLOTS`: ranges, each with the address of its primary first.
        ///
        /// - Parameter server: The server that gave the reply.
        init?(_ reply: RedisReply, from server: RedisSettings.Address) {
            guard case .array(let ranges) = reply else { return nil }
            primaries = Array(repeating: nil, count: RedisSlot.count)
            for range in ranges {
                guard case .array(let parts) = range, parts.count >= 3, case .integer(let first) = parts[0],
                    case .integer(let last) = parts[1], 0 <= first, first <= last, last < Int64(RedisSlot.count),
                    case .array(let node) = parts[2], node.count >= 2, case .integer(let port) = node[1],
                    1...65_535 ~= port
                else { return nil }
                // A host that is null is unknown to the server: it is the called server.
                let host = if case .text(let text) = node[0] { String(decoding: text, as: UTF8.self) } else { "" }
                let address = server.with(host: host, port: Int(port))
                for slot in first...last { primaries[Int(slot)] = address }
            }
        }

        /// Notes that a slot has moved.
        mutating func move(_ slot: Int, to address: RedisSettings.Address) { primaries[slot] = address }
    }
#endif
