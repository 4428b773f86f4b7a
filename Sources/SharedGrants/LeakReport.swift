// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
package import Platform

/// A fact about a playback that one observer reports to others. Facts are a set: their order and repetition change nothing.
package enum LeakReport: Hashable, Sendable {
    /// The playback was seen: at first, and each half minute.
    case seen(playback: UInt64, time: Timestamp)
    /// The playback is challenged: its grants from before are replaced, and their uses reported.
    case challenged(LeakChallenge)
    /// A grant of a challenged playback was used.
    case used(playback: UInt64, GrantUse)
    /// The playback is proven to be shared.
    case proven(session: SessionID, evidence: Leak.Evidence, time: Timestamp)
    /// An edge has a grant of the playback: only who has one knows its session.
    case held(HeldPlayback)
}

/// A playback of which an edge has a grant.
package struct HeldPlayback: Hashable, Sendable {
    package let playback: UInt64
    package let session: SessionID
    package let sessionEnd: Timestamp
    package let profile: String
    package let time: Timestamp
    /// The reason of the report.
    package let cause: Cause

    /// A reason to report a holder.
    package enum Cause: UInt8, Sendable {
        /// The playback is watched.
        case watched = 0
        /// Players took turns at the edge.
        case turns = 1
        /// The playback was seen elsewhere, and is at the edge again.
        case sighted = 2
    }

    /// Creates a value of its members; `nil` if the number of the playback is none of its session, or the profile's name has
    /// control characters.
    package init?(
        _ playback: UInt64,
        session: SessionID,
        until sessionEnd: Timestamp,
        profile: String,
        at time: Timestamp,
        because cause: Cause
    ) {
        let isPrintable = profile.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0.value != 0x7F }
        guard isPrintable, GrantHolder.isPlayback(playback, of: session) else { return nil }
        self.playback = playback
        self.session = session
        self.sessionEnd = sessionEnd
        self.profile = profile
        self.time = time
        self.cause = cause
    }
}

/// The challenge of a playback whose grant more than one seem to hold.
package struct LeakChallenge: Hashable, Sendable {
    package let playback: UInt64
    package let session: SessionID
    package let sessionEnd: Timestamp
    package let profile: String
    /// The time of the challenge. Grants that were issued before its second are replaced.
    package let time: Timestamp

    /// The length of a watch, in milliseconds.
    package static let length: Int64 = 180_000

    /// Creates a challenge of its members.
    package init(
        playback: UInt64,
        session: SessionID,
        sessionEnd: Timestamp,
        profile: String,
        time: Timestamp
    ) {
        self.playback = playback
        self.session = session
        self.sessionEnd = sessionEnd
        self.profile = profile
        self.time = time
    }

    /// Grants that were issued before this time are replaced.
    var before: Timestamp { Timestamp(secondsSince1970: time.seconds) }

    /// The end of the watch.
    var end: Timestamp { time.advanced(byMilliseconds: Self.length) }
}

