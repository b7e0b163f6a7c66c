#include "scan.h"

#include <assert.h>
#include <limits.h>

#include "query.pb-c.h"
#include "tabletmanagerdata.pb-c.h"
#include "varint.h"

#define MIB (1024 * 1024)
#define NUMBER_COST 32 /* bytes for a member of a repeated field: pointer or number, and its decoded form */

/*
 * The widest honest answer is GetSchemaMigrations: 16 MiB hold some 33,000 rows of a running ALTER, which
 * take some 300 bytes each and their texts. tree_bytes is the bound that matters; the number of messages
 * and of rows only ends a hostile answer sooner.
 */
const struct scan_limits scan_limits_default = {
    .total_bytes = 16 * MIB,
    .text_bytes = 64 * 1024,
    .long_text_bytes = 1 * MIB,
    .messages = 256 * 1024,
    .rows = 64 * 1024,
    .depth = 8,
    .tree_bytes = 64 * MIB,
};

static const struct {
	const ProtobufCMessageDescriptor *type;
	uint32_t field;
} long_fields[] = {
    {&tabletmanagerdata__table_definition__descriptor, 2}, /* schema */
    {&query__row__descriptor, 2},			   /* values */
};

static const enum wire_type wire_types[] = {
    [PROTOBUF_C_TYPE_INT32] = WIRE_VARINT,   [PROTOBUF_C_TYPE_SINT32] = WIRE_VARINT,
    [PROTOBUF_C_TYPE_SFIXED32] = WIRE_32BIT, [PROTOBUF_C_TYPE_INT64] = WIRE_VARINT,
    [PROTOBUF_C_TYPE_SINT64] = WIRE_VARINT,  [PROTOBUF_C_TYPE_SFIXED64] = WIRE_64BIT,
    [PROTOBUF_C_TYPE_UINT32] = WIRE_VARINT,  [PROTOBUF_C_TYPE_FIXED32] = WIRE_32BIT,
    [PROTOBUF_C_TYPE_UINT64] = WIRE_VARINT,  [PROTOBUF_C_TYPE_FIXED64] = WIRE_64BIT,
    [PROTOBUF_C_TYPE_FLOAT] = WIRE_32BIT,    [PROTOBUF_C_TYPE_DOUBLE] = WIRE_64BIT,
    [PROTOBUF_C_TYPE_BOOL] = WIRE_VARINT,    [PROTOBUF_C_TYPE_ENUM] = WIRE_VARINT,
    [PROTOBUF_C_TYPE_STRING] = WIRE_LENGTH,  [PROTOBUF_C_TYPE_BYTES] = WIRE_LENGTH,
    [PROTOBUF_C_TYPE_MESSAGE] = WIRE_LENGTH,
};

struct scan {
	const uint8_t *start;
	const struct scan_limits *limits;
	size_t messages;
	size_t tree_bytes;
	struct error *reterr;
};

/* Where the scan stands: one message, a window of the whole. */
struct window {
	const ProtobufCMessageDescriptor *type;
	const uint8_t *at, *end;
	size_t depth;
};

static int refuse(const struct scan *scan, const struct window *window, const ProtobufCFieldDescriptor *field,
		  const char *why)
{
	return error_set(scan->reterr, ERROR_PROTOCOL, "the answer is unreadable at byte %zu, in %s%s%s: %s",
			 (size_t)(window->at - scan->start), window->type->name, field ? "." : "",
			 field ? field->name : "", why);
}

/* How many bytes the UTF-8 letter at @text takes; 0: it is none. NUL counts as none. */
static size_t utf8_letter(const uint8_t *text, size_t length)
{
	static const struct {
		uint8_t first_min, first_max, second_min, second_max;
		size_t size;
	} forms[] = {
	    {0xc2, 0xdf, 0x80, 0xbf, 2}, {0xe0, 0xe0, 0xa0, 0xbf, 3}, {0xe1, 0xec, 0x80, 0xbf, 3},
	    {0xed, 0xed, 0x80, 0x9f, 3}, {0xee, 0xef, 0x80, 0xbf, 3}, {0xf0, 0xf0, 0x90, 0xbf, 4},
	    {0xf1, 0xf3, 0x80, 0xbf, 4}, {0xf4, 0xf4, 0x80, 0x8f, 4},
	};

	if (text[0] < 0x80)
		return text[0] != 0;
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		if (text[0] < forms[i].first_min || text[0] > forms[i].first_max)
			continue;
		if (length < forms[i].size || text[1] < forms[i].second_min || text[1] > forms[i].second_max)
			return 0;
		for (size_t k = 2; k < forms[i].size; k++)
			if (text[k] < 0x80 || text[k] > 0xbf)
				return 0;
		return forms[i].size;
	}
	return 0;
}

