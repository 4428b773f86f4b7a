// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Cryptography
import Encodings
import Platform
import Testing

@testable import RequestTargets
@testable import VendorTokens

/// The keys, times and requests of the specification's examples of vendors' formats.
enum VendorSample {
    static let issued: Int64 = 1_925_000_120
    static let expires: Int64 = 1_925_000_420

    /// The key of the bytes 0 to 31.
    static func bytes() throws -> SigningSecret { try SigningSecret(bytes: [UInt8](0...31)) }
    /// The key of text.
    static func text() throws -> SigningSecret { try SigningSecret("playgate-example", form: .text) }

    static let folder = "/live/tnt/"
    static let manifest = "/live/tnt/a.m3u8"

    static func request(
        _ path: String = folder,
        client: String? = nil,
        session: String? = nil,
        query: String = ""
    ) throws -> SigningRequest {
        var request = SigningRequest(
            path: path,
            issued: Timestamp(secondsSince1970: issued),
            expires: Timestamp(secondsSince1970: expires)
        )
        request.host = "cdn.example"
        request.client = try client.map { try network($0) }
        request.session = session
        request.query = query
        return request
    }

    static func network(_ text: String) throws -> ClientNetwork {
        let parts = text.split(separator: "/")
        let address = try #require(IPAddress(parts[0]))
        guard parts.count == 2 else { return ClientNetwork(address) }
        let length = try #require(Int(parts[1]))
        return try #require(ClientNetwork(address, length: length))
    }

    /// The key that a format accepts by default, of 32 bytes.
    static func key(_ format: VendorFormat) throws -> VendorKey {
        switch format {
        case .cloudFront: .privateKey(try rsa.get())
        case .mediaCDN, .fastly, .edgeAuth: .secret(try bytes())
        case .bunny, .cloudflare, .secureLink, .accessControl, .urlSig:
            .secret(try SigningSecret("playgate-example-of-thirty-two-b", form: .text))
        }
    }

    /// A key of RSA that is made for the run, with its PEM.
    static let rsaPEM = Result { try PrivateKey(generating: .rsa(bits: 2048)).pem() }
    static let rsa = Result { try SigningPrivateKey(pem: Array(rsaPEM.get().utf8)) }

    /// The smallest settings with which a format issues for a folder.
    static func settings(_ format: VendorFormat) -> [String: String] {
        switch format {
        case .edgeAuth, .mediaCDN, .bunny, .cloudflare: [:]
        case .cloudFront: ["key-pair-id": "K2JCJMDEHXQW5F"]
        case .fastly: ["algorithm": "sha256"]
        case .secureLink: ["weak": "true", "template": "{expires}{scope} {secret}"]
        case .accessControl: ["kid": "key1", "subject": "s-1"]
        case .urlSig: ["weak": "true"]
        }
    }

    static func issuer(for format: VendorFormat, adding more: [String: String] = [:]) throws -> any VendorIssuer {
        try format.issuer(with: try key(format), settings: settings(format).merging(more) { $1 })
    }
}

/// The code, value and character of the error that `body` throws; `nil` if it throws none.
func signingError(_ body: () throws -> Void) -> SigningError? {
    do {
        try body()
        return nil
    } catch { return error as? SigningError }
}
