/*
 * Every fault at every step of a change, and what comes of it: the list behind docs/crash-safety.md.
 *
 * Two daemons over one store and a fleet of four shards, in virtual time. A change is brought to a step, the
 * fault strikes at that moment, lasts, is gone; nobody does anything until the change is over or its deadline has
 * passed; then a person does the one thing that the page says. What each cell must be is in matrix.def; the invariants are checked on the way.
 *
 *	test_matrix		runs all and compares
 *	test_matrix --markdown	prints the table for the page
 */
#include "controllers_fixture.h"

#define SHARD "80-c0" /* what strikes one shard strikes this one */
#define NEW_SHARD "c0-e0"
#define READS 30 /* so many reads are spoiled: ten minutes and more, but ten times as often while it is young */

static const char *const four[] = { "-40", "40-80", SHARD, "c0-" };

/* ---- The steps. ---- */

enum step { STEP_PLANNED, STEP_SUBMIT, STEP_COPY, STEP_HELD, STEP_RELEASE, STEP_CUTOVER, STEP_PROOF, _STEP_MAX };

static const char *const step_names[] = { "written down", "submit in flight", "copying", "held",
					  "release in flight", "cutting over", "being proven" };

/* ---- What may come of it. ---- */

enum outcome { NEVER, VERIFIED, AGAIN, VERIFY, STOPPED, FAILED, CANCELLED, WAITS, _OUTCOME_MAX };

static const char *const outcome_names[] = {
	[NEVER] = "–",
	[VERIFIED] = "✓",
	[AGAIN] = "run again: ✓",
	[VERIFY] = "stops; `verify`: ✓",
	[STOPPED] = "**stops**",
	[FAILED] = "**fails**",
	[CANCELLED] = "cancelled",
	[WAITS] = "**waits**",
	[_OUTCOME_MAX] = "something else",
};

struct matrix {
	struct sim *sim;
	enum step step;
	const struct fault_row *row;
	char uuid[UUID_LENGTH + 1];
	int64_t struck_at_ms; /* -1: not yet */
	bool healed;
};

typedef void matrix_fn(struct matrix *matrix);

struct fault_row {
	const char *name;
	matrix_fn *strike, *heal; /* heal NULL: it does not end by itself */
	int64_t lasts_ms;
	enum outcome expected[_STEP_MAX];
};

static bool load(struct matrix *matrix, struct arena *arena, struct change *ret)
{
	struct store_filter filter = { .cluster = "default", .keyspace = "commerce" };
	struct change *changes;
	struct error error;
	size_t count;

	if (store_list(matrix->sim->store, &filter, arena, &changes, &count, &error) < 0 || !count)
		return false;
	*ret = changes[0];
	return true;
}

/* How many shards are held and ready, and how many are complete. */
static void count_shards(const struct matrix *matrix, size_t *ret_ready, size_t *ret_complete)
{
	*ret_ready = *ret_complete = 0;
	for (size_t i = 0; i < fleet_shard_count(matrix->sim->fleet); i++) {
		const struct migration *row = fleet_row(matrix->sim->fleet, i, matrix->uuid);

		*ret_ready += row && row->ready_to_complete && row->status == MIGRATION_RUNNING;
		*ret_complete += row && row->status == MIGRATION_COMPLETE;
	}
}

static bool effect_is_in_flight(const struct sim *sim)
{
	for (size_t i = 0; i < sim->controller_count; i++)
		if (sim_effect_is_in_flight(&sim->controllers[i]))
			return true;
	return false;
}

static bool is_at(const struct matrix *matrix, enum step step, const struct change *change)
{
	const struct sim *sim = matrix->sim;
	size_t ready, complete;

	count_shards(matrix, &ready, &complete);
	switch (step) {
	case STEP_PLANNED:
		return change->phase == PHASE_SUBMITTING && fleet_calls(sim->fleet, VTCTLD_APPLY_SCHEMA) == 0;
	case STEP_SUBMIT:
		return change->phase == PHASE_SUBMITTING && effect_is_in_flight(sim);
	case STEP_COPY:
		return change->phase == PHASE_SUBMITTED && ready < 4;
	case STEP_HELD:
		return change->phase == PHASE_SUBMITTED && ready == 4;
	case STEP_RELEASE:
		return change->phase == PHASE_COMPLETING && effect_is_in_flight(sim);
	case STEP_CUTOVER:
		return change->phase == PHASE_COMPLETING && complete > 0 && complete < 4 && !effect_is_in_flight(sim);
	default:
		return change->phase == PHASE_COMPLETED;
	}
}

/* ---- Faults. ---- */

static struct controller *holder_of(struct matrix *matrix)
{
	struct controller *holder = sim_holder(matrix->sim, "commerce");

	assert_non_null(holder);
	return holder;
}

