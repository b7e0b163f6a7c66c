/* Goal: a clause promises what it says and no more, and a definition read from a shard is read rightly.
 * Method: tables of clauses and definitions. Every promise below was also checked once against
 * SHOW CREATE TABLE of MySQL 9.7 after the ALTER. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/ddl.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))

static struct ddl ddl;

static void must_parse(const char *sql)
{
	struct error error;

	memset(&ddl, 0x5a, sizeof(ddl));
	if (ddl_parse(sql, strlen(sql), &ddl, NULL, &error) < 0)
		fail_msg("\"%s\" is refused: %s", sql, error.text);
}

#define C DDL_COLUMN_PRESENT
#define NO_C DDL_COLUMN_ABSENT
#define I DDL_INDEX_PRESENT
#define NO_I DDL_INDEX_ABSENT

static const struct {
	const char *clauses;
	bool understood;
	size_t count;
	struct ddl_promise promises[4];
} promising[] = {
	{ "add column c int", true, 1, { { C, "c" } } },
	{ "add c int not null default 0 first", true, 1, { { C, "c" } } },
	{ "add column `Two Words` int", true, 1, { { C, "Two Words" } } },
	{ "add column `a``b` int", true, 1, { { C, "a`b" } } },
	{ "add column (a int, b varchar(10) default 'x,y')", true, 2, { { C, "a" }, { C, "b" } } },
	{ "add (a int, key k (a))", true, 2, { { C, "a" }, { I, "k" } } },
	{ "add a int, drop column b, add index i (a)", true, 3, { { C, "a" }, { NO_C, "b" }, { I, "i" } } },
	{ "drop column c", true, 1, { { NO_C, "c" } } },
	{ "drop c", true, 1, { { NO_C, "c" } } },
	{ "drop `index`", true, 1, { { NO_C, "index" } } },
	{ "drop index i, drop key k", true, 2, { { NO_I, "i" }, { NO_I, "k" } } },
	{ "drop primary key", true, 1, { { NO_I, "PRIMARY" } } },
	{ "add primary key (a, b)", true, 1, { { I, "PRIMARY" } } },
	{ "add constraint pk primary key (a)", true, 1, { { I, "PRIMARY" } } },
	{ "change column a b int", true, 2, { { NO_C, "a" }, { C, "b" } } },
	{ "change a b int", true, 2, { { NO_C, "a" }, { C, "b" } } },
	{ "rename column a to b", true, 2, { { NO_C, "a" }, { C, "b" } } },
	{ "rename index a to b, rename key c to d",
	  true,
	  4,
	  { { NO_I, "a" }, { I, "b" }, { NO_I, "c" }, { I, "d" } } },
	{ "add index i (a)", true, 1, { { I, "i" } } },
	{ "add key i using btree (a)", true, 1, { { I, "i" } } },
	{ "add unique i (a)", true, 1, { { I, "i" } } },
	{ "add unique key i (a)", true, 1, { { I, "i" } } },
	{ "add fulltext index i (a)", true, 1, { { I, "i" } } },
	{ "add spatial key i (a)", true, 1, { { I, "i" } } },
	{ "add constraint u unique (a)", true, 1, { { I, "u" } } },
	{ "add constraint u unique key i (a)", true, 1, { { I, "i" } } },
	{ "add column a$b int", true, 1, { { C, "a$b" } } },
	{ "add column ```a` int", true, 1, { { C, "`a" } } },
	/* Said twice, it is one promise; MySQL refuses the second. */
	{ "drop index i, drop key I", true, 1, { { NO_I, "i" } } },
	/* A column and an index of one name are two things. */
	{ "add column a int, drop index a", true, 2, { { C, "a" }, { NO_I, "a" } } },
	/* Named by MySQL, not by us. */
	{ "add index (a)", false, 0, { { 0 } } },
	{ "add index using btree (a)", false, 0, { { 0 } } },
	{ "add unique (a)", false, 0, { { 0 } } },
	{ "add constraint unique (a)", false, 0, { { 0 } } },
	/* The column was there before, or the promise is not all. */
	{ "modify c bigint", false, 1, { { C, "c" } } },
	{ "modify column c bigint", false, 1, { { C, "c" } } },
	{ "change c c bigint", false, 1, { { C, "c" } } },
	{ "change c C bigint", false, 1, { { C, "C" } } },
	{ "add c int unique", false, 1, { { C, "c" } } },
	{ "add (a int unique, b int)", false, 2, { { C, "a" }, { C, "b" } } },
	{ "add (a int, b int) partition by hash (a)", false, 2, { { C, "a" }, { C, "b" } } },
	{ "change a b int unique", false, 2, { { NO_C, "a" }, { C, "b" } } },
	{ "change `\xc3\xb6` b int", false, 1, { { C, "b" } } },
	{ "add c int primary key", false, 1, { { C, "c" } } },
	{ "add c int key", false, 1, { { C, "c" } } },
	{ "add c serial", false, 1, { { C, "c" } } },
	{ "add c int check (c > 0)", false, 1, { { C, "c" } } },
	{ "add c int partition by hash (c)", false, 1, { { C, "c" } } },
	{ "add c int remove partitioning", false, 1, { { C, "c" } } },
	/* MySQL drops from the old definition and adds to the new one, in whichever order. */
	{ "drop c, add c int", false, 1, { { C, "c" } } },
	{ "add c int, drop c", false, 1, { { C, "c" } } },
	{ "drop column c, add column C int", false, 1, { { C, "C" } } },
	{ "drop index i, add index i (b)", false, 1, { { I, "i" } } },
	{ "rename column a to b, rename column b to a", false, 2, { { C, "a" }, { C, "b" } } },
	{ "drop primary key, add primary key (b)", false, 1, { { I, "PRIMARY" } } },
	/* Not understood at all. */
	{ "engine=innodb", false, 0, { { 0 } } },
	{ "force", false, 0, { { 0 } } },
	{ "alter column c set default 1", false, 0, { { 0 } } },
	{ "alter index i invisible", false, 0, { { 0 } } },
	{ "add check (a > 0)", false, 0, { { 0 } } },
	{ "add constraint x check (a > 0)", false, 0, { { 0 } } },
	{ "drop check x", false, 0, { { 0 } } },
	{ "drop constraint x", false, 0, { { 0 } } },
	{ "drop partition p", false, 0, { { 0 } } },
	{ "add partition (partition p values less than (9))", false, 0, { { 0 } } },
	{ "order by a, modify desc", false, 0, { { 0 } } },
	{ "drop partition p, modify", false, 0, { { 0 } } },
	{ "add column if not exists c int", false, 0, { { 0 } } },
	{ "drop column if exists c", false, 0, { { 0 } } },
	{ "add column t.c int", false, 0, { { 0 } } },
	{ "add column 'c' int", false, 0, { { 0 } } },
	{ "drop c d", false, 0, { { 0 } } },
	{ "add column `\xc3\xb6` int", false, 0, { { 0 } } }, /* case outside ASCII is not compared */
	{ "add", false, 0, { { 0 } } },
	{ "rename column a", false, 0, { { 0 } } },
	{ "rename column `\xc3\xb6` to b", false, 0, { { 0 } } },
	{ "rename column a to b c", false, 0, { { 0 } } },
	{ "rename column a to b key", false, 0, { { 0 } } },
	/* What is understood stays promised beside what is not. */
	{ "add c int, algorithm=inplace", false, 1, { { C, "c" } } },
	{ "add c int, engine=innodb, drop d", false, 2, { { C, "c" }, { NO_C, "d" } } },
};

