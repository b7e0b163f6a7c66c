/*
 * phases: prints what the model takes from the program, so that the two cannot drift apart: the arrows of
 * phase_may_move(), the effects that a phase may send, every row of the rule table, and what a look at one shard
 * adds to the facts. tests/model/run writes it into phases.pml at every run.
 *
 * decide.c is included as text since its table of effects is nobody else's; what this program does not call of it
 * is thrown away by the linker.
 */
#include <stdio.h>

#include "decide.c"

#define ALL_FACTS                                                                                          \
	(FACT_ALL_SEEN | FACT_ALL_ROWS | FACT_ALL_READY | FACT_ALL_FORWARD | FACT_ALL_COMPLETE | FACT_ALL_GONE)

static void put_upper(const char *text)
{
	for (; *text; text++)
		putchar(*text >= 'a' && *text <= 'z' ? *text - 'a' + 'A' : *text);
}

static void put_name(const char *prefix, const char *name, unsigned value)
{
	printf("#define %s", prefix);
	put_upper(name);
	printf(" %u\n", value);
}

static void put_names(void)
{
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		put_name("PHASE_", phase_name(phase), (unsigned)phase);
	printf("#define PHASES %d\n", _PHASE_MAX);
	for (int effect = 0; effect < _EFFECT_MAX; effect++)
		put_name("EFFECT_", effect_name(effect), (unsigned)effect);
	for (int action = 0; action < _ACTION_MAX; action++)
		put_name("ACTION_", action_name(action), (unsigned)action);
	for (unsigned fact = 1; fact < _FACT_MAX; fact <<= 1)
		put_name("FACT_", fact_name(fact), fact);
}

static unsigned arrows_of(enum phase from)
{
	unsigned arrows = 0;

	for (int to = 0; to < _PHASE_MAX; to++)
		arrows |= phase_may_move(from, to) ? 1u << to : 0;
	return arrows;
}

static unsigned facts_asked_for(enum phase at)
{
	size_t count;
	const struct rule *rules = rules_table(&count);
	unsigned facts = 0;

	for (size_t i = 0; i < count; i++)
		facts |= rules[i].at == at ? rules[i].yes | rules[i].no : 0;
	return facts;
}

/* What a look in that phase is for: other facts need not be kept. The look of the barrier, that of an adoption and
 * that of the end serve the phase behind them too. 0: nothing can follow from any look. */
static unsigned facts_used(enum phase at)
{
	size_t count;
	const struct rule *rules = rules_table(&count);
	bool any = false;

	for (size_t i = 0; i < count; i++)
		any |= rules[i].at == at && rules[i].action != ACTION_WAIT && rules[i].action != ACTION_REST &&
		       rules[i].action != ACTION_VERIFY;
	if (!any)
		return 0;
	if (at == PHASE_SUBMITTED || at == PHASE_SUBMITTING)
		return facts_asked_for(at) | facts_asked_for(PHASE_COMPLETING) | facts_asked_for(PHASE_COMPLETED);
	return facts_asked_for(at) | (at == PHASE_COMPLETING ? facts_asked_for(PHASE_COMPLETED) : 0);
}

/* (p == 0 -> a : (p == 1 -> b : ... 0)), which is how Promela looks something up in a table. */
static void put_tables(void)
{
	printf("#define FACTS_USED(p) ");
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		printf("((p) == %d -> %u : ", phase, facts_used(phase));
	printf("0%.*s\n", _PHASE_MAX, "))))))))))))))))");
	printf("#define ARROWS(p) ");
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		printf("((p) == %d -> %u : ", phase, arrows_of(phase));
	printf("0%.*s\n", _PHASE_MAX, "))))))))))))))))");
	printf("#define EFFECT_OF(p) ");
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		printf("((p) == %d -> %d : ", phase, allowed_effect[phase]);
	printf("0%.*s\n", _PHASE_MAX, "))))))))))))))))");
	printf("#define EFFECT_BY(a) ");
	for (int action = 0; action < _ACTION_MAX; action++)
		printf("((a) == %d -> %d : ", action, effects[action].effect);
	printf("0%.*s\n", _ACTION_MAX, "))))))))))))))))");
}

