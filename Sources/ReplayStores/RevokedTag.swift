// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
package import Platform

/// A revoked subject, by its tag or the identity of a playback session.
package struct RevokedTag: Hashable, Sendable {
    /// The kind.
    package var kind: Revocation.Kind
    /// The tag; for a playback, the identity of its session.
    package var tag: SubjectTag
    /// The time before which media tokens must have been issued to be revoked.
    package var issuedBefore: Timestamp

    /// Creates a revoked subject.
    package init(kind: Revocation.Kind, tag: SubjectTag, issuedBefore: Timestamp) {
        self.kind = kind
        self.tag = tag
        self.issuedBefore = issuedBefore
    }
}
