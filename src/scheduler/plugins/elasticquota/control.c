/* control.c - the status and annotations of quotas, and the three built-in ones (sched-quota 7,
 * 16).
 *
 * A burst of changes is gathered, then the quotas whose numbers differ from what was found written
 * are looked at. A patch holds what differs and the version it was compared with: who wrote
 * meanwhile is not overwritten.
 */
#include "scheduler/plugins/elasticquota/control.h"

#include <stdio.h>

#include "api/koord/quota.h"
#include "api/protocol/quota.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/events.h"
#include "controllers/controller.h"
#include "loop/loop.h"
#include "scheduler/plugins/elasticquota/quotas.h"
#include "json/kj.h"

/* Bursts are written once; upstream looks once a second. */
#define GATHER (500 * NSEC_PER_MSEC)
/* What quota evaluate has charged for pods that the scheduler has not seen yet is not lowered
 * before this. */
#define FRESH_CHARGE (5 * NSEC_PER_SEC)

struct quota_control {
    struct quotas *quotas;
    struct controller_env env;
    struct controller *status;
    struct informer *objects;
    struct quota_revoker *revoker;
    struct timer *tick;
    struct map seen; /* struct quota_seen by name */
};

struct quota_seen { /* what is known of the written state of a quota */
    uint64_t hash;  /* of the numbers that were found written, or were written; 0: look */
    uint64_t told;  /* of the problem that people were told of */
    nsec_t charged; /* when somebody else wrote child-request */
    char *charge;   /* as we wrote it */
    char name[];
};

static struct quota_seen *seen_of(struct quota_control *c, const char *name)
{
    struct quota_seen *s = map_getz(&c->seen, name);

    if (s)
        return s;
    size_t n = strlen(name) + 1;
    s = xcalloc(1, sizeof *s + n);
    memcpy(s->name, name, n);
    /* A leader that has just begun does not know how old a charge is. */
    s->charged = MAX(loop_mono(c->env.loop), 1);
    map_putz(&c->seen, s->name, s);
    return s;
}

static void seen_free(struct quota_seen *s)
{
    free(s->charge);
    free(s);
}

/* ---- what should be written ------------------------------------------------------------------ */

static const struct {
    const char *key;
    enum quota_field field;
} written[] = {
    { ANNO_QUOTA_RUNTIME, QUOTA_RUNTIME },
    { ANNO_QUOTA_REQUEST, QUOTA_REQUEST },
    { ANNO_QUOTA_CHILD_REQUEST, QUOTA_CHILD_REQUEST },
    { ANNO_QUOTA_GUARANTEED, QUOTA_GUARANTEED },
    { ANNO_QUOTA_ALLOCATED, QUOTA_ALLOCATED },
    { ANNO_QUOTA_NON_PREEMPTIBLE_REQUEST, QUOTA_NP_REQUEST },
    { ANNO_QUOTA_NON_PREEMPTIBLE_USED, QUOTA_NP_USED },
};

static reslist should_be(struct quotas *s, struct quota *q, enum quota_field field, struct arena *a)
{
    uint64_t keys;
    const int64_t *v = quota_values(s->forest, q, field, &keys);

    if (field == QUOTA_RUNTIME)
        keys &= quota_keys(q);
    return quota_columns_list(forest_columns(s->forest), keys, v, QUOTA_FIELDS, a);
}

static uint64_t numbers_hash(struct quotas *s, struct quota *q)
{
    uint32_t n = forest_columns(s->forest)->n;
    uint64_t hash = n;

    for (size_t i = 0; i <= ARRAY_LEN(written); i++) {
        uint64_t keys;
        const int64_t *v = quota_values(
            s->forest, q, i < ARRAY_LEN(written) ? written[i].field : QUOTA_USED, &keys);
        for (uint64_t c = 0; c < n; c++)
            hash = (hash ^ (uint64_t)quota_at(v, c)) * UINT64_C(0x9e3779b97f4a7c15) + (hash >> 29);
    }
    return hash | 1;
}

/* An amount of 0 says as much as none. */
static bool same_amounts(const reslist *a, const reslist *b)
{
    for (uint32_t i = 0; i < a->n; i++)
        if (qty_cmp(a->items[i].value, reslist_get(b, a->items[i].name)) != 0)
            return false;
    for (uint32_t i = 0; i < b->n; i++)
        if (!reslist_has(a, b->items[i].name) && !qty_is_zero(b->items[i].value))
            return false;
    return true;
}

