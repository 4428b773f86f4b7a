// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// The type of lower floors that stands in signatures of this module: whoever imports it has it.

@_exported public import struct Platform.Timestamp