static void kill_holder(struct matrix *matrix) { sim_kill(holder_of(matrix)); }

static void kill_all(struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->sim->controller_count; i++)
		if (matrix->sim->controllers[i].state == CONTROLLER_ALIVE)
			sim_kill(&matrix->sim->controllers[i]);
}

static void start_all(struct matrix *matrix)
{
	for (size_t i = 0; i < matrix->sim->controller_count; i++)
		if (matrix->sim->controllers[i].state == CONTROLLER_DEAD && !matrix->sim->controllers[i].ended)
			sim_restart(&matrix->sim->controllers[i]);
}

static void pause_holder(struct matrix *matrix)
{
	sim_pause(holder_of(matrix), matrix->row->lasts_ms);
}

static void set_clocks(struct matrix *matrix, int64_t offset_ms)
{
	for (size_t i = 0; i < matrix->sim->controller_count; i++)
		matrix->sim->controllers[i].wall_offset_ms = offset_ms;
}

static void clock_back(struct matrix *matrix) { set_clocks(matrix, -24 * HOUR_MS); }
static void clock_ahead(struct matrix *matrix) { set_clocks(matrix, 24 * HOUR_MS); }
static void clock_right(struct matrix *matrix) { set_clocks(matrix, 0); }

static void store_down(struct matrix *matrix) { store_model_set(matrix->sim->model, STORE_MODEL_DOWN); }
static void store_read_only(struct matrix *matrix) { store_model_set(matrix->sim->model, STORE_MODEL_READ_ONLY); }
static void store_up(struct matrix *matrix) { store_model_set(matrix->sim->model, STORE_MODEL_UP); }
/* Three rows, and three moments at which the backup was taken: on_turn(). */
static void store_lost(struct matrix *matrix) { sim_fail_over(matrix->sim); }
static void store_of_planned(struct matrix *matrix) { sim_fail_over(matrix->sim); }
static void store_of_held(struct matrix *matrix) { sim_fail_over(matrix->sim); }

/* The call that is under way is answered so although it was carried out on half of the shards. */
static void spoil_answer(struct matrix *matrix)
{
	enum vtctld_method method = matrix->step <= STEP_PLANNED ? VTCTLD_APPLY_SCHEMA : VTCTLD_COMPLETE;

	fleet_fault(matrix->sim->fleet, &(struct fault){ .method = method, .nth = 1, .when = FAULT_AFTER, .code = 2,
							 .shards = "-40," SHARD });
}

static void vtctld_down(struct matrix *matrix) { fleet_vtctld(matrix->sim->fleet, false); }
static void vtctld_up(struct matrix *matrix) { fleet_vtctld(matrix->sim->fleet, true); }

static void spoil_reads(struct matrix *matrix, const char *missing, const char *doubled)
{
	fleet_fault(matrix->sim->fleet, &(struct fault){ .method = VTCTLD_GET_SCHEMA_MIGRATIONS, .nth = 1,
							 .times = matrix->step < STEP_RELEASE ? 10 * READS : READS,
							 .missing = missing, .doubled = doubled });
}

static void reads_miss_shard(struct matrix *matrix) { spoil_reads(matrix, SHARD, NULL); }
static void reads_double_shard(struct matrix *matrix) { spoil_reads(matrix, NULL, SHARD); }

static void tablet_stop(struct matrix *matrix) { fleet_tablet(matrix->sim->fleet, SHARD, TABLET_STOP); }
static void tablet_kill(struct matrix *matrix) { fleet_tablet(matrix->sim->fleet, SHARD, TABLET_KILL); }
static void tablet_pause(struct matrix *matrix) { fleet_tablet(matrix->sim->fleet, SHARD, TABLET_PAUSE); }
static void tablet_start(struct matrix *matrix) { fleet_tablet(matrix->sim->fleet, SHARD, TABLET_START); }
static void tablet_resume(struct matrix *matrix) { fleet_tablet(matrix->sim->fleet, SHARD, TABLET_RESUME); }
static void reparent(struct matrix *matrix) { fleet_reparent(matrix->sim->fleet, SHARD, false); }
static void emergency(struct matrix *matrix) { fleet_reparent(matrix->sim->fleet, SHARD, true); }
static void forget_dead(struct matrix *matrix) { fleet_forget_dead(matrix->sim->fleet, SHARD); }
static void add_shard(struct matrix *matrix) { fleet_add_shard(matrix->sim->fleet, NEW_SHARD, false); }
static void remove_shard(struct matrix *matrix) { fleet_remove_shard(matrix->sim->fleet, SHARD); }
static void block(struct matrix *matrix) { fleet_block_cutover(matrix->sim->fleet, SHARD, true); }
static void unblock(struct matrix *matrix) { fleet_block_cutover(matrix->sim->fleet, SHARD, false); }

