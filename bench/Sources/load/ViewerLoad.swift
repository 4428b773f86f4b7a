// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Platform
import Dispatch
import Foundation
import MediaTokens
import Synchronization

/// Viewers who come one after another at a steady pace, each with a token that is issued when they come.
final class ViewerLoad {
    let tokens: [String]
    let viewersPerSecond: Int
    private let timeToLive: Double
    /// When the first one comes, in milliseconds since 1970.
    let start: Int64

    /// Makes all tokens; that takes about 0.6 ms each, on all cores.
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
        // How long it will take, so that the first token is issued when all are made.
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

    /// The viewers who have come `seconds` after the start, whose tokens are still good for a while, and who have
    /// started to play; empty at the very start.
    func present(_ seconds: Double) -> Range<Int> {
        let last = Int((seconds - 1) * Double(viewersPerSecond))
        let first = Int((seconds - timeToLive * 0.6) * Double(viewersPerSecond))
        return max(0, min(first, last))..<max(0, min(last, tokens.count))
    }
}

/// What makes a load impossible.
struct LoadError: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}
