// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// An analytics event of a client, with the array that the documented callback carries.
public enum TrackingEvent: Hashable, Sendable {
    /// The result of an authentication check: `authenticationDetection`. The viewer is `nil` if not authenticated; then the
    /// event carries no other fields.
    case authentication(Viewer?, Device)
    /// The result of an authorization check: `authorizationDetection`.
    case authorization(isSuccess: Bool, Viewer, error: String, details: String, Device)
    /// The selection of a provider: `mvpdSelection`.
    case providerSelection(mvpd: String, Device)

    /// A viewer, without the viewer's identity.
    public struct Viewer: Hashable, Sendable {
        /// The id of the provider.
        public var mvpd: String
        /// The viewer's GUID, hashed by MD5.
        public var hashedGUID: String
        /// True if the result came from the client's own records.
        public var isCached: Bool

        /// Creates a viewer.
        public init(mvpd: String, hashedGUID: String, isCached: Bool) {
            self.mvpd = mvpd
            self.hashedGUID = hashedGUID
            self.isCached = isCached
        }
    }

    /// The device on which the viewer watches.
    public struct Device: Hashable, Sendable {
        /// The kinds of devices.
        public enum Kind: String, Sendable, CaseIterable {
            /// A desktop or portable computer.
            case computer
            /// A tablet.
            case tablet
            /// A telephone.
            case mobile
            /// A games console.
            case gameconsole
            /// Any other device, such as a television.
            case unknown
        }

        /// The kind of the device.
        public var kind: Kind
        /// The client platform: `flash`, `html5`, `ios`, `android` or a later one.
        public var client: String
        /// The operating system of the device.
        public var operatingSystem: String

        /// Creates a device.
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

    /// The fields of the event, in the documented order.
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
