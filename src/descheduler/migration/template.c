/* template.c - from a job and its pod to a Reservation. */
#include "descheduler/migration/template.h"

#include "api/koord/reservation.h"
#include "api/protocol/migration.h"
#include "base/ktime.h"
#include "json/kj.h"

struct render {
    struct kj_mdoc *d;
    const struct podmigrationjob *job;
    const struct kj_val *pod;
    const struct template_opts *o;
};

static int bad(struct kerr *err, const char *path, const char *what)
{
    return kerr_api(err, -EINVAL, KR_INVALID, "spec.reservationOptions.template%s: %s", path, what);
}

/* ---- the job's template ---------------------------------------------------------------------- */

static bool is_object_or_absent(const struct kj_val *v)
{
    enum kj_type t = kj_type(v);
    return t == KJ_ABSENT || t == KJ_NULL || t == KJ_OBJ;
}

static int check_value(const struct kj_val *v, struct kerr *err)
{
    static const char *const objects[] = { ".metadata",
                                           ".spec",
                                           ".metadata.labels",
                                           ".metadata.annotations",
                                           ".spec.template",
                                           ".spec.template.metadata",
                                           ".spec.template.spec",
                                           ".spec.template.spec.affinity",
                                           ".spec.template.spec.affinity.nodeAffinity" };

    if (kj_type(v) != KJ_OBJ)
        return bad(err, "", "must be an object");
    for (size_t i = 0; i < ARRAY_LEN(objects); i++)
        if (!is_object_or_absent(kj_path(v, objects[i] + 1)))
            return bad(err, objects[i], "must be an object");
    const struct kj_val *owners = kj_path(v, "spec.owners");
    if (kj_type(owners) != KJ_ABSENT && kj_type(owners) != KJ_NULL && kj_type(owners) != KJ_ARR)
        return bad(err, ".spec.owners", "must be a list");
    const struct kj_val *name = kj_path(v, "metadata.name");
    if (kj_type(name) != KJ_ABSENT && kj_type(name) != KJ_NULL && kj_type(name) != KJ_STR)
        return bad(err, ".metadata.name", "must be a text");
    return 0;
}

int template_check(const char *json, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!json)
        return 0;
    if (kj_parse(json, strlen(json), 0, &doc, err) < 0)
        return bad(err, "", "is no JSON");
    return check_value(kj_root(doc), err);
}

/* ---- pieces ---------------------------------------------------------------------------------- */

/* The object under a key, made when it is not there. */
static struct kj_mval *child(const struct render *r, struct kj_mval *of, const char *key)
{
    struct kj_mval *v = kj_mget(of, key);

    if (kj_mtype(v) != KJ_OBJ) {
        kj_mset(r->d, of, key, kj_mobj(r->d));
        v = kj_mget(of, key);
    }
    return v;
}

static bool is_given(const struct kj_mval *v)
{
    enum kj_type t = kj_mtype(v);
    return t != KJ_ABSENT && t != KJ_NULL;
}

static const char *pod_text(const struct render *r, const char *path)
{
    return kj_str_or(kj_path(r->pod, path), "");
}

/* What the server filled in, and what says where the pod is now: a new place needs none of it. */
static void forget_placement(struct kj_mval *meta)
{
    static const char *const members[] = { "uid",
                                           "resourceVersion",
                                           "creationTimestamp",
                                           "generation",
                                           "managedFields",
                                           "generateName",
                                           "selfLink",
                                           "finalizers",
                                           "deletionTimestamp",
                                           "deletionGracePeriodSeconds" };
    static const char *const annotations[] = { ANNO_RESERVATION_ALLOCATED, ANNO_RESOURCE_STATUS,
                                               ANNO_DEVICE_ALLOCATED };
    struct kj_mval *a = kj_mget(meta, "annotations");

    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        (void)kj_mdel(meta, members[i], strlen(members[i]));
    for (size_t i = 0; a && i < ARRAY_LEN(annotations); i++)
        (void)kj_mdel(a, annotations[i], strlen(annotations[i]));
}

/* Volumes that a claim stands behind; the containers' mounts of them go along. */
static void drop_claims(const struct render *r, struct kj_mval *spec)
{
    struct kj_mval *volumes = kj_mget(spec, "volumes"), *kept = kj_marr(r->d);

    for (size_t i = 0; i < kj_mlen(volumes); i++) {
        struct kj_mval *v = kj_mat(volumes, i);
        if (!kj_mget(v, "persistentVolumeClaim") && !kj_mget(v, "ephemeral"))
            kj_mpush(kept, kj_mclone(r->d, v));
    }
    if (volumes)
        kj_mset(r->d, spec, "volumes", kept);
}

