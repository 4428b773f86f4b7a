// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Encodings
internal import Entitlements

/// The resources in a request of REST API v2.
struct DecisionRequest: Sendable {
    let resources: [String]

    /// Parses the body of a request.
    ///
    /// - Throws: ``EndpointError`` if the list is missing, empty or malformed.
    init(_ call: EndpointRequest) throws(EndpointError) {
        guard
            case .object(let members)? = try? JSONReader.read(
                call.body.span,
                limits: JSONLimits(depth: 4, members: 32, elements: 200)
            ),
            case .array(let values)? = members.first(where: { $0.name == "resources" })?.value, !values.isEmpty
        else { throw .v2(.invalidParameterResources) }
        var resources: [String] = []
        for value in values {
            guard case .string(let resource) = value, !resource.isEmpty else { throw .v2(.invalidParameterResources) }
            resources.append(resource)
        }
        self.resources = resources
    }
}

extension EndpointRequest {
    /// The resources in a request of REST API v1: separated by commas, or in several parameters. A fragment whose commas are
    /// percent-encoded is one resource.
    var resourceList: [String] {
        [query, form].flatMap { fields in fields.list("resource") + fields.list("resource_id") }
    }
}
