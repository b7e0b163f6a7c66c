/*
 * Liveness (I11): if faults end for good, and whoever can do something does it sometime, the change comes to rest.
 * Included by barrier.pml; 2 controllers, 2 shards.
 */

/* Where it may stay: a person's wish is fulfilled or came too late, and nothing that was withdrawn lives. */
#define REST (phase == PHASE_VERIFIED || (phase == PHASE_CANCELLED && (!cancel_asked || !ANY(IS_LIVE))) || \
	      (phase == PHASE_FAILED && (!cancel_asked || ANY(IS_DONE))) || \
	      (phase == PHASE_STOPPED && (!cancel_asked || sent || ANY(IS_DONE))))

ltl I11 { (<> calm) -> (<> [] REST) }

proctype acting(byte c)
{
	byte i;
	int odd;

end:	do :: atomic { controller_steps(c) } od
}

/* What is under way acts once more on every shard, or not at all, and ends; shards work; a dead holder's lease ends.
 * One process: without a step of a controller it comes to rest, so fairness need not tell its steps apart. */
inline act_everywhere(e)
{
	for (o : 0 .. S - 1) { acts(e, o) }
}

inline ends(e)
{
	if
	:: d_step { calm && ((stray >> e) & 1) -> act_everywhere(e); stray = stray & ~(1 << e) }
	:: d_step { calm && ((stray >> e) & 1) -> stray = stray & ~(1 << e) }
	fi
}

proctype moving_on()
{
end:	do
	:: d_step { calm && ctl[0].in_flight -> act_everywhere(ctl[0].in_flight); answer(0) }
	:: d_step { calm && ctl[1].in_flight -> act_everywhere(ctl[1].in_flight); answer(1) }
	:: ends(EFFECT_SUBMIT)
	:: ends(EFFECT_COMPLETE)
	:: ends(EFFECT_CANCEL)
	:: shard_works(0)
	:: shard_works(1)
	:: d_step { lease_held && ctl[0].lead != CURRENT && ctl[1].lead != CURRENT -> lease_held = false; order_all() }
	od
}

proctype chance()
{
	byte c, i;

end:	do
	:: atomic { !calm && MAY_ACT(EFFECT_SUBMIT) -> any_shard(); d_step { submit_acts(i); i = 0; order_all() } }
	:: atomic { !calm && MAY_ACT(EFFECT_COMPLETE) -> any_shard(); d_step { complete_acts(i); i = 0; order_all() } }
	:: atomic { !calm && MAY_ACT(EFFECT_CANCEL) -> any_shard(); d_step { cancel_acts(i); i = 0; order_all() } }
	:: atomic { !calm -> any_controller(); if :: controller_fails(c) :: else fi; c = 0 }
	:: atomic { !calm -> any_shard(); if :: shard_fails(i) :: else fi; i = 0 }
	:: atomic { !calm -> if :: world_fails() :: else fi }
	:: atomic { !calm -> if :: person_asks_to_cancel() :: else fi }
	:: !calm -> calm = true
	od
}

init {
	byte k;

	atomic {
		for (k : 0 .. C - 1) { run acting(k) }
		run moving_on();
		run chance();
		k = 0
	}
}
