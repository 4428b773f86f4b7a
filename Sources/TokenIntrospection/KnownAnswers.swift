// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import Cryptography
internal import Platform
internal import Synchronization

/// The answers of a server that are used again, by the hash of their token. No token is stored.
///
/// The claims of an answer are judged with each use, so that none outlives its `exp`.
final class KnownAnswers: Sendable {
    private let life: Int64
    private let answers = Mutex<[SHA256Digest: Answer]>([:])

    private struct Answer {
        let body: [UInt8]
        let end: Timestamp
    }

    /// The most answers that are remembered.
    static let capacity = 16_384

    init(life: Duration) { self.life = life.milliseconds }

    func body(of token: SHA256Digest, at now: Timestamp) -> [UInt8]? {
        answers.withLock { answers in answers[token].flatMap { now < $0.end ? $0.body : nil } }
    }

    func insert(_ body: [UInt8], of token: SHA256Digest, at now: Timestamp) {
        guard life > 0 else { return }
        let answer = Answer(body: body, end: now.advanced(byMilliseconds: life))
        answers.withLock { answers in
            if answers.count >= Self.capacity {
                answers = answers.filter { now < $0.value.end }
                // The server is asked again about those that are forgotten.
                if answers.count >= Self.capacity { answers.removeAll(keepingCapacity: true) }
            }
            answers[token] = answer
        }
    }
}
