// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import HTTPServer
internal import NIOHTTP1
internal import PlaybackGate

/// The facts of a client's request, as reported by the edge.
struct EdgeRequest {
    /// The target, undecoded, with its query.
    private(set) var target: Substring
    private(set) var method = PlaybackRequest.Method.other
    /// The host, in canonical form; `nil` if the edge does not send it.
    private(set) var host: Substring?
    /// True if the client requests a range, not the whole.
    private(set) var isPartial = false
    /// True if the edge's cache key contains all facts that an answer depends on, besides header fields of the client.
    private(set) var isKeyWhole = true

    /// Creates the facts of a request that a client makes itself. A range in it is ignored.
    init(_ target: Substring, _ method: HTTPMethod, host: Substring) {
        self.target = target
        self.method = PlaybackRequest.Method(method)
        self.host = host
    }

    /// Reads the facts of a check. `nil` if a required field is missing, if target, method or host is repeated, if
    /// method or host is malformed, or if an edge passes on a client's field with a name of the gate's own.
    ///
    /// - Parameters:
    ///   - stated: The method of the check.
    ///   - fields: Its header fields.
    ///   - rest: The target of the check after the endpoint.
    init?(_ stated: HTTPMethod, _ fields: HTTPFields, rest: Substring, _ dialect: EdgeDialect) {
        let names = dialect.headers
        var (target, method, host, key): (Int?, Int?, Int?, Int?)
        var isKeyRepeated = false
        for index in fields.indices {
            if let wanted = names.target, fields.isField(index, wanted) {
                guard target == nil else { return nil }
                target = index
            } else if let wanted = names.method, fields.isField(index, wanted) {
                guard method == nil else { return nil }
                method = index
            } else if fields.isField(index, names.host) {
                guard host == nil else { return nil }
                host = index
            } else if fields.isField(index, names.range) {
                isPartial = isPartial || !fields.value(index).isWholeRange
            } else if dialect == .nginx, fields.isField(index, "x-playgate-cache-key") {
                isKeyRepeated = key != nil
                key = index
            } else if dialect == .forward, fields.isAnswerField(index) {
                return nil
            }
        }
        if names.target != nil {
            guard let target, let method = method.map(fields.value), let known = PlaybackRequest.Method(stated: method)
            else { return nil }
            (self.target, self.method) = (fields.value(target), known)
        } else {
            (self.target, self.method) = (rest, PlaybackRequest.Method(stated))
        }
        if let host {
            // A malformed host shows that the edge is unreliable, so the check is refused.
            guard let name = HostName(fields.value(host)) else { return nil }
            self.host = name.text
        }
        if dialect == .nginx {
            let (method, host) = (method.map(fields.value) ?? "", host.map(fields.value) ?? "")
            isKeyWhole = !isKeyRepeated && key.map(fields.value)?.isKey(method, host, self.target) ?? false
        }
    }
}

extension HTTPFields {
    /// True if the name of a field is one of the gate's own, `X-Playgate-…`, in a spelling that an origin may take for it: some read
    /// every character but letters and digits as `_`. Varnish has no wildcards to remove it, so it is refused.
    fileprivate func isAnswerField(_ index: Int) -> Bool {
        let name = name(index).utf8.span
        let prefix: StaticString = "playgate"
        guard name.count >= 2 + prefix.utf8CodeUnitCount, name[0].lowercasedASCII == UInt8(ascii: "x") else {
            return false
        }
        return !name[1].isASCIIAlphanumeric && name.extracting(2..<2 + prefix.utf8CodeUnitCount).isSameField(prefix)
    }
}

extension PlaybackRequest.Method {
    /// Parses the name of a method; `nil` if it cannot be one.
    fileprivate init?(stated name: Substring) {
        // Most names need no search.
        if name.utf8.span.starts(with: "GET", at: 0), name.utf8.count == 3 {
            self = .get
        } else {
            guard name.isMethod else { return nil }
            self = Self(rawValue: String(name)) ?? .other
        }
    }

    fileprivate init(_ method: HTTPMethod) {
        switch method {
        case .GET: self = .get
        case .HEAD: self = .head
        default: self = Self(rawValue: method.rawValue) ?? .other
        }
    }
}

extension Substring {
    /// True if this can be the name of a method: 1 to 32 upper-case letters and hyphens.
    fileprivate var isMethod: Bool {
        1...32 ~= utf8.count
            && utf8.allSatisfy { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 || $0 == UInt8(ascii: "-") }
    }

    /// True if this `Range` requests everything: `bytes=0-`, which players send to be able to resume. An empty value counts
    /// too, because edges send it if there is no `Range`.
    ///
    /// Source: RFC 9110 §14.1.2.
    fileprivate var isWholeRange: Bool { isEmpty || isSameField("bytes=0-") }

    /// True if this is `METHOD HOST/TARGET`, alone or followed by a space and more. None of the parts contains a space, so
    /// two requests never share a key.
    fileprivate func isKey(_ method: Substring, _ host: Substring, _ target: Substring) -> Bool {
        guard !method.isEmpty, !host.isEmpty else { return false }
        let key = utf8.span
        var end = 0
        func has(_ part: Span<UInt8>) -> Bool {
            guard part.count <= key.count - end else { return false }
            defer { end += part.count }
            return key.extracting(end..<end + part.count).hasSameBytes(as: part)
        }
        guard has(method.utf8.span), has(" ".utf8.span), has(host.utf8.span), has(target.utf8.span) else {
            return false
        }
        return end == key.count || key[end] == UInt8(ascii: " ")
    }
}
