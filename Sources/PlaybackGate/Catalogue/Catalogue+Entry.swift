// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeTokens
internal import Encodings
public import MediaResources
internal import MediaTokens
internal import Platform
internal import Synchronization

extension Catalogue {
    /// The rule of the catalogue for a media id or for paths.
    ///
    /// The properties are stored by reference: an entry is passed along with each decision, and a copy must be cheap.
    public struct Entry: Hashable, Sendable {
        private let facts: Facts

        private final class Facts: Sendable {
            let key: Key
            let protection: Protection
            let isShadow: Bool
            let use: Use
            let licence: LicenceUse?
            let origin: Origin
            let methods: [PlaybackRequest.Method]
            let hosts: [String]
            let grants: GrantTerms?
            let hasGrants: Bool
            /// True if a profile limits the concurrent playbacks of a viewer.
            let hasStreamLimit: Bool
            /// The profiles of ``grants``.
            private let profiles: [GrantProfile]
            /// ``methods`` as a bit set.
            let permitted: UInt16
            /// The tag of the protection; `nil` until it is made, unless it is known without the key.
            private let tag = AtomicLazyReference<MadeTag>()

            /// A tag, and the key that made it.
            private final class MadeTag: Sendable {
                let value: ProtectionTag
                /// The key; `nil` if the tag was read from a policy, which has no key.
                let key: SubjectKey?

                init(_ value: ProtectionTag, by key: SubjectKey?) { (self.value, self.key) = (value, key) }
            }

            init(
                key: Key,
                protection: Protection,
                isShadow: Bool,
                use: Use,
                licence: LicenceUse?,
                origin: Origin,
                methods: [PlaybackRequest.Method],
                hosts: [String],
                grants: GrantTerms?,
                tag known: ProtectionTag?
            ) {
                self.key = key
                self.protection = protection
                self.isShadow = isShadow
                self.use = use
                self.licence = licence
                self.origin = origin
                self.methods = methods.filter { $0 != .other }
                self.hosts = hosts
                self.grants = grants
                hasGrants = grants != nil
                hasStreamLimit = grants?.profiles.contains { $0.rules.streamLimit != nil } ?? false
                profiles = grants?.profiles ?? []
                permitted = self.methods.reduce(0) { $0 | $1.bit }
                if let known { _ = tag.storeIfNil(MadeTag(known, by: nil)) }
            }

            /// The tag of the protection, if it was made or is known.
            var madeTag: ProtectionTag? { tag.load()?.value }

            func tag(by key: SubjectKey) -> ProtectionTag? {
                if let made = tag.load(), made.key.map({ $0.isSame(as: key) }) ?? true { return made.value }
                guard case .resource(let resource, let requestor) = protection,
                    let value = key.protectionTag(requestor: requestor, resource: resource.canonicalForm)
                else { return nil }
                _ = tag.storeIfNil(MadeTag(value, by: key))
                return value
            }

            func hasProfile(of issuer: String, format: GrantFormat) -> Bool {
                for index in profiles.indices where profiles[index].format == format {
                    if profiles[index].issuer.utf8.span.hasSameBytes(as: issuer.utf8.span) { return true }
                }
                return false
            }

            func verify(_ token: Span<UInt8>, by verifier: Verifier, at now: Timestamp) -> Verification? {
                guard case .resource(let resource, let requestor) = protection else { return nil }
                return verifier.verify(token, for: resource, requestor: requestor, at: now)
            }
        }

        /// The media id or the paths that the entry covers.
        public var key: Key { facts.key }
        /// The token that the entry requires.
        public var protection: Protection { facts.protection }
        /// True if refusals are counted and logged, and the request is allowed.
        public var isShadow: Bool { facts.isShadow }
        /// The rule for consuming tokens.
        public var use: Use { facts.use }
        /// The number of licences of a playback, for a path of a licence server; `nil` for other entries.
        public var licence: LicenceUse? { facts.licence }
        /// The source of the entry.
        public var origin: Origin { facts.origin }
        /// The request methods that the entry permits.
        public var methods: [PlaybackRequest.Method] { facts.methods }
        /// The hosts whose paths the entry covers, in the form of ``HostName``; empty for every host.
        public var hosts: [String] { facts.hosts }
        /// The grants of playbacks; `nil` for none.
        public var grants: GrantTerms? { facts.grants }

