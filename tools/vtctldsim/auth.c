#include "auth.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct auth {
	json_t *users;
	char text[256];
};

static const char *user_field(const json_t *user, const char *key)
{
	const char *value = json_string_value(json_object_get(user, key));

	return value != NULL ? value : "";
}

int auth_open(const char *path, struct auth **ret, struct error *reterr)
{
	json_error_t error;
	json_t *users = json_load_file(path, 0, &error);
	struct auth *auth;

	if (users == NULL)
		return error_set(reterr, ERROR_CONFIG, "Cannot read %s (line %d): %s", path,
				 error.line > 0 ? error.line : 0, error.text);
	if (!json_is_array(users)) {
		json_decref(users);
		return error_set(reterr, ERROR_CONFIG,
				 "%s must be a JSON array of objects with Username and Password", path);
	}
	auth = calloc(1, sizeof(*auth));
	if (auth == NULL)
		abort();
	auth->users = users;
	*ret = auth;
	return 0;
}

struct auth *auth_free(struct auth *auth)
{
	if (auth == NULL)
		return NULL;
	json_decref(auth->users);
	free(auth);
	return NULL;
}

int auth_check(struct auth *auth, const char *username, const char *password, const char **ret_text)
{
	const json_t *user;
	size_t i;

	if (username == NULL || password == NULL) {
		*ret_text = "username and password must be provided";
		return 16;
	}
	json_array_foreach(auth->users, i,
			   user) if (strcmp(user_field(user, "Username"), username) == 0 &&
				     strcmp(user_field(user, "Password"), password) == 0) return 0;
	snprintf(auth->text, sizeof(auth->text), "auth failure: caller \"%s\" provided invalid credentials",
		 username);
	*ret_text = auth->text;
	return 7;
}
