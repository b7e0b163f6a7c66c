/*
 * Goal: a script of vtctldsim (docs/vtctldsim.md) is read whatever is in it, or refused with the entry's
 * number; and what was read can be done. Method: the bytes are the file. A script that is taken is run to its
 * end over a fleet of two shards, one migration in it, beside some calls.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "fuzz.h"
#include "script.h"

#define EVENTS_MAX 200
#define UUID "9e2f0101_4c1d_8a3b_9d55_0242ac110003"

static struct fleet *fleet_make(void)
{
	static const char *const shards[] = { "-80", "80-" };
	const struct fleet_config config = { .keyspace = "commerce",
					     .shards = shards,
					     .shard_count = 2,
					     .copy_ms = 3000,
					     .seed = 1,
					     .schema = "create table orders (id int primary key)" };
	struct fleet *fleet = fleet_new(&config);

	fleet_submit_foreign(fleet, UUID, "ctx", NULL, "alter table orders add column e int");
	return fleet;
}

static void run(struct script *script, struct fleet *fleet)
{
	struct arena arena = { 0 };
	struct vtctld_reply reply;
	int64_t now_ms = 1000;

	for (unsigned i = 0; i < EVENTS_MAX; i++) {
		enum vtctld_method method = (enum vtctld_method)(i % 4);
		struct vtctld_request request = { .tag = i + 1,
						  .method = method,
						  .keyspace = "commerce",
						  .timeout_ms = 1000,
						  .uuid = UUID,
						  .limit = 10 };

		if (script_next_ms(script) > now_ms + 1000)
			now_ms += 1000;
		else
			now_ms = script_next_ms(script);
		fleet_advance(fleet, now_ms);
		script_run(script, fleet, now_ms, UUID);
		fuzz_check(script_next_ms(script) > now_ms, "an event is due and is not done");
		script_on_call(script, fleet, method, UUID);
		fleet_start(fleet, &request, &arena);
		while (fleet_take(fleet, &reply))
			fuzz_check(reply.tag, "a reply to no call");
	}
	arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t length)
{
	struct fleet *fleet = fleet_make();
	struct script *script = NULL;
	struct error error = { 0 };
	int fd = memfd_create("script", MFD_CLOEXEC);
	char path[32];

	fuzz_check(fd >= 0 && write(fd, bytes, length) == (ssize_t)length, "no file in memory");
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (script_open(path, fleet, 1000, &script, &error) < 0)
		fuzz_check(error.code == ERROR_CONFIG && error.text[0], "a refusal without a reason");
	else
		run(script, fleet);
	script_free(script);
	fleet_free(fleet);
	close(fd);
	return 0;
}
