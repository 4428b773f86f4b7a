// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// A URL to which references of an MPD are relative, before the MPD is rewritten and after.
struct MPDBase: Hashable {
    let old: ReferenceBase
    let new: ReferenceBase
    /// True if it is the URL of the MPD itself, for which a `BaseURL` can be written.
    let isDocument: Bool
}

/// A base together with the values of a template.
struct MPDContext {
    let base: MPDBase
    /// `@id` of the Representation.
    var id: [UInt8]?
}

extension ReferenceBase {
    /// Returns true if both are the same URL.
    func isSame(as other: ReferenceBase) -> Bool {
        scheme == other.scheme && path == other.path && authority == other.authority && query == other.query
    }

    /// Returns true if relative references are the same against both.
    func hasSameFolder(as other: ReferenceBase) -> Bool {
        scheme == other.scheme && authority == other.authority && folder.hasSameBytes(as: other.folder)
    }
}