static void cancel_one(struct matrix *matrix) { fleet_cancel(matrix->sim->fleet, matrix->uuid, SHARD); }
static void cancel_all(struct matrix *matrix) { fleet_cancel(matrix->sim->fleet, matrix->uuid, NULL); }
static void complete_one(struct matrix *matrix) { fleet_complete(matrix->sim->fleet, matrix->uuid, SHARD); }
static void complete_all(struct matrix *matrix) { fleet_complete(matrix->sim->fleet, matrix->uuid, NULL); }

static void fail_one(struct matrix *matrix)
{
	fleet_fail(matrix->sim->fleet, matrix->uuid, SHARD, "Duplicate column name 'x' (errno 1060)");
}

static void drop_by_hand(struct matrix *matrix)
{
	assert_true(fleet_exec(matrix->sim->fleet, "-40", "alter table orders drop column x"));
}

static const char foreign[] = "aaaaaaaa_bbbb_11ee_8000_000000000001";

static void submit_foreign(struct matrix *matrix)
{
	fleet_hold_copy(matrix->sim->fleet, SHARD, true); /* theirs takes long */
	fleet_submit_foreign(matrix->sim->fleet, foreign, "vtctl:other", SHARD, "alter table orders add column theirs int");
}

static void cancel_foreign(struct matrix *matrix)
{
	fleet_cancel(matrix->sim->fleet, foreign, NULL);
	fleet_hold_copy(matrix->sim->fleet, SHARD, false);
}

static void cancel_by_vtddl(struct matrix *matrix)
{
	struct ask ask = { .keyspace = "commerce", .uuid = matrix->uuid, .goal = GOAL_CANCELLED };

	sim_ask(matrix->sim, &ask);
}

static const struct fault_row rows[] = {
#define ROW(name, strike, heal, lasts_ms, ...) { name, strike, heal, lasts_ms, { __VA_ARGS__ } },
#include "matrix.def"
#undef ROW
};

#define ROWS (sizeof(rows) / sizeof(rows[0]))

/* ---- One cell. ---- */

static void take_backup(struct matrix *matrix, const struct change *change)
{
	if ((matrix->row->strike == store_of_planned && is_at(matrix, STEP_PLANNED, change)) ||
	    (matrix->row->strike == store_of_held && is_at(matrix, STEP_HELD, change)))
		store_model_snapshot(matrix->sim->model);
}

static void on_turn(struct sim *sim, void *user)
{
	cleanup(arena_release) struct arena arena = { 0 };
	struct matrix *matrix = user;
	struct change change;

	if (matrix->struck_at_ms < 0) {
		if (!load(matrix, &arena, &change))
			return;
		snprintf(matrix->uuid, sizeof(matrix->uuid), "%s", change.uuid);
		take_backup(matrix, &change);
		if (!is_at(matrix, matrix->step, &change))
			return;
		matrix->struck_at_ms = sim->now_ms;
		matrix->row->strike(matrix);
		if (matrix->step == STEP_CUTOVER && matrix->row->strike != block)
			unblock(matrix);
	}
	if (!matrix->healed && matrix->row->heal && sim->now_ms >= matrix->struck_at_ms + matrix->row->lasts_ms) {
		matrix->healed = true;
		matrix->row->heal(matrix);
	}
}

static bool is_over(enum phase phase)
{
	return phase == PHASE_VERIFIED || phase == PHASE_STOPPED || phase == PHASE_FAILED || phase == PHASE_CANCELLED;
}

/* Nobody does anything but open the gate of a held change, when the fault is gone. */
static void let_pass(struct matrix *matrix)
{
	struct sim *sim = matrix->sim;
	bool gate_opened = matrix->step != STEP_HELD;

	for (int64_t until_ms = sim->now_ms + 3 * HOUR_MS; sim->now_ms < until_ms; sim_pass(sim, 20 * SECOND_MS)) {
		const struct change *change = store_model_change(sim->model, "default", matrix->uuid);

		if (matrix->struck_at_ms < 0 || (matrix->row->heal && !matrix->healed) || !change)
			continue;
		if (is_over(change->phase))
			return;
		if (!gate_opened && sim->now_ms > matrix->struck_at_ms + 5 * MINUTE_MS) {
			open_gate(sim, matrix->uuid);
			gate_opened = true;
		}
	}
}

/* A person's command, until it has ended. */
static enum verdict ask(struct matrix *matrix, const struct ask *ask)
{
	struct controller *controller = sim_ask(matrix->sim, ask);

	for (int hour = 0; hour < 4 && !controller->ended; hour++)
		sim_pass(matrix->sim, HOUR_MS);
	assert_true(controller->ended);
	return controller->verdict;
}

