// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The C library of the system, by its one name: whatever imports Platform sees it.

#if canImport(Darwin)
    @_exported public import Darwin
#elseif canImport(Musl)
    @_exported public import Musl
#else
    @_exported public import Glibc
#endif
