// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeChecks
internal import HTTPServer
internal import NIOHTTP1
internal import Platform
internal import PlaybackGate

extension APIResponder {
    /// `GET /v1/policy`: the policy for edges that check requests by themselves; 304 if the caller has it.
    ///
    /// With `wait`, an answer that would be 304 waits for a change, up to that many seconds.
    package func policy(_ call: RequestContext) throws(APIRefusal) -> Outcome {
        guard let query = PolicyQuery(target: call.request.head.uri) else {
            let known = "the parameters are wait (0 to 55) and parts (keys, revocations)"
            throw APIRefusal(.invalidRequest, details: known)
        }
        guard !policies.isBlind else { throw APIRefusal(DenyCode.replayStoreUnavailable) }
        let known = call.request.head.headers["if-none-match"]
        let edition = policies.edition(at: call.time)
        let isKnown = known.contains { $0.listsTag(edition.tag) }
        guard isKnown, query.wait > 0, policies.waits.acquire() else {
            return .now(response(with: edition, to: query, knownTags: known, trace: call.trace))
        }
        let (policies, clock, trace) = (policies, clock, call.trace)
        return .later { [self] () async throws(APIRefusal) in
            defer { policies.waits.release() }
            let end = ContinuousClock.now + .seconds(query.wait)
            var next = edition
            while ContinuousClock.now < end, !Task.isCancelled {
                try? await Task.sleep(for: .milliseconds(200))
                guard policies.isOutdated(next) else { continue }
                next = policies.edition(at: clock())
                if next.tag != edition.tag { break }
            }
            guard !policies.isBlind else { throw APIRefusal(DenyCode.replayStoreUnavailable) }
            return response(with: next, to: query, knownTags: known, trace: trace)
        }
    }

    private func response(
        with edition: PolicyPublisher.Edition,
        to query: PolicyQuery,
        knownTags known: [String],
        trace: TraceID
    ) -> APIAnswer {
        let isKnown = known.contains { $0.listsTag(edition.tag) }
        var policy = edition.policy
        policy.issued = clock()
        // Parts are of use only to a caller that has the rest.
        let hasRules = known.contains { $0.contains(edition.rules) }
        var answer = APIAnswer(
            isKnown ? [] : policy.json(parts: hasRules ? query.parts : nil),
            type: "application/json",
            status: isKnown ? .notModified : .ok,
            trace: trace
        )
        answer.more = [("ETag", edition.tag)]
        return answer
    }
}