static void test_each_clause_promises_what_it_says_and_no_more(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(promising); i++) {
		char sql[200];

		snprintf(sql, sizeof(sql), "alter table t %s", promising[i].clauses);
		must_parse(sql);
		if (ddl.understood != promising[i].understood || ddl.promise_count != promising[i].count)
			fail_msg("\"%s\": understood %d, %zu promises", sql, ddl.understood,
				 ddl.promise_count);
		for (size_t j = 0; j < ddl.promise_count; j++) {
			assert_int_equal(ddl.promises[j].kind, promising[i].promises[j].kind);
			assert_string_equal(ddl.promises[j].name, promising[i].promises[j].name);
		}
	}
}

static void test_more_clauses_than_there_is_room_for_promise_nothing(void **state)
{
	char sql[4096] = "alter table t ";
	size_t used = strlen(sql);

	(void)state;
	for (int i = 0; i < DDL_PROMISES_MAX; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%sadd column c%d int",
					 i ? ", " : "", i);
	must_parse(sql);
	assert_int_equal(ddl.promise_count, DDL_PROMISES_MAX);
	assert_true(ddl.understood);
	snprintf(sql + used, sizeof(sql) - used, ", drop column d");
	must_parse(sql);
	assert_int_equal(ddl.promise_count, 0);
	assert_false(ddl.understood);
}

/* ---- Definitions ---- */

