/* Goal: what Vitess would run at once, run differently or fail late is refused with its reason, all
 * else is taken apart rightly, and the normal form makes one change of two texts only without doubt.
 * Method: tables of statements. Words of the reasons, not whole sentences, are looked for. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>
#include <stdio.h>
#include <string.h>

#include "vtddl/ddl.h"

#define LENGTH(array) (sizeof(array) / sizeof((array)[0]))
#define TEN "aaaaaaaaaa"
#define SIXTY_FOUR TEN TEN TEN TEN TEN TEN "aaaa"

static struct ddl ddl;
static struct error error;
static char normal[DDL_MAX + 2];

static int parse(const char *sql)
{
	memset(&ddl, 0x5a, sizeof(ddl));
	memset(&error, 0, sizeof(error));
	return ddl_parse(sql, strlen(sql), &ddl, normal, &error);
}

static void must_parse(const char *sql)
{
	if (parse(sql) < 0)
		fail_msg("\"%s\" is refused: %s", sql, error.text);
}

static void must_refuse(const char *sql, size_t length, const char *words)
{
	memset(&error, 0, sizeof(error));
	if (ddl_parse(sql, length, &ddl, normal, &error) == 0)
		fail_msg("\"%s\" is taken", sql);
	assert_int_equal(error.code, ERROR_INPUT);
	if (!strstr(error.text, words))
		fail_msg("\"%s\": \"%s\" lacks \"%s\"", sql, error.text, words);
}

/* ---- What a statement is ---- */

enum flags { OR_REPLACE = 1, IF_EXISTS = 2, IF_NOT_EXISTS = 4 };

