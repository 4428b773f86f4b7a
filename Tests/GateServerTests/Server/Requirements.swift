// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import Foundation
import GateTestSupport
import Testing

// What tests need of the machine. A test without it is skipped; in continuous integration it fails.

extension Trait where Self == ConditionTrait {
    /// The test needs an edge.
    static func needs(_ edge: EdgeProxy) -> Self {
        .enabled(if: edge.isInstalled, "\(edge.rawValue) is not installed: run make test")
    }

    /// The test needs a Redis server.
    static var needsRedis: Self {
        .enabled(if: RedisServer.isInstalled, "redis-server is not installed: run scripts/setup test")
    }

    /// The test needs Prometheus.
    static var needsPrometheus: Self {
        .enabled(if: Prometheus.isInstalled, "prometheus or promtool is not installed: run scripts/setup test")
    }

    /// The test needs ffmpeg, which makes films and plays them.
    static var needsFFmpeg: Self {
        .enabled(if: FilmStream.isPlayable, "ffmpeg is not installed: run scripts/setup test")
    }

    /// The test needs Shaka Packager.
    static var needsPackager: Self {
        .enabled(
            if: ManifestStream.isPackagerInstalled,
            "Shaka Packager is not installed: run scripts/setup test"
        )
    }

    /// The test needs mpv, GStreamer and yt-dlp.
    static var needsNativePlayers: Self {
        .enabled(if: NativePlayer.areInstalled, "mpv, GStreamer or yt-dlp is not installed: run scripts/setup test")
    }

    /// The test needs Chromium with Video.js.
    static var needsFilmBrowser: Self {
        .enabled(
            if: FilmBrowser.isInstalled,
            "Chromium, WebKitGTK or a player is not installed: run scripts/setup test"
        )
    }

    /// The test needs Traffic Server with `uri_signing`.
    static var needsSigningTrafficServer: Self {
        .enabled(
            if: SigningTrafficServer.isInstalled,
            "Traffic Server with uri_signing is not installed: run scripts/setup test"
        )
    }

    /// The test needs so many open files.
    static func needsOpenFiles(_ number: rlim_t) -> Self {
        .enabled(
            if: Requirement.isMet(raiseFileLimit(to: number)),
            "\(number) open files are not allowed here: raise the hard limit (ulimit -Hn)"
        )
    }

    /// The test needs to mount a file system that only its own processes see.
    static var needsMounts: Self {
        .enabled(
            if: Requirement.isMet(
                (try? CommandRun("/usr/bin/unshare", arguments: ["--user", "--map-root-user", "--mount", "true"]))?
                    .status == 0
            ),
            "user namespaces are not allowed here: see unshare(1)"
        )
    }

    /// The test needs a limit for the memory of a program.
    static var needsMemoryLimit: Self {
        .enabled(if: Requirement.areInstalled("prlimit"), "prlimit is not installed: it is of util-linux")
    }

    /// The test needs an address of this machine that is not loopback. It is skipped without a network everywhere, and fails
    /// in continuous integration if the program that looks for the address is missing.
    static var needsOwnAddress: Self {
        .enabled(
            if: try Program.installed("python3") == nil ? Requirement.isMet(false) : ownAddress() != nil,
            "this machine has no address but loopback"
        )
    }
}
