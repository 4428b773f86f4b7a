// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The refusal of a manifest. The output before it must be discarded, because it lacks the rest.
public struct ManifestFault: Error, Hashable, Sendable {
    /// The reason.
    public let code: ManifestCode
    /// The line of the manifest, from 1; `nil` if the reason concerns none.
    public let line: Int?
    /// An explanation for people, without any part of the grant or of the manifest's references.
    public let reason: String

    package init(_ code: ManifestCode, line: Int? = nil, reason: String) {
        self.code = code
        self.line = line
        self.reason = reason
    }

    /// Creates the refusal of a reference.
    package init(_ fault: ReferenceFault, line: Int?) {
        self.init(.referenceInvalid, line: line, reason: fault.rawValue)
    }
}

extension ManifestFault: CustomStringConvertible {
    /// The line, the reason, and the code in brackets.
    public var description: String { "\(line.map { "line \($0): " } ?? "")\(reason) [\(code.rawValue)]" }
}
