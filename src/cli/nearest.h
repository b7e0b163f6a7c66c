#pragma once
/*
 * nearest: which of some names was probably meant by a wrong word.
 *
 *	struct nearest nearest = { .word = "verfy" };
 *	for (...)
 *		nearest_offer(&nearest, names[i]);
 *	if (nearest.best) ...
 */
#include <stddef.h>

struct nearest {
	const char *word;
	const char *best; /* NULL: nothing is near enough */
	size_t distance;
};

void nearest_offer(struct nearest *nearest, const char *candidate);
