// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

extension String {
    /// Returns the addresses of the host with this name, in the system's order, as text: `203.0.113.9`, `2001:db8::1`.
    ///
    /// Waits for the resolver of the system. Returns none if the name has none, or cannot be resolved.
    package func addressesOfHost() -> [String] {
        var hints = unsafe addrinfo()
        unsafe hints.ai_family = AF_UNSPEC
        #if canImport(Darwin) || canImport(Musl)
            unsafe hints.ai_socktype = SOCK_STREAM
        #else
            unsafe hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
        #endif
        var first: UnsafeMutablePointer<addrinfo>?
        guard unsafe getaddrinfo(self, nil, &hints, &first) == 0 else { return [] }
        defer { unsafe freeaddrinfo(first) }
        var addresses: [String] = []
        var next = unsafe first
        while let entry = unsafe next {
            var text = [CChar](repeating: 0, count: Int(NI_MAXHOST))
            let isNumber = unsafe getnameinfo(
                entry.pointee.ai_addr,
                entry.pointee.ai_addrlen,
                &text,
                socklen_t(text.count),
                nil,
                0,
                NI_NUMERICHOST
            )
            let address = String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if isNumber == 0, !addresses.contains(address) { addresses.append(address) }
            unsafe next = entry.pointee.ai_next
        }
        return addresses
    }
}