/* Return: 8, the next eight bytes are ASCII without a NUL; 0, one is not, or fewer are left. */
static size_t ascii_letters(const uint8_t *text, size_t length)
{
	uint64_t word;

	if (length < sizeof(word))
		return 0;
	memcpy(&word, text, sizeof(word));
	return ((word - UINT64_C(0x0101010101010101)) | word) & UINT64_C(0x8080808080808080) ? 0
											       : sizeof(word);
}

bool scan_text_is_clean(const uint8_t *text, size_t length)
{
	for (size_t i = 0, size; i < length; i += size) {
		size = ascii_letters(text + i, length - i);
		if (!size)
			size = utf8_letter(text + i, length - i);
		if (!size)
			return false;
	}
	return true;
}

/* Adds what the arena hands out for @bytes; it aligns each piece. */
static void tree_add(struct scan *scan, size_t bytes)
{
	scan->tree_bytes += (bytes + 15) / 16 * 16;
}

static bool field_is_long(const struct window *window, const ProtobufCFieldDescriptor *field)
{
	for (size_t i = 0; i < sizeof(long_fields) / sizeof(long_fields[0]); i++)
		if (long_fields[i].type == window->type && long_fields[i].field == field->id)
			return true;
	return false;
}

static int scan_text(struct scan *scan, struct window *window, const ProtobufCFieldDescriptor *field,
		     size_t length)
{
	size_t max = field_is_long(window, field) ? scan->limits->long_text_bytes : scan->limits->text_bytes;

	if (length > max)
		return refuse(scan, window, field, "longer than is allowed for this field");
	if (field->type == PROTOBUF_C_TYPE_STRING && !scan_text_is_clean(window->at, length))
		return refuse(scan, window, field, "not UTF-8, or a NUL inside");
	tree_add(scan, length + 1);
	return 0;
}

/* A repeated number, many in one field. Each is one of a row's lengths, and becomes a cell too. */
static int scan_packed(struct scan *scan, const struct window *window, const ProtobufCFieldDescriptor *field,
		       size_t length)
{
	struct window packed = {window->type, window->at, window->at + length, window->depth};
	enum wire_type wire_type = wire_types[field->type];
	size_t size = wire_type == WIRE_64BIT ? 8 : 4;
	size_t count = 0;

	if (wire_type == WIRE_VARINT) {
		for (uint64_t value; packed.at < packed.end; count++)
			if (!varint_read(&packed.at, packed.end, 10, &value))
				return refuse(scan, &packed, field,
					      "a number that does not end or has more than 64 bits");
	} else {
		if (length % size)
			return refuse(scan, window, field, "cut off inside a number");
		count = length / size;
	}
	tree_add(scan, count * NUMBER_COST);
	return 0;
}

static int scan_window(struct scan *scan, struct window window);

/* They call each other, to the depth that the limits allow. NOLINTBEGIN(misc-no-recursion) */

/* Looks into the @length bytes of a field of wire type 2; the caller steps over them. */
static int scan_content(struct scan *scan, struct window *window, const ProtobufCFieldDescriptor *field,
			size_t length)
{
	struct window inner = {.at = window->at, .end = window->at + length, .depth = window->depth + 1};

	if (!field) {
		tree_add(scan, length + 10); /* protobuf-c keeps the length in front */
		return 0;
	}
	switch (field->type) {
	case PROTOBUF_C_TYPE_STRING:
	case PROTOBUF_C_TYPE_BYTES:
		return scan_text(scan, window, field, length);
	case PROTOBUF_C_TYPE_MESSAGE:
		if (inner.depth > scan->limits->depth)
			return refuse(scan, window, field, "nested too deeply");
		if (++scan->messages > scan->limits->messages)
			return refuse(scan, window, field, "too many parts");
		inner.type = field->descriptor;
		return scan_window(scan, inner);
	default:
		return scan_packed(scan, window, field, length);
	}
}

static bool wire_type_matches(const ProtobufCFieldDescriptor *field, enum wire_type wire_type)
{
	if (!field)
		return wire_type == WIRE_VARINT || wire_type == WIRE_64BIT || wire_type == WIRE_LENGTH ||
		       wire_type == WIRE_32BIT;
	return wire_type == wire_types[field->type] ||
	       (wire_type == WIRE_LENGTH && field->label == PROTOBUF_C_LABEL_REPEATED);
}

