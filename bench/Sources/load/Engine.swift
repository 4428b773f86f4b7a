// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CLimits
import Foundation
import MediaTokens

/// Sends due requests and receives answers, on one thread that never sleeps.
final class Engine {
    /// A listener of a gate, its connections, and the requests that wait for a connection.
    private final class Port {
        let number: UInt16
        let isEdge: Bool
        var idle: [Int] = []
        var waiting: [(kind: RequestKind, token: Int, due: UInt64)] = []
        var firstWaiting = 0

        init(_ number: UInt16, isEdge: Bool) { (self.number, self.isEdge) = (number, isEdge) }
    }

    private struct Connection {
        var descriptor: Int32
        let port: Int
        var kind: RequestKind?
        var due: UInt64 = 0
        var received: [UInt8] = []
    }

    private let audience: ViewerLoad
    private let isBare: Bool
    private var ports: [Port] = []
    private var connections: [Connection] = []
    private var polled: [pollfd] = []
    /// The next viewer to arrive.
    private var next = 0
    private var turn = 0
    private var random = SystemRandomNumberGenerator()
    private var buffer = [UInt8](repeating: 0, count: 65_536)
    private(set) var failures = 0
    private(set) var firstFailure = ""

    /// Connects to gates.
    ///
    /// - Parameter isBare: True for servers that check nothing, of which every answer has status 200.
    init(to gates: [Gate], audience: ViewerLoad, connections number: Int, isBare: Bool) throws {
        self.audience = audience
        self.isBare = isBare
        for gate in gates {
            for (port, isEdge) in [(gate.edge, true), (gate.api, false)] {
                ports.append(Port(port, isEdge: isEdge))
                for _ in 0..<number {
                    let descriptor = try Self.connect(port)
                    polled.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
                    ports[ports.count - 1].idle.append(connections.count)
                    connections.append(Connection(descriptor: descriptor, port: ports.count - 1))
                }
            }
        }
    }

    private static func connect(_ port: UInt16) throws -> Int32 {
        let descriptor = limits_connect(port)
        guard descriptor >= 0 else { throw LoadError("nobody listens on port \(port)") }
        return descriptor
    }

    /// Sends requests for a number of seconds, and waits for all answers.
    ///
    /// - Parameters:
    ///   - rate: Requests a second; `nil` for as many as the gates answer.
    ///   - answered: Called with the latency of each answer in nanoseconds.
    /// - Returns: The answers a second.
    func run(seconds: Int, rate: Double?, answered: (UInt64) throws -> Void) throws -> Double {
        let start = limits_now()
        let end = start + UInt64(seconds) * 1_000_000_000
        var scheduled = 0
        var answers = 0
        while true {
            let now = limits_now()
            guard now < end || outstanding > 0 else { break }
            guard now < end + 30_000_000_000 else {
                throw LoadError("\(outstanding) requests have no answer after 30 s")
            }
            if now >= end {
                // No further requests are sent.
            } else if let rate {
                scheduled += viewersCome(now)
                // Arriving viewers are part of the rate.
                let due = Int(Double(now - start) / 1e9 * rate)
                while scheduled < due {
                    let moment = start + UInt64(Double(scheduled) / rate * 1e9)
                    guard ask(at: moment) else { break }
                    scheduled += 1
                }
            } else {
                _ = viewersCome(now)
                // Half of the connections keep every edge connection busy, because playbacks are rarer.
                while outstanding < connections.count / 2 {
                    guard ask(at: now) else { break }
                }
            }
            try send()
            guard poll(&polled, nfds_t(polled.count), 0) > 0 else { continue }
            for index in polled.indices where polled[index].revents != 0 {
                if let nanoseconds = try receive(index) {
                    answers += 1
                    try answered(nanoseconds)
                }
            }
        }
        return Double(answers) / Double(seconds)
    }

    /// The number of requests in flight or waiting.
    private var outstanding: Int {
        connections.count - ports.reduce(0) { $0 + $1.idle.count - $1.waiting.count + $1.firstWaiting }
    }

