/* validator.c - the rules of the enhanced validator, read and applied. */
#include "manager/webhook/validator.h"

#include <strings.h>

#include "api/protocol/protocol.h"
#include "base/strbuf.h"

static const struct kfield rule_fields[] = {
    KF(struct validator_rule, name, "name", KF_STR),
    KF_LIST_OF(struct validator_rule, required_labels, "requiredLabels", KF_STR),
    KF_LIST_OF(struct validator_rule, namespace_whitelist, "namespaceWhitelist", KF_STR),
};
static const struct kschema rule_schema =
    KSCHEMA("EnhancedValidationRule", struct validator_rule, rule_fields);
static const struct kfield list_fields[] = {
    KF_LIST_OF(struct validator, rules, "", KF_OBJ, .sub = &rule_schema),
};
static const struct kschema list_schema = { .name = "EnhancedValidationRules",
                                            .size = sizeof(struct validator),
                                            .nfields = 1,
                                            .fields = list_fields,
                                            .bare = true };

static bool is_true(const char *text)
{
    size_t n;

    text += strspn(text, " \t\r\n");
    n = strcspn(text, " \t\r\n");
    return n == 4 && strncasecmp(text, "true", n) == 0 &&
           text[n + strspn(text + n, " \t\r\n")] == 0;
}

int validator_decode(const kstrmap *data, struct arena *a, struct validator *ret, struct kerr *err)
{
    const char *rules = kstrmap_get(data, "rules");
    struct validator v = { 0 };

    if (!str_empty(rules) &&
        kj_decode_text(&list_schema, rules, strlen(rules), KJ_ANY_CASE, a, &v, err) < 0)
        return kerr_wrap(err, "rules");
    v.enabled = is_true(str_or(kstrmap_get(data, "enable"), ""));
    *ret = v;
    return 0;
}

static bool has(const kstrlist *l, const char *word)
{
    for (uint32_t i = 0; i < l->n; i++)
        if (streq(l->items[i], word))
            return true;
    return false;
}

static const char *check_rule(const struct validator_rule *r, const kstrmap *labels,
                              struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf missing = STRBUF_INIT;
    size_t n = 0;

    for (uint32_t i = 0; i < r->required_labels.n; i++)
        if (!kstrmap_get(labels, r->required_labels.items[i]))
            strbuf_appendf(&missing, "%s%s", n++ ? " " : "", r->required_labels.items[i]);
    if (n == 0)
        return NULL;
    return n == 1 ? arena_printf(a, "required label '%s' is missing", strbuf_str(&missing))
                  : arena_printf(a, "required labels are missing: [%s]", strbuf_str(&missing));
}

const char *validator_check(const struct validator *v, const char *ns, const kstrmap *labels,
                            struct arena *a)
{
    const char *bad = NULL;

    if (!v->enabled || label_is_true(labels, LABEL_SKIP_ENHANCED_CHECK))
        return NULL;
    for (uint32_t i = 0; i < v->rules.n && !bad; i++)
        if (!has(&v->rules.items[i].namespace_whitelist, ns))
            bad = check_rule(&v->rules.items[i], labels, a);
    return bad;
}
