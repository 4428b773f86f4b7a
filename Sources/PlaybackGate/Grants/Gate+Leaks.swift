// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Platform
internal import RequestTargets
package import SharedGrants

extension Gate {
    /// The watch for shared grants; `nil` without one.
    package var leaks: LeakWatch? { grants?.leaks }
}

extension GrantService {
    /// Counts a request that a grant opened. Returns true if its holder is to get a new one now.
    func countUse(
        of accepted: Acceptance,
        among presentedGrants: PresentedGrants,
        for request: PlaybackRequest,
        at now: Timestamp
    ) -> Bool {
        guard let leaks, leaks.isActive, request.method == .get, case .cat(let token) = accepted.grant,
            let holder = GrantHolder(token)
        else { return false }
        let (path, edge) = (presentedGrants.facts.uri.path, request.client.observer)
        return leaks.count(path, isPartial: request.isPartial, by: holder, countedBy: edge, at: now)
    }
}
