// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import MediaResources
internal import XML

/// The configuration of a programmer at the service: its domains, and the providers that work with it.
public struct ServiceConfiguration: Hashable, Sendable {
    /// A domain of the programmer.
    public struct Domain: Hashable, Sendable, Codable {
        /// The name of the domain.
        public var name: String
        /// True if a provider may start a login at this domain.
        public var mvpdInitiated: Bool

        /// Creates a domain.
        public init(name: String, mvpdInitiated: Bool = false) {
            self.name = name
            self.mvpdInitiated = mvpdInitiated
        }
    }

    /// The requestor's id: the audience of every token.
    public var id: String
    /// The requestor's name.
    public var name: String
    /// The programmer's domains.
    public var domains: [Domain]
    /// The providers that work with the requestor, in the order of the service.
    public var mvpds: [MVPD]

    /// Creates a configuration.
    public init(id: String, name: String, domains: [Domain] = [], mvpds: [MVPD] = []) {
        self.id = id
        self.name = name
        self.domains = domains
        self.mvpds = mvpds
    }
}

extension ServiceConfiguration: Codable {
    private enum Key: String, CodingKey { case requestor }
    private enum RequestorKey: String, CodingKey { case id, name, domains, mvpds }

    /// Decodes the body of REST API v2, in which `requestor` holds all members.
    public init(from decoder: any Decoder) throws {
        let body = try decoder.container(keyedBy: Key.self)
        let members = try body.nestedContainer(keyedBy: RequestorKey.self, forKey: .requestor)
        id = try members.decode(String.self, forKey: .id)
        name = try members.decodeIfPresent(String.self, forKey: .name) ?? id
        domains = try members.decodeIfPresent([Domain].self, forKey: .domains) ?? []
        mvpds = try members.decode([MVPD].self, forKey: .mvpds)
    }

    public func encode(to encoder: any Encoder) throws {
        var body = encoder.container(keyedBy: Key.self)
        var members = body.nestedContainer(keyedBy: RequestorKey.self, forKey: .requestor)
        try members.encode(id, forKey: .id)
        try members.encode(name, forKey: .name)
        try members.encode(domains, forKey: .domains)
        try members.encode(mvpds, forKey: .mvpds)
    }
}

extension ServiceConfiguration {
    private static let namespace = "http://pass.adobe.com/config"

    /// Reads the `config` element of REST API v1.
    ///
    /// - Throws: ``EntitlementBodyError``.
    public init(xml bytes: [UInt8]) throws(EntitlementBodyError) {
        let config = try XMLElement.body(bytes, root: "config")
        guard let requestor = config.first("requestor") else {
            throw EntitlementBodyError(.unexpected, message: "config: the requestor is missing")
        }
        id = try requestor.required("id")
        name = try requestor.optional("name") ?? id
        var domains: [Domain] = []
        for domain in requestor.first("domains")?.children ?? [] {
            // A domain has a `name` element, or its text is the name.
            guard let name = try domain.optional("name") ?? (domain.text.isEmpty ? nil : domain.text) else { continue }
            domains.append(Domain(name: name, mvpdInitiated: try domain.optional("mvpdInitiated") == "true"))
        }
        self.domains = domains
        var mvpds: [MVPD] = []
        for mvpd in requestor.first("mvpds")?.children ?? [] where mvpd.name == "mvpd" {
            let id = try mvpd.required("id")
            mvpds.append(
                MVPD(
                    id: id,
                    displayName: try mvpd.optional("displayName") ?? id,
                    logoURL: try mvpd.optional("logoUrl"),
                    enablePlatformServices: try mvpd.optional("enablePlatformServices") == "true",
                    boardingStatus: try mvpd.optional("boardingStatus").map(MVPD.BoardingStatus.init),
                    isTempPass: try mvpd.optional("tempPass") == "true",
                    isProxy: try mvpd.optional("isProxy") == "true",
                    platformMappingID: try mvpd.optional("platformMappingId"),
                    requiresSVC: try mvpd.optional("requiresSVC") == "true"
                )
            )
        }
        self.mvpds = mvpds
    }

    /// A `config` element, in one line.
    ///
    /// - Throws: ``EntitlementBodyError`` if a text has a character that XML does not allow.
    public var xml: String {
        get throws(EntitlementBodyError) {
            let mvpds = mvpds.map { mvpd in
                XMLElement(
                    "mvpd",
                    fields: [
                        ("id", mvpd.id), ("displayName", mvpd.displayName), ("logoUrl", mvpd.logoURL),
                        ("enablePlatformServices", mvpd.enablePlatformServices ? "true" : nil),
                        ("boardingStatus", mvpd.boardingStatus?.rawValue), ("tempPass", mvpd.isTempPass ? "true" : nil),
                        ("isProxy", mvpd.isProxy ? "true" : nil), ("platformMappingId", mvpd.platformMappingID),
                        ("requiresSVC", mvpd.requiresSVC ? "true" : nil),
                    ]
                )
            }
            let domains = domains.map { domain in
                XMLElement(
                    "domain",
                    fields: [("name", domain.name), ("mvpdInitiated", domain.mvpdInitiated ? "true" : nil)]
                )
            }
            var requestor = XMLElement("requestor", fields: [("id", id), ("name", name)])
            requestor.children += [XMLElement("domains", children: domains), XMLElement("mvpds", children: mvpds)]
            return try XMLElement("config", namespace: Self.namespace, children: [requestor]).body(prefix: "ns2")
        }
    }
}
