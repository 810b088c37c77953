/* podsecurity.c - the admission step PodSecurity: pods that violate what their namespace enforces
 * are refused, and whoever sends pods or templates is warned.
 *
 * Most namespaces say nothing about pod security: what each says is remembered until any of them
 * changes, so that such a request costs one lookup.
 */
#include "apiserver/admission/podsecurity.h"

#include "apiserver/registry/internal.h"
#include "base/klog.h"
#include "base/map.h"

struct podsecurity {
    struct apiserver *s;
    uint64_t changed; /* the revision of namespaces as they are remembered */
    struct map known; /* name to struct podsec_policy; `nothing` for most */
    struct arena *a;  /* theirs */
};

static const struct podsec_policy nothing = { .enforce.minor = PODSEC_LATEST,
                                              .audit.minor = PODSEC_LATEST,
                                              .warn.minor = PODSEC_LATEST };

/* ---- what the namespace says ----------------------------------------------------------------- */

static void forget(struct podsecurity *x)
{
    map_fini(&x->known);
    x->known = (struct map){ 0 };
    arena_reset(x->a);
}

static const struct podsec_policy *read_policy(struct podsecurity *x, const struct strbuf *doc)
{
    static const char mark[] = "\"" PODSEC_LABELS;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;

    if (!memmem(doc->data, doc->len, mark, sizeof mark - 1) ||
        kj_parse(doc->data, doc->len, 0, &parsed, NULL) < 0)
        return &nothing;
    struct podsec_policy *p = arena_new0(x->a, struct podsec_policy);
    *p = podsec_policy_of(kj_path(kj_root(parsed), "metadata.labels"), NULL);
    return p;
}

/* Valid until the next question. */
static const struct podsec_policy *policy_of(struct podsecurity *x, const char *ns)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    const struct store_key k = { "namespaces", "", ns };
    uint64_t changed = store_changed(x->s->store, k.res), rev;

    if (changed != x->changed)
        forget(x);
    x->changed = changed;
    const struct podsec_policy *p = map_getz(&x->known, ns);
    if (p)
        return p;
    if (store_get_latest(x->s->store, &k, &doc, &rev, NULL) < 0)
        return &nothing;
    p = read_policy(x, &doc);
    if (rev <= store_revision(x->s->store)) /* what is under way may still fail */
        map_putz(&x->known, arena_strdup(x->a, ns), (void *)(uintptr_t)p);
    return p;
}

/* ---- pods and templates ---------------------------------------------------------------------- */

/* Where the pod of a resource is: a pod itself, or a template. */
static const struct kind_of_pods {
    const char *group, *plural, *path;
} kinds[] = {
    { "", "pods", NULL },
    { "", "replicationcontrollers", "spec.template" },
    { "", "podtemplates", "template" },
    { "apps", "replicasets", "spec.template" },
    { "apps", "deployments", "spec.template" },
    { "apps", "statefulsets", "spec.template" },
    { "apps", "daemonsets", "spec.template" },
    { "batch", "jobs", "spec.template" },
    { "batch", "cronjobs", "spec.jobTemplate.spec.template" },
};

static const struct kind_of_pods *kind_of(const struct resource *res)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (streq(res->group, kinds[i].group) && streq(res->plural, kinds[i].plural))
            return &kinds[i];
    return NULL;
}

/* What a pod is, or may do, stays what it was: binding, eviction, its status. */
static bool is_ignored(const char *subresource)
{
    static const char *const ignored[] = { "exec", "attach",      "binding", "eviction",
                                           "log",  "portforward", "proxy",   "status" };

    for (size_t i = 0; i < ARRAY_LEN(ignored); i++)
        if (streq(subresource, ignored[i]))
            return true;
    return false;
}

static const char *image_of(const struct kj_val *container)
{
    return kj_str_or(kj_get(container, "image"), "");
}

static bool has_other_images(const struct kj_val *list, const struct kj_val *old)
{
    if (kj_len(list) != kj_len(old))
        return true;
    for (size_t i = 0; i < kj_len(list); i++)
        if (!streq(image_of(kj_at(list, i)), image_of(kj_at(old, i))))
            return true;
    return false;
}

static const struct kj_val *container_named(const struct kj_val *list, const char *name)
{
    struct kj_iter it = kj_iter(list);
    const struct kj_val *c;

    while (kj_next(&it, NULL, &c))
        if (streq(kj_str_or(kj_get(c, "name"), ""), name))
            return c;
    return NULL;
}

/* Whether an update asks for a new verdict: what else changes of a pod concerns no check, and a pod
 * that violates them stays what it is. */
static bool is_significant(const struct kj_val *pod, const struct kj_val *old)
{
    const struct kj_val *spec = kj_get(pod, "spec"), *was = kj_get(old, "spec"), *c;
    struct kj_iter it = kj_iter(kj_get(spec, "ephemeralContainers"));

    if (has_other_images(kj_get(spec, "containers"), kj_get(was, "containers")) ||
        has_other_images(kj_get(spec, "initContainers"), kj_get(was, "initContainers")))
        return true;
    while (kj_next(&it, NULL, &c)) {
        const struct kj_val *before =
            container_named(kj_get(was, "ephemeralContainers"), kj_str_or(kj_get(c, "name"), ""));
        if (!before || !streq(image_of(before), image_of(c)))
            return true;
    }
    return false;
}

/* ---- verdicts -------------------------------------------------------------------------------- */

