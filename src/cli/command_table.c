#include "change_command.h"
#include "command.h"

/* clang-format off */
static const struct change_command run = { GOAL_VERIFIED, .open_gate = true, .makes_changes = true };
static const struct change_command submit = { GOAL_SUBMITTED, .makes_changes = true };
static const struct change_command wait_for = { GOAL_VERIFIED, .goal_from_for = true };
static const struct change_command complete = { GOAL_COMPLETED, .open_gate = true };
static const struct change_command verify = { GOAL_VERIFIED, .take_up = true };
static const struct change_command cancel = { GOAL_CANCELLED };

#define FLEET (GROUP_PACE | GROUP_SERVER | GROUP_STORE | GROUP_GENERAL)
#define CHANGE (GROUP_STATEMENT | FLEET)

static const struct command config_commands[] = {
	{ "show", "", "print every setting, its value and where it came from",
	  "Secrets are never settings: only the paths of files that hold them are.",
	  "vtddl config show", ~0u, 0, 0, cmd_config_show },
	{ 0 },
};

static const struct command commands[] = {
	{ "run", "KEYSPACE", "submit a schema change, watch it, complete it and verify it",
	  "The main job of a pipeline step. The statement comes from --sql, --sql-file or\n"
	  "standard input. It is written down in the store before anything is sent, sent\n"
	  "once in effect, held until every shard is ready, released for the whole fleet\n"
	  "at once and then proven on every shard.\n"
	  "\n"
	  "Safe to repeat: after an interruption, a lost connection or exit code 4 run the\n"
	  "same command again and it goes on where the fleet is. A change that was already\n"
	  "verified sends nothing. Use --again to do a statement once more.",
	  "vtddl run commerce --sql 'alter table orders add column memo varchar(64)'",
	  GROUP_NEW | GROUP_VTGATE | CHANGE, 1, 1, cmd_change, &run },
	{ "submit", "KEYSPACE", "submit a schema change and leave it held",
	  "Ends when every shard has the migration. Its gate is manual: nothing cuts over\n"
	  "until somebody says `vtddl complete` or `vtddl run` with the same statement.",
	  "vtddl submit commerce --sql-file add-note.sql",
	  GROUP_NEW | CHANGE, 1, 1, cmd_change, &submit },
	{ "wait", "KEYSPACE [UUID|CONTEXT]", "wait for a change to be ready, complete or verified",
	  "Never opens the gate of a change. Where no other process drives the keyspace it\n"
	  "does what has already been decided, such as completing a released change.",
	  "vtddl wait commerce 9748c3b7_7fdb_81eb_8c2c_f875a4d24e90 --for ready",
	  GROUP_WAIT | GROUP_VTGATE | CHANGE, 1, 2, cmd_change, &wait_for },
	{ "complete", "KEYSPACE [UUID|CONTEXT]", "open the gate: cut over as soon as every shard is ready",
	  "Ends when every shard is complete. A change with a failed or cancelled shard is\n"
	  "never completed.",
	  "vtddl complete commerce 9748c3b7_7fdb_81eb_8c2c_f875a4d24e90",
	  CHANGE, 1, 2, cmd_change, &complete },
	{ "verify", "KEYSPACE [UUID|CONTEXT]", "prove a completed change on every shard",
	  "Reads the table's definition from every primary and, with --vtgate, what VTGate\n"
	  "serves; runs the probes.",
	  "vtddl verify commerce 9748c3b7_7fdb_81eb_8c2c_f875a4d24e90 --vtgate vtgate:15306",
	  GROUP_VTGATE | CHANGE, 1, 2, cmd_change, &verify },
	{ "cancel", "KEYSPACE [UUID|CONTEXT]", "cancel a change on every shard",
	  "Possible until the change is released (phase completing); never after.",
	  "vtddl cancel commerce 9748c3b7_7fdb_81eb_8c2c_f875a4d24e90",
	  CHANGE, 1, 2, cmd_change, &cancel },
	{ "show", "[KEYSPACE [UUID|CONTEXT|recent|all|STATUS]]", "show changes of the store, or migrations of a keyspace",
	  "Without a keyspace: the changes in the store, without asking anyone. With one:\n"
	  "the migrations vtctld reports, also those vtddl did not start; recent are those\n"
	  "of the last seven days. A change with a record in the store also shows its\n"
	  "phase, rule and history. Nothing is ever written or sent but reads.",
	  "vtddl show commerce running",
	  GROUP_SHOW | GROUP_SERVER | GROUP_STORE | GROUP_GENERAL, 0, 2, cmd_show },
	{ "doctor", "[KEYSPACE]", "check everything a change would need",
	  "One line for each check: ok, warn or FAIL, and what to do. Ends with the exit\n"
	  "code of the first check that failed. Nothing is changed.",
	  "vtddl doctor commerce --vtgate vtgate:15306",
	  GROUP_VTGATE | GROUP_SERVER | GROUP_STORE | GROUP_GENERAL, 0, 1, cmd_doctor },
	{ "serve", "", "drive every change of the store, as a daemon",
	  "Takes up every change that is not over, of every keyspace, also those that are\n"
	  "submitted later by other processes with the same store, and does what is left to\n"
	  "do: it submits, watches, releases where the gate is open, verifies. A gate that is\n"
	  "closed stays closed. Several may share a MySQL store: for each keyspace one of\n"
	  "them acts, the others follow and take over.\n"
	  "\n"
	  "SIGTERM ends it: nothing new is sent, what is in flight is waited for, at most ten\n"
	  "seconds; changes go on in the fleet. SIGHUP reads the configuration and the\n"
	  "credentials again.",
	  "vtddl serve --store mysql://vtddl@db.example.internal/vtddl",
	  GROUP_SERVE | GROUP_PACE | GROUP_VTGATE | GROUP_SERVER | GROUP_STORE | GROUP_GENERAL, 0, 0, cmd_serve },
	{ "rules", "", "print the rule table that decides every step",
	  "The numbers are those in the log, the history and the output of show.",
	  "vtddl rules --format mermaid", GROUP_FORMAT | GROUP_GENERAL, 0, 0, cmd_rules },
	{ "config", "", "look at the configuration", "", "vtddl config show", GROUP_GENERAL, 0, 0, NULL, NULL,
	  config_commands },
	{ "version", "", "print the version of vtddl and its libraries", "", "vtddl version", GROUP_GENERAL, 0, 0,
	  cmd_version },
	{ "help", "[COMMAND... | exit-codes | metrics]", "explain a command, list exit codes or metrics", "",
	  "vtddl help run", GROUP_GENERAL, 0, 2, cmd_help },
	{ 0 },
};

const struct command command_root = {
	"vtddl", "", "one schema change of a sharded Vitess keyspace, exactly once and proven on every shard",
	"Every option can also be set in the environment (VTDDL_ and its name in capitals)\n"
	"or in a configuration file; a flag wins over the environment, the environment\n"
	"over the file.",
	"vtddl run commerce --sql 'alter table orders add column memo varchar(64)'", GROUP_GENERAL, 0, 0, NULL, NULL,
	commands
};