static void set_template(const struct render *r, struct kj_mval *spec)
{
    if (is_given(kj_mget(spec, "template")))
        return;
    struct kj_mval *t = kj_mobj(r->d), *meta = kj_mcopy(r->d, kj_get(r->pod, "metadata"));
    struct kj_mval *pod_spec = kj_mcopy(r->d, kj_get(r->pod, "spec"));
    forget_placement(meta);
    if (r->o->without_claims)
        drop_claims(r, pod_spec);
    kj_mset(r->d, t, "metadata", meta);
    kj_mset(r->d, t, "spec", pod_spec);
    kj_mset(r->d, spec, "template", t);
}

/* ---- owners ---------------------------------------------------------------------------------- */

static bool waits_for_a_node(const struct render *r)
{
    const struct kj_val *conditions = kj_path(r->pod, "status.conditions");

    if (!streq(pod_text(r, "status.phase"), "Pending"))
        return false;
    for (size_t i = 0; i < kj_len(conditions); i++) {
        const struct kj_val *c = kj_at(conditions, i);
        if (streq(kj_str_or(kj_get(c, "type"), ""), "PodScheduled"))
            return streq(kj_str_or(kj_get(c, "status"), ""), "False");
    }
    return false;
}

static struct kj_mval *owner_object(const struct render *r)
{
    struct kj_mval *o = kj_mobj(r->d), *owner = kj_mobj(r->d);

    kj_mset(r->d, o, "kind", kj_mstr(r->d, "Pod"));
    kj_mset(r->d, o, "namespace", kj_mstr(r->d, pod_text(r, "metadata.namespace")));
    kj_mset(r->d, o, "name", kj_mstr(r->d, pod_text(r, "metadata.name")));
    kj_mset(r->d, o, "uid", kj_mstr(r->d, pod_text(r, "metadata.uid")));
    kj_mset(r->d, owner, "object", o);
    return owner;
}

static struct kj_mval *owner_controller(const struct render *r)
{
    const struct kj_val *refs = kj_path(r->pod, "metadata.ownerReferences");

    for (size_t i = 0; i < kj_len(refs); i++) {
        if (!kj_bool(kj_get(kj_at(refs, i), "controller"), false))
            continue;
        struct kj_mval *c = kj_mcopy(r->d, kj_at(refs, i)), *owner = kj_mobj(r->d);
        kj_mset(r->d, c, "namespace", kj_mstr(r->d, pod_text(r, "metadata.namespace")));
        kj_mset(r->d, owner, "controller", c);
        return owner;
    }
    return NULL;
}

static void set_owners(const struct render *r, struct kj_mval *spec)
{
    struct kj_mval *given = kj_mget(spec, "owners"), *list = kj_marr(r->d);

    if (kj_mtype(given) == KJ_ARR && kj_mlen(given) > 0)
        return;
    struct kj_mval *owner = waits_for_a_node(r) ? owner_object(r) : owner_controller(r);
    if (owner)
        kj_mpush(list, owner);
    kj_mset(r->d, spec, "owners", list);
}

/* ---- somewhere else -------------------------------------------------------------------------- */

static void push_requirement(const struct render *r, struct kj_mval *term, const char *node)
{
    struct kj_mval *q = kj_mobj(r->d), *values = kj_marr(r->d);

    if (kj_mtype(kj_mget(term, "matchFields")) != KJ_ARR)
        kj_mset(r->d, term, "matchFields", kj_marr(r->d));
    kj_mpush(values, kj_mstr(r->d, node));
    kj_mset(r->d, q, "key", kj_mstr(r->d, "metadata.name"));
    kj_mset(r->d, q, "operator", kj_mstr(r->d, "NotIn"));
    kj_mset(r->d, q, "values", values);
    kj_mpush(kj_mget(term, "matchFields"), q);
}

