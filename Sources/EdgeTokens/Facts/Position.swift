// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform

/// A position on the earth (WGS 84), in degrees.
public struct Position: Hashable, Sendable {
    /// The latitude, -90 to 90.
    public let latitude: Double
    /// The longitude, -180 to 180.
    public let longitude: Double

    /// Creates a position; `nil` if a number is out of range.
    public init?(latitude: Double, longitude: Double) {
        guard (-90.0...90).contains(latitude), (-180.0...180).contains(longitude) else { return nil }
        self.latitude = latitude
        self.longitude = longitude
    }

    /// The great-circle distance to another position in metres, on a sphere with the earth's mean radius.
    public func distance(to other: Position) -> Double {
        let degree = Double.pi / 180
        let (latitudes, longitudes) = (other.latitude - latitude, other.longitude - longitude)
        let (half, side) = (sin(latitudes * degree / 2), sin(longitudes * degree / 2))
        // The haversine is stable for near positions too.
        let haversine = half * half + cos(latitude * degree) * cos(other.latitude * degree) * side * side
        return 2 * 6_371_008.8 * asin(min(1, haversine.squareRoot()))
    }

    /// The geohash with twelve characters.
    public var geohash: String {
        var (south, north, west, east) = (-90.0, 90.0, -180.0, 180.0)
        var text = ""
        for _ in 0..<12 {
            var digit = 0
            for bit in 0..<5 {
                // Longitude and latitude alternate, across characters too.
                let isLongitude = (text.utf8.count * 5 + bit).isMultiple(of: 2)
                let middle = isLongitude ? (west + east) / 2 : (south + north) / 2
                let isUpper = (isLongitude ? longitude : latitude) >= middle
                switch (isLongitude, isUpper) {
                case (true, true): west = middle
                case (true, false): east = middle
                case (false, true): south = middle
                case (false, false): north = middle
                }
                digit = digit << 1 | (isUpper ? 1 : 0)
            }
            text.unicodeScalars.append(Unicode.Scalar(Self.digits[digit]))
        }
        return text
    }

    private static let digits = [UInt8]("0123456789bcdefghjkmnpqrstuvwxyz".utf8)
}

extension UInt8 {
    /// True for the characters of a geohash.
    package var isGeohashDigit: Bool {
        switch self {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): true
        case UInt8(ascii: "a"), UInt8(ascii: "i"), UInt8(ascii: "l"), UInt8(ascii: "o"): false
        default: UInt8(ascii: "a")...UInt8(ascii: "z") ~= self
        }
    }
}
