// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

#define _GNU_SOURCE 1

#include "file.h"

#include "wipe.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

int file_is_same(const struct stat *one, const struct stat *other) {
#ifdef __APPLE__
    struct timespec changed = one->st_mtimespec, then = other->st_mtimespec;
#else
    struct timespec changed = one->st_mtim, then = other->st_mtim;
#endif
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino && one->st_size == other->st_size
        && changed.tv_sec == then.tv_sec && changed.tv_nsec == then.tv_nsec;
}

char *file_read(const char *path, size_t limit, struct stat *facts) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (descriptor < 0) return NULL;
    char *bytes = NULL;
    int failure = fstat(descriptor, facts) != 0 ? errno : 0;
    if (failure == 0 && (!S_ISREG(facts->st_mode) || (uint64_t)facts->st_size > limit)) failure = EINVAL;
    size_t length = failure == 0 ? (size_t)facts->st_size : 0, done = 0;
    if (failure == 0 && (bytes = malloc(length + 1)) == NULL) failure = ENOMEM;
    while (failure == 0 && done < length) {
        ssize_t count = read(descriptor, bytes + done, length - done);
        if (count < 0 && errno != EINTR) failure = errno;
        // The file has become shorter: it is written in place.
        if (count == 0) failure = EINVAL;
        if (count > 0) done += (size_t)count;
    }
    close(descriptor);
    if (failure == 0) return bytes;
    if (bytes != NULL) memory_wipe(bytes, length);
    free(bytes);
    errno = failure;
    return NULL;
}
