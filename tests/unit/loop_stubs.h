#pragma once
/* An engine and a wire that are lists, for tests of the loop. Link them instead of the real ones. */
#include "vtddl/engine.h"

#define STUB_ITEMS_MAX 1024

extern struct reply stub_replies[STUB_ITEMS_MAX]; /* what the engine was told, in order */
extern size_t stub_reply_count;

void stubs_reset(void);

/** stub_ask() - the engine asks for this in the next step; an RPC is answered at once, under tag 1000 */
void stub_ask(struct request request);