    /// Queues the first requests of viewers who arrived since the last call, each to all gates. Returns the number of
    /// requests.
    private func viewersCome(_ now: UInt64) -> Int {
        let elapsed = Timestamp.now().millisecondsSince1970 - audience.start
        let arrived = min(audience.tokens.count, Int(elapsed) * audience.viewersPerSecond / 1000)
        var requests = 0
        while next < arrived {
            for port in ports {
                port.waiting.append((port.isEdge ? .firstSegment : .playback, next, now))
                requests += 1
            }
            next += 1
        }
        return requests
    }

    /// Queues a request of a viewer who is present. Returns false if the queue is full.
    private func ask(at moment: UInt64) -> Bool {
        let seconds = Double(Timestamp.now().millisecondsSince1970 - audience.start) / 1000
        let present = audience.present(seconds)
        let kind =
            present.isEmpty ? RequestKind.unprotected : RequestKind(chance: Int.random(in: 0..<100, using: &random))
        let token = present.isEmpty ? 0 : Int.random(in: present, using: &random)
        let gates = ports.count / 2
        turn = (turn + 1) % gates
        let port = ports[2 * turn + (kind.isPlayback ? 1 : 0)]
        guard port.waiting.count - port.firstWaiting < 100_000 else { return false }
        port.waiting.append((kind, token, moment))
        return true
    }

    private func send() throws {
        for port in ports {
            while port.firstWaiting < port.waiting.count, let index = port.idle.popLast() {
                let (kind, token, due) = port.waiting[port.firstWaiting]
                port.firstWaiting += 1
                connections[index].kind = kind
                connections[index].due = due
                var request = kind.request(audience.tokens[token])
                let descriptor = connections[index].descriptor
                let size = request.utf8.count
                let sent = request.withUTF8 { write(descriptor, $0.baseAddress, $0.count) }
                guard sent == size else { throw LoadError("a gate has closed a connection, or does not read") }
            }
            if port.firstWaiting > 4096 || port.firstWaiting == port.waiting.count {
                port.waiting.removeFirst(port.firstWaiting)
                port.firstWaiting = 0
            }
        }
    }

    /// Receives bytes on a connection. Returns the latency in nanoseconds once the answer is complete, and `nil` before.
    private func receive(_ index: Int) throws -> UInt64? {
        let count = recv(connections[index].descriptor, &buffer, buffer.count, 0)
        guard let kind = connections[index].kind else {
            guard count <= 0 else { throw LoadError("a gate answers what nobody has asked") }
            // The gate closes idle connections, so a new one replaces it.
            close(connections[index].descriptor)
            connections[index].descriptor = try Self.connect(ports[connections[index].port].number)
            polled[index].fd = connections[index].descriptor
            return nil
        }
        guard count > 0 else { throw LoadError("a gate has closed a connection in place of an answer to \(kind)") }
        connections[index].received.append(contentsOf: buffer[..<count])
        let received = connections[index].received
        guard let status = try Self.wholeStatus(received) else { return nil }
        let isExpected =
            isBare
            ? status == 200 : status == kind.status && limits_contains(received, received.count, kind.mark) != 0
        if !isExpected {
            failures += 1
            if failures == 1 { firstFailure = "\(kind): \(String(decoding: received.prefix(500), as: UTF8.self))" }
        }
        connections[index].received.removeAll(keepingCapacity: true)
        connections[index].kind = nil
        ports[connections[index].port].idle.append(index)
        return limits_now() - connections[index].due
    }

    /// Returns the status of an answer once it is complete, and `nil` before.
    private static func wholeStatus(_ bytes: [UInt8]) throws -> Int? {
        let size = limits_answer_size(bytes, bytes.count)
        guard size >= 0 else {
            throw LoadError("no answer of HTTP: \(String(decoding: bytes.prefix(200), as: UTF8.self))")
        }
        guard size > 0, bytes.count >= size else { return nil }
        guard bytes.count == size else { throw LoadError("more than one answer at a time") }
        return Int(String(decoding: bytes[9..<12], as: UTF8.self))
    }
}