/* Nobody did anything so far. What is it like, and what comes of the one thing a person may do? */
static enum outcome come_of(struct matrix *matrix)
{
	const struct change *change = store_model_change(matrix->sim->model, "default", matrix->uuid);
	struct ask again = { .keyspace = "commerce", .ddl = ADD, .goal = GOAL_VERIFIED, .open_gate = true,
			     .deadline_ms = 2 * HOUR_MS };
	struct ask verify = { .keyspace = "commerce", .uuid = matrix->uuid, .goal = GOAL_VERIFIED, .take_up = true };

	sim_pass(matrix->sim, 10 * MINUTE_MS); /* until somebody has come */
	switch (change ? change->phase : _PHASE_INVALID) {
	case PHASE_VERIFIED:
		return VERIFIED;
	case PHASE_FAILED:
		return FAILED;
	case PHASE_CANCELLED:
		return CANCELLED;
	case PHASE_STOPPED:
		return ask(matrix, &verify) == VERDICT_DONE ? VERIFY : STOPPED;
	default:
		switch (ask(matrix, &again)) {
		case VERDICT_DONE:
			return AGAIN;
		case VERDICT_UNSEEN: /* if it drives the change itself */
		case VERDICT_LATE:   /* if a daemon does */
			return WAITS;
		default:
			return _OUTCOME_MAX;
		}
	}
}

/* What is so whatever the fault. */
static void assert_no_harm(const struct matrix *matrix, enum outcome outcome)
{
	struct fleet *fleet = matrix->sim->fleet;

	for (size_t i = 0; i < fleet_shard_count(fleet); i++) {
		unsigned applied = fleet_times_applied(fleet, i, matrix->uuid);

		assert_true(applied <= 1);
		if (strcmp(fleet_shard_name(fleet, i), NEW_SHARD) == 0)
			continue;
		if (outcome == VERIFIED || outcome == AGAIN || outcome == VERIFY)
			assert_int_equal(applied, 1);
		if (outcome == FAILED || outcome == CANCELLED)
			assert_int_equal(applied, 0);
	}
	/* what stops a change before its release leaves no release of ours behind */
	if (matrix->step < STEP_RELEASE && (outcome == STOPPED || outcome == FAILED || outcome == CANCELLED))
		assert_int_equal(fleet_calls(fleet, VTCTLD_COMPLETE), 0);
}

static enum outcome run_cell(const struct fault_row *row, enum step step)
{
	struct matrix matrix = { .row = row, .step = step, .struck_at_ms = -1 };
	struct ask submit = submit_ask(ADD, step != STEP_HELD);
	enum outcome outcome;

	submit.deadline_ms = 2 * HOUR_MS;
	matrix.sim = sim_new(&(struct sim_config){ .shards = four, .shard_count = 4, .seed = 1 + (uint64_t)step,
						   .shared_store = true, .copy_ms = 30000 });
	store_model_snapshot(matrix.sim->model);
	matrix.sim->hook = on_turn;
	matrix.sim->hook_user = &matrix;
	if (step == STEP_CUTOVER)
		block(&matrix);
	sim_daemon(matrix.sim);
	sim_daemon(matrix.sim);
	sim_ask(matrix.sim, &submit);
	let_pass(&matrix);
	if (matrix.struck_at_ms < 0)
		fail_msg("%s, %s: that moment never came", row->name, step_names[step]);
	outcome = come_of(&matrix);
	assert_no_harm(&matrix, outcome);
	if (outcome != row->expected[step])
		print_message("%s, %s: %s, not %s\n", row->name, step_names[step], outcome_names[outcome],
			      outcome_names[row->expected[step]]);
	sim_free(matrix.sim);
	return outcome;
}

static void test_every_fault_at_every_step_has_the_outcome_that_is_promised(void **state)
{
	unsigned cells = 0, wrong = 0;

	(void)state;
	for (size_t i = 0; i < ROWS; i++)
		for (int step = 0; step < _STEP_MAX; step++) {
			if (rows[i].expected[step] == NEVER)
				continue;
			wrong += run_cell(&rows[i], (enum step)step) != rows[i].expected[step];
			cells++;
		}
	print_message("%u cells: %zu faults, %d steps\n", cells, ROWS, _STEP_MAX);
	assert_int_equal(wrong, 0);
}

static void print_table(void)
{
	printf("| what happens |");
	for (int step = 0; step < _STEP_MAX; step++)
		printf(" %s |", step_names[step]);
	printf("\n|---|");
	for (int step = 0; step < _STEP_MAX; step++)
		printf("---|");
	for (size_t i = 0; i < ROWS; i++) {
		printf("\n| %s |", rows[i].name);
		for (int step = 0; step < _STEP_MAX; step++)
			printf(" %s |", outcome_names[rows[i].expected[step]]);
	}
	printf("\n");
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_fault_at_every_step_has_the_outcome_that_is_promised),
	};

	if (argc > 1 && strcmp(argv[1], "--markdown") == 0) {
		print_table();
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
