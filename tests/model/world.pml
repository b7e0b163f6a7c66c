/*
 * What is around the controllers: Vitess, faults and people. Included by barrier.pml.
 */

/* ---- Vitess ---- */

/* F1, F2: a row is made once; one that is cancelled or failed is revived, with the hold it had. */
inline submit_acts(i)
{
#if defined(TIMELY) || defined(STRICT)
	CLAIM(I6, !(cancel_asked && (phase == PHASE_CANCELLING || phase == PHASE_CANCELLED) &&
		    (shard[i] == ABSENT || IS_DEAD(i))));
#endif
	if
	:: shard[i] == ABSENT || shard[i] == CANCELLED_HELD || shard[i] == FAILED_HELD -> shard[i] = COPYING
	:: shard[i] == CANCELLED_OPEN || shard[i] == FAILED_OPEN -> shard[i] = OPEN
	:: else
	fi
}

/* F7: only takes the hold away, ready or not, pending or not. */
inline complete_acts(i)
{
	if
	:: IS_HELD(i) -> shard[i] = OPEN
	:: shard[i] == CANCELLED_HELD -> shard[i] = CANCELLED_OPEN
	:: shard[i] == FAILED_HELD -> shard[i] = FAILED_OPEN
	:: else
	fi
}

#if defined(PEOPLE) || defined(ADOPTED)
#define not_mixed() skip /* others may mix it */
#else
#define not_mixed() CLAIM(FLEET, !(ANY(IS_DONE) && ANY(IS_CANCELLED)))
#endif

inline cancel_acts(i)
{
	if
	:: IS_HELD(i) -> shard[i] = CANCELLED_HELD
	:: shard[i] == OPEN -> shard[i] = CANCELLED_OPEN
	:: else
	fi;
	not_mixed()
}

inline acts(e, i)
{
	if
	:: e == EFFECT_SUBMIT -> submit_acts(i)
	:: e == EFFECT_COMPLETE -> complete_acts(i)
	:: e == EFFECT_CANCEL -> cancel_acts(i)
	fi
}

inline shard_works(i)
{
	if
	:: d_step { shard[i] == COPYING -> shard[i] = READY; order_all() }
	:: d_step { shard[i] == OPEN -> shard[i] = DONE; not_mixed(); order_all() }
	fi
}

inline shard_fails(i)
{
	if
	:: d_step { shard[i] == READY -> shard[i] = COPYING; order_all() } /* lags again */
	:: d_step { IS_HELD(i) -> shard[i] = FAILED_HELD; order_all() }
	:: d_step { shard[i] == OPEN -> shard[i] = FAILED_OPEN; order_all() }
#ifdef LOSES_ROWS
	:: d_step { IS_LIVE(i) -> shard[i] = ABSENT; order_all() } /* a failover to a replica that lacked it */
#endif
#ifdef PEOPLE
	:: d_step { IS_LIVE(i) -> cancel_acts(i); order_all() }
	:: d_step { IS_HELD(i) || IS_DEAD(i) -> complete_acts(i); order_all() }
#endif
	fi
}

/* ---- Faults and people ---- */

inline controller_fails(c)
{
	if
	:: d_step { ctl[c].lead || ctl[c].step || ctl[c].in_flight -> crash(c); order_all() } /* the lease goes on */
	:: d_step { ctl[c].lead == CURRENT && lease_held -> lease_held = false; crash(c); order_all() } /* or ends: SQLite */
	:: d_step { ctl[c].lead == CURRENT && lease_held && ctl[c].step == IDLE && !ctl[c].in_flight ->
		lease_held = false; ctl[c].lead = NOBODY; order_all() } /* given up */
	:: d_step { ctl[c].step >= LOOKING -> forget(c); order_all() } /* the store or vtctld did not answer */
	:: d_step { ctl[c].in_flight -> /* "unknown": it may act all the same */
#ifndef TIMELY
		stray = stray | (1 << ctl[c].in_flight);
#endif
		answer(c); order_all() }
	fi
}

#if defined(TIMELY) && !defined(NO_R3)
#define MAY_EXPIRE (stray == 0 && NONE_AWAITED) /* the lease outlasts the effect */
#else
#define MAY_EXPIRE true
#endif

inline world_fails()
{
	if
	:: d_step { lease_held && MAY_EXPIRE -> lease_held = false }
#ifdef REPARENTS
	:: d_step { true ->
		for (o : 0 .. C - 1) { if :: ctl[o].step == LOOKING -> ctl[o].moved = true :: else fi }
		order_all() }
#endif
	fi
}

#ifdef NO_R6
#define MAY_BE_CANCELLED (phase != PHASE_COMPLETED && phase != PHASE_VERIFIED && phase != PHASE_CANCELLED)
#else
#define MAY_BE_CANCELLED \
	(phase != PHASE_COMPLETING && phase != PHASE_COMPLETED && phase != PHASE_VERIFIED && phase != PHASE_CANCELLED)
#endif
inline person_asks_to_cancel()
{
	d_step { !cancel_asked && MAY_BE_CANCELLED -> cancel_asked = true; record_written_by(C); order_all() }
}

inline any_shard()
{
	if
	:: i = 0
	:: UNLIKE(0, 1) -> i = 1
#if S == 3
	:: UNLIKE(1, 2) -> i = 2
#endif
	fi
}

inline any_controller()
{
	if :: c = 0 :: c = 1
#if C == 3
	:: c = 2
#endif
	fi
}
