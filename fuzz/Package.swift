// swift-tools-version: 6.3
import PackageDescription

// A package of its own, so that users of the library do not get any part of it. One executable has all targets, because
// linking takes a large part of the build. If PLAYGATE_PARTS is set, which the main package supports too, it has only
// the targets of the libraries and builds in a minute and a half.
let hasService = Context.environment["PLAYGATE_PARTS"] == nil

let package = Package(
    name: "fuzz",
    platforms: [.macOS(.v26)],
    // Without stores, which are not parsers. Parsers of libraries are built without the service, whose TLS would be half of the build.
    dependencies: [
        .package(name: "playgate", path: "..", traits: hasService ? ["Patterns", "Service"] : ["Patterns"])
    ],
    targets: [
        // Reference implementations: OpenSSL for Base64, libxml2's tree for XML, the C library for addresses and dates.
        .target(
            name: "CSecondOpinion",
            cSettings: [.unsafeFlags(["-O2", "-I/usr/include/libxml2"])],
            linkerSettings: [.linkedLibrary("crypto"), .linkedLibrary("xml2")]
        ),
        .executableTarget(
            name: "fuzz",
            dependencies: [
                "CSecondOpinion",
                .product(name: "Keys", package: "playgate"),
                .product(name: "MediaTokens", package: "playgate"),
                .product(name: "MediaResources", package: "playgate"),
                .product(name: "PlaybackGate", package: "playgate"),
                .product(name: "Entitlements", package: "playgate"),
                .product(name: "CommonAccessTokens", package: "playgate"),
                .product(name: "EdgeTokens", package: "playgate"),
                .product(name: "URISigning", package: "playgate"),
                .product(name: "VendorTokens", package: "playgate"),
                .product(name: "AccessTokens", package: "playgate"),
                .product(name: "Licences", package: "playgate"),
                .product(name: "Manifests", package: "playgate"),
                .product(name: "EmbeddedGate", package: "playgate"),
            ],
            exclude: ["Service"],
            swiftSettings: [.unsafeFlags(["-parse-as-library"])]
        ),
    ]
)

if hasService {
    package.dependencies.append(.package(url: "https://github.com/apple/swift-nio", from: "2.101.2"))
    let fuzz = package.targets[1]
    fuzz.exclude = []
    fuzz.dependencies += [
        .product(name: "GateServer", package: "playgate"),
        .product(name: "NIOCore", package: "swift-nio"),
        .product(name: "NIOEmbedded", package: "swift-nio"),
        .product(name: "NIOHTTP1", package: "swift-nio"),
    ]
    fuzz.swiftSettings = (fuzz.swiftSettings ?? []) + [.define("SERVICE")]
}
