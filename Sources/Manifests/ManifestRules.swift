// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The rules by which a manifest is rewritten: its URL, the grant, the place of the grant, and the hosts that may see it.
public struct ManifestRules: Sendable {
    /// The place of the grant in a reference.
    public enum Mode: Hashable, Sendable {
        /// The first segment of the path, `PREFIX` and the grant: `/~cat=TOKEN/live/seg1.ts`.
        case segment(prefix: String = "~cat=")
        /// A parameter of the query: `seg1.ts?cat=TOKEN`.
        case query(name: String = "cat")
    }

    /// The place of the grant.
    public let mode: Mode
    /// The limits of the manifest.
    public let limits: ManifestLimits
    /// The grant. Not public, so that it is not printed by mistake.
    package let grant: String
    /// The URL of the manifest, to which its references are relative.
    package let base: ReferenceBase
    /// The origins without a scheme whose references carry the grant.
    let hosts: Set<ProtectedHost>

    /// The longest grant, in bytes.
    public static let maximumGrantSize = 8_192
    /// The longest URL of a manifest, in bytes.
    public static let maximumURLSize = 24 * 1024
    /// The most protected hosts.
    public static let maximumHosts = 256

    /// Creates rules.
    ///
    /// - Parameters:
    ///   - url: The absolute URL by which the player asked for the manifest, `http` or `https`. Segments and parameters with
    ///     an old grant, and a fragment, are cut from it.
    ///   - grant: The grant, 1 to ``maximumGrantSize`` characters `A`-`Z`, `a`-`z`, `0`-`9`, `.`, `_` and `-`.
    ///   - mode: The place of the grant.
    ///   - hosts: The protected hosts, names or addresses. One without a port stands for the default port of the scheme.
    ///     `nil` for the host of the manifest, with its port. No other host ever gets the grant, nor does `http` if the
    ///     manifest came by `https`.
    ///   - limits: The limits of the manifest.
    /// - Throws: ``ManifestRulesError`` with the argument that cannot be used.
    public init(
        url: String,
        grant: String,
        mode: Mode,
        hosts: [String]? = nil,
        limits: ManifestLimits = ManifestLimits()
    ) throws(ManifestRulesError) {
        guard 1...Self.maximumGrantSize ~= grant.utf8.count, grant.utf8.allSatisfy(\.isGrantByte) else {
            throw ManifestRulesError(
                .grantInvalid,
                "the grant is not 1 to 8,192 characters of A-Z, a-z, 0-9, '.', '_', '-'"
            )
        }
        guard mode.isValid else {
            throw ManifestRulesError(
                .modeInvalid,
                "the prefix or name is not 1 to 64 unreserved characters of URIs, with '=' and '+' in a prefix"
            )
        }
        guard let base = ReferenceBase(url: url, mode) else {
            throw ManifestRulesError(.urlInvalid, "the URL of the manifest is not an absolute one of http or https")
        }
        self.mode = mode
        self.limits = limits
        self.grant = grant
        self.hosts = try ProtectedHost.set(hosts, base)
        var protected = base
        protected.isProtected =
            ProtectedHost.contains(self.hosts, base.scheme, base.authority.span, base.scheme) ?? false
        self.base = protected
    }

    /// The URL of the manifest without an old grant.
    public var url: String { String(decoding: base.url(without: mode), as: UTF8.self) }
}

extension ManifestRules: CustomStringConvertible, CustomReflectable {
    /// The mode and the URL; never the grant.
    public var description: String { "\(mode) for \(url)" }
    /// Nothing, because the grant would be printed with it.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ManifestRules.Mode {
    fileprivate var isValid: Bool {
        switch self {
        case .segment(let prefix):
            // Segments of dots alone would be resolved.
            1...64 ~= prefix.utf8.count && prefix.utf8.contains { $0 != UInt8(ascii: ".") }
                && prefix.utf8.allSatisfy { $0.isUnreserved || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "+") }
        case .query(let name): 1...64 ~= name.utf8.count && name.utf8.allSatisfy(\.isUnreserved)
        }
    }
}

extension UInt8 {
    /// True for the characters of Base64url and compact JOSE; some players encode others.
    fileprivate var isGrantByte: Bool { isUnreserved && self != UInt8(ascii: "~") }
}
