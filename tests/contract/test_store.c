/* Goal: every backend records a change once, one change for one table, and moves it only by
 * compare-and-set, as vtddl/store.h promises.
 * Method: one list of claims, run once for each backend (store_backends.h). */
#include "store_backends.h"

/* ---- Records ---- */

static void test_a_change_comes_back_as_it_was_written(void **state)
{
	struct change_shard shards[3] = {
		{ "-40", { "zone1", 1 }, NULL, NULL },
		{ "40-80", { "zone1", UINT32_MAX }, "", "after" },
		{ "80-", { "a-b", 0 }, "before", "" },
	};
	struct change change = new_change(1, "corder", 1), found;

	(void)state;
	change.phase = PHASE_SUBMITTED;
	change.rule = -7;
	snprintf(change.reason, sizeof(change.reason), "a reason");
	change.gate = GATE_MANUAL;
	change.cancel_asked = change.adopted = true;
	change.last_effect = EFFECT_COMPLETE;
	change.attempts = UINT32_MAX;
	change.generation = UINT32_MAX;
	change.next_attempt_at_ms = INT64_MAX;
	change.in_flight_until_ms = INT64_MIN;
	change.created_at_ms = 11;
	change.updated_at_ms = 12;
	change.deadline_at_ms = 13;
	change.shards = shards;
	change.shard_count = 3;
	insert(&change);
	assert_int_equal(change.revision, 1);
	found = load(&change);
	assert_same_change(&found, &change);
}

static void test_hostile_text_is_only_text(void **state)
{
	static const char text[] =
		"'); DROP TABLE ddl_pipeline; -- \" ` % _ \\ :uuid ?1 $x @y\n\t\x1b[2J \xff\xfe \xe2\x82\xac";
	struct change change = new_change(1, "corder", 1), found;
	struct history_entry *entries;

	(void)state;
	change.ddl = change.strategy = text;
	snprintf(change.reason, sizeof(change.reason), "%s", text);
	snprintf(change.created_by, sizeof(change.created_by), "%s", text);
	snprintf(change.table, sizeof(change.table), "%.60s", text);
	f.shards[0].definition_before = text;
	assert_ok(store_insert(f.store, &change, text, text, err));
	found = load(&change);
	assert_same_change(&found, &change);
	assert_int_equal(count_history(&change, &entries), 1);
	assert_string_equal(entries[0].actor, text);
	assert_string_equal(entries[0].evidence, text);
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER, .table = change.table }),
			 1);
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER, .table = "%" }), 0);
}

static void test_the_largest_change_fits(void **state)
{
	struct change change = new_change(1, "corder", 1), found;
	char *ddl;
	struct change_shard *shards;

	(void)state;
	if (strcmp(backend->name, "vtgate") == 0) /* Vitess lets no answer beyond 16 MiB through */
		skip();
	ddl = test_malloc(DDL_MAX + 2);
	shards = test_calloc(SHARDS_MAX + 1, sizeof(*shards));
	memset(ddl, 'x', DDL_MAX + 1);
	ddl[DDL_MAX] = ddl[DDL_MAX + 1] = '\0';
	memset(change.table, 't', TABLE_MAX);
	memset(change.reason, 'r', REASON_MAX - 1);
	memset(change.created_by, 'a', ACTOR_MAX);
	for (size_t i = 0; i <= SHARDS_MAX; i++) {
		snprintf(shards[i].name, sizeof(shards[i].name), "%060zx-", i);
		shards[i].definition_before = ddl;
	}
	change.ddl = ddl;
	change.shards = shards;
	change.shard_count = SHARDS_MAX;
	insert(&change);
	found = load(&change);
	assert_same_change(&found, &change);

	change = new_change(2, "other", 1);
	change.shards = shards;
	change.shard_count = SHARDS_MAX + 1;
	assert_refused(store_insert(f.store, &change, "", "", err), ERROR_BUG, "shard count");
	change.shard_count = 1;
	change.ddl = ddl;
	ddl[DDL_MAX] = 'x';
	assert_refused(store_insert(f.store, &change, "", "", err), ERROR_BUG, "statement");
	test_free(shards);
	test_free(ddl);
}

