#include "options.h"

#include <assert.h>
#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "nearest.h"
#include "servers.h"
#include "vtddl/change.h"
#include "vtddl/identity.h"
#include "vtddl/strbuf.h"

#define LIST_MAX 32
#define ADDRESS_MAX 262 /* a name of DNS, brackets and a port */

/* ---- Finding a row ---- */

static bool names_equal(const char *given, const char *name)
{
	for (; *given && *name; given++, name++)
		if ((*given == '_' ? '-' : *given) != *name)
			return false;
	return !*given && !*name;
}

enum option_id option_find(const char *name)
{
	for (int id = 0; id < _OPTION_MAX; id++)
		if (names_equal(name, option_table[id].name))
			return (enum option_id)id;
	return _OPTION_INVALID;
}

const char *option_nearest(const char *name, bool settable_only)
{
	struct nearest nearest = { .word = name };

	for (int id = 0; id < _OPTION_MAX; id++)
		if (option_table[id].settable || !settable_only)
			nearest_offer(&nearest, option_table[id].name);
	return nearest.best;
}

/* ---- Reading values ---- */

static bool parse_number(const char *text, int64_t *ret)
{
	char *end;

	errno = 0;
	*ret = strtoll(text, &end, 10);
	return isdigit((unsigned char)text[0]) && !*end && !errno;
}

static const struct {
	const char *name;
	int64_t ms;
} units[] = { { "ms", 1 }, { "s", 1000 }, { "m", 60000 }, { "h", 3600000 }, { "d", 86400000 } };

static int64_t unit_ms(const char *text, size_t length)
{
	for (size_t i = 0; i < sizeof units / sizeof units[0]; i++)
		if (strlen(units[i].name) == length && !strncmp(units[i].name, text, length))
			return units[i].ms;
	return 0;
}

/* "1h30m", "90s", "500ms": whole numbers, each with its unit. */
static bool parse_duration(const char *text, int64_t *ret)
{
	int64_t total = 0;

	if (!*text)
		return false;
	while (*text) {
		char *end;
		int64_t count, unit;
		size_t length;

		if (!isdigit((unsigned char)*text))
			return false;
		errno = 0;
		count = strtoll(text, &end, 10);
		for (length = 0; isalpha((unsigned char)end[length]); length++)
			;
		unit = unit_ms(end, length);
		if (errno || !unit || count > INT64_MAX / unit / 2 || total > INT64_MAX / 2)
			return false;
		total += count * unit;
		text = end + length;
	}
	*ret = total;
	return true;
}

static bool parse_flag(const char *text, bool *ret)
{
	static const char *const yes[] = { "true", "1", "yes", "on" }, *const no[] = { "false", "0", "no",
										       "off" };

	for (size_t i = 0; i < sizeof yes / sizeof yes[0]; i++) {
		if (!strcasecmp(text, yes[i]) || !strcasecmp(text, no[i])) {
			*ret = !strcasecmp(text, yes[i]);
			return true;
		}
	}
	return false;
}

static bool is_address(const char *text)
{
	const char *colon = strrchr(text, ':');
	bool bracketed = text[0] == '[';
	int64_t port;

	if (strlen(text) > ADDRESS_MAX || !colon || colon == text || !parse_number(colon + 1, &port) ||
	    port < 1 || port > 65535)
		return false;
	if (bracketed ? colon[-1] != ']' : memchr(text, ':', (size_t)(colon - text)) != NULL)
		return false;
	for (const char *at = text; at < colon; at++)
		if (!isgraph((unsigned char)*at) || strchr("/@,\"'", *at))
			return false;
	return true;
}

static bool is_choice(const char *text, const char *choices)
{
	size_t length = strcspn(text, "|");

	if (text[length])
		return false;
	for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
		if (length && !strncmp(at, text, length) && (at[length] == '|' || !at[length]))
			return true;
	return false;
}

/* ---- The flags of ddl_strategy that may be added ---- */

static const struct strategy_flag {
	const char *name;
	bool has_duration;
	int64_t min_ms, max_ms;
} strategy_flags[] = {
	{ "--allow-concurrent" },
	{ "--prefer-instant-ddl" },
	{ "--analyze-table" },
	{ "--retain-artifacts", true, 0, 365LL * 86400000 },
	{ "--force-cut-over-after", true, 0, 365LL * 86400000 },
	{ "--cut-over-threshold", true, 5000, 30000 },
};

#define STRATEGY_FLAGS (sizeof strategy_flags / sizeof strategy_flags[0])

