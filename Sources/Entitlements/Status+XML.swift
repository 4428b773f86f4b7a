// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import XML

extension Status {
    /// Parses an `error` element of REST API v1, also in the old form, which has a status and a message only.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) {
        let error = try XMLElement.body(bytes, root: "error")
        guard let status = Int(try error.required("status")) else {
            throw EntitlementBodyError(.unexpected, message: "error: the status is not a number")
        }
        self.init(
            status: status,
            code: try error.optional("code") ?? "",
            message: try error.optional("message"),
            details: try error.optional("details"),
            helpURL: try error.optional("helpUrl"),
            trace: try error.optional("trace"),
            action: try error.optional("action").map(StatusAction.init)
        )
    }

    /// An `error` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` if a text has a character that XML does not allow.
    public var xml: String {
        get throws(EntitlementBodyError) {
            try XMLElement(
                "error",
                fields: [
                    ("action", action?.rawValue), ("status", "\(status)"), ("code", code.isEmpty ? nil : code),
                    ("message", message), ("details", details), ("helpUrl", helpURL), ("trace", trace),
                ]
            ).body()
        }
    }
}
