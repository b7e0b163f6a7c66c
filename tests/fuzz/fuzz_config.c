/*
 * Goal: whatever is on the command line, in the environment or in the configuration file, it is taken as it
 * is meant or refused in one sentence; and no refusal repeats a secret. Method: the bytes are words, each
 * ended by a NUL: the file, then variables ("VTDDL_..."), then the command line. Of every input:
 *
 *  - a refusal is ERROR_USAGE or ERROR_CONFIG with a text that a terminal can show;
 *  - of what is taken every value can be read, and lies between its borders;
 *  - the flags of a strategy are words of the list, each once;
 *  - a password in the URL of a store is refused, and not repeated.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "config.h"
#include "fuzz.h"
#include "servers.h"

#define WORDS_MAX 64
#define SECRET "SeCrEt"

extern char **environ;

static void check_refusal(const struct error *error)
{
	fuzz_check(error->code == ERROR_USAGE || error->code == ERROR_CONFIG, "a refusal of code %d",
		   error->code);
	fuzz_check(error->text[0] && fuzz_is_quiet(error->text), "a refusal that a terminal cannot show: %s",
		   error->text);
}

static void check_strategy(struct options *options)
{
	static const char *const flags[] = { "--allow-concurrent",	"--prefer-instant-ddl",
					     "--analyze-table",		"--retain-artifacts=",
					     "--force-cut-over-after=", "--cut-over-threshold=" };
	const char *at = options_strategy(options);
	unsigned seen = 0;

	while (at && *at) {
		size_t i = 0;

		while (i < 6 && strncmp(at, flags[i], strlen(flags[i])) != 0)
			i++;
		fuzz_check(i < 6, "the strategy has a flag of its own: %s", at);
		fuzz_check(!(seen & 1u << i), "a flag is there twice");
		seen |= 1u << i;
		at += strcspn(at, " ");
		at += *at == ' ';
	}
}

static void check_values(struct options *options)
{
	for (int id = 0; id < _OPTION_MAX; id++) {
		const struct option_spec *spec = &option_table[id];
		const struct option_value *value = &options->values[id];
		const char *text = options_text(options, (enum option_id)id);

		fuzz_check(value->where && (value->count == 0 || value->texts[value->count - 1]),
			   "%s has no text", spec->name);
		if (spec->type == OPTION_FLAG)
			(void)options_flag(options, (enum option_id)id);
		if (text && (spec->type == OPTION_NUMBER || spec->type == OPTION_DURATION)) {
			int64_t number = options_number(options, (enum option_id)id);

			fuzz_check(number >= spec->min && number <= spec->max, "%s is %lld", spec->name,
				   (long long)number);
		}
	}
	for (size_t i = 0; i < options->server_count; i++) {
		fuzz_check(options->servers[i].keyspace[0] && options->servers[i].address[0],
			   "a server of nobody");
		(void)server_is_in_force(options, &options->servers[i]);
	}
	fuzz_check(server_of(options, "commerce"), "a keyspace has no server");
	check_strategy(options);
}

/* Where a person would write it by mistake; the rest of the URL is any. */
static void check_secret(const char *rest)
{
	static const char *const forms[] = { "mysql://root:" SECRET "@%s", "mysql://%.20s:" SECRET "@host/db",
					     "mysql://u:" SECRET "@%s@host/db",
					     "mysql:/%.1s/u:" SECRET "@host/db" };

	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		struct error error = { 0 };
		struct options options;
		char *text;

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
		if (asprintf(&text, forms[i], rest) < 0)
			abort();
#pragma GCC diagnostic pop
		options_init(&options);
		if (options_set(&options, OPT_STORE, text, SOURCE_FLAG, "--store", &error) < 0)
			fuzz_check(!strstr(error.text, SECRET) || strstr(rest, SECRET),
				   "a secret is told: %s", error.text);
		else
			fuzz_check(i != 0 || strchr("/", *rest) || !strchr(rest, '/'),
				   "a password is taken: %s", text);
		options_release(&options);
		free(text);
	}
}

static void load(char **words, size_t count, const char *file)
{
	char *arguments[WORDS_MAX + 2] = { "vtddl" }, *variables[WORDS_MAX + 1] = { 0 }, **kept = environ,
				    path[32];
	size_t argument_count = 1, variable_count = 0, positional_count;
	const char **positionals;
	struct error error = { 0 };
	struct options options;
	int fd = memfd_create("config", MFD_CLOEXEC);

	fuzz_check(fd >= 0 && write(fd, file, strlen(file)) == (ssize_t)strlen(file), "no file in memory");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	for (size_t i = 0; i < count; i++)
		if (strncmp(words[i], "VTDDL_", 6) == 0)
			variables[variable_count++] = words[i];
		else
			arguments[argument_count++] = words[i];
	options_init(&options);
	environ = variables;
	if (options_parse(&options, (int)argument_count, arguments, &positionals, &positional_count, &error) <
	    0) {
		check_refusal(&error);
	} else if (!options_is_set(&options, OPT_CONFIG) &&
		   (options_set(&options, OPT_CONFIG, path, SOURCE_FLAG, "--config", &error) < 0 ||
		    config_load(&options, &error) < 0)) {
		check_refusal(&error);
	} else {
		fuzz_check(positional_count < argument_count, "more words than there are");
		check_values(&options);
	}
	environ = kept;
	options_release(&options);
	close(fd);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	char *text = fuzz_copy(bytes, length, true), *words[WORDS_MAX];
	size_t count = 0;

	for (char *at = text + strlen(text) + 1; at < text + length && count < WORDS_MAX;
	     at += strlen(at) + 1)
		words[count++] = at;
	load(words, count, text);
	check_secret(count ? words[0] : text);
	free(text);
	return 0;
}
