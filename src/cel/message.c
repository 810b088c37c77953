/* message.c - messages of protobuf: their fields, and the values that they stand for. */
#include "cel/message.h"

#include "base/b64.h"

/* Of values that share parts as many copies are made as there are places. */
enum { STEPS_PER_PART = 8 };

#define JSON_INT_MAX ((INT64_C(1) << 53) - 1) /* larger whole numbers become text */

enum part {
    PART_INT64,
    PART_INT32,
    PART_UINT64,
    PART_UINT32,
    PART_UINT8,
    PART_BOOL,
    PART_DOUBLE,
    PART_FLOAT,
    PART_STRING,
    PART_BYTES,
    PART_ENUM,
    PART_VALUE, /* whatever JSON can say */
    PART_LIST,
    PART_STRUCT,
    PART_VALUES,  /* repeated */
    PART_MEMBERS, /* a map */
};
static const char *const go_type[] = {
    [PART_INT64] = "int64",
    [PART_INT32] = "int32",
    [PART_UINT64] = "uint64",
    [PART_UINT32] = "uint32",
    [PART_UINT8] = "uint8",
    [PART_BOOL] = "bool",
    [PART_DOUBLE] = "float64",
    [PART_FLOAT] = "float32",
    [PART_STRING] = "string",
    [PART_BYTES] = "[]uint8",
    [PART_ENUM] = "protoreflect.EnumNumber",
    [PART_VALUE] = "*structpb.Value",
    [PART_LIST] = "*structpb.ListValue",
    [PART_STRUCT] = "*structpb.Struct",
};

static const struct cel_type members = { .kind = CT_MAP,
                                         .name = "map",
                                         .key = &cel_string,
                                         .elem = &cel_dyn,
                                         .size_max = CEL_SIZE_UNKNOWN };

#define TIME_FIELDS                          \
    {                                        \
        { "seconds", PART_INT64, &cel_int }, \
        {                                    \
            "nanos", PART_INT32, &cel_int    \
        }                                    \
    }
#define WRAPPER(name_, part_, type_)                                                    \
    {                                                                                   \
        .name = "google.protobuf." name_, .type = (type_), .wrapper = true, .fields = { \
            { "value", (part_), (type_) }                                               \
        }                                                                               \
    }
static const struct cel_message messages[] = {
    { "google.protobuf.Timestamp", &cel_timestamp, false, TIME_FIELDS },
    { "google.protobuf.Duration", &cel_duration, false, TIME_FIELDS },
    WRAPPER("Int32Value", PART_INT32, &cel_int),
    WRAPPER("Int64Value", PART_INT64, &cel_int),
    WRAPPER("UInt32Value", PART_UINT32, &cel_uint),
    WRAPPER("UInt64Value", PART_UINT64, &cel_uint),
    WRAPPER("BoolValue", PART_BOOL, &cel_bool),
    WRAPPER("DoubleValue", PART_DOUBLE, &cel_double),
    WRAPPER("FloatValue", PART_FLOAT, &cel_double),
    WRAPPER("StringValue", PART_STRING, &cel_string),
    WRAPPER("BytesValue", PART_BYTES, &cel_bytes),
    { "google.protobuf.ListValue",
      &cel_list_dyn,
      false,
      { { "values", PART_VALUES, &cel_list_dyn } } },
    { "google.protobuf.Struct", &members, false, { { "fields", PART_MEMBERS, &members } } },
    { "google.protobuf.Value",
      &cel_dyn,
      false,
      { { "null_value", PART_ENUM, &cel_int },
        { "number_value", PART_DOUBLE, &cel_double },
        { "string_value", PART_STRING, &cel_string },
        { "bool_value", PART_BOOL, &cel_bool },
        { "struct_value", PART_STRUCT, &members },
        { "list_value", PART_LIST, &cel_list_dyn } } },
};

const struct cel_message *cel_message_find(struct str name)
{
    for (size_t i = 0; i < ARRAY_LEN(messages); i++) {
        if (str_eqz(name, messages[i].name))
            return &messages[i];
    }
    return NULL;
}

int cel_message_field(const struct cel_message *m, struct str name)
{
    for (int i = 0; m->fields[i].name; i++) {
        if (str_eqz(name, m->fields[i].name))
            return i;
    }
    return -1;
}