        /// Creates an entry.
        ///
        /// - Parameters:
        ///   - key: The media id or the paths that the entry covers.
        ///   - protection: The token that the entry requires.
        ///   - isShadow: True if refusals are counted and logged, and the request is allowed.
        ///   - use: The rule for consuming tokens. Licences consume none: ``Use/grant``, or ``Use/withinTTL`` for any number of them.
        ///   - licence: The number of licences of a playback, for a path of a licence server; `nil` for other entries.
        ///   - origin: The source of the entry.
        ///   - methods: The request methods that the entry permits. ``PlaybackRequest/Method/other`` is ignored.
        ///   - hosts: The hosts whose paths the entry covers; empty for every host. Media ids have no host.
        ///   - grants: The grants of playbacks; `nil` for none.
        public init(
            key: Key,
            protection: Protection,
            isShadow: Bool = false,
            use: Use = .once,
            licence: LicenceUse? = nil,
            origin: Origin = .list,
            methods: [PlaybackRequest.Method] = [.get, .head],
            hosts: [HostName] = [],
            grants: GrantTerms? = nil
        ) {
            let names = hosts.map { String($0.text) }
            facts = Facts(
                key: key,
                protection: protection,
                isShadow: isShadow,
                use: use,
                licence: licence,
                origin: origin,
                methods: methods,
                hosts: names,
                grants: grants,
                tag: nil
            )
        }

        /// Creates an entry like another one, with other grants, or with the tag of its protection, for use without the
        /// subject key.
        package init(_ other: Entry, grants: GrantTerms?, tag: ProtectionTag?) {
            let own = other.facts
            facts = Facts(
                key: own.key,
                protection: own.protection,
                isShadow: own.isShadow,
                use: own.use,
                licence: own.licence,
                origin: own.origin,
                methods: own.methods,
                hosts: own.hosts,
                grants: grants,
                tag: tag
            )
        }

        /// Returns the entry with other grants.
        package func withGrants(_ grants: GrantTerms?) -> Self { Self(self, grants: grants, tag: nil) }

        /// Returns the tag of the resource and the requestor that the entry names; `nil` if it names none, or OpenSSL fails.
        func tag(by key: SubjectKey) -> ProtectionTag? { facts.tag(by: key) }

        /// The tag of the resource and the requestor, if it was made before or read from a policy.
        package var madeTag: ProtectionTag? { facts.madeTag }

        /// True if grants open the entry. To read ``grants`` would copy them.
        package var hasGrants: Bool { facts.hasGrants }

        /// True if a profile of the entry limits the concurrent playbacks of a viewer.
        var hasStreamLimit: Bool { facts.hasStreamLimit }

        /// True if the entry has a profile of this issuer and format.
        func hasProfile(of issuer: String, format: GrantFormat) -> Bool { facts.hasProfile(of: issuer, format: format) }

        /// True if the entry permits requests of this method.
        func permits(_ method: PlaybackRequest.Method) -> Bool { facts.permitted & method.bit != 0 }

        /// Verifies a token for the resource and the requestor of the entry; `nil` if it names none.
        func verify(_ token: Span<UInt8>, by verifier: Verifier, at now: Timestamp) -> Verification? {
            facts.verify(token, by: verifier, at: now)
        }

        /// Compares all properties.
        public static func == (left: Entry, right: Entry) -> Bool {
            left.facts === right.facts
                || left.key == right.key && left.protection == right.protection && left.isShadow == right.isShadow
                    && left.use == right.use && left.licence == right.licence && left.origin == right.origin
                    && left.methods == right.methods
                    && left.hosts == right.hosts && left.grants == right.grants
        }

