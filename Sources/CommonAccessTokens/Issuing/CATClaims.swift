// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import EdgeTokens
internal import Encodings
public import RequestTargets

/// The claims of a Common Access Token to issue.
public struct CATClaims: Sendable {
    /// The issuer.
    public var issuer: String?
    /// The recipients.
    public var audience: [String] = []
    /// The time from which on the token is expired, in whole seconds.
    public var expires: Timestamp?
    /// The first time at which the token is valid, in whole seconds.
    public var notBefore: Timestamp?
    /// The time of issue, in whole seconds.
    public var issued: Timestamp?
    /// The identity of the token among those of its issuer.
    public var identifier: [UInt8] = []
    /// The version of the format; `nil` to leave it out.
    public var version: Int? = 1
    /// The rules for the URI, all of which must hold.
    public var uri: [URIRule] = []
    /// The methods; empty for any.
    public var methods: [String] = []
    /// The networks of the client; empty for any.
    public var networks: [Network] = []
    /// The rules for header fields, all of which must hold.
    public var headers: [HeaderFieldRule] = []
    /// The ids of protocols that are negotiated by ALPN; empty for any.
    public var alpn: [String] = []
    /// The countries and subdivisions of the client; empty for any.
    public var countries: [String] = []
    /// The locations of the client, as beginnings of geohashes, at most 4 characters each; empty for any.
    public var geohashes: [String] = []
    /// The client's TLS key, as DER of a `SubjectPublicKeyInfo`.
    public var clientKey: [UInt8] = []
    /// The SHA-256 thumbprint of the JWK whose possession is to be proved (RFC 7638), 32 bytes.
    public var confirmation: [UInt8] = []
    /// The window of proofs of possession, in seconds, and whether each is valid for one use only.
    public var possession: (window: Int, isOnce: Bool)?
    /// The number of uses: `nil` or 0 for any, 1 for one.
    public var replay: Int?
    /// The renewal.
    public var renewal: CATRenewal?
    /// The playback session.
    public var session: PlaybackSession?
    /// The tag of the grant's resource; `nil` for a grant that opens no entry of a gate of the same installation.
    public var protection: ProtectionTag?
    /// The name of the profile by which the grant is issued, 1 to 32 bytes; `nil` for a grant that gates do not renew.
    public var profile: String?
    /// The renewals since the grant was issued; `nil` if they are not counted.
    public var renewals: RenewalCount?

    /// Creates claims without restrictions.
    public init() {}

    /// A comparison with a text or digest.
    public enum Match: Hashable, Sendable {
        /// The bytes are equal.
        case exact(String)
        /// The value begins with a text, which is not empty.
        case prefix(String)
        /// The value ends with a text, which is not empty.
        case suffix(String)
        /// The value contains a text, which is not empty.
        case contains(String)
        /// A POSIX extended regular expression is found in the value.
        case pattern(String)
        /// The SHA-256 of the value.
        case sha256([UInt8])
        /// The SHA-512/256 of the value.
        case sha512t256([UInt8])
    }

    /// A rule for a component of the URI.
    public struct URIRule: Hashable, Sendable {
        /// The component.
        public let component: URIComponent
        /// The comparison.
        public let match: Match

        /// Creates a rule.
        public init(_ component: URIComponent, match: Match) {
            self.component = component
            self.match = match
        }
    }

    /// A rule for a header field.
    public struct HeaderFieldRule: Hashable, Sendable {
        /// The name of the field.
        public let name: String
        /// The comparison.
        public let match: Match

        /// Creates a rule.
        public init(_ name: String, match: Match) {
            self.name = name
            self.match = match
        }
    }

    /// A network of clients.
    public enum Network: Hashable, Sendable {
        /// The addresses with the first `length` bits of an address. At most 24 of IPv4 and 56 of IPv6 are permitted,
        /// so that the token does not identify the viewer.
        case prefix(IPAddress, length: Int)
        /// An autonomous system.
        case system(UInt32)
    }
}

extension CATClaims {
    /// Returns the payload in deterministic CBOR, or `nil` if a value cannot be written: equal rules, or numbers out of range.
    package func payload(_ labels: CATLabels = .registered) -> [UInt8]? {
        // Large enough for what gates issue: a token with all restrictions grows it.
        var writer = CBORWriter(capacity: 512)
        writer.map { map in
            write(to: &map) { labels.label($0).rawValue }
        }
        return try? writer.finish()
    }

    private func write(to map: inout CBORMapWriter, _ label: (CATClaim) -> Int64) {
        if let issuer { map.entry(label(.issuer)) { $0.write(issuer) } }
        if audience.count == 1 { map.entry(label(.audience)) { $0.write(audience[0]) } }
        if audience.count > 1 { map.entry(label(.audience)) { $0.write(texts: audience) } }
        if let expires { map.entry(label(.expiration)) { $0.write(expires.seconds) } }
        if let notBefore { map.entry(label(.notBefore)) { $0.write(notBefore.seconds) } }
        if let issued { map.entry(label(.issuedAt)) { $0.write(issued.seconds) } }
        if !identifier.isEmpty { map.entry(label(.identifier)) { $0.write(identifier) } }
        if let replay { map.entry(label(.replay)) { $0.write(replay) } }
        if let version { map.entry(label(.version)) { $0.write(version) } }
        writeRestrictions(to: &map, label)
        if let renewal { map.entry(label(.renewal)) { renewal.write(to: &$0) } }
        // In the order of their labels: what is written in order need not be sorted.
        if let session { write(session, to: &map, label: label) }
        if let protection { map.entry(label(.protection)) { $0.write(sixteen: protection) } }
        if let profile { map.entry(label(.profile)) { $0.write(profile) } }
        if let renewals { map.entry(label(.generation)) { $0.write(renewals.code) } }
    }

