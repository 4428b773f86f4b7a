// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// The text of a configuration with comments, to be changed.
package struct ConfigurationTemplate {
    private let edge: Edge
    private let store: Store

    /// The edge in front of the origin.
    package enum Edge: String, CaseIterable, Sendable { case nginx, none }

    /// The store of used tokens.
    package enum Store: String, CaseIterable, Sendable { case memory, sqlite, redis }

    /// Creates the text for an edge and a store.
    package init(edge: Edge, store: Store) {
        self.edge = edge
        self.store = store
    }

    /// The text of the file.
    package var text: String {
        [Self.beginning, edgeText, storeText, Self.end].joined(separator: "\n")
    }

    private static let beginning = """
        # The configuration of a gate. Paths are relative to this folder. docs/reference/configuration.md describes every key.

        # The programmer whose media tokens are required.
        requestor: REF30

        # The certificate that signs media tokens. For a trial: playgate keys new --out keys
        trust:
          keys:
            - { file: keys/signer.pem, name: signer }

        # The streams: a media token starts one at its manifest, once. The grant of the start opens the rest of the folder.
        streams:
          - { folder: /live/tnt/, resource: TNT, manifest: master.m3u8, media: tnt-live }

        """

    private var edgeText: String {
        switch edge {
        case .nginx:
            """
            # For nginx, as docs/how-to/edges/nginx.md prints it. The group is that of nginx's processes, and one of the gate's.
            edge:
              listen: unix:/run/playgate/edge.sock
              socketMode: "0660"
              socketGroup: www-data
              tokens: [{ query: token }, { cookie: media-token }, { header: X-Media-Token }]

            """
        case .none: "# No edge asks: add the section edge for nginx and others.\n"
        }
    }

    private var storeText: String {
        switch store {
        case .memory:
            """
            # The record of used tokens is in memory, and lost with the process: name sqlite or redis before production.
            # replayStore:
            #   sqlite: /var/lib/playgate/uses.sqlite

            # The keys of streams, which the first start makes.
            stateFolder: state

            """
        case .sqlite:
            """
            # The record of used tokens. The keys of streams are made beside it at the first start.
            replayStore:
              sqlite: /var/lib/playgate/uses.sqlite

            """
        case .redis:
            """
            # The record of used tokens, which all gates share.
            replayStore:
              redis: redis://127.0.0.1:6379

            # The keys of streams, the same for all gates: the first start makes them; copy the folder to the other gates.
            stateFolder: /var/lib/playgate

            """
        }
    }

    private static let end = """
        # For player backends. Who may open the socket may call; over the network, use keys: playgate keys api NAME
        api:
          listen: unix:/run/playgate/api.sock

        # Health and metrics, on this machine alone.
        admin:
          listen: 127.0.0.1:9090

        """
}