/// The reports of one observer, as they are sent: binary, numbers with the highest byte first.
///
/// A version, the number of the observer and a time come first. Each report has a byte for its kind, and its time as a
/// difference from that of the batch in milliseconds: seven bits in each byte, the lowest first, with the highest bit in all but
/// the last.
package struct LeakReportBatch: Hashable, Sendable {
    /// The number of the observer, which is random.
    package let observer: UInt64
    package let reports: [LeakReport]

    /// The maximum size in bytes.
    package static let maximumSize = 65_536
    /// The number of bytes before the first report.
    package static let headerSize = 17
    private static let version: UInt8 = 1
    private static let maximumProfile = 64

    /// Creates a batch of its members.
    package init(observer: UInt64, reports: [LeakReport]) { (self.observer, self.reports) = (observer, reports) }

    private enum Kind: UInt8 { case seen = 1, challenged, used, proven, held }

    // MARK: Writing

    /// The bytes of the batch. Reports for which there is no room are left out, and the names of profiles are cut at 64 bytes.
    package var encoded: [UInt8] {
        let base = reports.map(\.time).min() ?? Timestamp(millisecondsSince1970: 0)
        var bytes: [UInt8] = [Self.version]
        bytes.append(observer, size: 8)
        bytes.append(UInt64(bitPattern: base.millisecondsSince1970), size: 8)
        for report in reports {
            let entry = Self.entry(report, base: base)
            if bytes.count + entry.count > Self.maximumSize { break }
            bytes += entry
        }
        return bytes
    }

    private static func entry(_ report: LeakReport, base: Timestamp) -> [UInt8] {
        let (difference, isBeyond) = report.time.millisecondsSince1970.subtractingReportingOverflow(
            base.millisecondsSince1970
        )
        guard !isBeyond, let offset = UInt32(exactly: difference) else { return [] }
        var bytes: [UInt8] = []
        func begin(_ kind: Kind) {
            bytes.append(kind.rawValue)
            bytes.append(offset: offset)
        }
        switch report {
        case .seen(let playback, _):
            begin(.seen)
            bytes.append(playback, size: 8)
        case .used(let playback, let use):
            begin(.used)
            bytes.append(playback, size: 8)
            bytes.append(UInt64(use.grant), size: 4)
            bytes.append(UInt64(use.segment.index), size: 4)
            bytes.append(UInt64(use.segment.track), size: 2)
        case .proven(let session, let evidence, _):
            begin(.proven)
            bytes += session.bytes
            bytes.append(evidence.code)
        case .challenged(let challenge):
            begin(.challenged)
            bytes.append(challenge.playback, size: 8)
            bytes += facts(challenge.session, until: challenge.sessionEnd, profile: challenge.profile)
        case .held(let held):
            begin(.held)
            bytes.append(held.playback, size: 8)
            bytes.append(held.cause.rawValue)
            bytes += facts(held.session, until: held.sessionEnd, profile: held.profile)
        }
        return bytes
    }

    private static func facts(_ session: SessionID, until end: Timestamp, profile: String) -> [UInt8] {
        var bytes = session.bytes
        bytes.append(UInt64(bitPattern: end.millisecondsSince1970), size: 8)
        let name = Array(profile.utf8.prefix(maximumProfile))
        bytes.append(UInt8(name.count))
        return bytes + name
    }

    // MARK: Reading

    /// Reads the bytes of a batch; `nil` if they are too many, of another version, or none.
    package init?(_ bytes: some Collection<UInt8>) {
        var reader = Reader(rest: bytes.prefix(Self.maximumSize + 1).map(\.self)[...])
        guard bytes.count <= Self.maximumSize, reader.number(1) == UInt64(Self.version),
            let observer = reader.number(8),
            let base = reader.number(8)
        else { return nil }
        var reports: [LeakReport] = []
        while !reader.rest.isEmpty {
            guard let entry = reader.entry(base: Int64(bitPattern: base)) else { return nil }
            // One that contradicts itself is left out.
            if let report = entry.report { reports.append(report) }
        }
        self.init(observer: observer, reports: reports)
    }

    /// An entry as it was read, without a report if it contradicts itself.
    private struct Entry {
        let report: LeakReport?
    }

    private struct Reader {
        var rest: ArraySlice<UInt8>

        mutating func bytes(_ count: Int) -> ArraySlice<UInt8>? {
            guard rest.count >= count else { return nil }
            defer { rest = rest.dropFirst(count) }
            return rest.prefix(count)
        }

        mutating func number(_ size: Int) -> UInt64? { bytes(size)?.reduce(0) { $0 << 8 | UInt64($1) } }

        mutating func offset() -> UInt32? {
            var offset: UInt64 = 0
            for shift in stride(from: 0 as UInt64, to: 35, by: 7) {
                guard let byte = rest.popFirst() else { return nil }
                offset |= UInt64(byte & 0x7F) << shift
                if byte & 0x80 == 0 { return UInt32(exactly: offset) }
            }
            return nil
        }

        /// Reads an entry; `nil` if it is none.
        mutating func entry(base: Int64) -> Entry? {
            guard let kind = number(1).flatMap({ Kind(rawValue: UInt8($0)) }), let offset = offset() else {
                return nil
            }
            let time = Timestamp(millisecondsSince1970: base).advanced(byMilliseconds: Int64(offset))
            switch kind {
            case .seen: return number(8).map { Entry(report: .seen(playback: $0, time: time)) }
            case .used: return use(at: time).map { Entry(report: $0) }
            case .challenged: return challenge(at: time).map { Entry(report: $0) }
            case .held: return held(at: time)
            case .proven:
                guard let session = bytes(16).flatMap({ SessionID(bytes: $0) }),
                    let evidence = number(1).flatMap({ Leak.Evidence(code: UInt8($0)) })
                else { return nil }
                return Entry(report: .proven(session: session, evidence: evidence, time: time))
            }
        }

        private mutating func use(at time: Timestamp) -> LeakReport? {
            guard let playback = number(8), let grant = number(4), let index = number(4), let track = number(2) else {
                return nil
            }
            let segment = Segment(index: UInt32(index), track: UInt16(track))
            return .used(playback: playback, GrantUse(segment, by: UInt32(grant), at: time))
        }

        private mutating func challenge(at time: Timestamp) -> LeakReport? {
            guard let playback = number(8), let facts = facts() else { return nil }
            return .challenged(
                LeakChallenge(
                    playback: playback,
                    session: facts.session,
                    sessionEnd: facts.end,
                    profile: facts.profile,
                    time: time
                )
            )
        }

        private mutating func held(at time: Timestamp) -> Entry? {
            guard let playback = number(8), let cause = number(1).flatMap({ HeldPlayback.Cause(rawValue: UInt8($0)) }),
                let facts = facts()
            else { return nil }
            let held = HeldPlayback(
                playback,
                session: facts.session,
                until: facts.end,
                profile: facts.profile,
                at: time,
                because: cause
            )
            return Entry(report: held.map { .held($0) })
        }

        private mutating func facts() -> (session: SessionID, end: Timestamp, profile: String)? {
            guard let session = bytes(16).flatMap({ SessionID(bytes: $0) }), let end = number(8),
                let count = number(1), count <= maximumProfile,
                let profile = bytes(Int(count)).flatMap({ String(validating: $0, as: UTF8.self) })
            else { return nil }
            return (session, Timestamp(millisecondsSince1970: Int64(bitPattern: end)), profile)
        }
    }
}

extension LeakReport {
    /// The time of the fact.
    package var time: Timestamp {
        switch self {
        case .seen(_, let time), .proven(_, _, let time): time
        case .challenged(let challenge): challenge.time
        case .used(_, let use): use.time
        case .held(let held): held.time
        }
    }
}

extension Leak.Evidence {
    fileprivate var code: UInt8 {
        switch self {
        case .renewals: 1
        case .forks: 2
        }
    }

    fileprivate init?(code: UInt8) {
        guard let evidence = Self.allCases.first(where: { $0.code == code }) else { return nil }
        self = evidence
    }
}

extension [UInt8] {
    /// Appends a difference of times.
    fileprivate mutating func append(offset: UInt32) {
        var rest = offset
        while rest >= 0x80 {
            append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        append(UInt8(rest))
    }

    /// Appends the lowest bytes of a number, the highest one first.
    mutating func append(_ number: UInt64, size: Int) {
        for byte in (0..<size).reversed() { append(UInt8(truncatingIfNeeded: number >> UInt64(8 * byte))) }
    }
}
