// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

public import Platform

/// A token by which a player asks a licence server for the licences of one playback.
public struct LicenceToken: Hashable, Sendable {
    /// The name of the rules that it was made by.
    public let name: String
    /// The form.
    public let form: LicenceTokenForm
    /// The text.
    public let text: String
    /// The end of its life; `nil` if the server decides, as DoveRunner's.
    public let expires: Timestamp?
    /// The carrier in a player's request.
    public let carrier: Carrier

    /// A header field or a parameter that has the token.
    public enum Carrier: Hashable, Sendable {
        /// A header field.
        case header(String)
        /// A parameter of the URL.
        case query(String)
    }
}

/// A playback, and the content that it needs licences for.
public struct LicenceOrder: Sendable {
    /// The name of the content at the licence server.
    public var asset: String
    /// The content keys.
    public var keys: ContentKeys
    /// The session of the playback, in hexadecimal.
    public var session: String
    /// The pseudonym of the viewer, which only the operator's own gates can resolve; `nil` for none.
    public var viewer: String?
    /// The end of the playback's session: no token outlives it.
    public var sessionEnd: Timestamp

    /// Creates an order.
    public init(asset: String, keys: ContentKeys, session: String, viewer: String? = nil, sessionEnd: Timestamp) {
        self.asset = asset
        self.keys = keys
        self.session = session
        self.viewer = viewer
        self.sessionEnd = sessionEnd
    }
}

/// The content keys of an asset, with the tracks that they are for. The keys themselves are never here.
public struct ContentKeys: Hashable, Sendable {
    /// The ids, each with the text of its track.
    public private(set) var tracks: [(id: ContentKeyID, track: String)] = []

    /// Creates a list of ids.
    ///
    /// - Parameter tracks: The ids, each with the text of its track: one of ``TrackType``, or of ``LicenceTokenRules/tracks``.
    public init(_ tracks: [(id: ContentKeyID, track: String)] = []) {
        for track in tracks where !self.tracks.contains(where: { $0 == track }) { self.tracks.append(track) }
    }

    /// Returns the ids of tracks up to a size of the picture, each once.
    ///
    /// - Throws: ``LicenceTokenError/Code/content`` if a text means no track, or its size is not known.
    func ids(
        upTo largest: TrackType?,
        naming names: [String: TrackType]
    ) throws(LicenceTokenError) -> [ContentKeyID] {
        var (ids, larger): ([ContentKeyID], Set<ContentKeyID>) = ([], [])
        for (id, text) in tracks {
            guard let track = names[text] ?? TrackType(text: text) else {
                throw LicenceTokenError(.content, reason: "the track type \(text) of the key \(id) has no meaning here")
            }
            if let limit = largest?.definition, track != .audio {
                guard let definition = track.definition else {
                    throw LicenceTokenError(.content, reason: "\(text) may be larger than the largest picture")
                }
                // A key of several sizes opens all of them.
                if definition > limit { larger.insert(id) }
            }
            if !ids.contains(id) { ids.append(id) }
        }
        return ids.filter { !larger.contains($0) }
    }

    /// Compares the ids and texts.
    public static func == (one: Self, other: Self) -> Bool {
        one.tracks.elementsEqual(other.tracks) { $0 == $1 }
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(tracks.map(\.id)) }
}
