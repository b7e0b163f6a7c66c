#include "vtddl/error.h"

static int printf_like(4, 0)
	error_setv(struct error *err, enum error_code code, int detail, const char *format, va_list args)
{
	if (!err)
		return -1;
	err->code = code;
	err->detail = detail;
	/* A sentence that is too long is cut: half of it is better than none. */
	vsnprintf(err->text, sizeof(err->text), format, args);
	return -1;
}

int error_set(struct error *err, enum error_code code, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_setv(err, code, 0, format, args);
	va_end(args);
	return -1;
}

int error_set_detail(struct error *err, enum error_code code, int detail, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	error_setv(err, code, detail, format, args);
	va_end(args);
	return -1;
}

int error_prefix(struct error *err, const char *format, ...)
{
	char text[ERROR_TEXT_MAX];
	size_t length;
	va_list args;

	if (!err)
		return -1;
	memcpy(text, err->text, sizeof(text));
	va_start(args, format);
	vsnprintf(err->text, sizeof(err->text), format, args);
	va_end(args);
	length = strlen(err->text);
	snprintf(err->text + length, sizeof(err->text) - length, "%s", text);
	return -1;
}

static const int exit_codes[_ERROR_MAX] = {
	[ERROR_NONE] = 0,    [ERROR_USAGE] = 64,   [ERROR_INPUT] = 65, [ERROR_UNAVAILABLE] = 69,
	[ERROR_BUG] = 70,    [ERROR_CONFIG] = 78,  [ERROR_AUTH] = 77,  [ERROR_STORE] = 74,
	[ERROR_BLOCKED] = 3, [ERROR_PROTOCOL] = 7, [ERROR_WAITING] = 5,
};

int error_exit_code(enum error_code code)
{
	if (code == ERROR_NONE)
		return 0;
	/* A code that the table lacks must never look like success. */
	return code > 0 && code < _ERROR_MAX && exit_codes[code] ? exit_codes[code] : exit_codes[ERROR_BUG];
}
