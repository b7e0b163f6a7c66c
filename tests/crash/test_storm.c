/*
 * Everything at once, by seed: one to three controllers on clocks of their own, as daemons or in pipelines, one or two
 * keyspaces of up to sixteen shards, up to twenty changes that follow each other, people who release, cancel and meddle, and
 * for some virtual minutes every fault of storm_faults.def. Every invariant is checked at every step. Then all is well
 * again, every change must come to an end (I11), and the rest of an hour passes.
 *
 *	test_storm [FIRST [COUNT]]		these seeds, in one process; of one that fails a line says how to repeat it
 *	test_storm --seeds COUNT [--from FIRST]	likewise, in as many processes as there are processors
 *	test_storm --seconds TIME [--from FIRST]	for so long
 *	--jobs N	in so many processes
 *	--tries N	runs at most of the search for a smaller run that fails alike; 0: no search
 *	--progress	a line now and then
 *	--without 3,5-9, --controllers N, --changes N, --shards N	FIRST alone, without these strikes, with at most so many
 *	--tell		what strikes, is written and sent
 *	--faults	print the table of faults
 *
 * The same seed is the same run: of one seed in a hundred every message of two runs is compared.
 */
#include "storm.h"

#include <getopt.h>
#include <stdlib.h>
#include <unistd.h>

#define ALL_FIRE_SEEDS 2000 /* of so many every fault strikes */
#define TRIES 400
#define SEEDS 400

static const struct {
	uint64_t seed;
	const char *words;
} seeds[] = {
#define SEED(number, words) { number, words },
#include "storm_seeds.def"
#undef SEED
	{ 0, NULL },
};

static const char *const boundary_names[_BOUNDARY_KIND_MAX] = { "before store", "after store", "before rpc", "after rpc" };
static const char *const request_names[_REQUEST_KIND_MAX] = {
	[REQUEST_STORE_LEASE] = "lease", [REQUEST_STORE_RELEASE] = "release", [REQUEST_STORE_LIVE] = "live",
	[REQUEST_STORE_LIST] = "list",	 [REQUEST_STORE_INSERT] = "insert",   [REQUEST_STORE_UPDATE] = "update",
};

static const char *call_name(int call)
{
	return call < (int)_REQUEST_KIND_MAX ? request_names[call] : vtctld_method_name((enum vtctld_method)(call - _REQUEST_KIND_MAX));
}

/* What the engine asks for in these runs: no proof by VTGate, no check of the throttler; reads of a store have no after. */
static bool can_be_killed_at(enum boundary_kind kind, int call)
{
	bool is_store = call < (int)_REQUEST_KIND_MAX;

	if (is_store != (kind == BOUNDARY_STORE_BEFORE || kind == BOUNDARY_STORE_AFTER))
		return false;
	if (kind == BOUNDARY_STORE_AFTER && (call == REQUEST_STORE_LIST || call == REQUEST_STORE_LIVE))
		return false;
	return call_name(call) && call != (int)_REQUEST_KIND_MAX + VTCTLD_CHECK_THROTTLER;
}

/* Those that must have been struck in a run of many: what is written and sent. Reads are struck by chance. */
static bool decides(int call)
{
	if (call < (int)_REQUEST_KIND_MAX)
		return call != REQUEST_STORE_LIST && call != REQUEST_STORE_LIVE;
	return vtctld_method_is_effect((enum vtctld_method)(call - _REQUEST_KIND_MAX));
}

static bool tell_faults(const struct storm_totals *totals)
{
	bool all = true;

	for (int i = 0; i < _FAULT_NAME_MAX; i++) {
		printf("%10u  %-26s %s\n", totals->fired[i], storm_faults[i].name, storm_faults[i].words);
		all &= totals->fired[i] > 0;
	}
	for (int kind = 0; kind < _BOUNDARY_KIND_MAX; kind++) {
		printf("killed %s:", boundary_names[kind]);
		for (int call = 0; call < CALLS_MAX; call++) {
			if (!can_be_killed_at((enum boundary_kind)kind, call))
				continue;
			printf(" %s %u", call_name(call), totals->kills[kind][call]);
			all &= totals->kills[kind][call] > 0 || !decides(call);
		}
		printf("\n");
	}
	return all;
}

static int tell_totals(const struct storm_totals *totals)
{
	bool all = tell_faults(totals);

	printf("%llu seeds, %.0f virtual hours, up to %u controllers, %u changes, %u shards; %llu seeds twice, %llu messages alike\n",
	       (unsigned long long)totals->seeds, (double)totals->virtual_ms / (double)HOUR_MS, totals->most_controllers,
	       totals->most_changes, totals->most_shards, (unsigned long long)totals->twice,
	       (unsigned long long)totals->messages);
	printf("%llu changes: %u verified, %u cancelled, %u failed, %u stopped; %u late, %u behind one of those, %u with a shard gone, %u never begun\n",
	       (unsigned long long)totals->changes, totals->ends[PHASE_VERIFIED], totals->ends[PHASE_CANCELLED],
	       totals->ends[PHASE_FAILED], totals->ends[PHASE_STOPPED], totals->late, totals->held_up, totals->resharded,
	       totals->forgotten);
	if (totals->seeds < ALL_FIRE_SEEDS)
		return 0;
	if (!all)
		printf("ERROR: something of the tables above never happened\n");
	if (totals->ends[PHASE_VERIFIED] < totals->changes / 2)
		printf("ERROR: less than half of the changes were verified\n");
	return !all || totals->ends[PHASE_VERIFIED] < totals->changes / 2;
}

