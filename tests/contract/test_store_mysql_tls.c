/* Goal: what is said to a store on another host is encrypted, and said to nobody but that host.
 * Method: a real server with certificates made on the spot: a good one, and each way of not being good. */
#include "store_mysql_fixture.h"

#include "wire_certificates.h"

static struct certificate authority, stranger;
static char *ca_path, *stranger_path;

/* The server's certificate from now on. */
static void serve(const struct certificate *certificate)
{
	char *cert = mysqld_write(mysql_server, "cert.pem", certificate->cert);
	char *key = mysqld_write(mysql_server, "key.pem", certificate->key);

	mysqld_run(mysql_server, NULL,
		   strcmp(mysql_flavor, "mysql") == 0 ? "ALTER INSTANCE RELOAD TLS" : "FLUSH SSL");
	free(cert);
	free(key);
}

static void serve_new(const struct certificate *issuer, const char *name, int64_t from_s, int64_t to_s)
{
	struct certificate certificate;

	certificate_make(&certificate, issuer, name, time(NULL) + from_s, time(NULL) + to_s);
	serve(&certificate);
	certificate_release(&certificate);
}

static int open_config(const char *host, struct store_config config, struct error *err)
{
	struct store *store = NULL;
	char at[300];
	int result;

	snprintf(at, sizeof(at), "mysql://vtddl@%s:%u/%s", host, mysqld_port(mysql_server), database);
	config.url = at;
	result = store_open(&config, &store, err);
	if (result == 0) {
		assert_int_equal(connection_run(connection_of(store), "SHOW SESSION STATUS LIKE 'Ssl_cipher'",
						NULL, 0, err),
				 0);
		assert_int_equal(connection_next(connection_of(store), err), 1);
		/* 100: in plain text. */
		result = connection_column(connection_of(store), 1)->length ? 0 : 100;
	}
	store_close(store);
	return result;
}

static int open_tls(const char *host, const char *ca, struct error *err)
{
	return open_config(host, (struct store_config){ .ssl_ca = ca }, err);
}

static void test_the_right_server_is_used(void **state)
{
	(void)state;
	serve_new(&authority, "localhost", -60, 3600);
	assert_ok(open_tls("localhost", ca_path, err));
}

static void test_another_name_is_refused(void **state)
{
	(void)state;
	serve_new(&authority, "elsewhere.example", -60, 3600);
	assert_refused(open_tls("localhost", ca_path, err), ERROR_AUTH, "cannot be reached");
	serve_new(&authority, "localhost", -60, 3600);
	assert_refused(open_tls("127.0.0.1", ca_path, err), ERROR_AUTH, "cannot be reached");
}

static void test_another_authority_is_refused(void **state)
{
	(void)state;
	serve_new(&stranger, "localhost", -60, 3600);
	assert_refused(open_tls("localhost", ca_path, err), ERROR_AUTH, "cannot be reached");
	assert_ok(open_tls("localhost", stranger_path, err));
}

static void test_another_time_is_refused(void **state)
{
	(void)state;
	/* MySQL takes no such certificate; the client is the same. */
	if (strcmp(mysql_flavor, "mysql") == 0)
		skip();
	serve_new(&authority, "localhost", -7200, -3600);
	assert_refused(open_tls("localhost", ca_path, err), ERROR_AUTH, "cannot be reached");
	serve_new(&authority, "localhost", 3600, 7200);
	assert_refused(open_tls("localhost", ca_path, err), ERROR_AUTH, "cannot be reached");
}

static void test_a_missing_file_is_no_reason_for_plain_text(void **state)
{
	(void)state;
	serve_new(&authority, "localhost", -60, 3600);
	assert_true(open_tls("localhost", "/nowhere/ca.pem", NULL) < 0);
}

/* 0.0.0.0 is this host, but not by a name of the loopback. */
static void test_another_host_is_never_asked_in_plain_text_by_itself(void **state)
{
	(void)state;
	serve_new(&authority, "localhost", -60, 3600);
	assert_refused(open_config("0.0.0.0", (struct store_config){ 0 }, err), ERROR_AUTH,
		       "cannot be reached");
	assert_refused(open_config("0.0.0.0", (struct store_config){ .ssl_ca = ca_path }, err), ERROR_AUTH,
		       "cannot be reached");
	assert_true(open_config("0.0.0.0", (struct store_config){ .ssl_off = true }, NULL) >= 0);
	/* A person's word for plain text does not undo a person's word for an authority. */
	assert_refused(
		open_config("0.0.0.0", (struct store_config){ .ssl_off = true, .ssl_ca = ca_path }, err),
		ERROR_AUTH, "cannot be reached");
}