static const struct {
	const char *sql;
	enum ddl_action action;
	const char *table;
	unsigned flags;
} taken[] = {
	{ "create table t (id int)", DDL_CREATE_TABLE, "t", 0 },
	{ "create table t(id int)", DDL_CREATE_TABLE, "t", 0 },
	{ "CREATE TABLE IF NOT EXISTS `t` (id int primary key) ENGINE=InnoDB", DDL_CREATE_TABLE, "t",
	  IF_NOT_EXISTS },
	{ "create table t (a int, b int as (a + 1) stored, key (b))", DDL_CREATE_TABLE, "t", 0 },
	{ "create table t (a varchar(9) check (a like 'x%'))", DDL_CREATE_TABLE, "t", 0 },
	{ "create table t (`select` int, `references` int)", DDL_CREATE_TABLE, "t", 0 },
	{ "create table t (a int comment 'as select from references')", DDL_CREATE_TABLE, "t", 0 },
	{ "create table t (a int) partition by range (a) (partition p0 values less than (10))",
	  DDL_CREATE_TABLE, "t", 0 },
	{ "create table Orders (a int)", DDL_CREATE_TABLE, "Orders", 0 },
	{ "create table `two words` (a int)", DDL_CREATE_TABLE, "two words", 0 },
	{ "create table `gr\xc3\xb6\xc3\x9f"
	  "e` (a int)",
	  DDL_CREATE_TABLE,
	  "gr\xc3\xb6\xc3\x9f"
	  "e",
	  0 },
	{ "create table `" SIXTY_FOUR "` (a int)", DDL_CREATE_TABLE, SIXTY_FOUR, 0 },
	{ "create table status (a int)", DDL_CREATE_TABLE, "status", 0 },
	{ "create table view (a int)", DDL_CREATE_TABLE, "view", 0 },
	{ "create table vt_x (a int)", DDL_CREATE_TABLE, "vt_x", 0 },
	{ "create table _vtx (a int)", DDL_CREATE_TABLE, "_vtx", 0 },
	{ "alter table t add column c int", DDL_ALTER_TABLE, "t", 0 },
	{ "ALTER\tTABLE\r\n`t`\nADD c INT;", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table`t`add`c`int", DDL_ALTER_TABLE, "t", 0 },
	{ "-- why\n# and\n/* how */ alter /* it */ table t -- is\n add c int -- done\n ; ", DDL_ALTER_TABLE, "t",
	  0 },
	{ "alter table t rename column a to b, rename index i to j, rename key k to l", DDL_ALTER_TABLE, "t",
	  0 },
	{ "alter table t engine=innodb", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t force", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t drop partition p0, rename_me", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t convert to character set utf8mb4", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t alter column c set default 'it''s \\' ; --'", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t add column c int default -1", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t add column c int default 0x1f", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t add column c int default 0b101", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t add column c double default 1.5e-3", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t add column c double default 1.5E+3, add column d double default 2e3", DDL_ALTER_TABLE, "t", 0 },
	{ "create table `\xc2\xb5` (a int)", DDL_CREATE_TABLE, "\xc2\xb5", 0 }, /* no control character: U+00B5 */
	{ "create table t (a$b int)", DDL_CREATE_TABLE, "t", 0 },
	{ "alter table t add column `rename` int, add column `foreign` int", DDL_ALTER_TABLE, "t", 0 },
	{ "alter table t add column c json default (json_object('a', \"b\"))", DDL_ALTER_TABLE, "t", 0 },
	{ "drop table t", DDL_DROP_TABLE, "t", 0 },
	{ "DROP TABLE IF EXISTS `t` CASCADE", DDL_DROP_TABLE, "t", IF_EXISTS },
	{ "create view v as select 1", DDL_CREATE_VIEW, "v", 0 },
	{ "create or replace view v (a, b) as select a, count(*) from t group by a", DDL_CREATE_VIEW, "v",
	  OR_REPLACE },
	{ "create algorithm = merge definer=`root`@`%` sql security invoker view v as select a from t",
	  DDL_CREATE_VIEW, "v", 0 },
	{ "create definer=root@localhost view v as select 1", DDL_CREATE_VIEW, "v", 0 },
	{ "create definer = current_user() view v as select 1", DDL_CREATE_VIEW, "v", 0 },
	{ "create definer=root view v as select 1", DDL_CREATE_VIEW, "v", 0 },
	{ "create definer=root@'localhost' view v as select @\"x\"", DDL_CREATE_VIEW, "v", 0 },
	{ "create view v as select @@global.sql_mode", DDL_CREATE_VIEW, "v", 0 },
	{ "create view v as (select 1) union (select 2)", DDL_CREATE_VIEW, "v", 0 },
	{ "create view v as with x as (select 1) select * from x", DDL_CREATE_VIEW, "v", 0 },
	{ "create view v as select t.a->>'$.x' <=> @@sql_mode || !b from t where a <> 1", DDL_CREATE_VIEW,
	  "v", 0 },
	{ "alter view v as select 2", DDL_ALTER_VIEW, "v", 0 },
	{ "drop view if exists v restrict", DDL_DROP_VIEW, "v", IF_EXISTS },
};

static void test_statements_on_one_table_or_view_are_taken(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(taken); i++) {
		must_parse(taken[i].sql);
		assert_int_equal(ddl.action, taken[i].action);
		assert_string_equal(ddl.table, taken[i].table);
		assert_int_equal(ddl.or_replace, !!(taken[i].flags & OR_REPLACE));
		assert_int_equal(ddl.if_exists, !!(taken[i].flags & IF_EXISTS));
		assert_int_equal(ddl.if_not_exists, !!(taken[i].flags & IF_NOT_EXISTS));
	}
}

static void test_the_normal_form_may_be_left_out(void **state)
{
	(void)state;
	assert_int_equal(ddl_parse("drop table t", 12, &ddl, NULL, &error), 0);
	assert_string_equal(ddl.table, "t");
}

static void test_the_text_need_not_end_in_a_nul(void **state)
{
	(void)state;
	assert_int_equal(ddl_parse("drop table table_of_mine, b", 19, &ddl, normal, &error), 0);
	assert_string_equal(normal, "DROP TABLE table_of");
}

static void test_actions_have_names(void **state)
{
	(void)state;
	assert_string_equal(ddl_action_name(DDL_CREATE_TABLE), "create table");
	assert_string_equal(ddl_action_name(DDL_ALTER_TABLE), "alter table");
	assert_string_equal(ddl_action_name(DDL_DROP_TABLE), "drop table");
	assert_string_equal(ddl_action_name(DDL_CREATE_VIEW), "create view");
	assert_string_equal(ddl_action_name(DDL_ALTER_VIEW), "alter view");
	assert_string_equal(ddl_action_name(DDL_DROP_VIEW), "drop view");
	assert_string_equal(ddl_action_name((enum ddl_action)99), "unknown");
}

static void test_other_actions_promise_nothing(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(taken); i++) {
		if (taken[i].action == DDL_ALTER_TABLE)
			continue;
		must_parse(taken[i].sql);
		assert_int_equal(ddl.promise_count, 0);
		assert_false(ddl.understood);
	}
}

