#include "vtddl/change.h"

#include <string.h>

#include "vtddl/banned.h"

#define COUNT(array) (sizeof(array) / sizeof((array)[0]))
#define TO(phase) (1u << (PHASE_##phase))

/* One row for each phase: its name, what it means for the table, and where its arrows go. */
static const struct {
	const char *name;
	bool live;
	bool final;
	unsigned may_move_to;
} phases[_PHASE_MAX] = {
	[PHASE_SUBMITTING] = { "submitting", true, false,
			       TO(SUBMITTED) | TO(COMPLETING) | TO(CANCELLING) | TO(CANCELLED) | TO(FAILED) |
				       TO(STOPPED) },
	/* To completing: at the barrier; from submitting only adopted, when the store was lost behind the
	 * release. To cancelled: somebody else cancelled it on every shard. */
	[PHASE_SUBMITTED] = { "submitted", true, false,
			      TO(COMPLETING) | TO(CANCELLING) | TO(CANCELLED) | TO(FAILED) | TO(STOPPED) },
	[PHASE_COMPLETING] = { "completing", true, false, TO(COMPLETED) | TO(STOPPED) },
	[PHASE_COMPLETED] = { "completed", true, false, TO(VERIFIED) | TO(STOPPED) },
	[PHASE_VERIFIED] = { "verified", false, true, 0 },
	[PHASE_CANCELLING] = { "cancelling", true, false, TO(CANCELLED) | TO(STOPPED) },
	[PHASE_CANCELLED] = { "cancelled", false, true, 0 },
	[PHASE_FAILED] = { "failed", true, true, TO(CANCELLING) },
	/* To cancelling only where no release was ever sent (I4), to completed only when a person asks and
	 * every shard is complete: the rules check that. */
	[PHASE_STOPPED] = { "stopped", true, true, TO(CANCELLING) | TO(COMPLETED) },
};

static const char *const gate_names[_GATE_MAX] = {
	[GATE_MANUAL] = "manual",
	[GATE_AUTO] = "auto",
};

static const char *const effect_names[_EFFECT_MAX] = {
	[EFFECT_NONE] = "none",
	[EFFECT_SUBMIT] = "submit",
	[EFFECT_COMPLETE] = "complete",
	[EFFECT_CANCEL] = "cancel",
};

/* Shown for a value outside of an enum; no value has this name. */
static const char unknown[] = "unknown";

static const char *name_at(const char *const *names, size_t count, int index)
{
	return index >= 0 && (size_t)index < count ? names[index] : unknown;
}

static int index_of(const char *const *names, size_t count, const char *name)
{
	for (size_t i = 0; name && i < count; i++)
		if (strcmp(names[i], name) == 0)
			return (int)i;
	return -1;
}

static bool is_phase(enum phase phase)
{
	return phase >= 0 && phase < _PHASE_MAX;
}

const char *phase_name(enum phase phase)
{
	return is_phase(phase) ? phases[phase].name : unknown;
}

enum phase phase_from_name(const char *name)
{
	for (size_t i = 0; name && i < COUNT(phases); i++)
		if (strcmp(phases[i].name, name) == 0)
			return (enum phase)i;
	return _PHASE_INVALID;
}

const char *gate_name(enum gate gate)
{
	return name_at(gate_names, COUNT(gate_names), gate);
}

enum gate gate_from_name(const char *name)
{
	return (enum gate)index_of(gate_names, COUNT(gate_names), name);
}

const char *effect_name(enum effect effect)
{
	return name_at(effect_names, COUNT(effect_names), effect);
}

enum effect effect_from_name(const char *name)
{
	return (enum effect)index_of(effect_names, COUNT(effect_names), name);
}

bool phase_may_move(enum phase from, enum phase to)
{
	return is_phase(from) && is_phase(to) && (phases[from].may_move_to & (1u << to)) != 0;
}

bool phase_is_live(enum phase phase)
{
	return is_phase(phase) && phases[phase].live;
}

bool phase_is_final(enum phase phase)
{
	return is_phase(phase) && phases[phase].final;
}

/* topoproto.TabletAliasString: "%s-%010d". */
void tablet_alias_format(const struct tablet_alias *alias, char ret[ALIAS_TEXT_SIZE])
{
	size_t length = strnlen(alias->cell, CELL_MAX);
	uint32_t rest = alias->uid;

	memcpy(ret, alias->cell, length);
	ret[length++] = '-';
	for (size_t digit = 10; digit-- > 0; rest /= 10)
		ret[length + digit] = (char)('0' + rest % 10);
	ret[length + 10] = '\0';
}

bool tablet_alias_equal(const struct tablet_alias *a, const struct tablet_alias *b)
{
	return a->uid == b->uid && strcmp(a->cell, b->cell) == 0;
}
