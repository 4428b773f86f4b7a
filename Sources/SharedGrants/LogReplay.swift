// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings
internal import Platform

/// The segments of logs, counted as a gate counts them while they are fetched: which playbacks would it challenge?
///
/// A log challenges nobody, so it proves nothing: two tabs alternate too.
package struct LogReplay {
    /// A playback that a gate would challenge.
    private struct Suspect {
        let name: String
        let first: Timestamp
        var times = 1
    }

    private let table: PlaybackTable
    private let suspicion: Int
    /// The hashes of the playbacks, up to ``mostPlaybacks``: a log may be longer than memory.
    private var playbacks: Set<UInt64> = []
    private static let mostPlaybacks = 1 << 22
    private var suspects: [UInt64: Suspect] = [:]
    private var segments = 0

    /// Creates a replay that has seen nothing.
    ///
    /// - Parameters:
    ///   - capacity: The number of playbacks whose turns are remembered at a time, as that of a gate.
    ///   - suspicion: The number of turns from which on a playback is challenged.
    package init(capacity: Int = 131_072, suspicion: Int = LeakWatch.suspicion) {
        table = PlaybackTable(capacity: capacity)
        self.suspicion = suspicion
    }

    /// Counts a segment. Those of all logs come in the order of their times.
    package mutating func count(_ found: LoggedSegment) {
        segments += 1
        if playbacks.count < Self.mostPlaybacks { playbacks.insert(found.playback) }
        let count = table.count(
            found.segment,
            isPartial: found.isPartial,
            of: found.playback,
            at: found.time,
            suspicion: suspicion
        )
        guard count.contains(.suspected), suspects[found.playback] != nil || suspects.count < Self.mostPlaybacks else {
            return
        }
        suspects[found.playback, default: Suspect(name: found.name, first: found.time, times: 0)].times += 1
    }

    private var sorted: [Suspect] { suspects.values.sorted { ($0.first, $0.name) < ($1.first, $1.name) } }

    /// The result for programs.
    ///
    /// - Parameter malformed: The number of lines that could not be read.
    package func json(malformed: Int) -> JSON {
        .object([
            ("playbacks", .number(Int64(playbacks.count))), ("segments", .number(Int64(segments))),
            ("malformedLines", .number(Int64(malformed))),
            (
                "suspects",
                .array(
                    sorted.map { suspect in
                        .object([
                            ("playback", .string(suspect.name)), ("first", .string(suspect.first.iso8601)),
                            ("times", .number(Int64(suspect.times))),
                        ])
                    }
                )
            ),
        ])
    }

    /// The result for people.
    ///
    /// - Parameter malformed: The number of lines that could not be read.
    package func text(malformed: Int) -> String {
        var text = "\(suspects.count) of \(playbacks.count) playbacks would be challenged (\(segments) segments)\n"
        if segments == 0 {
            text += "no line has a segment of a playback: docs/how-to/shared-grants.md says what a log has to have\n"
        }
        if malformed > 0 { text += "\(malformed) lines are no JSON objects of a log\n" }
        for suspect in sorted {
            text += "\(suspect.name)  first \(suspect.first.iso8601)  \(suspect.times) times\n"
        }
        return text
    }
}