/* ---- What is refused ---- */

static const struct {
	const char *sql, *words;
} refused[] = {
	/* Nothing */
	{ "", "no statement" },
	{ " \t\r\n", "no statement" },
	{ "-- only this", "no statement" },
	{ "--", "no statement" },
	{ "/* only this */ # and this", "no statement" },
	{ ";", "no statement" },
	/* Too much */
	{ "drop table a; drop table b", "behind the closing semicolon" },
	{ "drop table a;;", "behind the closing semicolon" },
	{ "drop table a; -- x", "a comment is behind the closing semicolon" },
	{ "drop table a;/* x */", "a comment is behind the closing semicolon" },
	{ "drop table a;\n# x\n", "a comment is behind the closing semicolon" },
	{ "alter table a add c int; x", "behind the closing semicolon" },
	{ "drop table a, b", "several tables" },
	{ "drop view a, b", "several tables or views" },
	{ "drop table a b", "should end here" },
	{ "drop table a cascade restrict", "should end here" },
	/* Verbs */
	{ "truncate table t", "TRUNCATE is refused: Vitess runs it at once on every shard" },
	{ "TRUNCATE t", "without a hold" },
	{ "rename table a to b", "RENAME is refused: Vitess runs it at once on every shard" },
	{ "insert into t values (1)", "INSERT is refused: it changes rows" },
	{ "update t set a = 1", "changes rows" },
	{ "delete from t", "through VTGate" },
	{ "replace into t values (1)", "changes rows" },
	{ "load data infile 'x' into table t", "changes rows" },
	{ "select 1", "changes nothing" },
	{ "with a as (select 1) select * from a", "changes nothing" },
	{ "(select 1)", "begins with a word" },
	{ "'drop table t'", "begins with a word" },
	{ "`drop` table t", "begins with a word" },
	{ "set @a = 1", "setting of the session" },
	{ "use commerce", "the keyspace is an argument" },
	{ "begin", "transaction" },
	{ "grant all on t to x", "CREATE, ALTER and DROP of one table or view" },
	{ "optimize table t", "changes no definition" },
	{ "revert vitess_migration 'c98ec72c_20fc_8fe5_8f02_36e3929d3fc6'", "REVERT is refused" },
	{ "show vitess_migrations", "vtddl show" },
	{ "delimiter //", "mysql client" },
	/* Objects */
	{ "alter vitess_migration 'c98ec72c_20fc_8fe5_8f02_36e3929d3fc6' complete",
	  "ALTER vitess_migration is refused" },
	{ "alter vitess_migration complete all", "migrations of every shard" },
	{ "alter/**/VITESS_MIGRATION/**/cancel all", "migrations of every shard" },
	{ "alter vschema add table t", "ApplyVSchema" },
	{ "create database d", "CreateKeyspace" },
	{ "drop schema d", "CreateKeyspace" },
	{ "alter database d character set utf8mb4", "CreateKeyspace" },
	{ "create temporary table t (a int)", "TEMPORARY" },
	{ "drop temporary table t", "TEMPORARY" },
	{ "create index i on t (a)", "write ALTER TABLE ... ADD INDEX" },
	{ "create unique index i on t (a)", "ADD UNIQUE INDEX" },
	{ "create fulltext index i on t (a)", "ADD FULLTEXT INDEX" },
	{ "create spatial index i on t (a)", "ADD SPATIAL INDEX" },
	{ "drop index i on t", "DROP INDEX" },
	{ "create procedure p() select 1", "CREATE procedure is refused" },
	{ "create trigger x before insert on t for each row set @a = 1", "CREATE trigger is refused" },
	{ "create user u", "CREATE user is refused" },
	{ "drop tables a", "write TABLE" },
	{ "alter ignore table t add c int", "ALTER ignore is refused" },
	{ "create", "TABLE or VIEW is expected behind CREATE" },
	{ "create `table` t (a int)", "TABLE or VIEW is expected behind CREATE" },
	{ "create or replace table t (a int)", "belong to a view" },
	{ "create or table t (a int)", "OR REPLACE is expected" },
	{ "create algorithm=merge table t (a int)", "belong to a view" },
	{ "create algorithm=", "a word is missing" },
	{ "create algorithm==merge view v as select 1", "a word is missing" },
	{ "create definer=root @ localhost view v as select 1", "TABLE or VIEW is expected behind CREATE" },
	{ "create " SIXTY_FOUR "b t", "CREATE " SIXTY_FOUR " is refused" }, /* shown so far */
	/* Names */
	{ "create table (a int)", "name of a table or view is expected" },
	{ "alter table add column c int", "name of a table or view is expected" },
	{ "alter table 't' add c int", "in quotes stands where a name is expected" },
	{ "drop table \"t\"", "in quotes stands where a name is expected" },
	{ "drop table 1", "name of a table or view is expected" },
	{ "drop table", "name of a table or view is expected" },
	{ "alter table commerce.t add c int", "qualified with a database" },
	{ "alter table commerce . t add c int", "qualified with a database" },
	{ "drop table `commerce`.`t`", "qualified with a database" },
	{ "create view a.v as select 1", "qualified with a database" },
	{ "drop table .t", "name of a table or view is expected" },
	{ "drop table _vt_hld_6ace8bcef73211ea87e9f875a4d24e90_20200915120410_", "internal table of Vitess" },
	{ "alter table `_VT_x` add c int", "internal table of Vitess" },
	{ "drop table " SIXTY_FOUR "a", "has 65 characters" },
	{ "alter table t add column " SIXTY_FOUR "a int", "has 65 characters" },
	{ "alter table t drop index `" SIXTY_FOUR "a`", "has 65 characters" },
	{ "drop table `\xc3\xb6" TEN TEN TEN TEN TEN TEN "aaa`", "over 64 bytes" },
	{ "drop table `a``b`", "a quote, slash, dot" },
	{ "drop table `/^a/`", "a quote, slash, dot" },
	{ "drop table `a.b`", "a quote, slash, dot" },
	{ "drop table `a `", "ends in a blank" },
	{ "drop table ``", "empty name" },
	{ "drop table `a\x01`", "control character" },
	{ "drop table `a\nb`", "control character" },
	{ "drop table `a\x7f`", "control character" },
	{ "drop table `a\xc2\x85`", "control character" },
	{ "alter table t add column `a\x1b[2J` int", "control character" },
	{ "drop table ```a`", "a quote, slash, dot" },
	{ "drop table 1a", "a letter follows a number" },
	{ "drop table t\xc3\xb6", "outside ASCII" },
	{ "drop\xc2\xa0table t", "outside ASCII" },
	{ "alter table t add c int default \xe2\x80\x98x\xe2\x80\x99", "outside ASCII" },
	/* Clauses of CREATE TABLE */
	{ "create table t", "has no columns" },
	{ "create table t engine=innodb", "columns in parentheses are expected" },
	{ "create table if t (a int)", "IF NOT EXISTS is expected" },
	{ "create table if not t (a int)", "IF NOT EXISTS is expected" },
	{ "drop table if t", "IF EXISTS is expected" },
	{ "create table t like u", "LIKE is refused" },
	{ "create table t (like u)", "LIKE is refused" },
	{ "create table t select 1", "CREATE TABLE ... SELECT is refused" },
	{ "create table t as select 1", "CREATE TABLE ... SELECT is refused" },
	{ "create table t as (select 1)", "CREATE TABLE ... SELECT is refused" },
	{ "create table t (a int) select 1 as a", "CREATE TABLE ... SELECT is refused" },
	{ "create table t (a int) engine=innodb as select 1 as a", "CREATE TABLE ... SELECT is refused" },
	{ "create table t (a int) with x as (select 1) table x", "CREATE TABLE ... SELECT is refused" },
	{ "create table t (a int) table u", "CREATE TABLE ... SELECT is refused" },
	{ "create table t (a int) values row(1)", "CREATE TABLE ... SELECT is refused" },
	{ "create table t (select 1)", "CREATE TABLE ... SELECT is refused" },
	{ "create table t (a int references u (a))", "foreign keys are refused" },
	{ "create table t (a int, foreign key (a) references u (a))", "foreign keys are refused" },
	{ "create table t (a int, constraint x foreign key (a) references u (a))",
	  "foreign keys are refused" },
	{ "create table t (a int,)", "a definition is missing" },
	{ "create table t ()", "a definition is missing" },
	/* Clauses of ALTER TABLE */
	{ "alter table t", "a clause of ALTER TABLE is missing" },
	{ "alter table t add c int,", "a clause of ALTER TABLE is missing" },
	{ "alter table t add c int,, add d int", "a clause of ALTER TABLE is missing" },
	{ "alter table t rename to u", "RENAME is refused" },
	{ "alter table t rename as u", "RENAME is refused" },
	{ "alter table t rename u", "RENAME is refused" },
	{ "alter table t rename `column`", "RENAME is refused" },
	{ "alter table t rename = u", "RENAME is refused" },
	{ "alter table t add c int, RENAME TO u", "RENAME is refused" },
	{ "alter table t drop partition p0, rename to u", "RENAME is refused" },
	{ "alter table t rename/**/to u", "RENAME is refused" },
	{ "alter table t add constraint x foreign key (a) references u (a)", "foreign keys are refused" },
	{ "alter table t add foreign key (a) references u (a)", "foreign keys are refused" },
	{ "alter table t drop foreign key x", "foreign keys are refused" },
	{ "alter table t add column a int references u (a)", "foreign keys are refused" },
	{ "alter table t exchange partition p with table u", "EXCHANGE PARTITION is refused" },
	{ "alter table t discard tablespace", "TABLESPACE" },
	{ "alter table t import tablespace", "TABLESPACE" },
	{ "alter table t discard partition p tablespace", "TABLESPACE" },
	{ "alter table t truncate partition p", "TRUNCATE PARTITION is refused" },
	{ "alter table t optimize partition p", "changes no definition" },
	/* Views */
	{ "create view v", "AS SELECT ... is expected" },
	{ "create view v as", "AS SELECT ... is expected" },
	{ "create view v (a)", "AS SELECT ... is expected" },
	{ "alter view v select 1", "AS SELECT ... is expected" },
	/* Comments */
	{ "/*! drop table t */", "executable comment" },
	{ "alter table t add c int /*!80000 invisible */", "executable comment" },
	{ "alter table t add c int /*M! x */", "executable comment" },
	{ "create view v as select /*+ no_index(t) */ 1", "optimizer hint" },
	{ "alter /*vt+ ALLOW_SCATTER */ table t add c int", "directive" },
	{ "alter /* VT+ x=1 */ table t add c int", "directive" },
	{ "drop table t /* open", "opened with /* and not closed" },
	{ "drop table t /*/", "opened with /* and not closed" },
	{ "drop table t --x", "-- without a blank" },
	{ "alter table t add c int default --1", "-- without a blank" },
	/* Quotes, parentheses, signs */
	{ "alter table t add c int comment 'x", "the quote ' is opened and not closed" },
	{ "alter table t add c int comment 'x\\'", "the quote ' is opened and not closed" },
	{ "alter table t add c int comment 'x\\", "the quote ' is opened and not closed" },
	{ "drop table t; 'x", "the quote ' is opened and not closed" },
	{ "alter table t add c int comment \"x", "the quote \" is opened and not closed" },
	{ "drop table `t", "the quote ` is opened and not closed" },
	{ "create table t (a int", "not closed" },
	{ "create table t (a int))", "closed that was not opened" },
	{ "alter table t add index (a", "not closed" },
	{ "alter table t add c int)", "closed that was not opened" },
	{ "create view v as select (1", "not closed" },
	{ "drop table t)", "should end here" },
	{ "drop table ?", "cannot stand outside quotes" },
	{ "drop table t\\g", "cannot stand outside quotes" },
	{ "drop table :t", "cannot stand outside quotes" },
	{ "drop table t {", "cannot stand outside quotes" },
	{ "drop table t\v", "cannot stand outside quotes" },
	{ "drop table t\x1a", "cannot stand outside quotes" },
	{ "alter table t add c double default 1e", "a letter follows a number" },
	/* Encoding */
	{ "\xef\xbb\xbf"
	  "drop table t",
	  "byte order mark" },
	{ "drop table `\xff`", "not valid UTF-8" },
	{ "drop table `\xc0\x80`", "not valid UTF-8" },
	{ "drop table `\xe0\x80\x80`", "not valid UTF-8" },
	{ "drop table `\xed\xa0\x80`", "not valid UTF-8" },
	{ "drop table `\xf4\x90\x80\x80`", "not valid UTF-8" },
	{ "drop table `\xe2\x82`", "not valid UTF-8" },
	{ "drop table t -- \xc3", "not valid UTF-8" },
};

