/* structural.c - is a schema structural, and one that this server can serve?
 *
 * Words and order of kube-apiserver 1.35.
 */
#include <stdio.h>

#include "apiserver/crd/rules.h"

enum level { ROOT, PROPERTY, ITEMS, NESTED /* inside anyOf, oneOf, allOf, not */ };
enum { DEPTH_MAX = 100 };

struct judge {
    struct strbuf path;
    struct field_errors *errors;
    struct rules_define rules;
    const char *uncorrelatable; /* the list above whose items have no old values; NULL: none */
    uint64_t cardinality;       /* how many values of this node an object may have */
    bool unbounded;
    int depth;
};

static void judge_schema(struct judge *j, const struct kj_val *v, enum level level,
                         bool int_or_string);

static const char *under(struct judge *j, const char *key, char buf[512])
{
    (void)snprintf(buf, 512, "%s.%s", strbuf_str(&j->path), key);
    return buf;
}

static void say(struct judge *j, enum field_error_type type, const char *key, const char *value,
                const char *why)
{
    char path[512];
    field_error(j->errors, type, under(j, key, path), value, "%s", why);
}

static bool flag(const struct kj_val *v, const char *key)
{
    return kj_bool(kj_get(v, key), false);
}

/* A string that is quoted even when it looks like something else. */
static void say_text(struct judge *j, enum field_error_type type, const char *key,
                     const char *value, const char *why)
{
    CLEANUP(strbuf_fini) struct strbuf quoted = STRBUF_INIT;
    strbuf_append_quoted(&quoted, value, strlen(value));
    say(j, type, key, quoted.data, why);
}

/* ---- what no schema may have --------------------------------------------------------------------
 */

