// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import Testing

/// The edges that this machine has. Tests of all edges leave out those that are not installed, and a run names each of
/// them as a skipped test of this suite.
@Suite struct `The edge that tests run` {
    private static func expect(_ edge: EdgeProxy) throws {
        let executable = try #require(edge.executable)
        #expect(FileManager.default.isExecutableFile(atPath: executable))
        #expect(edge.isComplete && EdgeProxy.deciding.contains(edge))
    }

    @Test(.needs(.nginx)) func nginx() throws { try Self.expect(.nginx) }
    @Test(.needs(.nginxModule)) func `nginx-module`() throws { try Self.expect(.nginxModule) }
    @Test(.needs(.caddy)) func caddy() throws { try Self.expect(.caddy) }
    @Test(.needs(.haproxy)) func haproxy() throws { try Self.expect(.haproxy) }
    @Test(.needs(.varnish)) func varnish() throws { try Self.expect(.varnish) }
    @Test(.needs(.varnishModule)) func `varnish-module`() throws { try Self.expect(.varnishModule) }
    @Test(.needs(.trafficserver)) func trafficserver() throws { try Self.expect(.trafficserver) }
    @Test(.needs(.trafficserverModule)) func `trafficserver-module`() throws { try Self.expect(.trafficserverModule) }
    @Test(.needs(.envoy)) func envoy() throws { try Self.expect(.envoy) }
    @Test(.needs(.envoyGRPC)) func `envoy-grpc`() throws { try Self.expect(.envoyGRPC) }
    @Test(.needs(.envoyModule)) func `envoy-module`() throws { try Self.expect(.envoyModule) }
}