static bool is_written(const struct kobj *o, const char *key, const reslist *want, struct arena *a)
{
    const char *text = kstrmap_get(&o->meta.annotations, key);
    reslist have = { 0 };
    struct kerr unread = { 0 };

    if (!str_empty(text) && reslist_decode_text(text, a, &have, &unread) < 0)
        return false; /* it is ours: written again */
    return same_amounts(&have, want);
}

/* Somebody has charged more than we know of, a moment ago: it is for pods that are on their way. */
static bool charge_is_fresh(const struct quota_control *c, const struct quota_seen *seen,
                            const struct kobj *o, const reslist *want, struct arena *a)
{
    const char *text = kstrmap_get(&o->meta.annotations, ANNO_QUOTA_CHILD_REQUEST);
    reslist have = { 0 };
    struct kerr unread = { 0 };

    if (!seen->charged || loop_mono(c->env.loop) - seen->charged >= FRESH_CHARGE ||
        str_empty(text) || reslist_decode_text(text, a, &have, &unread) < 0)
        return false;
    for (uint32_t i = 0; i < have.n; i++)
        if (qty_cmp(have.items[i].value, reslist_get(want, have.items[i].name)) > 0)
            return true;
    return false;
}

/* ---- writing --------------------------------------------------------------------------------- */

static void write_text(struct kjw *w, const char *key, const reslist *l)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    reslist_encode(l, &text);
    kjw_str(w, key, strbuf_str(&text));
}

static void write_list(struct kjw *w, const char *key, const reslist *l)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    reslist_encode(l, &text);
    kjw_raw(w, key, strbuf_str(&text), text.len);
}

/* As a merge patch: what is not counted any more has to go by name. */
static void write_used(struct kjw *w, const reslist *have, const reslist *want)
{
    char text[QTY_TEXT_MAX];

    kjw_obj(w, "used");
    for (uint32_t i = 0; i < want->n; i++) {
        qty_print(want->items[i].value, text);
        kjw_str(w, want->items[i].name, text);
    }
    for (uint32_t i = 0; i < have->n; i++)
        if (!reslist_has(want, have->items[i].name))
            kjw_null(w, have->items[i].name);
    kjw_end(w);
}

/* The members of a patch that differ; their number. */
static unsigned write_annotations(struct quota_control *c, struct quota_seen *seen, struct quota *q,
                                  const struct kobj *o, struct kjw *w, struct batch *b)
{
    struct arena *a = batch_arena(b);
    unsigned n = 0;

    for (size_t i = 0; i < ARRAY_LEN(written); i++) {
        reslist want = should_be(c->quotas, q, written[i].field, a);
        bool charge = written[i].field == QUOTA_CHILD_REQUEST;
        if (is_written(o, written[i].key, &want, a))
            continue;
        if (charge && charge_is_fresh(c, seen, o, &want, a)) {
            batch_again(b, FRESH_CHARGE);
            continue;
        }
        write_text(w, written[i].key, &want);
        n++;
        if (charge) {
            CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
            reslist_encode(&want, &text);
            free(seen->charge);
            seen->charge = xstrdup(strbuf_str(&text));
        }
    }
    return n;
}

struct hook_patch { /* annotations of hook plugins, into a patch */
    struct kjw *w;
    const struct kobj *quota;
    unsigned n;
};

static void put_hooked(void *to, const char *key, const char *value)
{
    struct hook_patch *p = to;
    const char *is = kstrmap_get(&p->quota->meta.annotations, key);

    if (is && streq(is, value))
        return;
    kjw_str(p->w, key, value);
    p->n++;
}

static unsigned write_hooked(struct quota_control *c, const struct kobj *o, struct kjw *w)
{
    struct hook_patch p = { w, o, 0 };

    quota_hooks_status(&c->quotas->hooks, elasticquota_of(o),
                       &(struct quota_annotations){ put_hooked, &p });
    return p.n;
}

struct status_write {
    struct quota_control *c;
    nsec_t from;
};

static bool on_status(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    const struct status_write *x = arg;

    (void)b, (void)r;
    quota_observe_status(&x->c->quotas->observer, x->from);
    return !err || err->reason == KR_NOT_FOUND;
}

