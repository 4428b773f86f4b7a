// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Mustache

/// The templates of the operator page: the files in `Templates`, which the program contains.
enum PageTemplates {
    /// A template by the name of its file.
    enum Name: String, CaseIterable {
        case catalogue
        case confirm
        case decisions
        case inspect
        case leaks
        case message
        case revoke
        case signIn = "sign_in"
        // Parts of the others.
        case layout
        case facts
        case checks

        fileprivate var source: [UInt8] {
            switch self {
            case .catalogue: PackageResources.catalogue_mustache
            case .confirm: PackageResources.confirm_mustache
            case .decisions: PackageResources.decisions_mustache
            case .inspect: PackageResources.inspect_mustache
            case .leaks: PackageResources.leaks_mustache
            case .message: PackageResources.message_mustache
            case .revoke: PackageResources.revoke_mustache
            case .signIn: PackageResources.sign_in_mustache
            case .layout: PackageResources.layout_mustache
            case .facts: PackageResources.facts_mustache
            case .checks: PackageResources.checks_mustache
            }
        }
    }

    /// The HTML of texts. The library's own escapes whole characters: a quote with a combining accent is another one to it,
    /// and the end of an attribute to a browser.
    private struct EscapedText: MustacheContentType {
        static let name = "ESCAPED"

        func escapeText(_ text: String) -> String { HTML.escaped(text) }
    }

    private static let library: MustacheLibrary = {
        MustacheContentTypes.register(EscapedText(), named: EscapedText.name)
        var library = MustacheLibrary()
        for name in Name.allCases {
            // Each template sets the type by itself, because a part of another one begins with the library's.
            let text = "{{% CONTENT_TYPE:\(EscapedText.name)}}" + String(decoding: name.source, as: UTF8.self)
            do { try library.register(text, named: name.rawValue) } catch {
                preconditionFailure("the template \(name.rawValue): \(error)")
            }
        }
        return library
    }()

    /// Returns a page.
    ///
    /// - Parameter view: The values, by the names in the template. All texts are escaped.
    static func page(_ name: Name, view: some Any) -> [UInt8] {
        guard let page = library.render(view, withTemplate: name.rawValue) else {
            preconditionFailure("no template \(name.rawValue)")
        }
        return [UInt8](page.utf8)
    }
}

/// The values of a page.
struct PageView<Content> {
    let title: String
    /// The caller that can sign out.
    let caller: String?
    /// The pages of the navigation.
    let links: [Link]
    let hasScript: Bool
    /// The values of the page's own template.
    let content: Content

    struct Link {
        let path: String
        let name: String
        let isCurrent: Bool
    }

    init(_ title: String, content: Content, caller: String?, at path: String, hasScript: Bool) {
        self.title = title
        self.caller = caller
        links = [
            ("/ui", "Decisions"), ("/ui/catalogue", "Catalogue"), ("/ui/inspect", "Inspect"),
            ("/ui/leaks", "Shared grants"), ("/ui/revoke", "Revoke"),
        ].map { Link(path: $0, name: $1, isCurrent: $0 == path) }
        self.hasScript = hasScript
        self.content = content
    }
}

/// A line of a table: a name and its text.
struct PageFact {
    let name: String
    let text: String

    init(_ name: String, text: String) {
        self.name = name
        self.text = text
    }
}

/// A line of a table: a check and what became of it.
struct PageCheck {
    let name: String
    /// `passed`, `failed` or `skipped`.
    let kind: String
    let result: String
    let details: String
}

/// The values of a page with one sentence.
struct MessageView {
    let text: String
    var details: String?
    var hasLinkBack = false

    /// The class and the role of the sentence.
    let kind: String
    let role: String

    /// Creates the values of an outcome.
    init(_ text: String) {
        self.text = text
        (kind, role) = ("", "status")
    }

    /// Creates the values of a fault.
    init(fault text: String, details: String? = nil, hasLinkBack: Bool = false) {
        self.text = text
        self.details = details
        self.hasLinkBack = hasLinkBack
        (kind, role) = ("fault", "alert")
    }
}