static const char definition[] =
	"CREATE TABLE `orders` (\n"
	"  `id` bigint NOT NULL AUTO_INCREMENT,\n"
	"  `Mixed` varchar(20) COLLATE utf8mb4_bin DEFAULT 'a,`in_default` int' "
	"COMMENT 'it''s, \\'(`in_comment`',\n"
	"  `kind` enum('x','`in_enum`') DEFAULT NULL,\n"
	"  `a``b` int DEFAULT NULL,\n"
	"  `g` int GENERATED ALWAYS AS (concat(`id`,`in_expression`)) VIRTUAL,\n"
	"  PRIMARY KEY (`id`),\n"
	"  UNIQUE KEY `u` (`Mixed`),\n"
	"  KEY `k` (`kind`,`in_key`) /*!80000 INVISIBLE */,\n"
	"  FULLTEXT KEY `f` (`Mixed`),\n"
	"  SPATIAL KEY `s` (`g`),\n"
	"  CONSTRAINT `chk` CHECK ((`id` > 0))\n"
	") ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4 COMMENT='(`in_table_comment`'\n"
	"/*!50100 PARTITION BY HASH (`id`)\n"
	"(PARTITION `p0` ENGINE = InnoDB,`in_partition`) */";

static bool keeps(const char *text, enum ddl_promise_kind kind, const char *name)
{
	struct ddl_promise promise = { .kind = kind };

	snprintf(promise.name, sizeof(promise.name), "%s", name);
	return ddl_definition_keeps(text, &promise);
}

static void test_columns_and_indexes_of_a_definition_are_found(void **state)
{
	static const char *const columns[] = { "id", "ID", "mixed", "kind", "a`b", "g" };
	static const char *const indexes[] = { "PRIMARY", "primary", "u", "K", "f", "s" };

	(void)state;
	for (size_t i = 0; i < LENGTH(columns); i++) {
		assert_true(keeps(definition, C, columns[i]));
		assert_false(keeps(definition, NO_C, columns[i]));
	}
	for (size_t i = 0; i < LENGTH(indexes); i++) {
		assert_true(keeps(definition, I, indexes[i]));
		assert_false(keeps(definition, NO_I, indexes[i]));
	}
}

static void test_what_only_looks_like_a_part_of_a_definition_is_none(void **state)
{
	static const char *const others[] = { "in_default",
					      "in_comment",
					      "in_enum",
					      "in_expression",
					      "in_key",
					      "in_table_comment",
					      "in_partition",
					      "orders",
					      "p0",
					      "chk",
					      "i",
					      "idx",
					      "a",
					      "a`",
					      "a``b",
					      "g`x",
					      "`",
					      "",
					      "KEY" };

	(void)state;
	for (size_t i = 0; i < LENGTH(others); i++) {
		assert_false(keeps(definition, C, others[i]));
		assert_true(keeps(definition, NO_C, others[i]));
		assert_false(keeps(definition, I, others[i]));
		assert_true(keeps(definition, NO_I, others[i]));
	}
	assert_false(keeps(definition, C, "u"));
	assert_false(keeps(definition, C, "PRIMARY"));
	assert_false(keeps(definition, I, "id"));
	assert_false(keeps("CREATE TABLE `t` (\n  `id` int\n)", I, "PRIMARY"));
}

static void test_quotes_blanks_and_backslashes_do_not_hide_a_part(void **state)
{
	static const char backslash[] = "CREATE TABLE `t` (\n  `a\\` int,\n  `b` int\n)";
	static const char other_quotes[] = "CREATE TABLE `t` (`a` varchar(9) DEFAULT (\"),(`x` int\"),`b` int)";
	static const char other_blanks[] = "CREATE\tTABLE\r\n`t` (\r\n\t`id` int,\r\n\tKEY\t`k` (`id`)\r\n)";
	static const char other_words[] = "CREATE TABLE `t` (`a` int, INDEX `i` (`a`), UNIQUE INDEX `u` (`a`))";

	(void)state;
	assert_true(keeps(backslash, C, "a\\"));
	assert_true(keeps(backslash, C, "b"));
	assert_true(keeps(other_quotes, C, "b"));
	assert_true(keeps(other_quotes, NO_C, "x"));
	assert_true(keeps(other_blanks, C, "id"));
	assert_true(keeps(other_blanks, I, "k"));
	assert_true(keeps(other_words, I, "i"));
	assert_true(keeps(other_words, I, "u"));
	assert_true(keeps(other_words, NO_I, "a"));
}

