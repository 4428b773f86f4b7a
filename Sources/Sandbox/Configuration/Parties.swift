// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import Encodings
internal import Entitlements
internal import MediaResources
internal import MediaTokens
internal import Platform

/// A programmer.
struct Requestor: Sendable {
    let id: String
    let name: String
    let domains: [String]
    /// The ids of the providers that work with it; `nil` for all.
    let providers: [String]?
    /// The software statements of its applications; `nil` accepts any well-formed statement.
    let statements: [String]?
    /// Software statements that registration refuses as unapproved.
    let unapprovedStatements: [String]
    /// True if preauthorization returns the reason for a denial.
    let explainsDenials: Bool
    let maximumPreauthorizedResources: Int
    /// The metadata that only the programmer can read, and the certificate to encrypt it for.
    let encryption: (certificate: MetadataCertificate, keys: [String])?

    init(_ section: ConfigurationSection, providers known: [String]) {
        id = section.id()
        name = section.string("name", default: id)
        domains = section.strings("domains") ?? []
        providers = section.strings("mvpds")
        section.noteUnknown(at: "mvpds", names: providers ?? [], among: known, what: "MVPD")
        statements = section.strings("softwareStatements")
        unapprovedStatements = section.strings("unapprovedSoftwareStatements") ?? []
        for text in (statements ?? []) + unapprovedStatements where SoftwareStatement(text) == nil {
            let form = "a JWT: three Base64url parts with dots"
            section.note(at: "softwareStatements", message: "a software statement must be \(form)")
        }
        explainsDenials = section.bool("enhancedErrors", default: true)
        maximumPreauthorizedResources = section.integer("maximumPreauthorizedResources", in: 1...100, default: 5)
        encryption = section.optionalSection("encryptedMetadata", read: Self.encryption).flatMap(\.self)
    }

    private static func encryption(
        _ section: ConfigurationSection
    ) -> (certificate: MetadataCertificate, keys: [String])? {
        let keys = section.strings("keys") ?? []
        if keys.isEmpty {
            section.note(at: "keys", message: "keys is missing: name the metadata keys to encrypt, such as zip")
        }
        let path = section.requiredPath("certificate")
        guard !section.isFaulty else { return nil }
        do throws(FileFault) {
            let certificate = MetadataCertificate(pem: try path.contentsOfFile(limit: 1 << 20))
            if certificate == nil { section.note(at: "certificate", message: "has no PEM certificate with an RSA key") }
            return certificate.map { ($0, keys) }
        } catch {
            section.note(at: "certificate", message: "\(path): \(error.reason)")
            return nil
        }
    }
}

/// A TV provider.
struct Provider: Sendable {
    let description: MVPD
    /// The proxy MVPD of the provider, which tokens name.
    let proxy: String?
    let temporaryAccess: TemporaryAccess?
    /// The lifetime of a login in milliseconds.
    let authenticationLifetime: Int64
    /// The lifetime of an authorization in milliseconds.
    let authorizationLifetime: Int64
    /// The time for which the service uses a decision for preauthorizations, in milliseconds.
    let preauthorizationLifetime: Int64
    /// True if it decides only by the channel of a resource.
    let isChannelOnly: Bool
    /// True if a logout requires a browser.
    let logsOutInBrowser: Bool

    var id: String { description.id }