static void test_all_else_is_refused_with_its_reason(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(refused); i++)
		must_refuse(refused[i].sql, strlen(refused[i].sql), refused[i].words);
}

static void test_a_refusal_says_where(void **state)
{
	(void)state;
	must_refuse("alter table t\n  add c int,\n  rename to u", 39, "(byte 30, line 3 of the statement)");
	must_refuse("truncate t", 10, "(byte 1, line 1 of the statement)");
	must_refuse("drop table a;\ndrop table b", 26, "(byte 15, line 2 of the statement)");
	must_refuse("alter table t add c int comment '\n\n", 35, "(byte 33, line 1 of the statement)");
	must_refuse("drop table a.b", 14, "(byte 12, line 1 of the statement)");
}

static void test_a_nul_is_refused_wherever_it_is(void **state)
{
	(void)state;
	must_refuse("drop table t\0", 13, "NUL");
	must_refuse("\0drop table t", 13, "NUL");
	must_refuse("drop table t -- \0", 17, "NUL");
	must_refuse("alter table t comment 'a\0b'", 27, "NUL");
}

static void test_the_limit_of_the_size_is_exact(void **state)
{
	static char text[DDL_MAX + 2];

	(void)state;
	memset(text, ' ', sizeof(text));
	memcpy(text, "drop table t", 12);
	assert_int_equal(ddl_parse(text, DDL_MAX, &ddl, normal, &error), 0);
	must_refuse(text, DDL_MAX + 1, "the limit is 49152");
}

