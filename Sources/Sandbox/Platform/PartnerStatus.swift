// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements
internal import Platform

/// The status of the platform, from the header field `AP-Partner-Framework-Status`.
struct PartnerStatus: Sendable {
    private let access: String?
    /// The provider's id on the platform.
    let provider: String?
    private let expires: Timestamp?

    /// Parses the header field of a request.
    ///
    /// - Returns: `nil` if the header field is missing or malformed, or does not contain the permission.
    init?(_ call: EndpointRequest) {
        guard case .some(.some(let members)) = call.object(inHeader: "AP-Partner-Framework-Status"),
            let permission = members.object("frameworkPermissionInfo")
        else { return nil }
        access = permission.text("accessStatus")
        let info = members.object("frameworkProviderInfo")
        provider = info?.text("id")
        expires = info?.text("expirationDate").flatMap { Int64($0) }.map { Timestamp(millisecondsSince1970: $0) }
    }

    /// Returns the reason that this status is not accepted; `nil` if it is.
    func fault(at now: Timestamp) -> StatusCode? {
        switch access {
        case nil: return .invalidHeaderPermissionAccessNotPresent
        case "granted": break
        case "notDetermined": return .invalidHeaderPermissionAccessNotDetermined
        default: return .invalidHeaderPermissionAccessNotGranted
        }
        guard let provider, !provider.isEmpty else { return .invalidHeaderProviderIDNotDetermined }
        guard let expires, expires > now else { return .invalidHeaderProviderInfoExpired }
        return nil
    }
}

extension [JSON.Member] {
    fileprivate func object(_ name: String) -> [JSON.Member]? {
        guard case .object(let members)? = first(where: { $0.name == name })?.value else { return nil }
        return members
    }

    fileprivate func text(_ name: String) -> String? {
        guard case .string(let text)? = first(where: { $0.name == name })?.value else { return nil }
        return text
    }
}
