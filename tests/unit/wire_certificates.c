#include "wire_certificates.h"

#include <assert.h>
#include <openssl/bio.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/x509.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void extension_add(X509 *x509, int nid, const char *value)
{
	X509V3_CTX context;
	X509_EXTENSION *extension;

	X509V3_set_ctx_nodb(&context);
	X509V3_set_ctx(&context, x509, x509, NULL, NULL, 0);
	extension = X509V3_EXT_conf_nid(NULL, &context, nid, value);
	assert(extension);
	X509_add_ext(x509, extension, -1);
	X509_EXTENSION_free(extension);
}

static char *bio_text(BIO *bio)
{
	char *bytes;
	long length = BIO_get_mem_data(bio, &bytes);
	char *text = calloc(1, (size_t)length + 1);

	assert(text);
	memcpy(text, bytes, (size_t)length);
	BIO_free(bio);
	return text;
}

void certificate_make(struct certificate *ret, const struct certificate *issuer, const char *name,
		      int64_t from_s, int64_t to_s)
{
	static long serial = 1;
	EVP_PKEY *key = EVP_EC_gen("P-256");
	X509 *x509 = X509_new();
	X509_NAME *subject = X509_get_subject_name(x509);
	BIO *cert_bio = BIO_new(BIO_s_mem()), *key_bio = BIO_new(BIO_s_mem());
	char names[256];

	X509_set_version(x509, 2);
	ASN1_INTEGER_set(X509_get_serialNumber(x509), serial++);
	ASN1_TIME_set(X509_getm_notBefore(x509), (time_t)from_s);
	ASN1_TIME_set(X509_getm_notAfter(x509), (time_t)to_s);
	X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_ASC, (const unsigned char *)name, -1, -1, 0);
	X509_set_issuer_name(x509, issuer ? X509_get_subject_name(issuer->x509) : subject);
	X509_set_pubkey(x509, key);
	snprintf(names, sizeof(names), "DNS:%s", name);
	extension_add(x509, NID_subject_alt_name, names);
	if (!issuer)
		extension_add(x509, NID_basic_constraints, "critical,CA:TRUE");
	X509_sign(x509, issuer ? issuer->pkey : key, EVP_sha256());
	PEM_write_bio_X509(cert_bio, x509);
	PEM_write_bio_PrivateKey(key_bio, key, NULL, NULL, 0, NULL, NULL);
	*ret = (struct certificate){bio_text(cert_bio), bio_text(key_bio), x509, key};
}

void certificate_release(struct certificate *certificate)
{
	free(certificate->cert);
	free(certificate->key);
	X509_free(certificate->x509);
	EVP_PKEY_free(certificate->pkey);
	*certificate = (struct certificate){0};
}
