#pragma once
/*
 * progress: what a change is doing, on standard error.
 *
 * On a terminal a block of lines is redrawn: a header, what it waits for, one line for each shard
 * (those that are not ready first, where they do not all fit). Elsewhere one log line for each change of
 * phase or of a shard's state, at most one for each shard's progress in half a minute, and one that says
 * why nothing moves, with what a person can do about it, where that stands for ten seconds.
 */
#include "vtddl/engine.h"

struct progress_view;

struct progress_view *progress_new(const char *keyspace);

/** progress_update() - show what is new in @view; cheap when nothing is */
void progress_update(struct progress_view *progress, const struct view *view);

/** progress_free() - takes the block away, so that the result can be printed. NULL is fine */
struct progress_view *progress_free(struct progress_view *progress);