/* ---- conversions --------------------------------------------------------------------------------- */

struct maker {
    struct cel_run *r;
};

/* Lists and maps of a document. */
static bool is_of_schema(struct cel_val v)
{
    const struct cel_type *t = v.kind == CK_LIST  ? v.list->type
                               : v.kind == CK_MAP ? v.map->type
                                                  : NULL;
    return t && t->of_schema;
}

static struct cel_val cannot(struct cel_run *r, struct cel_val v, enum part to)
{
    static const char *const from[] = {
        [CK_INT] = "unsupported type conversion from 'int' to %s",
        [CK_UINT] = "unsupported type conversion from 'uint' to %s",
        [CK_DOUBLE] = "type conversion error from Double to '%s'",
        [CK_BOOL] = "type conversion error from bool to '%s'",
        [CK_STRING] = "unsupported native conversion from string to '%s'",
        [CK_BYTES] = "type conversion error from Bytes to '%s'",
        [CK_NULL] = "type conversion error from 'null_type' to '%s'",
        [CK_TIMESTAMP] = "type conversion error from 'Timestamp' to '%s'",
        [CK_DURATION] = "type conversion error from 'Duration' to '%s'",
        [CK_QUANTITY] = "type conversion error from 'Quantity' to '%s'",
        [CK_SEMVER] = "type conversion error from 'Semver' to '%s'",
        [CK_IP] = "type conversion error from 'IP' to '%s'",
        [CK_CIDR] = "type conversion error from 'CIDR' to '%s'",
        [CK_URL] = "type conversion error from 'URL' to '%s'",
        [CK_FORMAT] = "type conversion error from 'Format' to '%s'",
        [CK_LIST] = "type conversion error from list to '%s'",
        [CK_MAP] = "type conversion error from map to '%s'",
    };
    const char *text = v.kind < ARRAY_LEN(from) ? from[v.kind] : NULL;

    if (is_of_schema(v))
        text = v.kind == CK_LIST ? "type conversion error from 'list(dyn)' to '%s'"
                                 : "type conversion error from 'map(dyn, dyn)' to '%s'";

    if (!text)
        return cel_v_error(r->a, "type conversion not supported for '%s'", cel_type_name(v));
    const char *hole = strstr(text, "%s");
    return cel_v_error(r->a, "%.*s%s%s", (int)(hole - text), text, go_type[to], hole + 2);
}

static struct cel_val convert(struct maker *m, struct cel_val v, enum part to);

static struct cel_val to_int(struct cel_run *r, struct cel_val v, enum part to)
{
    if (v.kind != CK_INT)
        return cannot(r, v, to);
    return to == PART_INT64 || (v.i >= INT32_MIN && v.i <= INT32_MAX)
               ? v
               : cel_v_error(r->a, "integer overflow");
}

static struct cel_val to_uint(struct cel_run *r, struct cel_val v, enum part to)
{
    uint64_t most = to == PART_UINT64 ? UINT64_MAX : to == PART_UINT32 ? UINT32_MAX : UINT8_MAX;

    if (v.kind != CK_UINT)
        return cannot(r, v, to);
    return v.u <= most ? v : cel_v_error(r->a, "unsigned integer overflow");
}

static struct cel_val to_double(struct cel_run *r, struct cel_val v, enum part to)
{
    if (v.kind != CK_DOUBLE)
        return cannot(r, v, to);
    return to == PART_DOUBLE ? v : cel_v_double((double)(float)v.d);
}

/* Kubernetes' own types have a text. */
static struct cel_val to_string(struct cel_run *r, struct cel_val v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    switch (v.kind) {
    case CK_STRING: return v;
    case CK_QUANTITY:
    case CK_SEMVER:
    case CK_IP:
    case CK_CIDR:
    case CK_URL: return cel_to_string(r, v, &b) ? cel_v_take(r->a, &b) : cannot(r, v, PART_STRING);
    default: return cannot(r, v, PART_STRING);
    }
}

