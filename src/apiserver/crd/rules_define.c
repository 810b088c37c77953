/* rules_define.c - are the rules of a definition such that this server can serve them?
 *
 * Words of kube-apiserver 1.35. An expression is refused for its form, its types, or because the
 * bounds of its cost, by the limits that the schema sets, are beyond what one request may spend.
 */
#include <inttypes.h>
#include <stdio.h>

#include "apiserver/crd/rules.h"
#include "cel/schema.h"

enum { REQUEST_MAX = 3 * 1024 * 1024 };
#define ADVICE                                                                            \
    " (try simplifying the rule, or adding maxItems, maxProperties, and maxLength where " \
    "arrays, maps, and strings are declared)"

/* ---- form ---------------------------------------------------------------------------------------
 */

static bool has_break(struct str s)
{
    return memchr(s.p, '\n', s.n) || memchr(s.p, '\r', s.n);
}

static struct str text_of(const struct kj_val *v)
{
    return (struct str){ kj_str_or(v, ""), kj_str(v) ? kj_len(v) : 0 };
}

static void check_message(const struct kj_val *entry, const char *path, struct field_errors *errors)
{
    struct str rule = rule_trim(kj_get(entry, "rule")),
               trimmed = rule_trim(kj_get(entry, "message"));
    const struct kj_val *message = kj_get(entry, "message");

    CLEANUP(mem_free) char *at = xasprintf("%s.message", path);
    if (kj_len(message) && !trimmed.n)
        field_error_text(errors, FIELD_INVALID, at, kj_str_or(message, ""),
                         "must be non-empty if specified");
    else if (has_break(trimmed))
        field_error_text(errors, FIELD_INVALID, at, kj_str_or(message, ""),
                         "must not contain line breaks");
    else if (has_break(rule) && !trimmed.n && !kj_len(kj_get(entry, "messageExpression")))
        field_error(errors, FIELD_REQUIRED, at, NULL,
                    "message must be specified if rule contains line breaks");
}

static void check_reason(const char *reason, const char *path, struct field_errors *errors)
{
    static const char *const known[] = { "", "FieldValueDuplicate", "FieldValueForbidden",
                                         "FieldValueInvalid", "FieldValueRequired" };

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (streq(known[i], reason))
            return;
    }
    CLEANUP(mem_free) char *at = xasprintf("%s.reason", path);
    field_error_text(errors, FIELD_NOT_SUPPORTED, at, reason,
                     "supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", "
                     "\"FieldValueInvalid\", \"FieldValueRequired\"");
}

static void check_path(const struct kj_val *schema, const struct kj_val *entry, const char *path,
                       struct field_errors *errors)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct kj_val *v = kj_get(entry, "fieldPath");
    struct str given = text_of(v);

    if (!given.n)
        return;
    CLEANUP(mem_free) char *at = xasprintf("%s.fieldPath", path);
    if (!rule_trim(v).n)
        field_error_text(errors, FIELD_INVALID, at, given.p, "must be non-empty if specified");
    if (has_break(given))
        field_error_text(errors, FIELD_INVALID, at, given.p, "must not contain line breaks");
    if (!rule_path(a, schema, given.p, given.n))
        field_error_text(errors, FIELD_INVALID, at, given.p, "must be a valid path");
}

void rules_check_form(const struct kj_val *schema, const char *path, struct field_errors *errors)
{
    const struct kj_val *list = kj_get(schema, "x-kubernetes-validations");

    for (size_t i = 0; i < kj_len(list); i++) {
        const struct kj_val *entry = kj_at(list, i);
        CLEANUP(mem_free) char *at = xasprintf("%s.x-kubernetes-validations[%zu]", path, i);
        if (!rule_trim(kj_get(entry, "rule")).n) {
            CLEANUP(mem_free) char *sub = xasprintf("%s.rule", at);
            field_error(errors, FIELD_REQUIRED, sub, NULL, "rule is not specified");
        } else {
            check_message(entry, at, errors);
        }
        if (kj_len(kj_get(entry, "messageExpression")) &&
            !rule_trim(kj_get(entry, "messageExpression")).n) {
            CLEANUP(mem_free) char *sub = xasprintf("%s.messageExpression", at);
            field_error(errors, FIELD_REQUIRED, sub, NULL, "must be non-empty if specified");
        }
        check_reason(kj_str_or(kj_get(entry, "reason"), ""), at, errors);
        check_path(schema, entry, at, errors);
    }
}

