// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "playgate",
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "MediaTokens", targets: ["MediaTokens"]),
        .library(name: "MediaResources", targets: ["MediaResources"]),
        .library(name: "PlaybackGate", targets: ["PlaybackGate"]),
        .executable(name: "playgate", targets: ["playgate"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.9.0"),
    ],
    targets: [
        // Floor 0: C libraries of the system, a module map and a shim header each.
        .systemLibrary(
            name: "COpenSSL",
            pkgConfig: "libcrypto",
            providers: [.apt(["libssl-dev"]), .brew(["openssl@3"])]
        ),
        .systemLibrary(
            name: "CLibXML2",
            pkgConfig: "libxml-2.0",
            providers: [.apt(["libxml2-dev"]), .brew(["libxml2"])]
        ),
        .target(name: "SlotPool", swiftSettings: settings),

        // Floor 1: the domain, without I/O but for trust files.
        .target(name: "MediaResources", dependencies: ["CLibXML2", "SlotPool"], swiftSettings: settings),
        .target(
            name: "MediaTokens",
            dependencies: ["COpenSSL", "SlotPool", "MediaResources"],
            swiftSettings: settings
        ),

        // Floor 2: the decision.
        .target(
            name: "PlaybackGate",
            dependencies: [
                "MediaResources", "MediaTokens",
                .product(name: "Metrics", package: "swift-metrics"),
            ],
            swiftSettings: settings
        ),

        // Floor 5: the command line.
        .executableTarget(
            name: "playgate",
            dependencies: [
                "MediaResources", "MediaTokens", "SlotPool",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        .testTarget(name: "MediaResourcesTests", dependencies: ["MediaResources"], swiftSettings: settings),
        .testTarget(
            name: "MediaTokensTests",
            dependencies: ["CLibXML2", "MediaResources", "MediaTokens"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PlaygateCommandTests",
            dependencies: ["MediaResources", "MediaTokens", "playgate"],
            swiftSettings: settings
        ),
    ]
)

var settings: [SwiftSetting] {
    [
        .strictMemorySafety(),
        .treatAllWarnings(as: .error),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("InternalImportsByDefault"),
        .enableUpcomingFeature("MemberImportVisibility"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .enableUpcomingFeature("ImmutableWeakCaptures"),
        .enableExperimentalFeature("Lifetimes"),
    ]
}
