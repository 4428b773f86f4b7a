// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A piece of HTML with all inserted texts escaped.
struct HTML: Sendable {
    let source: String

    private init(source: String) { self.source = source }

    /// Returns a text with its markup characters escaped.
    static func text(_ text: String) -> HTML {
        var source = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": source += "&amp;"
            case "<": source += "&lt;"
            case ">": source += "&gt;"
            case "\"": source += "&quot;"
            case "'": source += "&#39;"
            default: source.unicodeScalars.append(scalar)
            }
        }
        return HTML(source: source)
    }

    /// Returns an element with an end tag.
    static func element(_ name: StaticString, _ content: HTML...) -> HTML {
        HTML(source: "<\(name)>\(joined(content).source)</\(name)>")
    }

    /// Returns an element with attributes and an end tag.
    static func element(
        _ name: StaticString,
        _ attributes: KeyValuePairs<String, String>,
        _ content: HTML...
    ) -> HTML {
        HTML(source: "\(start(name, attributes))\(joined(content).source)</\(name)>")
    }

    /// Returns an element without an end tag, such as `input`.
    static func void(_ name: StaticString, _ attributes: KeyValuePairs<String, String> = [:]) -> HTML {
        HTML(source: start(name, attributes))
    }

    static func joined(_ pieces: [HTML]) -> HTML {
        HTML(source: pieces.map(\.source).joined(separator: "\n"))
    }

    /// Returns a form that posts its fields and the hidden fields to `action`.
    static func form(_ action: String, hidden: KeyValuePairs<String, String>, _ content: HTML...) -> HTML {
        let inputs = hidden.map { name, value in
            void("input", ["type": "hidden", "name": name, "value": value])
        }
        return element("form", ["method": "post", "action": action], joined(inputs + content))
    }

    private static func start(_ name: StaticString, _ attributes: KeyValuePairs<String, String>) -> String {
        var source = "<\(name)"
        for (key, value) in attributes {
            // An empty attribute is a Boolean one, such as `required`.
            source += value.isEmpty && key != "value" ? " \(key)" : " \(key)=\"\(text(value).source)\""
        }
        return source + ">"
    }
}
