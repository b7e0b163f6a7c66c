#pragma once
/*
 * clock: the two clocks of the program. All times are milliseconds.
 *
 * Waits and deadlines use the monotonic clock (CLOCK_BOOTTIME: it runs on while
 * the machine sleeps); the wall clock is only written down for people. core never
 * asks a clock: it is given the time.
 */
#include <stdint.h>

int64_t clock_monotonic_ms(void);
int64_t clock_wall_ms(void);

/** clock_format() - RFC 3339 in UTC with milliseconds; @ret has CLOCK_TEXT_SIZE bytes */
#define CLOCK_TEXT_SIZE 32
void clock_format(int64_t wall_ms, char ret[CLOCK_TEXT_SIZE]);