/* ---- cost ---------------------------------------------------------------------------------------
 */

static uint64_t times(uint64_t a, uint64_t b)
{
    uint64_t out;
    return __builtin_mul_overflow(a, b, &out) ? UINT64_MAX : out;
}

static void too_expensive(struct field_errors *errors, const char *path, const char *what,
                          uint64_t cost, uint64_t limit)
{
    double factor = (double)cost / (double)limit;
    char text[64];

    if (factor > 100)
        (void)snprintf(text, sizeof text, "more than 100x");
    else if (factor < 1.5)
        (void)snprintf(text, sizeof text, "%fx", factor);
    else
        (void)snprintf(text, sizeof text, "%.1fx", factor);
    field_error(errors, FIELD_FORBIDDEN, path, NULL, "%s exceeds budget by factor of %s" ADVICE,
                what, text);
}

/* Adds to the total and remembers the most expensive four. */
static void observe(struct rules_define *d, const char *path, uint64_t cost)
{
    size_t i = ARRAY_LEN(d->worst);

    if (__builtin_add_overflow(d->total, cost, &d->total))
        d->total = UINT64_MAX;
    if (!cost || d->worst[i - 1].cost >= cost)
        return;
    free(d->worst[--i].path);
    for (; i > 0 && d->worst[i - 1].cost < cost; i--)
        d->worst[i] = d->worst[i - 1];
    d->worst[i].cost = cost;
    d->worst[i].path = xstrdup(path);
}

static void check_cost(struct rules_define *d, const char *path, const char *what, uint64_t cost)
{
    if (cost > RULE_ESTIMATE_MAX && !d->old_costs)
        too_expensive(d->errors, path, what, cost, RULE_ESTIMATE_MAX);
    observe(d, path, cost);
}

void rules_check_total(struct rules_define *d, const char *where)
{
    if (d->total <= SCHEMA_ESTIMATE_MAX)
        return;
    for (size_t i = 0; i < ARRAY_LEN(d->worst); i++) {
        if (d->worst[i].path && d->worst[i].cost >= SCHEMA_ESTIMATE_MAX / 100)
            field_error(d->errors, FIELD_FORBIDDEN, d->worst[i].path, NULL,
                        "contributed to estimated rule cost total exceeding cost limit for "
                        "entire OpenAPIv3 schema");
    }
    too_expensive(d->errors, where,
                  "x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema",
                  d->total, SCHEMA_ESTIMATE_MAX);
}

void rules_define_fini(struct rules_define *d)
{
    for (size_t i = 0; i < ARRAY_LEN(d->worst); i++)
        free(d->worst[i].path);
}

/* ---- expressions --------------------------------------------------------------------------------
 */

/* A string as Go's encoding/json writes it: signs of HTML are escaped. */
static void go_string(const struct kj_val *v, struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf plain = STRBUF_INIT;
    struct str s = text_of(v);

    kj_append_string(&plain, s.p, s.n);
    for (size_t i = 0; i < plain.len; i++) {
        char c = plain.data[i];
        if (c == '<' || c == '>' || c == '&')
            strbuf_appendf(out, "\\u00%02x", (unsigned)c);
        else
            strbuf_appendc(out, c);
    }
}

