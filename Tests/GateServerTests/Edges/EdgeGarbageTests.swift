// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

/// Answers to a check that are no decision, instead of the gate's, and the edges as their pages configure them.
@Suite(.serialized) struct `An answer that is no decision` {
    /// Answers each request on a socket with the same bytes, and closes the connection.
    private static let script = """
        import socket, sys
        path, answer = sys.argv[1], bytes.fromhex(sys.argv[2])
        server = socket.socket(socket.AF_UNIX) if path else socket.socket()
        server.bind(path or ("127.0.0.1", 0)); server.listen(64)
        print("ready", server.getsockname()[1:], flush=True)
        while True:
            client, _ = server.accept()
            try:
                asked = b""
                while b"\\r\\n\\r\\n" not in asked:
                    part = client.recv(65536)
                    if not part: break
                    asked += part
                client.sendall(answer)
            except OSError:
                pass
            client.close()
        """

    private static let answers: [(name: String, bytes: String)] = [
        ("nothing", ""), ("another protocol", "+OK ready\r\n\r\n"), ("bytes", "\u{0}\u{1}\u{2}HTTP/1.1 200 OK\r\n\r\n"),
        ("half a head", "HTTP/1.1 200 OK\r\nX-Playgate-Decision: allow\r\nContent-Le"),
        ("a status of one digit", "HTTP/1.1 2 OK\r\nContent-Length: 0\r\n\r\n"),
        ("a redirection", "HTTP/1.1 302 Found\r\nLocation: /live/free/1\r\nContent-Length: 0\r\n\r\n"),
        ("a failure", "HTTP/1.1 500 Error\r\nContent-Length: 0\r\n\r\n"),
        ("no service", "HTTP/1.1 503 Unavailable\r\nX-Playgate-Decision: allow\r\nContent-Length: 0\r\n\r\n"),
        ("no such check", "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"),
        ("two lengths", "HTTP/1.1 500 Error\r\nContent-Length: 0\r\nContent-Length: 9\r\n\r\n"),
    ]

    @Test(arguments: EdgeProxy.asking)
    func `opens nothing`(edge: EdgeProxy) async throws {
        let python = try #require(Program.installed("python3"))
        let folder = try TemporaryFolder()
        for (number, answer) in Self.answers.enumerated() {
            let path = edge.asksOverTCP ? "" : folder.file("\(number).sock")
            let hex = answer.bytes.utf8.map { String(format: "%02x", $0) }.joined()
            let gate = try Program(
                python,
                arguments: ["-c", Self.script, path, hex],
                log: folder.file("\(number).log")
            )
            var port = ""
            #expect(
                eventually {
                    port = gate.output.filter(\.isNumber)
                    return !port.isEmpty
                }
            )
            // HAProxy waits for its whole time limit even if the connection ends.
            let options = RunningEdge.Options(isPatient: edge != .haproxy)
            let proxy = try RunningEdge(
                edge,
                in: folder,
                gate: edge.asksOverTCP ? "127.0.0.1:\(port)" : path,
                options: options
            )
            for target in ["/live/seg/1", "/live/free/1"] {
                // Varnish closes the connection at bytes that are not HTTP.
                let status = try HTTPConnection.unlessClosed { try proxy.get(target) }?.status
                #expect(!(200..<300).contains(status ?? 500), "\(edge): \(answer.name): \(status ?? 0)")
            }
            #expect(proxy.origin.requests == 0, "\(edge): \(answer.name)")
            proxy.stop()
            gate.signal(SIGKILL)
        }
    }
}
