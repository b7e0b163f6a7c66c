/* Goal: every backend writes a batch as one transaction in which each write stands for itself.
 * Method: one list of claims, run once for each backend (store_backends.h). */
#include "store_backends.h"

static struct store_write insert_of(struct change *change)
{
	return (struct store_write){
		.change = change, .actor = "ci@host", .evidence = "two shards", .result = 99
	};
}

/* A move within a batch; what it was decided on and its line of history live beside it. */
struct move {
	struct change change;
	struct store_expect expect;
	struct history_entry entry;
};

static struct store_write move_of(struct move *move, const struct change *from, enum phase to)
{
	*move = (struct move){ .change = *from,
			       .expect = { from->phase, from->revision, f.epoch },
			       .entry = { .at_ms = 5, .actor = "engine", .from = from->phase, .to = to } };
	move->change.phase = to;
	return (struct store_write){
		.change = &move->change, .expect = &move->expect, .entry = &move->entry, .result = 99
	};
}

static void assert_results(const struct store_write *writes, const int *expected, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (writes[i].result != expected[i])
			print_error("write %zu: result %d, expected %d: %s\n", i, writes[i].result,
				    expected[i], writes[i].result < 0 ? writes[i].error.text : "");
		assert_int_equal(writes[i].result, expected[i]);
	}
}

static bool is_there(const struct change *change)
{
	struct change found;
	struct error err = { 0 };
	int result = store_load(f.store, change->cluster, change->uuid, &f.arena, &found, &err);

	assert_true(result >= 0);
	return result == 0;
}

static void test_each_write_of_a_batch_stands_for_itself(void **state)
{
	struct change old = new_change(1, "old", 1), stays = new_change(2, "stays", 1),
		      goes = new_change(3, "new", 1), busy = new_change(4, "new", 1), again = goes,
		      free = new_change(5, "free", 1), found;
	struct move moved, outdated;
	struct history_entry *entries;

	(void)state;
	insert(&old);
	insert(&stays);
	struct store_write writes[] = {
		insert_of(&goes),
		insert_of(&busy),
		move_of(&outdated, &stays, PHASE_SUBMITTED),
		move_of(&moved, &old, PHASE_SUBMITTED),
		insert_of(&again),
		insert_of(&free),
	};
	outdated.expect.revision = 7;
	store_write(f.store, writes, 6);
	assert_results(writes, (int[]){ 0, STORE_TABLE_BUSY, STORE_CONFLICT, 0, STORE_CONFLICT, 0 }, 6);

	assert_int_equal(goes.revision, 1);
	assert_int_equal(busy.revision, 0);
	assert_int_equal(outdated.change.revision, 1);
	assert_int_equal(moved.change.revision, 2);
	assert_int_equal(again.revision, 0);
	found = load(&goes);
	assert_same_change(&found, &goes);
	assert_int_equal(count_history(&goes, &entries), 1);
	assert_string_equal(entries[0].actor, "ci@host");
	assert_string_equal(entries[0].evidence, "two shards");
	found = load(&old);
	assert_same_change(&found, &moved.change);
	assert_int_equal(count_history(&old, &entries), 2);
	assert_string_equal(entries[1].actor, "engine");
	found = load(&stays);
	assert_same_change(&found, &stays);
	assert_int_equal(count_history(&stays, &entries), 1);
	assert_false(is_there(&busy));
	assert_int_equal(count_history(&busy, &entries), 0);
	assert_true(is_there(&free));
}

static void test_a_later_write_sees_an_earlier_one(void **state)
{
	struct change first = new_change(1, "corder", 1), held = new_change(2, "held", 1),
		      next = new_change(3, "held", 1);
	struct change inserted = first, found;
	struct move submitted, second, ended;
	struct history_entry *entries;

	(void)state;
	insert(&held);
	assert_ok(move(&held, PHASE_CANCELLING, err));
	inserted.revision = 1;
	struct store_write writes[] = {
		insert_of(&first),
		move_of(&submitted, &inserted, PHASE_SUBMITTED),
		move_of(&second, &inserted, PHASE_FAILED), /* on what was so before the batch went on */
		move_of(&ended, &held, PHASE_CANCELLED),
		insert_of(&next), /* its table is free since the line above */
	};
	store_write(f.store, writes, 5);
	assert_results(writes, (int[]){ 0, 0, STORE_CONFLICT, 0, 0 }, 5);
	found = load(&first);
	assert_int_equal(found.phase, PHASE_SUBMITTED);
	assert_int_equal(found.revision, 2);
	assert_int_equal(count_history(&first, &entries), 2);
	assert_int_equal(load(&held).phase, PHASE_CANCELLED);
	assert_true(is_there(&next));
}

static void test_a_refused_write_leaves_no_part_of_itself(void **state)
{
	struct change former = new_change(1, "corder", 1), late = new_change(1, "corder", 2), found,
		      other = new_change(2, "other", 1), third = new_change(1, "corder", 3);
	struct history_entry *entries;

	(void)state;
	insert(&former);
	assert_ok(move(&former, PHASE_FAILED, err));
	late.epoch = f.epoch - 1; /* of a leader that is none any more: it takes no table either */
	struct store_write writes[] = { insert_of(&late), insert_of(&other) };
	store_write(f.store, writes, 2);
	assert_results(writes, (int[]){ STORE_CONFLICT, 0 }, 2);
	found = load(&former);
	assert_same_change(&found, &former);
	assert_int_equal(count_history(&former, &entries), 2);
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER, .live_only = true }), 2);

	/* While one that is not refused replaces it, and who was about to cancel the former must look again.
	 */
	struct move cancel;
	struct store_write more[] = { insert_of(&third), move_of(&cancel, &former, PHASE_CANCELLING) };
	store_write(f.store, more, 2);
	assert_results(more, (int[]){ 0, STORE_CONFLICT }, 2);
	assert_true(load(&former).revision > former.revision);
	assert_int_equal(count_history(&former, &entries), 3);
}

