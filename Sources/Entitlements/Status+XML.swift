// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources

extension Status {
    /// Reads an `error` element of REST API v1. The old form, with a status and a message alone, is read too.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) {
        let error = try XMLElement.body(bytes, root: "error")
        guard let status = Int(try error.required("status")) else {
            throw EntitlementBodyError(.unexpected, "error: the status is no number")
        }
        self.init(
            status: status,
            code: error.optional("code") ?? "",
            message: error.optional("message"),
            details: error.optional("details"),
            helpURL: error.optional("helpUrl"),
            trace: error.optional("trace"),
            action: error.optional("action").map(StatusAction.init)
        )
    }

    /// This as an `error` element, in one line.
    public var xml: String {
        XMLElement(
            "error",
            fields: [
                ("action", action?.rawValue), ("status", "\(status)"), ("code", code.isEmpty ? nil : code),
                ("message", message), ("details", details), ("helpUrl", helpURL), ("trace", trace),
            ]
        ).document()
    }
}
