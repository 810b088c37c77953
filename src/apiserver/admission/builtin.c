/* builtin.c - the server's own admission steps: namespaces, priority classes, tolerations. */
#include <stdio.h>

#include "apiserver/admission/admithook.h"
#include "apiserver/admission/policy.h"
#include "apiserver/admission/quota.h"
#include "apiserver/registry/internal.h"
#include "apiserver/store/store.h"
#include "base/num.h"

static const char priority_res[] = "priorityclasses.scheduling.k8s.io";

struct builtin {
    struct apiserver *s;
    struct store_watch *classes; /* tells when the default class may have changed */
    char *default_name, *default_policy;
    int64_t default_value;
    bool known; /* the default class was looked up and nothing has changed since */
};

static bool is_core(const struct admission_req *r, const char *plural)
{
    return !*r->res->group && streq(r->res->plural, plural);
}

/* ---- NamespaceLifecycle -------------------------------------------------------------------------
 */

/* The text is searched first, as this is asked for every object that is made; the same words may be
 * a label's. */
static bool is_terminating(const char *doc, size_t n)
{
    static const char mark[] = "\"deletionTimestamp\":";
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;

    return memmem(doc, n, mark, sizeof mark - 1) && kj_parse(doc, n, 0, &parsed, NULL) == 0 &&
           kj_str(kj_path(kj_root(parsed), "metadata.deletionTimestamp"));
}

static int namespace_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                            struct kj_mval *obj, struct kerr *err)
{
    struct apiserver *s = ((struct builtin *)self)->s;
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    struct store_key k = { "namespaces", "", r->ns };
    const struct resource *namespaces = res_table_find(s->resources, "", "v1", "namespaces");

    (void)d, (void)obj;
    /* Who may do what is also asked of namespaces that are not there. */
    if (!r->res->namespaced || !streq(r->operation, "CREATE") || !namespaces || is_review(r->res))
        return 0;
    if (store_get_latest(s->store, &k, &doc, NULL, NULL) < 0)
        return api_err_not_found(r->call, err, namespaces, r->ns);
    if (is_terminating(doc.data, doc.len))
        return admission_forbid(
            r, err, "unable to create new content in namespace %s because it is being terminated",
            r->ns);
    return 0;
}

static int namespace_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                              struct kerr *err)
{
    (void)self, (void)obj;
    if (is_core(r, "namespaces") && streq(r->operation, "DELETE") &&
        (streq(r->name, "default") || streq(r->name, "kube-system") ||
         streq(r->name, "kube-public")))
        return admission_forbid(r, err, "this namespace may not be deleted");
    return 0;
}

/* ---- Priority -----------------------------------------------------------------------------------
 */

static bool find_default(void *arg, const struct store_key *k, uint64_t rev, const char *doc,
                         size_t n)
{
    struct builtin *b = arg;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;

    (void)rev;
    if (kj_parse(doc, n, 0, &parsed, NULL) < 0)
        return true;
    const struct kj_val *pc = kj_root(parsed);
    int64_t value = kj_i64_or(kj_get(pc, "value"), 0);
    if (!kj_bool(kj_get(pc, "globalDefault"), false))
        return true;
    if (b->default_name && value >= b->default_value) /* of several, the lowest counts */
        return true;
    free(b->default_name);
    free(b->default_policy);
    b->default_name = xstrdup(k->name);
    b->default_policy = xstrdup(kj_str_or(kj_get(pc, "preemptionPolicy"), "PreemptLowerPriority"));
    b->default_value = value;
    return true;
}

static bool on_class(void *arg, const struct store_event *e)
{
    (void)e;
    ((struct builtin *)arg)->known = false;
    return true;
}

static void on_classes_end(void *arg, const struct kerr *err)
{
    struct builtin *b = arg;
    (void)err;
    b->classes = NULL;
    b->known = false;
}

static void refresh_default(struct builtin *b)
{
    static const struct store_watch_handler h = { on_class, NULL, on_classes_end };
    struct store *st = b->s->store;

    if (b->known)
        return;
    if (!b->classes)
        (void)store_watch(st, priority_res, NULL, store_revision(st), &h, b, &b->classes, NULL);
    b->default_name = mem_free(b->default_name);
    b->default_policy = mem_free(b->default_policy);
    b->default_value = 0;
    (void)store_list(st, priority_res, NULL, 0, NULL, find_default, b, NULL);
    b->known = b->classes != NULL;
}

static int resolve(struct builtin *b, const struct admission_req *r, const char *class,
                   int64_t *value, char **policy, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf doc = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    struct store_key k = { priority_res, "", class };

    if (store_get_latest(b->s->store, &k, &doc, NULL, NULL) < 0 ||
        kj_parse(doc.data, doc.len, 0, &parsed, NULL) < 0)
        return admission_forbid(r, err, "no PriorityClass with name %s was found", class);
    *value = kj_i64_or(kj_get(kj_root(parsed), "value"), 0);
    *policy =
        xstrdup(kj_str_or(kj_get(kj_root(parsed), "preemptionPolicy"), "PreemptLowerPriority"));
    return 0;
}

