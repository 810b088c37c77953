/* podmaker.c - pods from a template: created under names of our own choice, deleted in order. */
#include <math.h>
#include <stdio.h>

#include "base/num.h"
#include "cluster/internal.h"

enum { PODS_A_SYNC = 500, PREFIX_MAX = 58 /* 63 for a name, 5 for the random end */ };

struct making {
    struct maker *m;
    const char *name, *body;
    size_t len;
    bool again; /* the answer to its first create was lost */
};
struct maker { /* in the arena of the batch, with all it points to */
    struct cluster *c;
    struct expect *expect;
    const struct kobj *owner; /* held */
    struct making *pods;
    uint32_t n, next, wave, waiting;
    void (*on_refused)(void *arg, struct batch *b, const struct kerr *err);
    void *arg;
    bool stop;
};

/* ---- bodies -------------------------------------------------------------------------------- */

static void add_meta(struct kj_mdoc *d, struct kj_mval *pod, const struct kj_val *template_meta,
                     const struct podplan *p)
{
    static const char *const kept[] = { "labels", "annotations", "finalizers" };
    struct kj_mval *meta = kj_mobj(d);

    for (size_t i = 0; i < ARRAY_LEN(kept); i++) {
        const struct kj_val *v = kj_get(template_meta, kept[i]);
        if (kj_len(v) > 0)
            kj_mset(d, meta, kept[i], kj_mcopy(d, v));
    }
    if (p->finalizer) {
        struct kj_mval *list = kj_mget(meta, "finalizers");
        if (!list)
            kj_mset(d, meta, "finalizers", list = kj_marr(d));
        kj_mpush(list, kj_mstr(d, p->finalizer));
    }
    kj_mset(d, meta, "ownerReferences", owner_value(d, p->owner));
    kj_mset(d, pod, "metadata", meta);
}

/* The random end makes the name; generateName stands beside it as it would with a server's name. */
static const char *choose_name(struct batch *b, const struct podplan *p, uint32_t i,
                               const char **ret_prefix)
{
    struct arena *a = batch_arena(b);
    const char *infix = p->infix ? p->infix(p->arg, i, a) : "";
    const char *full = arena_printf(a, "%s-%s", p->owner->meta.name, infix);
    char end[6];

    name_suffix(p->c->loop, end);
    *ret_prefix = arena_strndup(a, full, MIN(strlen(full), (size_t)PREFIX_MAX));
    return arena_printf(a, "%s%s", *ret_prefix, end);
}

void pod_write(const struct podplan *p, const struct kj_val *template, uint32_t i, const char *name,
               const char *prefix, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *pod = kj_mobj(d);

    kj_mset(d, pod, "apiVersion", kj_mstr(d, "v1"));
    kj_mset(d, pod, "kind", kj_mstr(d, "Pod"));
    add_meta(d, pod, kj_get(template, "metadata"), p);
    kj_mset(d, pod, "spec", kj_mcopy(d, kj_get(template, "spec")));
    if (p->decorate)
        p->decorate(p->arg, i, d, pod);
    struct kj_mval *meta = kj_mget(pod, "metadata");
    if (prefix)
        kj_mset(d, meta, "generateName", kj_mstr(d, prefix));
    kj_mset(d, meta, "name", kj_mstr(d, name));
    kj_mwrite(pod, 0, out);
}

void pod_set_text(struct kj_mdoc *d, struct kj_mval *pod, const char *map, const char *key,
                  const char *value)
{
    struct kj_mval *meta = kj_mget(pod, "metadata"), *to = kj_mget(meta, map);

    if (!to)
        kj_mset(d, meta, map, to = kj_mobj(d));
    kj_mset(d, to, key, kj_mstr(d, value));
}

static void build(struct batch *b, const struct podplan *p, const struct kj_val *template,
                  uint32_t i, struct making *out)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const char *prefix;
    char doubt[256];

    out->name = choose_name(b, p, i, &prefix);
    if (expect_take_doubt(p->expect, batch_key(b), prefix, doubt, sizeof doubt)) {
        out->name = arena_strdup(batch_arena(b), doubt);
        out->again = true;
    }
    pod_write(p, template, i, out->name, prefix, &text);
    out->body = arena_strndup(batch_arena(b), text.data, text.len);
    out->len = text.len;
}