static void test_a_bad_name_is_never_written(void **state)
{
	struct change change;

	(void)state;
#define REFUSES(what, statement)                                                                             \
	do {                                                                                                 \
		change = new_change(1, "corder", 1);                                                         \
		statement;                                                                                   \
		assert_refused(store_insert(f.store, &change, "", "", err), ERROR_BUG, what);                \
	} while (0)
	REFUSES("uuid", snprintf(change.uuid, sizeof(change.uuid), "all"));
	REFUSES("uuid", change.uuid[0] = 'A');
	REFUSES("uuid", change.uuid[35] = '\0');
	REFUSES("keyspace", snprintf(change.keyspace, sizeof(change.keyspace), "a/b"));
	REFUSES("keyspace", change.keyspace[0] = '\0');
	REFUSES("cluster", snprintf(change.cluster, sizeof(change.cluster), "a b"));
	REFUSES("context", snprintf(change.context, sizeof(change.context), "a'b"));
	REFUSES("table", change.table[0] = '\0');
	REFUSES("statement", change.ddl = "");
	REFUSES("statement", change.ddl = NULL);
	REFUSES("ddl_sha256", change.ddl_sha256[63] = '\0');
	REFUSES("ddl_sha256", change.ddl_sha256[0] = 'A');
	REFUSES("generation", change.generation = 0);
	REFUSES("strategy", change.strategy = NULL);
	REFUSES("phase", change.phase = _PHASE_INVALID);
	REFUSES("phase", change.phase = _PHASE_MAX);
	REFUSES("gate", change.gate = _GATE_MAX);
	REFUSES("gate", change.gate = (enum gate)-1);
	REFUSES("effect", change.last_effect = _EFFECT_MAX);
	REFUSES("effect", change.last_effect = _EFFECT_INVALID);
	REFUSES("shard name", snprintf(f.shards[1].name, sizeof(f.shards[1].name), "a/b"));
	REFUSES("order of shards", snprintf(f.shards[1].name, sizeof(f.shards[1].name), "-80"));
#undef REFUSES
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER }), 0);
}

static void test_a_bad_name_finds_nothing(void **state)
{
	static const char *const bad[] = { "", "all", "' OR 1=1 --", "a b", "%" };
	struct change change = new_change(1, "corder", 1), found;
	struct history_entry *entries;
	size_t count;

	(void)state;
	insert(&change);
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		assert_result(store_load(f.store, CLUSTER, bad[i], &f.arena, &found, err), STORE_NOT_FOUND);
		assert_result(store_load(f.store, bad[i], change.uuid, &f.arena, &found, err),
			      STORE_NOT_FOUND);
		assert_int_equal(
			count_listed(&(struct store_filter){ .cluster = CLUSTER, .uuid_or_context = bad[i] }),
			0);
		assert_int_equal(
			count_listed(&(struct store_filter){ .cluster = CLUSTER, .keyspace = bad[i] }), 0);
		assert_int_equal(count_listed(&(struct store_filter){ .cluster = bad[i] }), 0);
		assert_ok(store_history(f.store, CLUSTER, bad[i], &f.arena, &entries, &count, err));
		assert_int_equal(count, 0);
	}
}

/* ---- One record for one change, one change for one table ---- */

static void test_the_same_change_is_recorded_once(void **state)
{
	struct change change = new_change(1, "corder", 1), again = change, found;
	struct history_entry *entries;

	(void)state;
	insert(&change);
	snprintf(again.reason, sizeof(again.reason), "a second one");
	assert_result(store_insert(f.store, &again, "other@host", "", err), STORE_CONFLICT);
	found = load(&change);
	assert_same_change(&found, &change);
	assert_int_equal(count_history(&change, &entries), 1);
}

