// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The layout is that of the documents.
// swift-format-ignore-file

import AccessEnabler

/// The steps of the published sample in its spelling, with semicolons, types and plain local functions in Swift 6 mode.
///
/// - Parameter hasLabel: True for the call with the label of the Objective-C signature.
public func preauthorizeAsPublished(
    _ accessEnabler: AccessEnabler,
    hasLabel: Bool,
    then done: @escaping (_ isResponse: Bool, PreauthorizeResponse) -> Void
) {
    let channels: [String] = ["TNT", "TBS", "CNN"];
    let bypassed: Set<PreauthorizationRequest.Feature> = [PreauthorizationRequest.Feature.LOCAL_CACHE];

    let request: PreauthorizationRequest = PreauthorizationRequest.Builder()
        .setResources(resources: channels)
        .disableFeatures(features: bypassed)
        .build();

    func answered(result: PreauthorizeResponse) -> Void { done(true, result) };
    func failed(result: PreauthorizeResponse) -> Void { done(false, result) };

    let callback: AccessEnablerCallback<PreauthorizeResponse> = AccessEnablerCallback<PreauthorizeResponse>(
        onResponse: answered, onFailure: failed);

    if hasLabel { accessEnabler.preauthorize(request, didCompleteWith: callback); }
    else { accessEnabler.preauthorize(request, callback); }
}

/// The getters of a response by their published names.
public func describe(_ response: PreauthorizeResponse) -> [String] {
    var lines: [String] = []
    for decision: Decision in response.getDecisions() {
        let error: Status? = decision.getError()
        lines.append("\(decision.getId()) \(decision.isAuthorized) \(error?.getCode() ?? "")")
    }
    if let status: Status = response.getStatus() {
        let texts = [
            status.getCode(), status.getAction(), status.getMessage(), status.getDetails(), status.getHelpUrl(),
            status.getTrace(),
        ]
        lines.append("\(status.getStatus()) " + texts.map { $0 ?? "-" }.joined(separator: " | "))
    }
    return lines
}

/// A builder as the documents describe it: setters that are not chained change it, and each request is a new one.
public func requestsOfOneBuilder() -> [PreauthorizeRequest] {
    let builder = PreauthorizeRequest.Builder()
    builder.setResources(resources: ["TNT"])
    let first = builder.build()
    builder.disableFeatures(features: [.REMOTE_CACHE])
    return [first, builder.build(), builder.build()]
}
