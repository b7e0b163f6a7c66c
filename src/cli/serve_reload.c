#include "serve_reload.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "config.h"
#include "notify.h"
#include "output.h"
#include "vtddl/log.h"

/* Texts of every configuration that was in force may still be used by a proof under way: they are kept. */
static struct generation {
	struct generation *former;
	struct options options;
} * newest;

void serve_forget_reloads(void)
{
	while (newest) {
		struct generation *former = newest->former;

		options_release(&newest->options);
		free(newest);
		newest = former;
	}
}

static int read_again(struct options *fresh, const struct call *call, struct error *reterr)
{
	const char **words;
	size_t count;

	options_init(fresh);
	if (options_parse(fresh, call->argc, call->argv, &words, &count, reterr) < 0)
		return -1;
	return config_load(fresh, reterr);
}

static bool is_same(const struct option_value *a, const struct option_value *b)
{
	if (a->count != b->count)
		return false;
	for (size_t i = 0; i < a->count; i++)
		if (strcmp(a->texts[i], b->texts[i]))
			return false;
	return true;
}

/* What needs a restart stays as it was. */
static void keep_the_rest(const struct options *before, struct options *fresh)
{
	for (int id = 0; id < _OPTION_MAX; id++) {
		const struct log_field fields[] = { { "setting", option_table[id].name }, { NULL, NULL } };

		if (option_table[id].reloadable)
			continue;
		if (!is_same(&before->values[id], &fresh->values[id]))
			log_write(LOG_WARNING, "a setting that has changed needs a restart", fields);
		fresh->values[id] = before->values[id];
	}
}

static void say_failed(const char *message, const struct error *err)
{
	const struct log_field fields[] = { { "reason", err->text }, { NULL, NULL } };

	log_write(LOG_ERROR, message, fields);
}

static void put_in_force(struct serve *serve, struct options *fresh)
{
	struct session *session = &serve->session;
	struct error err;

	if (session_replace_wires(session, fresh, &err) < 0)
		say_failed("the channel to a vtctld stays as it was", &err);
	session_reload(session, fresh);
	output_log_level(fresh);
}

void serve_reload(struct serve *serve, const struct call *call)
{
	struct generation *generation = calloc(1, sizeof *generation);
	struct error err = { 0 };
	struct timespec now;

	if (!generation)
		abort();
	clock_gettime(CLOCK_MONOTONIC, &now);
	notify_send("RELOADING=1\nMONOTONIC_USEC=%" PRId64,
		    (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000);
	if (read_again(&generation->options, call, &err) < 0) {
		say_failed("the configuration was not taken over; the old one stays in force", &err);
		options_release(&generation->options);
		free(generation);
	} else {
		keep_the_rest(serve->session.options, &generation->options);
		generation->former = newest;
		newest = generation;
		put_in_force(serve, &generation->options);
		log_write(LOG_INFO, "the configuration was read again", NULL);
	}
	notify_send("READY=1");
}
