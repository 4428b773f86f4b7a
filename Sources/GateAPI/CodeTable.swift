// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

internal import EdgeListener
internal import Encodings
internal import MediaTokens
internal import NIOHTTP1
internal import PlaybackGate

/// The table of all codes, to which the links in refusals lead.
enum CodeTable {
    /// Returns all codes.
    static func json(helpURL: String) -> JSON {
        .object([
            ("denyCodes", .array(DenyCode.allCases.map { entry(for: $0, helpURL: helpURL) })),
            ("requestCodes", .array(APIFault.allCases.map { entry(for: $0, helpURL: helpURL) })),
            ("manifestCodes", .array(ManifestRefusal.allCases.map { entry(for: $0, helpURL: helpURL) })),
        ])
    }

    /// Returns one code; `nil` if it is unknown.
    static func entry(_ code: Substring, helpURL: String) -> JSON? {
        if let code = DenyCode(rawValue: String(code)) { return entry(for: code, helpURL: helpURL) }
        if let fault = APIFault(rawValue: String(code)) { return entry(for: fault, helpURL: helpURL) }
        return ManifestRefusal(rawValue: String(code)).map { entry(for: $0, helpURL: helpURL) }
    }

    private static func entry(for code: DenyCode, helpURL: String) -> JSON {
        .object([
            ("code", .string(code.rawValue)), ("status", .number(Int64(code.status.code))),
            ("action", .string(code.action.rawValue)), ("verifierStatus", .optional(code.verifierStatus?.rawValue)),
            ("message", .string(code.message)), ("lookAt", .string(code.operatorHint)),
            ("helpUrl", .string(helpURL + code.rawValue)),
        ])
    }

    private static func entry(for fault: APIFault, helpURL: String) -> JSON {
        .object([
            ("code", .string(fault.rawValue)), ("status", .number(Int64(fault.status.code))),
            ("action", .string(fault.action.rawValue)), ("verifierStatus", .null),
            ("message", .string(fault.message)), ("lookAt", .null), ("helpUrl", .string(helpURL + fault.rawValue)),
        ])
    }

    private static func entry(for refusal: ManifestRefusal, helpURL: String) -> JSON {
        .object([
            ("code", .string(refusal.rawValue)), ("status", .number(Int64(refusal.status.code))),
            ("action", .string(refusal.action.rawValue)), ("verifierStatus", .null),
            ("message", .string(refusal.message)), ("lookAt", .string(refusal.operatorHint)),
            ("helpUrl", .string(helpURL + refusal.rawValue)),
        ])
    }
}