/* Modes often ask for the same: each standard is judged once. */
struct verdicts {
    const struct kj_val *pod;
    struct arena *a;
    struct verdict {
        struct podsec_standard standard;
        bool allowed;
        struct podsec_violations violations;
    } items[3];
    size_t n;
};

static void verdicts_fini(struct verdicts *v)
{
    for (size_t i = 0; i < v->n; i++)
        podsec_violations_fini(&v->items[i].violations);
}

static const struct verdict *verdict_on(struct verdicts *v, struct podsec_standard s)
{
    for (size_t i = 0; i < v->n; i++)
        if (podsec_equal(v->items[i].standard, s))
            return &v->items[i];
    struct verdict *x = &v->items[v->n++];
    x->standard = s;
    x->allowed = podsec_allows(s, v->pod, v->a, &x->violations);
    return x;
}

static const char *verdict_text(const struct verdicts *v, const struct verdict *x)
{
    return arena_printf(v->a, "PodSecurity \"%s\": %s", podsec_name(x->standard, v->a),
                        strbuf_str(&x->violations.details));
}

static int judge(struct verdicts *v, const struct podsec_policy *p, bool enforce,
                 const struct admission_req *r, struct kerr *err)
{
    const struct verdict *enforced = enforce ? verdict_on(v, p->enforce) : NULL;
    const struct verdict *audited = verdict_on(v, p->audit);

    if (!audited->allowed) /* there is no audit log: as with ValidatingAdmissionPolicies */
        KLOG_I(0, "Pod security violation", KV_S("resource", r->res->plural),
               KV_S("namespace", r->ns), KV_S("name", r->name), KV_S("user", r->user),
               KV_S("message", arena_printf(v->a, "would violate %s", verdict_text(v, audited))));
    if (enforced && !enforced->allowed)
        return admission_forbid(r, err, "violates %s", verdict_text(v, enforced));
    const struct verdict *warned = verdict_on(v, p->warn);
    if (!warned->allowed)
        admission_warn(r, arena_printf(v->a, "would violate %s", verdict_text(v, warned)));
    return 0;
}

static int validate_pods(struct podsecurity *x, const struct kind_of_pods *kind,
                         const struct admission_req *r, const struct kj_val *obj, struct kerr *err)
{
    bool is_pod = !kind->path;
    const struct kj_val *pod = is_pod ? obj : kj_path(obj, kind->path);

    if ((is_pod ? is_ignored(r->subresource) : *r->subresource) || !pod)
        return 0;
    const struct podsec_policy p = *policy_of(x, r->ns);
    if (p.warn.level == PODSEC_PRIVILEGED && p.audit.level == PODSEC_PRIVILEGED &&
        (!is_pod || p.enforce.level == PODSEC_PRIVILEGED))
        return 0;
    if (is_pod && streq(r->operation, "UPDATE") && !is_significant(obj, r->old))
        return 0;
    struct verdicts v = { .pod = pod, .a = r->call->arena };
    int e = judge(&v, &p, is_pod, r, err);
    verdicts_fini(&v);
    return e;
}

/* ---- namespaces ------------------------------------------------------------------------------ */

static bool same_errors(const struct field_errors *a, const struct field_errors *b)
{
    if (a->n != b->n)
        return false;
    vec_foreach(a, i)
        if (!streq(a->items[i].path, b->items[i].path) ||
            !streq(a->items[i].text, b->items[i].text))
            return false;
    return true;
}

static void warn(void *arg, const char *text)
{
    admission_warn(arg, text);
}

static int validate_namespace(struct podsecurity *x, const struct admission_req *r,
                              const struct kj_val *obj)
{
    CLEANUP(field_errors_free)
    struct field_errors *errors = field_errors_new(), *old_errors = field_errors_new();
    const struct podsec_policy p = podsec_policy_of(kj_path(obj, "metadata.labels"), errors);
    const struct podsec_policy old =
        podsec_policy_of(kj_path(r->old, "metadata.labels"), old_errors);

    /* Labels that have been wrong since there was nobody to say so do not hinder other changes. */
    if (errors->n && !same_errors(errors, old_errors))
        return admission_invalid(r, errors);
    if (!r->old || podsec_equal(p.enforce, old.enforce) || p.enforce.level == PODSEC_PRIVILEGED ||
        (p.enforce.minor == old.enforce.minor && p.enforce.level < old.enforce.level))
        return 0;
    podsec_existing(x->s, r->name, p.enforce, warn, (void *)(uintptr_t)r);
    return 0;
}

/* ---- the step -------------------------------------------------------------------------------- */

static int podsecurity_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                                struct kerr *err)
{
    const struct kind_of_pods *kind;

    if (!obj || (!streq(r->operation, "CREATE") && !streq(r->operation, "UPDATE")))
        return 0;
    if (!*r->res->group && streq(r->res->plural, "namespaces"))
        return *r->subresource ? 0 : validate_namespace(self, r, obj);
    kind = kind_of(r->res);
    return kind ? validate_pods(self, kind, r, obj, err) : 0;
}

void podsecurity_add(struct apiserver *s)
{
    static const struct admission_step step = { "PodSecurity", NULL, podsecurity_validate };
    struct podsecurity *x = xnew0(struct podsecurity);

    x->s = s;
    x->a = arena_new();
    s->podsecurity = x;
    apiserver_add_admission(s, &step, x);
}

struct podsecurity *podsecurity_free(struct podsecurity *x)
{
    if (!x)
        return NULL;
    map_fini(&x->known);
    arena_free(x->a);
    free(x);
    return NULL;
}
