// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

/// Returns the number of cores that this process may use. In a container, or if pinned (`taskset`), these are fewer than
/// the machine has.
package func usableCores() -> Int {
    guard let status = try? "/proc/self/status".contentsOfFile(limit: 64 * 1024),
        let line = status.split(separator: "\n").first(where: { $0.hasPrefix("Cpus_allowed_list:") })
    else { return onlineCores() }
    // An example is `0-3,6`.
    let ranges = line.dropFirst("Cpus_allowed_list:".count).split(separator: ",")
    let allowed = ranges.reduce(0) { count, range in
        let ends = range.split(separator: "-").compactMap { Int($0.filter(\.isNumber)) }
        guard let first = ends.first, let last = ends.last, last >= first else { return count }
        return count + last - first + 1
    }
    return allowed > 0 ? min(allowed, onlineCores()) : onlineCores()
}

/// Returns the number of online processors, at least 1.
package func onlineCores() -> Int { max(1, sysconf(Int32(_SC_NPROCESSORS_ONLN))) }
