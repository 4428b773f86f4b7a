// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import Hummingbird

/// The pages on which a viewer logs in.
enum LoginPages {
    /// Returns the login form of a provider.
    ///
    /// - Parameters:
    ///   - accounts: The users whose password is their name, for people who try the sandbox.
    ///   - action: The address that the form posts to.
    ///   - hidden: The hidden fields.
    ///   - error: The error of the previous attempt; `nil` if there is none.
    ///   - cancel: The address that cancels the login; `nil` if it cannot be cancelled.
    static func form(
        _ provider: Provider,
        accounts: [String],
        action: String,
        hidden: KeyValuePairs<String, String>,
        error: String? = nil,
        cancel: String?
    ) -> Page {
        let logo = provider.logoPath.map { "<img class=\"logo\" src=\"\($0)\" alt=\"\">" as HTML }
        let problem = error.map { "<p class=\"error\" role=\"alert\">\($0)</p>" as HTML }
        // A link would be unsafe: a client that prefetches links would end the login.
        let button = cancel.map {
            "<button class=\"cancel\" formaction=\"\($0)\" formnovalidate>Cancel</button>" as HTML
        }
        let names = accounts.joined(separator: ", ")
        let hint = "<p>Demonstration accounts: \(names). Each password is the name.</p>" as HTML
        let fields: HTML = """
            \(problem)
            <label for="username">User name</label>
            <input id="username" name="username" type="text" autocomplete="username" autocapitalize="none" \
            spellcheck="false" required autofocus>
            <label for="password">Password</label>
            <input id="password" name="password" type="password" autocomplete="current-password" required>
            <button type="submit">Log in</button>
            \(button)
            """
        return Page(
            "Log in to \(provider.description.displayName)",
            content: "\(logo, form(action: action, hidden: hidden, content: fields), accounts.isEmpty ? nil : hint)"
        )
    }

    /// Returns a form that the viewer submits with a button, because the page runs no scripts.
    static func relay(_ title: String, action: String, hidden: KeyValuePairs<String, String>) -> Page {
        Page(title, content: form(action: action, hidden: hidden, content: "<button type=\"submit\">Continue</button>"))
    }

    private static func form(action: String, hidden: KeyValuePairs<String, String>, content: HTML) -> HTML {
        let inputs = hidden.map { "<input type=\"hidden\" name=\"\($0)\" value=\"\($1)\">" as HTML }
        return "<form method=\"post\" action=\"\(action)\">\(inputs)\n\(content)</form>"
    }

    /// Returns the end of a flow: a redirect, or a page if the flow has no redirect target.
    static func end(at target: String?, text: String) -> Response {
        target.map { .redirect(to: $0) } ?? Page("Done", content: "<p>\(text)</p>").response()
    }
}

extension EndpointError {
    /// The refusal of a consumed or expired ticket.
    static let stale = EndpointError(
        400,
        message: "This page was already used or has expired. Start again in your application."
    )
}
