/*
 * The protocol of one change: C controllers with leases over one store, S shards, a network and people that do
 * what they like. README.md says what is modelled and what is not; ./run makes phases.pml and runs every variant.
 *
 * What decides here is not written here: next_rule(), the arrows, the effects of a phase and what a shard's row
 * adds to the facts come from the program itself (phases.c). This file has what is around them: the record and
 * its compare-and-set, the lease, the look, the sending, the network, Vitess, and the claims.
 *
 * Three reductions make it small, none of which takes a behaviour away:
 * - Revisions and epochs are not counted. A write makes every other copy of the record old, a taking makes every
 *   other epoch a former one; what a refused compare-and-set would end is ended at once (forget).
 * - The network is a set: an effect under way may act on any shard, at any time, any number of times, until it
 *   ends. So one is as good as many, and "lost, late, twice, on some shards" needs no counters.
 * - Shards are alike and controllers are alike: after every step both are put in order.
 */
#include "phases.pml"

#ifndef S
#define S 3 /* shards */
#endif
#ifndef C
#define C 2 /* controllers */
#endif

/* ---- Claims, numbered as the invariants are. -DCHECK=n looks at one of them alone. ---- */

#define I3 3 /* barrier: released only after one look in which every shard was held and ready */
#define I4 4 /* never both: a Complete and a Cancel */
#define I5 5 /* the barrier is passed once */
#define I6 6 /* a withdrawn change is not revived by us */
#define I7 7 /* a phase is written only by who holds the epoch, on the record as it read it */
#define I8 8 /* verified only when every shard is complete */
#define I12 12 /* an effect is sent only in a phase that has it, its attempt written before, one at a time */
#define FLEET 40 /* I4 as the fleet shows it: no shard complete beside a cancelled one */
#define ARROW 50 /* only along the arrows */
#define DRAWING 60 /* the program's arrows and effects are those drawn below */
#ifndef CHECK
#define CHECK 0
#endif
#define CLAIM(number, what) assert((CHECK && CHECK != number) || (what))

/* ---- The drawing in change.h, by hand: it must be that of phase_may_move() and of decide.c. ---- */

