// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Dispatch
import Foundation
import MediaTokens
import Synchronization

/// Viewers who arrive at a steady rate, each with a token that is issued at the time of arrival.
final class ViewerLoad {
    let tokens: [String]
    let viewersPerSecond: Int
    private let timeToLive: Double
    /// The arrival of the first viewer, in milliseconds since 1970.
    let start: Int64

    /// Creates all tokens, which takes about 0.6 ms each, on all cores.
    init(key: String, viewersPerSecond: Int, seconds: Int, timeToLive: Int) throws {
        self.viewersPerSecond = viewersPerSecond
        self.timeToLive = Double(timeToLive)
        let issuer = Issuer(key: try SigningKey(pem: key))
        let issue = { @Sendable (number: Int, time: Int64) throws -> String in
            let claims = TokenClaims(
                requestorID: "REF30",
                resourceID: "TNT",
                mvpdID: "SandboxMVPD",
                userSessionGUID: "viewer-\(1_000_000 + number)",
                timeToLiveMilliseconds: Int64(timeToLive) * 1000
            )
            return try issuer.issue(claims, at: Timestamp(millisecondsSince1970: time)).serialized
        }
        let count = viewersPerSecond * seconds
        let cores = ProcessInfo.processInfo.activeProcessorCount
        // The estimated duration of signing, so that the first token's time is after all tokens are signed.
        let began = Date()
        for number in 0..<50 { _ = try issue(number, 0) }
        let estimate = Date().timeIntervalSince(began) / 50 * Double(count) / Double(cores) * 1.2 + 1
        print("making \(count) tokens, in about \(Int(estimate)) s")
        let start = Timestamp.now().millisecondsSince1970 + Int64(estimate * 1000)
        let made = Mutex([[String]](repeating: [], count: cores))
        DispatchQueue.concurrentPerform(iterations: cores) { core in
            let part = (count * core / cores)..<(count * (core + 1) / cores)
            let tokens = part.compactMap { try? issue($0, start + Int64($0) * 1000 / Int64(viewersPerSecond)) }
            made.withLock { $0[core] = tokens }
        }
        tokens = made.withLock { $0.flatMap(\.self) }
        guard tokens.count == count else { throw LoadError("a token could not be signed") }
        self.start = start
        let rest = Double(start - Timestamp.now().millisecondsSince1970) / 1000
        if rest > 0 { Thread.sleep(forTimeInterval: rest) }
    }

    /// Returns the viewers who arrived up to one second before `seconds` after the start and whose tokens stay valid for a
    /// while. Empty at the start.
    func present(_ seconds: Double) -> Range<Int> {
        let last = Int((seconds - 1) * Double(viewersPerSecond))
        let first = Int((seconds - timeToLive * 0.6) * Double(viewersPerSecond))
        return max(0, min(first, last))..<max(0, min(last, tokens.count))
    }
}

/// An error that makes the load impossible.
struct LoadError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