static void test_a_name_of_another_change_is_refused(void **state)
{
	struct change change = new_change(1, "corder", 1), same_uuid = new_change(2, "other", 1),
		      same_context = new_change(3, "other", 1);

	(void)state;
	insert(&change);
	snprintf(same_uuid.uuid, sizeof(same_uuid.uuid), "%s", change.uuid);
	snprintf(same_context.context, sizeof(same_context.context), "%s", change.context);
	assert_result(store_insert(f.store, &same_uuid, "", "", err), STORE_CONFLICT);
	assert_result(store_insert(f.store, &same_context, "", "", err), STORE_CONFLICT);
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER }), 1);
}

static void test_the_same_names_in_another_cluster_are_another_change(void **state)
{
	struct change change = new_change(1, "corder", 1), other = change, found;

	(void)state;
	insert(&change);
	snprintf(other.cluster, sizeof(other.cluster), "staging");
	insert_elsewhere(&other);
	found = load(&other);
	assert_string_equal(found.cluster, "staging");
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER }), 1);
}

static void test_a_table_is_busy_exactly_while_its_change_is_live(void **state)
{
	(void)state;
	for (int phase = 0; phase < _PHASE_MAX; phase++) {
		struct change change, other;
		char table[32];

		snprintf(table, sizeof(table), "t%d", phase);
		change = new_change(10 + (unsigned)phase, table, 1);
		change.phase = (enum phase)phase;
		insert(&change);
		other = new_change(100 + (unsigned)phase, table, 1);
		assert_result(store_insert(f.store, &other, "", "", err),
			      phase_is_live((enum phase)phase) ? STORE_TABLE_BUSY : 0);
	}
}

static void test_other_tables_and_keyspaces_are_free(void **state)
{
	struct change change = new_change(1, "corder", 1), table = new_change(2, "Corder", 1),
		      keyspace = new_change(3, "corder", 1);

	(void)state;
	insert(&change);
	insert(&table);
	snprintf(keyspace.keyspace, sizeof(keyspace.keyspace), "customer");
	insert_elsewhere(&keyspace);
}

static void test_a_table_is_free_once_its_change_ended(void **state)
{
	struct change change = new_change(1, "corder", 1), other = new_change(2, "corder", 1);

	(void)state;
	insert(&change);
	assert_ok(move(&change, PHASE_CANCELLING, err));
	assert_result(store_insert(f.store, &other, "", "", err), STORE_TABLE_BUSY);
	assert_ok(move(&change, PHASE_CANCELLED, err));
	insert(&other);
}

/* ---- A new generation ---- */

static void test_a_new_generation_takes_the_table_of_one_that_ended_badly(void **state)
{
	static const enum phase ended[] = { PHASE_FAILED, PHASE_STOPPED };

	(void)state;
	for (unsigned i = 0; i < 2; i++) {
		char table[8];
		struct change first, second, found;
		struct history_entry *entries;

		snprintf(table, sizeof(table), "t%u", i);
		first = new_change(1 + i, table, 1);
		second = new_change(1 + i, table, 2);
		insert(&first);
		assert_ok(move(&first, ended[i], err));
		insert(&second);
		found = load(&first);
		assert_int_equal(found.phase, ended[i]);
		assert_true(found.revision > first.revision);
		assert_int_equal(count_history(&first, &entries), 3);
		assert_int_equal(entries[2].from, ended[i]);
		assert_int_equal(entries[2].to, ended[i]);
		assert_string_equal(entries[2].actor, "ci@host");
		assert_non_null(strstr(entries[2].reason, "generation 2"));
		assert_int_equal(count_listed(&(struct store_filter){
					 .cluster = CLUSTER, .table = table, .live_only = true }),
				 1);
		/* Who was about to cancel the first must look again, and then cannot have the table. */
		assert_result(move(&first, PHASE_CANCELLING, err), STORE_CONFLICT);
		assert_result(move(&found, PHASE_CANCELLING, err), STORE_TABLE_BUSY);
		assert_int_equal(load(&first).phase, ended[i]);
	}
}

