// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#if canImport(Glibc)
    import Glibc
#else
    import Darwin
#endif

/// A random number generator (SplitMix64) that returns the same numbers for the same seed.
struct SeededRandom: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    /// Creates the generator of one of several independent streams of a seed.
    init(seed: UInt64, stream: UInt64) {
        var generator = SeededRandom(seed: seed &+ stream &* 0xD1B5_4A32_D192_ED03)
        state = generator.next()
    }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var mixed = state
        mixed = (mixed ^ (mixed >> 30)) &* 0xBF58_476D_1CE4_E5B9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94D0_49BB_1331_11EB
        return mixed ^ (mixed >> 31)
    }

    /// Returns a number that is at least 0 and less than 1.
    mutating func fraction() -> Double { Double(next() >> 11) * 0x1p-53 }

    mutating func uniform(in range: ClosedRange<Double>) -> Double {
        range.lowerBound + (range.upperBound - range.lowerBound) * fraction()
    }

    mutating func integer(in range: ClosedRange<Int>) -> Int {
        range.lowerBound + Int(fraction() * Double(range.count))
    }

    /// Returns true with a probability.
    mutating func chance(_ probability: Double) -> Bool { fraction() < probability }

    mutating func exponential(mean: Double) -> Double { -mean * log(1 - fraction()) }

    /// Returns a number of the normal distribution (Box–Muller).
    mutating func normal(mean: Double, deviation: Double) -> Double {
        let radius = (-2 * log(1 - fraction())).squareRoot()
        return mean + deviation * radius * cos(2 * .pi * fraction())
    }

    /// Returns a number whose logarithm is normal. `sigma` is the deviation of the logarithm.
    mutating func logNormal(median: Double, sigma: Double) -> Double {
        median * exp(normal(mean: 0, deviation: sigma))
    }

    /// Returns the number of events of a Poisson process in a time that has `mean` of them on average.
    mutating func poisson(mean: Double) -> Int {
        guard mean > 0 else { return 0 }
        var (count, sum) = (0, exponential(mean: 1))
        while sum < mean {
            count += 1
            sum += exponential(mean: 1)
        }
        return count
    }
}