/* ---- creating ------------------------------------------------------------------------------ */

static void next_wave(struct batch *b, struct maker *m);

/* The owner's namespace is going: nothing to repeat, and no news. */
static bool is_ending(const struct kerr *err)
{
    return err->reason == KR_FORBIDDEN && strstr(err->text, "being terminated");
}

static void tell_refusal(struct batch *b, struct maker *m, const struct kerr *err)
{
    if (m->stop)
        return;
    m->stop = true;
    if (is_ending(err))
        return;
    recorder_event_on(m->c->events, m->owner, true, "FailedCreate", NULL, "Error creating: %s",
                      err->text);
    if (m->on_refused)
        m->on_refused(m->arg, b, err);
}

static bool on_created(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct making *x = arg;
    struct maker *m = x->m;
    bool was_ours = err && err->reason == KR_ALREADY_EXISTS && x->again;

    (void)r;
    m->waiting--;
    if (err && !was_ours && err_is_refusal(err)) {
        expect_created(m->expect, batch_key(b), x->name);
        tell_refusal(b, m, err);
    } else if (err && !was_ours) {
        expect_doubt(m->expect, batch_key(b), x->name);
        m->stop = true;
    } else {
        m->c->stats.pods_created++;
        recorder_event_on(m->c->events, m->owner, false, "SuccessfulCreate", NULL,
                          "Created pod: %s", x->name);
    }
    if (m->waiting == 0)
        next_wave(b, m);
    return was_ours || (err && is_ending(err));
}

static void next_wave(struct batch *b, struct maker *m)
{
    uint32_t end = MIN(m->n, m->next + m->wave);

    if (m->stop)
        return;
    m->wave *= 2;
    for (; m->next < end; m->next++) {
        struct making *x = &m->pods[m->next];
        struct strbuf body = { .data = (char *)x->body, .len = x->len };
        m->waiting++;
        expect_create(m->expect, batch_key(b), x->name);
        batch_create(b, &kind_pod, m->owner->meta.ns, &body, on_created, x);
    }
}

void make_pods(struct batch *b, const struct podplan *p)
{
    struct arena *a = batch_arena(b);
    struct maker *m = arena_new0(a, struct maker);
    CLEANUP(kj_doc_free) struct kj_doc *template = NULL;
    struct kerr err = { 0 };

    if (!p->template_json ||
        kj_parse(p->template_json, strlen(p->template_json), 0, &template, &err) < 0)
        return;
    m->c = p->c;
    m->expect = p->expect;
    m->owner = batch_hold(b, p->owner);
    m->on_refused = p->on_refused;
    m->arg = p->arg;
    m->n = MIN(p->n, (uint32_t)PODS_A_SYNC);
    m->wave = 1;
    m->pods = arena_newn0(a, m->n, struct making);
    for (uint32_t i = 0; i < m->n; i++) {
        m->pods[i].m = m;
        build(b, p, kj_root(template), i, &m->pods[i]);
    }
    next_wave(b, m);
}

/* ---- deleting ------------------------------------------------------------------------------ */

enum { DELETE_TRIES = 5 };

struct unmaking { /* in the arena; the objects are held */
    struct cluster *c;
    struct expect *expect;
    const struct kobj *owner, *pod;
    unsigned tries;
};

static bool on_unmade(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg);

static void send_delete(struct batch *b, struct unmaking *u)
{
    u->tries++;
    batch_delete(b, u->pod, &(struct delete_opts){ .grace = -1, .any_version = true }, on_unmade,
                 u);
}

static bool on_unmade(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    struct unmaking *u = arg;

    (void)r;
    if (!err) {
        u->c->stats.pods_deleted++;
        recorder_event_on(u->c->events, u->owner, false, "SuccessfulDelete", NULL,
                          "Deleted pod: %s", u->pod->meta.name);
        return true;
    }
    /* A lost answer: the same again. A later pass might choose another pod, and delete two. */
    if (!err_is_refusal(err) && u->tries < DELETE_TRIES) {
        send_delete(b, u);
        return true;
    }
    expect_deleted(u->expect, batch_key(b), u->pod->meta.name);
    return err->reason == KR_NOT_FOUND || err->reason == KR_CONFLICT;
}