static void test_a_replaced_change_stays_replaced_while_it_is_written(void **state)
{
	struct change first = new_change(1, "corder", 1), second = new_change(1, "corder", 2), found;
	struct store_expect expect;

	(void)state;
	insert(&first);
	assert_ok(move(&first, PHASE_FAILED, err));
	insert(&second);
	found = load(&first);
	expect = expect_of(&found);
	found.cancel_asked = true;
	assert_ok(store_update(f.store, &found, &expect, NULL, err));
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER, .live_only = true }), 1);
	assert_ok(move(&second, PHASE_CANCELLED, err));
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER, .live_only = true }), 0);
	/* Nobody has the table now, so the first may be cancelled after all. */
	assert_ok(move(&found, PHASE_CANCELLING, err));
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER, .live_only = true }), 1);
}

static void test_a_new_generation_waits_for_one_that_is_on_its_way(void **state)
{
	struct change first = new_change(1, "corder", 1), second = new_change(1, "corder", 2);

	(void)state;
	insert(&first);
	assert_result(store_insert(f.store, &second, "", "", err), STORE_TABLE_BUSY);
	assert_ok(move(&first, PHASE_CANCELLING, err));
	assert_result(store_insert(f.store, &second, "", "", err), STORE_TABLE_BUSY);
}

static void test_another_statement_never_takes_a_table(void **state)
{
	struct change first = new_change(1, "corder", 1), other = new_change(2, "corder", 2), found;
	struct history_entry *entries;

	(void)state;
	insert(&first);
	assert_ok(move(&first, PHASE_FAILED, err));
	assert_result(store_insert(f.store, &other, "", "", err), STORE_TABLE_BUSY);
	found = load(&first);
	assert_same_change(&found, &first);
	assert_int_equal(count_history(&first, &entries), 2);
}

static void test_a_refused_generation_releases_nothing(void **state)
{
	struct change first = new_change(1, "corder", 1), second = new_change(1, "corder", 2), found;

	(void)state;
	insert(&first);
	assert_ok(move(&first, PHASE_FAILED, err));
	second.epoch = f.epoch - 1; /* of a leader that is none any more */
	assert_result(store_insert(f.store, &second, "", "", err), STORE_CONFLICT);
	second.epoch = f.epoch + 1; /* the store went back behind it: nobody could write that record */
	assert_result(store_insert(f.store, &second, "", "", err), STORE_CONFLICT);
	found = load(&first);
	assert_same_change(&found, &first);
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER, .live_only = true }), 1);
}

/* ---- Compare and set ---- */

static void test_an_update_writes_what_may_change_and_nothing_else(void **state)
{
	struct change change = new_change(1, "corder", 1), next, found;
	struct store_expect expect;

	(void)state;
	insert(&change);
	next = change;
	expect = expect_of(&change);
	next.rule = 7;
	snprintf(next.reason, sizeof(next.reason), "because");
	next.gate = GATE_MANUAL;
	next.cancel_asked = next.adopted = true;
	next.last_effect = EFFECT_SUBMIT;
	next.attempts = 3;
	next.next_attempt_at_ms = 4;
	next.in_flight_until_ms = 5;
	next.updated_at_ms = 6;
	next.deadline_at_ms = 7;
	assert_ok(store_update(f.store, &next, &expect, NULL, err));
	assert_int_equal(next.revision, 2);
	assert_int_equal(next.epoch, f.epoch);
	found = load(&change);
	assert_same_change(&found, &next);

	expect = expect_of(&next);
	next.ddl = "drop table corder";
	next.strategy = "direct";
	next.created_at_ms = 1;
	next.generation = 9;
	snprintf(next.created_by, sizeof(next.created_by), "mallory");
	snprintf(next.table, sizeof(next.table), "other");
	assert_ok(store_update(f.store, &next, &expect, NULL, err));
	found = load(&change);
	assert_string_equal(found.ddl, change.ddl);
	assert_string_equal(found.strategy, change.strategy);
	assert_string_equal(found.created_by, change.created_by);
	assert_string_equal(found.table, change.table);
	assert_int_equal(found.created_at_ms, change.created_at_ms);
	assert_int_equal(found.generation, 1);
}