static int unknown_flag(const char *word, size_t length, struct error *reterr)
{
	struct strbuf given cleanup(strbuf_release), shown cleanup(strbuf_release);

	strbuf_init(&given, 80);
	strbuf_init(&shown, 256);
	strbuf_add(&given, word, length);
	strbuf_add_shown(&shown, given.text, 80);
	return error_set(reterr, ERROR_USAGE,
			 "\"%s\" is not a strategy flag that may be added; the list is in vtddl run --help",
			 shown.text);
}

/* Checks one word of the list; marks it in @seen. */
static int check_strategy_word(const char *word, size_t length, unsigned *seen, struct error *reterr)
{
	const char *equals = memchr(word, '=', length);
	size_t name_length = equals ? (size_t)(equals - word) : length;
	char value[32] = "";
	int64_t ms = 0;
	size_t i;

	for (i = 0; i < STRATEGY_FLAGS; i++)
		if (strlen(strategy_flags[i].name) == name_length &&
		    !strncmp(strategy_flags[i].name, word, name_length))
			break;
	if (i == STRATEGY_FLAGS)
		return unknown_flag(word, length, reterr);
	if (*seen & 1u << i)
		return error_set(reterr, ERROR_USAGE, "the strategy flag %s is given twice",
				 strategy_flags[i].name);
	*seen |= 1u << i;
	if (!equals != !strategy_flags[i].has_duration)
		return error_set(reterr, ERROR_USAGE, "the strategy flag %s %s", strategy_flags[i].name,
				 equals ? "takes no value" : "needs a duration, for example =10s");
	if (!equals)
		return 0;
	if (length - name_length - 1 < sizeof value)
		memcpy(value, equals + 1, length - name_length - 1);
	if (!parse_duration(value, &ms) || ms < strategy_flags[i].min_ms || ms > strategy_flags[i].max_ms ||
	    strchr(value, 'd'))
		return error_set(reterr, ERROR_USAGE,
				 "the value of the strategy flag %s must be a duration in h, m or s%s",
				 strategy_flags[i].name, strategy_flags[i].min_ms ? ", from 5s to 30s" : "");
	return 0;
}

/* Calls check_strategy_word() for every word and joins them with one space in @joined. */
static int check_strategy(const char *text, struct strbuf *joined, struct error *reterr)
{
	unsigned seen = 0;

	for (;;) {
		size_t length;

		text += strspn(text, " \t\r\n");
		length = strcspn(text, " \t\r\n");
		if (length == 0)
			return 0;
		if (check_strategy_word(text, length, &seen, reterr) < 0)
			return -1;
		if (joined->length)
			strbuf_adds(joined, " ");
		strbuf_add(joined, text, length);
		text += length;
	}
}

const char *options_strategy(struct options *options)
{
	const char *text = options_text(options, OPT_DDL_STRATEGY_FLAGS);
	struct strbuf joined cleanup(strbuf_release);

	strbuf_init(&joined, 1024);
	if (!text || check_strategy(text, &joined, NULL) < 0 || !joined.length)
		return NULL;
	return arena_strdup(&options->arena, joined.text);
}

/* ---- Checking a value; one function for each type ---- */

static int check_flag(const struct option_spec *spec, const char *text, struct error *reterr)
{
	bool flag;

	(void)spec;
	return parse_flag(text, &flag) ? 0 : error_set(reterr, ERROR_USAGE, "must be true or false");
}

static int check_text(const struct option_spec *spec, const char *text, struct error *reterr)
{
	(void)spec;
	/* An empty statement is bad input, which is said where it is read. */
	return *text || spec == &option_table[OPT_SQL] ? 0
						       : error_set(reterr, ERROR_USAGE, "may not be empty");
}

static int check_address(const struct option_spec *spec, const char *text, struct error *reterr)
{
	(void)spec;
	return is_address(text) ? 0
				: error_set(reterr, ERROR_USAGE,
					    "must be of the form host:port, for example localhost:15999");
}

static int check_server(const struct option_spec *spec, const char *text, struct error *reterr)
{
	if (!server_is_keyed(text))
		return check_address(spec, text, reterr);
	if (server_check(text, reterr) < 0)
		return -1;
	return check_address(spec, strchr(text, '=') + 1, reterr);
}

static int check_listen(const struct option_spec *spec, const char *text, struct error *reterr)
{
	size_t length = strlen(text);

	(void)spec;
	/* Port 0: any; for tests, and for several on one host. */
	if (!strcmp(text, "off") || is_address(text) || (length > 2 && !strcmp(text + length - 2, ":0")))
		return 0;
	return error_set(reterr, ERROR_USAGE, "must be of the form host:port, or off");
}

