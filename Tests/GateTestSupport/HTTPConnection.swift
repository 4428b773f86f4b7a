// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Platform

/// A connection to an HTTP server, which sends exactly the given bytes.
package final class HTTPConnection {
    private let socket: Int32
    private var received: [UInt8] = []

    package struct Failure: Error {
        package let reason: String
        /// True if the server did not react within the time limit.
        package let isTimeout: Bool

        package init(reason: String, isTimeout: Bool = false) {
            self.reason = reason
            self.isTimeout = isTimeout
        }
    }

    /// A response of a server.
    package struct Response: Sendable {
        package let status: Int
        package let headers: [String: String]
        package let body: String
        /// The header fields as sent, including repeated ones.
        package var fields: [String] = []

        /// Returns the values of the fields with `name`, ignoring case.
        package func values(_ name: String) -> [String] {
            fields.filter { $0.lowercased().hasPrefix(name.lowercased() + ":") }
                .map { $0.dropFirst(name.count + 1).trimmingCharacters(in: .whitespaces) }
        }

        /// The body as a JSON object.
        package var json: [String: Any] {
            (try? JSONSerialization.jsonObject(with: Data(body.utf8))) as? [String: Any] ?? [:]
        }

        package var code: String? { json["code"] as? String }
    }

    /// Connects to `ADDRESS:PORT` (IPv4; any other address is loopback), or `unix:PATH`.
    ///
    /// - Parameters:
    ///   - address: The client's own IPv4 address, such as another one of 127.0.0.0/8.
    ///   - receiveBuffer: The size of the receive buffer of the system, in bytes, for a client that does not read.
    package init(_ address: String, from own: String? = nil, receiveBuffer: Int32? = nil) throws {
        if address.hasPrefix("unix:") {
            socket = Glibc.socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var name = sockaddr_un()
            name.sun_family = sa_family_t(AF_UNIX)
            let path = [UInt8](address.dropFirst(5).utf8)
            unsafe withUnsafeMutableBytes(of: &name.sun_path) { bytes in unsafe bytes.copyBytes(from: path) }
            guard connect(to: name) else { throw Failure(reason: "cannot connect to \(address): \(errno)") }
        } else {
            guard let port = address.split(separator: ":").last.flatMap({ UInt16($0) }) else {
                throw Failure(reason: "no port in \(address)")
            }
            socket = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
            var one: Int32 = 1
            unsafe setsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &one, 4)
            var name = sockaddr_in()
            name.sin_family = sa_family_t(AF_INET)
            if let own {
                unsafe _ = inet_pton(AF_INET, own, &name.sin_addr)
                guard bind(name) else { throw Failure(reason: "cannot bind to \(own): \(errno)") }
            }
            name.sin_port = port.bigEndian
            name.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
            let host = address.prefix { $0 != ":" }
            if host != "0.0.0.0" { unsafe _ = inet_pton(AF_INET, String(host), &name.sin_addr) }
            if var receiveBuffer { unsafe setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receiveBuffer, 4) }
            guard connect(to: name) else { throw Failure(reason: "cannot connect to \(address): \(errno)") }
        }
        // No test waits longer than this for a response; a longer wait fails.
        var limit = timeval(tv_sec: 30, tv_usec: 0)
        unsafe setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        unsafe setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
    }

    deinit { close(socket) }

    private func bind(_ name: sockaddr_in) -> Bool {
        unsafe withUnsafePointer(to: name) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
                unsafe Glibc.bind(socket, pointer, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
    }

    private func connect<Name>(to name: Name) -> Bool {
        unsafe withUnsafeBytes(of: name) { name in
            unsafe name.withMemoryRebound(to: sockaddr.self) {
                unsafe Glibc.connect(socket, $0.baseAddress, socklen_t(name.count))
            }
        } == 0
    }

    package func send(_ text: String) throws { try send([UInt8](text.utf8)) }

    package func send(_ bytes: [UInt8]) throws {
        let sent = try send(bytes, flags: 0)
        guard sent == bytes.count else { throw Failure(reason: "the server takes no more bytes", isTimeout: true) }
    }

    /// Sends as many of `bytes` as the system accepts without blocking.
    ///
    /// - Returns: The number of bytes sent.
    @discardableResult
    package func sendWhatFits(_ bytes: [UInt8]) throws -> Int { try send(bytes, flags: Int32(MSG_DONTWAIT)) }

    /// Sends bytes until the system accepts no more of them, and returns their number.
    private func send(_ bytes: [UInt8], flags: Int32) throws -> Int {
        var sent = 0
        while sent < bytes.count {
            let count = unsafe bytes[sent...].withUnsafeBytes {
                unsafe Glibc.send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL) | flags)
            }
            if count < 0, errno == EAGAIN { break }
            guard count > 0 else { throw Failure(reason: "cannot send: \(errno)") }
            sent += count
        }
        return sent
    }

    /// Closes the sending direction.
    package func endSending() { shutdown(socket, Int32(SHUT_WR)) }

    /// True if the peer accepts more bytes.
    package func isAccepting(_ bytes: [UInt8]) -> Bool { (try? send(bytes)) != nil }

    /// Sends a request, and reads the response.
    package func request(
        _ method: String,
        path: String,
        headers: [String: String] = [:],
        body: String? = nil,
        host: String = "gate"
    ) throws -> Response {
        try sendRequest(method, path: path, headers: headers, body: body, host: host)
        return try response(hasBody: method != "HEAD")
    }

    /// Sends a request without waiting for the response.
    package func sendRequest(
        _ method: String,
        path: String,
        headers: [String: String] = [:],
        body: String? = nil,
        host: String = "gate"
    ) throws {
        var text = "\(method) \(path) HTTP/1.1\r\nHost: \(host)\r\n"
        for (name, value) in headers { text += "\(name): \(value)\r\n" }
        if let body {
            if headers["Content-Type"] == nil { text += "Content-Type: application/json\r\n" }
            text += "Content-Length: \(body.utf8.count)\r\n"
        }
        try send(text + "\r\n" + (body ?? ""))
    }

    /// Reads a response.
    package func response(hasBody: Bool = true) throws -> Response {
        while headEnd == nil { try receive() }
        guard let end = headEnd else { throw Failure(reason: "no answer") }
        let lines = String(decoding: received[..<(end - 3)], as: UTF8.self).components(separatedBy: "\r\n")
        guard let status = lines.first?.split(separator: " ").dropFirst().first.flatMap({ Int($0) }) else {
            throw Failure(reason: "no status in \(lines.first ?? "")")
        }
        var headers: [String: String] = [:]
        for line in lines.dropFirst() {
            guard let colon = line.firstIndex(of: ":") else { continue }
            let value = line[line.index(after: colon)...].trimmingCharacters(in: .whitespaces)
            headers[line[..<colon].lowercased()] = value
        }
        let length = hasBody ? Int(headers["content-length"] ?? "0") ?? 0 : 0
        while received.count < end + 1 + length { try receive() }
        let body = String(decoding: received[(end + 1)..<(end + 1 + length)], as: UTF8.self)
        received.removeFirst(end + 1 + length)
        return Response(status: status, headers: headers, body: body, fields: Array(lines.dropFirst()))
    }

    /// The index of the last byte of the response head, if it was received.
    private var headEnd: Int? {
        var position = 3
        while position < received.count {
            if received[position] == 10, received[position - 1] == 13, received[position - 2] == 10,
                received[position - 3] == 13
            {
                return position
            }
            position += 1
        }
        return nil
    }

    /// Reads a line.
    package func line() throws -> String {
        while true {
            if let end = received.firstIndex(of: 10) {
                defer { received.removeFirst(end + 1) }
                return String(decoding: received[..<end].filter { $0 != 13 }, as: UTF8.self)
            }
            try receive()
        }
    }

    /// Returns the response; `nil` if the server closes the connection instead.
    ///
    /// - Throws: ``Failure`` if the server does neither within the time limit.
    package static func unlessClosed(_ response: () throws -> Response?) throws -> Response? {
        do { return try response() } catch let failure as Failure where !failure.isTimeout { return nil }
    }

    /// Returns the bytes that the server sends until it closes the connection, or its direction of it.
    package func rest() throws -> [UInt8] {
        while true {
            do { try receive() } catch let failure as Failure where failure.reason == Self.ended { return received }
        }
    }

    /// True if the server closes the connection after the data that it has sent.
    package func isClosedByPeer() -> Bool {
        while true {
            do { try receive() } catch let failure as Failure { return failure.reason == Self.ended } catch {
                return false
            }
        }
    }

    private static let ended = "the server has closed the connection"

    private func receive() throws {
        var buffer = [UInt8](repeating: 0, count: 64 * 1024)
        let count = unsafe buffer.withUnsafeMutableBytes { unsafe recv(socket, $0.baseAddress, $0.count, 0) }
        guard count != 0, !(count < 0 && errno == ECONNRESET) else { throw Failure(reason: Self.ended) }
        guard count > 0 else { throw Failure(reason: "cannot receive: \(errno)", isTimeout: errno == EAGAIN) }
        received += buffer[..<count]
    }
}