static void read_without(const char *list, bool ret[ENTRIES_MAX])
{
	for (char *at = (char *)list; *at;) {
		unsigned long from = strtoul(at, &at, 10), to = from;

		if (*at == '-')
			to = strtoul(at + 1, &at, 10);
		for (; from <= to && from < ENTRIES_MAX; from++)
			ret[from] = true;
		if (*at && *at != ',') {
			fprintf(stderr, "--without takes numbers and ranges, as in 3,5-9\n");
			exit(2);
		}
		at += *at == ',';
	}
}

struct options {
	struct search search;
	struct storm_case one;
	bool is_one;
};

enum { OPTION_SEEDS, OPTION_FROM, OPTION_SECONDS, OPTION_JOBS, OPTION_TRIES, OPTION_PROGRESS, OPTION_WITHOUT,
       OPTION_CONTROLLERS, OPTION_CHANGES, OPTION_SHARDS, OPTION_TELL, OPTION_FAULTS };

static const struct option option_table[] = {
	{ "seeds", required_argument, NULL, OPTION_SEEDS },
	{ "from", required_argument, NULL, OPTION_FROM },
	{ "seconds", required_argument, NULL, OPTION_SECONDS },
	{ "jobs", required_argument, NULL, OPTION_JOBS },
	{ "tries", required_argument, NULL, OPTION_TRIES },
	{ "progress", no_argument, NULL, OPTION_PROGRESS },
	{ "without", required_argument, NULL, OPTION_WITHOUT },
	{ "controllers", required_argument, NULL, OPTION_CONTROLLERS },
	{ "changes", required_argument, NULL, OPTION_CHANGES },
	{ "shards", required_argument, NULL, OPTION_SHARDS },
	{ "tell", no_argument, NULL, OPTION_TELL },
	{ "faults", no_argument, NULL, OPTION_FAULTS },
	{ 0 },
};

static void read_option(struct options *options, int option)
{
	static const struct storm_totals none;
	unsigned number = optarg ? (unsigned)strtoul(optarg, NULL, 10) : 0;

	switch (option) {
	case OPTION_SEEDS: options->search.count = strtoull(optarg, NULL, 10); break;
	case OPTION_FROM: options->search.first = strtoull(optarg, NULL, 10); break;
	case OPTION_SECONDS: options->search.seconds = number; break;
	case OPTION_JOBS: options->search.jobs = number < 1 ? 1 : number < 32 ? number : 32; break;
	case OPTION_TRIES: options->search.tries = number; break;
	case OPTION_PROGRESS: options->search.tells_progress = true; break;
	case OPTION_WITHOUT: read_without(optarg, options->one.without); break;
	case OPTION_CONTROLLERS: options->one.controllers = number; break;
	case OPTION_CHANGES: options->one.changes = number; break;
	case OPTION_SHARDS: options->one.shards = number; break;
	case OPTION_TELL: options->one.tells = true; break;
	case OPTION_FAULTS: tell_faults(&none); exit(0);
	default: exit(2);
	}
	options->is_one |= option >= OPTION_WITHOUT && option <= OPTION_TELL;
}

static struct options read_options(int argc, char **argv)
{
	long processors = sysconf(_SC_NPROCESSORS_ONLN);
	struct options options = { .search = { .first = 1, .count = SEEDS, .tries = TRIES,
					       .jobs = processors > 0 && processors < 32 ? (unsigned)processors : 2 } };
	int option;

	while ((option = getopt_long(argc, argv, "", option_table, NULL)) != -1)
		read_option(&options, option);
	if (optind < argc) {
		options.search.first = options.one.seed = strtoull(argv[optind], NULL, 10);
		options.search.count = optind + 1 < argc ? strtoull(argv[optind + 1], NULL, 10) : 1;
		options.search.jobs = 1;
		options.search.tries = 0;
		options.is_one |= options.search.count == 1;
	}
	return options;
}

static int run_known_seeds(void)
{
	int failed = 0;

	for (size_t i = 0; seeds[i].words && !failed; i++) {
		const struct storm_case what = { .seed = seeds[i].seed };

		failed = search_one(&what, 0);
		if (failed)
			printf("it was: %s\n", seeds[i].words);
	}
	return failed;
}

int main(int argc, char **argv)
{
	struct options options = read_options(argc, argv);
	struct storm_totals totals;
	int failed;

	printf("[ RUN      ] test_a_storm_ends_as_it_must\n");
	if (options.is_one) {
		failed = search_one(&options.one, options.search.tries);
	} else {
		failed = argc > 1 && argv[1][0] != '-' ? 0 : run_known_seeds();
		failed = failed || search_run(&options.search, &totals);
		failed = failed || tell_totals(&totals);
	}
	printf(failed ? "[  FAILED  ] test_a_storm_ends_as_it_must\n" : "[       OK ] test_a_storm_ends_as_it_must\n");
	return failed;
}
