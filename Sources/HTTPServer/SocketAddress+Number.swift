// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

package import NIOCore

extension SocketAddress {
    /// The address as a number, IPv4 in the form that IPv6 has for it (`::ffff:0:0/96`); `nil` if it is not of IP.
    package var number: UInt128? {
        let isV6: Bool
        switch self {
        case .v4: isV6 = false
        case .v6: isV6 = true
        case .unixDomainSocket: return nil
        }
        return unsafe withSockAddr { address, _ in
            // sockaddr_in has the address after family and port; sockaddr_in6 has the flow label before it.
            let start = unsafe UnsafeRawPointer(address) + (isV6 ? 8 : 4)
            let bytes = unsafe UnsafeRawBufferPointer(start: start, count: isV6 ? 16 : 4)
            let number = unsafe bytes.reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
            return isV6 ? number : 0xFFFF_0000_0000 | number
        }
    }
}
