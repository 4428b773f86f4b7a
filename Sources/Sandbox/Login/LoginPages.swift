// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

/// The pages on which a viewer logs in.
enum LoginPages {
    /// Returns the login form of a provider.
    ///
    /// - Parameters:
    ///   - action: The address that the form posts to.
    ///   - hidden: The hidden fields.
    ///   - error: The error of the previous attempt; `nil` if there is none.
    ///   - cancel: The address that cancels the login; `nil` if it cannot be cancelled.
    static func form(
        _ provider: SandboxConfiguration.Provider,
        action: String,
        hidden: KeyValuePairs<String, String>,
        error: String? = nil,
        cancel: String?
    ) -> Page {
        var fields: [HTML] = []
        if let error {
            fields.append(.element("p", ["class": "error", "role": "alert"], .text(error)))
        }
        fields += [
            .element("label", ["for": "username"], .text("User name")),
            .void(
                "input",
                [
                    "id": "username", "name": "username", "type": "text", "autocomplete": "username",
                    "autocapitalize": "none", "spellcheck": "false", "required": "", "autofocus": "",
                ]
            ),
            .element("label", ["for": "password"], .text("Password")),
            .void(
                "input",
                [
                    "id": "password", "name": "password", "type": "password", "autocomplete": "current-password",
                    "required": "",
                ]
            ),
            .element("button", ["type": "submit"], .text("Log in")),
        ]
        if let cancel {
            // A link would be unsafe: a client that prefetches links would end the login.
            let attributes: KeyValuePairs = ["class": "cancel", "formaction": cancel, "formnovalidate": ""]
            fields.append(.element("button", attributes, .text("Cancel")))
        }
        return Page("Log in to \(provider.description.displayName)", .form(action, hidden: hidden, .joined(fields)))
    }

    /// Returns a form that the viewer submits with a button, because the page runs no scripts.
    static func relay(_ title: String, action: String, hidden: KeyValuePairs<String, String>) -> Page {
        Page(
            title,
            .form(action, hidden: hidden, .element("button", ["type": "submit"], .text("Continue")))
        )
    }

    /// The page for a consumed or expired ticket.
    static let stale = Page.error(
        Status(
            status: 400,
            code: "",
            message: "This page was already used or has expired. Start again in your application."
        )
    )

    /// Returns the last page of a flow that has no redirect target.
    static func done(_ text: String) -> Page { Page("Done", .element("p", .text(text))) }
}
