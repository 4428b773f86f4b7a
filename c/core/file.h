// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#ifndef PLAYGATE_FILE_H
#define PLAYGATE_FILE_H

#include <stddef.h>
#include <sys/stat.h>

/// Reads a regular file of at most `limit` bytes. Returns its bytes, to be wiped and freed, or null with `errno`.
char *file_read(const char *path, size_t limit, struct stat *facts);

/// True if both are the same file, which nobody has written to in between.
int file_is_same(const struct stat *one, const struct stat *other);

#endif