static void test_an_option_file_cannot_turn_encryption_off(void **state)
{
	char *options = mysqld_write(mysql_server, "plain.cnf",
				     "[client]\nuser=vtddl\nloose-ssl-mode=DISABLED\nloose-skip-ssl\n");

	(void)state;
	serve_new(&authority, "elsewhere.example", -60, 3600);
	assert_true(open_config("localhost",
				(struct store_config){ .ssl_ca = ca_path, .option_file = options },
				NULL) < 0);
	free(options);
}

static void test_a_client_shows_its_own_certificate(void **state)
{
	struct certificate client;
	char *cert, *key;

	(void)state;
	serve_new(&authority, "localhost", -60, 3600);
	certificate_make(&client, &authority, "vtddl", time(NULL) - 60, time(NULL) + 3600);
	cert = mysqld_write(mysql_server, "client.pem", client.cert);
	key = mysqld_write(mysql_server, "client.key", client.key);
	admin("ALTER USER vtddl@'%' REQUIRE X509");
	assert_refused(open_tls("localhost", ca_path, err), ERROR_AUTH, "(1045)");
	assert_ok(open_config("localhost",
			      (struct store_config){ .ssl_ca = ca_path, .ssl_cert = cert, .ssl_key = key },
			      err));
	admin("ALTER USER vtddl@'%' REQUIRE NONE");
	certificate_release(&client);
	free(cert);
	free(key);
}

/* A server with certificates, whose paths it keeps. */
static bool start_with_tls(const char *flavor)
{
	const char *const folder_files[] = { "cert.pem", "key.pem", "both.pem" };
	char *options[4] = { 0 }, *both;
	static const char *const names[] = { "--ssl-cert", "--ssl-key", "--ssl-ca" };

	if (!mysql_start(flavor))
		return false;
	ca_path = mysqld_write(mysql_server, "ca.pem", authority.cert);
	stranger_path = mysqld_write(mysql_server, "stranger.pem", stranger.cert);
	/* MySQL serves no certificate that it would not believe itself. */
	if (asprintf(&both, "%s%s", authority.cert, stranger.cert) < 0)
		abort();
	free(mysqld_write(mysql_server, "both.pem", both));
	free(both);
	free(mysqld_write(mysql_server, "cert.pem", authority.cert));
	free(mysqld_write(mysql_server, "key.pem", authority.key));
	for (size_t i = 0; i < 3; i++)
		if (asprintf(&options[i], "%s=%s/%s", names[i], mysqld_folder(mysql_server),
			     folder_files[i]) < 0)
			abort();
	mysqld_kill(mysql_server);
	mysqld_again(mysql_server, (const char *const *)options);
	for (size_t i = 0; i < 3; i++)
		free(options[i]);
	return true;
}

int main(void)
{
	static const char *const flavors[] = { "mariadb", "mysql" };
	const struct CMUnitTest tests[] = {
		ROW(test_the_right_server_is_used),
		ROW(test_another_name_is_refused),
		ROW(test_another_authority_is_refused),
		ROW(test_another_time_is_refused),
		ROW(test_a_missing_file_is_no_reason_for_plain_text),
		ROW(test_another_host_is_never_asked_in_plain_text_by_itself),
		ROW(test_an_option_file_cannot_turn_encryption_off),
		ROW(test_a_client_shows_its_own_certificate),
	};
	int failed = 0;

	certificate_make(&authority, NULL, "authority", time(NULL) - 60, time(NULL) + 3600);
	certificate_make(&stranger, NULL, "stranger", time(NULL) - 60, time(NULL) + 3600);
	for (size_t i = 0; i < 2; i++) {
		if (!start_with_tls(flavors[i])) {
			print_message("%s: not there, left out\n", flavors[i]);
			continue;
		}
		failed += _cmocka_run_group_tests(flavors[i], tests, sizeof(tests) / sizeof(tests[0]), NULL,
						  NULL);
		free(ca_path);
		free(stranger_path);
	}
	certificate_release(&authority);
	certificate_release(&stranger);
	return failed;
}