static void test_a_definition_that_is_none_or_cut_off_keeps_no_promise(void **state)
{
	static const char *const bad[] = {
		"",
		"CREATE",
		"CREATE TABLE",
		"CREATE TABLE `t`",
		"CREATE TABLE `t` (",
		"CREATE TABLE `t`)",
		"CREATE TABLE `t` (\n  `i",
		"CREATE TABLE `t` (\n  `id` int",
		"CREATE TABLE `t` (\n  `id` int COMMENT ')",
		"CREATE TABLE `t` (\n  `id` int COMMENT '\\",
		"(`id`)",
		"CREATE ALGORITHM=UNDEFINED VIEW `t` AS select `u`.`id` AS `id` from `u`",
	};

	(void)state;
	for (size_t i = 0; i < LENGTH(bad); i++) {
		assert_false(keeps(bad[i], C, "id"));
		assert_false(keeps(bad[i], NO_C, "id"));
		assert_false(keeps(bad[i], I, "id"));
		assert_false(keeps(bad[i], NO_I, "id"));
	}
	assert_false(keeps(NULL, C, "id"));
	assert_false(keeps(NULL, NO_C, "id"));
}

static const struct {
	const char *a, *b;
	bool equal;
} definitions[] = {
	{ "CREATE TABLE `t` (`a` int) ENGINE=InnoDB", "CREATE TABLE `t` (`a` int) ENGINE=InnoDB", true },
	{ "CREATE TABLE `t` (`a` int) ENGINE=InnoDB AUTO_INCREMENT=5 COMMENT='x'",
	  "CREATE TABLE `t` (`a` int) ENGINE=InnoDB COMMENT='x'", true },
	{ "CREATE TABLE `t` (`a` int) ENGINE=InnoDB AUTO_INCREMENT=5",
	  "CREATE TABLE `t` (`a` int) ENGINE=InnoDB AUTO_INCREMENT=12345678901234567890", true },
	{ "CREATE TABLE `t` (`a` int(9)) ENGINE=InnoDB AUTO_INCREMENT=5",
	  "CREATE TABLE `t` (`a` int(9)) ENGINE=InnoDB", true },
	{ "", "", true },
	{ "", "CREATE TABLE `t` (`a` int)", false },
	{ "CREATE TABLE `t` (`a` int)", "CREATE TABLE `t` (`a` bigint)", false },
	{ "CREATE TABLE `t` (`a` int)", "CREATE TABLE `t` (`A` int)", false },
	{ "CREATE TABLE `t` (`a` int)", "CREATE TABLE `t` (`a` int) ENGINE=InnoDB", false },
	{ "CREATE TABLE `t` (`a` int) COMMENT=' AUTO_INCREMENT=5'", "CREATE TABLE `t` (`a` int) COMMENT=''",
	  false },
	{ "CREATE TABLE `t` (`a` int) COMMENT='x) AUTO_INCREMENT=5'",
	  "CREATE TABLE `t` (`a` int) COMMENT='x) AUTO_INCREMENT=6'", false },
	{ "CREATE TABLE `t` (`a` int COMMENT ') AUTO_INCREMENT=5')", "CREATE TABLE `t` (`a` int COMMENT ')')",
	  false },
	{ "CREATE TABLE `t` (`a` int) AUTO_INCREMENT=", "CREATE TABLE `t` (`a` int)", false },
	{ "CREATE TABLE `t` (`a` int AUTO_INCREMENT=5)", "CREATE TABLE `t` (`a` int)", false },
	{ "CREATE TABLE `t`) AUTO_INCREMENT=5", "CREATE TABLE `t`)", false },
	{ "CREATE TABLE `t) AUTO_INCREMENT=5` (`a` int)", "CREATE TABLE `t)` (`a` int)", false },
	{ "CREATE TABLE `t` (`a` int COMMENT 'x", "CREATE TABLE `t` (`a` int COMMENT 'xy", false },
};

static void test_only_the_counter_may_differ_between_shards(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(definitions); i++) {
		assert_int_equal(ddl_definition_equal(definitions[i].a, definitions[i].b),
				 definitions[i].equal);
		assert_int_equal(ddl_definition_equal(definitions[i].b, definitions[i].a),
				 definitions[i].equal);
	}
	assert_true(ddl_definition_equal(definition, definition));
	assert_false(ddl_definition_equal(NULL, NULL));
	assert_false(ddl_definition_equal(NULL, definition));
	assert_false(ddl_definition_equal(definition, NULL));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_each_clause_promises_what_it_says_and_no_more),
		cmocka_unit_test(test_more_clauses_than_there_is_room_for_promise_nothing),
		cmocka_unit_test(test_columns_and_indexes_of_a_definition_are_found),
		cmocka_unit_test(test_what_only_looks_like_a_part_of_a_definition_is_none),
		cmocka_unit_test(test_quotes_blanks_and_backslashes_do_not_hide_a_part),
		cmocka_unit_test(test_a_definition_that_is_none_or_cut_off_keeps_no_promise),
		cmocka_unit_test(test_only_the_counter_may_differ_between_shards),
	};

	return cmocka_run_group_tests_name("ddl_promise", tests, NULL, NULL);
}
