#pragma once
/* A keyspace of two shards, both held and ready, and one look at it; a test changes what it is about. */
#include <string.h>

#include "vtddl/observation.h"

#define UUID "01234567_89ab_8cde_8f01_23456789abcd"
#define CONTEXT "ddl-commerce-0123456789abcdef-g1"

struct scene {
	struct change change;
	struct change_shard shards[2];
	struct shard_look looks[2];
	struct topo_shard topo[3], confirm[3];
	struct topo_tablet tablets[2];
	struct observation seen;
	struct shard_watch memory[2];
	struct watch watch;
};

static inline struct migration held(const char *shard)
{
	return (struct migration){
		.uuid = UUID, .keyspace = "commerce", .shard = shard, .table = "orders", .context = CONTEXT,
		.statement = "alter table orders add column x int", .options = "", .ddl_action = "alter",
		.message = "", .stage = "", .artifacts = "", .special_plan = "", .status = MIGRATION_RUNNING,
		.postpone_completion = true, .ready_to_complete = true, .started_at_s = 1000, .liveness_s = 1010,
		.eta_s = 0, .progress = 100,
	};
}

static inline void set_up(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	strcpy(scene->change.keyspace, "commerce");
	strcpy(scene->change.table, "orders");
	strcpy(scene->change.uuid, UUID);
	strcpy(scene->change.context, CONTEXT);
	scene->change.shards = scene->shards;
	scene->change.shard_count = 2;
	strcpy(scene->shards[0].name, "-80");
	strcpy(scene->shards[1].name, "80-");
	for (int i = 0; i < 2; i++) {
		scene->topo[i].name = scene->shards[i].name;
		scene->topo[i].has_primary = scene->topo[i].is_serving = true;
		strcpy(scene->topo[i].primary.cell, "zone1");
		scene->topo[i].primary.uid = 101 + i;
		scene->topo[i].primary_term_start_s = 900;
		scene->tablets[i].alias = scene->topo[i].primary;
		scene->tablets[i].type = TABLET_PRIMARY;
		scene->tablets[i].start_s = 800;
		scene->looks[i].state = ROW_ONE;
		scene->looks[i].row = held(scene->shards[i].name);
		scene->looks[i].trouble = "";
	}
	memcpy(scene->confirm, scene->topo, sizeof(scene->topo));
	watch_init(&scene->watch, scene->memory, 2);
	scene->seen = (struct observation){ .topology_known = true, .topo = scene->topo, .topo_count = 2,
					    .tablets = scene->tablets, .tablet_count = 2, .looks = scene->looks };
}

static inline uint32_t look_at(struct scene *scene, int64_t at_ms)
{
	scene->seen.at_ms = at_ms;
	return observation_fold(&scene->change, &scene->seen, &scene->watch);
}
