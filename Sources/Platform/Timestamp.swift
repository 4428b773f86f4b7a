// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// A point in time of the wall clock, in UTC, with a resolution of one millisecond.
@frozen
public struct Timestamp: Hashable, Comparable, Sendable {
    /// Milliseconds since 1970-01-01T00:00:00Z.
    public let millisecondsSince1970: Int64

    /// Creates a timestamp from milliseconds since 1970-01-01T00:00:00Z.
    @inlinable
    public init(millisecondsSince1970: Int64) { self.millisecondsSince1970 = millisecondsSince1970 }

    /// Creates a timestamp from seconds since 1970-01-01T00:00:00Z, clamped to the range of timestamps.
    public init(secondsSince1970: Int64) {
        let (milliseconds, overflow) = secondsSince1970.multipliedReportingOverflow(by: 1000)
        self.init(millisecondsSince1970: overflow ? (secondsSince1970 < 0 ? .min : .max) : milliseconds)
    }

    /// Returns the time of the system clock.
    public static func now() -> Timestamp {
        var time = timespec()
        unsafe clock_gettime(CLOCK_REALTIME, &time)
        return Timestamp(millisecondsSince1970: Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000)
    }

    @inlinable
    public static func < (left: Timestamp, right: Timestamp) -> Bool {
        left.millisecondsSince1970 < right.millisecondsSince1970
    }

    /// Returns the time `milliseconds` later, clamped to the range of timestamps.
    @inlinable
    package func advanced(byMilliseconds milliseconds: Int64) -> Timestamp {
        let (sum, overflow) = millisecondsSince1970.addingReportingOverflow(milliseconds)
        return Timestamp(millisecondsSince1970: overflow ? (milliseconds < 0 ? .min : .max) : sum)
    }
}

extension Timestamp {
    /// The whole seconds since 1970.
    package var seconds: Int64 { millisecondsSince1970 / 1000 }
}
