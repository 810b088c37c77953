/* admithook_match.c - which requests a webhook wants to see. */
#include "apiserver/admission/admitexpr.h"
#include "apiserver/admission/admithook_int.h"
#include "apiserver/kinds/internal.h"
#include "apiserver/store/store.h"

bool admithook_is_exempt(const struct resource *r)
{
    static const char *const plurals[] = {
        "mutatingwebhookconfigurations", "validatingwebhookconfigurations",
        "validatingadmissionpolicies",   "validatingadmissionpolicybindings",
        "mutatingadmissionpolicies",     "mutatingadmissionpolicybindings",
    };
    if (!streq(r->group, "admissionregistration.k8s.io"))
        return false;
    for (size_t i = 0; i < ARRAY_LEN(plurals); i++)
        if (streq(r->plural, plurals[i]))
            return true;
    return false;
}

/* ---- rules ----------------------------------------------------------------------------------- */

static bool names(const struct kj_val *list, const char *word)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *x = kj_str_or(kj_at(list, i), "");
        if (streq(x, "*") || streq(x, word))
            return true;
    }
    return false;
}

/* "pods", "pods/status", "pods/" and a star for all of them: what has no slash means the resource
 * itself only. */
static bool names_resource(const struct kj_val *list, const char *plural, const char *sub)
{
    for (size_t i = 0; i < kj_len(list); i++) {
        const char *x = kj_str_or(kj_at(list, i), ""), *slash = strchr(x, '/');
        size_t n = slash ? (size_t)(slash - x) : strlen(x);
        const char *want = slash ? slash + 1 : "";
        bool res = (n == 1 && *x == '*') || (strlen(plural) == n && memcmp(x, plural, n) == 0);
        if (res && (streq(want, "*") || streq(want, sub)))
            return true;
    }
    return false;
}

static bool scope_matches(const struct kj_val *rule, const struct resource *r)
{
    const char *scope = kj_str_or(kj_get(rule, "scope"), "*");

    if (streq(scope, "Namespaced"))
        return r->namespaced;
    return !streq(scope, "Cluster") || !r->namespaced;
}

/* Names that only rules of policies have; none: every name. */
static bool names_object(const struct kj_val *list, const char *name)
{
    for (size_t i = 0; i < kj_len(list); i++)
        if (streq(kj_str_or(kj_at(list, i), ""), name))
            return true;
    return kj_len(list) == 0;
}

static bool rule_matches(const struct kj_val *rule, const struct resource *as,
                         const struct admission_req *r)
{
    return names(kj_get(rule, "operations"), r->operation) &&
           names(kj_get(rule, "apiGroups"), as->group) &&
           names(kj_get(rule, "apiVersions"), as->version) &&
           names_resource(kj_get(rule, "resources"), as->plural, r->subresource) &&
           scope_matches(rule, as);
}

/* Other versions, or another group, under which the same objects are served. */
static const struct resource *equivalent(const struct kj_val *rule, const struct admission_req *r)
{
    const struct res_table *t = r->call->s->resources;
    const struct resource *x;

    for (size_t i = 0; (x = res_table_at(t, i)); i++)
        if (x != r->res && streq(x->store_res, r->res->store_res) && rule_matches(rule, x, r))
            return x;
    return NULL;
}

const struct resource *rules_match(const struct kj_val *rules, bool exact,
                                   const struct admission_req *r, const char *name)
{
    for (size_t i = 0; i < kj_len(rules); i++)
        if (rule_matches(kj_at(rules, i), r->res, r) &&
            names_object(kj_get(kj_at(rules, i), "resourceNames"), name))
            return r->res;
    for (size_t i = 0; i < kj_len(rules) && !exact; i++) {
        const struct resource *as = equivalent(kj_at(rules, i), r);
        if (as && names_object(kj_get(kj_at(rules, i), "resourceNames"), name))
            return as;
    }
    return NULL;
}

const struct resource *admithook_rules_match(const struct admithook *h,
                                             const struct admission_req *r)
{
    return rules_match(kj_get(h->spec, "rules"), h->exact, r, "");
}

/* ---- selectors ------------------------------------------------------------------------------- */

static bool is_everything(const struct kj_val *selector)
{
    return kj_len(kj_get(selector, "matchLabels")) == 0 &&
           kj_len(kj_get(selector, "matchExpressions")) == 0;
}

static bool labels_match(const struct kj_val *selector, const struct kj_val *obj)
{
    return obj && v_selector_matches(selector, kj_path(obj, "metadata.labels"));
}

/* A namespace is selected by its own labels, whatever belongs to one by that one's, and all else
 * always. */
static int namespace_matches(struct apiserver *s, const struct kj_val *selector,
                             const struct admission_req *r, const struct kj_val *obj,
                             struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *ns = NULL;
    bool is_namespace = !*r->res->group && streq(r->res->plural, "namespaces");
    struct store_key k = { "namespaces", "", is_namespace ? r->name : r->ns };

    if (is_everything(selector) || (!*r->ns && !is_namespace))
        return 1;
    if (is_namespace && obj && !*r->subresource)
        return labels_match(selector, obj);
    if (store_get_latest(s->store, &k, &doc, NULL, NULL) < 0 ||
        kj_parse(doc.data, doc.len, 0, &ns, NULL) < 0)
        return api_err(r->call, err, -ENOENT, KR_NOT_FOUND, "namespaces \"%s\" not found", k.name);
    return labels_match(selector, kj_root(ns));
}

int selectors_match(struct apiserver *s, const struct kj_val *spec, const struct admission_req *r,
                    const struct kj_val *obj, struct kerr *err)
{
    const struct kj_val *objects = kj_get(spec, "objectSelector");
    int e = namespace_matches(s, kj_get(spec, "namespaceSelector"), r, obj, err);

    if (e <= 0)
        return e;
    return is_everything(objects) || labels_match(objects, obj) || labels_match(objects, r->old);
}

int admithook_conditions_match(const struct admithook *h, const struct admission_req *r,
                               const struct resource *as, const struct kj_val *obj,
                               struct strbuf *why)
{
    CLEANUP(admitexpr_input_fini) struct admitexpr_input in = { 0 };

    if (!h->conditions)
        return 1;
    admitexpr_input_init(&in, r, as, obj);
    return conditions_eval(h->conditions, &in, why);
}
