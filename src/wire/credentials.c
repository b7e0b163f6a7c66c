#include "credentials.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <malloc.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define FILE_MAX (1024 * 1024)

/* ---- Files ---- */

static void text_wipe(char **text)
{
	if (*text)
		explicit_bzero(*text, strlen(*text));
	free(*text);
	*text = NULL;
}

static int file_check(const char *flag, const char *path, int fd, bool is_secret, size_t *ret_size,
		      struct error *reterr)
{
	struct stat status;

	if (fstat(fd, &status) < 0)
		return error_set_detail(reterr, ERROR_CONFIG, errno, "%s: cannot look at %s: %s", flag, path,
					strerrordesc_np(errno));
	if (!S_ISREG(status.st_mode))
		return error_set(reterr, ERROR_CONFIG, "%s: %s is not a regular file", flag, path);
	if (status.st_size > FILE_MAX)
		return error_set(reterr, ERROR_CONFIG, "%s: %s has %jd bytes, more than %d are not read",
				 flag, path, (intmax_t)status.st_size, FILE_MAX);
	if (is_secret && status.st_mode & (S_IRWXG | S_IRWXO))
		return error_set(
		    reterr, ERROR_CONFIG,
		    "%s: %s holds a password and others than its owner have rights on it (mode %04o): "
		    "chmod 0600 %s",
		    flag, path, (unsigned)status.st_mode & 07777, path);
	*ret_size = (size_t)status.st_size;
	return 0;
}

/* O_NONBLOCK: a pipe in place of the file must not stop the program. */
static int file_read(const char *flag, const char *path, bool is_secret, char **ret, struct error *reterr)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	size_t size = 0, length = 0;
	ssize_t got = 1;
	char *text;
	int r;

	if (fd < 0)
		return error_set_detail(reterr, ERROR_CONFIG, errno, "%s: cannot open %s: %s", flag, path,
					strerrordesc_np(errno));
	r = file_check(flag, path, fd, is_secret, &size, reterr);
	if (r < 0) {
		close(fd);
		return r;
	}
	text = calloc(1, size + 1);
	if (!text)
		abort();
	while (length < size && got > 0) {
		got = read(fd, text + length, size - length);
		length += got > 0 ? (size_t)got : 0;
	}
	r = got < 0 ? errno : 0;
	close(fd);
	if (r || strlen(text) != length || !length) {
		explicit_bzero(text, size);
		free(text);
		return error_set_detail(reterr, ERROR_CONFIG, r, "%s: cannot use %s: %s", flag, path,
					r	 ? strerrordesc_np(r)
					: length ? "it is not text"
						 : "it is empty");
	}
	*ret = text;
	return 0;
}

/* ---- Certificates ---- */

static int64_t time_seconds(const ASN1_TIME *time)
{
	struct tm tm = {0};

	return ASN1_TIME_to_tm(time, &tm) == 1 ? (int64_t)timegm(&tm) : 0;
}

static int no_passphrase(char *text, int size, int writing, void *data)
{
	(void)text;
	(void)size;
	(void)writing;
	(void)data;
	return -1; /* OpenSSL would ask on the terminal */
}

/* Return: the first certificate of @pem, to be freed; NULL, there is none. */
static X509 *certificates_read(const char *pem, struct certificate_dates *ret)
{
	BIO *bio = BIO_new_mem_buf(pem, -1);
	X509 *first = NULL, *one;

	while (bio && (one = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL))) {
		int64_t before = time_seconds(X509_get0_notBefore(one));
		int64_t after = time_seconds(X509_get0_notAfter(one));

		if (!first || before < ret->not_before_s)
			ret->not_before_s = before;
		if (!first || after > ret->not_after_s)
			ret->not_after_s = after;
		if (first)
			X509_free(one);
		else
			first = one;
	}
	BIO_free(bio);
	ERR_clear_error();
	return first;
}

static int ca_load(const char *path, struct credentials *credentials, struct error *reterr)
{
	X509 *first;

	if (file_read("--vtctld-grpc-ca", path, false, &credentials->ca, reterr) < 0)
		return -1;
	first = certificates_read(credentials->ca, &credentials->ca_dates);
	if (!first)
		return error_set(reterr, ERROR_CONFIG, "--vtctld-grpc-ca: %s has no PEM certificate in it",
				 path);
	X509_free(first);
	return 0;
}

static int key_check(const struct wire_config *config, const struct credentials *credentials,
		     X509 *certificate, struct error *reterr)
{
	BIO *bio = BIO_new_mem_buf(credentials->key, -1);
	EVP_PKEY *key = bio ? PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, NULL) : NULL;
	bool matches = key && X509_check_private_key(certificate, key) == 1;
	bool is_readable = key;

	EVP_PKEY_free(key);
	BIO_free(bio);
	ERR_clear_error();
	if (!is_readable)
		return error_set(
		    reterr, ERROR_CONFIG,
		    "--vtctld-grpc-key: %s has no PEM private key in it, or one with a passphrase",
		    config->grpc_key);
	if (!matches)
		return error_set(reterr, ERROR_CONFIG,
				 "--vtctld-grpc-key: %s is not the key of the certificate %s",
				 config->grpc_key, config->grpc_cert);
	return 0;
}