static void sync_status(struct quota_control *c, struct batch *b, struct quota *q,
                        const struct kobj *o)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct quota_seen *seen = seen_of(c, o->meta.name);
    struct kjw w = kjw_to(&body);
    reslist used = should_be(c->quotas, q, QUOTA_USED, batch_arena(b));
    bool used_differs = !same_amounts(&elasticquota_of(o)->used, &used);

    seen->hash = numbers_hash(c->quotas, q);
    kjw_obj(&w, NULL);
    kjw_obj(&w, "metadata");
    kjw_str(&w, "resourceVersion", o->meta.resource_version);
    kjw_obj(&w, "annotations");
    unsigned n = write_annotations(c, seen, q, o, &w, b) + write_hooked(c, o, &w);
    kjw_end(&w);
    kjw_end(&w);
    if (used_differs) {
        kjw_obj(&w, "status");
        write_used(&w, &elasticquota_of(o)->used, &used);
        kjw_end(&w);
    }
    kjw_end(&w);
    if (!n && !used_differs)
        return;
    struct status_write *x = arena_new0(batch_arena(b), struct status_write);
    *x = (struct status_write){ c, quota_observe_begin(&c->quotas->observer) };
    batch_patch(b, o, NULL, KUBE_PATCH_MERGE, &body, on_status, x);
}

/* ---- the built-in quotas --------------------------------------------------------------------- */

static const char *const built_in[] = { QUOTA_ROOT_NAME, QUOTA_SYSTEM_NAME, QUOTA_DEFAULT_NAME };

/* NULL: the key is not that of a built-in quota. */
static const char *built_in_of(const struct quota_control *c, const char *key)
{
    size_t n = strlen(c->quotas->args.ns);

    if (strncmp(key, c->quotas->args.ns, n) != 0 || key[n] != '/')
        return NULL;
    for (size_t i = 0; i < ARRAY_LEN(built_in); i++)
        if (streq(key + n + 1, built_in[i]))
            return built_in[i];
    return NULL;
}

static bool on_created(struct batch *b, struct kube_resp *r, const struct kerr *err, void *arg)
{
    (void)b, (void)r;
    if (err)
        KLOG_W("Failed to create a built-in quota", KV_S("err", err->text), KV_S("quota", arg));
    return true; /* a namespace that is missing does not stop the others */
}

static void create_built_in(struct quota_control *c, struct batch *b, const char *name)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const char *ns = c->quotas->args.ns;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "apiVersion", "scheduling.sigs.k8s.io/v1alpha1");
    kjw_str(&w, "kind", "ElasticQuota");
    kjw_obj(&w, "metadata");
    kjw_str(&w, "name", name);
    kjw_str(&w, "namespace", ns);
    if (streq(name, QUOTA_ROOT_NAME)) {
        kjw_obj(&w, "labels");
        kjw_str(&w, LABEL_QUOTA_ALLOW_LENT, "false");
        kjw_str(&w, LABEL_QUOTA_IS_PARENT, "true");
        kjw_str(&w, LABEL_QUOTA_PARENT, "");
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_obj(&w, "spec");
    if (!streq(name, QUOTA_ROOT_NAME))
        write_list(&w, "max",
                   streq(name, QUOTA_SYSTEM_NAME) ? &c->quotas->args.system_max
                                                  : &c->quotas->args.default_max);
    kjw_end(&w);
    kjw_end(&w);
    batch_create(b, &kind_elasticquota, ns, &body, on_created, (void *)(uintptr_t)name);
}

/* ---- what people are told -------------------------------------------------------------------- */

/* A text that an annotation should be and is not. */
static const char *bad_annotation(const struct kobj *o, struct arena *a)
{
    struct reslist_value list;
    struct strlist_value names;
    struct kerr err = { 0 };

    if (quota_shared_weight_read(&o->meta.annotations, a, &list, &err) < 0 ||
        quota_total_resource_read(&o->meta.annotations, a, &list, &err) < 0 ||
        quota_namespaces_read(&o->meta.annotations, a, &names, &err) < 0)
        return arena_strdup(a, err.text);
    return "";
}