    private func write(_ session: PlaybackSession, to map: inout CBORMapWriter, label: (CATClaim) -> Int64) {
        map.entry(label(.session)) { $0.write(sixteen: session.id) }
        map.entry(label(.sessionEnd)) { $0.write(session.end.seconds) }
        guard let revocation = session.revocation else { return }
        map.entry(label(.revocation)) { writer in
            var bytes: [UInt8] = []
            bytes.reserveCapacity(8 + 16 * revocation.tags.count)
            bytes.append(bigEndian: UInt64(bitPattern: revocation.issued.millisecondsSince1970))
            for tag in revocation.tags {
                bytes.append(bigEndian: tag.high)
                bytes.append(bigEndian: tag.low)
            }
            writer.write(bytes)
        }
    }

    private func writeRestrictions(to map: inout CBORMapWriter, _ label: (CATClaim) -> Int64) {
        if !confirmation.isEmpty {
            map.entry(label(.confirmation)) { $0.map { $0.entry(323) { $0.write(confirmation) } } }
        }
        if !geohashes.isEmpty { map.entry(label(.geohash)) { $0.write(texts: geohashes) } }
        if !networks.isEmpty {
            map.entry(label(.networks)) { writer in
                writer.write(arrayOf: networks.count)
                for network in networks { network.write(to: &writer) }
            }
        }
        if !uri.isEmpty { map.entry(label(.uri)) { writeURI(to: &$0) } }
        if !methods.isEmpty { map.entry(label(.methods)) { $0.write(texts: methods) } }
        if !alpn.isEmpty {
            map.entry(label(.alpn)) { writer in
                writer.write(arrayOf: alpn.count)
                for name in alpn { writer.write([UInt8](name.utf8)) }
            }
        }
        if !headers.isEmpty { map.entry(label(.headers)) { writeHeaders(to: &$0) } }
        if !countries.isEmpty { map.entry(label(.countries)) { $0.write(texts: countries) } }
        if !clientKey.isEmpty { map.entry(label(.clientKey)) { $0.write(clientKey) } }
        guard let possession else { return }
        map.entry(label(.possession)) { writer in
            writer.map { map in
                map.entry(0) { $0.write(possession.window) }
                map.entry(1) { $0.write(possession.isOnce ? 1 : 0) }
            }
        }
    }

    private func writeURI(to writer: inout CBORWriter) {
        writer.map { map in
            for component in URIComponent.allCases where uri.contains(where: { $0.component == component }) {
                map.entry(Int64(component.rawValue)) { writer in
                    writer.map { map in
                        for rule in uri where rule.component == component {
                            map.entry(rule.match.label) { rule.match.write(to: &$0) }
                        }
                    }
                }
            }
        }
    }

    private func writeHeaders(to writer: inout CBORWriter) {
        writer.map { map in
            var written: [String] = []
            for rule in headers where !written.contains(rule.name) {
                written.append(rule.name)
                map.entry(rule.name) { writer in
                    writer.map { map in
                        for other in headers where other.name == rule.name {
                            map.entry(other.match.label) { other.match.write(to: &$0) }
                        }
                    }
                }
            }
        }
    }
}

extension CBORWriter {
    /// Writes a byte string of 16 bytes.
    fileprivate mutating func write(sixteen value: some SixteenBytes) {
        var bytes: [16 of UInt8] = .init(repeating: 0)
        var rest = value.number
        for index in bytes.indices.reversed() {
            bytes[index] = UInt8(truncatingIfNeeded: rest)
            rest >>= 8
        }
        write(bytes.span)
    }
}

extension [UInt8] {
    /// Appends the 8 bytes of a number, the highest first.
    fileprivate mutating func append(bigEndian number: UInt64) {
        for shift in stride(from: 56, through: 0, by: -8) { append(UInt8(truncatingIfNeeded: number >> UInt64(shift))) }
    }
}

extension CATClaims.Match {
    fileprivate var label: Int64 {
        let match: ValueMatch =
            switch self {
            case .exact: .exact
            case .prefix: .prefix
            case .suffix: .suffix
            case .contains: .contains
            case .pattern: .regex
            case .sha256: .sha256
            case .sha512t256: .sha512t256
            }
        return match.rawValue
    }

    fileprivate func write(to writer: inout CBORWriter) {
        switch self {
        case .exact(let text), .prefix(let text), .suffix(let text), .contains(let text), .pattern(let text):
            writer.write(text)
        case .sha256(let digest), .sha512t256(let digest): writer.write(digest)
        }
    }
}

extension CATClaims.Network {
    fileprivate func write(to writer: inout CBORWriter) {
        switch self {
        case .system(let number): writer.write(number)
        case .prefix(let address, let length):
            let size = address.isIPv4 ? 32 : 128
            let bits = min(max(length, 0), size)
            var prefix = IPAddress(number: (address.number >> UInt128(size - bits)) << UInt128(size - bits)).bytes
            while prefix.last == 0 { prefix.removeLast() }
            writer.write(tag: address.isIPv4 ? 52 : 54)
            writer.write(arrayOf: 2)
            writer.write(bits)
            writer.write(prefix)
        }
    }
}
