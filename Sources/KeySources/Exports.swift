// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The types of lower floors that stand in signatures of this module: whoever imports it has them.

@_exported public import enum Keys.KeyAlgorithm
@_exported public import struct Keys.KeyBinding
@_exported public import struct Keys.KeyID
@_exported public import class Keys.TokenKey
@_exported public import struct Platform.Timestamp
