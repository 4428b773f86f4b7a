// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The label of a claim of a CBOR Web Token.
///
/// <https://www.iana.org/assignments/cwt/cwt.xhtml>
public struct ClaimLabel: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: Int64

    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Creates a label from its number.
    public init(_ number: Int64) { rawValue = number }

    /// The name of the claim, or its number if it is not known.
    public var description: String { name ?? String(rawValue) }

    /// The name of the claim, such as `catu`; `nil` if it is not known.
    public var name: String? { Self.names.first { $0.label == self }?.name }

    /// The labels of all known claims, in the order of their numbers, private ones last.
    public static var known: [ClaimLabel] { names.map(\.label) }

    private static let names: [(label: ClaimLabel, name: String)] = [
        (issuer, "iss"), (subject, "sub"), (audience, "aud"), (expiration, "exp"), (notBefore, "nbf"),
        (issuedAt, "iat"),
        (identifier, "cti"), (confirmation, "cnf"), (geohash, "geohash"), (replay, "catreplay"), (rejection, "catpor"),
        (version, "catv"), (networks, "catnip"), (uri, "catu"), (methods, "catm"), (alpn, "catalpn"), (headers, "cath"),
        (countries, "catgeoiso3166"), (coordinates, "catgeocoord"), (altitude, "catgeoalt"), (clientKey, "cattpk"),
        (answerData, "catifdata"), (possession, "catdpop"), (answers, "catif"), (renewal, "catr"),
        (session, "pgs"), (sessionEnd, "pge"), (revocation, "pgr"), (protection, "pgt"), (profile, "pgf"),
        (generation, "pgn"),
    ]
}

extension ClaimLabel {
    /// The issuer (RFC 8392 §3.1.1).
    public static let issuer = ClaimLabel(1)
    /// The subject.
    public static let subject = ClaimLabel(2)
    /// The recipients.
    public static let audience = ClaimLabel(3)
    /// The time at which the token expires.
    public static let expiration = ClaimLabel(4)
    /// The time before which the token is not valid.
    public static let notBefore = ClaimLabel(5)
    /// The time of issue.
    public static let issuedAt = ClaimLabel(6)
    /// The identity of the token among those of its issuer.
    public static let identifier = ClaimLabel(7)
    /// The key whose possession is to be proved (RFC 8747).
    public static let confirmation = ClaimLabel(8)
    /// Locations of the client, as geohashes (RFC 8392 registry).
    public static let geohash = ClaimLabel(282)
    /// The number of uses.
    public static let replay = ClaimLabel(308)
    /// The probability of rejection.
    public static let rejection = ClaimLabel(309)
    /// The version of the format.
    public static let version = ClaimLabel(310)
    /// Networks of the client.
    public static let networks = ClaimLabel(311)
    /// Components of the URI.
    public static let uri = ClaimLabel(312)
    /// Methods.
    public static let methods = ClaimLabel(313)
    /// Protocols that are negotiated by ALPN.
    public static let alpn = ClaimLabel(314)
    /// Header fields.
    public static let headers = ClaimLabel(315)
    /// Countries and subdivisions of the client.
    public static let countries = ClaimLabel(316)
    /// Locations of the client, as circles.
    public static let coordinates = ClaimLabel(317)
    /// The altitude of the client.
    public static let altitude = ClaimLabel(318)
    /// The client's TLS key.
    public static let clientKey = ClaimLabel(319)
    /// Data for answers to refused requests.
    public static let answerData = ClaimLabel(320)
    /// The settings of proofs of possession.
    public static let possession = ClaimLabel(321)
    /// Answers to refused requests.
    public static let answers = ClaimLabel(322)
    /// The renewal of the token.
    public static let renewal = ClaimLabel(323)
    /// The id of the playback session, 16 bytes; private to Playgate.
    public static let session = ClaimLabel(-65537)
    /// The time at which the playback session ends; private to Playgate.
    public static let sessionEnd = ClaimLabel(-65538)
    /// The issue time and the subject tags of the media token, for revocation; private to Playgate.
    public static let revocation = ClaimLabel(-65539)
    /// The tag of the resource and the requestor of the grant, 16 bytes; private to Playgate.
    public static let protection = ClaimLabel(-65540)
    /// The name of the profile by which the grant was issued, 1 to 32 bytes; private to Playgate.
    public static let profile = ClaimLabel(-65541)
    /// The chain of renewals that the grant belongs to, and its number in it; private to Playgate.
    public static let generation = ClaimLabel(-65542)
}
