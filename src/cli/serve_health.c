/* Is it alive, is it ready, and the figures in the form that Vitess's own programs have. */
#include <stdlib.h>

#include "json.h"
#include "serve.h"
#include "version.h"
#include "vtddl/clock.h"

/* A look that fails now and then is no news, and nobody is to be told before it lasts. */
#define STALE_MS 60000

static void add_reason(json_t *reasons, const char *code, json_t *text)
{
	json_array_append_new(reasons, json_pack("{s:s, s:o}", "code", code, "text", text));
}

static void check_store(const struct serve *serve, json_t *reasons)
{
	int64_t live_at_ms, now_ms = clock_wall_ms();
	const char *trouble = engine_store_trouble(serve->session.engine, &live_at_ms);

	if (trouble[0])
		add_reason(reasons, "store", json_text(trouble));
	else if (!live_at_ms)
		add_reason(reasons, "store", json_string("the store was not read yet"));
	else if (now_ms - live_at_ms > STALE_MS)
		add_reason(reasons, "store",
			   json_sprintf("the store was read %lld s ago",
					(long long)(now_ms - live_at_ms) / 1000));
}

static void check_leases(const struct serve *serve, json_t *reasons)
{
	for (size_t i = 0, count = engine_keyspaces(serve->session.engine); i < count; i++) {
		const struct keyspace_view *view = engine_keyspace(serve->session.engine, i);

		if (view->changes && !view->leader && !view->holder[0])
			add_reason(reasons, "lease",
				   json_sprintf("nobody is known to drive keyspace %s", view->name));
	}
}

static void check_servers(const struct serve *serve, json_t *reasons)
{
	for (unsigned i = 0; i < serve->session.server_count; i++) {
		int64_t down_ms = engine_server_down_ms(serve->session.engine, i);

		if (down_ms && clock_wall_ms() - down_ms > STALE_MS)
			add_reason(reasons, "vtctld",
				   json_sprintf("vtctld at %s has not answered for %lld s",
						serve->session.servers[i],
						(long long)(clock_wall_ms() - down_ms) / 1000));
	}
}

json_t *health_reasons(const struct serve *serve)
{
	json_t *reasons = json_array();

	check_store(serve, reasons);
	check_leases(serve, reasons);
	check_servers(serve, reasons);
	return reasons;
}

void health_ready(const struct serve *serve, const struct question *question, struct answer *ret)
{
	json_t *reasons = health_reasons(serve);
	bool ready = json_array_size(reasons) == 0;

	(void)question;
	ret->json = json_object_of("ready");
	json_object_set_new(ret->json, "ready", json_boolean(ready));
	json_object_set_new(ret->json, "reasons", reasons);
	ret->status = ready ? 200 : 503;
}

/* ---- /debug/vars ---- */

static json_t *rpcs_json(const struct engine_counters *counters)
{
	json_t *object = json_object();

	for (int method = 0; method < _VTCTLD_METHOD_MAX; method++) {
		for (int outcome = 0; outcome < _VTCTLD_OUTCOME_MAX; outcome++) {
			char name[64];

			if (!counters->rpcs[method][outcome])
				continue;
			snprintf(name, sizeof name, "%s.%s", vtctld_method_name((enum vtctld_method)method),
				 vtctld_outcome_name((enum vtctld_outcome)outcome));
			json_object_set_new(object, name,
					    json_integer((json_int_t)counters->rpcs[method][outcome]));
		}
	}
	return object;
}

static json_t *phases_json(struct engine *engine)
{
	size_t totals[_PHASE_MAX] = { 0 };
	json_t *object = json_object();

	for (size_t i = 0, count = engine_residents(engine); i < count; i++)
		totals[engine_resident(engine, i)->change->phase]++;
	for (int phase = 0; phase < _PHASE_MAX; phase++)
		json_object_set_new(object, phase_name((enum phase)phase),
				    json_integer((json_int_t)totals[phase]));
	return object;
}

void health_vars(const struct serve *serve, const struct question *question, struct answer *ret)
{
	struct engine *engine = serve->session.engine;
	const struct engine_counters *counters = engine_counters(engine);
	const struct {
		const char *name;
		uint64_t value;
	} numbers[] = {
		{ "Sweeps", counters->sweeps },
		{ "Looks", counters->looks },
		{ "StoreCalls", counters->store_calls },
		{ "StoreFailures", counters->store_failures },
		{ "StoreConflicts", counters->store_conflicts },
		{ "LeasesTaken", counters->leases_taken },
		{ "LeasesLost", counters->leases_lost },
		{ "LeaseRenewalsFailed", counters->renewals_failed },
		{ "Keyspaces", engine_keyspaces(engine) },
		{ "Uptime", (uint64_t)(clock_wall_ms() - serve->started_at_ms) / 1000 },
	};

	(void)question;
	ret->json = json_object();
	json_object_set_new(ret->json, "BuildVersion", json_string(VTDDL_VERSION));
	json_object_set_new(ret->json, "BuildGitRev", json_string(VTDDL_COMMIT));
	json_object_set_new(ret->json, "OpenChanges", phases_json(engine));
	json_object_set_new(ret->json, "VtctldCalls", rpcs_json(counters));
	for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
		json_object_set_new(ret->json, numbers[i].name, json_integer((json_int_t)numbers[i].value));
}
