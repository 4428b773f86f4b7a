// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A content rating: a value in a scheme, such as `TV-PG` in `urn:v-chip`.
///
/// Source: Media RSS 1.5.1, `<media:rating>`.
public struct Rating: Sendable {
    /// The scheme, a URI; `urn:simple` if a fragment names none.
    public let scheme: String
    /// The value as written in the fragment, without white space at either end.
    public let value: String

    /// The scheme of a rating without one, by Media RSS.
    public static let defaultScheme = "urn:simple"

    /// Creates a rating.
    ///
    /// - Parameters:
    ///   - scheme: A URI; if empty, ``defaultScheme`` is used.
    ///   - value: The value in that scheme.
    public init(scheme: String, value: String) {
        self.scheme = scheme.isEmpty ? Self.defaultScheme : scheme
        self.value = value
    }

    /// Returns true if this rating is as mild as `limit` or milder.
    ///
    /// Both must be known values of one known scale: V-chip (`urn:v-chip`, `urn:vchip`) or MPAA (`urn:mpaa`). Returns
    /// false for an unknown scheme or value on either side.
    public func isAtMost(_ limit: Rating) -> Bool {
        guard let scale = RatingScale(scheme: scheme), scale == RatingScale(scheme: limit.scheme),
            let level = scale.level(of: value), let most = scale.level(of: limit.value)
        else { return false }
        return level <= most
    }

    /// Returns true if both ratings are on one known scale, with any values.
    package func sharesScale(with other: Rating) -> Bool {
        guard let scale = RatingScale(scheme: scheme) else { return false }
        return scale == RatingScale(scheme: other.scheme)
    }
}

extension Rating: Hashable {
    /// Compares the bytes of scheme and value.
    public static func == (left: Rating, right: Rating) -> Bool {
        left.scheme.hasSameBytes(as: right.scheme) && left.value.hasSameBytes(as: right.value)
    }

    public func hash(into hasher: inout Hasher) {
        for byte in scheme.utf8 { hasher.combine(byte) }
        hasher.combine(UInt8(0xFF))
        for byte in value.utf8 { hasher.combine(byte) }
    }
}

extension Rating: Comparable {
    /// Orders ratings for a canonical form: by the bytes of the scheme, then of the value. Not an order of mildness.
    public static func < (left: Rating, right: Rating) -> Bool {
        if left.scheme.hasSameBytes(as: right.scheme) {
            return left.value.utf8.lexicographicallyPrecedes(right.value.utf8)
        }
        return left.scheme.utf8.lexicographicallyPrecedes(right.scheme.utf8)
    }
}

/// A scale of ratings with an order, mildest first.
private enum RatingScale {
    case vchip
    case mpaa

    init?(scheme: String) {
        switch scheme.lowercased() {
        case "urn:v-chip", "urn:vchip": self = .vchip
        case "urn:mpaa": self = .mpaa
        default: return nil
        }
    }

    /// Returns the position of `value` on the scale. Ignores the case of letters, and hyphens (`TV-PG`, `tvpg`).
    func level(of value: String) -> Int? {
        let letters = value.utf8.filter { $0 != UInt8(ascii: "-") }
        switch (self, String(decoding: letters, as: UTF8.self).uppercased()) {
        case (.vchip, "TVY"): return 0
        case (.vchip, "TVY7"), (.vchip, "TVY7FV"): return 1
        case (.vchip, "TVG"): return 2
        case (.vchip, "TVPG"): return 3
        case (.vchip, "TV14"): return 4
        case (.vchip, "TVMA"): return 5
        case (.mpaa, "G"): return 0
        case (.mpaa, "PG"): return 1
        case (.mpaa, "PG13"): return 2
        case (.mpaa, "R"): return 3
        case (.mpaa, "NC17"): return 4
        default: return nil
        }
    }
}
