// SPDX-License-Identifier: Apache-2.0
// Copyright the Playgate authors.

// A clock that tests set, for a program that is started with this library in LD_PRELOAD: the file that FAKETIME_TIMESTAMP_FILE
// names has the time of the day in UTC, `2025-01-31 12:00:00`. Without such a file, the system's clock goes. libfaketime does the
// same, but allocates memory before it can answer, which a program whose allocator asks for the time waits for without end.

#define _GNU_SOURCE 1

#include <fcntl.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

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

/// Reads the file. Returns seconds since 1970; -1 if there is none.
static long set_time(void) {
    const char *path = getenv("FAKETIME_TIMESTAMP_FILE");
    char text[32] = "";
    int file = path == NULL ? -1 : open(path, O_RDONLY | O_CLOEXEC);
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
    long seconds = clock == CLOCK_REALTIME ? set_time() : -1;
    if (seconds < 0) return (int)syscall(SYS_clock_gettime, clock, time);
    time->tv_sec = seconds;
    time->tv_nsec = 0;
    return 0;
}
