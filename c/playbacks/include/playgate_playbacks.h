// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_PLAYBACKS_H
#define PLAYGATE_PLAYBACKS_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/// The segments that playbacks fetch, by which a grant with two holders is suspected.
///
/// Two players with one grant take turns: each fetches segments that the other has fetched, or goes forward at another
/// position. A record counts these turns in 128 bytes for each playback. It proves nothing: two tabs take turns too.

/// The number of a segment, and its track: a hash of the rest of its path.
typedef struct playgate_segment {
    uint32_t index;
    uint16_t track;
} playgate_segment;

/// Reads a path: the last number in the file's name, which has at most ten digits, is the segment's. The file's extension has
/// none, unless it is a number.
///
/// Returns 1 for a segment. Returns 0 for playlists, manifests, keys, initialisation segments, and names without a number.
int32_t playgate_segment_parse(const char *path, size_t length, playgate_segment *segment);

/// A part of paths that names the rendition of a track, such as `/v*/`, in which `*` stands for any characters but `/`. All renditions
/// of a track count as one: two players whose bandwidths differ fetch the same segments of it.
typedef struct playgate_rendition {
    /// The length of `text`, and the index of its `*`.
    uint8_t length, star;
    char text[62];
} playgate_rendition;

/// Makes a pattern of its text. Returns 1; 0 if it does not have one `*`, characters before and after it, and at most 62 bytes.
int32_t playgate_rendition_make(const char *text, size_t length, playgate_rendition *rendition);

/// Reads a path as playgate_segment_parse() does, with the first pattern that a part of it matches in the place of that part.
int32_t playgate_segment_parse_rendition(const char *path, size_t length, const playgate_rendition *renditions, size_t count,
                                         playgate_segment *segment);

/// The longest path that playgate_path_normalize() reads and writes.
#define PLAYGATE_PATH_LIMIT 4096

/// Writes a path without its query in the normal form in which gates count it: each character in one spelling, without empty and dot
/// segments.
///
/// Returns its length. Returns 0 for a path that is too long, does not begin with a slash, or has a percent sign that encodes nothing.
size_t playgate_path_normalize(const char *path, size_t length, char text[PLAYGATE_PATH_LIMIT]);

/// Returns 1 for a path that is in normal form, up to its query: most are. May return 0 for one that is.
int32_t playgate_path_is_normal(const char *path, size_t length);

/// A table of records in memory that threads and processes may share. Full sets forget the playback that was not seen for the
/// longest time.
typedef struct playgate_playbacks playgate_playbacks;

/// The counts of a table. They are added to atomically.
typedef struct playgate_playbacks_counters {
    /// Records that left for another.
    uint64_t evicted;
    /// Segments that were not counted because another thread had the set for too long.
    uint64_t skipped;
} playgate_playbacks_counters;

/// The bytes that a table of this many playbacks needs: 136 a playback. From 64 to 4,194,304, rounded up to a power of two.
size_t playgate_playbacks_size(size_t playbacks);

/// Makes a table in memory of playgate_playbacks_size() bytes, all zero and aligned to 64 bytes. Null if it is too small.
playgate_playbacks *playgate_playbacks_create(void *memory, size_t size, size_t playbacks);

/// The counts of a table.
playgate_playbacks_counters playgate_playbacks_counts(const playgate_playbacks *table);

/// The results of counting a segment, as bits.
enum {
    /// The playback has reached the level of suspicion. Its level begins again at 0.
    PLAYGATE_PLAYBACK_SUSPECTED = 1,
    /// The playback was first seen, or last reported as seen, half a minute ago.
    PLAYGATE_PLAYBACK_SEEN = 2,
    /// The playback had no record: it was never seen, or its record has left for another.
    PLAYGATE_PLAYBACK_NEW = 4,
    /// The playback is watched: see playgate_playbacks_watch().
    PLAYGATE_PLAYBACK_WATCHED = 8
};

/// The properties of a request for a segment.
enum {
    /// It is for a range of bytes.
    PLAYGATE_SEGMENT_PART = 1
};

/// Counts a segment that was fetched with a grant of a playback.
///
/// playback: A hash of the playback, not 0.
/// flags: PLAYGATE_SEGMENT_….
/// now: Milliseconds, of a clock that all users of the table share.
/// suspicion: The level from which on a playback is suspected, in quarters of a turn: 20 for five turns. From 1 to 255.
/// Returns bits; 0 if nothing has happened.
int32_t playgate_playbacks_count(playgate_playbacks *table, uint64_t playback, playgate_segment segment, uint32_t flags, int64_t now,
                                 uint8_t suspicion);

/// Marks a playback that has a record as watched, or as not watched any more.
void playgate_playbacks_watch(playgate_playbacks *table, uint64_t playback, int32_t is_watched);

#ifdef __cplusplus
}
#endif

#endif
