// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import CPlaybacks
package import Platform

/// The number of a segment, and its track.
package struct Segment: Hashable, Sendable {
    /// The number: the last one in the file's name.
    package let index: UInt32
    /// The track: a hash of the rest of the path.
    package let track: UInt16

    /// Creates a segment of its members.
    package init(index: UInt32, track: UInt16) { (self.index, self.track) = (index, track) }

    /// Reads a path, without its query or with it; `nil` for playlists, manifests, keys, initialisation segments, and names
    /// without a number.
    package init?(path: Substring) {
        var segment = playgate_segment()
        let isSegment = unsafe path.utf8.span.withUnsafeBytes { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { text in
                unsafe playgate_segment_parse(text.baseAddress, text.count, &segment)
            }
        }
        guard isSegment == 1 else { return nil }
        self.init(index: segment.index, track: segment.track)
    }
}

/// The turns of players that fetch segments with one grant, in a bounded table that threads share.
///
/// Two players with one grant alternate: each fetches segments that the other has fetched, or goes forward at another
/// position. The table counts these turns in 128 bytes for each playback. It proves nothing: two tabs alternate too.
@safe
package final class PlaybackTable: Sendable {
    private nonisolated(unsafe) let memory: UnsafeMutableRawPointer
    private nonisolated(unsafe) let table: OpaquePointer

    /// The result of counting a segment.
    package struct Count: OptionSet {
        package let rawValue: Int32
        package init(rawValue: Int32) { self.rawValue = rawValue }
        /// The playback has reached the level of suspicion.
        package static let suspected = Count(rawValue: Int32(PLAYGATE_PLAYBACK_SUSPECTED))
        /// The playback was first seen, or last reported as seen, half a minute ago.
        package static let seen = Count(rawValue: Int32(PLAYGATE_PLAYBACK_SEEN))
        /// The playback had no record.
        package static let new = Count(rawValue: Int32(PLAYGATE_PLAYBACK_NEW))
        /// The playback is watched.
        package static let watched = Count(rawValue: Int32(PLAYGATE_PLAYBACK_WATCHED))
    }

    /// Creates an empty table.
    ///
    /// - Parameter capacity: The number of playbacks, from 64 to 4,194,304, rounded up to a power of two. Each needs 136 bytes.
    package init(capacity: Int) {
        let size = playgate_playbacks_size(capacity)
        // Pages that no playback needs stay untouched.
        guard let memory = unsafe calloc(1, size + Self.alignment),
            let table = unsafe playgate_playbacks_create(
                memory.alignedUp(toMultipleOf: Self.alignment),
                size,
                capacity
            )
        else { fatalError("no memory for the table of playbacks") }
        unsafe (self.memory, self.table) = (memory, table)
    }

    deinit { unsafe free(memory) }

    private static let alignment = 64

    /// The number of playbacks that left for others.
    package var evicted: UInt64 { unsafe playgate_playbacks_counts(table).evicted }

    /// Counts a segment that was fetched with a grant of a playback.
    ///
    /// - Parameters:
    ///   - isPartial: True if the request is for a range of bytes.
    ///   - playback: A hash of the playback.
    ///   - suspicion: The number of turns from which on a playback is suspected, from 1 to 63.
    package func count(
        _ segment: Segment,
        isPartial: Bool = false,
        of playback: UInt64,
        at now: Timestamp,
        suspicion: Int
    ) -> Count {
        let found = playgate_segment(index: segment.index, track: segment.track)
        let (level, time) = (UInt8(clamping: 4 * suspicion), now.millisecondsSince1970)
        let flags = isPartial ? UInt32(PLAYGATE_SEGMENT_PART) : 0
        return Count(rawValue: unsafe playgate_playbacks_count(table, playback, found, flags, time, level))
    }

    /// Marks a playback that has a record as watched, or as not watched any more.
    package func setWatched(_ isWatched: Bool, for playback: UInt64) {
        unsafe playgate_playbacks_watch(table, playback, isWatched ? 1 : 0)
    }
}
