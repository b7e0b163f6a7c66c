#pragma once
/*
 * wire_private: what only the tests of wire.c may use.
 */
#include <stddef.h>
#include <stdint.h>

#include "vtddl/wire.h"

/** wire_set_watchdog_ms() - answer calls @grace_ms after their deadline; negative: before it */
void wire_set_watchdog_ms(struct wire *wire, int64_t grace_ms);

/** wire_set_silence_ms() - another connection after so much silence of a server; of all that there are now */
void wire_set_silence_ms(struct wire *wire, int64_t silence_ms);

/** wire_calls_under_way() - calls that the library has not ended, answered or not */
size_t wire_calls_under_way(const struct wire *wire);