static struct cel_val to_bytes(struct maker *m, struct cel_val v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (v.kind == CK_BYTES)
        return v;
    if (v.kind != CK_LIST)
        return cannot(m->r, v, PART_BYTES);
    const struct cel_val *items = cel_list_items(m->r->a, v.list);
    for (uint32_t i = 0; i < v.list->n; i++) {
        struct cel_val one = convert(m, items[i], PART_UINT8);
        if (cel_is_err(one))
            return one;
        strbuf_appendc(&b, (char)one.u);
    }
    v = cel_v_take(m->r->a, &b);
    v.kind = CK_BYTES;
    return v;
}

static struct cel_val to_list(struct maker *m, struct cel_val v)
{
    const struct cel_val *from = cel_list_items(m->r->a, v.list);
    struct cel_val *items = arena_alloc(m->r->a, MAX(v.list->n, 1U) * sizeof *items, 16);

    for (uint32_t i = 0; i < v.list->n; i++) {
        items[i] = convert(m, from[i], PART_VALUE);
        if (cel_is_err(items[i]))
            return items[i];
    }
    return cel_v_list(m->r->a, items, v.list->n);
}

static struct cel_val to_members(struct maker *m, struct cel_val v)
{
    const struct cel_entry *from = cel_map_sorted(m->r->a, v.map);
    struct cel_entry *e = arena_alloc(m->r->a, MAX(v.map->n, 1U) * sizeof *e, 16);

    for (uint32_t i = 0; i < v.map->n; i++) {
        e[i].key = convert(m, from[i].key, PART_STRING);
        if (cel_is_err(e[i].key))
            return e[i].key;
        e[i].val = convert(m, from[i].val, PART_VALUE);
        if (cel_is_err(e[i].val))
            return e[i].val;
    }
    return cel_v_map(m->r->a, e, v.map->n);
}

/* As in JSON: numbers are doubles, times and bytes are text. */
static struct cel_val to_value(struct maker *m, struct cel_val v)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    switch (v.kind) {
    case CK_NULL:
    case CK_BOOL:
    case CK_DOUBLE:
    case CK_STRING: return v;
    case CK_INT:
        if (v.i >= -JSON_INT_MAX && v.i <= JSON_INT_MAX)
            return cel_v_double((double)v.i);
        break;
    case CK_UINT:
        if (v.u <= JSON_INT_MAX)
            return cel_v_double((double)v.u);
        break;
    case CK_BYTES: b64_encode(v.s, v.n, &b); return cel_v_take(m->r->a, &b);
    case CK_TIMESTAMP:
    case CK_DURATION: break;
    case CK_LIST: /* upstream has no conversion for those of documents */
        return is_of_schema(v) ? cannot(m->r, v, PART_VALUE) : to_list(m, v);
    case CK_MAP: return is_of_schema(v) ? cannot(m->r, v, PART_VALUE) : to_members(m, v);
    default: return cannot(m->r, v, PART_VALUE);
    }
    (void)cel_to_string(m->r, v, &b);
    return cel_v_take(m->r->a, &b);
}

static struct cel_val convert_one(struct maker *m, struct cel_val v, enum part to)
{
    struct cel_run *r = m->r;

    if (cel_is_err(v)) /* an element that does not fit its schema */
        return v;
    if (v.kind == CK_OPTIONAL)
        return v.opt ? convert(m, *v.opt, to) : cel_v_error(r->a, "optional.none() dereference");
    switch (to) {
    case PART_INT64:
    case PART_INT32:
    case PART_ENUM: return to_int(r, v, to);
    case PART_UINT64:
    case PART_UINT32:
    case PART_UINT8: return to_uint(r, v, to);
    case PART_DOUBLE:
    case PART_FLOAT: return to_double(r, v, to);
    case PART_BOOL: return v.kind == CK_BOOL ? v : cannot(r, v, to);
    case PART_STRING: return to_string(r, v);
    case PART_BYTES: return to_bytes(m, v);
    case PART_VALUE: return to_value(m, v);
    case PART_LIST:
    case PART_STRUCT:
        return v.kind == (to == PART_LIST ? CK_LIST : CK_MAP) ? to_value(m, v) : cannot(r, v, to);
    case PART_VALUES: return v.kind == CK_LIST ? to_list(m, v) : cannot(r, v, to);
    case PART_MEMBERS: return v.kind == CK_MAP ? to_members(m, v) : cannot(r, v, to);
    }
    return cannot(r, v, to);
}

