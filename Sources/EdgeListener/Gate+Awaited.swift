// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import HTTPServer
package import PlaybackGate

extension Gate {
    /// Returns the answer that follows from the decision about a pending use, without a task if the store can call back.
    package func awaitedAnswer<Answer>(
        after use: PendingUse,
        transform answer: @escaping @Sendable (Decision) -> Answer
    ) -> Awaited<Answer> {
        guard let call = storeCall(for: use) else { return .task { answer(await self.complete(use)) } }
        return .call { resume in call.ask { reply in resume { answer(call.decide(reply)) } } }
    }
}