static int check_duration(const struct option_spec *spec, const char *text, struct error *reterr)
{
	int64_t ms;

	if (!parse_duration(text, &ms))
		return error_set(reterr, ERROR_USAGE,
				 "must be a duration with its unit, for example 500ms, 15s, 1h30m");
	if (ms < spec->min || ms > spec->max)
		return error_set(reterr, ERROR_USAGE, "must lie between %lldms and %llds",
				 (long long)spec->min, (long long)spec->max / 1000);
	return 0;
}

static int check_number(const struct option_spec *spec, const char *text, struct error *reterr)
{
	int64_t number;

	if (!parse_number(text, &number) || number < spec->min || number > spec->max)
		return error_set(reterr, ERROR_USAGE, "must be a number between %lld and %lld",
				 (long long)spec->min, (long long)spec->max);
	return 0;
}

static int check_choice(const struct option_spec *spec, const char *text, struct error *reterr)
{
	return is_choice(text, spec->choices)
		       ? 0
		       : error_set(reterr, ERROR_USAGE, "must be one of %s", spec->choices);
}

static int check_strategy_flags(const struct option_spec *spec, const char *text, struct error *reterr)
{
	struct strbuf joined cleanup(strbuf_release);

	(void)spec;
	strbuf_init(&joined, 1024);
	return check_strategy(text, &joined, reterr);
}

/* mysql://USER@HOST[:PORT]/DATABASE; what is wrong with it, and never the text itself, which may hold a
 * secret. */
static const char *bad_mysql_url(const char *rest)
{
	size_t authority = strcspn(rest, "/"), user = 0;

	for (size_t i = 0; i < authority; i++)
		if (rest[i] == '@')
			user = i;
	if (memchr(rest, ':', user))
		return "must not hold a password; write it into a file and give --store-password-file";
	if (!user || user + 1 == authority || !rest[authority] || !rest[authority + 1] ||
	    strchr(rest + authority + 1, '/'))
		return "must be of the form mysql://USER@HOST[:PORT]/DATABASE";
	return NULL;
}

static int check_store_url(const struct option_spec *spec, const char *text, struct error *reterr)
{
	const char *bad = "must be of the form sqlite:PATH or mysql://USER@HOST[:PORT]/DATABASE";

	(void)spec;
	if (!strncmp(text, "sqlite:", 7) && text[7])
		bad = NULL;
	else if (!strncmp(text, "mysql://", 8))
		bad = bad_mysql_url(text + 8);
	return bad ? error_set(reterr, ERROR_USAGE, "%s", bad) : 0;
}

static int check_cluster_name(const struct option_spec *spec, const char *text, struct error *reterr)
{
	(void)spec;
	return cluster_is_valid(text)
		       ? 0
		       : error_set(reterr, ERROR_USAGE,
				   "must be 1 to 64 letters, digits, underscores, dots or dashes");
}

static int (*const checks[_OPTION_TYPE_MAX])(const struct option_spec *, const char *, struct error *) = {
	[OPTION_FLAG] = check_flag,	      [OPTION_TEXT] = check_text,
	[OPTION_LIST] = check_text,	      [OPTION_ADDRESS] = check_address,
	[OPTION_SERVER] = check_server,	      [OPTION_LISTEN] = check_listen,
	[OPTION_DURATION] = check_duration,   [OPTION_NUMBER] = check_number,
	[OPTION_CHOICE] = check_choice,	      [OPTION_STRATEGY] = check_strategy_flags,
	[OPTION_STORE_URL] = check_store_url, [OPTION_CLUSTER_NAME] = check_cluster_name,
};

/* ---- Setting ---- */

void options_init(struct options *options)
{
	memset(options, 0, sizeof *options);
	arena_init(&options->arena, 0);
	for (int id = 0; id < _OPTION_MAX; id++) {
		struct option_value *value = &options->values[id];

		value->where = "default";
		if (!option_table[id].preset)
			continue;
		value->texts = arena_array(&options->arena, 1, sizeof *value->texts);
		value->texts[0] = option_table[id].preset;
		value->count = 1;
	}
}

void options_release(struct options *options)
{
	arena_release(&options->arena);
}