        /// Hashes the key only, which rarely repeats in a catalogue.
        public func hash(into hasher: inout Hasher) { hasher.combine(key) }

        /// The rule for consuming a token.
        public enum Use: String, Hashable, Sendable, CaseIterable {
            /// The first playback consumes the token.
            case once
            /// The token is accepted until it expires, unless it is revoked. Meant for media that one playback fetches
            /// repeatedly, such as segments, if the start of the playback is not checked.
            case withinTTL = "ttl"
            /// No token is accepted, only the grant of a playback that was started by another entry. Meant for segments, keys
            /// and variant playlists.
            case grant
        }

        /// The grants of an entry: the rules by which they are issued, and those that open the entry.
        public struct GrantTerms: Hashable, Sendable {
            /// The profiles, at least one. A playback gets a grant of each.
            public var profiles: [GrantProfile]
            /// The paths that the grants open, ending in `/` and percent-encoded; `nil` for the folder of the entry or of the
            /// requested path.
            public var scope: String?
            /// The path of the manifest, percent-encoded, for the URL that a backend receives; `nil` if it is not known.
            public var manifest: String?
            /// The parameters of the manifest's URL besides those of a grant, without `?`; empty for none.
            public var query: String
            /// True if the entry is for files, and not for other files in their folder. Grants that others check then
            /// open only the played file.
            public var isOfFiles = false

            /// Creates terms.
            public init(_ profiles: [GrantProfile], scope: String? = nil, manifest: String? = nil, query: String = "") {
                self.profiles = profiles
                self.scope = scope
                self.manifest = manifest
                self.query = query
            }
        }

        /// The media id or the paths that an entry covers.
        public enum Key: Hashable, Sendable {
            /// A media id, compared byte for byte.
            case media(String)
            /// The stream paths that a pattern covers.
            case path(PathPattern)

            var pattern: PathPattern? {
                if case .path(let pattern) = self { pattern } else { nil }
            }

            /// The media id or the pattern as written.
            public var text: String {
                switch self {
                case .media(let id): id
                case .path(let pattern): pattern.text
                }
            }
        }

        /// The token that an entry requires.
        public enum Protection: Hashable, Sendable {
            /// No token is required.
            case none
            /// A token for this resource, issued to this requestor.
            case resource(MediaResource, requestor: String)
            /// No token is accepted, because feeds contradict each other.
            case ambiguous

            /// The resource that a token must be valid for; `nil` if the entry names none.
            public var resource: MediaResource? {
                if case .resource(let resource, _) = self { resource } else { nil }
            }

            /// The requestor whose tokens are required; `nil` if the entry names none.
            public var requestor: String? {
                if case .resource(_, let requestor) = self { requestor } else { nil }
            }
        }

        /// The source of an entry.
        public enum Origin: Hashable, Sendable {
            /// The operator's list.
            case list
            /// A feed, with its name and the line of the item.
            case feed(String, line: Int)
        }

        /// True if the pattern of this entry fixes more bytes of a path than that of `other`; `nil` if both fix the same
        /// number.
        func isLonger(than other: Entry?) -> Bool? {
            guard let other, let mine = key.pattern, let its = other.key.pattern else { return true }
            return mine.fixedLength == its.fixedLength ? nil : mine.fixedLength > its.fixedLength
        }

        /// Returns the entry that has precedence: this one or `other`.
        func stronger(than other: Entry?) -> Entry {
            guard let other else { return self }
            return isLonger(than: other) ?? (other.protection == .none) ? self : other
        }
    }
}

extension PlaybackRequest.Method {
    /// The bit of the method; 0 for methods that no entry permits.
    fileprivate var bit: UInt16 {
        switch self {
        case .get: 1
        case .head: 2
        case .options: 4
        case .post: 8
        case .put: 16
        case .patch: 32
        case .delete: 64
        case .other: 0
        }
    }
}
