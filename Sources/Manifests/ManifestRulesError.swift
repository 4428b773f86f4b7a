// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An error of a caller whose rules cannot be followed.
public struct ManifestRulesError: Error, Hashable, Sendable {
    /// A stable code.
    @nonexhaustive
    public enum Code: String, Hashable, Sendable {
        /// The URL of the manifest is not an absolute one of `http` or `https`, or servers could read it as another.
        case urlInvalid = "manifest_url_invalid"
        /// The public path has other segments than those of unreserved characters, or the URL does not begin with it.
        case publicPathInvalid = "manifest_public_path_invalid"
        /// The grant is empty, too long, or has characters that players encode.
        case grantInvalid = "manifest_grant_invalid"
        /// The prefix of the segment or the name of the parameter is empty, too long, or has characters that players encode.
        case modeInvalid = "manifest_mode_invalid"
        /// A protected host is not a name or an address with or without a port, or there are too many.
        case hostInvalid = "manifest_host_invalid"
    }

    /// The code.
    public let code: Code
    /// An explanation for people, without any part of the grant.
    public let reason: String

    init(_ code: Code, reason: String) {
        self.code = code
        self.reason = reason
    }
}

extension ManifestRulesError: CustomStringConvertible {
    /// The reason, and the code in brackets.
    public var description: String { "\(reason) [\(code.rawValue)]" }
}
