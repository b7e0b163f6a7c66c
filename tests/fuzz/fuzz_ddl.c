/*
 * Goal: no text crashes the guard, and the normal form is safe to make names from.
 * Method: properties of every text that is taken:
 *
 *  - the normal form is not longer, and taken as well;
 *  - its normal form is itself;
 *  - it is taken apart into the same struct ddl;
 *  - it is not too long, and names the table and what is promised;
 *  - a definition is equal to itself, and never keeps both a promise and its opposite.
 */
#include "fuzz.h"
#include "vtddl/ddl.h"

#define check(holds, what) fuzz_check(holds, "%s", what)

static bool is_same(const struct ddl *a, const struct ddl *b)
{
	if (a->action != b->action || a->or_replace != b->or_replace || a->if_exists != b->if_exists ||
	    a->if_not_exists != b->if_not_exists || a->understood != b->understood ||
	    a->promise_count != b->promise_count || strcmp(a->table, b->table) != 0)
		return false;
	for (size_t i = 0; i < a->promise_count; i++) {
		if (a->promises[i].kind != b->promises[i].kind ||
		    strcmp(a->promises[i].name, b->promises[i].name) != 0)
			return false;
	}
	return true;
}

static void check_definition(const char *text, const struct ddl *ddl)
{
	static const enum ddl_promise_kind opposite[] = {
		[DDL_COLUMN_PRESENT] = DDL_COLUMN_ABSENT,
		[DDL_COLUMN_ABSENT] = DDL_COLUMN_PRESENT,
		[DDL_INDEX_PRESENT] = DDL_INDEX_ABSENT,
		[DDL_INDEX_ABSENT] = DDL_INDEX_PRESENT,
	};

	const char *half = text + strlen(text) / 2;

	check(ddl_definition_equal(text, text), "a definition is equal to itself");
	check(ddl_definition_equal(text, half) == ddl_definition_equal(half, text),
	      "two definitions are equal both ways");
	for (size_t i = 0; i < ddl->promise_count; i++) {
		struct ddl_promise other = ddl->promises[i];

		other.kind = opposite[other.kind];
		check(!ddl_definition_keeps(text, &ddl->promises[i]) || !ddl_definition_keeps(text, &other),
		      "a promise and its opposite are not both kept");
	}
}

/* A name may be written `with a `` in it`, so it is its letters that are looked for, one behind the other. */
static bool is_within(const char *name, const char *text, size_t length)
{
	const char *end = text + length;

	for (; *name; name++, text++) {
		text = memchr(text, *name, (size_t)(end - text));
		if (!text)
			return false;
	}
	return true;
}

static void check_text(const char *text, size_t length)
{
	/* Of the exact size: a byte too many is seen by AddressSanitizer. */
	char *once = malloc(length + 1), *twice = malloc(length + 1);
	struct ddl first, second;
	struct error error = { .code = ERROR_NONE };

	check(once && twice, "memory");
	if (ddl_parse(text, length, &first, once, &error) < 0) {
		check(error.code == ERROR_INPUT && error.text[0], "a refusal has its reason");
	} else {
		check(length <= DDL_MAX, "a statement that is too long is refused");
		check(strlen(once) <= length, "the normal form is not longer");
		check(first.table[0] && is_within(first.table, text, length),
		      "the table is named in the statement");
		for (size_t i = 0; i < first.promise_count; i++)
			check(is_within(first.promises[i].name, text, length),
			      "what is promised is named in the statement");
		check(ddl_parse(once, strlen(once), &second, twice, &error) == 0, "the normal form is taken");
		check(strcmp(once, twice) == 0, "the normal form of a normal form is itself");
		check(is_same(&first, &second), "the normal form means the same");
		check(ddl_parse(text, length, &second, NULL, NULL) == 0 && is_same(&first, &second),
		      "the normal form may be left out");
		check_definition(once, &first);
	}
	free(once);
	free(twice);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	static const struct ddl some = {
		.promises = { { DDL_COLUMN_PRESENT, "c" }, { DDL_INDEX_ABSENT, "k" } },
		.promise_count = 2,
	};
	char *text = malloc(length + 1);

	check(text != NULL, "memory");
	memcpy(text, bytes, length);
	text[length] = '\0';
	check_text(text, length);
	check_definition(text, &some);
	free(text);
	return 0;
}