/* What this step computed when the pod was created stays where a client leaves it out. */
static void priority_keep(const struct kj_val *old, struct kj_mdoc *d, struct kj_mval *spec)
{
    static const char *const fields[] = { "priority", "preemptionPolicy" };

    for (size_t i = 0; i < ARRAY_LEN(fields); i++) {
        const struct kj_val *was = kj_get(kj_get(old, "spec"), fields[i]);
        if (was && !kj_mget(spec, fields[i]))
            kj_mset(d, spec, fields[i], kj_mcopy(d, was));
    }
}

static int priority_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                           struct kj_mval *obj, struct kerr *err)
{
    struct builtin *b = self;
    struct kj_mval *spec = kj_mget(obj, "spec");
    const char *class = kj_mstr_get(kj_mget(spec, "priorityClassName"));
    CLEANUP(mem_free) char *policy = NULL;
    int64_t value = 0, given;

    if (!is_core(r, "pods") || streq(r->operation, "DELETE") || *r->subresource || !spec)
        return 0;
    if (streq(r->operation, "UPDATE")) {
        priority_keep(r->old, d, spec);
        return 0;
    }
    if (str_empty(class)) {
        refresh_default(b);
        value = b->default_value;
        policy = xstrdup(str_or(b->default_policy, "PreemptLowerPriority"));
        if (b->default_name)
            kj_mset(d, spec, "priorityClassName", kj_mstr(d, b->default_name));
    } else if (resolve(b, r, class, &value, &policy, err) < 0) {
        return err->code;
    }
    if (kj_mi64_get(kj_mget(spec, "priority"), &given) == 0 && given != value)
        return admission_forbid(
            r, err,
            "the integer value of priority (%lld) must not be provided in pod spec; priority "
            "admission controller computed %lld from the given PriorityClass name",
            (long long)given, (long long)value);
    kj_mset(d, spec, "priority", kj_mi64(d, value));
    const char *own = kj_mstr_get(kj_mget(spec, "preemptionPolicy"));
    if (!str_empty(own) && !streq(own, policy))
        return admission_forbid(
            r, err,
            "the string value of PreemptionPolicy (%s) must not be provided in pod spec; priority "
            "admission controller computed %s from the given PriorityClass name",
            own, policy);
    kj_mset(d, spec, "preemptionPolicy", kj_mstr(d, policy));
    return 0;
}

/* At most one class is the default. */
static int priority_validate(void *self, const struct admission_req *r, const struct kj_val *obj,
                             struct kerr *err)
{
    struct builtin *b = self;

    if (!streq(r->res->group, "scheduling.k8s.io") || !streq(r->res->plural, "priorityclasses") ||
        streq(r->operation, "DELETE") || !kj_bool(kj_get(obj, "globalDefault"), false))
        return 0;
    refresh_default(b);
    if (!b->default_name || streq(b->default_name, r->name))
        return 0;
    return admission_forbid(
        r, err, "PriorityClass %s is already marked as default. Only one default can exist",
        b->default_name);
}

/* ---- DefaultTolerationSeconds -------------------------------------------------------------------
 */

/* Does one of them stand for this taint with effect NoExecute? */
static bool tolerates(const struct kj_mval *list, const char *key)
{
    for (size_t i = 0; i < kj_mlen(list); i++) {
        const struct kj_mval *t = kj_mat(list, i);
        const char *k = str_or(kj_mstr_get(kj_mget(t, "key")), "");
        const char *effect = str_or(kj_mstr_get(kj_mget(t, "effect")), "");
        if ((!*k || streq(k, key)) && (!*effect || streq(effect, "NoExecute")))
            return true;
    }
    return false;
}

static int tolerations_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                              struct kj_mval *obj, struct kerr *err)
{
    static const char *const keys[] = { "node.kubernetes.io/not-ready",
                                        "node.kubernetes.io/unreachable" };
    struct kj_mval *spec = kj_mget(obj, "spec"), *list = kj_mget(spec, "tolerations");

    (void)self, (void)err;
    if (!is_core(r, "pods") || streq(r->operation, "DELETE") || *r->subresource || !spec)
        return 0;
    bool missing[ARRAY_LEN(keys)];
    for (size_t i = 0; i < ARRAY_LEN(keys); i++)
        missing[i] = !tolerates(list, keys[i]);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        if (!missing[i])
            continue;
        if (kj_mtype(list) != KJ_ARR) {
            list = kj_marr(d);
            kj_mset(d, spec, "tolerations", list);
        }
        struct kj_mval *t = kj_mobj(d);
        kj_mset(d, t, "key", kj_mstr(d, keys[i]));
        kj_mset(d, t, "operator", kj_mstr(d, "Exists"));
        kj_mset(d, t, "effect", kj_mstr(d, "NoExecute"));
        kj_mset(d, t, "tolerationSeconds", kj_mi64(d, 300));
        kj_mpush(list, t);
    }
    return 0;
}

