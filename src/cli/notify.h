#pragma once
/*
 * notify: what systemd is told by a service of Type=notify.
 *
 * The protocol is one datagram to the socket that NOTIFY_SOCKET names. libsystemd speaks it too, but with the
 * six libraries it brings every one-shot command would take 0.7 ms longer to load (measured, of 1.4 ms for a
 * program that does nothing).
 */
#include <stdbool.h>
#include <stdint.h>

#include "vtddl/error.h"

/**
 * notify_send() - lines of assignments, "READY=1\nSTATUS=..."; never blocks
 *
 * Return: false, it did not get through just now; true, it did, or nobody listens.
 */
bool notify_send(const char *format, ...) printf_like(1, 2);

/** notify_watchdog_ms() - how often WATCHDOG=1 must be sent at the latest; 0: it is not asked for */
int64_t notify_watchdog_ms(void);