static int leave_node(const struct render *r, struct kj_mval *pod_spec, struct kerr *err)
{
    static const char required_key[] = "requiredDuringSchedulingIgnoredDuringExecution";
    const char *node = pod_text(r, "spec.nodeName");

    if (!*node)
        return 0;
    struct kj_mval *affinity = child(r, child(r, pod_spec, "affinity"), "nodeAffinity");
    struct kj_mval *required = child(r, affinity, required_key);
    struct kj_mval *terms = kj_mget(required, "nodeSelectorTerms");
    if (is_given(terms) && kj_mtype(terms) != KJ_ARR)
        return bad(err, ".spec.template.spec.affinity", "nodeSelectorTerms must be a list");
    if (kj_mlen(terms) == 0) {
        kj_mset(r->d, required, "nodeSelectorTerms", kj_marr(r->d));
        terms = kj_mget(required, "nodeSelectorTerms");
        kj_mpush(terms, kj_mobj(r->d));
    }
    for (size_t i = 0; i < kj_mlen(terms); i++) {
        if (kj_mtype(kj_mat(terms, i)) != KJ_OBJ)
            return bad(err, ".spec.template.spec.affinity", "a term must be an object");
        push_requirement(r, kj_mat(terms, i), node);
    }
    return 0;
}

/* ---- all ------------------------------------------------------------------------------------- */

static void set_metadata(const struct render *r, struct kj_mval *root)
{
    struct kj_mval *meta = child(r, root, "metadata"), *labels = child(r, meta, "labels");
    const char *name = kj_mstr_get(kj_mget(meta, "name"));
    CLEANUP(mem_free)
    char *order = xasprintf("%lld", (long long)(r->o->now / NSEC_PER_MSEC));
    char uid[KUID_TEXT_MAX];

    kuid_format(r->job->obj.meta.uid, uid, sizeof uid);
    if (str_empty(name))
        kj_mset(r->d, meta, "name", kj_mstr(r->d, uid));
    kj_mset(r->d, labels, LABEL_APP_CREATED_BY, kj_mstr(r->d, APP_CREATED_BY_DESCHEDULER));
    kj_mset(r->d, labels, LABEL_RESERVATION_ORDER, kj_mstr(r->d, order));
    /* It goes with its job, whoever deletes that, and whether we run or not. */
    struct kj_mval *owner = kj_mobj(r->d), *owners = kj_marr(r->d);
    kj_mset(r->d, owner, "apiVersion", kj_mstr(r->d, "scheduling.koordinator.sh/v1alpha1"));
    kj_mset(r->d, owner, "kind", kj_mstr(r->d, "PodMigrationJob"));
    kj_mset(r->d, owner, "name", kj_mstr(r->d, r->job->obj.meta.name));
    kj_mset(r->d, owner, "uid", kj_mstr(r->d, uid));
    kj_mpush(owners, owner);
    if (!is_given(kj_mget(meta, "ownerReferences")))
        kj_mset(r->d, meta, "ownerReferences", owners);
}

static int set_spec(const struct render *r, struct kj_mval *root, struct kerr *err)
{
    struct kj_mval *spec = child(r, root, "spec");
    char ttl[KTIME_TEXT_MAX];

    set_template(r, spec);
    set_owners(r, spec);
    kj_mset(r->d, spec, "allocateOnce", kj_mbool(r->d, true));
    if (r->job->spec.ttl_ns.set && !is_given(kj_mget(spec, "ttl")) &&
        !is_given(kj_mget(spec, "expires"))) {
        kdur_format(r->job->spec.ttl_ns.v, ttl);
        kj_mset(r->d, spec, "ttl", kj_mstr(r->d, ttl));
    }
    struct kj_mval *pod_spec = child(r, child(r, spec, "template"), "spec");
    (void)kj_mdel(pod_spec, "nodeName", strlen("nodeName"));
    return leave_node(r, pod_spec, err);
}

int template_render(const struct podmigrationjob *j, const struct kj_val *pod,
                    const struct template_opts *o, struct strbuf *out, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *given = NULL;
    const struct render r = { d, j, pod, o };
    const char *template =
        j->spec.reservation_options ? j->spec.reservation_options->template : NULL;

    if (template && (kj_parse(template, strlen(template), 0, &given, err) < 0 ||
                     check_value(kj_root(given), err) < 0))
        return bad(err, "", "is no Reservation");
    struct kj_mval *root = template ? kj_mcopy(d, kj_root(given)) : kj_mobj(d);
    kj_mset(d, root, "apiVersion", kj_mstr(d, "scheduling.koordinator.sh/v1alpha1"));
    kj_mset(d, root, "kind", kj_mstr(d, kind_reservation.kind));
    set_metadata(&r, root);
    int rc = set_spec(&r, root, err);
    if (rc == 0)
        kj_mwrite(root, 0, out);
    return rc;
}
