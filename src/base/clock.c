#include "vtddl/clock.h"

#include "vtddl/banned.h"

static int64_t clock_read_ms(clockid_t id)
{
	struct timespec now;

	if (clock_gettime(id, &now) != 0)
		abort();
	return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int64_t clock_monotonic_ms(void)
{
	return clock_read_ms(CLOCK_BOOTTIME);
}

int64_t clock_wall_ms(void)
{
	return clock_read_ms(CLOCK_REALTIME);
}

void clock_format(int64_t wall_ms, char ret[CLOCK_TEXT_SIZE])
{
	int ms = (int)(wall_ms % 1000);
	time_t seconds = (time_t)(wall_ms / 1000);
	struct tm utc;

	if (ms < 0) {
		ms += 1000;
		seconds--;
	}
	/* RFC 3339 has four digits for the year. */
	if (!gmtime_r(&seconds, &utc) || utc.tm_year < -1900 || utc.tm_year > 9999 - 1900) {
		snprintf(ret, CLOCK_TEXT_SIZE, "%lldms", (long long)wall_ms);
		return;
	}
	snprintf(ret, CLOCK_TEXT_SIZE, "%04u-%02u-%02uT%02u:%02u:%02u.%03uZ",
		 (unsigned)(utc.tm_year + 1900) % 10000u, (unsigned)(utc.tm_mon + 1) % 100u,
		 (unsigned)utc.tm_mday % 100u, (unsigned)utc.tm_hour % 100u, (unsigned)utc.tm_min % 100u,
		 (unsigned)utc.tm_sec % 100u, (unsigned)ms % 1000u);
}
