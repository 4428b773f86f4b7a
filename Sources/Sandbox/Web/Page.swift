// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import HTTPTypes
internal import Hummingbird

/// A page for people, with a banner that names the sandbox. Its content security policy allows only the service's own
/// scripts.
struct Page: Sendable {
    let title: String
    /// The HTML below the heading.
    let content: HTML

    init(_ title: String, content: HTML) {
        self.title = title
        self.content = content
    }

    static let banner = "Playgate sandbox: a test service, not a TV provider"

    static let headers: HTTPFields = [
        .contentType: "text/html;charset=UTF-8",
        .cacheControl: "no-store",
        .contentSecurityPolicy: "default-src 'self'; media-src 'self' blob:; frame-ancestors 'none'; base-uri 'none'",
        .xContentTypeOptions: "nosniff",
        .referrerPolicy: "no-referrer",
    ]

    func response(status: HTTPResponse.Status = .ok) -> Response {
        let page: HTML = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(title)</title>
            <link rel="stylesheet" href="/sandbox.css">
            </head>
            <body>
            <header class="banner">\(Self.banner)</header>
            <main>
            <h1>\(title)</h1>
            \(content)
            </main>
            </body>
            </html>

            """
        return .file([UInt8](page.source.utf8), type: "text/html;charset=UTF-8", status: status)
    }

    /// Returns a page about an error.
    static func error(_ status: Status) -> Page {
        let details = status.details.map { "<p>\($0)</p>" as HTML }
        let code = status.code
        let link = code.isEmpty ? nil : "<p>Code: <a href=\"/sandbox/errors#\(code)\">\(code)</a></p>" as HTML
        let trace = status.trace.map { "<p>Trace: \($0)</p>" as HTML }
        let message = status.message ?? "The request failed."
        return Page("The request failed", content: "<p class=\"error\">\(message)</p>\n\(details, link, trace)")
    }
}

extension Response {
    /// Returns a file for browsers, with the headers of pages.
    static func file(_ bytes: [UInt8], type: String, status: HTTPResponse.Status = .ok) -> Response {
        .bytes(bytes, type: type, status: status, headers: Page.headers)
    }
}