void unmake_pod(struct batch *b, struct cluster *c, struct expect *e, const struct kobj *owner,
                const struct kobj *pod)
{
    struct unmaking *u = arena_new0(batch_arena(b), struct unmaking);

    *u = (struct unmaking){
        .c = c, .expect = e, .owner = batch_hold(b, owner), .pod = batch_hold(b, pod)
    };
    expect_delete(e, batch_key(b), pod->meta.name);
    send_delete(b, u);
}

/* ---- whom to delete first ------------------------------------------------------------------ */

struct ranked {
    struct kobj *o;
    const struct pod *p;
    int64_t cost, ready_age, age, restarts;
    uint32_t crowd; /* pods of the group on its node */
    int phase;
    bool ready;
};

/* Ages count by their order of magnitude, so that not always the newest ones go (KEP-2185). */
static int64_t magnitude(nsec_t then, nsec_t now)
{
    return now > then ? i64_from_f64(log10((double)i64_sub_sat(now, then))) : -1;
}

static int64_t restarts_of(const struct pod *p)
{
    int64_t most = 0;
    for (uint32_t i = 0; i < p->status.container_statuses.n; i++)
        most = MAX(most, (int64_t)p->status.container_statuses.items[i].restart_count);
    return most;
}

static int by_rank(const void *a, const void *b)
{
    const struct ranked *x = a, *y = b;
    bool xa = !str_empty(x->p->node_name), ya = !str_empty(y->p->node_name);
    char ux[KUID_TEXT_MAX], uy[KUID_TEXT_MAX];

    if (xa != ya)
        return xa ? 1 : -1;
    if (x->phase != y->phase)
        return x->phase - y->phase;
    if (x->ready != y->ready)
        return x->ready ? 1 : -1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? -1 : 1;
    if (x->crowd != y->crowd)
        return x->crowd > y->crowd ? -1 : 1;
    if (x->ready && x->ready_age != y->ready_age)
        return x->ready_age < y->ready_age ? -1 : 1;
    if (x->restarts != y->restarts)
        return x->restarts > y->restarts ? -1 : 1;
    if (x->age != y->age)
        return x->age < y->age ? -1 : 1;
    kuid_format(x->o->meta.uid, ux, sizeof ux);
    kuid_format(y->o->meta.uid, uy, sizeof uy);
    return strcmp(ux, uy);
}

static void rank_one(struct kobj *o, const kobjvec *related, nsec_t now, struct ranked *r)
{
    const struct pod *p = pod_of(o);
    const char *cost = meta_annotation(o, "controller.kubernetes.io/pod-deletion-cost");
    const struct condition *ready = condition_find(&p->status.conditions, "Ready");

    *r = (struct ranked){ .o = o, .p = p };
    r->phase = p->status.phase == POD_RUNNING ? 2 : p->status.phase == POD_PHASE_UNKNOWN ? 1 : 0;
    r->ready = ready && ready->status == COND_TRUE;
    r->ready_age = r->ready ? magnitude(ready->last_transition_time, now) : 0;
    r->age = magnitude(o->meta.created, now);
    r->restarts = restarts_of(p);
    if (i64_parse(cost, strlen(cost), &r->cost) < 0)
        r->cost = 0;
    vec_foreach(related, i) {
        const struct pod *other = pod_of(related->items[i]);
        r->crowd +=
            pod_is_active(other) && streq(str_or(other->node_name, ""), str_or(p->node_name, ""));
    }
}

void rank_for_deletion(kobjvec *pods, const kobjvec *related, nsec_t now)
{
    struct vec_of(struct ranked) v = { 0 };

    vec_foreach(pods, i) {
        struct ranked r;
        rank_one(pods->items[i], related, now, &r);
        vec_push(&v, r);
    }
    if (v.n)
        qsort(v.items, v.n, sizeof *v.items, by_rank);
    vec_foreach(&v, i)
        pods->items[i] = v.items[i].o;
    vec_fini(&v);
}
