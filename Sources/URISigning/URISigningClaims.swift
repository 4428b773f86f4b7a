// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
public import EdgeTokens
internal import Encodings
public import Keys
public import RequestTargets

/// The claims of a signed URI that is issued.
public struct URISigningClaims: Sendable {
    /// The issuer; `nil` for that of the key.
    public var issuer: String?
    /// The subject, which is encrypted by ``encryptionKey``; `nil` for none.
    public var subject: [UInt8]?
    /// The recipients; empty for any.
    public var audience: [String] = []
    /// The time from which on the token is expired, in whole seconds.
    public var expires: Timestamp?
    /// The first time at which the token is valid, in whole seconds.
    public var notBefore: Timestamp?
    /// The time of issue, in whole seconds.
    public var issued: Timestamp?
    /// The identity of a token that is valid for one use of each URI; `nil` for any number of uses.
    public var identifier: String?
    /// The network of the client, which is encrypted by ``encryptionKey``; `nil` for any.
    public var network: ClientNetwork?
    /// The URIs that the token opens.
    public var container: Container
    /// The renewal; `nil` for none.
    public var renewal: URISigningRenewal?
    /// The playback session; `nil` for none.
    public var session: PlaybackSession?
    /// The tag of the token's resource; `nil` for a token that opens no entry of a gate of the same installation.
    public var protection: ProtectionTag?
    /// The name of the profile by which the token is issued, 1 to 32 bytes; `nil` for a token that gates do not renew.
    public var profile: String?
    /// The key that encrypts subject and network.
    public var encryptionKey: EncryptionKey?

    /// Creates claims without restrictions but the URIs.
    public init(_ container: Container) { self.container = container }

    /// The URIs that a token opens.
    public enum Container: Hashable, Sendable {
        /// One URI, by the digest of its normal form.
        case hash(RequestURI, HashFunction = .sha256)
        /// The URIs that a POSIX extended regular expression matches. It begins with `^` and ends with `$`, because
        /// verifiers do not agree on the position of a match.
        case pattern(String)
        /// All URIs below a folder.
        case scope(Scope)
    }

    /// A function of a digest.
    public enum HashFunction: String, Hashable, Sendable, CaseIterable {
        /// SHA-256.
        case sha256 = "sha-256"
        /// SHA-384.
        case sha384 = "sha-384"
        /// SHA-512.
        case sha512 = "sha-512"
    }

    /// The URIs below a folder.
    public struct Scope: Hashable, Sendable {
        /// The scheme; `nil` for http and https.
        public var scheme: RequestURI.Scheme?
        /// The host in lower case, with its port if it is not the scheme's; `nil` for any.
        public var host: String?
        /// The path of the folder in normal form, which begins and ends with `/`.
        public var path: String

        /// Creates a scope.
        public init(scheme: RequestURI.Scheme? = .https, host: String?, path: String) {
            (self.scheme, self.host, self.path) = (scheme, host, path)
        }

        /// The pattern for all URIs of the scope and no others, or `nil` if host or path are not in normal form.
        package var pattern: String? {
            let authority = host.map { $0[...] }
            guard let uri = RequestURI(path[...], scheme: scheme ?? .https, authority: authority),
                uri.path == path[...], uri.query == "", path.utf8.last == UInt8(ascii: "/"),
                host.map({ $0.utf8.elementsEqual(uri.authorityText?.utf8 ?? "".utf8) }) ?? true
            else { return nil }
            let start = "^\(scheme?.rawValue ?? "https?")://"
            return start + (host.map { Self.escaped($0) } ?? "[^/]+") + Self.escaped(path) + ".*$"
        }

        private static func escaped(_ text: String) -> String {
            var bytes: [UInt8] = []
            for byte in text.utf8 {
                if #"\.[](){}*+?|^$"#.utf8.contains(byte) { bytes.append(UInt8(ascii: "\\")) }
                bytes.append(byte)
            }
            return String(decoding: bytes, as: UTF8.self)
        }
    }
}

extension RequestURI {
    /// The host, and the port if it is not the scheme's; `nil` if the host is not known.
    var authorityText: String? {
        guard let host else { return nil }
        return hasDefaultPort ? String(host) : port.map { "\(host):\($0)" } ?? String(host)
    }
}

extension URISigningClaims.Container {
    /// The value of the claim, or `nil` if it would open nothing, or more than was meant.
    package var text: String? {
        switch self {
        case .hash(let uri, let function):
            guard let text = uri.absolute, let digest = function.function.digest(text.utf8.span) else { return nil }
            return "hash:\(function.rawValue);\(Base64.encodeURLSafe(digest))"
        case .pattern(let pattern):
            let text = "regex:\(pattern)"
            guard pattern.utf8.first == UInt8(ascii: "^"), pattern.utf8.last == UInt8(ascii: "$"),
                (try? URIContainer(text.utf8.span, match: .whole)) != nil
            else { return nil }
            return text
        case .scope(let scope): return scope.pattern.flatMap { Self.pattern($0).text }
        }
    }
}

extension URISigningClaims.HashFunction {
    fileprivate var function: MessageDigest {
        switch self {
        case .sha256: .sha256
        case .sha384: .sha384
        case .sha512: .sha512
        }
    }
}
