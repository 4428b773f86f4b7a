// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CommonAccessTokens
import Foundation
import GateTestSupport
import Keys
import Platform
import Synchronization
import Testing

/// Viewers that request without a pause, each on a thread of its own, while a test changes keys and time.
///
/// The time of the gate moves only once each viewer has finished two further rounds, so a grant is never older than its viewer
/// knows.
final class RotationLoad: Sendable {
    private struct State {
        var rounds: [Int]
        var refused: [String] = []
        var keys: [String: Int] = [:]
        var isOver = false
    }

    /// The answer to a request: the key of its grant, the status, and the code if it is a refusal.
    typealias Answer = (key: String, status: Int, code: String)
    /// A viewer: one round of it.
    typealias Round = () throws -> [Answer]

    private let state: Mutex<State>
    private let gate: RunningGate
    private let threads = DispatchGroup()

    /// The step of the clock, in seconds.
    static let step: Int64 = 30

    /// Starts viewers. `viewer` returns the round of the viewer of a number, and is called on its thread.
    init(_ gate: RunningGate, count: Int = 4, viewer: @escaping @Sendable (Int) throws -> Round) {
        self.gate = gate
        state = Mutex(State(rounds: Array(repeating: 0, count: count)))
        for number in 0..<count {
            threads.enter()
            Thread.detachNewThread { [self] in
                defer { threads.leave() }
                do {
                    let round = try viewer(number)
                    while !state.withLock({ $0.isOver }) { note(try round(), of: number) }
                } catch { state.withLock { $0.refused.append("viewer \(number): \(error)") } }
            }
        }
    }

    private func note(_ answers: [Answer], of number: Int) {
        state.withLock { state in
            state.rounds[number] += 1
            for answer in answers {
                state.keys[answer.key, default: 0] += 1
                if answer.status != 200 { state.refused.append("\(answer)") }
            }
        }
    }

    /// The refused requests, and the faults of viewers.
    var refused: [String] { state.withLock { $0.refused } }
    /// The number of requests with a grant of each key.
    var keys: [String: Int] { state.withLock { $0.keys } }

    /// Waits until each viewer has finished two more rounds.
    func proceed() {
        let start = state.withLock { $0.rounds }
        let isDone = eventually(within: 120) {
            state.withLock { state in
                !state.refused.isEmpty || zip(start, state.rounds).allSatisfy { $0 + 2 <= $1 }
            }
        }
        #expect(isDone, "the viewers stand still")
    }

    /// Moves the clock on in steps.
    func advance(seconds: Int64) {
        for _ in 0..<(seconds / Self.step) {
            gate.now = gate.now.adding(seconds: Self.step)
            proceed()
        }
    }

    /// Ends the viewers.
    func stop() {
        state.withLock { $0.isOver = true }
        threads.wait()
    }
}

/// A viewer of `/film/`, with the grants that it has got lately.
struct RotationViewer {
    let gate: RunningGate
    private let edge: HTTPConnection
    private var grants: [(token: String, key: String, issued: Timestamp)] = []

    /// The age up to which a grant is used, in seconds: a life of 300 s, without two steps of the clock and some room.
    private static let age: Int64 = 200

    init(_ gate: RunningGate) throws {
        self.gate = gate
        edge = try HTTPConnection(gate.edge)
    }

    /// Accepts a new grant, which was requested at `time`, and checks the oldest and the newest at the edge.
    mutating func use(_ token: String, from time: Timestamp) throws -> [RotationLoad.Answer] {
        let key = try #require(try UnverifiedCAT(token.utf8.span).keyID?.text)
        grants.append((token, key, time))
        grants.removeAll { $0.issued.adding(seconds: Self.age) < time }
        return try [grants.first, grants.last].compactMap(\.self).map { grant in
            let headers = [
                "X-Forwarded-Uri": "/film/1.ts?cat=\(grant.token)", "X-Forwarded-Method": "GET",
                "X-Forwarded-Host": "cdn.example", "X-Forwarded-Proto": "https",
            ]
            let answer = try edge.request("GET", path: "/v1/check/forward", headers: headers)
            return (grant.key, answer.status, answer.headers["x-playgate-code"] ?? "")
        }
    }
}