static void tell_problem(struct quota_control *c, const struct kobj *o, struct arena *a)
{
    struct quotas *s = c->quotas;
    struct quota_seen *seen = seen_of(c, o->meta.name);
    const struct quota_owner *owner = map_getz(&s->owners, o->meta.name);
    const char *text = "";

    if (owner && !streq(owner->ns, o->meta.ns))
        text = arena_printf(a, "the name belongs to quota %s/%s", owner->ns, owner->name);
    else if (quotas_problem(s, o->meta.name))
        text = quotas_problem(s, o->meta.name)->problem;
    if (!*text)
        text = bad_annotation(o, a);
    uint64_t hash = *text ? hash_bytes(text, strlen(text)) : 0;
    if (hash && hash != seen->told && c->env.events)
        recorder_event_on(c->env.events, o, true, "InvalidQuota", "Quota", "%s", text);
    if (owner && streq(owner->ns, o->meta.ns))
        seen->told = hash;
}

static void sync(void *self, struct batch *b, const char *key, struct kobj *obj)
{
    struct quota_control *c = self;
    const char *special = built_in_of(c, key);

    if (!obj) {
        if (special && !map_getz(&c->quotas->owners, special))
            create_built_in(c, b, special);
        return;
    }
    const struct quota_owner *owner = map_getz(&c->quotas->owners, obj->meta.name);
    struct quota *q = forest_find(c->quotas->forest, obj->meta.name);
    tell_problem(c, obj, batch_arena(b));
    if (q && owner && streq(owner->ns, obj->meta.ns) && !obj->meta.deleted)
        sync_status(c, b, q, obj);
}

/* ---- what makes it look ---------------------------------------------------------------------- */

static void on_tick(struct loop *l, void *arg)
{
    struct quota_control *c = arg;
    char key[KOBJ_KEY_MAX];

    (void)l;
    c->tick = NULL;
    map_foreach(&c->quotas->owners, e) {
        const struct quota_owner *o = e->value;
        struct quota *q = forest_find(c->quotas->forest, o->name);
        if (!q || numbers_hash(c->quotas, q) == seen_of(c, o->name)->hash)
            continue;
        (void)snprintf(key, sizeof key, "%s/%s", o->ns, o->name);
        controller_add(c->status, key);
    }
}

void control_touch(struct quota_control *c)
{
    if (c && !c->tick)
        c->tick = loop_after(c->env.loop, GATHER, on_tick, c);
}

static void on_add(void *arg, struct kobj *o)
{
    struct quota_control *c = arg;

    controller_add_object(c->status, o);
}

static void on_update(void *arg, struct kobj *old, struct kobj *o)
{
    struct quota_control *c = arg;
    struct quota_seen *seen = seen_of(c, o->meta.name);
    const char *was = str_or(kstrmap_get(&old->meta.annotations, ANNO_QUOTA_CHILD_REQUEST), "");
    const char *is = str_or(kstrmap_get(&o->meta.annotations, ANNO_QUOTA_CHILD_REQUEST), "");

    if (!streq(was, is) && !streq(is, str_or(seen->charge, "")))
        seen->charged = loop_mono(c->env.loop);
    controller_add_object(c->status, o);
}

static void on_delete(void *arg, struct kobj *o)
{
    struct quota_control *c = arg;
    struct quota_seen *seen = map_removez(&c->seen, o->meta.name);

    if (seen)
        seen_free(seen);
    controller_add_object(c->status, o);
}

static void on_start(void *self)
{
    struct quota_control *c = self;
    char key[KOBJ_KEY_MAX];

    for (size_t i = 0; i < ARRAY_LEN(built_in); i++) {
        (void)snprintf(key, sizeof key, "%s/%s", c->quotas->args.ns, built_in[i]);
        controller_add(c->status, key);
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void *control_start(void *service, struct controllers *all, const struct controller_env *env)
{
    static const struct informer_handler handler = { on_add, on_update, on_delete, NULL };
    struct quota_control *c = xnew0(struct quota_control);

    c->quotas = service;
    c->env = *env;
    c->objects = caches_get(env->caches, &kind_elasticquota);
    c->status = controller_new(
        all,
        &(struct controller_opts){
            .name = "quotastatus", .of = c->objects, .sync = sync, .start = on_start, .self = c });
    controller_watch(c->status, c->objects, &handler, c);
    c->revoker = revoker_new(c->quotas, all, env);
    c->quotas->control = c;
    return c;
}

static void control_stop(void *started)
{
    struct quota_control *c = started;

    c->quotas->control = NULL;
    c->tick = timer_cancel(c->tick);
    revoker_free(c->revoker);
    controller_free(c->status);
    map_foreach(&c->seen, e)
        seen_free(e->value);
    map_fini(&c->seen);
    free(c);
}

const struct ks_controller quotas_controller = { control_start, control_stop };