static struct cel_val convert(struct maker *m, struct cel_val v, enum part to)
{
    if (!cel_work(m->r, STEPS_PER_PART) || !cel_enter(m->r, 0))
        return cel_v_error(m->r->a, "too many parts");
    v = convert_one(m, v, to);
    cel_leave(m->r);
    return v;
}

/* ---- values -------------------------------------------------------------------------------------- */

static struct cel_val field_value(struct maker *m, const struct cel_message *of,
                                  const struct cel_message_field *f, struct cel_val v)
{
    struct arena *a = m->r->a;

    if ((f->part == PART_VALUES && v.kind != CK_LIST) ||
        (f->part == PART_MEMBERS && v.kind != CK_MAP))
        return cel_v_error(a, "unsupported field type for %s.%s: %s", of->name, f->name,
                           v.kind == CK_LIST  ? "list(dyn)"
                           : v.kind == CK_MAP ? "map(dyn, dyn)"
                                              : cel_type_name(v));
    v = convert(m, v, (enum part)f->part);
    if (!cel_is_err(v))
        return v;
    return cel_v_error(a, "field type conversion error for %s.%s value type: %.*s", of->name,
                       f->name, (int)v.n, v.s);
}

static struct cel_val zero_of(struct arena *a, const struct cel_type *t)
{
    switch ((enum cel_type_kind)t->kind) {
    case CT_INT: return cel_v_int(0);
    case CT_UINT: return cel_v_uint(0);
    case CT_DOUBLE: return cel_v_double(0);
    case CT_BOOL: return cel_v_bool(false);
    case CT_STRING: return cel_v_str("", 0);
    case CT_BYTES: return (struct cel_val){ .kind = CK_BYTES, .s = "" };
    case CT_LIST: return cel_v_list(a, NULL, 0);
    case CT_MAP: return cel_v_map(a, NULL, 0);
    default: return cel_v_null();
    }
}

/* More than a second of nanoseconds goes to the seconds, less than none takes one of them. */
static struct cel_val timestamp(struct arena *a, int64_t seconds, int64_t nanos)
{
    int64_t carry = nanos / NSEC_PER_SEC - (nanos % NSEC_PER_SEC < 0);

    if (__builtin_add_overflow(seconds, carry, &seconds) || seconds < CEL_TIME_MIN ||
        seconds > CEL_TIME_MAX)
        return cel_v_error(a, "timestamp overflow");
    return (struct cel_val){ .kind = CK_TIMESTAMP,
                             .i = seconds,
                             .n = (uint32_t)(nanos - carry * NSEC_PER_SEC) };
}

/* The nearest there is, where the seconds alone or both together are too many. */
static struct cel_val duration(int64_t seconds, int64_t nanos)
{
    struct cel_val v = { .kind = CK_DURATION };

    if (__builtin_mul_overflow(seconds, NSEC_PER_SEC, &v.i) ||
        __builtin_add_overflow(v.i, nanos, &v.i))
        v.i = seconds < 0 ? INT64_MIN : INT64_MAX;
    return v;
}

struct cel_val cel_message_make(struct cel_run *r, const struct cel_message *m,
                                const struct cel_val *fields)
{
    struct maker maker = { .r = r };
    struct cel_val v[CEL_MESSAGE_FIELDS_MAX], one = { .kind = CK_ABSENT };

    for (int i = 0; m->fields[i].name; i++) {
        v[i] = zero_of(r->a, m->fields[i].type);
        if (fields[i].kind == CK_ABSENT)
            continue;
        v[i] = field_value(&maker, m, &m->fields[i], fields[i]);
        if (cel_is_err(v[i]))
            return v[i];
        one = m->fields[i].part == PART_ENUM ? cel_v_null() : v[i]; /* the last of several */
    }
    if (m->type->kind == CT_TIMESTAMP)
        return timestamp(r->a, v[0].i, v[1].i);
    if (m->type->kind == CT_DURATION)
        return duration(v[0].i, v[1].i);
    return one.kind == CK_ABSENT ? zero_of(r->a, m->type) : one;
}
