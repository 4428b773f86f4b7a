// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import AccessEnabler
internal import Encodings
internal import Entitlements
internal import NIOHTTP1

/// A minimal browser for a login with a plain form: it follows redirects, fills in a user and a password, and stops at the
/// redirect URL. It is for terminals and tests, **with the sandbox only**: a viewer's password belongs in the viewer's own
/// browser. It sends the password only to the host of the first URL, and unencrypted only to this machine.
package struct FormBrowser: Sendable {
    private let redirectURL: String
    private let ask: @Sendable (ServiceRequest, String) async throws(ServiceFailure) -> ServiceAnswer

    /// Creates a browser.
    ///
    /// - Parameter redirectURL: The URL at which a login or a logout ends.
    package init(redirectURL: String) {
        self.init(redirectURL: redirectURL) { (request, url) async throws(ServiceFailure) in
            try await HTTPTransport().send(request, to: url, within: .seconds(20))
        }
    }

    /// Creates a browser with its own transport.
    ///
    /// - Parameter ask: Fetches a page.
    package init(
        redirectURL: String,
        ask: @escaping @Sendable (ServiceRequest, String) async throws(ServiceFailure) -> ServiceAnswer
    ) {
        self.redirectURL = redirectURL
        self.ask = ask
    }

    /// The reason why a browser did not reach the redirect URL.
    package struct Fault: Error, Hashable, CustomStringConvertible {
        /// A description of the error and of the page on which it occurred.
        package let description: String

        package init(description: String) { self.description = description }
    }

    /// Opens `url` and follows redirects and forms, at most 20 in all.
    ///
    /// - Returns: The final URL: the redirect URL, with the parameters that the service appended.
    package func visit(_ url: String, user: String? = nil, password: String? = nil) async throws(Fault) -> String {
        var login = Login(host: WebAddress(url)?.host, user: user, password: password)
        var page = WebPage.Target(url: url, form: nil)
        for _ in 0..<20 {
            if page.url.isAtOrBelow(redirectURL) { return page.url }
            guard WebAddress(page.url) != nil else {
                throw Fault(
                    description: "the login redirects to an invalid or non-HTTP URL: \(Self.withoutQuery(page.url))"
                )
            }
            page = try await target(of: page, &login)
        }
        throw Fault(description: "the login has more than 20 redirects and forms")
    }

    /// Fetches `page`, and returns the target of its redirect or of its form.
    private func target(of page: WebPage.Target, _ login: inout Login) async throws(Fault) -> WebPage.Target {
        let answer = try await fetch(page)
        if 300..<400 ~= answer.status, let location = answer.headers.first(name: "location") {
            return WebPage.Target(url: Self.resolve(location, at: page.url), form: nil)
        }
        guard let form = WebPage.form(String(decoding: answer.body, as: UTF8.self)) else {
            throw Fault(description: "\(Self.withoutQuery(page.url)): HTTP \(answer.status), and the page has no form")
        }
        let url = Self.resolve(form.action, at: page.url)
        return WebPage.Target(url: url, form: form.asksForPassword ? try login.fields(of: form, at: url) : form.fields)
    }

    /// The login of a visit. The password is sent at most once.
    private struct Login {
        /// The host of the first URL.
        let host: String?
        let user: String?
        let password: String?
        private var isUsed = false

        init(host: String?, user: String?, password: String?) {
            self.host = host
            self.user = user
            self.password = password
        }

        /// Returns the fields of `form` with user and password, if they may be sent to `url`.
        mutating func fields(of form: WebPage.Form, at url: String) throws(Fault) -> [(String, String)] {
            guard let user, let password else {
                throw Fault(description: "the provider requires a login; give --user and --password")
            }
            let target = WebAddress(url)
            guard let target, target.host == host, target.isSecure || target.isOfThisMachine else {
                throw Fault(
                    description:
                        "untrusted form target \(target?.host ?? "(none)"); log in with a browser, without --user"
                )
            }
            guard !isUsed else { throw Fault(description: "the provider rejected the user name or password") }
            isUsed = true
            return form.fields.map { name, value in
                name == "username" ? (name, user) : name == "password" ? (name, password) : (name, value)
            }
        }
    }

    private func fetch(_ page: WebPage.Target) async throws(Fault) -> ServiceAnswer {
        var request = ServiceRequest(method: page.form == nil ? .GET : .POST, path: [], isAuthorized: false)
        request.form = page.form
        request.accept = "text/html"
        do throws(ServiceFailure) { return try await ask(request, page.url) } catch {
            throw Fault(description: "\(Self.withoutQuery(page.url)): \(error.status.message ?? "no response")")
        }
    }

    /// Returns the URL without its query, which may hold secrets.
    private static func withoutQuery(_ url: String) -> Substring { url.prefix { $0 != "?" } }

    /// Resolves a link on a page (RFC 3986 §5.2, without dot segments).
    private static func resolve(_ link: String, at page: String) -> String {
        if link.isEmpty { return page }
        if let colon = link.firstIndex(of: ":"), link[..<colon].utf8.allSatisfy(\.isOfScheme) { return link }
        let parts = page.split(separator: "/", maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count >= 3 else { return link }
        if link.hasPrefix("//") { return parts[0] + link }
        let origin = parts.prefix(3).joined(separator: "/")
        if link.hasPrefix("/") { return origin + link }
        if link.hasPrefix("?") { return withoutQuery(page) + link }
        let path = parts.count > 3 ? parts[3].prefix { $0 != "?" && $0 != "#" } : ""
        let folder = path.lastIndex(of: "/").map { path[...$0] } ?? ""
        return "\(origin)/\(folder)\(link)"
    }
}

/// The host of a web page, and the security of its scheme.
struct WebAddress {
    let host: String
    let isSecure: Bool

    /// Parses an `http` or `https` URL; `nil` for any other.
    init?(_ url: String) {
        let lower = url.lowercased()
        guard let scheme = ["https://", "http://"].first(where: { lower.hasPrefix($0) }) else { return nil }
        let authority = lower.dropFirst(scheme.count).prefix { !"/?#".contains($0) }
        // A URL with user information is rejected.
        guard !authority.isEmpty, !authority.contains("@") else { return nil }
        let name =
            authority.hasPrefix("[")
            ? authority.prefix { $0 != "]" }.dropFirst() : authority.prefix { $0 != ":" }
        host = String(name)
        isSecure = scheme == "https://"
    }

    var isOfThisMachine: Bool {
        host == "localhost" || host == "::1"
            || host.hasPrefix("127.") && host.allSatisfy { $0 == "." || ("0"..."9").contains($0) }
    }
}

extension UInt8 {
    /// True if the byte may occur in the name of a URL scheme.
    fileprivate var isOfScheme: Bool {
        isASCIIAlphanumeric || self == UInt8(ascii: "+") || self == UInt8(ascii: "-") || self == UInt8(ascii: ".")
    }
}

/// The first form of a page, found without parsing the whole page.
enum WebPage {
    struct Target {
        let url: String
        let form: [(String, String)]?
    }

    struct Form {
        let action: String
        let fields: [(String, String)]
        let asksForPassword: Bool
    }

    static func form(_ page: String) -> Form? {
        var action: String?
        var fields: [(String, String)] = []
        var asksForPassword = false
        for tag in page.split(separator: "<", omittingEmptySubsequences: false).dropFirst().map({
            $0.prefix { $0 != ">" }
        }) {
            let name = tag.prefix { $0.isLetter || $0 == "/" }.lowercased()
            let attributes = attributes(tag.dropFirst(name.count))
            switch name {
            case "form" where action == nil: action = attributes["action"] ?? ""
            case "/form" where action != nil:
                return Form(action: action ?? "", fields: fields, asksForPassword: asksForPassword)
            case "input" where action != nil:
                if attributes["type"] == "password" { asksForPassword = true }
                guard let field = attributes["name"], attributes["type"] != "submit" else { continue }
                fields.append((field, attributes["value"] ?? ""))
            default: break
            }
        }
        return nil
    }

    /// Returns the attributes of a tag that have quoted values.
    private static func attributes(_ text: Substring) -> [String: String] {
        var attributes: [String: String] = [:]
        var rest = text
        while let equals = rest.firstIndex(of: "=") {
            let name = rest[..<equals].split(whereSeparator: \.isWhitespace).last.map(String.init) ?? ""
            rest = rest[rest.index(after: equals)...]
            guard let quote = rest.first, quote == "\"" || quote == "'" else { continue }
            rest = rest.dropFirst()
            let value = rest.prefix { $0 != quote }
            rest = rest[value.endIndex...].dropFirst()
            attributes[name.lowercased()] = String(value).withoutReferences
        }
        return attributes
    }
}

extension String {
    /// The text with the predefined XML entities and the numeric character references replaced.
    fileprivate var withoutReferences: String {
        var result = ""
        var rest = self[...]
        while let start = rest.firstIndex(of: "&") {
            result += rest[..<start]
            rest = rest[start...]
            guard let end = rest.prefix(12).firstIndex(of: ";") else {
                result += "&"
                rest = rest.dropFirst()
                continue
            }
            let name = rest[rest.index(after: start)..<end]
            if let text = Self.referenced(name) { result += text } else { result += rest[...end] }
            rest = rest[rest.index(after: end)...]
        }
        return result + rest
    }

    private static func referenced(_ name: Substring) -> String? {
        switch name {
        case "amp": return "&"
        case "lt": return "<"
        case "gt": return ">"
        case "quot": return "\""
        case "apos": return "'"
        default:
            guard name.hasPrefix("#") else { return nil }
            let digits = name.dropFirst()
            let number = digits.first == "x" ? UInt32(digits.dropFirst(), radix: 16) : UInt32(digits)
            return number.flatMap(Unicode.Scalar.init).map { String($0) }
        }
    }
}
