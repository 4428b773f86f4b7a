// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import Encodings
internal import Platform
internal import SharedGrants

/// A shared playback as text, from an answer of the API.
package struct LeakText {
    private let leak: JSON

    /// Creates the text of an element of `GET /v1/leaks`, or of the answer to `GET /v1/leaks/{session}`.
    package init(_ leak: JSON) { self.leak = leak }

    /// Returns the lines of an answer to `GET /v1/leaks`.
    package static func list(_ answer: JSON) -> String {
        guard case .array(let all)? = answer["leaks"], !all.isEmpty else { return "no grant is known to be shared\n" }
        return all.map { LeakText($0).line }.joined()
    }

    /// The line of the playback in a list.
    package var line: String {
        let isRevoked = if case .bool(true)? = leak["revoked"] { true } else { false }
        let state = (leak["state"]?.text ?? "") + (isRevoked ? ", revoked" : "")
        return "\(leak["session"]?.text ?? "")  \(state) by \(leak["evidence"]?.text ?? "")  "
            + "profile \(leak["profile"]?.text ?? "")  from \(time("suspected")) to \(time("last"))\n"
    }

    private func time(_ name: String) -> String {
        leak.number(name).map { Timestamp(millisecondsSince1970: $0).iso8601 } ?? ""
    }

    private static let columns: Int64 = 60

    /// The requests of the playback, a line each: the time, the segment as a column, and the grant as a letter.
    package var picture: String {
        guard case .array(let elements)? = leak["uses"] else { return "" }
        let uses = elements.compactMap { Leak.Use($0) }.onMainTrack
        guard let first = uses.map(\.index).min(), let last = uses.map(\.index).max() else {
            return "It was not challenged, so there are no requests to show.\n"
        }
        return uses.map { use in
            let column = Int64(use.index - first) * (Self.columns - 1) / max(1, Int64(last - first))
            let letter = Character(Unicode.Scalar(UInt8(ascii: "A") + UInt8(use.grant % 26)))
            let before = String(repeating: "·", count: Int(column))
            let after = String(repeating: "·", count: Int(Self.columns - 1 - column))
            return "\(use.time.iso8601)  \(before)\(letter)\(after)  \(use.index)\n"
        }.joined()
    }
}

extension Leak.Use {
    /// Reads an element of an answer; `nil` if it is none.
    fileprivate init?(_ element: JSON) {
        guard let time = element.number("time"), let index = element.number("index").flatMap({ UInt32(exactly: $0) }),
            let grant = element.number("grant").flatMap({ Int(exactly: $0) }), grant >= 0,
            let track = element.number("track").flatMap({ UInt16(exactly: $0) })
        else { return nil }
        self.init(time: Timestamp(millisecondsSince1970: time), index: index, grant: grant, track: track)
    }
}

extension JSON {
    fileprivate func number(_ name: String) -> Int64? {
        if case .number(let number)? = self[name] { number } else { nil }
    }
}
