// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// The rules by which a manifest is rewritten: its URL, the grant, the position of the grant, and the hosts that may
/// receive it.
public struct ManifestRules: Sendable {
    /// The position of the grant in a reference.
    public enum Mode: Hashable, Sendable {
        /// The first segment of the path, `PREFIX` and the grant: `/~cat=TOKEN/live/seg1.ts`.
        case segment(prefix: String = "~cat=")
        /// A parameter of the query: `seg1.ts?cat=TOKEN`.
        case query(name: String = "cat")
    }

    /// Changes to a manifest beside the grants in its references, and exceptions from them.
    public struct Options: OptionSet, Hashable, Sendable {
        /// The set of bits.
        public let rawValue: UInt8
        /// Creates a set.
        public init(rawValue: UInt8) { self.rawValue = rawValue }

        /// An MPD gets a `Location` with its URL and the grant, by which players reload it.
        public static let addingLocation = Options(rawValue: 1)
        /// Keys of HLS playlists, `EXT-X-KEY` and `EXT-X-SESSION-KEY`, get no grant: another service protects them.
        public static let sparingKeys = Options(rawValue: 2)
        /// An HLS playlist of version 8 or later, by its `EXT-X-VERSION`, has the grant of its segments and parts once.
        /// It is the value of a variable `playgate` (`EXT-X-DEFINE`). For players that know variables: not those that
        /// play by ffmpeg.
        public static let definingGrant = Options(rawValue: 4)
    }

    /// The position of the grant.
    public let mode: Mode
    /// The changes beside the grants in references.
    public let options: Options
    /// The limits of the manifest.
    public let limits: ManifestLimits
    /// The grant. Not public, so that it is not printed by mistake.
    package let grant: String
    /// The grant of references that players retain over reloads: see
    /// ``init(url:source:publicPath:grant:lastingGrant:options:mode:hosts:limits:)``.
    package let lastingGrant: String
    /// The URL to which the references of the manifest are relative.
    package let base: ReferenceBase
    /// The URL of the player's request, against which it resolves the written references.
    let requested: ReferenceBase
    /// The beginning of the paths of players' URLs, which a proxy removes.
    let publicPath: PublicPath
    /// True if the player's URL is another one than that of the manifest.
    let isMoved: Bool
    /// True if it is the same, without a public path.
    let isDirect: Bool
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
    ///   - url: The absolute URL by which the player requested the manifest, `http` or `https`. Segments and parameters
    ///     with an old grant, and a fragment, are cut from it.
    ///   - source: The absolute URL to which the references of the manifest are relative, if it is another one: that of a redirect,
    ///     which the player does not see. Its references are written so that the player requests the same. `nil` for `url`.
    ///   - publicPath: The beginning of the paths of `url`, and of `source` on the same host, that a proxy removes
    ///     before it forwards a request, such as `/watch`. Paths of references are behind it, and so is a segment with
    ///     the grant. 1 to 1,024 bytes: segments of unreserved characters, not of only dots.
    ///   - grant: The grant, 1 to ``maximumGrantSize`` characters `A`-`Z`, `a`-`z`, `0`-`9`, `.`, `_` and `-`.
    ///   - lastingGrant: The grant of references that a player of a live playlist retains over reloads, or compares:
    ///     keys, initialization sections, rendition reports, date ranges and steering manifests. It has the form of
    ///     `grant`, which is the default.
    ///   - options: The changes beside the grants in references.
    ///   - mode: The position of the grant.
    ///   - hosts: The protected hosts, names or addresses. One without a port stands for the default port of the scheme.
    ///     `nil` for the host of the manifest, with its port. No other host ever gets the grant, nor does `http` if the
    ///     manifest came by `https`.
    ///   - limits: The limits of the manifest.
    /// - Throws: ``ManifestRulesError`` with the argument that cannot be used.
    public init(
        url: String,
        source: String? = nil,
        publicPath: String = "/",
        grant: String,
        lastingGrant: String? = nil,
        options: Options = [],
        mode: Mode,
        hosts: [String]? = nil,
        limits: ManifestLimits = ManifestLimits()
    ) throws(ManifestRulesError) {
        try Self.check([grant, lastingGrant ?? grant], in: mode)
        guard let requested = ReferenceBase(url: url, mode), let base = ReferenceBase(url: source ?? url, mode) else {
            throw ManifestRulesError(
                .urlInvalid,
                reason: "the URL of the manifest is not an absolute one of http or https"
            )
        }
        guard let publicPath = PublicPath(publicPath),
            publicPath == .none || publicPath.isPrefix(of: requested.path.span)
        else {
            throw ManifestRulesError(
                .publicPathInvalid,
                reason: "the public path is not one of unreserved characters, such as /watch, that the URL begins with"
            )
        }
        self.mode = mode
        self.limits = limits
        self.grant = grant
        self.lastingGrant = lastingGrant ?? grant
        self.options = options
        self.hosts = try ProtectedHost.set(named: hosts, base: requested)
        self.requested = requested.protected(by: self.hosts, for: requested)
        self.base = (base.hasSameSite(as: requested) ? base.below(publicPath) : base)
            .protected(by: self.hosts, for: requested)
        self.publicPath = publicPath
        isMoved = !base.isSame(as: requested)
        isDirect = !isMoved && publicPath == .none
    }

    /// Refuses grants, segments and parameters that players encode.
    private static func check(_ grants: [String], in mode: Mode) throws(ManifestRulesError) {
        guard grants.allSatisfy(\.isGrant) else {
            throw ManifestRulesError(
                .grantInvalid,
                reason: "the grant is not 1 to 8,192 characters of A-Z, a-z, 0-9, '.', '_', '-'"
            )
        }
        guard mode.isValid else {
            throw ManifestRulesError(
                .modeInvalid,
                reason: "the prefix or name is not 1 to 64 unreserved characters of URIs, with '=' and '+' in a prefix"
            )
        }
    }

    /// The traits of all references of a manifest that is no MPD.
    var traits: ReferenceWriter.Traits { isDirect ? [] : .forPlayer }

    /// The URL of the player's request, without an old grant.
    public var url: String { String(decoding: requested.url(without: mode), as: UTF8.self) }
}

extension ManifestRules: CustomStringConvertible, CustomReflectable {
    /// The mode and the URL; never the grant.
    public var description: String { "\(mode) for \(url)" }
    /// Nothing, because the grant would be printed with it.
    public var customMirror: Mirror { Mirror(self, children: []) }
}

extension ManifestRules.Mode {
    /// The query parameter that may be the grant of a player: it may have come with one in its query, in any mode.
    var parameter: String { if case .query(let name) = self { name } else { "cat" } }

    /// True if no player encodes the prefix or the name.
    package var isValid: Bool {
        switch self {
        case .segment(let prefix):
            // Segments of only dots would be resolved.
            1...64 ~= prefix.utf8.count && prefix.utf8.contains { $0 != UInt8(ascii: ".") }
                && prefix.utf8.allSatisfy { $0.isUnreserved || $0 == UInt8(ascii: "=") || $0 == UInt8(ascii: "+") }
        case .query(let name): 1...64 ~= name.utf8.count && name.utf8.allSatisfy(\.isUnreserved)
        }
    }
}

extension String {
    /// True for 1 to 8,192 characters of a grant.
    fileprivate var isGrant: Bool {
        1...ManifestRules.maximumGrantSize ~= utf8.count && utf8.allSatisfy(\.isGrantByte)
    }
}

extension UInt8 {
    /// True for the characters of Base64url and compact JOSE; some players encode others.
    var isGrantByte: Bool { isUnreserved && self != UInt8(ascii: "~") }
}
