// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

import CSecondOpinion

@testable import RequestTargets

extension Target {
    /// Networks of trusted peers: addresses are those that the C library parses, and a network contains exactly the
    /// addresses of its prefix.
    static let network = Target(name: "network") { input in
        guard let text = input.text else { return }
        let network = IPNetwork(text)
        guard let second = SecondNetwork(text) else {
            return demand(network == nil, or: "\(text.debugDescription) is taken for a network")
        }
        guard let network else { return demand(false, or: "\(text.debugDescription) is refused") }
        demand(network.has(second.address), or: "\(text) does not have its own address")
        demand(network.has(second.address ^ ~second.mask), or: "\(text) does not have its last address")
        for bit in 0..<128 where second.mask & 1 << UInt128(bit) != 0 {
            demand(
                !network.has(second.address ^ 1 << UInt128(bit)),
                or: "\(text) has an address that differs in bit \(bit)"
            )
        }
    }
}

/// A network whose address the C library parses.
private struct SecondNetwork {
    let address: UInt128
    let mask: UInt128

    init?(_ text: String) {
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let name = parts.first else { return nil }
        // A zone is part of how to reach an IPv6 address, not of the address.
        let named = name.split(separator: UInt8(ascii: "%"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let plain = named.first, named.count == 1 || !named[1].isEmpty,
            !name.contains(where: { $0 <= 0x20 || $0 >= 0x7F })
        else { return nil }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = Int(unsafe second_address(String(Substring(plain)), &bytes))
        guard count > 0, count == 16 || named.count == 1 else { return nil }
        let number = bytes.prefix(count).reduce(UInt128(0)) { $0 << 8 | UInt128($1) }
        address = count == 16 ? number : 0xFFFF_0000_0000 | number
        var bits = count * 8
        if parts.count == 2 {
            let isDecimal = 1...3 ~= parts[1].count && parts[1].allSatisfy { 0x30...0x39 ~= $0 }
            guard isDecimal, let number = Int(String(Substring(parts[1]))), 1...bits ~= number else { return nil }
            bits = number
        }
        mask = .max << UInt128(count * 8 - bits)
    }
}