static void test_nothing_is_written_on_a_refusal(void **state)
{
	struct ddl before;

	(void)state;
	memset(&ddl, 0x5a, sizeof(ddl));
	before = ddl;
	assert_true(ddl_parse("drop table a, b", 15, &ddl, normal, NULL) < 0);
	assert_memory_equal(&ddl, &before, sizeof(ddl));
}

/* ---- The normal form ---- */

/* Pinned: names of changes are made from these. A row that fails means that a change under way
 * would get a second name: put the code right, never the row. */
static const struct {
	const char *sql, *normal;
} normal_forms[] = {
	{ "drop table t", "DROP TABLE t" },
	{ "  drop\n\ttable  t ; ", "DROP TABLE t" },
	{ "-- a\ndrop/* b */table# c\nt-- d", "DROP TABLE t" },
	{ "drop table if exists T cascade", "DROP TABLE IF EXISTS T CASCADE" },
	{ "alter table t add c int", "ALTER TABLE t ADD c INT" },
	{ "alter table t add column C int not null default 0 after Id",
	  "ALTER TABLE t ADD COLUMN C INT NOT NULL DEFAULT 0 AFTER Id" },
	{ "alter table t add column c VarChar ( 20 ) character set ascii collate ascii_bin",
	  "ALTER TABLE t ADD COLUMN c VARCHAR(20)CHARACTER SET ascii COLLATE ascii_bin" },
	{ "alter table t add column comment int comment 'comment'",
	  "ALTER TABLE t ADD COLUMN comment INT COMMENT 'comment'" },
	{ "alter table t add column a int after comment", "ALTER TABLE t ADD COLUMN a INT AFTER comment" },
	{ "alter table t add index i ( a , b desc ) , drop index j",
	  "ALTER TABLE t ADD INDEX i(a,b DESC),DROP INDEX j" },
	{ "alter table t modify a bigint unsigned, change b c datetime(6) default current_timestamp(6)",
	  "ALTER TABLE t MODIFY a BIGINT UNSIGNED,CHANGE b c DATETIME(6)DEFAULT CURRENT_TIMESTAMP(6)" },
	{ "alter table t engine = innodb , comment='x', algorithm = copy",
	  "ALTER TABLE t ENGINE=innodb,COMMENT='x',ALGORITHM=copy" },
	{ "alter table t rename column a to b", "ALTER TABLE t RENAME COLUMN a TO b" },
	{ "alter table t add column e enum('a' , 'B')", "ALTER TABLE t ADD COLUMN e ENUM('a','B')" },
	{ "alter table t drop partition add_, modify", "ALTER TABLE t DROP PARTITION add_,modify" },
	{ "create table if not exists t (id bigint primary key auto_increment, k int, key K_idx (k)) "
	  "engine=InnoDB default charset = utf8mb4",
	  "CREATE TABLE IF NOT EXISTS t(id BIGINT PRIMARY KEY AUTO_INCREMENT,k INT,KEY K_idx(k))"
	  "ENGINE=InnoDB DEFAULT CHARSET=utf8mb4" },
	{ "create table t (a int) flavour = bar", "CREATE TABLE t(a INT)flavour=bar" },
	{ "create table t (date date, time time default null)",
	  "CREATE TABLE t(date DATE,time TIME DEFAULT NULL)" },
	{ "create or replace algorithm = merge view v as select A.b , count( * ) from A where a.c = 'x'",
	  "CREATE OR REPLACE ALGORITHM=MERGE VIEW v AS SELECT A.b,count(*)FROM A WHERE a.c='x'" },
	{ "create view v as select a >= b , c <= d, e=f from t",
	  "CREATE VIEW v AS SELECT a >= b,c <= d,e=f FROM t" },
	{ "create view v as select - -1, a - b, 'a' 'b', x.select from t",
	  "CREATE VIEW v AS SELECT - -1,a - b,'a' 'b',x.select FROM t" },
};