static void judge_unsupported(struct judge *j, const struct kj_val *v)
{
    static const char *const never[] = { "definitions", "dependencies",      "id",
                                         "$ref",        "patternProperties", "additionalItems" };
    char why[64];

    for (size_t i = 0; i < ARRAY_LEN(never); i++) {
        if (kj_type(kj_get(v, never[i])) <= KJ_NULL)
            continue;
        (void)snprintf(why, sizeof why, "%s is not supported", never[i]);
        say(j, FIELD_FORBIDDEN, never[i], NULL, why);
    }
    if (flag(v, "uniqueItems"))
        say(j, FIELD_FORBIDDEN, "uniqueItems", NULL,
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic");
    if (kj_type(kj_get(v, "items")) == KJ_ARR)
        say(j, FIELD_FORBIDDEN, "items", NULL, "items must be a schema object and not an array");
    const struct kj_val *additional = kj_get(v, "additionalProperties");
    if (kj_type(additional) > KJ_NULL && !kj_bool(additional, false) &&
        kj_len(kj_get(v, "properties")) > 0)
        say(j, FIELD_FORBIDDEN, "additionalProperties", NULL,
            "additionalProperties and properties are mutual exclusive");
}

static void judge_pattern(struct judge *j, const struct kj_val *v)
{
    const char *pattern = kj_str(kj_get(v, "pattern"));
    struct kerr err = { 0 };
    char why[320];

    if (!pattern || regex_check(pattern, &err) == 0)
        return;
    (void)snprintf(why, sizeof why, "must be a valid regular expression, but isn't: %s", err.text);
    say_text(j, FIELD_INVALID, "pattern", pattern, why);
}

/* ---- types --------------------------------------------------------------------------------------
 */

static bool is_type(const char *type)
{
    static const char *const types[] = {
        "array", "boolean", "integer", "number", "object", "string"
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (streq(types[i], type))
            return true;
    return false;
}

static void judge_type(struct judge *j, const struct kj_val *v, enum level level)
{
    const char *type = kj_str_or(kj_get(v, "type"), "");

    if (*type && !is_type(type)) {
        say_text(j, FIELD_NOT_SUPPORTED, "type", type,
                 "supported values: \"array\", \"boolean\", \"integer\", \"number\", \"object\", "
                 "\"string\"");
    } else if (level == ROOT) {
        if (!*type)
            say(j, FIELD_REQUIRED, "type", NULL, "must not be empty at the root");
        else if (!streq(type, "object"))
            say_text(j, FIELD_INVALID, "type", type, "must be object at the root");
    } else if (!*type && !flag(v, "x-kubernetes-int-or-string") &&
               !flag(v, "x-kubernetes-preserve-unknown-fields")) {
        say(j, FIELD_REQUIRED, "type", NULL,
            level == ITEMS ? "must not be empty for specified array items"
                           : "must not be empty for specified object fields");
    }
    if (streq(type, "array") && kj_type(kj_get(v, "items")) <= KJ_NULL)
        say(j, FIELD_REQUIRED, "items", NULL, "must be specified");
}

static void judge_nested(struct judge *j, const struct kj_val *v, bool int_or_string)
{
    static const struct {
        const char *key, *why;
    } forbidden[] = {
        { "title", "must be empty to be structural" },
        { "description", "must be empty to be structural" },
        { "default", "must be undefined to be structural" },
        { "additionalProperties", "must be undefined to be structural" },
        { "nullable", "must be false to be structural" },
        { "x-kubernetes-preserve-unknown-fields", "must be false to be structural" },
        { "x-kubernetes-embedded-resource", "must be false to be structural" },
        { "x-kubernetes-int-or-string", "must be false to be structural" },
        { "x-kubernetes-list-type", "must be undefined to be structural" },
        { "x-kubernetes-list-map-keys", "must be undefined to be structural" },
        { "x-kubernetes-map-type", "must be undefined to be structural" },
        { "x-kubernetes-validations", "must be empty to be structural" },
    };
    if (kj_get(v, "type") && !int_or_string)
        say(j, FIELD_FORBIDDEN, "type", NULL, "must be empty to be structural");
    for (size_t i = 0; i < ARRAY_LEN(forbidden); i++)
        if (kj_get(v, forbidden[i].key))
            say(j, FIELD_FORBIDDEN, forbidden[i].key, NULL, forbidden[i].why);
}

/* ---- x-kubernetes-* -----------------------------------------------------------------------------
 */

static void judge_list_keys(struct judge *j, const struct kj_val *v, const struct kj_val *keys)
{
    const struct kj_val *items = kj_get(v, "items"), *props = kj_get(items, "properties");
    const struct kj_val *required = kj_get(items, "required");
    char key[300];

    for (size_t i = 0; i < kj_len(keys); i++) {
        const char *name = kj_str_or(kj_at(keys, i), "");
        const struct kj_val *p = kj_get(props, name);
        bool is_required = false;
        if (!p) {
            CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
            kj_write(keys, 0, &text);
            say(j, FIELD_INVALID, "x-kubernetes-list-map-keys", text.data,
                "entries must all be names of item properties");
            return;
        }
        for (size_t k = 0; k < kj_len(required); k++)
            is_required |= streq(kj_str_or(kj_at(required, k), ""), name);
        if (is_required || kj_get(p, "default"))
            continue;
        (void)snprintf(key, sizeof key, "items.properties[%s].default", name);
        say(j, FIELD_REQUIRED, key, NULL,
            "this property is in x-kubernetes-list-map-keys, so it must have a default or be a "
            "required property");
    }
}

static void judge_set_items(struct judge *j, const struct kj_val *items)
{
    static const char why[] = "must be atomic as item of a list with x-kubernetes-list-type=set";
    const char *map = kj_str_or(kj_get(items, "x-kubernetes-map-type"), "");

    if (!*map)
        say(j, FIELD_INVALID, "items.x-kubernetes-map-type", "null", why);
    else if (!streq(map, "atomic"))
        say_text(j, FIELD_INVALID, "items.x-kubernetes-map-type", map, why);
}

static void judge_list_type(struct judge *j, const struct kj_val *v)
{
    const char *list = kj_str_or(kj_get(v, "x-kubernetes-list-type"), "");
    const char *type = kj_str_or(kj_get(v, "type"), "");
    const struct kj_val *keys = kj_get(v, "x-kubernetes-list-map-keys"),
                        *items = kj_get(v, "items");

    if (*list && !streq(list, "atomic") && !streq(list, "set") && !streq(list, "map"))
        say_text(j, FIELD_NOT_SUPPORTED, "x-kubernetes-list-type", list,
                 "supported values: \"atomic\", \"set\", \"map\"");
    else if (*list && !streq(type, "array"))
        say_text(j, FIELD_INVALID, "type", type,
                 "must be array if x-kubernetes-list-type is specified");
    if (streq(list, "map") && kj_len(keys) == 0)
        say(j, FIELD_REQUIRED, "x-kubernetes-list-map-keys", NULL,
            "must not be empty if x-kubernetes-list-type is map");
    else if (streq(list, "map"))
        judge_list_keys(j, v, keys);
    else if (kj_len(keys) > 0)
        say(j, FIELD_REQUIRED, "x-kubernetes-list-type", NULL,
            "must be map if x-kubernetes-list-map-keys is non-empty");
    if (streq(list, "set") && streq(kj_str_or(kj_get(items, "type"), ""), "object"))
        judge_set_items(j, items);
}

static void judge_extensions(struct judge *j, const struct kj_val *v)
{
    static const char preserve[] = "x-kubernetes-preserve-unknown-fields";
    const char *type = kj_str_or(kj_get(v, "type"), "");
    const char *map = kj_str_or(kj_get(v, "x-kubernetes-map-type"), "");

    if (kj_type(kj_get(v, preserve)) == KJ_BOOL && !flag(v, preserve))
        say(j, FIELD_INVALID, preserve, "false", "must be true or undefined");
    if (*map && !streq(map, "atomic") && !streq(map, "granular"))
        say_text(j, FIELD_NOT_SUPPORTED, "x-kubernetes-map-type", map,
                 "supported values: \"atomic\", \"granular\"");
    else if (*map && !streq(type, "object"))
        say_text(j, FIELD_INVALID, "type", type,
                 "must be object if x-kubernetes-map-type is specified");
    judge_list_type(j, v);
    if (!flag(v, "x-kubernetes-embedded-resource"))
        return;
    if (!flag(v, preserve) && kj_len(kj_get(v, "properties")) == 0)
        say(j, FIELD_REQUIRED, "properties", NULL,
            "must not be empty if x-kubernetes-embedded-resource is true without "
            "x-kubernetes-preserve-unknown-fields");
    if (!streq(type, "object"))
        say_text(j, FIELD_INVALID, "type", type,
                 "must be object if x-kubernetes-embedded-resource is true");
}

/* ---- defaults, metadata -------------------------------------------------------------------------
 */

static void judge_default(struct judge *j, const struct kj_val *v)
{
    const struct kj_val *def = kj_get(v, "default");
    struct crd_schema tmp = { .arena = NULL };
    char path[512];

    if (!def)
        return;
    tmp.arena = arena_new();
    schema_compile(&tmp, v, false);
    if (has_unknown(tmp.root, def)) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        kj_write(def, KJ_SORTED, &text);
        say(j, FIELD_INVALID, "default", text.data, "must not have unknown fields");
    } else if (kj_type(def) != KJ_NULL) {
        size_t before = field_errors_count(j->errors);
        value_validate(tmp.root, def, under(j, "default", path), j->errors);
        if (field_errors_count(j->errors) == before)
            rules_eval(tmp.root, def, NULL, path, j->errors, j->errors);
    }
    schema_fini(&tmp);
    arena_free(tmp.arena);
}

static void judge_metadata(struct judge *j, const struct kj_val *root)
{
    const struct kj_val *meta = kj_path(root, "properties.metadata"), *v;
    const char *type = kj_str_or(kj_get(meta, "type"), "");
    struct kj_iter it = kj_iter(kj_get(meta, "properties"));
    struct str key;

    if (!meta)
        return;
    if (!streq(type, "object"))
        say_text(j, FIELD_INVALID, "properties[metadata].type", type, "must be object");
    while (kj_next(&it, &key, &v)) {
        if (str_eqz(key, "name") || str_eqz(key, "generateName"))
            continue;
        say(j, FIELD_FORBIDDEN, "properties[metadata]", NULL,
            "must not specify anything other than name and generateName, but metadata is "
            "implicitly specified");
        break;
    }
}

/* ---- the walk -----------------------------------------------------------------------------------
 */

static void judge_at(struct judge *j, const char *where, size_t n, const struct kj_val *v,
                     enum level level, bool int_or_string)
{
    size_t at = j->path.len;
    strbuf_appendn(&j->path, where, n);
    judge_schema(j, v, level, int_or_string);
    strbuf_truncate(&j->path, at);
}

static void judge_all(struct judge *j, const struct kj_val *v, const char *key, bool ios)
{
    const struct kj_val *list = kj_get(v, key);
    char where[64];

    for (size_t i = 0; kj_type(list) == KJ_ARR && i < kj_len(list); i++) {
        int n = snprintf(where, sizeof where, ".%s[%zu]", key, i);
        judge_at(j, where, (size_t)n, kj_at(list, i), NESTED, ios);
    }
}

/* Items or values: there may be many of them. */
static void judge_many(struct judge *j, const struct kj_val *v, const char *key, enum level level)
{
    bool items = streq(key, "items"), unbounded = j->unbounded;
    int64_t max = kj_i64_or(kj_get(v, items ? "maxItems" : "maxProperties"), -1);
    const char *uncorrelatable = j->uncorrelatable;
    uint64_t cardinality = j->cardinality;
    char where[32];

    if (max < 0)
        j->unbounded = true;
    else if (__builtin_mul_overflow(cardinality, (uint64_t)max, &j->cardinality))
        j->cardinality = UINT64_MAX;
    CLEANUP(mem_free) char *here = xstrdup(strbuf_str(&j->path));
    if (items && !uncorrelatable &&
        !streq(kj_str_or(kj_get(v, "x-kubernetes-list-type"), ""), "map"))
        j->uncorrelatable = here;
    int n = snprintf(where, sizeof where, ".%s", key);
    judge_at(j, where, (size_t)n, kj_get(v, key), level, false);
    j->uncorrelatable = uncorrelatable;
    j->cardinality = cardinality;
    j->unbounded = unbounded;
}

static void judge_below(struct judge *j, const struct kj_val *v, enum level level, bool ios)
{
    struct kj_iter it = kj_iter(kj_get(v, "properties"));
    enum level inner = level == NESTED ? NESTED : PROPERTY;
    const struct kj_val *m;
    struct str key;

    while (kj_next(&it, &key, &m)) {
        CLEANUP(strbuf_fini) struct strbuf where = STRBUF_INIT;
        strbuf_appendf(&where, ".properties[%.*s]", (int)key.n, key.p);
        judge_at(j, where.data, where.len, m, inner, false);
    }
    if (kj_type(kj_get(v, "items")) == KJ_OBJ)
        judge_many(j, v, "items", level == NESTED ? NESTED : ITEMS);
    if (kj_type(kj_get(v, "additionalProperties")) == KJ_OBJ && level != NESTED)
        judge_many(j, v, "additionalProperties", PROPERTY);
    judge_all(j, v, "allOf", ios);
    judge_all(j, v, "anyOf", ios);
    judge_all(j, v, "oneOf", ios);
    if (kj_type(kj_get(v, "not")) == KJ_OBJ)
        judge_at(j, ".not", 4, kj_get(v, "not"), NESTED, false);
}

/* Rules are looked at when everything here and below is in order: their types follow from it. */
static void judge_rules(struct judge *j, const struct kj_val *v, enum level level, size_t before)
{
    struct rules_place at = { strbuf_str(&j->path), j->uncorrelatable, j->cardinality, j->unbounded,
                              level == ROOT };

    rules_check_form(v, at.path, j->errors);
    if (field_errors_count(j->errors) == before)
        rules_check_node(&j->rules, v, &at);
}

/* int_or_string: the parent is one, so that anyOf may name the two types. */
static void judge_schema(struct judge *j, const struct kj_val *v, enum level level,
                         bool int_or_string)
{
    bool ios = flag(v, "x-kubernetes-int-or-string") || (level == NESTED && int_or_string);

    if (++j->depth > DEPTH_MAX) {
        say(j, FIELD_FORBIDDEN, "properties", NULL, "the schema is nested too deeply");
        j->depth--;
        return;
    }
    size_t before = field_errors_count(j->errors);
    if (level == ROOT && kj_type(kj_get(v, "additionalProperties")) > KJ_NULL)
        say(j, FIELD_FORBIDDEN, "additionalProperties", NULL, "must not be used at the root");
    size_t supported = field_errors_count(j->errors);
    judge_unsupported(j, v);
    bool fit = field_errors_count(j->errors) == supported;
    judge_pattern(j, v);
    if (level == NESTED)
        judge_nested(j, v, int_or_string);
    else if (fit) /* a $ref has no type: one complaint is enough */
        judge_type(j, v, level);
    if (level == ROOT)
        judge_metadata(j, v);
    if (level != NESTED) {
        judge_extensions(j, v);
        judge_default(j, v);
    }
    judge_below(j, v, level, ios);
    if (level != NESTED)
        judge_rules(j, v, level, before);
    j->depth--;
}

void structural_validate(const struct kj_val *schema, const char *where, bool same,
                         struct field_errors *errors)
{
    CLEANUP(field_errors_free) struct field_errors *of_rules = field_errors_new();
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct judge j = { .errors = errors,
                       .rules = { .a = a, .errors = of_rules, .old_costs = same },
                       .cardinality = 1 };

    strbuf_append(&j.path, where);
    judge_schema(&j, schema, ROOT, false);
    rules_check_total(&j.rules, where);
    field_errors_move(errors, of_rules);
    rules_define_fini(&j.rules);
    strbuf_fini(&j.path);
}
