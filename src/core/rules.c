#include "vtddl/rules.h"

#define AT(x) .at = PHASE_##x
#define YES(x) .yes = (x)
#define NO(x) .no = (x)
#define MOVE(x) .action = ACTION_MOVE, .to = PHASE_##x
#define DO(x) .action = ACTION_##x
#define IS(x) .verdict = VERDICT_##x

#define LEADER FACT_LEADER
#define SHARDS_KNOWN FACT_SHARDS_KNOWN
#define SHARDS_CHANGED FACT_SHARDS_CHANGED
#define ALL_SEEN FACT_ALL_SEEN
#define ALL_ROWS FACT_ALL_ROWS
#define SETTLING FACT_SETTLING
#define MISMATCH FACT_MISMATCH
#define DOUBLED FACT_DOUBLED
#define DEAD FACT_DEAD
#define FAILED FACT_FAILED
#define CANCELLED FACT_CANCELLED
#define DUPLICATE FACT_DUPLICATE
#define ANY_HELD FACT_ANY_HELD
#define ANY_RELEASED FACT_ANY_RELEASED
#define ANY_COMPLETE FACT_ANY_COMPLETE
#define ANY_LIVE FACT_ANY_LIVE
#define ALL_READY FACT_ALL_READY
#define ALL_FORWARD FACT_ALL_FORWARD
#define ALL_COMPLETE FACT_ALL_COMPLETE
#define ALL_GONE FACT_ALL_GONE
#define CONFIRMED FACT_CONFIRMED
#define GATE_OPEN FACT_GATE_OPEN
#define CANCEL_ASKED FACT_CANCEL_ASKED
#define TAKE_UP FACT_TAKE_UP
#define SENT FACT_SENT
#define BUSY FACT_BUSY
#define DUE FACT_DUE
#define LATE FACT_LATE
#define PROVEN FACT_PROVEN
#define DISPROVEN FACT_DISPROVEN

#define FOLLOWER "another vtddl drives this keyspace; this one only reads"
#define NO_TOPOLOGY "the shards of the keyspace cannot be read from vtctld"
#define IN_FLIGHT "an effect is under way, or may still act; nothing else is sent meanwhile"
#define BACK_OFF "waiting before the next attempt"
#define OTHER_MIGRATION "a shard has another migration under this change's uuid"
#define TWO_PRIMARIES "two tablets have answered as primary of one shard for a minute"
#define SHARD_SET "the keyspace's shards are no longer those recorded at the start"
#define DUPLICATE_DDL "a shard says COMPLETE as a duplicate: Vitess did nothing there"
#define BREACHED "a shard is past the hold although vtddl has not released it: somebody else completed it (a person, or a vtddl with another store)"
#define SHARD_FAILED "the migration failed on a shard; no other shard was released"
#define SHARD_CANCELLED "somebody cancelled the migration on a shard; it is not revived"
#define ALL_CANCELLED "somebody cancelled the migration; it is not revived"
#define OVERDUE_UNSEEN "the deadline of the change has passed while a shard cannot be seen; bring that shard back, then run it again"
#define OVERDUE "the deadline of the change has passed; nothing more is sent until it is run again"

/*
 * Rows of one phase stand together, in the order in which they are tried: first what must stop,
 * then what a person asked for, then what moves on, then what is waited for. An effect has all its
 * conditions in its own row and never relies on a row above it alone.
 */
