// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// Types of lower floors that stand in signatures of this module: whoever imports it has them.

@_exported public import ReplayStores

@_exported public import enum AccessTokens.AccessTokenRefusal
@_exported public import class AccessTokens.PresentedProof
@_exported public import enum EdgeTokens.ClientAction
@_exported public import struct EdgeTokens.SessionID
@_exported public import protocol EdgeTokens.SixteenBytes
@_exported public import struct EdgeTokens.SubjectTag
@_exported public import struct Encodings.TraceID
@_exported public import struct Encodings.TraceParent
@_exported public import struct Keys.KeyID
@_exported public import struct Licences.ContentKeyID
@_exported public import enum Licences.LicenceUse
@_exported public import struct RequestTargets.HostName
@_exported public import struct RequestTargets.MediaPath
@_exported public import enum RequestTargets.MediaPathError
@_exported public import struct RequestTargets.PathPattern
@_exported public import enum RequestTargets.PathPatternError