static void test_normal_forms_are_the_pinned_ones(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(normal_forms); i++) {
		must_parse(normal_forms[i].sql);
		assert_string_equal(normal, normal_forms[i].normal);
	}
}

static void assert_same(const struct ddl *a, const struct ddl *b)
{
	assert_int_equal(a->action, b->action);
	assert_int_equal(a->or_replace, b->or_replace);
	assert_int_equal(a->if_exists, b->if_exists);
	assert_int_equal(a->if_not_exists, b->if_not_exists);
	assert_int_equal(a->understood, b->understood);
	assert_string_equal(a->table, b->table);
	assert_int_equal(a->promise_count, b->promise_count);
	for (size_t i = 0; i < a->promise_count; i++) {
		assert_int_equal(a->promises[i].kind, b->promises[i].kind);
		assert_string_equal(a->promises[i].name, b->promises[i].name);
	}
}

static void test_a_normal_form_is_its_own_and_means_the_same(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(taken) + LENGTH(normal_forms); i++) {
		const char *sql = i < LENGTH(taken) ? taken[i].sql : normal_forms[i - LENGTH(taken)].sql;
		static char once[DDL_MAX + 2];
		struct ddl first;

		must_parse(sql);
		assert_true(strlen(normal) <= strlen(sql));
		first = ddl;
		snprintf(once, sizeof(once), "%s", normal);
		must_parse(once);
		assert_string_equal(normal, once);
		assert_same(&ddl, &first);
	}
}

