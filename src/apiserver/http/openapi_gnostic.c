/* openapi_gnostic.c - a document of OpenAPI v2 in protobuf: the messages of gnostic's
 * OpenAPIv2.proto, which client-go asks for. Tables of its fields; what they do not name is no part
 * of the document, but for extensions (x-...). */
#include "apiserver/http/openapi_int.h"
#include "base/wire.h"

enum g_kind {
    G_STR,
    G_BOOL,
    G_I64,
    G_F64,
    G_STRS,
    G_ANY,
    G_ANYS,
    G_MSG,
    G_MAP,       /* an object: a message with a list of named values */
    G_TYPE,      /* a string in a message of its own */
    G_EITHER,    /* a schema, or true or false */
    G_PARAMETERS /* a list of parameters or references to them */
};
struct g_message;
struct g_field {
    const char *key;
    uint8_t num, kind;
    uint8_t inner; /* G_MAP: the number of the list in its message */
    uint8_t wrap;  /* the value is in a message of its own, with this number; 0: it is not */
    const struct g_message *of;
};
struct g_message {
    const struct g_field *fields; /* ends with key NULL */
    uint8_t extension;            /* number of the list of extensions; 0: none */
};

static const struct g_message schema;

static const struct g_field schema_fields[] = {
    { "$ref", 1, G_STR, 0, 0, NULL },
    { "format", 2, G_STR, 0, 0, NULL },
    { "title", 3, G_STR, 0, 0, NULL },
    { "description", 4, G_STR, 0, 0, NULL },
    { "default", 5, G_ANY, 0, 0, NULL },
    { "multipleOf", 6, G_F64, 0, 0, NULL },
    { "maximum", 7, G_F64, 0, 0, NULL },
    { "exclusiveMaximum", 8, G_BOOL, 0, 0, NULL },
    { "minimum", 9, G_F64, 0, 0, NULL },
    { "exclusiveMinimum", 10, G_BOOL, 0, 0, NULL },
    { "maxLength", 11, G_I64, 0, 0, NULL },
    { "minLength", 12, G_I64, 0, 0, NULL },
    { "pattern", 13, G_STR, 0, 0, NULL },
    { "maxItems", 14, G_I64, 0, 0, NULL },
    { "minItems", 15, G_I64, 0, 0, NULL },
    { "uniqueItems", 16, G_BOOL, 0, 0, NULL },
    { "maxProperties", 17, G_I64, 0, 0, NULL },
    { "minProperties", 18, G_I64, 0, 0, NULL },
    { "required", 19, G_STRS, 0, 0, NULL },
    { "enum", 20, G_ANYS, 0, 0, NULL },
    { "additionalProperties", 21, G_EITHER, 0, 0, &schema },
    { "type", 22, G_TYPE, 0, 0, NULL },
    { "items", 23, G_MSG, 0, 1, &schema },
    { "properties", 25, G_MAP, 1, 0, &schema },
    { "example", 30, G_ANY, 0, 0, NULL },
    { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message schema = { schema_fields, 31 };

static const struct g_field body_fields[] = {
    { "description", 1, G_STR, 0, 0, NULL }, { "name", 2, G_STR, 0, 0, NULL },
    { "in", 3, G_STR, 0, 0, NULL },          { "required", 4, G_BOOL, 0, 0, NULL },
    { "schema", 5, G_MSG, 0, 0, &schema },   { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message parameter_body = { body_fields, 6 };

static const struct g_field query_fields[] = {
    { "required", 1, G_BOOL, 0, 0, NULL },     { "in", 2, G_STR, 0, 0, NULL },
    { "description", 3, G_STR, 0, 0, NULL },   { "name", 4, G_STR, 0, 0, NULL },
    { "type", 6, G_STR, 0, 0, NULL },          { "format", 7, G_STR, 0, 0, NULL },
    { "uniqueItems", 20, G_BOOL, 0, 0, NULL }, { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message parameter_query = { query_fields, 23 };

static const struct g_field path_fields[] = {
    { "required", 1, G_BOOL, 0, 0, NULL },     { "in", 2, G_STR, 0, 0, NULL },
    { "description", 3, G_STR, 0, 0, NULL },   { "name", 4, G_STR, 0, 0, NULL },
    { "type", 5, G_STR, 0, 0, NULL },          { "format", 6, G_STR, 0, 0, NULL },
    { "uniqueItems", 19, G_BOOL, 0, 0, NULL }, { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message parameter_path = { path_fields, 22 };

static const struct g_field response_fields[] = {
    { "description", 1, G_STR, 0, 0, NULL },
    { "schema", 2, G_MSG, 0, 1, &schema },
    { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message response = { response_fields, 5 };

static const struct g_field operation_fields[] = {
    { "tags", 1, G_STRS, 0, 0, NULL },
    { "description", 3, G_STR, 0, 0, NULL },
    { "operationId", 5, G_STR, 0, 0, NULL },
    { "produces", 6, G_STRS, 0, 0, NULL },
    { "consumes", 7, G_STRS, 0, 0, NULL },
    { "parameters", 8, G_PARAMETERS, 0, 0, NULL },
    { "responses", 9, G_MAP, 1, 1, &response },
    { "schemes", 10, G_STRS, 0, 0, NULL },
    { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message operation = { operation_fields, 13 };

static const struct g_field path_item_fields[] = {
    { "get", 2, G_MSG, 0, 0, &operation },
    { "put", 3, G_MSG, 0, 0, &operation },
    { "post", 4, G_MSG, 0, 0, &operation },
    { "delete", 5, G_MSG, 0, 0, &operation },
    { "patch", 8, G_MSG, 0, 0, &operation },
    { "parameters", 9, G_PARAMETERS, 0, 0, NULL },
    { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message path_item = { path_item_fields, 10 };

static const struct g_field info_fields[] = {
    { "title", 1, G_STR, 0, 0, NULL },
    { "version", 2, G_STR, 0, 0, NULL },
    { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message info = { info_fields, 7 };

static const struct g_field api_key_fields[] = {
    { "type", 1, G_STR, 0, 0, NULL }, { "name", 2, G_STR, 0, 0, NULL },
    { "in", 3, G_STR, 0, 0, NULL },   { "description", 4, G_STR, 0, 0, NULL },
    { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message api_key = { api_key_fields, 5 };

/* Security requirements: a list of maps, of lists that are empty here. */
static const struct g_message nothing = { path_item_fields + ARRAY_LEN(path_item_fields) - 1, 0 };
static const struct g_field document_fields[] = {
    { "swagger", 1, G_STR, 0, 0, NULL },
    { "info", 2, G_MSG, 0, 0, &info },
    { "paths", 8, G_MAP, 2, 0, &path_item },
    { "definitions", 9, G_MAP, 1, 0, &schema },
    { "securityDefinitions", 13, G_MAP, 1, 2, &api_key },
    { NULL, 0, 0, 0, 0, NULL },
};
static const struct g_message document = { document_fields, 16 };

/* ---- writing --------------------------------------------------------------------------------- */

static void put_message(struct strbuf *out, const struct g_message *m, const struct kj_val *v);

static struct str text_of(const struct kj_val *v)
{
    return (struct str){ kj_str_or(v, ""), kj_str(v) ? kj_len(v) : 0 };
}

static void put_f64(struct strbuf *out, uint32_t num, double d)
{
    uint64_t bits;

    memcpy(&bits, &d, sizeof bits);
    strbuf_appendc(out, (char)(num << 3 | 1)); /* all numbers of such fields are below 16 */
    for (int i = 0; i < 8; i++)
        strbuf_appendc(out, (char)(bits >> (8 * i) & 0xff));
}

/* Any value, as YAML: JSON is that, too. */
static void put_any(struct strbuf *out, uint32_t num, const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    size_t start = out->len;

    kj_write(v, 0, &text);
    strbuf_appendc(&text, '\n');
    wire_put_bytes(out, 2, (struct str){ text.data, text.len });
    wire_wrap(out, num, start);
}

static void put_wrapped(struct strbuf *out, uint32_t num, uint8_t wrap, const struct g_message *m,
                        const struct kj_val *v)
{
    size_t start = out->len;

    put_message(out, m, v);
    if (wrap)
        wire_wrap(out, wrap, start);
    wire_wrap(out, num, start);
}

static void put_map(struct strbuf *out, const struct g_field *f, const struct kj_val *map)
{
    struct kj_iter it = kj_iter(map);
    size_t start = out->len;
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        size_t entry = out->len;
        wire_put_bytes(out, 1, key);
        put_wrapped(out, 2, f->wrap, f->of, v);
        wire_wrap(out, f->inner, entry);
    }
    wire_wrap(out, f->num, start);
}

/* What a Parameter holds: one of a body, or of a query or path. */
static void put_parameter(struct strbuf *out, const struct kj_val *v)
{
    const char *in = kj_str_or(kj_get(v, "in"), "");
    size_t start = out->len;

    if (streq(in, "body")) {
        put_message(out, &parameter_body, v);
        wire_wrap(out, 1, start);
        return;
    }
    bool path = streq(in, "path");
    put_message(out, path ? &parameter_path : &parameter_query, v);
    wire_wrap(out, path ? 4 : 3, start);
    wire_wrap(out, 2, start);
}

static void put_parameters(struct strbuf *out, uint32_t num, const struct kj_val *list)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *v = kj_at(list, i), *ref = kj_get(v, "$ref");
        size_t start = out->len;
        if (ref)
            wire_put_bytes(out, 1, text_of(ref));
        else
            put_parameter(out, v);
        wire_wrap(out, ref ? 2 : 1, start);
        wire_wrap(out, num, start);
    }
}

static void put_either(struct strbuf *out, const struct g_field *f, const struct kj_val *v)
{
    size_t start = out->len;

    if (kj_type(v) == KJ_BOOL)
        wire_put_varint(out, 2, kj_bool(v, false));
    else
        put_wrapped(out, 1, 0, f->of, v);
    wire_wrap(out, f->num, start);
}

static void put_field(struct strbuf *out, const struct g_field *f, const struct kj_val *v)
{
    size_t start = out->len;
    double number;

    switch ((enum g_kind)f->kind) {
    case G_STR: wire_put_bytes(out, f->num, text_of(v)); break;
    case G_BOOL: wire_put_varint(out, f->num, kj_bool(v, false)); break;
    case G_I64: wire_put_varint(out, f->num, (uint64_t)kj_i64_or(v, 0)); break;
    case G_F64:
        if (kj_f64(v, &number) == 0)
            put_f64(out, f->num, number);
        break;
    case G_STRS:
        for (size_t i = 0; i < kj_len(v); i++)
            wire_put_bytes(out, f->num, text_of(kj_at(v, i)));
        break;
    case G_ANY: put_any(out, f->num, v); break;
    case G_ANYS:
        for (size_t i = 0; i < kj_len(v); i++)
            put_any(out, f->num, kj_at(v, i));
        break;
    case G_MSG: put_wrapped(out, f->num, f->wrap, f->of, v); break;
    case G_MAP: put_map(out, f, v); break;
    case G_TYPE:
        wire_put_bytes(out, 1, text_of(v));
        wire_wrap(out, f->num, start);
        break;
    case G_EITHER: put_either(out, f, v); break;
    case G_PARAMETERS: put_parameters(out, f->num, v); break;
    }
}

static void put_extension(struct strbuf *out, uint32_t num, struct str name, const struct kj_val *v)
{
    size_t start = out->len;

    wire_put_bytes(out, 1, name);
    put_any(out, 2, v);
    wire_wrap(out, num, start);
}

static void put_message(struct strbuf *out, const struct g_message *m, const struct kj_val *v)
{
    struct kj_iter it = kj_iter(v);
    const struct kj_val *member;
    struct str key;

    while (kj_next(&it, &key, &member)) {
        const struct g_field *f = m->fields;
        while (f->key && !str_eqz(key, f->key))
            f++;
        if (f->key)
            put_field(out, f, member);
        else if (m->extension && key.n > 2 && memcmp(key.p, "x-", 2) == 0)
            put_extension(out, m->extension, key, member);
    }
}

/* ---- the document ---------------------------------------------------------------------------- */

static void put_parameter_definitions(struct strbuf *out, const struct kj_val *map)
{
    enum { PARAMETERS = 10 };
    struct kj_iter it = kj_iter(map);
    size_t start = out->len;
    const struct kj_val *v;
    struct str key;

    while (kj_next(&it, &key, &v)) {
        size_t entry = out->len, value;
        wire_put_bytes(out, 1, key);
        value = out->len;
        put_parameter(out, v);
        wire_wrap(out, 2, value);
        wire_wrap(out, 1, entry);
    }
    wire_wrap(out, PARAMETERS, start);
}

static void put_security(struct strbuf *out, const struct kj_val *list)
{
    static const struct g_field requirement = { "security", 12, G_MAP, 1, 0, &nothing };

    for (size_t i = 0; i < kj_len(list); i++)
        put_map(out, &requirement, kj_at(list, i));
}

void openapi_gnostic(const struct kj_val *doc, struct strbuf *out)
{
    put_message(out, &document, doc);
    put_parameter_definitions(out, kj_get(doc, "parameters"));
    put_security(out, kj_get(doc, "security"));
}
