/*
 * FUZZ_SHOW=1 fuzz_engine FILE: each request and answer, and where it all ended. For who reads a finding, or writes a
 * seed.
 */
#include "engine_world.h"

void show_call(const struct controller *controller, const struct call *call, const char *what)
{
	static const char *const kinds[_REQUEST_KIND_MAX] = { "",     "lease",	"release", "live",
							      "list", "insert", "update",  "proof" };
	const struct request *request = &call->request;
	const struct change *change = request->change;
	static int tells = -1;

	if (tells < 0) {
		tells = getenv("FUZZ_SHOW") != NULL;
		setvbuf(stdout, NULL, _IOLBF, 0);
	}
	if (tells)
		printf("%10lld %s %s %s%s%s%s\n", (long long)controller->world->now_ms, controller->owner,
		       what,
		       request->kind == REQUEST_RPC ? vtctld_method_name(request->rpc.method)
						    : kinds[request->kind],
		       change ? " " : "", change ? phase_name(change->phase) : "",
		       change && change->cancel_asked ? " cancel asked" : "");
}

void show_end(struct world *world)
{
	for (size_t i = 0; i < WORLD_CONTROLLERS; i++)
		for (unsigned id = 0; world->controllers[i].alive && id < world->controllers[i].asks; id++) {
			const struct view *view = engine_view(world->controllers[i].engine, id);

			printf("controller %zu ask %u: %s%s %s\n", i, id, view->ended ? "ended, " : "",
			       view->reason, view->error.text);
		}
	for (size_t i = 0; i < world->truth_count; i++) {
		const struct truth *truth = &world->truths[i];
		const struct change *change = store_model_change(world->model, "default", truth->uuid);

		printf("%s g%u %s rule %d%s%s submit %u complete %u cancel %u: %s\n", change->ddl,
		       change->generation, phase_name(change->phase), change->rule,
		       change->adopted ? " adopted" : "", change->cancel_asked ? " cancel asked" : "",
		       truth->effects_sent[EFFECT_SUBMIT], truth->effects_sent[EFFECT_COMPLETE],
		       truth->effects_sent[EFFECT_CANCEL], change->reason);
	}
}