static const char *const equal[][2] = {
	{ "alter table t add column c int", "ALTER  TABLE t\nADD COLUMN c INT;" },
	{ "alter table t add column c int", "/* T-1 */ alter table t add column c int -- x" },
	{ "create table t(a int,b int)", "create table t ( a int , b int )" },
	{ "alter table t engine=InnoDB", "ALTER TABLE t ENGINE = InnoDB" },
	{ "create view v as select a from t", "create view v as SELECT a FROM t" },
	{ "alter table t add index i (a)", "alter table t add INDEX i(a)" },
	{ "create table t (a decimal(10,2) unsigned)", "create table t (a DECIMAL (10, 2) UNSIGNED)" },
	{ "drop table if exists t", "DROP TABLE IF EXISTS t" },
};

static void test_texts_that_differ_in_blanks_comments_and_keywords_are_one_change(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(equal); i++) {
		static char first[DDL_MAX + 2];

		must_parse(equal[i][0]);
		snprintf(first, sizeof(first), "%s", normal);
		must_parse(equal[i][1]);
		assert_string_equal(normal, first);
	}
}

static const char *const different[][2] = {
	{ "drop table t", "drop table T" },
	{ "drop table t", "drop table `t`" },
	{ "drop table t", "drop table if exists t" },
	{ "drop table status", "drop table STATUS" },
	{ "create table date (a int)", "create table DATE (a int)" },
	{ "alter table t add column c int", "alter table t add column C int" },
	{ "alter table t add column c int", "alter table t add c int" },
	{ "alter table t add column c int comment 'a'", "alter table t add column c int comment 'A'" },
	{ "alter table t add column c int comment 'a b'", "alter table t add column c int comment 'a  b'" },
	{ "alter table t add column c int comment 'a'", "alter table t add column c int comment \"a\"" },
	{ "alter table t add column c int comment 'a' ", "alter table t add column c int comment 'a -- x'" },
	{ "alter table t add column c int after text", "alter table t add column c int after TEXT" },
	{ "alter table t add column c int default 1", "alter table t add column c int default 1.0" },
	{ "alter table t add index date (a)", "alter table t add index DATE (a)" },
	{ "alter table t add index i (date)", "alter table t add index i (DATE)" },
	{ "alter table t drop column comment", "alter table t drop column COMMENT" },
	{ "alter table t modify engine int", "alter table t modify ENGINE int" },
	{ "alter table t engine=innodb", "alter table t engine=InnoDB" },
	{ "create view v as select x.key from x", "create view v as select x.KEY from x" },
	{ "create view v as select 'a' 'b'", "create view v as select 'a''b'" },
	{ "create view v as select a - -b from t", "create view v as select a from t" },
	{ "create view v as select x 'a' from t", "create view v as select x'a' from t" },
	{ "create view v as select status from t", "create view v as select STATUS from t" },
	{ "create view v as select a from engine where b", "create view v as select a from ENGINE where b" },
	{ "create view v as select a > = b from t", "create view v as select a >= b from t" },
	{ "create view v as select a > =b from t", "create view v as select a >=b from t" },
	{ "create view v as select a = -b from t", "create view v as select a =-b from t" },
	{ "create view v as select * from t where comment = 1",
	  "create view v as select * from t where COMMENT = 1" },
	{ "create table t (a int, check (engine = 1))", "create table t (a int, check (ENGINE = 1))" },
	{ "create view v as select a | | b from t", "create view v as select a || b from t" },
	{ "create view v as select * from t where date = 1",
	  "create view v as select * from t where DATE = 1" },
	{ "create view comment as select 1", "create view COMMENT as select 1" },
};

