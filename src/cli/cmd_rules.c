#include "command.h"

#include <stdio.h>
#include <string.h>

#include "json.h"
#include "output.h"

/* "ALL_READY, not FAILED": what the facts of a row ask for. */
static void add_facts(struct strbuf *to, uint32_t bits, const char *before)
{
	for (uint32_t bit = 1; bit < _FACT_MAX; bit <<= 1)
		if (bits & bit)
			strbuf_addf(to, "%s%s%s", to->length ? ", " : "", before, fact_name((enum fact)bit));
}

static void add_condition(struct strbuf *to, const struct rule *rule)
{
	strbuf_clear(to);
	add_facts(to, rule->yes, "");
	add_facts(to, rule->no, "not ");
	if (!to->length)
		strbuf_adds(to, "otherwise");
}

static void add_action(struct strbuf *to, const struct rule *rule)
{
	strbuf_clear(to);
	strbuf_adds(to, action_name(rule->action));
	if (rule->action == ACTION_MOVE)
		strbuf_addf(to, " to %s", phase_name(rule->to));
	if ((rule->action == ACTION_WAIT || rule->action == ACTION_REST) && rule->verdict != VERDICT_RUNNING)
		strbuf_addf(to, " (exit code %d)", (int)rule->verdict);
}

/* One line for each rule, with a headline for each phase. */
static void print_table(const struct rule *rules, size_t count, bool markdown)
{
	struct strbuf condition cleanup(strbuf_release), action cleanup(strbuf_release);
	int phase = _PHASE_INVALID;

	strbuf_init(&condition, 4096);
	strbuf_init(&action, 256);
	for (size_t i = 0; i < count; i++) {
		if ((int)rules[i].at != phase) {
			phase = rules[i].at;
			if (markdown)
				printf("\n## %s\n\n| rule | when | then | reason |\n|---|---|---|---|\n",
				       phase_name(rules[i].at));
			else
				printf("%s%s\n", i ? "\n" : "", phase_name(rules[i].at));
		}
		add_condition(&condition, &rules[i]);
		add_action(&action, &rules[i]);
		if (markdown)
			printf("| %d | %s | %s | %s |\n", rules[i].number, condition.text, action.text,
			       rules[i].reason);
		else
			printf("  %4d  %-26s %s\n        when %s\n", rules[i].number, action.text,
			       rules[i].reason, condition.text);
	}
}

static void print_as_table(const struct rule *rules, size_t count)
{
	print_table(rules, count, false);
}

static void print_as_markdown(const struct rule *rules, size_t count)
{
	puts("# The rule table\n\n"
	     "This is the output of `vtddl rules --format markdown`. The first row of a phase that matches "
	     "decides\n"
	     "the one step that comes next; the last row of every phase matches everything.");
	print_table(rules, count, true);
}

static void print_as_mermaid(const struct rule *rules, size_t count)
{
	puts("stateDiagram-v2");
	printf("    [*] --> %s\n", phase_name(PHASE_SUBMITTING));
	for (size_t i = 0; i < count; i++)
		if (rules[i].action == ACTION_MOVE)
			printf("    %s --> %s: %d\n", phase_name(rules[i].at), phase_name(rules[i].to),
			       rules[i].number);
}

static json_t *facts_json(uint32_t bits)
{
	json_t *array = json_array();

	for (uint32_t bit = 1; bit < _FACT_MAX; bit <<= 1)
		if (bits & bit)
			json_array_append_new(array, json_text(fact_name((enum fact)bit)));
	return array;
}

static void print_as_json(const struct rule *rules, size_t count)
{
	json_t *object = json_object_of("rules"), *array = json_array();

	for (size_t i = 0; i < count; i++) {
		json_t *rule = json_object();
		bool ends = rules[i].action == ACTION_WAIT || rules[i].action == ACTION_REST;
		bool has_verdict = ends && rules[i].verdict != VERDICT_RUNNING;

		json_object_set_new(rule, "number", json_integer(rules[i].number));
		json_object_set_new(rule, "phase", json_text(phase_name(rules[i].at)));
		json_object_set_new(rule, "yes", facts_json(rules[i].yes));
		json_object_set_new(rule, "no", facts_json(rules[i].no));
		json_object_set_new(rule, "action", json_text(action_name(rules[i].action)));
		json_object_set_new(rule, "to",
				    rules[i].action == ACTION_MOVE ? json_text(phase_name(rules[i].to))
								   : json_null());
		json_object_set_new(rule, "exit_code",
				    has_verdict ? json_integer(rules[i].verdict) : json_null());
		json_object_set_new(rule, "reason", json_text(rules[i].reason));
		json_array_append_new(array, rule);
	}
	json_object_set_new(object, "rules", array);
	json_print(object);
}

static const struct {
	const char *name;
	void (*print)(const struct rule *rules, size_t count);
} formats[] = {
	{ "table", print_as_table },
	{ "json", print_as_json },
	{ "mermaid", print_as_mermaid },
	{ "markdown", print_as_markdown },
};

int cmd_rules(const struct call *call)
{
	const char *name = output_is_json() ? "json" : options_text(call->options, OPT_FORMAT);
	size_t count;
	const struct rule *rules = rules_table(&count);

	for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++)
		if (!strcmp(formats[i].name, name))
			formats[i].print(rules, count);
	return EXIT_DONE;
}
