/* reservepod.c - the reserve pod of a Reservation: what takes its place in the queue and holds its
 * room on a node (sched-reservation 2). It never reaches the API server.
 */
#include "api/pod.h"
#include "api/podresources.h"
#include "api/protocol/keys.h"
#include "base/arena.h"
#include "base/ktime.h"
#include "base/num.h"
#include "scheduler/plugins/reservation/cache.h"
#include "json/kj.h"

struct making {
    const struct reservation *of;
    const struct resv *r;
    struct kj_mdoc *d;
    struct kj_mval *pod, *meta, *spec;
};

/* A member that is an object, made when it is not there or is something else. */
static struct kj_mval *object_in(struct kj_mdoc *d, struct kj_mval *parent, const char *key)
{
    struct kj_mval *v = kj_mget(parent, key);

    if (v && kj_mtype(v) == KJ_OBJ)
        return v;
    v = kj_mobj(d);
    kj_mset(d, parent, key, v);
    return v;
}

static void set(struct making *m, struct kj_mval *in, const char *key, const char *value)
{
    kj_mset(m->d, in, key, kj_mstr(m->d, value));
}

/* The Reservation's own go before those of the template. */
static void overwrite(struct making *m, const char *key, const kstrmap *with)
{
    struct kj_mval *map = object_in(m->d, m->meta, key);

    for (uint32_t i = 0; i < with->n; i++)
        set(m, map, with->items[i].key, with->items[i].value);
}

static void make_metadata(struct making *m)
{
    const struct objmeta *own = &m->of->obj.meta;
    const char *ns = kj_mstr_get(kj_mget(m->meta, "namespace"));
    char text[KTIME_TEXT_MAX];

    set(m, m->meta, "name", m->r->uid_text);
    set(m, m->meta, "uid", m->r->uid_text);
    set(m, m->meta, "namespace", str_empty(ns) ? "default" : ns);
    set(m, m->meta, "resourceVersion", own->resource_version);
    overwrite(m, "labels", &own->labels);
    overwrite(m, "annotations", &own->annotations);
    struct kj_mval *annotations = object_in(m->d, m->meta, "annotations");
    set(m, annotations, ANNO_RESERVE_POD, "true");
    set(m, annotations, ANNO_RESERVATION_NAME, own->name);
    if (m->of->spec.pre_allocation)
        set(m, annotations, ANNO_IS_PRE_ALLOCATION, "true");
    if (own->created) {
        ktime_format(own->created, text);
        set(m, m->meta, "creationTimestamp", text);
    }
    if (own->deleted) {
        ktime_format(own->deleted, text);
        set(m, m->meta, "deletionTimestamp", text);
    }
}

static void make_node(struct making *m)
{
    const char *wants = kj_mstr_get(kj_mget(m->spec, "nodeName"));

    if (!str_empty(wants))
        set(m, object_in(m->d, m->meta, "annotations"), ANNO_RESERVATION_NODE, wants);
    set(m, m->spec, "nodeName", m->r->view.node ? m->r->view.node : "");
}

/* Without a priority of its own nobody can preempt it. */
static void make_priority(struct making *m)
{
    const char *label = kstrmap_get(&m->of->obj.meta.labels, LABEL_PRIORITY);
    struct kj_mval *has = kj_mget(m->spec, "priority");
    int64_t v = INT32_MAX, own;

    if (has && kj_mtype(has) != KJ_NULL)
        return;
    if (label && i64_parse(label, strlen(label), &own) == 0 && own >= INT32_MIN && own <= INT32_MAX)
        v = own;
    kj_mset(m->d, m->spec, "priority", kj_mi64(m->d, v));
}

static void clear_resources(const struct making *m, const char *list)
{
    struct kj_mval *all = kj_mget(m->spec, list);

    for (size_t i = 0; all && i < kj_mlen(all); i++)
        kj_mdel(kj_mat(all, i), "resources", strlen("resources"));
}

/* It holds what the status says, where that is not what the template asks for. */
static void make_resources(struct making *m, struct arena *a)
{
    const reslist *allocatable = &m->of->status.allocatable;
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct pod_template t;

    if (!m->r->available || reservation_template(m->of, a, &t, NULL) < 0)
        return;
    reslist sum = pod_spec_requests(&t.spec.spec, NULL, a);
    if (reslist_equal(&sum, allocatable))
        return;
    for (uint32_t i = 0; i < allocatable->n; i++)
        sum = reslist_with(&sum, allocatable->items[i].name, allocatable->items[i].value, a);
    kj_mdel(m->spec, "overhead", strlen("overhead"));
    kj_mdel(m->spec, "resources", strlen("resources"));
    clear_resources(m, "containers");
    clear_resources(m, "initContainers");
    reslist_encode(&sum, &text);
    struct kj_mval *resources = kj_mobj(m->d), *one = kj_mobj(m->d);
    kj_mset(m->d, resources, "requests", kj_mraw(m->d, text.data, text.len));
    kj_mset(m->d, resources, "limits", kj_mraw(m->d, text.data, text.len));
    set(m, one, "name", "__internal_fake_container__");
    kj_mset(m->d, one, "resources", resources);
    struct kj_mval *all = kj_mget(m->spec, "containers");
    if (!all || kj_mtype(all) != KJ_ARR) {
        all = kj_marr(m->d);
        kj_mset(m->d, m->spec, "containers", all);
    }
    kj_mpush(all, one);
}

/* What it says of its waiting, so that the same is not written again. */
static void make_status(struct making *m)
{
    struct kj_mval *status = kj_mobj(m->d), *list = kj_marr(m->d);

    for (uint32_t i = 0; i < m->of->status.conditions.n; i++) {
        const struct timed_condition *c = &m->of->status.conditions.items[i];
        if (!streq(c->type, RESERVATION_CONDITION_SCHEDULED) || c->status != COND_FALSE)
            continue;
        struct kj_mval *v = kj_mobj(m->d);
        set(m, v, "type", "PodScheduled");
        set(m, v, "status", "False");
        set(m, v, "reason", c->reason);
        set(m, v, "message", c->message);
        kj_mpush(list, v);
    }
    kj_mset(m->d, status, "conditions", list);
    kj_mset(m->d, m->pod, "status", status);
}

struct kobj *resv_make_pod(const struct reservations *c, const struct resv *r, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(arena_free) struct arena *a = arena_new();
    const struct reservation *o = reservation_of(r->view.object);
    struct making m = { .of = o, .r = r, .d = d };
    struct kobj *pod = NULL;

    m.pod = kj_mraw(d, o->spec.template, strlen(o->spec.template));
    if (!m.pod || kj_mtype(m.pod) != KJ_OBJ)
        m.pod = kj_mobj(d);
    m.meta = object_in(d, m.pod, "metadata");
    m.spec = object_in(d, m.pod, "spec");
    make_metadata(&m);
    make_node(&m);
    make_priority(&m);
    make_resources(&m, a);
    if (str_empty(kj_mstr_get(kj_mget(m.spec, "schedulerName"))))
        set(&m, m.spec, "schedulerName", "default-scheduler");
    make_status(&m);
    doc = kj_freeze(m.pod);
    if (kobj_decode(&kind_pod, kj_root(doc), c->scratch, &pod, err) < 0)
        kerr_wrap(err, "spec.template");
    return pod;
}
