// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A clock that tests set, for a program that is started with this library in LD_PRELOAD: the file that PLAYGATE_CLOCK names has the
// time of the day in UTC, `2025-01-31 12:00:00`. Without such a file, the system's clock goes. If PLAYGATE_CLOCK_FOR has a text, the
// clock is only set for libraries with that text in their names. Other libraries that do the same allocate memory or wait for a
// semaphore before they answer; a program whose allocator asks for the time, or one that starts many others, then stops at times.

#define _GNU_SOURCE 1

#include <dlfcn.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

/// The variables at the start: a program may drop them, as nginx does for its workers.
static char clock_file[512], callers[64];

__attribute__((constructor)) static void read_variables(void) {
    const char *file = getenv("PLAYGATE_CLOCK"), *text = getenv("PLAYGATE_CLOCK_FOR");
    if (file != NULL && strlen(file) < sizeof clock_file) strcpy(clock_file, file);
    if (text != NULL && strlen(text) < sizeof callers) strcpy(callers, text);
}

/// Reads a number of digits, and steps over what follows them.
static long number(const char **text) {
    long value = 0;
    while (**text >= '0' && **text <= '9') value = value * 10 + *(*text)++ - '0';
    if (**text != '\0') (*text)++;
    return value;
}

/// Returns the days from 1970-01-01 to a day of the Gregorian calendar.
static long days(long year, long month, long day) {
    // Years begin in March, so that a leap day is their last.
    year -= month <= 2;
    month += month <= 2 ? 9 : -3;
    return 365 * year + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 719469;
}

/// Returns the seconds since 1970 that the file says to the library with the address `caller`; -1 for the system's time.
static long set_time(const void *caller) {
    char text[32] = "";
    Dl_info library;
    if (clock_file[0] == '\0') return -1;
    if (callers[0] != '\0' && (dladdr(caller, &library) == 0 || strstr(library.dli_fname, callers) == NULL)) return -1;
    int file = open(clock_file, O_RDONLY | O_CLOEXEC);
    if (file < 0) return -1;
    ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length < 19) return -1;
    const char *rest = text;
    long year = number(&rest), month = number(&rest), day = number(&rest);
    long hour = number(&rest), minute = number(&rest), second = number(&rest);
    return days(year, month, day) * 86400 + hour * 3600 + minute * 60 + second;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    long seconds = clock == CLOCK_REALTIME ? set_time(__builtin_return_address(0)) : -1;
    if (seconds < 0) return (int)syscall(SYS_clock_gettime, clock, time);
    *time = (struct timespec){.tv_sec = seconds};
    return 0;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    long seconds = set_time(__builtin_return_address(0));
    if (seconds < 0) return (int)syscall(SYS_gettimeofday, time, zone);
    *time = (struct timeval){.tv_sec = seconds};
    return 0;
}

time_t time(time_t *copy) {
    struct timespec now;
    long seconds = set_time(__builtin_return_address(0));
    if (seconds < 0) {
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
        seconds = now.tv_sec;
    }
    if (copy != NULL) *copy = seconds;
    return seconds;
}