/* Rows of one phase in order; the first that matches sets @rule, @action and @to. */
static void put_rules(void)
{
	size_t count;
	const struct rule *rules = rules_table(&count);

	printf("inline next_rule(at_, facts_)\n{\n\trule = 0;\n\tif\n");
	for (int phase = 0; phase < _PHASE_MAX; phase++) {
		printf("\t:: at_ == %d ->\n", phase);
		for (size_t i = 0; i < count; i++)
			if ((int)rules[i].at == phase)
				printf("\t\tif :: rule == 0 && (facts_ & %u) == %u && (facts_ & %u) == 0 -> "
				       "rule = %d; action = %d; to = %d :: else fi;\n",
				       rules[i].yes, rules[i].yes, rules[i].no, rules[i].number, rules[i].action,
				       rules[i].to);
		printf("\t\tassert(rule)\n");
	}
	printf("\tfi\n}\n");
}

struct sight {
	const char *name;
	enum row_state state;
	int status;
	bool held, ready;
};

/* The second of two equal looks at one shard, as observation_fold() understands it. */
static uint32_t facts_of(const struct sight *sight)
{
	struct change_shard expected = { .name = "-" };
	struct change change = { .keyspace = "k", .table = "t", .uuid = "u", .context = "c", .shards = &expected,
				 .shard_count = 1 };
	/* the primary and its tablet are there since before the row was written */
	struct topo_shard topo = { .name = "-", .has_primary = true, .is_serving = true, .primary = { "z", 1 },
				   .primary_term_start_s = 1 };
	struct topo_tablet tablet = { .alias = topo.primary, .type = TABLET_PRIMARY, .start_s = 1 };
	struct shard_look look = { .state = sight->state, .trouble = "" };
	struct shard_watch memory;
	struct watch watch;
	struct observation seen = { .topology_known = true, .topo = &topo, .topo_count = 1, .tablets = &tablet,
				    .tablet_count = 1, .looks = &look };

	look.row = (struct migration){ .uuid = "u", .keyspace = "k", .shard = "-", .table = "t", .statement = "s",
				       .context = "c", .message = "", .status = sight->status,
				       .postpone_completion = sight->held, .ready_to_complete = sight->ready,
				       .started_at_s = 1, .liveness_s = 2 };
	watch_init(&watch, &memory, 1);
	observation_fold(&change, &seen, &watch);
	seen.at_ms += DOUBLE_STOP_MS;
	return observation_fold(&change, &seen, &watch) & ~(uint32_t)FACT_SHARDS_KNOWN;
}

static void put_sights(void)
{
	static const struct sight sights[] = {
		{ "ABSENT", ROW_ABSENT, 0, false, false },
		{ "COPYING", ROW_ONE, MIGRATION_RUNNING, true, false },
		{ "READY", ROW_ONE, MIGRATION_RUNNING, true, true },
		{ "OPEN", ROW_ONE, MIGRATION_RUNNING, false, true },
		{ "DONE", ROW_ONE, MIGRATION_COMPLETE, false, true },
		{ "CANCELLED", ROW_ONE, MIGRATION_CANCELLED, true, true },
		{ "FAILED", ROW_ONE, MIGRATION_FAILED, true, true },
		{ "NOTHING", ROW_UNKNOWN, 0, false, false },
	};

	for (size_t i = 0; i < sizeof(sights) / sizeof(sights[0]); i++) {
		uint32_t facts = facts_of(&sights[i]);

		printf("#define SIGHT_%s %u\n", sights[i].name, facts);
	}
	printf("#define ALL_FACTS %d\n", ALL_FACTS);
}

int main(void)
{
	printf("/* Made by tests/model/phases.c from change.c, rules.c, decide.c and observation.c. */\n");
	put_names();
	put_tables();
	put_sights();
	put_rules();
	return 0;
}
