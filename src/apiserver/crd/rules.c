/* rules.c - entries of x-kubernetes-validations, compiled. */
#include "apiserver/crd/rules.h"

#include <ctype.h>

#include "base/klog.h"
#include "cel/schema.h"
#include "sys/tzone.h"

/* The bytes of the blank that a text begins with; 0: none. */
static size_t blank(const char *s, size_t n)
{
    static const char *const wide[] = { "\xc2\x85",     "\xc2\xa0",     "\xe1\x9a\x80",
                                        "\xe2\x80\xa8", "\xe2\x80\xa9", "\xe2\x80\xaf",
                                        "\xe2\x81\x9f", "\xe3\x80\x80" };

    if (n && isspace((unsigned char)*s))
        return 1;
    for (size_t i = 0; i < ARRAY_LEN(wide); i++)
        if (n >= strlen(wide[i]) && memcmp(s, wide[i], strlen(wide[i])) == 0)
            return strlen(wide[i]);
    bool space = n >= 3 && memcmp(s, "\xe2\x80", 2) == 0 && (unsigned char)s[2] - 0x80u <= 0x0a;
    return space ? 3 : 0; /* U+2000 to U+200A */
}

struct str rule_trim_str(struct str s)
{
    size_t n;

    while ((n = blank(s.p, s.n)) > 0) {
        s.p += n;
        s.n -= n;
    }
    for (n = 1; n <= 3 && n <= s.n; n++)
        if (blank(s.p + s.n - n, n) == n) {
            s.n -= n;
            n = 0;
        }
    return s;
}

struct str rule_trim(const struct kj_val *v)
{
    return rule_trim_str((struct str){ kj_str_or(v, ""), kj_str(v) ? kj_len(v) : 0 });
}

/* ---- fieldPath ----------------------------------------------------------------------------------
 */

/* The next name of a path: ".name" or "['name']". false: neither. */
static bool next_name(struct str *s, struct strbuf *name)
{
    bool quoted = s->n > 2 && s->p[0] == '[' && s->p[1] == '\'';
    size_t i = quoted ? 2 : 1;

    strbuf_truncate(name, 0);
    if (!quoted && s->p[0] != '.')
        return false;
    for (; i < s->n && (quoted ? s->p[i] != '\'' : s->p[i] != '.' && s->p[i] != '['); i++) {
        if (quoted && s->p[i] == '\\' && i + 1 < s->n)
            i++;
        strbuf_appendc(name, s->p[i]);
    }
    if (quoted) {
        if (s->n - i < 2 || s->p[i + 1] != ']')
            return false;
        i += 2;
    }
    s->p += i;
    s->n -= i;
    return name->len > 0;
}

const char *rule_path(struct arena *a, const struct kj_val *schema, const char *path, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT, name = STRBUF_INIT;
    struct str rest = { path, n };

    while (rest.n) {
        const struct kj_val *more = kj_get(schema, "additionalProperties");
        if (!next_name(&rest, &name))
            return NULL;
        const struct kj_val *p = kj_getn(kj_get(schema, "properties"), name.data, name.len);
        if (!p && kj_type(more) != KJ_OBJ)
            return NULL;
        strbuf_appendf(&out, p ? ".%s" : "[%s]", name.data);
        schema = p ? p : more;
    }
    return arena_strdup(a, strbuf_str(&out));
}

/* ---- expressions --------------------------------------------------------------------------------
 */

static struct cel_expr *compile(const struct cel_env *env, const struct kj_val *text,
                                const struct cel_type *want, const char *prefix, const char *misfit,
                                struct strbuf *fault)
{
    CLEANUP(strbuf_fini) struct strbuf why = STRBUF_INIT;
    struct cel_expr *e = NULL;

