// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension GrantProfile {
    /// The rules of signed URIs (RFC 9246).
    public struct SignedURIs: Hashable, Sendable {
        /// The form of the container of URIs (`cdniuc`).
        public var container = Container.regex
        /// The subject (`sub`), which is encrypted.
        public var subject = Subject.none
        /// The name of the key that encrypts the subject and the player's address; `nil` for none.
        public var encryptionKey: String?
        /// True to leave the JOSE header out of the tokens: their recipients know it.
        public var omitsHeader = false

        /// A form of a container.
        public enum Container: String, Hashable, Sendable, CaseIterable {
            /// `regex:` of the scope, from `^` to `$`.
            case regex
            /// `hash:` with the SHA-256 digest of the manifest's URL, which is the only one that the token opens.
            case hash
        }

        /// A subject. Without a key of this installation, none of them identifies a viewer.
        public enum Subject: String, Hashable, Sendable, CaseIterable {
            /// No subject.
            case none
            /// The id of the playback session, in hexadecimal.
            case session
            /// The tag of the viewer's session at the MVPD, in hexadecimal: the same in all of its playbacks.
            case viewer
        }

        /// Creates the default rules.
        public init() {}
    }
}
