#include "servers.h"

#include <string.h>

#include "vtddl/change.h"
#include "vtddl/identity.h"

bool server_is_keyed(const char *text)
{
	return strchr(text, '=') != NULL;
}

int server_check(const char *text, struct error *reterr)
{
	size_t length = strcspn(text, "=");
	char name[KEYSPACE_MAX + 1] = "";

	if (length && text[length - 1] == '*')
		length--;
	if (length <= KEYSPACE_MAX)
		memcpy(name, text, length);
	if (length <= KEYSPACE_MAX && (keyspace_is_valid(name) || (!length && text[0] == '*')))
		return 0;
	return error_set(reterr, ERROR_USAGE,
			 "must name a keyspace before the \"=\", or the beginning of several and \"*\"");
}

/* Two lines of one file are in its place; two files are not. */
static bool is_same_place(const char *a, const char *b)
{
	size_t length = (size_t)(strrchr(a, ':') ? strrchr(a, ':') - a : (ptrdiff_t)strlen(a));

	return !strncmp(a, b, length) && (!b[length] || !strchr(b + length + 1, ':'));
}

int server_add(struct options *options, const char *text, enum option_source source, const char *where,
	       struct error *reterr)
{
	const char *keyspace = arena_memdup(&options->arena, text, strcspn(text, "=")),
		   *address = strchr(text, '=') + 1;
	struct server_option *entry = options->servers, *end = entry + options->server_count;

	for (; entry < end; entry++) {
		if (entry->source != source || strcmp(entry->keyspace, keyspace))
			continue;
		if (is_same_place(entry->where, where))
			return error_set(reterr, source == SOURCE_FLAG ? ERROR_USAGE : ERROR_CONFIG,
					 "%s gives a server of %s twice", where, keyspace);
		break; /* a later file */
	}
	if (!options->servers)
		options->servers = entry = end =
			arena_array(&options->arena, SERVERS_MAX, sizeof *options->servers);
	if (entry == end && options->server_count == SERVERS_MAX)
		return error_set(reterr, ERROR_USAGE, "%s: there are more than %d servers", where,
				 SERVERS_MAX);
	options->server_count += entry == end;
	*entry = (struct server_option){ .source = source,
					 .where = arena_strdup(&options->arena, where),
					 .keyspace = keyspace,
					 .address = arena_strdup(&options->arena, address) };
	return 0;
}

/* How much of its name the entry takes; 0: it is of other keyspaces. */
static size_t match_length(const struct server_option *entry, const char *keyspace)
{
	size_t length = strlen(entry->keyspace);

	if (entry->keyspace[length - 1] == '*')
		return strncmp(entry->keyspace, keyspace, length - 1) ? 0 : length;
	return strcmp(entry->keyspace, keyspace) ? 0 : length + 2; /* before a prefix and its star */
}

bool server_is_in_force(const struct options *options, const struct server_option *entry)
{
	if (entry->source < options->values[OPT_SERVER].source)
		return false;
	for (size_t i = 0; i < options->server_count; i++)
		if (options->servers[i].source > entry->source &&
		    !strcmp(options->servers[i].keyspace, entry->keyspace))
			return false;
	return true;
}

const char *server_of(const struct options *options, const char *keyspace)
{
	const struct server_option *best = NULL;
	size_t best_length = 0;

	for (size_t i = 0; keyspace && i < options->server_count; i++) {
		const struct server_option *entry = &options->servers[i];
		size_t length = match_length(entry, keyspace);

		if (!length || entry->source < options->values[OPT_SERVER].source)
			continue;
		if (!best || entry->source > best->source ||
		    (entry->source == best->source && length > best_length)) {
			best = entry;
			best_length = length;
		}
	}
	return best ? best->address : options_text(options, OPT_SERVER);
}