    enum cel_failure f = cel_compile(env, kj_str_or(text, ""), kj_len(text), &e, &why);
    if (f != CEL_OK) {
        bool program = str_starts(strbuf_str(&why), "program ");
        strbuf_appendf(fault, "%s%s%s", prefix,
                       program ? "" : "compilation failed: ", strbuf_str(&why));
        return cel_expr_free(e);
    }
    if (cel_expr_type(e)->kind == want->kind)
        return e;
    strbuf_append(fault, misfit);
    return cel_expr_free(e);
}

static enum field_error_type type_of(const char *reason)
{
    return streq(reason, "FieldValueForbidden")   ? FIELD_FORBIDDEN
           : streq(reason, "FieldValueRequired")  ? FIELD_REQUIRED
           : streq(reason, "FieldValueDuplicate") ? FIELD_DUPLICATE
                                                  : FIELD_INVALID;
}

void rule_compile(const struct kj_val *entry, const struct cel_type *type, struct arena *a,
                  struct srule *ret, struct rule_faults *faults)
{
    const struct kj_val *expression = kj_get(entry, "messageExpression");
    bool optional = kj_bool(kj_get(entry, "optionalOldSelf"), false);
    struct cel_var vars[] = { { "self", type },
                              { "oldSelf", optional ? cel_type_of(a, CT_OPTIONAL, type) : type } };
    struct cel_env env = { .vars = vars, .n_vars = ARRAY_LEN(vars), .zone = tzone_offset_of };

    *ret = (struct srule){ .text = rule_trim(kj_get(entry, "rule")),
                           .plain = rule_trim(kj_get(entry, "message")),
                           .expression = { kj_str_or(expression, ""), kj_len(expression) },
                           .path = "",
                           .type = type_of(kj_str_or(kj_get(entry, "reason"), "")),
                           .optional_old = optional };
    ret->rule = compile(&env, kj_get(entry, "rule"), &cel_bool, "",
                        "cel expression must evaluate to a bool", &faults->rule);
    if (!ret->rule)
        return;
    ret->uses_old = cel_expr_uses(ret->rule, 1);
    if (kj_len(expression))
        ret->message = compile(&env, expression, &cel_string, "messageExpression ",
                               "messageExpression must evaluate to a string", &faults->message);
}

/* What is stored was accepted once: it is worth a line in the log. */
static void tell_faults(const char *rule, const struct rule_faults *faults)
{
    if (faults->rule.len)
        KLOG_W("A stored rule does not compile and is not judged", KV_S("rule", rule),
               KV_S("why", faults->rule.data));
    if (faults->message.len)
        KLOG_W("A stored messageExpression does not compile and is not used", KV_S("rule", rule),
               KV_S("why", faults->message.data));
}

void rules_compile(struct crd_schema *s, const struct kj_val *schema, struct snode *n, bool root)
{
    const struct kj_val *list = kj_get(schema, "x-kubernetes-validations");
    size_t count = kj_type(list) == KJ_ARR ? kj_len(list) : 0;

    if (!count || !(n->cel_type = cel_schema_type(s->arena, schema, "self", root)))
        return;
    struct srule *rules = arena_newn0(s->arena, count, struct srule);
    for (size_t i = 0; i < count; i++) {
        const struct kj_val *entry = kj_at(list, i), *path = kj_get(entry, "fieldPath");
        struct rule_faults faults = { STRBUF_INIT, STRBUF_INIT };
        struct srule *r = &rules[n->ncel];
        rule_compile(entry, n->cel_type, s->arena, r, &faults);
        if (r->rule) {
            const char *at =
                kj_len(path) ? rule_path(s->arena, schema, kj_str_or(path, ""), kj_len(path)) : "";
            r->path = at ? at : "";
            vec_push(&s->exprs, r->rule);
            n->ncel++;
        }
        if (r->message)
            vec_push(&s->exprs, r->message);
        tell_faults(kj_str_or(kj_get(entry, "rule"), ""), &faults);
        strbuf_fini(&faults.rule);
        strbuf_fini(&faults.message);
    }
    n->cel = rules;
}
