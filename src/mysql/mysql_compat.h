#pragma once
/*
 * mysql_compat: what differs between MySQL's own client library and MariaDB Connector/C.
 * Chosen by the header that pkg-config found; nothing else of the program knows.
 */
#include <mysql.h>
#include <stdbool.h>

#ifdef MARIADB_PACKAGE_VERSION
typedef my_bool mysql_flag;
#else
typedef bool mysql_flag;
#endif

/* TLS or nothing, and the server's certificate must carry the host's name. 0: done. */
static inline int mysql_compat_require_tls(MYSQL *mysql)
{
#ifdef MARIADB_PACKAGE_VERSION
	mysql_flag yes = 1;

	return mysql_options(mysql, MYSQL_OPT_SSL_ENFORCE, &yes) ||
	       mysql_options(mysql, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
#else
	unsigned mode = SSL_MODE_VERIFY_IDENTITY;

	return mysql_options(mysql, MYSQL_OPT_SSL_MODE, &mode);
#endif
}

/* NULL: not set. 0: done. */
static inline int mysql_compat_set_tls_files(MYSQL *mysql, const char *ca, const char *cert, const char *key)
{
	return (ca && mysql_options(mysql, MYSQL_OPT_SSL_CA, ca)) ||
	       (cert && mysql_options(mysql, MYSQL_OPT_SSL_CERT, cert)) ||
	       (key && mysql_options(mysql, MYSQL_OPT_SSL_KEY, key));
}

/* No reconnecting behind our back: it would lose a transaction without a word. 0: done. */
static inline int mysql_compat_never_reconnect(MYSQL *mysql)
{
#ifdef MARIADB_PACKAGE_VERSION
	mysql_flag no = 0;

	return mysql_options(mysql, MYSQL_OPT_RECONNECT, &no);
#else
	(void)mysql; /* off by default, and the option goes away */
	return 0;
#endif
}

/* On a plain connection a server may not ask for the password in clear text. 0: done. */
static inline int mysql_compat_refuse_clear_password(MYSQL *mysql)
{
#ifdef MARIADB_PACKAGE_VERSION
	return mysql_options(mysql, MARIADB_OPT_RESTRICTED_AUTH,
			     "mysql_native_password,caching_sha2_password,client_ed25519");
#else
	mysql_flag no = 0;

	return mysql_options(mysql, MYSQL_ENABLE_CLEARTEXT_PLUGIN, &no);
#endif
}
