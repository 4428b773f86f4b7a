// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import EdgeTokens
package import PlaybackGate

/// The answer to a check, as data: each adapter prints it in its own protocol, and none decides anything.
///
/// It always has the same fields, so that a client's own fields do not survive if an edge copies the gate's.
package struct EdgeAnswer: Sendable {
    /// The decision.
    package let decision: Decision
    /// The number of the check's trace.
    package var trace: TraceID
    /// The sources that contain the token, as a bit mask over ``sources``.
    package let tokenSources: UInt16
    /// The sources in which the token could be.
    package let sources: [TokenSource]
    /// For how long the answer holds, and for which requests.
    package let keeping: Keeping
    /// The id of the playback that a grant belongs to; `nil` if the check was not decided by a grant.
    package var session: SessionID?
    /// The new grant that the answer delivers; `nil` if there is none. An answer with one must not be cached.
    package var grant: DeliveredGrant?

    /// The caching rules of an answer.
    package struct Keeping: Sendable {
        /// The time for which an answer may be cached, in seconds; 0 for not at all.
        package let seconds: Int64
        /// The header fields that the answer depends on, besides the URL of the check: those of the dialect, and those with
        /// tokens.
        package let varying: StaticString
        package let tokenHeaders: String

        /// Creates a set of rules.
        package init(seconds: Int64, varying: StaticString, tokenHeaders: String) {
            self.seconds = seconds
            self.varying = varying
            self.tokenHeaders = tokenHeaders
        }

        /// The answer is valid for this request only.
        package static let none = Keeping(seconds: 0, varying: "", tokenHeaders: "")
    }

    /// Creates an answer.
    package init(
        decision: Decision,
        trace: TraceID,
        tokenSources: UInt16 = 0,
        sources: [TokenSource] = [],
        keeping: Keeping = .none,
        session: SessionID? = nil,
        grant: DeliveredGrant? = nil
    ) {
        self.decision = decision
        self.trace = trace
        self.tokenSources = tokenSources
        self.sources = sources
        self.keeping = keeping
        self.session = session
        self.grant = grant
    }

    /// 200 to allow, or 302 to a renewed grant; 401 if the token is missing, else 403. nginx turns other refusals into 500.
    package var status: Int {
        guard case .refuse(let refusal) = decision else { return grant?.location == nil ? 200 : 302 }
        return refusal.code.isMissing ? 401 : 403
    }

    /// Calls `body` with each source that contains the token.
    package func forEachTokenSource(_ body: (TokenSource) -> Void) {
        guard tokenSources != 0 else { return }
        for (number, source) in sources.enumerated() where tokenSources & 1 << UInt16(number) != 0 { body(source) }
    }
}
