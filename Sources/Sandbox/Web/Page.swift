// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Entitlements
internal import HTTPTypes
internal import Hummingbird

/// A page for people, with a banner that names the sandbox. Its content security policy allows only the service's own
/// scripts.
struct Page: Sendable {
    let title: String
    /// The HTML below the heading.
    let content: HTML

    init(_ title: String, _ content: HTML...) {
        self.title = title
        self.content = .joined(content)
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
        let text = """
            <!doctype html>
            <html lang="en">
            <head>
            <meta charset="utf-8">
            <meta name="viewport" content="width=device-width, initial-scale=1">
            <title>\(HTML.text(title).source)</title>
            <link rel="stylesheet" href="/sandbox.css">
            </head>
            <body>
            <header class="banner">\(Self.banner)</header>
            <main>
            <h1>\(HTML.text(title).source)</h1>
            \(content.source)
            </main>
            </body>
            </html>

            """
        var response = Response.text(text)
        response.status = status
        for field in Self.headers { response.headers[field.name] = field.value }
        return response
    }

    /// Returns a page about an error.
    static func error(_ status: Status) -> Page {
        var parts: [HTML] = [.element("p", ["class": "error"], .text(status.message ?? "The request failed."))]
        if let details = status.details { parts.append(.element("p", .text(details))) }
        if !status.code.isEmpty {
            let link = HTML.element("a", ["href": "/sandbox/errors#\(status.code)"], .text(status.code))
            parts.append(.element("p", .text("Code: "), link))
        }
        if let trace = status.trace { parts.append(.element("p", .text("Trace: \(trace)"))) }
        return Page("The request failed", .joined(parts))
    }
}