static void test_when_in_doubt_two_texts_are_two_changes(void **state)
{
	(void)state;
	for (size_t i = 0; i < LENGTH(different); i++) {
		static char first[DDL_MAX + 2];

		must_parse(different[i][0]);
		snprintf(first, sizeof(first), "%s", normal);
		must_parse(different[i][1]);
		if (strcmp(normal, first) == 0)
			fail_msg("\"%s\" and \"%s\" are one change", different[i][0], different[i][1]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_statements_on_one_table_or_view_are_taken),
		cmocka_unit_test(test_the_normal_form_may_be_left_out),
		cmocka_unit_test(test_the_text_need_not_end_in_a_nul),
		cmocka_unit_test(test_actions_have_names),
		cmocka_unit_test(test_all_else_is_refused_with_its_reason),
		cmocka_unit_test(test_a_refusal_says_where),
		cmocka_unit_test(test_a_nul_is_refused_wherever_it_is),
		cmocka_unit_test(test_the_limit_of_the_size_is_exact),
		cmocka_unit_test(test_nothing_is_written_on_a_refusal),
		cmocka_unit_test(test_normal_forms_are_the_pinned_ones),
		cmocka_unit_test(test_a_normal_form_is_its_own_and_means_the_same),
		cmocka_unit_test(test_texts_that_differ_in_blanks_comments_and_keywords_are_one_change),
		cmocka_unit_test(test_when_in_doubt_two_texts_are_two_changes),
		cmocka_unit_test(test_other_actions_promise_nothing),
	};

	return cmocka_run_group_tests_name("ddl", tests, NULL, NULL);
}
