// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import GateConfiguration
internal import HTTPServer
internal import NIOCore
internal import NIOPosix
internal import Platform
internal import SystemPackage

extension GateServer {
    /// Advice about addresses at which the gate could not listen now, for `playgate check`: ports in use, and sockets in folders
    /// that are not there. Each port is bound for a moment; no socket file is made.
    public func addressAdvice() async -> [String] {
        let listeners =
            [configuration.api.listener, configuration.admin]
            + (configuration.edge.map { $0.listeners + $0.offloads + $0.grpc } ?? [])
            + (configuration.manifest?.listeners ?? [])
        let loops = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        var advice: [String] = []
        for address in listeners.map(\.address) {
            switch address {
            case .tcp(let host, let port):
                guard await !Self.canListen(at: host, port: port, on: loops) else { continue }
                advice.append("\(address) is in use: by a gate that runs already, or by another program")
            case .unix(let path):
                let folder = FilePath(path).removingLastComponent().string
                guard !folder.isEmpty, FileStamp(folder) == nil else { continue }
                advice.append("\(address): the folder \(folder) is missing; playgate.service makes /run/playgate")
            case .descriptor: continue
            }
        }
        try? await loops.shutdownGracefully()
        return advice
    }

    private static func canListen(at host: String, port: Int, on loops: any EventLoopGroup) async -> Bool {
        let bootstrap = ServerBootstrap(group: loops).serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
        do {
            try await bootstrap.bind(host: host, port: port).get().close().get()
            return true
        } catch let error as IOError { return Errno(rawValue: error.errnoCode) != .addressInUse } catch { return true }
    }
}
