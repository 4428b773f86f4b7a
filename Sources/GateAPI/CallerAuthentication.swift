// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Encodings
package import GateConfiguration
package import HTTPServer
internal import NIOHTTP1

/// Authenticates callers of the API.
package struct CallerAuthentication: Sendable {
    /// The known callers; `nil` admits every caller with every scope.
    package let callers: [Caller]?
    /// The names of the listener, for requests without a credential.
    package var hosts: [String] = []

    /// Creates a value of its members.
    package init(callers: [Caller]?, hosts: [String] = []) {
        self.callers = callers
        self.hosts = hosts
    }

    /// Returns the name of a known caller that has `scope`; `nil` if every caller is admitted.
    package func authenticate(
        _ request: HTTPRequest,
        for scope: Scope
    ) throws(APIRefusal) -> String? {
        guard callers != nil else {
            guard HostGuard(hosts: hosts).admits(request) else { throw APIRefusal(.hostRefused) }
            return nil
        }
        let found = try caller(of: request)
        guard found.scopes.contains(scope) else {
            throw APIRefusal(.scopeMissing, details: "the scope \(scope.rawValue) is required")
        }
        return found.name
    }

    /// Returns the known caller of a request.
    package func caller(of request: HTTPRequest) throws(APIRefusal) -> Caller {
        guard let credential = try credential(request) else { throw APIRefusal(.credentialMissing) }
        guard let found = caller(with: credential) else { throw APIRefusal(.credentialUnknown) }
        request.connection.prove()
        return found
    }

    /// Returns the known caller with a bearer key; `nil` if there is none.
    package func caller(withKey key: String) -> Caller? { caller(with: .key(sha256: SHA256.digest(key))) }

    /// Returns the known caller with a credential; `nil` if there is none.
    package func caller(with credential: Caller.Credential) -> Caller? {
        // All callers are compared, so that the time taken does not reveal which one matched.
        var found: Caller?
        for caller in callers ?? [] where caller.credential.isSame(as: credential) { found = caller }
        return found
    }

    /// Returns the caller's credential: a bearer key (RFC 6750 §2.1), or else the certificate of its connection.
    private func credential(_ request: HTTPRequest) throws(APIRefusal) -> Caller.Credential? {
        let values = request.head.headers[canonicalForm: "authorization"]
        if let value = values.first {
            guard values.count == 1, value.utf8.count <= 4096 else { throw APIRefusal(.credentialUnknown) }
            let parts = value.split(separator: " ", maxSplits: 1)
            guard parts.count == 2, parts[0].lowercased() == "bearer" else { throw APIRefusal(.credentialMissing) }
            return .key(sha256: SHA256.digest(String(parts[1])))
        }
        guard callers?.contains(where: { $0.credential.isCertificate }) ?? false,
            let digest = request.connection.certificateDigest
        else { return nil }
        return .certificate(sha256: digest)
    }
}

extension Caller.Credential {
    fileprivate var isCertificate: Bool {
        if case .certificate = self { true } else { false }
    }

    /// Compares digests in a time that does not depend on the position of a difference.
    package func isSame(as other: Self) -> Bool {
        switch (self, other) {
        case (.key(let mine), .key(let its)), (.certificate(let mine), .certificate(let its)):
            guard mine.count == its.count else { return false }
            return zip(mine, its).reduce(UInt8(0)) { $0 | ($1.0 ^ $1.1) } == 0
        default: return false
        }
    }
}

/// A new bearer key of a caller, with at least 255 random bits from the system's generator.
package struct APIKey: Sendable {
    /// The key, for the caller.
    package let text: String

    /// Generates a key.
    package init() {
        let digits = (0..<4).map { _ in String(UInt64.random(in: 1 << 60 ... .max), radix: 16) }
        text = "pg_" + digits.joined()
    }

    /// The SHA-256 of the key, for the configuration.
    package var digest: String { SHA256.digest(text).hexadecimal }
}