static void test_an_update_on_old_knowledge_writes_nothing(void **state)
{
	struct change change = new_change(1, "corder", 1), next, found;
	struct history_entry *entries;

	(void)state;
	insert(&change);
	assert_ok(move(&change, PHASE_SUBMITTED, err));
	const struct store_expect wrong[] = {
		{ PHASE_SUBMITTING, change.revision, f.epoch },
		{ PHASE_SUBMITTED, change.revision - 1, f.epoch },
		{ PHASE_SUBMITTED, change.revision + 1, f.epoch },
		{ PHASE_SUBMITTED, change.revision, f.epoch - 1 },
		{ PHASE_SUBMITTED, change.revision, f.epoch + 1 },
		{ PHASE_SUBMITTED, change.revision, 0 },
	};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		const struct history_entry entry = { .actor = "",
						     .from = wrong[i].phase,
						     .to = PHASE_FAILED };

		next = change;
		next.phase = PHASE_FAILED;
		f.shards[0].definition_after = "lost";
		assert_result(store_update(f.store, &next, &wrong[i], &entry, err), STORE_CONFLICT);
		assert_int_equal(next.revision, change.revision);
		assert_int_equal(next.epoch, change.epoch);
	}
	f.shards[0].definition_after = NULL;
	found = load(&change);
	assert_same_change(&found, &change);
	assert_int_equal(count_history(&change, &entries), 2);
}

static void test_of_two_writers_one_wins(void **state)
{
	struct change change = new_change(1, "corder", 1), first, second;

	(void)state;
	insert(&change);
	first = second = change;
	assert_ok(move(&first, PHASE_SUBMITTED, err));
	assert_result(move(&second, PHASE_FAILED, err), STORE_CONFLICT);
	second = load(&change);
	assert_int_equal(second.phase, PHASE_SUBMITTED);
	assert_ok(move(&second, PHASE_COMPLETING, err));
}

static void test_a_change_that_is_not_there_cannot_be_updated(void **state)
{
	struct change change = new_change(1, "corder", 1), renamed;

	(void)state;
	change.revision = 1;
	assert_result(move(&change, PHASE_SUBMITTED, err), STORE_CONFLICT);
	insert(&change);
	renamed = change;
	snprintf(renamed.context, sizeof(renamed.context), "ddl-commerce-other-g1");
	assert_result(move(&renamed, PHASE_SUBMITTED, err), STORE_CONFLICT);
	renamed = change;
	renamed.ddl_sha256[0] = 'f';
	assert_result(move(&renamed, PHASE_SUBMITTED, err), STORE_CONFLICT);
}

static void test_the_store_knows_the_drawing_of_phases(void **state)
{
	unsigned number = 0;

	(void)state;
	for (int from = 0; from < _PHASE_MAX; from++)
		for (int to = 0; to < _PHASE_MAX; to++) {
			struct error err = { 0 };
			struct change change;
			char table[16];

			snprintf(table, sizeof(table), "t%u", ++number);
			change = new_change(number, table, 1);
			change.phase = (enum phase)from;
			insert(&change);
			if (from == to || phase_may_move((enum phase)from, (enum phase)to)) {
				assert_result_at(move(&change, (enum phase)to, &err), 0, &err, __FILE__,
						 __LINE__);
			} else {
				assert_true(move(&change, (enum phase)to, &err) < 0);
				assert_int_equal(err.code, ERROR_BUG);
				assert_int_equal(load(&change).phase, from);
			}
		}
}

