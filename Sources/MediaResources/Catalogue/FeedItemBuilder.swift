// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings

/// An item of a feed whose elements are being read.
struct FeedItemBuilder: Sendable {
    let line: Int
    let depth: Int
    /// The title: `nil` before its element, empty if that is empty.
    var title: String?
    var guid: String?
    private var streamURLs: [String] = []
    private var ratings: [Rating] = []
    private var restrictions: [MediaRestriction] = []
    private var fault: FeedRefusal.Reason?

    init(line: Int, depth: Int) {
        self.line = line
        self.depth = depth
    }

    /// Marks the item as refused. The first reason stays.
    mutating func fail(_ reason: FeedRefusal.Reason) {
        if fault == nil { fault = reason }
    }

    mutating func set(_ field: WritableKeyPath<FeedItemBuilder, String?>, to value: String) {
        if self[keyPath: field] != nil { fail(.repeatedElement) }
        self[keyPath: field] = value
    }

    mutating func addStream(_ url: String) {
        guard !url.isEmpty else { return }
        guard streamURLs.count < 256 else { return fail(.tooMuch) }
        streamURLs.append(url)
    }

    mutating func add(_ rating: Rating) {
        guard ratings.count < 32 else { return fail(.tooMuch) }
        ratings.append(rating)
    }

    mutating func add(_ restriction: MediaRestriction) {
        guard restrictions.count < 64 else { return fail(.tooMuch) }
        restrictions.append(restriction)
    }

    /// Returns the item at its end: a catalogue entry, or a refusal.
    func finish(channel: String?, channelRatings: [Rating]) -> FeedItem {
        func refused(_ reason: FeedRefusal.Reason, detail: String = "") -> FeedItem {
            let name = [self.guid, self.title].compactMap(\.self).first { !$0.isEmpty }
            return .refused(
                FeedRefusal(line: line, reason: reason, detail: detail, name: name?.printable(limit: 200))
            )
        }
        if let fault { return refused(fault) }
        guard let channel else { return refused(.channelUnknown) }
        let (title, guid) = (self.title ?? "", self.guid ?? "")
        guard !title.isEmpty || !guid.isEmpty else { return refused(.nameless) }
        var paths: [String] = []
        for url in streamURLs {
            guard let path = Self.path(ofURL: url) else { return refused(.badURL, detail: url.printable(limit: 200)) }
            paths.append(path)
        }
        guard let mediaID = guid.isEmpty ? paths.first : guid else { return refused(.noMediaID) }
        do throws(ResourceError) {
            let resource = try MediaResource(
                channel: channel,
                itemTitle: title,
                guid: guid,
                ratings: ratings.isEmpty ? channelRatings : ratings
            )
            return .entry(
                CatalogueEntry(
                    mediaID: mediaID,
                    streamURLs: streamURLs,
                    streamPaths: paths,
                    resource: resource,
                    restrictions: restrictions,
                    line: line
                )
            )
        } catch {
            return refused(.badResource, detail: error.description)
        }
    }

    /// Returns the path of an absolute URL, or of a reference that begins with a slash (RFC 3986 §3). Otherwise `nil`.
    static func path(ofURL url: String) -> String? {
        let bytes = url.utf8
        guard !bytes.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }) else { return nil }
        var rest = bytes[...]
        if let colon = bytes.firstIndex(of: UInt8(ascii: ":")), isScheme(bytes[..<colon]) {
            rest = bytes[bytes.index(after: colon)...]
            guard rest.starts(with: "//".utf8) else { return nil }
        }
        if rest.starts(with: "//".utf8) {
            let authority = rest.dropFirst(2)
            let end = authority.firstIndex { "/?#".utf8.contains($0) } ?? authority.endIndex
            guard end > authority.startIndex else { return nil }
            rest = authority[end...]
        } else if rest.first != UInt8(ascii: "/") {
            return nil
        }
        let path = rest.prefix { $0 != UInt8(ascii: "?") && $0 != UInt8(ascii: "#") }
        return path.isEmpty ? "/" : String(Substring(path))
    }

    private static func isScheme(_ text: Substring.UTF8View) -> Bool {
        guard let first = text.first, first.isASCIILetter else { return false }
        return text.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."): true
            default: byte.isASCIIAlphanumeric
            }
        }
    }
}
