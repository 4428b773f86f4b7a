// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import ConfigurationReading
internal import GateConfiguration
internal import NIOCore
internal import PlaybackGate
internal import RedisStore
internal import ReplayStores
internal import SQLiteStore

/// Creates the configured replay store.
enum ReplayStoreFactory {
    /// Creates the store.
    ///
    /// - Parameter loops: The event loops of the listeners.
    /// - Throws: ``ConfigurationError`` if the store cannot be opened.
    static func make(
        for configuration: GateConfiguration,
        loops: any EventLoopGroup
    ) throws(ConfigurationError) -> any ReplayStore {
        switch configuration.use.store {
        case .memory(let capacity): return MemoryReplayStore(capacity: capacity)
        case .sqlite(let file):
            #if SQLite
                do throws(ReplayStoreError) { return try SQLiteReplayStore(path: file.value) } catch {
                    throw ConfigurationError(file.location, reason: error.reason)
                }
            #else
                throw ConfigurationError(file.location, reason: "this build of playgate has no SQLite support")
            #endif
        #if Redis
            case .redis(var settings):
                settings.eventLoop = loops.any()
                return RedisReplayStore(settings)
        #endif
        }
    }
}
