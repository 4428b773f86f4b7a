// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements

/// The pages on which a viewer logs in.
enum LoginPages {
    /// The form of a provider.
    ///
    /// - Parameters:
    ///   - action: Where it is sent.
    ///   - hidden: What is sent along unseen.
    ///   - error: What was wrong before, if anything.
    ///   - cancel: Where it is sent to be given up; nil where it cannot be.
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
            // No link: whatever follows links unasked would end the login.
            let attributes: KeyValuePairs = ["class": "cancel", "formaction": cancel, "formnovalidate": ""]
            fields.append(.element("button", attributes, .text("Cancel")))
        }
        return Page("Log in to \(provider.description.displayName)", .form(action, hidden: hidden, .joined(fields)))
    }

    /// A form that a viewer sends on by a button: the pages run no scripts.
    static func relay(_ title: String, action: String, hidden: KeyValuePairs<String, String>) -> Page {
        Page(
            title,
            .form(action, hidden: hidden, .element("button", ["type": "submit"], .text("Continue")))
        )
    }

    /// What is shown for a ticket that is spent.
    static let stale = Page.error(
        Status(
            status: 400,
            code: "",
            message: "This page was used already, or is too old. Begin again in your application."
        )
    )

    /// What stands at the end where there is nowhere to go.
    static func done(_ text: String) -> Page { Page("Done", .element("p", .text(text))) }
}
