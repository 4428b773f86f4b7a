// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that users of the library do not get any part of it, and so that it depends on the library as
// they do.
let package = Package(
    name: "bench",
    platforms: [.macOS(.v26)],
    dependencies: [
        .package(name: "playgate", path: "..", traits: ["SQLite", "Redis", "Service"]),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.2"),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/HdrHistogram/hdrhistogram-swift", from: "0.2.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0", traits: []),
    ],
    targets: [
        .target(
            name: "CLimits",
            cSettings: [.unsafeFlags(["-O2", "-I/usr/include/libxml2"])],
            linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("xml2")]
        ),
        // A separate target: in CLimits, it would count the allocations of every benchmark.
        .target(name: "CAllocations", cSettings: [.unsafeFlags(["-O2"])]),
        .target(name: "TokenParts", dependencies: [.product(name: "Keys", package: "playgate")]),
        .executableTarget(
            name: "formats",
            dependencies: [
                "CLimits", "TokenParts",
                .product(name: "CommonAccessTokens", package: "playgate"),
                .product(name: "EdgeTokens", package: "playgate"),
                .product(name: "URISigning", package: "playgate"),
                .product(name: "VendorTokens", package: "playgate"),
                .product(name: "Keys", package: "playgate"),
                .product(name: "MediaTokens", package: "playgate"),
                .product(name: "MediaResources", package: "playgate"),
            ]
        ),
        .executableTarget(
            name: "hot-path",
            dependencies: [
                "CAllocations", "CLimits", "TokenParts",
                .product(name: "CommonAccessTokens", package: "playgate"),
                .product(name: "EdgeTokens", package: "playgate"),
                .product(name: "URISigning", package: "playgate"),
                .product(name: "AccessTokens", package: "playgate"),
                .product(name: "VendorTokens", package: "playgate"),
                .product(name: "Keys", package: "playgate"),
                .product(name: "RedisStore", package: "playgate"),
                .product(name: "SQLiteStore", package: "playgate"),
                .product(name: "MediaTokens", package: "playgate"),
                .product(name: "MediaResources", package: "playgate"),
                .product(name: "PlaybackGate", package: "playgate"),
            ]
        ),
        .executableTarget(
            name: "verify-rate",
            dependencies: [
                "CLimits",
                .product(name: "MediaTokens", package: "playgate"),
                .product(name: "MediaResources", package: "playgate"),
            ]
        ),
        .executableTarget(
            name: "fixed-work",
            dependencies: [
                "CLimits",
                .product(name: "CommonAccessTokens", package: "playgate"),
                .product(name: "EdgeTokens", package: "playgate"),
                .product(name: "URISigning", package: "playgate"),
                .product(name: "VendorTokens", package: "playgate"),
                .product(name: "Keys", package: "playgate"),
                .product(name: "MediaTokens", package: "playgate"),
                .product(name: "MediaResources", package: "playgate"),
                .product(name: "PlaybackGate", package: "playgate"),
            ]
        ),
        .executableTarget(
            name: "load",
            dependencies: [
                "CLimits",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "Histogram", package: "hdrhistogram-swift"),
                .product(name: "MediaTokens", package: "playgate"),
            ]
        ),
        .executableTarget(
            name: "replay-store",
            dependencies: [
                .product(name: "CommonAccessTokens", package: "playgate"),
                .product(name: "EdgeTokens", package: "playgate"),
                .product(name: "URISigning", package: "playgate"),
                .product(name: "VendorTokens", package: "playgate"),
                .product(name: "MediaTokens", package: "playgate"),
                .product(name: "PlaybackGate", package: "playgate"),
            ]
        ),
        .executableTarget(
            name: "manifests",
            dependencies: ["CLimits", .product(name: "Manifests", package: "playgate")]
        ),
        .executableTarget(
            name: "playback-bodies",
            dependencies: [.product(name: "MediaTokens", package: "playgate")]
        ),
        .executableTarget(
            name: "grant-cookies",
            dependencies: [
                .product(name: "CommonAccessTokens", package: "playgate"),
                .product(name: "EdgeTokens", package: "playgate"),
                .product(name: "URISigning", package: "playgate"),
                .product(name: "VendorTokens", package: "playgate"),
                .product(name: "Keys", package: "playgate"),
                .product(name: "MediaResources", package: "playgate"),
            ]
        ),
        .executableTarget(
            name: "json-baseline",
            dependencies: [.product(name: "Hummingbird", package: "hummingbird")]
        ),
        .executableTarget(
            name: "nio-baseline",
            dependencies: [
                .product(name: "NIOCore", package: "swift-nio"), .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
            ]
        ),
    ]
)
