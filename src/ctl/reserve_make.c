/* reserve_make.c - Reservations out of a workload's template. */
#include "api/kobj.h"
#include "api/protocol/keys.h"
#include "api/workload.h"
#include "base/ktime.h"
#include "ctl/reserve.h"
#include "json/kj.h"

const struct kind *reserve_kind(const char *word)
{
    const struct kind *const known[] = { &kind_deployment, &kind_statefulset, &kind_replicaset,
                                         &kind_job };
    const struct kind *k = kind_find(word);

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (k == known[i])
            return k;
    return NULL;
}

const struct kj_val *reserve_template(const struct reserve *x)
{
    const struct kj_val *t = kj_path(kj_root(x->workload), "spec.template");
    return kj_get(t, "spec") ? t : NULL;
}

/* ---- who may use it -------------------------------------------------------------------------- */

static void set_str(struct kj_mdoc *d, struct kj_mval *obj, const char *key, const char *value)
{
    kj_mset(d, obj, key, kj_mstr(d, value));
}

/* Pods of a Deployment belong to ReplicaSets, which change with every release: its selector says
 * which pods are meant. The selector alone would match pods of other namespaces too. The CRD wants
 * name and uid to be there; "" matches any. */
static struct kj_mval *owner_of_deployment(const struct reserve *x, struct kj_mdoc *d)
{
    struct kj_mval *owner = kj_mobj(d), *controller = kj_mobj(d);

    set_str(d, controller, "apiVersion", "apps/v1");
    set_str(d, controller, "kind", "ReplicaSet");
    set_str(d, controller, "name", "");
    set_str(d, controller, "uid", "");
    set_str(d, controller, "namespace", x->ns);
    kj_mset(d, controller, "controller", kj_mbool(d, true));
    kj_mset(d, owner, "controller", controller);
    kj_mset(d, owner, "labelSelector", kj_mcopy(d, kj_path(kj_root(x->workload), "spec.selector")));
    return owner;
}

static struct kj_mval *owner_of_workload(const struct reserve *x, struct kj_mdoc *d)
{
    struct kj_mval *owner = kj_mobj(d), *controller = kj_mobj(d);
    char version[128];

    kind_api_version(x->kind, version, sizeof version);
    set_str(d, controller, "apiVersion", version);
    set_str(d, controller, "kind", x->kind->kind);
    set_str(d, controller, "name", x->name);
    set_str(d, controller, "uid", kj_str_or(kj_path(kj_root(x->workload), "metadata.uid"), ""));
    set_str(d, controller, "namespace", x->ns);
    kj_mset(d, controller, "controller", kj_mbool(d, true));
    kj_mset(d, owner, "controller", controller);
    return owner;
}

/* ---- the object ------------------------------------------------------------------------------ */

static struct kj_mval *template_value(const struct reserve *x, struct kj_mdoc *d)
{
    struct kj_mval *t = kj_mcopy(d, reserve_template(x)), *meta = kj_mget(t, "metadata");

    if (kj_mtype(meta) != KJ_OBJ) {
        meta = kj_mobj(d);
        kj_mset(d, t, "metadata", meta);
    }
    set_str(d, meta, "namespace", x->ns);
    /* Reserving must not cost running pods their place. */
    set_str(d, kj_mget(t, "spec"), "preemptionPolicy", "Never");
    return t;
}

static struct kj_mval *spec_value(const struct reserve *x, struct kj_mdoc *d)
{
    struct kj_mval *spec = kj_mobj(d), *owners = kj_marr(d);
    char ttl[KTIME_TEXT_MAX];

    kdur_format(x->o->ttl, ttl);
    kj_mpush(owners,
             x->kind == &kind_deployment ? owner_of_deployment(x, d) : owner_of_workload(x, d));
    kj_mset(d, spec, "owners", owners);
    set_str(d, spec, "ttl", ttl);
    kj_mset(d, spec, "allocateOnce", kj_mbool(d, true));
    set_str(d, spec, "allocatePolicy", "Aligned");
    kj_mset(d, spec, "template", template_value(x, d));
    return spec;
}

void reserve_write(const struct reserve *x, size_t i, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *root = kj_mobj(d), *meta = kj_mobj(d), *labels = kj_mobj(d);

    set_str(d, root, "apiVersion", "scheduling.koordinator.sh/v1alpha1");
    set_str(d, root, "kind", "Reservation");
    set_str(d, labels, LABEL_RESERVED_TOGETHER, x->run);
    set_str(d, meta, "name", x->all.items[i].name);
    kj_mset(d, meta, "labels", labels);
    kj_mset(d, root, "metadata", meta);
    kj_mset(d, root, "spec", spec_value(x, d));
    kj_mwrite(root, 0, out);
}