static void test_a_bug_in_one_write_stops_no_other(void **state)
{
	struct change good = new_change(1, "corder", 1), bad = new_change(2, "other", 1),
		      last = new_change(3, "last", 1);
	struct move jump;

	(void)state;
	insert(&last);
	bad.uuid[0] = 'X';
	struct store_write writes[] = { insert_of(&bad), insert_of(&good),
					move_of(&jump, &last, PHASE_VERIFIED) };
	store_write(f.store, writes, 3);
	assert_results(writes, (int[]){ -1, 0, -1 }, 3);
	assert_int_equal(writes[0].error.code, ERROR_BUG);
	assert_non_null(strstr(writes[0].error.text, "uuid"));
	assert_int_equal(writes[2].error.code, ERROR_BUG);
	assert_non_null(strstr(writes[2].error.text, "verified"));
	assert_true(is_there(&good));
	assert_int_equal(load(&last).phase, PHASE_SUBMITTING);
}

static void test_a_batch_may_be_empty_or_refused_as_a_whole(void **state)
{
	struct change change = new_change(1, "corder", 1), again = change,
		      second = new_change(2, "corder", 1);

	(void)state;
	store_write(f.store, NULL, 0);
	insert(&change);
	struct store_write writes[] = { insert_of(&again), insert_of(&second) };
	store_write(f.store, writes, 2);
	assert_results(writes, (int[]){ STORE_CONFLICT, STORE_TABLE_BUSY }, 2);
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER }), 1);
	assert_ok(move(&change, PHASE_SUBMITTED, err)); /* nothing is left open */
}

static void test_a_batch_may_be_large(void **state)
{
	enum { COUNT = 256 };
	struct change *changes = test_calloc(COUNT, sizeof(*changes));
	struct store_write *writes = test_calloc(COUNT, sizeof(*writes));
	struct move *moves = test_calloc(COUNT, sizeof(*moves));

	(void)state;
	for (unsigned i = 0; i < COUNT; i++) {
		char table[16];

		snprintf(table, sizeof(table), "t%u", i);
		changes[i] = new_change(i + 1, table, 1);
		writes[i] = insert_of(&changes[i]);
	}
	store_write(f.store, writes, COUNT);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(writes[i].result, 0);
		writes[i] = move_of(&moves[i], &changes[i], PHASE_SUBMITTED);
		moves[i].expect.revision += i == 100; /* one of them is refused */
	}
	store_write(f.store, writes, COUNT);
	for (unsigned i = 0; i < COUNT; i++) {
		assert_int_equal(writes[i].result, i == 100 ? STORE_CONFLICT : 0);
		assert_int_equal(load(&changes[i]).phase, i == 100 ? PHASE_SUBMITTING : PHASE_SUBMITTED);
	}
	test_free(moves);
	test_free(writes);
	test_free(changes);
}

static void test_an_old_leader_writes_no_batch(void **state)
{
	struct change change = new_change(1, "corder", 1), new = new_change(2, "other", 1);
	struct store *other;
	struct move move;
	int64_t epoch = 0;

	(void)state;
	insert(&change);
	store_release(f.store, SCOPE, "host:1:a");
	assert_ok(backend_open(f.url, false, &other, err));
	assert_ok(lease_at(other, SCOPE, "host:2:b", &epoch, f.holder, err));
	struct store_write writes[] = { move_of(&move, &change, PHASE_SUBMITTED), insert_of(&new) };
	store_write(f.store, writes, 2);
	assert_results(writes, (int[]){ STORE_CONFLICT, STORE_CONFLICT }, 2);
	store_close(other);
}

static void test_a_reader_writes_no_batch(void **state)
{
	struct change change = new_change(1, "corder", 1), other = new_change(2, "other", 1);
	struct store *reader;

	(void)state;
	assert_ok(backend_open(f.url, true, &reader, err));
	struct store_write writes[] = { insert_of(&change), insert_of(&other) };
	store_write(reader, writes, 2);
	assert_results(writes, (int[]){ -1, -1 }, 2);
	assert_int_equal(change.revision, 0);
	store_close(reader);
	assert_int_equal(count_listed(&(struct store_filter){ .cluster = CLUSTER }), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		ROW(test_each_write_of_a_batch_stands_for_itself),
		ROW(test_a_later_write_sees_an_earlier_one),
		ROW(test_a_refused_write_leaves_no_part_of_itself),
		ROW(test_a_bug_in_one_write_stops_no_other),
		ROW(test_a_batch_may_be_empty_or_refused_as_a_whole),
		ROW(test_a_batch_may_be_large),
		ROW(test_an_old_leader_writes_no_batch),
		ROW(test_a_reader_writes_no_batch),
	};

	return run_on_every_backend(tests);
}
