// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The reason why a manifest is refused.
///
/// A closed list. The raw values are stable, and the same in JSON, metric labels and logs.
public enum ManifestCode: String, Hashable, Sendable, CaseIterable {
    /// The text is not a manifest of its format, or contradicts itself.
    case malformed = "manifest_malformed"
    /// The text has a NUL byte, is not UTF-8, or declares another encoding.
    case encodingInvalid = "manifest_encoding_invalid"
    /// The manifest exceeds one of its ``ManifestLimits``.
    case tooLarge = "manifest_too_large"
    /// A reference that two readers could resolve to different hosts or paths, or that no server accepts.
    case referenceInvalid = "manifest_reference_invalid"
    /// The manifest uses a part of its format that cannot be rewritten safely.
    case unsupported = "manifest_unsupported"
}
