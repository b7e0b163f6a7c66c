#include "mysql_private.h"

/*
 * mysql://[USER@]HOST[:PORT]/DATABASE. Nothing of it is decoded: "%" is refused rather than guessed at.
 */

static int refuse(const char *why, struct error *reterr)
{
	return error_set(reterr, ERROR_CONFIG,
			 "The URL of the store is not of the form mysql://USER@HOST[:PORT]/DATABASE: %s",
			 why);
}

/* Printable ASCII without what means something in a URL or a sentence. */
static bool is_plain(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text > '~' || strchr("%?#\\\"'`", *text))
			return false;
	return true;
}

static bool copy(char *to, size_t size, const char *from, size_t length)
{
	if (length >= size)
		return false;
	memcpy(to, from, length);
	to[length] = '\0';
	return true;
}

int mystore_url_parse(const char *url, bool user_is_optional, struct mystore_url *ret, struct error *reterr)
{
	const char *authority = url + strlen("mysql:"), *slash, *at = NULL;
	char address[HOST_MAX + 16];

	*ret = (struct mystore_url){ 0 };
	if (strncmp(authority, "//", 2) != 0)
		return refuse("two slashes must follow the scheme", reterr);
	authority += 2;
	slash = strchr(authority, '/');
	/* A password may hold a slash or an "@": whatever comes before the last one is not repeated. */
	if (strchr(authority, '@'))
		at = strrchr(authority, '@');
	if (at && memchr(authority, ':', (size_t)(at - authority)))
		return refuse("a password may not be in it, since others can see it there; "
			      "write it into a file that only this user may read, and name that file",
			      reterr);
	if (!is_plain(authority))
		return refuse("it holds a character that may not be there", reterr);
	if (!slash || (at && at > slash))
		return refuse("the database is missing", reterr);
	if (at && !copy(ret->user, sizeof(ret->user), authority, (size_t)(at - authority)))
		return refuse("the user is too long", reterr);
	if (!ret->user[0] && !user_is_optional)
		return refuse("the user is missing", reterr);
	authority = at ? at + 1 : authority;
	if (!copy(address, sizeof(address), authority, (size_t)(slash - authority)) ||
	    !connection_split_address(address, ret->host, &ret->port))
		return refuse("the host or the port is missing or wrong", reterr);
	if (ret->port == 0)
		ret->port = MYSTORE_PORT;
	if (!slash[1] || strchr(slash + 1, '/') ||
	    !copy(ret->database, sizeof(ret->database), slash + 1, strlen(slash + 1)))
		return refuse("the database is missing, too long or holds a slash", reterr);
	return 0;
}
