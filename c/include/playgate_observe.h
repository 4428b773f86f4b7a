// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_OBSERVE_H
#define PLAYGATE_OBSERVE_H

#include "playgate.h"

#ifdef __cplusplus
extern "C" {
#endif

/// Counts the segments that playbacks fetch, so that a grant with more than one holder is found: docs/how-to/shared-grants.md.
///
/// An observer proves nothing. It reports facts to the service, and obeys its orders: to report the uses of the grants of a playback,
/// and to ask the service for new ones. No address and no User-Agent is looked at.
///
///     memory = all zeros, of playgate_observer_size(), such as shared by the workers of a server
///     observer = playgate_observer_create(memory, …)
///     request.observer = playgate_observer_name(observer)
///     playgate_check(…), or playgate_answer_cache_find()
///     playgate_observe(observer, &request, &answer)    for each request that was allowed, once
///     thread: playgate_follower_report(follower, observer)
///
/// Every function may be called from any thread, and from any process that has the memory at the same address.
typedef struct playgate_observer playgate_observer;

/// The bytes of an observer of this many playbacks: 136 a playback, and 400 KiB. From 64 to 4,194,304, rounded up to a power of two.
size_t playgate_observer_size(size_t playbacks);

/// Makes an observer in memory of playgate_observer_size() bytes, all zero and aligned to 64 bytes. Null if it is too small, or if the
/// system has no random numbers.
playgate_observer *playgate_observer_create(void *memory, size_t size, size_t playbacks);

/// The name of an observer, 16 random hexadecimal digits, for `observer` of a request: the service does not count once more what it is
/// asked about. A secret of edge and service. Empty for null.
playgate_slice playgate_observer_name(const playgate_observer *observer);

/// Counts a request, if the renewals of its grant are counted. Segments count: the method is GET, and the file's name has a number.
///
/// answer: The answer of playgate_check() or playgate_answer_cache_find(), in a structure of the present size.
/// Returns 1 if the service is to be asked, so that the viewer gets a new grant; else 0. Without an answer of the service, the request
/// stays allowed.
int32_t playgate_observe(playgate_observer *observer, const playgate_request *request, const playgate_answer *answer);

/// The counts of an observer.
typedef struct playgate_observer_counters {
    /// Playbacks that left for another.
    uint64_t evicted;
    /// Requests that were not counted because another thread was busy for too long.
    uint64_t skipped;
    /// Reports that had no room.
    uint64_t dropped;
    /// Reports that the service has.
    uint64_t reported;
} playgate_observer_counters;

/// The counts of an observer; all zeros for null.
playgate_observer_counters playgate_observer_counts(const playgate_observer *observer);

// MARK: Reports

/// The greatest size of a batch of reports, and of the service's orders, in bytes.
#define PLAYGATE_REPORTS_LIMIT 65536

/// The reports that a batch has.
typedef struct playgate_reports {
    /// sizeof(playgate_reports).
    uint32_t size;
    uint32_t count;
    /// The positions after the last ones.
    uint64_t uses;
    uint64_t holders;
} playgate_reports;

/// True if reports are to be sent now: a second after those before. Of several threads and processes, one is told so.
int32_t playgate_observer_is_due(playgate_observer *observer, int64_t now);

/// Writes the reports that wait, as the body of `POST /v1/edge/reports`. They stay until playgate_observer_confirm().
///
/// bytes: PLAYGATE_REPORTS_LIMIT bytes.
/// Returns their length; 0 for null.
size_t playgate_observer_reports(const playgate_observer *observer, int64_t now, char *bytes, playgate_reports *reports);

/// Removes reports that the service has.
void playgate_observer_confirm(playgate_observer *observer, const playgate_reports *reports);

/// Obeys the service's orders, the body of its answer, in place of those before.
///
/// now: The time, in Unix milliseconds. Orders are ignored when the service has given none for ten seconds.
/// Returns PLAYGATE_OK, or _E_ARGUMENT for what are none: then those before hold.
int32_t playgate_observer_obey(playgate_observer *observer, playgate_slice orders, int64_t now);

#ifdef __cplusplus
}
#endif

#endif