/* ---- TaintNodesByCondition ----------------------------------------------------------------------
 */

/* A new node takes no pods until the node lifecycle has seen it ready. */
static int taint_mutate(void *self, const struct admission_req *r, struct kj_mdoc *d,
                        struct kj_mval *obj, struct kerr *err)
{
    static const char key[] = "node.kubernetes.io/not-ready";

    (void)self, (void)err;
    if (!is_core(r, "nodes") || !streq(r->operation, "CREATE") || *r->subresource)
        return 0;
    struct kj_mval *spec = kj_mget(obj, "spec");
    if (kj_mtype(spec) != KJ_OBJ) {
        spec = kj_mobj(d);
        kj_mset(d, obj, "spec", spec);
    }
    struct kj_mval *list = kj_mget(spec, "taints");
    for (size_t i = 0; i < kj_mlen(list); i++) {
        const struct kj_mval *t = kj_mat(list, i);
        if (streq(str_or(kj_mstr_get(kj_mget(t, "key")), ""), key) &&
            streq(str_or(kj_mstr_get(kj_mget(t, "effect")), ""), "NoSchedule"))
            return 0;
    }
    if (kj_mtype(list) != KJ_ARR) {
        list = kj_marr(d);
        kj_mset(d, spec, "taints", list);
    }
    struct kj_mval *t = kj_mobj(d);
    kj_mset(d, t, "key", kj_mstr(d, key));
    kj_mset(d, t, "effect", kj_mstr(d, "NoSchedule"));
    kj_mpush(list, t);
    return 0;
}

/* ---- all of them --------------------------------------------------------------------------------
 */

static int leave_out(struct apiserver *s, const char *name, struct kerr *err)
{
    /* Not those that make objects what they are, as certificate requests with their user. */
    static const char *const known[] = { "NamespaceLifecycle",
                                         "Priority",
                                         "DefaultTolerationSeconds",
                                         "TaintNodesByCondition",
                                         "RuntimeClass",
                                         "LimitRanger",
                                         "DefaultStorageClass",
                                         "DefaultIngressClass",
                                         "StorageObjectInUseProtection",
                                         "PersistentVolumeClaimResize",
                                         "PodTopologyLabels",
                                         "ServiceAccount",
                                         "PodSecurity" };
    CLEANUP(strbuf_fini) struct strbuf names = STRBUF_INIT;
    bool is_known = false;

    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        is_known = is_known || streq(known[i], name);
        strbuf_appendf(&names, "%s%s", i ? ", " : "", known[i]);
    }
    if (!is_known)
        return kerr_set(err, -EINVAL,
                        "disable-admission-plugins plugin \"%.40s\" is unknown (there are %s)",
                        name, names.data);
    for (size_t i = s->steps.n; i-- > 0;)
        if (streq(s->steps.items[i].step->name, name))
            vec_remove(&s->steps, i);
    return 0;
}

int admission_add_builtin(struct apiserver *s, const char *const *disabled, size_t n,
                          struct kerr *err)
{
    static const struct admission_step steps[] = {
        { "NamespaceLifecycle", namespace_mutate, namespace_validate },
        { "Priority", priority_mutate, priority_validate },
        { "DefaultTolerationSeconds", tolerations_mutate, NULL },
        { "TaintNodesByCondition", taint_mutate, NULL },
    };
    s->builtin = xnew0(struct builtin);
    s->builtin->s = s;
    for (size_t i = 0; i < ARRAY_LEN(steps); i++)
        apiserver_add_admission(s, &steps[i], s->builtin);
    runtimeclass_add(s);
    limitrange_add(s);
    classes_add(s);
    volumes_add(s);
    topology_add(s);
    requester_add(s);
    serviceaccount_add(s);
    podsecurity_add(s);
    for (size_t i = 0; i < n; i++)
        if (leave_out(s, disabled[i], err) < 0)
            return err->code;
    s->builtin_steps = s->steps.n;
    s->policies = policies_new(s);
    s->webhooks = admithooks_new(s);
    s->quotas = quotas_new(s);
    return 0;
}

void admission_fini(struct apiserver *s)
{
    struct builtin *b = s->builtin;
    s->policies = policies_free(s->policies);
    s->webhooks = admithooks_free(s->webhooks);
    s->quotas = quotas_free(s->quotas);
    s->podsecurity = podsecurity_free(s->podsecurity);
    vec_fini(&s->steps);
    vec_fini(&s->last_steps);
    if (!b)
        return;
    store_unwatch(b->classes);
    free(b->default_name);
    free(b->default_policy);
    free(b);
    s->builtin = NULL;
}