int options_set(struct options *options, enum option_id id, const char *text, enum option_source source,
		const char *where, struct error *reterr)
{
	const struct option_spec *spec = &option_table[id];
	struct option_value *value = &options->values[id];
	enum error_code code = source == SOURCE_FLAG ? ERROR_USAGE : ERROR_CONFIG;
	struct error why;

	if (checks[spec->type](spec, text, &why) < 0)
		return error_set(reterr, code, "%s %s", where, why.text);
	if (spec->type == OPTION_SERVER && server_is_keyed(text))
		return server_add(options, text, source, where, reterr);
	if (value->source > source)
		return 0;
	if (value->source < source) {
		value->texts = arena_array(&options->arena, spec->type == OPTION_LIST ? LIST_MAX : 1,
					   sizeof *value->texts);
		value->count = 0;
	}
	if (value->count && spec->type != OPTION_LIST && spec->type != OPTION_FLAG && source == SOURCE_FLAG)
		return error_set(reterr, code, "%s is given twice", where);
	if (spec->type != OPTION_LIST)
		value->count = 0;
	if (value->count == LIST_MAX)
		return error_set(reterr, code, "%s is given more than %d times", where, LIST_MAX);
	value->source = source;
	value->where = arena_strdup(&options->arena, where);
	value->texts[value->count++] = arena_strdup(&options->arena, text);
	return 0;
}

static int short_option(const char *word, struct error *reterr)
{
	struct strbuf shown cleanup(strbuf_release);

	strbuf_init(&shown, 256);
	strbuf_add_shown(&shown, word, 20);
	return error_set(reterr, ERROR_USAGE, "there is no short option %s; long ones begin with --", shown.text);
}

static int unknown_option(const char *name, struct error *reterr)
{
	const char *nearest = option_nearest(name, false);
	struct strbuf shown cleanup(strbuf_release);

	strbuf_init(&shown, 256);
	strbuf_add_shown(&shown, name, 80);
	if (nearest)
		return error_set(reterr, ERROR_USAGE, "there is no option --%s; did you mean --%s?",
				 shown.text, nearest);
	return error_set(reterr, ERROR_USAGE, "there is no option --%s; `vtddl help COMMAND` lists them",
			 shown.text);
}

/* One option at argv[*at]; moves *at to the last word it used. */
static int parse_option(struct options *options, int argc, char **argv, int *at, struct error *reterr)
{
	const char *word = argv[*at] + 2, *equals = strchr(word, '='), *text;
	char *name = arena_memdup(&options->arena, word, equals ? (size_t)(equals - word) : strlen(word));
	enum option_id id = option_find(name);

	if (id == _OPTION_INVALID)
		return unknown_option(name, reterr);
	if (equals)
		text = equals + 1;
	else if (!option_table[id].argument)
		text = "true";
	else if (*at + 1 < argc)
		text = argv[++*at];
	else
		return error_set(reterr, ERROR_USAGE, "--%s needs a value: --%s %s", option_table[id].name,
				 option_table[id].name, option_table[id].argument);
	return options_set(options, id, text, SOURCE_FLAG,
			   arena_printf(&options->arena, "--%s", option_table[id].name), reterr);
}

int options_parse(struct options *options, int argc, char **argv, const char ***ret_args, size_t *ret_count,
		  struct error *reterr)
{
	bool ended = false;

	*ret_count = 0;
	*ret_args = arena_array(&options->arena, (size_t)argc + 1, sizeof **ret_args);
	for (int at = 1; at < argc; at++) {
		const char *word = argv[at];

		if (ended || word[0] != '-' || !word[1]) {
			(*ret_args)[(*ret_count)++] = word;
		} else if (!strcmp(word, "--")) {
			ended = true;
		} else if (!strcmp(word, "-h")) {
			if (options_set(options, OPT_HELP, "true", SOURCE_FLAG, "-h", reterr) < 0)
				return -1;
		} else if (word[1] != '-') {
			return short_option(word, reterr);
		} else if (parse_option(options, argc, argv, &at, reterr) < 0) {
			return -1;
		}
	}
	return 0;
}

/* ---- Reading ---- */

bool options_is_set(const struct options *options, enum option_id id)
{
	return options->values[id].source != SOURCE_DEFAULT;
}

const char *options_text(const struct options *options, enum option_id id)
{
	const struct option_value *value = &options->values[id];

	return value->count ? value->texts[0] : NULL;
}

bool options_flag(const struct options *options, enum option_id id)
{
	const char *text = options_text(options, id);
	bool flag = false;

	return text && parse_flag(text, &flag) && flag;
}

int64_t options_number(const struct options *options, enum option_id id)
{
	const char *text = options_text(options, id);
	int64_t number = 0;
	bool good = false;

	if (text && option_table[id].type == OPTION_DURATION)
		good = parse_duration(text, &number);
	else if (text)
		good = parse_number(text, &number);
	assert(good);
	return number;
}