    init(_ section: ConfigurationSection) {
        let id = section.id()
        let access = section.optionalSection("tempPass", read: TemporaryAccess.init)
        let status =
            section.has("boardingStatus")
            ? section.choice("boardingStatus", default: BoardingStatus.supported) : nil
        description = MVPD(
            id: id,
            displayName: section.string("displayName", default: id),
            logoURL: section.optionalString("logo"),
            enablePlatformServices: section.bool("enablePlatformServices", default: false),
            boardingStatus: status.map { MVPD.BoardingStatus(rawValue: $0.rawValue) },
            isTempPass: access != nil,
            isProxy: section.bool("isProxy", default: false),
            platformMappingID: section.optionalString("platformMappingId"),
            requiresSVC: section.bool("requiresSVC", default: false)
        )
        proxy = section.optionalString("proxy")
        temporaryAccess = access
        authenticationLifetime = section.lifetime("authenticationLifetime", default: .seconds(30 * 86_400))
        authorizationLifetime = section.lifetime("authorizationLifetime", default: .seconds(6 * 3600))
        preauthorizationLifetime = section.lifetime("preauthorizationLifetime", default: .seconds(300))
        isChannelOnly = section.bool("channelOnly", default: false)
        logsOutInBrowser = section.bool("logoutInBrowser", default: true)
        if description.boardingStatus != nil, !description.enablePlatformServices {
            section.note(at: "boardingStatus", message: "requires enablePlatformServices: true")
        }
        if description.enablePlatformServices, description.platformMappingID == nil {
            section.note(
                at: "platformMappingId",
                message: "platformMappingId is missing: it identifies the MVPD on the platform"
            )
        }
    }

    private enum BoardingStatus: String, CaseIterable {
        case picker = "PICKER"
        case supported = "SUPPORTED"
    }
}

/// Temporary access without a login.
struct TemporaryAccess: Sendable {
    /// The duration in milliseconds, from the first authorization.
    let duration: Int64
    /// The maximum number of resources; `nil` for no limit.
    let maximumResources: Int?
    /// True if access is bound to the application's data about the viewer, not to the device.
    let isPromotional: Bool

    init(_ section: ConfigurationSection) {
        duration = section.lifetime("duration", default: .seconds(600))
        maximumResources =
            section.has("maximumResources") ? section.integer("maximumResources", in: 1...1000, default: 1) : nil
        isPromotional = section.bool("promotional", default: false)
    }
}

/// A package of channels and resources that households pay for.
struct Package: Sendable {
    let id: String
    let channels: [String]
    let resources: [MediaResource]

    init(_ section: ConfigurationSection) {
        id = section.id()
        channels = section.strings("channels") ?? []
        resources = (section.strings("resources") ?? []).compactMap { text in
            do throws(ResourceError) { return try MediaResource(text) } catch {
                section.note(at: "resources", message: "\(error)")
                return nil
            }
        }
        if channels.isEmpty, resources.isEmpty, !section.isFaulty {
            section.note(at: "channels", message: "a package must have channels or resources")
        }
    }

    /// True if `resource` is in this package. With `byChannelOnly`, only its channel is compared.
    func contains(_ resource: MediaResource, byChannelOnly: Bool) -> Bool {
        if channels.contains(where: { $0.hasSameBytes(as: resource.channel) }) { return true }
        return resources.contains { own in
            byChannelOnly ? own.channel.hasSameBytes(as: resource.channel) : own.covers(resource)
        }
    }
}

/// A household, whose users share its packages.
struct Household: Sendable {
    let id: String
    let zip: String
    let packages: [Package]
    let maximumRatings: [Rating]
    let users: [User]

    init(_ section: ConfigurationSection, packages known: [Package]) {
        id = section.id()
        zip = section.string("zip", default: "00000")
        let names = section.strings("packages") ?? []
        section.noteUnknown(at: "packages", names: names, among: known.map(\.id), what: "package")
        packages = names.compactMap { name in known.first { $0.id == name } }
        maximumRatings = section.ratings("maximumRatings")
        users = section.list("users", read: User.init)
    }

    /// Returns the rating limits of a user: the user's own, or else those of the household.
    func ratings(of user: User) -> [Rating] { user.maximumRatings.isEmpty ? maximumRatings : user.maximumRatings }
}

/// A user who can log in.
struct User: Sendable {
    let name: String
    let password: String
    let id: String
    /// The rating limits of the user; if empty, those of the household apply.
    let maximumRatings: [Rating]
    /// Further metadata of the user, by name.
    let metadata: [(key: String, value: String)]

    init(_ section: ConfigurationSection) {
        name = section.id("name")
        password = section.secret("password")?.text ?? ""
        if password.isEmpty { section.note(at: "password", message: "password is missing") }
        id = section.string("userID", default: name)
        maximumRatings = section.ratings("maximumRatings")
        metadata = section.texts("metadata")
    }
}