#define TO(phase) (1 << PHASE_##phase)
#define DRAWN(phase, arrows, effect) \
	CLAIM(DRAWING, ARROWS(PHASE_##phase) == (arrows) && EFFECT_OF(PHASE_##phase) == EFFECT_##effect)

inline drawing_is_the_programs()
{
	CLAIM(DRAWING, PHASES == 9);
	DRAWN(SUBMITTING, TO(SUBMITTED) | TO(COMPLETING) | TO(CANCELLING) | TO(CANCELLED) | TO(FAILED) | TO(STOPPED),
	      SUBMIT);
	DRAWN(SUBMITTED, TO(COMPLETING) | TO(CANCELLING) | TO(CANCELLED) | TO(FAILED) | TO(STOPPED), SUBMIT);
	DRAWN(COMPLETING, TO(COMPLETED) | TO(STOPPED), COMPLETE);
	DRAWN(COMPLETED, TO(VERIFIED) | TO(STOPPED), NONE);
	DRAWN(VERIFIED, 0, NONE);
	DRAWN(CANCELLING, TO(CANCELLED) | TO(STOPPED), CANCEL);
	DRAWN(CANCELLED, 0, CANCEL);
	DRAWN(FAILED, TO(CANCELLING), NONE);
	DRAWN(STOPPED, TO(CANCELLING) | TO(COMPLETED), NONE)
}

/* ---- State ---- */

/* Vitess: the row of the migration on one shard. Those below OPEN are held; OPEN is released and not cut over yet;
 * what is cancelled or failed keeps its hold, or the lack of it, for when it is revived. */
#define ABSENT 0
#define COPYING 1
#define READY 2
#define OPEN 3
#define DONE 4
#define CANCELLED_HELD 5
#define CANCELLED_OPEN 6
#define FAILED_HELD 7
#define FAILED_OPEN 8
byte shard[S];
byte read[S]; /* bit c: controller c has read it in its present look */

#define IS_HELD(i) (shard[i] == COPYING || shard[i] == READY)
#define IS_LIVE(i) (IS_HELD(i) || shard[i] == OPEN)
#define IS_CANCELLED(i) (shard[i] == CANCELLED_HELD || shard[i] == CANCELLED_OPEN)
#define IS_DEAD(i) (shard[i] >= CANCELLED_HELD)
#if S == 2
#define ALL(is) (is(0) && is(1))
#define ANY(is) (is(0) || is(1))
#elif S == 3
#define ALL(is) (is(0) && is(1) && is(2))
#define ANY(is) (is(0) || is(1) || is(2))
#else
#error "S is 2 or 3"
#endif
#define IS_DONE(i) (shard[i] == DONE)

/* The store: the record, and the row of the lease. */
byte phase;	     /* the intent is written: PHASE_SUBMITTING */
bool cancel_asked;
bool sent;	     /* attempts > 0 in this phase; in stopped: stopped after the release (record_was_released) */
bool lease_held;     /* not over by the store's clock */

#define NOBODY 0  /* does not believe that it leads */
#define FORMER 1  /* believes it, but another took the lease since: its epoch is old */
#define CURRENT 2 /* its epoch is that of the row; the lease may be over all the same */
#define IDLE 0
#define PAUSED 1 /* the attempt is written, the effect is not sent */
#define LOOKING 2
#define CONFIRMED 3 /* the topology was read again after the rows */
typedef controller {
	byte lead;
	byte step;
	byte effect;	/* PAUSED: what it is about to send */
	byte in_flight; /* what it sent and awaits the answer of */
	byte at;	/* the phase that it read */
	byte truth;	/* of the look, for I3: shards that were held and ready when they were read */
	bool fresh;	/* the record is as it read it */
	bool moved;	/* a shard got another primary since the look began */
	int facts
};
controller ctl[C];

/* Effects that may still act although nobody awaits their answer: bit (1 << effect). */
byte stray;

/* What ever happened, for the claims. */
bool passed;	     /* completing was committed */
bool sent_complete, sent_cancel;

/* Scratch; never part of a state. */
hidden byte action, to;
hidden short rule;
hidden byte o, j, other;
hidden int facts, wide;

#ifdef LIVE
bool calm; /* faults have ended for good */
#else
#define calm false
#endif

#define SEEN(c, i) ((read[i] >> c) & 1)
#define SEEN_ALL(c) (((read[0] >> c) & 1) && ((read[1] >> c) & 1) && ((read[S - 1] >> c) & 1))
#if C == 2
#define AWAITED(e) (ctl[0].in_flight == e || ctl[1].in_flight == e)
#define NONE_AWAITED (!ctl[0].in_flight && !ctl[1].in_flight)
#elif C == 3
#define AWAITED(e) (ctl[0].in_flight == e || ctl[1].in_flight == e || ctl[2].in_flight == e)
#define NONE_AWAITED (!ctl[0].in_flight && !ctl[1].in_flight && !ctl[2].in_flight)
#else
#error "C is 2 or 3"
#endif
#define MAY_ACT(e) (((stray >> e) & 1) || AWAITED(e))
/*
 * TIMELY is the world that R3 counts on: an effect acts neither after its sender was told that it ended nor after the
 * lease under which it was sent. Without it an effect may act whenever it likes, and a controller may sleep
 * for as long as it likes between the check of its lease and the sending.
 */
#ifdef TIMELY
#define QUIET (stray == 0)
#else
#define QUIET true
#endif

/* ---- Symmetry: put alike things in order ---- */

#define SHARD_KEY(i) (shard[i] * 8 + read[i])
#define CTL_KEY(c) \
	((((((ctl[c].lead * 4 + ctl[c].step) * 4 + ctl[c].effect) * 4 + ctl[c].in_flight) * 16 + ctl[c].at) * 4 + \
	  ctl[c].truth) * 4 + ctl[c].fresh * 2 + ctl[c].moved)
#define IN_ORDER(a, b) (CTL_KEY(a) < CTL_KEY(b) || (CTL_KEY(a) == CTL_KEY(b) && ctl[a].facts <= ctl[b].facts))
#define UNLIKE(a, b) (calm || SHARD_KEY(a) != SHARD_KEY(b)) /* of several that are the same one will do */
#define SWAP(x, y) other = x; x = y; y = other

inline order_shards(a, b)
{
	if
	:: SHARD_KEY(a) > SHARD_KEY(b) -> SWAP(shard[a], shard[b]); SWAP(read[a], read[b])
	:: else
	fi
}

inline order_controllers(a, b)
{
	if
	:: !IN_ORDER(a, b) ->
		SWAP(ctl[a].lead, ctl[b].lead); SWAP(ctl[a].step, ctl[b].step); SWAP(ctl[a].effect, ctl[b].effect);
		SWAP(ctl[a].in_flight, ctl[b].in_flight); SWAP(ctl[a].at, ctl[b].at); SWAP(ctl[a].truth, ctl[b].truth);
		SWAP(ctl[a].fresh, ctl[b].fresh); SWAP(ctl[a].moved, ctl[b].moved);
		wide = ctl[a].facts; ctl[a].facts = ctl[b].facts; ctl[b].facts = wide;
		for (j : 0 .. S - 1) {
			read[j] = (read[j] & (255 - (1 << a) - (1 << b))) | (((read[j] >> a) & 1) << b) |
				  (((read[j] >> b) & 1) << a)
		}
	:: else
	fi
}

inline order_all()
{
	if
	:: !calm -> /* fairness is of this shard and that controller, so from then on each keeps its place */
		order_controllers(0, 1);
#if C == 3
		order_controllers(1, 2);
		order_controllers(0, 1);
#endif
		order_shards(0, 1);
#if S == 3
		order_shards(1, 2);
		order_shards(0, 1);
#endif
	:: else
	fi
}

#ifdef COVER /* how often each rule decided, and which arrows were taken; printed when the search ends */
c_decl {
	static unsigned long decided[1000], taken[9][9];
	__attribute__((destructor)) static void report(void)
	{
		for (int n = 0; n < 1000; n++)
			if (decided[n])
				printf("rule %d\n", n);
		for (int n = 0; n < 81; n++)
			if (taken[n / 9][n % 9])
				printf("arrow %d %d\n", n / 9, n % 9);
	}
}
#endif

/* ---- The store ---- */

/* What a look had gathered is gone: it crashed, ended, or would be refused. */
inline forget(c)
{
	ctl[c].step = IDLE; ctl[c].effect = EFFECT_NONE; ctl[c].at = 0; ctl[c].truth = 0; ctl[c].fresh = false;
	ctl[c].moved = false; ctl[c].facts = 0;
	for (j : 0 .. S - 1) { read[j] = read[j] & (255 - (1 << c)) }
}

/* The record has another revision: what others decide on the former one will be refused (R2). */
inline record_written_by(c)
{
	for (o : 0 .. C - 1) {
		if
		:: o != c && ctl[o].step >= LOOKING ->
#ifdef NO_R2
			ctl[o].fresh = false
#else
			forget(o)
#endif
		:: else
		fi
	}
}

/* Compare and set: phase and revision as read, epoch that of the lease's row. */
#ifdef NO_R2
#define MAY_WRITE(c) true
#else
#define MAY_WRITE(c) (ctl[c].fresh && ctl[c].lead == CURRENT)
#endif

inline commit(c, next)
{
	CLAIM(I7, ctl[c].fresh && ctl[c].lead == CURRENT && phase == ctl[c].at);
	CLAIM(ARROW, (ARROWS(phase) >> (next)) & 1);
	CLAIM(I8, (next) != PHASE_VERIFIED || ALL(IS_DONE));
	if
	:: (next) == PHASE_COMPLETING ->
		CLAIM(I3, ctl[c].truth == S);
		CLAIM(I5, !passed);
		passed = true
	:: else
	fi;
	CLAIM(I4, (next) != PHASE_CANCELLING || !passed);
#ifdef COVER
	c_code { taken[now.phase][to]++; };
#endif
	sent = (next) == PHASE_STOPPED && (phase == PHASE_COMPLETING || phase == PHASE_COMPLETED);
	phase = next;
	record_written_by(c)
}

/* ---- A controller ---- */

inline take_lease(c)
{
	for (o : 0 .. C - 1) {
		if
		:: ctl[o].lead == CURRENT ->
			ctl[o].lead = FORMER;
#ifndef NO_R2
			if :: ctl[o].step >= LOOKING -> forget(o) :: else fi
#endif
		:: else
		fi
	}
	ctl[c].lead = CURRENT;
	lease_held = true
}

inline crash(c)
{
	stray = stray | ((1 << ctl[c].in_flight) & 14);
	ctl[c].in_flight = EFFECT_NONE;
	ctl[c].lead = NOBODY;
	forget(c)
}

inline begin_look(c)
{
	ctl[c].step = LOOKING;
	ctl[c].at = phase;
	ctl[c].fresh = true;
	ctl[c].facts = ALL_FACTS & FACTS_USED(phase)
}

/* One shard's answer: facts that one shard makes true, and those that every shard must have (R5). */
inline add_sight(c, i, sight)
{
	read[i] = read[i] | (1 << c);
	ctl[c].facts = ((ctl[c].facts | (sight & ~ALL_FACTS)) & (sight | ~ALL_FACTS)) & FACTS_USED(ctl[c].at)
}

inline see(c, i)
{
	if
	:: shard[i] == ABSENT -> add_sight(c, i, SIGHT_ABSENT)
	:: shard[i] == COPYING -> add_sight(c, i, SIGHT_COPYING)
	:: shard[i] == READY -> add_sight(c, i, SIGHT_READY)
	:: shard[i] == OPEN -> add_sight(c, i, SIGHT_OPEN)
	:: shard[i] == DONE -> add_sight(c, i, SIGHT_DONE)
	:: IS_CANCELLED(i) -> add_sight(c, i, SIGHT_CANCELLED)
	:: shard[i] >= FAILED_HELD -> add_sight(c, i, SIGHT_FAILED)
	fi;
	if
	:: ctl[c].at == PHASE_SUBMITTED && shard[i] == READY -> ctl[c].truth++
#ifdef ADOPTED
	:: ctl[c].at == PHASE_SUBMITTING && shard[i] >= READY && shard[i] <= DONE -> ctl[c].truth++
#endif
	:: else
	fi
}

#ifdef ADOPTED
#define MAY_LOSE_ITS_END(i) (shard[i] == COPYING || shard[i] == OPEN)
#else
#define MAY_LOSE_ITS_END(i) (shard[i] == OPEN)
#endif

inline see_nothing(c, i)
{
#ifdef NO_R5
	read[i] = read[i] | (1 << c) /* "all rows that came back" */
#else
	add_sight(c, i, SIGHT_NOTHING)
#endif
}

/* The facts that are the record's and the engine's: record_facts() in decide.c. */
inline gather(c, odd)
{
	facts = ctl[c].facts | odd | FACT_SHARDS_KNOWN | FACT_GATE_OPEN | FACT_DUE | FACT_LEADER;
	if :: cancel_asked -> facts = facts | FACT_CANCEL_ASKED :: else fi;
	if :: sent -> facts = facts | FACT_SENT :: else fi;
	if :: ctl[c].step == CONFIRMED -> facts = facts | FACT_CONFIRMED :: else fi;
#ifdef NO_CONFIRM
	facts = facts | FACT_CONFIRMED;
#endif
	/* R4: its own effect, and before a reversal whatever another's record says may still act */
	if
#ifdef NO_R4
	:: cancel_asked
#endif
	:: ctl[c].in_flight || (cancel_asked && !QUIET) -> facts = facts | FACT_BUSY
	:: else
	fi;
#ifdef NO_R1
	if :: ctl[c].effect -> facts = facts & ~FACT_BUSY :: else fi;
#endif
#ifdef NO_WATCH
	if :: ctl[c].at == PHASE_CANCELLED -> facts = facts & ~FACT_DUE :: else fi;
#endif
	next_rule(ctl[c].at, facts);
#ifdef COVER
	c_code { decided[rule]++; };
#endif
#ifdef NO_R6
	if
	:: cancel_asked && ctl[c].at == PHASE_COMPLETING && !ctl[c].in_flight -> action = ACTION_MOVE; to = PHASE_CANCELLING
	:: else
	fi;
#endif
}

inline mark_sent(c, what)
{
	stray = stray | ((1 << ctl[c].in_flight) & 14); /* without R4: another is still under way */
	ctl[c].in_flight = what;
	CLAIM(I3, what != EFFECT_COMPLETE || passed);
	CLAIM(I4, !(what == EFFECT_COMPLETE && sent_cancel) && !(what == EFFECT_CANCEL && sent_complete));
	if
	:: what == EFFECT_COMPLETE -> sent_complete = true
	:: what == EFFECT_CANCEL -> sent_cancel = true
	:: else
	fi
}

#ifdef NO_R4
#define NO_QUIESCE true
#else
#define NO_QUIESCE false
#endif

inline do_move(c)
{
	if
#ifdef NO_R1
	/* sends first and writes afterwards; whether the write succeeds is another matter */
	:: ctl[c].at == PHASE_SUBMITTED && to == PHASE_COMPLETING && MAY_WRITE(c) && !ctl[c].in_flight ->
		mark_sent(c, EFFECT_COMPLETE);
		ctl[c].effect = EFFECT_COMPLETE
#endif
	:: MAY_WRITE(c) ->
		commit(c, to);
		/* a second step on the same look, where it matters: may_decide_again() */
		if
		:: (to == PHASE_COMPLETING || to == PHASE_COMPLETED) && ctl[c].fresh ->
			ctl[c].at = to; ctl[c].truth = 0; ctl[c].step = LOOKING;
			ctl[c].moved = ctl[c].moved && to == PHASE_COMPLETED; /* the proof has its own second reading */
			ctl[c].facts = ctl[c].facts & FACTS_USED(to)
		:: else -> forget(c)
		fi
	:: else -> forget(c)
	fi
}

/* The attempt is written, and with it the lease is made to outlast the effect (R3). */
inline do_attempt(c)
{
	if
	:: MAY_WRITE(c) ->
		CLAIM(I7, ctl[c].fresh && ctl[c].lead == CURRENT);
		CLAIM(I12, EFFECT_OF(phase) == EFFECT_BY(action) && (!ctl[c].in_flight || NO_QUIESCE));
		sent = true;
		lease_held = true;
		record_written_by(c);
		forget(c);
		ctl[c].effect = EFFECT_BY(action);
		ctl[c].step = PAUSED
	:: else -> forget(c)
	fi
}

inline decide(c, odd)
{
	gather(c, odd);
	if
	:: action == ACTION_MOVE -> do_move(c)
	:: action == ACTION_SUBMIT || action == ACTION_COMPLETE || action == ACTION_CANCEL -> do_attempt(c)
	:: action == ACTION_CONFIRM && !ctl[c].moved -> ctl[c].step = CONFIRMED
	:: action == ACTION_CONFIRM && ctl[c].moved -> forget(c)
	:: else -> forget(c) /* waits, rests, or reads the definitions and looks again */
	fi
}

inline send(c)
{
	mark_sent(c, ctl[c].effect);
	forget(c)
}

/* Whether the lease covers the effect: keyspace_covers(), checked right before sending (R3). */
#if defined(TIMELY) && !defined(NO_R3)
#define COVERED(c) (ctl[c].lead == CURRENT && lease_held)
#else
#define COVERED(c) true
#endif
#ifdef NO_R2
#define MAY_LOOK(c) (ctl[c].lead != NOBODY)
#else
/* whatever a former leader looks at, its write is refused */
#define MAY_LOOK(c) (ctl[c].lead == CURRENT && FACTS_USED(phase))
#endif

inline controller_steps(c)
{
	if
	:: d_step { ctl[c].lead != CURRENT && !lease_held && ctl[c].step != PAUSED -> take_lease(c); order_all() }
	:: d_step { ctl[c].lead == CURRENT && !lease_held -> lease_held = true } /* renewed before another took it */
	:: d_step { ctl[c].lead == FORMER && ctl[c].step == IDLE -> ctl[c].lead = NOBODY; order_all() } /* told so */
	:: d_step { MAY_LOOK(c) && ctl[c].step == IDLE -> begin_look(c); order_all() }
	:: ctl[c].step == LOOKING && !SEEN_ALL(c) ->
		if
		:: !SEEN(c, 0) -> i = 0
		:: !SEEN(c, 1) && UNLIKE(0, 1) -> i = 1
#if S == 3
		:: !SEEN(c, 2) && UNLIKE(1, 2) -> i = 2
#endif
		fi;
		if
		:: d_step { true -> see(c, i); i = 0; order_all() }
		:: d_step { !calm -> see_nothing(c, i); i = 0; order_all() } /* no answer */
#ifdef REPARENTS
		/* from the former primary, whose row still reads ready, or done and the new one never heard of it */
		:: d_step { ctl[c].moved && shard[i] == COPYING -> add_sight(c, i, SIGHT_READY); i = 0; order_all() }
		:: d_step { ctl[c].moved && MAY_LOSE_ITS_END(i) -> add_sight(c, i, SIGHT_DONE); i = 0; order_all() }
#endif
		fi
	:: ctl[c].step >= LOOKING && SEEN_ALL(c) ->
		if
		:: !calm || ctl[c].at != PHASE_COMPLETED -> odd = 0
		:: ctl[c].at == PHASE_COMPLETED -> odd = FACT_PROVEN
		:: !calm && ctl[c].at == PHASE_COMPLETED -> odd = FACT_DISPROVEN
		:: !calm -> odd = FACT_MISMATCH
		:: !calm && ctl[c].at == PHASE_STOPPED -> odd = FACT_TAKE_UP
		fi;
		d_step { decide(c, odd); odd = 0; order_all() }
	:: d_step { ctl[c].step == PAUSED && COVERED(c) -> send(c); order_all() }
	:: d_step { ctl[c].step == PAUSED && (!calm || !COVERED(c)) -> forget(c); order_all() } /* too late: not sent */
	fi
}

/* The answer, whatever it says. A look begun before it is not decided on. */
inline answer(c)
{
	if :: ctl[c].step >= LOOKING -> forget(c) :: else fi;
	ctl[c].in_flight = EFFECT_NONE
}

#include "world.pml"

/* ---- One process that does whatever can be done next ---- */

#ifndef LIVE
inline begin()
{
	drawing_is_the_programs();
#ifdef ADOPTED
	/* the store was lost, and the fleet is anyhow */
	for (i : 0 .. S - 1) {
		if :: shard[i] = ABSENT :: shard[i] = COPYING :: shard[i] = READY :: shard[i] = OPEN :: shard[i] = DONE fi
	}
	i = 0;
	d_step { order_all() }
#endif
	skip
}

active proctype everything()
{
	byte c, i, e;
	int odd;

	atomic { begin() }
end:	do
	:: atomic { any_controller(); if :: controller_steps(c) :: controller_fails(c) :: else fi; c = 0 }
	:: atomic { any_shard(); if :: shard_works(i) :: shard_fails(i) :: else fi; i = 0 }
	:: atomic {
		if :: MAY_ACT(EFFECT_SUBMIT) -> e = EFFECT_SUBMIT :: MAY_ACT(EFFECT_COMPLETE) -> e = EFFECT_COMPLETE
		:: MAY_ACT(EFFECT_CANCEL) -> e = EFFECT_CANCEL fi;
		any_shard();
		d_step { acts(e, i); e = 0; i = 0; order_all() }
	}
	:: d_step { (stray >> EFFECT_SUBMIT) & 1 -> stray = stray & ~(1 << EFFECT_SUBMIT) } /* over, or lost */
	:: d_step { (stray >> EFFECT_COMPLETE) & 1 -> stray = stray & ~(1 << EFFECT_COMPLETE) }
	:: d_step { (stray >> EFFECT_CANCEL) & 1 -> stray = stray & ~(1 << EFFECT_CANCEL) }
	:: world_fails()
	:: person_asks_to_cancel()
	od
}
#endif

#ifdef LIVE
#include "live.pml"
#endif
