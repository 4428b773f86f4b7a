// swift-tools-version: 6.3
import PackageDescription

let package = Package(
    name: "playgate",
    platforms: [.macOS(.v26)],
    products: [
        .library(name: "MediaTokens", targets: ["MediaTokens"]),
        .library(name: "MediaResources", targets: ["MediaResources"]),
        .library(name: "PlaybackGate", targets: ["PlaybackGate"]),
        .library(name: "Entitlements", targets: ["Entitlements"]),
        .library(name: "AccessEnabler", targets: ["AccessEnabler"]),
        .library(name: "GateStores", targets: ["GateStores"]),
        .library(name: "GateService", targets: ["GateService", "ConfigurationReading"]),
        .executable(name: "playgate", targets: ["playgate"]),
        .executable(name: "playgate-sandbox", targets: ["playgate-sandbox"]),
    ],
    traits: [
        .trait(name: "SQLite", description: "The token-use store in a SQLite file (needs libsqlite3)."),
        .trait(name: "Redis", description: "The token-use store in Redis (needs libhiredis)."),
        .default(enabledTraits: ["SQLite", "Redis"]),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-system", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.9.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/hummingbird-project/hummingbird", from: "2.28.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/jpsim/Yams", from: "6.2.0"),
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
        .systemLibrary(
            // Without pkg-config: its file sets a flag that packages may not.
            name: "CHiredis",
            providers: [.apt(["libhiredis-dev"]), .brew(["hiredis"])]
        ),
        .target(name: "SlotPool", swiftSettings: settings),
        // Base64 with instructions that only some processors have.
        .target(name: "CBase64"),
        // JSON: reading what may be hostile, and writing it in order.
        .target(name: "StrictJSON", swiftSettings: settings),

        // Configuration files, read strictly: problems are told by file, line and key.
        .target(
            name: "ConfigurationReading",
            dependencies: [
                "StrictJSON",
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "Yams", package: "Yams"),
            ],
            swiftSettings: settings
        ),

        // Floor 1: the domain, without I/O but for trust files.
        .target(name: "MediaResources", dependencies: ["CLibXML2", "SlotPool"], swiftSettings: settings),
        .target(
            name: "MediaTokens",
            dependencies: ["CBase64", "COpenSSL", "SlotPool", "MediaResources"],
            swiftSettings: settings
        ),

        // Floor 2: what entitlement services and their clients say to each other.
        .target(
            name: "Entitlements",
            dependencies: ["MediaResources", "MediaTokens", "StrictJSON"],
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

        // Floor 3: records of use that outlive a process or span machines.
        .target(
            name: "GateStores",
            dependencies: [
                "MediaTokens", "PlaybackGate",
                .target(name: "CHiredis", condition: .when(traits: ["Redis"])),
                .product(name: "NIOCore", package: "swift-nio", condition: .when(traits: ["Redis"])),
                .product(name: "NIOPosix", package: "swift-nio", condition: .when(traits: ["Redis"])),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: .when(traits: ["Redis"])),
                .product(name: "GRDB", package: "GRDB.swift", condition: .when(traits: ["SQLite"])),
            ],
            swiftSettings: settings
        ),

        // Floor 3: a client of an entitlement service.
        .target(
            name: "AccessEnabler",
            dependencies: [
                "Entitlements", "MediaTokens",
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        // Floor 4: a stand-in for an entitlement service. No part of the gate.
        .target(
            name: "Sandbox",
            dependencies: [
                "ConfigurationReading", "Entitlements", "MediaResources", "MediaTokens", "StrictJSON",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "HTTPTypes", package: "swift-http-types"),
                .product(name: "Hummingbird", package: "hummingbird"),
                .product(name: "Logging", package: "swift-log"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            resources: [
                .embedInCode("Pages/sandbox.css"), .embedInCode("Pages/demo.html"), .embedInCode("Pages/demo.js"),
                .embedInCode("Pages/stream.js"), .embedInCode("default.yaml"),
            ],
            swiftSettings: settings
        ),

        // Floor 4: configuration, listeners and HTTP around the gate.
        .target(
            name: "GateService",
            dependencies: [
                "ConfigurationReading", "GateStores", "MediaResources", "MediaTokens", "PlaybackGate", "StrictJSON",
                .product(name: "Logging", package: "swift-log"),
                .product(name: "Metrics", package: "swift-metrics"),
                .product(name: "CoreMetrics", package: "swift-metrics"),
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "NIOExtras", package: "swift-nio-extras"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOSSL", package: "swift-nio-ssl"),
                .product(name: "ServiceLifecycle", package: "swift-service-lifecycle"),
                .product(name: "SystemPackage", package: "swift-system"),
                .product(name: "UnixSignals", package: "swift-service-lifecycle"),
            ],
            resources: [.embedInCode("openapi.yaml")],
            swiftSettings: settings
        ),

        // What the command lines have in common.
        .target(
            name: "CommandLineSupport",
            dependencies: [
                "StrictJSON",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        // Floor 5: the command line.
        .executableTarget(
            name: "playgate",
            dependencies: [
                "AccessEnabler", "CommandLineSupport", "ConfigurationReading", "Entitlements", "GateService",
                "MediaResources",
                "MediaTokens", "SlotPool", "StrictJSON",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            swiftSettings: settings
        ),

        .executableTarget(
            name: "playgate-sandbox",
            dependencies: [
                "CommandLineSupport", "ConfigurationReading", "MediaTokens", "Sandbox",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: settings
        ),

        .testTarget(name: "MediaResourcesTests", dependencies: ["MediaResources"], swiftSettings: settings),
        .testTarget(
            name: "MediaTokensTests",
            dependencies: ["CLibXML2", "MediaResources", "MediaTokens"],
            swiftSettings: settings
        ),
        .testTarget(name: "StrictJSONTests", dependencies: ["StrictJSON"], swiftSettings: settings),
        .testTarget(
            name: "EntitlementsTests",
            dependencies: ["Entitlements", "MediaTokens"],
            swiftSettings: settings
        ),
        // What tests of the gate share: keys, tokens, peers that are started and stopped.
        .target(
            name: "GateTestSupport",
            dependencies: ["MediaResources", "MediaTokens", "PlaybackGate"],
            path: "Tests/GateTestSupport",
            swiftSettings: settings
        ),
        .testTarget(
            name: "PlaybackGateTests",
            dependencies: ["GateTestSupport", "MediaResources", "MediaTokens", "PlaybackGate"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "GateStoresTests",
            dependencies: ["GateStores", "GateTestSupport", "MediaTokens", "PlaybackGate"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "GateServiceTests",
            dependencies: [
                "ConfigurationReading", "GateService", "GateTestSupport", "MediaResources", "MediaTokens",
                "PlaybackGate",
                "StrictJSON", "playgate",
                .product(name: "NIOCore", package: "swift-nio"),
                .product(name: "NIOHTTP1", package: "swift-nio"),
                .product(name: "NIOPosix", package: "swift-nio"),
                .product(name: "SystemPackage", package: "swift-system"),
            ],
            exclude: ["BadConfigurations"],
            swiftSettings: settings
        ),
        // The client against the stand-in service, and against services that misbehave.
        .testTarget(
            name: "AccessEnablerTests",
            dependencies: [
                "AccessEnabler", "ConfigurationReading", "Entitlements", "GateTestSupport", "MediaResources",
                "MediaTokens",
                "Sandbox",
                .product(name: "NIOHTTP1", package: "swift-nio"),
            ],
            swiftSettings: settings
        ),
        .testTarget(
            name: "SandboxTests",
            dependencies: [
                "ConfigurationReading", "Entitlements", "GateTestSupport", "MediaResources", "MediaTokens", "Sandbox",
                "playgate", "playgate-sandbox",
            ],
            exclude: ["YTDLP"],
            swiftSettings: settings
        ),
        .testTarget(
            name: "PlaygateCommandTests",
            dependencies: [
                "ConfigurationReading", "GateService", "GateTestSupport", "MediaResources", "MediaTokens", "StrictJSON",
                "playgate", "playgate-sandbox",
            ],
            swiftSettings: settings
        ),
    ]
)

// What scripts/sanitize builds: under a sanitizer everything is built anew, and the service with its dependencies is most
// of that.
if Context.environment["PLAYGATE_PARTS"] == "libraries" {
    let service: Set = [
        "GateStores", "GateService", "playgate", "GateStoresTests", "GateServiceTests", "PlaygateCommandTests",
        "AccessEnabler", "Sandbox", "CommandLineSupport", "ConfigurationReading", "playgate-sandbox",
        "AccessEnablerTests", "SandboxTests",
    ]
    package.targets.removeAll { service.contains($0.name) }
    package.products.removeAll { service.contains($0.name) }
    package.dependencies = [.package(url: "https://github.com/apple/swift-metrics", from: "2.9.0")]
    package.traits = []
}

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
