// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// What a client tells of a viewer's steps, in the arrays that the documented callback has.
public enum TrackingEvent: Hashable, Sendable {
    /// A viewer was found authenticated, or was not, and then nothing is known: `authenticationDetection`.
    case authentication(Viewer?, Device)
    /// A viewer was found authorized, or was not: `authorizationDetection`.
    case authorization(isSuccess: Bool, Viewer, error: String, details: String, Device)
    /// A provider was chosen: `mvpdSelection`.
    case providerSelection(mvpd: String, Device)

    /// Who, without saying who.
    public struct Viewer: Hashable, Sendable {
        /// The id of the provider.
        public var mvpd: String
        /// The viewer's GUID, hashed by MD5.
        public var hashedGUID: String
        /// Whether the answer came from what the client had kept.
        public var isCached: Bool

        /// Makes a viewer.
        public init(mvpd: String, hashedGUID: String, isCached: Bool) {
            self.mvpd = mvpd
            self.hashedGUID = hashedGUID
            self.isCached = isCached
        }
    }

    /// What the viewer watches on.
    public struct Device: Hashable, Sendable {
        /// The kinds of devices that are told apart.
        public enum Kind: String, Sendable, CaseIterable {
            case computer, tablet, mobile, gameconsole, unknown
        }

        /// What kind of device it is.
        public var kind: Kind
        /// `flash`, `html5`, `ios`, `android`, or what came after them.
        public var client: String
        /// Its operating system.
        public var operatingSystem: String

        /// Makes a device.
        public init(kind: Kind, client: String, operatingSystem: String) {
            self.kind = kind
            self.client = client
            self.operatingSystem = operatingSystem
        }

        fileprivate var fields: [String] { [kind.rawValue, client, operatingSystem] }
    }

    /// The name of the event.
    public var name: String {
        switch self {
        case .authentication: "authenticationDetection"
        case .authorization: "authorizationDetection"
        case .providerSelection: "mvpdSelection"
        }
    }

    /// The array of the event, in its order.
    public var data: [String] {
        switch self {
        case .authentication(let viewer?, let device): ["true"] + viewer.fields + device.fields
        case .authentication(nil, _): ["false"]
        case .authorization(let isSuccess, let viewer, let error, let details, let device):
            ["\(isSuccess)"] + viewer.fields + [error, details] + device.fields
        case .providerSelection(let mvpd, let device): [mvpd] + device.fields
        }
    }
}

extension TrackingEvent.Viewer {
    fileprivate var fields: [String] { [mvpd, hashedGUID, "\(isCached)"] }
}