static const struct rule rules[] = {
	/* The intent is written; find out who has the row, send it to those proven not to. */
	{ 101, AT(SUBMITTING), NO(LEADER), DO(WAIT), IS(RUNNING), .reason = FOLLOWER },
	{ 103, AT(SUBMITTING), YES(MISMATCH), MOVE(STOPPED), IS(UNSEEN), .reason = OTHER_MIGRATION },
	{ 105, AT(SUBMITTING), YES(DOUBLED), MOVE(STOPPED), IS(UNSEEN), .reason = TWO_PRIMARIES },
	{ 107, AT(SUBMITTING), YES(SHARDS_CHANGED), MOVE(STOPPED), IS(UNSEEN), .reason = SHARD_SET },
	{ 109, AT(SUBMITTING), YES(DUPLICATE), MOVE(STOPPED), IS(FAILED), .reason = DUPLICATE_DDL },
	/* Adopted: the store was lost behind the release. The same barrier: nothing is written on one reading alone. */
	{ 111, AT(SUBMITTING), YES(ALL_ROWS | ALL_COMPLETE | CONFIRMED | SHARDS_KNOWN | LEADER), NO(SENT | MISMATCH), MOVE(COMPLETING),
	  IS(RUNNING), .reason = "the store had no record, the fleet has the migration complete on every shard: adopted" },
	{ 113, AT(SUBMITTING), YES(ALL_ROWS | ALL_FORWARD | ANY_RELEASED | CONFIRMED | SHARDS_KNOWN | LEADER),
	  NO(SENT | DEAD | MISMATCH), MOVE(COMPLETING), IS(RUNNING),
	  .reason = "the store had no record, the fleet shows a release under way and no shard behind: adopted" },
	{ 114, AT(SUBMITTING), YES(ALL_ROWS | ALL_FORWARD | ANY_RELEASED), NO(SENT | DEAD | CONFIRMED), DO(CONFIRM), IS(RUNNING),
	  .reason = "the fleet shows a release under way and no shard behind; reading the topology once more" },
	{ 115, AT(SUBMITTING), YES(ANY_RELEASED | SETTLING), NO(SENT), DO(WAIT), IS(RUNNING),
	  .reason = "the fleet shows a release under way; a second look is owed" },
	{ 117, AT(SUBMITTING), YES(ANY_RELEASED), NO(SENT | ALL_SEEN), DO(WAIT), IS(UNSEEN),
	  .reason = "the fleet shows a release under way, but not every shard can be seen" },
	{ 119, AT(SUBMITTING), YES(ANY_RELEASED), MOVE(STOPPED), IS(INCONSISTENT), .reason = BREACHED },
	{ 121, AT(SUBMITTING), YES(CANCELLED | ALL_GONE), NO(FAILED | BUSY), MOVE(CANCELLED), IS(FAILED), .reason = ALL_CANCELLED },
	{ 122, AT(SUBMITTING), YES(CANCELLED | ALL_GONE), NO(FAILED), DO(WAIT), IS(RUNNING), .reason = IN_FLIGHT },
	{ 123, AT(SUBMITTING), YES(FAILED), MOVE(FAILED), IS(FAILED), .reason = SHARD_FAILED },
	{ 125, AT(SUBMITTING), YES(CANCELLED), MOVE(FAILED), IS(FAILED), .reason = SHARD_CANCELLED },
	{ 127, AT(SUBMITTING), YES(CANCEL_ASKED), NO(BUSY), MOVE(CANCELLING), IS(RUNNING), .reason = "a person asked to cancel" },
	{ 129, AT(SUBMITTING), YES(CANCEL_ASKED), DO(WAIT), IS(RUNNING),
	  .reason = "a person asked to cancel; the submit under way must end first" },
	{ 131, AT(SUBMITTING), YES(ALL_ROWS), NO(DEAD), MOVE(SUBMITTED), IS(RUNNING), .reason = "every shard has the migration" },
	{ 132, AT(SUBMITTING), YES(LATE), NO(ALL_SEEN), DO(REST), IS(UNSEEN), .reason = OVERDUE_UNSEEN },
	{ 133, AT(SUBMITTING), YES(LATE), DO(REST), IS(LATE), .reason = OVERDUE },
	{ 135, AT(SUBMITTING), NO(SHARDS_KNOWN), DO(WAIT), IS(UNSEEN), .reason = NO_TOPOLOGY },
	{ 137, AT(SUBMITTING), YES(BUSY), DO(WAIT), IS(RUNNING), .reason = IN_FLIGHT },
	{ 139, AT(SUBMITTING), NO(ALL_SEEN), DO(WAIT), IS(UNSEEN),
	  .reason = "a shard cannot be seen; nothing is sent before every primary has answered" },
	{ 141, AT(SUBMITTING), YES(ALL_SEEN | SHARDS_KNOWN | LEADER | DUE), NO(ALL_ROWS | DEAD | BUSY | LATE | SETTLING | ANY_RELEASED),
	  DO(SUBMIT), IS(RUNNING), .reason = "a shard's primary has no row of this migration" },
	{ 199, AT(SUBMITTING), DO(WAIT), IS(RUNNING), .reason = BACK_OFF },

	/* Every shard has it; hold until all are ready, then pass the barrier. */
	{ 201, AT(SUBMITTED), NO(LEADER), DO(WAIT), IS(RUNNING), .reason = FOLLOWER },
	{ 203, AT(SUBMITTED), YES(MISMATCH), MOVE(STOPPED), IS(UNSEEN), .reason = OTHER_MIGRATION },
	{ 205, AT(SUBMITTED), YES(DOUBLED), MOVE(STOPPED), IS(UNSEEN), .reason = TWO_PRIMARIES },
	{ 207, AT(SUBMITTED), YES(SHARDS_CHANGED), MOVE(STOPPED), IS(UNSEEN), .reason = SHARD_SET },
	{ 209, AT(SUBMITTED), YES(DUPLICATE), MOVE(STOPPED), IS(FAILED), .reason = DUPLICATE_DDL },
	{ 211, AT(SUBMITTED), YES(ANY_RELEASED), MOVE(STOPPED), IS(INCONSISTENT), .reason = BREACHED },
	{ 213, AT(SUBMITTED), YES(CANCELLED | ALL_GONE), NO(FAILED | BUSY), MOVE(CANCELLED), IS(FAILED), .reason = ALL_CANCELLED },
	{ 214, AT(SUBMITTED), YES(CANCELLED | ALL_GONE), NO(FAILED), DO(WAIT), IS(RUNNING), .reason = IN_FLIGHT },
	{ 215, AT(SUBMITTED), YES(FAILED), MOVE(FAILED), IS(FAILED), .reason = SHARD_FAILED },
	{ 217, AT(SUBMITTED), YES(CANCELLED), MOVE(FAILED), IS(FAILED), .reason = SHARD_CANCELLED },
	{ 219, AT(SUBMITTED), YES(CANCEL_ASKED), NO(BUSY), MOVE(CANCELLING), IS(RUNNING), .reason = "a person asked to cancel" },
	{ 221, AT(SUBMITTED), YES(CANCEL_ASKED), DO(WAIT), IS(RUNNING),
	  .reason = "a person asked to cancel; the submit under way must end first" },
	{ 222, AT(SUBMITTED), YES(LATE), NO(ALL_SEEN), DO(REST), IS(UNSEEN), .reason = OVERDUE_UNSEEN },
	{ 223, AT(SUBMITTED), YES(LATE), DO(REST), IS(LATE), .reason = OVERDUE },
	{ 225, AT(SUBMITTED), YES(ALL_READY | ALL_ROWS | ALL_SEEN | GATE_OPEN | CONFIRMED | SHARDS_KNOWN | LEADER),
	  NO(DEAD | BUSY | MISMATCH | ANY_RELEASED), MOVE(COMPLETING), IS(RUNNING),
	  .reason = "every shard is held and ready, the gate is open, shards and primaries are as before" },
	{ 227, AT(SUBMITTED), YES(ALL_READY | GATE_OPEN), NO(CONFIRMED | DEAD | BUSY), DO(CONFIRM), IS(RUNNING),
	  .reason = "every shard is held and ready; reading the topology once more" },
	{ 229, AT(SUBMITTED), YES(ALL_READY), NO(GATE_OPEN), DO(WAIT), IS(GATE),
	  .reason = "every shard is held and ready; waiting for a person to release it" },
	{ 231, AT(SUBMITTED), YES(ALL_SEEN | SHARDS_KNOWN | LEADER | DUE), NO(ALL_ROWS | DEAD | BUSY | LATE | SETTLING | ANY_RELEASED),
	  DO(SUBMIT), IS(RUNNING), .reason = "a shard lost its row of this migration (a failover can do that)" },
	{ 233, AT(SUBMITTED), NO(SHARDS_KNOWN), DO(WAIT), IS(UNSEEN), .reason = NO_TOPOLOGY },
	{ 235, AT(SUBMITTED), NO(ALL_SEEN), DO(WAIT), IS(UNSEEN), .reason = "a shard cannot be seen; the others stay held" },
	{ 237, AT(SUBMITTED), YES(BUSY), DO(WAIT), IS(RUNNING), .reason = IN_FLIGHT },
	{ 239, AT(SUBMITTED), YES(SETTLING), DO(WAIT), IS(RUNNING), .reason = "a second look is owed" },
	{ 299, AT(SUBMITTED), DO(WAIT), IS(RUNNING), .reason = "not every shard is ready; those that are stay held" },

	/* The point of no return is written: only forward. */
	{ 301, AT(COMPLETING), NO(LEADER), DO(WAIT), IS(RUNNING), .reason = FOLLOWER },
	{ 303, AT(COMPLETING), YES(MISMATCH), MOVE(STOPPED), IS(INCONSISTENT), .reason = OTHER_MIGRATION },
	{ 305, AT(COMPLETING), YES(DUPLICATE), MOVE(STOPPED), IS(INCONSISTENT), .reason = DUPLICATE_DDL },
	{ 307, AT(COMPLETING), YES(FAILED), MOVE(STOPPED), IS(INCONSISTENT),
	  .reason = "the migration failed on a shard after the release" },
	{ 309, AT(COMPLETING), YES(CANCELLED), MOVE(STOPPED), IS(INCONSISTENT),
	  .reason = "somebody cancelled the migration on a shard after the release; it is not revived" },
	{ 311, AT(COMPLETING), YES(ALL_COMPLETE | ALL_ROWS), MOVE(COMPLETED), IS(RUNNING), .reason = "every shard is complete" },
	{ 313, AT(COMPLETING), YES(ALL_SEEN), NO(ALL_ROWS | BUSY | SETTLING), MOVE(STOPPED), IS(INCONSISTENT),
	  .reason = "a shard lost its row after the release" },
	{ 315, AT(COMPLETING), YES(LATE | ANY_COMPLETE), DO(REST), IS(INCONSISTENT),
	  .reason = "the deadline has passed while some shards have cut over and others have not" },
	{ 316, AT(COMPLETING), YES(LATE), NO(ALL_SEEN), DO(REST), IS(UNSEEN), .reason = OVERDUE_UNSEEN },
	{ 317, AT(COMPLETING), YES(LATE), DO(REST), IS(LATE), .reason = OVERDUE },
	{ 319, AT(COMPLETING), YES(ANY_HELD | BUSY), DO(WAIT), IS(RUNNING), .reason = IN_FLIGHT },
	{ 321, AT(COMPLETING), YES(ANY_HELD | ALL_SEEN | LEADER | DUE), NO(BUSY | DEAD | LATE | MISMATCH), DO(COMPLETE), IS(RUNNING),
	  .reason = "a shard is still held" },
	{ 323, AT(COMPLETING), YES(ANY_HELD | ANY_RELEASED | LEADER | DUE), NO(BUSY | DEAD | LATE | MISMATCH), DO(COMPLETE), IS(RUNNING),
	  .reason = "some shards are released and one that can be seen is still held: only forward" },
	{ 325, AT(COMPLETING), YES(ANY_HELD), NO(ALL_SEEN), DO(WAIT), IS(UNSEEN),
	  .reason = "a shard cannot be seen and none is released yet: all stay held until it answers" },
	{ 327, AT(COMPLETING), YES(ANY_HELD), DO(WAIT), IS(RUNNING), .reason = BACK_OFF },
	{ 329, AT(COMPLETING), NO(ALL_SEEN), DO(WAIT), IS(UNSEEN), .reason = "a shard cannot be seen; the others are released" },
	{ 399, AT(COMPLETING), DO(WAIT), IS(RUNNING), .reason = "released; waiting for every shard to cut over" },

	/* Complete everywhere; prove it. */
	{ 401, AT(COMPLETED), NO(LEADER), DO(WAIT), IS(RUNNING), .reason = FOLLOWER },
	{ 403, AT(COMPLETED), YES(MISMATCH), MOVE(STOPPED), IS(INCONSISTENT), .reason = OTHER_MIGRATION },
	{ 405, AT(COMPLETED), YES(DUPLICATE), MOVE(STOPPED), IS(INCONSISTENT), .reason = DUPLICATE_DDL },
	{ 407, AT(COMPLETED), YES(DISPROVEN), MOVE(STOPPED), IS(INCONSISTENT),
	  .reason = "a shard says COMPLETE but its definition is not the intended one" },
	{ 409, AT(COMPLETED), YES(PROVEN | ALL_COMPLETE | ALL_ROWS | CONFIRMED), NO(DISPROVEN | MISMATCH | DUPLICATE), MOVE(VERIFIED),
	  IS(DONE), .reason = "the intended definition is on every shard's primary" },
	{ 410, AT(COMPLETED), YES(PROVEN | ALL_COMPLETE | ALL_ROWS), NO(CONFIRMED), DO(CONFIRM), IS(RUNNING),
	  .reason = "the intended definition is on every shard; reading the topology once more, that it was read from the primaries" },
	{ 411, AT(COMPLETED), YES(LATE), DO(REST), IS(UNSEEN),
	  .reason = "complete on every shard, but the deadline passed before all could be proven" },
	{ 413, AT(COMPLETED), NO(ALL_COMPLETE), DO(WAIT), IS(UNSEEN), .reason = "not every shard can be seen complete" },
	{ 415, AT(COMPLETED), YES(DUE), DO(VERIFY), IS(RUNNING), .reason = "reading the definition on every primary" },
	{ 499, AT(COMPLETED), DO(WAIT), IS(UNSEEN), .reason = "not everything could be proven yet" },

	/* Verified: asked again, it is looked at again and nothing is sent. */
	{ 501, AT(VERIFIED), YES(DISPROVEN), DO(REST), IS(UNSAFE),
	  .reason = "this statement was verified, but the table has changed since and no longer has it" },
	{ 503, AT(VERIFIED), YES(PROVEN), DO(REST), IS(DONE), .reason = "already verified" },
	{ 505, AT(VERIFIED), YES(LATE), DO(REST), IS(UNSEEN), .reason = "verified before, but it could not be looked at again now" },
	{ 507, AT(VERIFIED), YES(DUE), DO(VERIFY), IS(RUNNING), .reason = "verified before; reading the definitions again" },
	{ 599, AT(VERIFIED), DO(WAIT), IS(UNSEEN), .reason = "verified before; not every shard can be read now" },

	/* Withdraw it everywhere; never completed afterwards. */
	{ 601, AT(CANCELLING), NO(LEADER), DO(WAIT), IS(RUNNING), .reason = FOLLOWER },
	{ 603, AT(CANCELLING), YES(MISMATCH), MOVE(STOPPED), IS(UNSEEN), .reason = OTHER_MIGRATION },
	{ 605, AT(CANCELLING), YES(ANY_COMPLETE), MOVE(STOPPED), IS(INCONSISTENT),
	  .reason = "a shard is complete although the change was being cancelled" },
	{ 607, AT(CANCELLING), YES(ALL_GONE | ALL_SEEN), NO(BUSY), MOVE(CANCELLED), IS(FAILED),
	  .reason = "withdrawn: no shard has it pending any more" },
	{ 609, AT(CANCELLING), YES(BUSY), DO(WAIT), IS(RUNNING), .reason = IN_FLIGHT },
	{ 610, AT(CANCELLING), YES(LATE), NO(ALL_SEEN), DO(REST), IS(UNSEEN), .reason = OVERDUE_UNSEEN },
	{ 611, AT(CANCELLING), YES(LATE), DO(REST), IS(LATE), .reason = OVERDUE },
	{ 613, AT(CANCELLING), YES(ANY_LIVE | LEADER | DUE), NO(BUSY | LATE | ANY_COMPLETE | MISMATCH), DO(CANCEL), IS(RUNNING),
	  .reason = "a shard still has it pending" },
	{ 615, AT(CANCELLING), NO(ALL_SEEN), DO(WAIT), IS(UNSEEN), .reason = "a shard cannot be seen" },
	{ 699, AT(CANCELLING), DO(WAIT), IS(RUNNING), .reason = BACK_OFF },

	/* On watch for a while: a submit that was still under way may revive a shard (R6). */
	{ 701, AT(CANCELLED), YES(LEADER | ANY_LIVE | DUE), NO(BUSY | ANY_COMPLETE | MISMATCH), DO(CANCEL), IS(RUNNING),
	  .reason = "a late submit revived a shard: cancelled again" },
	{ 799, AT(CANCELLED), DO(REST), IS(FAILED), .reason = "cancelled" },

	{ 801, AT(FAILED), YES(CANCEL_ASKED | LEADER), NO(BUSY | ANY_COMPLETE), MOVE(CANCELLING), IS(RUNNING),
	  .reason = "a person asked to cancel" },
	{ 803, AT(FAILED), YES(CANCEL_ASKED), NO(ANY_COMPLETE), DO(WAIT), IS(RUNNING),
	  .reason = "a person asked to cancel; waiting for the lease, or for an effect that may still act" },
	{ 899, AT(FAILED), DO(REST), IS(FAILED), .reason = "failed" },

	/* A person decides. */
	{ 901, AT(STOPPED), YES(CANCEL_ASKED | LEADER), NO(BUSY | SENT | ANY_COMPLETE | MISMATCH), MOVE(CANCELLING), IS(RUNNING),
	  .reason = "a person asked to cancel" },
	{ 902, AT(STOPPED), YES(CANCEL_ASKED), NO(SENT | ANY_COMPLETE | MISMATCH), DO(WAIT), IS(RUNNING),
	  .reason = "a person asked to cancel; waiting for the lease, or for an effect that may still act" },
	{ 903, AT(STOPPED), YES(TAKE_UP | LEADER | ALL_COMPLETE | ALL_ROWS), NO(MISMATCH | DUPLICATE | BUSY), MOVE(COMPLETED), IS(RUNNING),
	  .reason = "a person asked to verify it, and every shard is complete" },
	{ 905, AT(STOPPED), YES(TAKE_UP | ALL_COMPLETE | ALL_ROWS), NO(MISMATCH | DUPLICATE), DO(WAIT), IS(RUNNING),
	  .reason = "a person asked to verify it; waiting for the lease, or for an effect that may still act" },
	{ 999, AT(STOPPED), DO(REST), IS(UNSEEN), .reason = "stopped: a person must look" },
};

static const char *const action_names[] = {
	[ACTION_WAIT] = "wait",	      [ACTION_MOVE] = "move",	  [ACTION_SUBMIT] = "submit",
	[ACTION_COMPLETE] = "complete", [ACTION_CANCEL] = "cancel", [ACTION_CONFIRM] = "confirm",
	[ACTION_VERIFY] = "verify",   [ACTION_REST] = "rest",
};

const char *action_name(enum action action)
{
	return (unsigned)action < _ACTION_MAX ? action_names[action] : "unknown";
}

const struct rule *rules_table(size_t *ret_count)
{
	*ret_count = sizeof(rules) / sizeof(rules[0]);
	return rules;
}

const struct rule *rules_next(enum phase phase, uint32_t facts)
{
	const struct rule *rule = rules, *last = &rules[sizeof(rules) / sizeof(rules[0]) - 1];

	/* The last row of every phase takes everything. The last of all waits for a person. */
	while (rule < last && (rule->at != phase || (facts & rule->yes) != rule->yes || (facts & rule->no) != 0))
		rule++;
	return rule;
}

const struct rule *rules_find(int number)
{
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (rules[i].number == number)
			return &rules[i];
	return NULL;
}
