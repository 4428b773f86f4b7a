// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The differences between edges, as the table of docs/concepts/edges.md has them.

extension EdgeProxy {
    /// True if the edge connects to the gate over TCP instead of a unix socket.
    var asksOverTCP: Bool { self == .trafficserver }

    /// The dialect in which the edge asks.
    var dialect: String {
        switch self {
        case .nginx, .nginxModule: "nginx"
        case .caddy, .varnish, .varnishModule, .trafficserverModule: "forward"
        case .haproxy: "spoe"
        case .trafficserver: "ats"
        case .envoy, .envoyModule: "envoy"
        case .envoyGRPC: "grpc"
        }
    }

    /// True if the edge asks over HTTP/1.1 or by HAProxy's offload, as it does a gate that a test replaces.
    var asksOverHTTP: Bool { self != .envoyGRPC }

    /// The gate's listener that the edge asks, by its name in metrics.
    var listener: String { self == .haproxy ? "spoe" : self == .envoyGRPC ? "grpc" : "edge" }

    /// The beginning of the listener's addresses in the section `edge`: the protocol, unless it is HTTP.
    var listenPrefix: String { self == .haproxy ? "spoe:" : "" }

    /// True if the edge decides by the gate's policy, and asks only for what only the gate can tell.
    var decidesInside: Bool { [.nginxModule, .varnishModule, .envoyModule, .trafficserverModule].contains(self) }

    /// True if the edge maps the three statuses of checks to the status that the gate names.
    var hasFullStatus: Bool { self == .nginx || self == .haproxy || decidesInside }

    /// True if the edge passes the viewer's MVPD to the origin. An edge that shares cached content does not.
    var namesMVPD: Bool { !sharesContent }

    /// True if the edge has a cache of content for all viewers.
    var sharesContent: Bool { ![.caddy, .haproxy, .envoy, .envoyGRPC, .envoyModule].contains(self) }

    /// True if the edge tells a player the gate's code on an answer that it allows, as all do on one that is refused.
    var namesCode: Bool { self != .caddy && self != .trafficserver }

    /// True if the edge can give a new grant to a player on an answer that it allows.
    var deliversGrants: Bool { self != .trafficserver }
}
