#pragma once
/*
 * run: the loop of the simulator. Brings real time, gRPC, the script and the journal to the fleet
 * model. One thread: whatever a client sees was decided in the order of the virtual clock.
 */
#include <stdbool.h>
#include <stdint.h>

#include "fleet.h"
#include "server.h"
#include "vtddl/error.h"

struct run_config {
	struct server_config server;
	struct fleet_config fleet;
	const char *port_file; /* NULL: none */
	const char *script;    /* NULL: none */
	const char *journal;   /* NULL: none */
	double time_scale;     /* virtual seconds in a real one */
};

/** run() - until SIGTERM or SIGINT; SIGHUP reads the script again */
int must_check run(const struct run_config *config, struct error *reterr);
