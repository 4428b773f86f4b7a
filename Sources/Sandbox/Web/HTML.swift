// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A piece of HTML, in which whatever came from elsewhere is escaped.
struct HTML: Sendable {
    let source: String

    private init(source: String) { self.source = source }

    /// A text, with all escaped that could be taken for more.
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

    /// An element with an end.
    static func element(_ name: StaticString, _ content: HTML...) -> HTML {
        HTML(source: "<\(name)>\(joined(content).source)</\(name)>")
    }

    /// An element with attributes and an end.
    static func element(
        _ name: StaticString,
        _ attributes: KeyValuePairs<String, String>,
        _ content: HTML...
    ) -> HTML {
        HTML(source: "\(start(name, attributes))\(joined(content).source)</\(name)>")
    }

    /// An element without an end, as `input`.
    static func void(_ name: StaticString, _ attributes: KeyValuePairs<String, String> = [:]) -> HTML {
        HTML(source: start(name, attributes))
    }

    static func joined(_ pieces: [HTML]) -> HTML {
        HTML(source: pieces.map(\.source).joined(separator: "\n"))
    }

    /// A form that is sent to `action`, with what is sent along unseen.
    static func form(_ action: String, hidden: KeyValuePairs<String, String>, _ content: HTML...) -> HTML {
        let inputs = hidden.map { name, value in
            void("input", ["type": "hidden", "name": name, "value": value])
        }
        return element("form", ["method": "post", "action": action], joined(inputs + content))
    }

    private static func start(_ name: StaticString, _ attributes: KeyValuePairs<String, String>) -> String {
        var source = "<\(name)"
        for (key, value) in attributes {
            // An attribute without a value is there or not, as `required`.
            source += value.isEmpty && key != "value" ? " \(key)" : " \(key)=\"\(text(value).source)\""
        }
        return source + ">"
    }
}