static void test_a_move_needs_a_line_of_history_that_says_so(void **state)
{
	struct change change = new_change(1, "corder", 1), next;
	struct history_entry entry = { .actor = "", .from = PHASE_SUBMITTING, .to = PHASE_FAILED };
	struct store_expect expect;

	(void)state;
	insert(&change);
	expect = expect_of(&change);
	next = change;
	next.phase = PHASE_SUBMITTED;
	assert_refused(store_update(f.store, &next, &expect, NULL, err), ERROR_BUG, "history");
	assert_refused(store_update(f.store, &next, &expect, &entry, err), ERROR_BUG, "submitted");
	entry = (struct history_entry){ .actor = "", .from = PHASE_FAILED, .to = PHASE_SUBMITTED };
	assert_refused(store_update(f.store, &next, &expect, &entry, err), ERROR_BUG, "submitted");
	assert_int_equal(load(&change).phase, PHASE_SUBMITTING);
}

static void test_shards_are_written_with_the_change(void **state)
{
	struct change_shard others[3] = { { "-40", { "zone1", 1 }, "b", "a" },
					  { "-80", { "zone9", 100 }, NULL, "" },
					  { "80-", { "zone2", 7 }, "", NULL } };
	struct change change = new_change(1, "corder", 1), found;
	struct store_expect expect;

	(void)state;
	insert(&change);
	for (size_t count = 0; count <= 3; count++) {
		/* 2, then 0, 1, 2 and 3 shards; in the last round with other values */
		for (size_t i = 0; i < 3 && count == 3; i++)
			others[i].primary.uid++;
		expect = expect_of(&change);
		change.shards = others;
		change.shard_count = count;
		assert_ok(store_update(f.store, &change, &expect, NULL, err));
		found = load(&change);
		assert_same_change(&found, &change);
	}
	/* Each definition alone, to and from "not known". */
	for (int i = 0; i < 8; i++) {
		const char **definition = i & 1 ? &others[1].definition_before : &others[1].definition_after;

		*definition = *definition ? NULL : i & 4 ? "x" : "";
		expect = expect_of(&change);
		assert_ok(store_update(f.store, &change, &expect, NULL, err));
		found = load(&change);
		assert_same_change(&found, &change);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_a_change_comes_back_as_it_was_written),
		ROW(test_hostile_text_is_only_text),
		ROW(test_the_largest_change_fits),
		ROW(test_a_bad_name_is_never_written),
		ROW(test_a_bad_name_finds_nothing),
		ROW(test_the_same_change_is_recorded_once),
		ROW(test_a_name_of_another_change_is_refused),
		ROW(test_the_same_names_in_another_cluster_are_another_change),
		ROW(test_a_table_is_busy_exactly_while_its_change_is_live),
		ROW(test_other_tables_and_keyspaces_are_free),
		ROW(test_a_table_is_free_once_its_change_ended),
		ROW(test_a_new_generation_takes_the_table_of_one_that_ended_badly),
		ROW(test_a_replaced_change_stays_replaced_while_it_is_written),
		ROW(test_a_new_generation_waits_for_one_that_is_on_its_way),
		ROW(test_another_statement_never_takes_a_table),
		ROW(test_a_refused_generation_releases_nothing),
		ROW(test_an_update_writes_what_may_change_and_nothing_else),
		ROW(test_an_update_on_old_knowledge_writes_nothing),
		ROW(test_of_two_writers_one_wins),
		ROW(test_a_change_that_is_not_there_cannot_be_updated),
		ROW(test_the_store_knows_the_drawing_of_phases),
		ROW(test_a_move_needs_a_line_of_history_that_says_so),
		ROW(test_shards_are_written_with_the_change),
	};

	return run_on_every_backend(tests);
}
