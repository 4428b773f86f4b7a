// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
public import MediaResources

/// A rule by which a claim of a token entitles to resources.
///
/// A claim has one value, or several: a list, or a text with blanks between them as `scope` has. A value entitles to what
/// ``resources`` has for it. Without that table, it is the resource itself, behind ``prefix``.
public struct ResourceRule: Sendable {
    /// The claim.
    public var claim: ClaimPath
    /// The beginning of values that count, such as `tv:`; empty for all. It is cut off.
    public var prefix: String
    /// The resources of each value, without the prefix; `nil` if the value is the plain identifier of a resource.
    public var resources: [String: Entitlement]?
    /// True if a text is several values with blanks between them, as that of `scope` (RFC 6749 §3.3).
    public var isSeparated: Bool

    /// The resources that a value entitles to.
    public enum Entitlement: Hashable, Sendable {
        /// All that the catalogue has.
        case all
        /// These.
        case some([MediaResource])

        func includes(_ resource: MediaResource) -> Bool {
            switch self {
            case .all: true
            case .some(let resources): resources.contains(resource)
            }
        }
    }

    /// Creates a rule.
    ///
    /// - Parameters:
    ///   - claim: The claim.
    ///   - prefix: The beginning of values that count; empty for all.
    ///   - resources: The resources of each value; `nil` if the value is the resource.
    ///   - isSeparated: True if a text is several values with blanks between them; by default for `scope` and `scp`.
    public init(
        _ claim: ClaimPath,
        prefix: String = "",
        resources: [String: Entitlement]? = nil,
        isSeparated: Bool? = nil
    ) {
        self.claim = claim
        self.prefix = prefix
        self.resources = resources
        self.isSeparated = isSeparated ?? ["scope", "scp"].contains(claim.text)
    }

    /// True if a value entitles to the resource.
    func admits(_ value: Span<UInt8>, to resource: MediaResource) -> Bool {
        let start = prefix.utf8.span
        guard value.count > start.count, value.extracting(..<start.count).hasSameBytes(as: start) else { return false }
        let rest = value.extracting(start.count...)
        guard let resources else { return resource.isIdentified(by: rest) }
        return resources.first { $0.key.utf8.span.hasSameBytes(as: rest) }?.value.includes(resource) ?? false
    }
}

extension MediaResource {
    /// True if the text is a plain identifier of the resource.
    fileprivate func isIdentified(by text: Span<UInt8>) -> Bool {
        guard kind == .identifier, !isWritten(text) else { return kind == .identifier }
        guard let other = try? MediaResource(String(copying: text)) else { return false }
        return other.kind == .identifier && other == self
    }
}
