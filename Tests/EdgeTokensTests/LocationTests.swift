// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Testing

@testable import EdgeTokens
@testable import RequestTargets

/// Addresses and positions of clients.
@Suite struct Locations {
    @Test(arguments: [
        "203.0.113.9", "0.0.0.0", "255.255.255.255", "2001:db8::1", "::", "::1", "2001:DB8:0:0:0:0:0:1",
        "::ffff:10.0.0.1",
        "1:2:3:4:5:6:7:8",
    ])
    func `addresses are parsed`(text: String) { #expect(IPAddress(text) != nil) }

    @Test(arguments: [
        "", "1", "1.2.3", "1.2.3.4.5", "256.0.0.1", "01.2.3.4", "1.2.3.4 ", " 1.2.3.4", "1.2.3.4:80", "[::1]",
        "fe80::1%eth0",
        "::1::", "12345::", "1.2.3.4\u{0}", "0x1.2.3.4", "1:2:3:4:5:6:7:8:9", "a.b.c.d", "１.2.3.4",
        "0000:0000:0000:0000:0000:0000:0000:0000:0000:00",
    ])
    func `other texts are no addresses`(text: String) { #expect(IPAddress(text) == nil) }

    @Test(arguments: [
        ("fe80::1%eth0", true), ("fe80::1%eth0/64", true), ("fe80::1%", false), ("fe80::1%\u{0}", false),
        ("fe80::1%a b", false), ("10.0.0.1%eth0", false),
    ])
    func `a network may name the zone of an IPv6 address`(text: String, isNetwork: Bool) {
        #expect((IPNetwork(text) != nil) == isNetwork)
    }

    @Test func `a mapped address is the IPv4 address`() {
        #expect(IPAddress("::ffff:203.0.113.9") == IPAddress("203.0.113.9"))
        #expect(IPAddress("::ffff:203.0.113.9")?.isIPv4 == true)
        #expect(IPAddress("::203.0.113.9")?.isIPv4 == false)
    }

    @Test(arguments: [
        (57.64911, 10.40744, "u4pruydqqvj8"), (37.7749, -122.4194, "9q8yyk8ytpxr"), (0, 0, "s00000000000"),
        (-90, -180, "000000000000"), (90, 180, "zzzzzzzzzzzz"),
    ])
    func `geohashes are those of the published examples`(latitude: Double, longitude: Double, geohash: String) throws {
        #expect(try #require(Position(latitude: latitude, longitude: longitude)).geohash == geohash)
    }

    @Test(arguments: [
        // Paris to London, across the date line, and half around the earth, in metres.
        (48.8566, 2.3522, 51.5074, -0.1278, 343_556.0), (0, 179.5, 0, -179.5, 111_195), (0, 0, 0, 180, 20_015_115),
        (10, 10, 10, 10, 0),
    ])
    func `distances are those of the great circle`(
        south: Double,
        west: Double,
        north: Double,
        east: Double,
        metres: Double
    ) throws {
        let one = try #require(Position(latitude: south, longitude: west))
        let other = try #require(Position(latitude: north, longitude: east))
        #expect(abs(one.distance(to: other) - metres) < 20)
        #expect(one.distance(to: other) == other.distance(to: one))
    }

    @Test func `positions are on the earth`() {
        for (latitude, longitude) in [
            (90.1, 0), (-91, 0), (0, 180.1), (0, -181), (Double.nan, 0), (0, Double.infinity),
        ] {
            #expect(Position(latitude: latitude, longitude: longitude) == nil)
        }
    }
}
