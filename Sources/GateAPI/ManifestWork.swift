// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import GateConfiguration
package import Manifests
package import NIOCore
internal import PlaybackGate

/// The rewriting of a manifest that is in memory.
package struct ManifestWork: Sendable {
    package let body: ByteBuffer
    package let format: ManifestType
    package let rules: ManifestRules
    /// The largest rewritten manifest, in bytes.
    package let limit: Int

    /// Creates a value of its members.
    package init(body: ByteBuffer, format: ManifestType, rules: ManifestRules, limit: Int) {
        self.body = body
        self.format = format
        self.rules = rules
        self.limit = limit
    }

    /// The largest manifest that is rewritten on the caller's thread; a larger one would delay an event loop.
    private static let quickSize = 256 * 1024

    /// Returns the rewritten manifest.
    package nonisolated(nonsending) func outcome() async -> Result<[UInt8], ManifestFault> {
        guard body.readableBytes > Self.quickSize else { return run() }
        return await withTaskExecutorPreference(globalConcurrentExecutor) { await runElsewhere() }
    }

    @concurrent
    private func runElsewhere() async -> Result<[UInt8], ManifestFault> { run() }

    private func run() -> Result<[UInt8], ManifestFault> {
        do throws(ManifestFault) {
            let bytes = try format.kind.rewrite(body.readableBytesUInt8Span, rules: rules)
            // A grant in each reference makes a manifest larger.
            guard bytes.count <= limit else {
                return .failure(ManifestFault(.tooLarge, reason: "the rewritten manifest has more than \(limit) bytes"))
            }
            return .success(bytes)
        } catch { return .failure(error) }
    }
}

extension GateConfiguration.Manifest.Mode {
    /// The mode of the rewriter.
    package var rewriting: ManifestRules.Mode {
        switch self {
        case .segment: .segment(prefix: IssuedGrant.segmentPrefix)
        case .query(let name): .query(name: name)
        }
    }
}
