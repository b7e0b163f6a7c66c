#include "nearest.h"

#include <stdbool.h>
#include <string.h>

#define WORD_MAX 40

static size_t smallest(size_t a, size_t b, size_t c)
{
	size_t least = a < b ? a : b;

	return least < c ? least : c;
}

/* '_' counts as '-', as in the options themselves. */
static char letter(const char *word, size_t at)
{
	return word[at] == '_' ? '-' : word[at];
}

/* Insertions, deletions, changes and swaps of neighbours from @a to @b. */
static size_t edit_distance(const char *a, const char *b)
{
	size_t rows[3][WORD_MAX + 1], length_a = strlen(a), length_b = strlen(b);

	if (length_a > WORD_MAX || length_b > WORD_MAX)
		return WORD_MAX;
	for (size_t j = 0; j <= length_b; j++)
		rows[0][j] = j;
	for (size_t i = 1; i <= length_a; i++) {
		size_t *row = rows[i % 3], *above = rows[(i + 2) % 3], *before = rows[(i + 1) % 3];

		row[0] = i;
		for (size_t j = 1; j <= length_b; j++) {
			bool same = letter(a, i - 1) == b[j - 1];

			row[j] = smallest(above[j] + 1, row[j - 1] + 1, above[j - 1] + !same);
			if (i > 1 && j > 1 && letter(a, i - 1) == b[j - 2] && letter(a, i - 2) == b[j - 1])
				row[j] = smallest(row[j], row[j], before[j - 2] + 1);
		}
	}
	return rows[length_a % 3][length_b];
}

void nearest_offer(struct nearest *nearest, const char *candidate)
{
	size_t length = strlen(nearest->word);
	size_t distance = edit_distance(nearest->word, candidate);
	size_t allowed = length < 4 ? 1 : length / 3;

	/* The beginning of a name is near, however much is missing. */
	if (length >= 2 && !strncmp(nearest->word, candidate, length))
		distance = 0;
	if (distance > allowed || (nearest->best && distance >= nearest->distance))
		return;
	nearest->best = candidate;
	nearest->distance = distance;
}