static int cert_load(const struct wire_config *config, struct credentials *credentials, struct error *reterr)
{
	X509 *certificate;
	int r;

	if (file_read("--vtctld-grpc-cert", config->grpc_cert, false, &credentials->cert, reterr) < 0 ||
	    file_read("--vtctld-grpc-key", config->grpc_key, false, &credentials->key, reterr) < 0)
		return -1;
	certificate = certificates_read(credentials->cert, &credentials->cert_dates);
	if (!certificate)
		return error_set(reterr, ERROR_CONFIG, "--vtctld-grpc-cert: %s has no PEM certificate in it",
				 config->grpc_cert);
	r = key_check(config, credentials, certificate, reterr);
	X509_free(certificate);
	return r;
}

/* ---- Password ---- */

static void wiping_free(void *pointer)
{
	if (pointer)
		explicit_bzero(pointer, malloc_usable_size(pointer));
	free(pointer);
}

static char *member_copy(const json_t *object, const char *name)
{
	const char *value = json_string_value(json_object_get(object, name));
	char *copy = value ? strdup(value) : NULL;

	if (value && !copy)
		abort();
	return copy;
}

/* jansson copies what it parses; with this free none of the copies outlives the call. */
static void password_parse(const char *text, struct credentials *credentials)
{
	json_malloc_t old_malloc;
	json_free_t old_free;
	json_t *object;

	json_get_alloc_funcs(&old_malloc, &old_free);
	json_set_alloc_funcs(malloc, wiping_free);
	object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	credentials->username = member_copy(object, "Username");
	credentials->password = member_copy(object, "Password");
	json_decref(object);
	json_set_alloc_funcs(old_malloc, old_free);
}

/* What may stand in an HTTP/2 header: else the call would fail, or the value be changed on the way. */
static bool header_is_valid(const char *value)
{
	size_t length = value ? strlen(value) : 0;

	if (!length || value[0] == ' ' || value[length - 1] == ' ')
		return false;
	for (size_t i = 0; i < length; i++)
		if (value[i] < ' ' || value[i] > '~')
			return false;
	return true;
}

static int password_load(const char *path, struct credentials *credentials, struct error *reterr)
{
	static const char flag[] = "--grpc-auth-static-client-creds";
	char *text = NULL;

	if (file_read(flag, path, true, &text, reterr) < 0)
		return -1;
	password_parse(text, credentials);
	text_wipe(&text);
	if (!credentials->username || !credentials->password)
		return error_set(
		    reterr, ERROR_CONFIG,
		    "%s: %s must hold one JSON object {\"Username\": \"...\", \"Password\": \"...\"}", flag,
		    path);
	if (!header_is_valid(credentials->username) || !header_is_valid(credentials->password))
		return error_set(
		    reterr, ERROR_CONFIG,
		    "%s: Username and Password in %s must be printable ASCII, not empty, without a "
		    "space at either end: gRPC sends them as headers",
		    flag, path);
	return 0;
}

/* ---- All of it ---- */

bool credentials_use_tls(const struct wire_config *config)
{
	return (config->grpc_cert && config->grpc_key) || config->grpc_ca || config->grpc_crl;
}

static int config_check(const struct wire_config *config, bool is_loopback, struct error *reterr)
{
	if (config->grpc_crl)
		return error_set(
		    reterr, ERROR_CONFIG,
		    "--vtctld-grpc-crl cannot be honoured: this program's gRPC library has no use for a "
		    "file of revoked certificates, and it would not be safe to ignore it; leave it out, "
		    "and withdraw a server's trust by its CA file");
	if (!config->grpc_cert != !config->grpc_key)
		return error_set(
		    reterr, ERROR_CONFIG,
		    "--vtctld-grpc-cert and --vtctld-grpc-key go together: only one of them is set");
	if (config->auth_static_client_creds && !credentials_use_tls(config) && !is_loopback &&
	    !config->allow_plaintext_auth)
		return error_set(
		    reterr, ERROR_CONFIG,
		    "the password in %s would go over the network in plain text to %s: set "
		    "--vtctld-grpc-ca for TLS, or --allow-plaintext-auth if the network is trusted",
		    config->auth_static_client_creds, config->server);
	return 0;
}

int credentials_load(const struct wire_config *config, bool is_loopback, struct credentials *ret,
		     struct error *reterr)
{
	*ret = (struct credentials){0};
	if (config_check(config, is_loopback, reterr) < 0)
		return -1;
	if ((config->grpc_ca && ca_load(config->grpc_ca, ret, reterr) < 0) ||
	    (config->grpc_cert && cert_load(config, ret, reterr) < 0) ||
	    (config->auth_static_client_creds &&
	     password_load(config->auth_static_client_creds, ret, reterr) < 0)) {
		credentials_wipe(ret);
		return -1;
	}
	return 0;
}

void credentials_wipe(struct credentials *credentials)
{
	text_wipe(&credentials->ca);
	text_wipe(&credentials->cert);
	text_wipe(&credentials->key);
	text_wipe(&credentials->username);
	text_wipe(&credentials->password);
}