/* The entry as messages show it: kube-apiserver's internal type. */
static void entry_text(const struct kj_val *entry, struct strbuf *out)
{
    const struct kj_val *reason = kj_get(entry, "reason"), *old = kj_get(entry, "optionalOldSelf");

    strbuf_append(out, "{\"Rule\":");
    go_string(kj_get(entry, "rule"), out);
    strbuf_append(out, ",\"Message\":");
    go_string(kj_get(entry, "message"), out);
    strbuf_append(out, ",\"MessageExpression\":");
    go_string(kj_get(entry, "messageExpression"), out);
    strbuf_append(out, ",\"Reason\":");
    if (kj_type(reason) == KJ_STR)
        go_string(reason, out);
    else
        strbuf_append(out, "null");
    strbuf_append(out, ",\"FieldPath\":");
    go_string(kj_get(entry, "fieldPath"), out);
    strbuf_appendf(out, ",\"OptionalOldSelf\":%s}",
                   kj_type(old) != KJ_BOOL ? "null"
                   : kj_bool(old, false)   ? "true"
                                           : "false");
}

static void check_old(struct rules_define *d, const struct kj_val *entry, const struct srule *r,
                      const struct rules_place *at, const char *path)
{
    const struct kj_val *optional = kj_get(entry, "optionalOldSelf");

    if (r->uses_old && at->uncorrelatable) {
        CLEANUP(mem_free) char *sub = xasprintf("%s.rule", path);
        field_error_text(d->errors, FIELD_INVALID, sub, kj_str_or(kj_get(entry, "rule"), ""),
                         "oldSelf cannot be used on the uncorrelatable portion of the schema "
                         "within %s",
                         at->uncorrelatable);
    } else if (!r->uses_old && kj_type(optional) == KJ_BOOL) {
        CLEANUP(mem_free) char *sub = xasprintf("%s.optionalOldSelf", path);
        field_error(d->errors, FIELD_INVALID, sub, kj_bool(optional, false) ? "true" : "false",
                    "may not be set if oldSelf is not used in rule");
    }
}

static void check_entry(struct rules_define *d, const struct kj_val *entry,
                        const struct cel_type *type, const struct rules_place *at,
                        uint64_t cardinality, const char *path)
{
    CLEANUP(strbuf_fini) struct strbuf shown = STRBUF_INIT;
    struct rule_faults faults = { STRBUF_INIT, STRBUF_INIT };
    struct srule r;

    CLEANUP(mem_free) char *rule = xasprintf("%s.rule", path);
    CLEANUP(mem_free) char *message = xasprintf("%s.messageExpression", path);
    entry_text(entry, &shown);
    rule_compile(entry, type, d->a, &r, &faults);
    if (r.rule)
        check_cost(d, rule, "estimated rule cost",
                   times(cel_expr_estimate(r.rule).max, cardinality));
    else
        field_error(d->errors, FIELD_INVALID, rule, shown.data, "%s", faults.rule.data);
    if (r.message)
        check_cost(d, message, "estimated messageExpression cost",
                   cel_expr_estimate(r.message).max);
    else if (faults.message.len)
        field_error(d->errors, FIELD_INVALID, message, shown.data, "%s", faults.message.data);
    check_old(d, entry, &r, at, path);
    cel_expr_free(r.rule);
    cel_expr_free(r.message);
    strbuf_fini(&faults.rule);
    strbuf_fini(&faults.message);
}

void rules_check_node(struct rules_define *d, const struct kj_val *schema,
                      const struct rules_place *at)
{
    const struct kj_val *list = kj_get(schema, "x-kubernetes-validations");

    if (!kj_len(list))
        return;
    CLEANUP(mem_free) char *path = xasprintf("%s.x-kubernetes-validations", at->path);
    const struct cel_type *type = cel_schema_type(d->a, schema, "self", at->root);
    if (!type) {
        field_error(d->errors, FIELD_INTERNAL, path, NULL,
                    "internal error: failed to construct type information for "
                    "x-kubernetes-validations rules: unable to convert structural schema to CEL "
                    "declarations");
        return;
    }
    /* Without limits above: as many as fit into a request. */
    uint64_t cardinality =
        at->unbounded ? REQUEST_MAX / (cel_schema_least_bytes(schema) + 1) : at->cardinality;
    for (size_t i = 0; i < kj_len(list); i++) {
        CLEANUP(mem_free) char *entry = xasprintf("%s[%zu]", path, i);
        check_entry(d, kj_at(list, i), type, at, cardinality, entry);
    }
}
