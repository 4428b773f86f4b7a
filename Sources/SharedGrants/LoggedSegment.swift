// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
package import Platform

/// A segment that was fetched, as a line of an edge's log says, which is a JSON object.
///
/// These members are read: `time` (ISO 8601, or seconds since 1970; in quotes with a fraction), `playback` (its id), `path`, and if they
/// are there `method`, `status` and `range`. A failed request is no segment that was fetched.
package struct LoggedSegment {
    /// The time of the request.
    package let time: Timestamp
    /// A hash of the playback.
    let playback: UInt64
    /// The id of the playback.
    let name: String
    let segment: Segment
    /// True if the answer was a range of bytes.
    package let isPartial: Bool

    /// The meaning of a line.
    package enum Line {
        case segment(LoggedSegment)
        /// A line about anything else.
        case other
        /// No JSON object, or one whose members are not what they are in a log.
        case malformed
    }

    /// The maximum size of a line, in bytes.
    package static let longestLine = 16 * 1024

    /// Reads a line.
    ///
    /// - Parameter renditions: The parts of paths that name a rendition.
    package static func read(_ line: Span<UInt8>, renditions: [RenditionPattern]) -> Line {
        let limits = JSONLimits(depth: 4, members: 64, elements: 64)
        guard line.count <= longestLine, let json = try? JSONReader.read(line, limits: limits),
            case .object(let list) = json
        else { return .malformed }
        let members = Dictionary(list.map { ($0.name, $0.value) }) { first, _ in first }
        guard case .string(let playback) = members["playback"] else { return .other }
        // nginx writes a variable without a value as an empty text or a hyphen.
        if playback.isEmpty || playback == "-" || !isFetched(members) { return .other }
        guard let path = members["path"] else { return .other }
        guard let id = SessionID(hexadecimal: playback), let time = members["time"].flatMap(time),
            case .string(let path) = path
        else { return .malformed }
        guard let segment = Segment(path: path[...], renditions: renditions) else { return .other }
        return .segment(
            LoggedSegment(
                time: time,
                playback: id.low == 0 ? 1 : id.low,
                name: playback,
                segment: segment,
                isPartial: isPartial(members)
            )
        )
    }

    /// True unless a member says that the request failed or fetched nothing.
    private static func isFetched(_ members: [String: JSON]) -> Bool {
        let accepted = ["method": ["GET"], "status": ["200", "206"]]
        return accepted.allSatisfy { name, values in members[name].map { values.contains(text($0) ?? "") } ?? true }
    }

    /// True for a part of a segment. Without the range, the status says it.
    private static func isPartial(_ members: [String: JSON]) -> Bool {
        guard let range = members["range"] else { return text(members["status"]) == "206" }
        // Some players request the whole as a range.
        return !["", "-", "bytes=0-"].contains(text(range) ?? "")
    }

    /// A text or a whole number, as a text.
    private static func text(_ value: JSON?) -> String? {
        switch value {
        case .string(let text): text
        case .number(let number): "\(number)"
        default: nil
        }
    }

    private static func time(_ value: JSON) -> Timestamp? {
        guard let text = text(value) else { return nil }
        if let time = Timestamp(iso8601: text) { return time }
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        let fraction = parts.count == 2 ? "\(parts[1])000".prefix(3) : "000"
        guard 1...2 ~= parts.count, parts.allSatisfy({ $0.utf8.allSatisfy(\.isASCIIDigit) }),
            let seconds = Int64(parts[0]), seconds < 1 << 40, let milliseconds = Int64(fraction)
        else { return nil }
        return Timestamp(millisecondsSince1970: 1000 * seconds + milliseconds)
    }
}