static int scan_value(struct scan *scan, struct window *window, const ProtobufCFieldDescriptor *field,
		      enum wire_type wire_type)
{
	size_t left, size = 0;
	uint64_t value;
	int r = 0;

	if (wire_type == WIRE_VARINT) {
		if (!varint_read(&window->at, window->end, 10, &value))
			return refuse(scan, window, field,
				      "a number that does not end or has more than 64 bits");
		return 0;
	}
	if (wire_type == WIRE_LENGTH) { /* protobuf-c reads lengths of up to 5 bytes */
		if (!varint_read(&window->at, window->end, 5, &value) || value > INT_MAX)
			return refuse(scan, window, field, "a length that does not end or is too large");
		size = (size_t)value;
	} else {
		size = wire_type == WIRE_64BIT ? 8 : 4;
	}
	left = (size_t)(window->end - window->at);
	if (size > left)
		return refuse(scan, window, field, "cut off: the field is longer than what is left");
	if (wire_type == WIRE_LENGTH)
		r = scan_content(scan, window, field, size);
	window->at += size;
	return r;
}

static int scan_field(struct scan *scan, struct window *window, uint64_t *seen)
{
	const ProtobufCFieldDescriptor *field = NULL;
	const struct window tag_at = *window;
	enum wire_type wire_type;
	uint64_t tag, bit;

	if (!varint_read(&window->at, window->end, 5, &tag) || tag > UINT32_MAX || tag >> 3 == 0)
		return refuse(scan, &tag_at, NULL, "no field number");
	wire_type = (enum wire_type)(tag & 7);
	field = protobuf_c_message_descriptor_get_field(window->type, (unsigned)(tag >> 3));
	if (!wire_type_matches(field, wire_type))
		return refuse(scan, &tag_at, field, "a wire type that this field cannot have");
	if (!field) {
		tree_add(scan, sizeof(ProtobufCMessageUnknownField) + 16);
		return scan_value(scan, window, NULL, wire_type);
	}
	if (field->label == PROTOBUF_C_LABEL_REPEATED) {
		tree_add(scan, NUMBER_COST);
	} else if (field->type == PROTOBUF_C_TYPE_MESSAGE) {
		bit = UINT64_C(1) << (field - window->type->fields);
		if (*seen & bit) /* would be merged, at a cost that grows with the square */
			return refuse(scan, &tag_at, field, "there twice");
		*seen |= bit;
	}
	return scan_value(scan, window, field, wire_type);
}

/* protobuf-c notes every field of a message before it reads them: 16 on the stack, then
 * in pieces that double, which an arena does not take back. */
static void tree_add_notes(struct scan *scan, size_t fields)
{
	if (fields > 16)
		tree_add(scan, (2 * fields + 64) * 40);
}

static int scan_window(struct scan *scan, struct window window)
{
	uint64_t seen = 0;
	size_t fields = 0;

	assert(window.type->n_fields <= 64);
	tree_add(scan, window.type->sizeof_message);
	for (; window.at < window.end; fields++) {
		int r = scan_field(scan, &window, &seen);

		if (r < 0)
			return r;
		if (scan->tree_bytes > scan->limits->tree_bytes)
			return refuse(scan, &window, NULL, "would take more memory than is allowed");
	}
	tree_add_notes(scan, fields);
	if (scan->tree_bytes > scan->limits->tree_bytes)
		return refuse(scan, &window, NULL, "would take more memory than is allowed");
	return 0;
}

/* NOLINTEND(misc-no-recursion) */

int scan_message(const ProtobufCMessageDescriptor *type, const uint8_t *bytes, size_t length,
		 const struct scan_limits *limits, size_t *ret_tree_bytes, struct error *reterr)
{
	struct scan scan = {.start = bytes, .limits = limits, .reterr = reterr};
	struct window window = {.type = type, .at = bytes, .end = bytes + length, .depth = 1};
	int r;

	if (length > limits->total_bytes)
		return error_set(reterr, ERROR_PROTOCOL, "the answer %s has %zu bytes, %zu are allowed",
				 type->name, length, limits->total_bytes);
	r = scan_window(&scan, window);
	if (r < 0)
		return r;
	*ret_tree_bytes = scan.tree_bytes;
	return 0;
}
