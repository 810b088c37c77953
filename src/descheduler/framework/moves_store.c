/* moves_store.c - the memory of moves in a ConfigMap, so that a restart forgets nothing. */
#include "descheduler/framework/moves_int.h"

#include "api/core.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "client/kube.h"
#include "loop/loop.h"
#include "json/kj.h"

#define DATA_KEY   "moves"
#define WRITE_WAIT (5 * NSEC_PER_SEC)
#define RETRY_MAX  (5 * 60 * NSEC_PER_SEC)
enum { TEXT_MAX_BYTES = 1 << 20 };

/* ---- text ------------------------------------------------------------------------------------- */

struct stored_workload {
    const char *key;
    nsec_t until;
    int32_t strikes;
    KLIST(struct moved_node) nodes;
    KLIST(nsec_t) times;
};
struct stored {
    KLIST(struct stored_workload) workloads;
};

#define STYPE struct moved_node
static const struct kfield node_fields[] = {
    KF(STYPE, node, "node", KF_STR),
    KF(STYPE, at, "at", KF_TIME),
    KF(STYPE, until, "staysUntil", KF_TIME, .flags = KF_OMITEMPTY),
    KF(STYPE, seen, "cameBack", KF_TIME, .flags = KF_OMITEMPTY),
    KF(STYPE, returns, "returns", KF_I32, .flags = KF_OMITEMPTY),
};
static const struct kschema node_schema = KSCHEMA("MovedNode", STYPE, node_fields);
#undef STYPE
#define STYPE struct stored_workload
static const struct kfield workload_fields[] = {
    KF(STYPE, key, "workload", KF_STR),
    KF(STYPE, until, "staysUntil", KF_TIME, .flags = KF_OMITEMPTY),
    KF(STYPE, strikes, "strikes", KF_I32, .flags = KF_OMITEMPTY),
    KF_LIST_OF(STYPE, nodes, "from", KF_OBJ, .sub = &node_schema),
    KF_LIST_OF(STYPE, times, "moves", KF_TIME),
};
static const struct kschema workload_schema = KSCHEMA("Moved", STYPE, workload_fields);
#undef STYPE
#define STYPE struct stored
static const struct kfield stored_fields[] = {
    KF_LIST_OF(STYPE, workloads, "workloads", KF_OBJ, .sub = &workload_schema),
};
static const struct kschema stored_schema = KSCHEMA("Moves", STYPE, stored_fields);
#undef STYPE

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct stored_workload *)a)->key,
                  ((const struct stored_workload *)b)->key);
}

static void encode(const struct moves *m, struct strbuf *out)
{
    CLEANUP(mem_free)
    struct stored_workload *all = xnewn0(m->all.n ? m->all.n : 1, struct stored_workload);
    struct stored s = { .workloads = { all, 0 } };

    map_foreach(&m->all, e) {
        struct moved *w = e->value;
        struct stored_workload *x = &all[s.workloads.n++];
        x->key = w->key;
        x->until = w->until;
        x->strikes = w->strikes;
        x->nodes.items = w->nodes;
        x->nodes.n = w->nnodes;
        x->times.items = w->times;
        x->times.n = w->ntimes;
    }
    qsort(all, s.workloads.n, sizeof *all, by_key);
    kj_encode(&stored_schema, &s, out);
}

static void take_workload(struct moves *m, const struct stored_workload *x)
{
    struct moved *w = moves_make(m, x->key);

    if (w->last) /* moved again before the text was read: ours is newer */
        return;
    w->until = x->until;
    w->strikes = MAX(x->strikes, 0);
    for (uint32_t i = 0; i < x->nodes.n && i < MOVES_NODES; i++) {
        w->nodes[i] = x->nodes.items[i];
        w->nodes[i].node = xstrdup(x->nodes.items[i].node);
        w->nodes[i].returns = MAX(w->nodes[i].returns, 0);
        w->nnodes++;
    }
    for (uint32_t i = 0; i < x->times.n && i < MOVES_TIMES; i++)
        w->times[w->ntimes++] = x->times.items[i];
    w->last = w->ntimes ? w->times[0] : 0;
}

/* Bad text is an error, and nothing is read. */
static int decode(struct moves *m, const char *text, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct stored s;
    size_t n = strlen(text);

    if (n > TEXT_MAX_BYTES)
        return kerr_set(err, -E2BIG, "more than %d bytes", TEXT_MAX_BYTES);
    if (kj_decode_text(&stored_schema, text, n, 0, a, &s, err) < 0)
        return err->code;
    for (uint32_t i = 0; i < s.workloads.n && i < MOVES_WORKLOADS; i++)
        if (*s.workloads.items[i].key)
            take_workload(m, &s.workloads.items[i]);
    return 0;
}

/* ---- writing ---------------------------------------------------------------------------------- */

static void write_now(struct moves *m);

static void on_timer(struct loop *l, void *arg)
{
    struct moves *m = arg;

    (void)l;
    m->timer = NULL;
    if (!m->ready)
        moves_read(m);
    else if (m->dirty)
        write_now(m);
}

static void write_later(struct moves *m)
{
    nsec_t d = WRITE_WAIT << MIN(m->failures, 8u);

    if (!m->timer && !m->call)
        m->timer = loop_after(m->o.loop, MIN(d, RETRY_MAX), on_timer, m);
}

void moves_changed(struct moves *m)
{
    m->dirty = true;
    if (m->started && m->ready && !m->o.read_only)
        write_later(m);
}

static void on_written(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct moves *m = arg;

    (void)r;
    m->call = NULL;
    m->failures = err ? m->failures + 1 : 0;
    if (!err) {
        m->exists = true;
    } else {
        m->dirty = true;
        m->exists = err->reason == KR_ALREADY_EXISTS || (m->exists && err->reason != KR_NOT_FOUND);
        if (m->failures == 1 && err->reason != KR_ALREADY_EXISTS && err->reason != KR_NOT_FOUND)
            KLOG_E(err, "Failed to write the memory of moves, trying again",
                   KV_S("namespace", m->ns), KV_S("configMap", m->name));
    }
    if (m->dirty)
        write_later(m);
}

static void write_now(struct moves *m)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, body = STRBUF_INIT;
    struct kjw w;

    encode(m, &text);
    w = kjw_to(&body);
    kjw_obj(&w, NULL);
    if (!m->exists) {
        kjw_obj(&w, "metadata");
        kjw_str(&w, "name", m->name);
        kjw_end(&w);
    }
    kjw_obj(&w, "data");
    kjw_str(&w, DATA_KEY, strbuf_str(&text));
    kjw_end(&w);
    kjw_end(&w);
    m->dirty = false;
    m->call = kube_do(m->o.kube,
                      &(struct kube_req){ .verb = m->exists ? KUBE_PATCH : KUBE_CREATE,
                                          .kind = &kind_configmap,
                                          .ns = m->ns,
                                          .name = m->exists ? m->name : NULL,
                                          .patch = KUBE_PATCH_MERGE,
                                          .body = body.data,
                                          .body_len = body.len },
                      on_written, m);
}

/* ---- reading ---------------------------------------------------------------------------------- */

static void take_text(struct moves *m, struct kube_resp *r)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    int n = kj_parse(r->body, r->n, 0, &doc, &err);
    const char *text = n < 0 ? NULL : kj_str(kj_get(kj_get(kj_root(doc), "data"), DATA_KEY));
    if (n == 0 && text)
        n = decode(m, text, &err);
    if (n < 0)
        KLOG_E(&err, "The memory of moves cannot be read, beginning anew", KV_S("namespace", m->ns),
               KV_S("configMap", m->name));
}

static void on_read(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct moves *m = arg;

    m->call = NULL;
    if (err && err->reason != KR_NOT_FOUND) {
        if (m->failures++ == 0)
            KLOG_E(err, "Failed to read the memory of moves, trying again",
                   KV_S("namespace", m->ns), KV_S("configMap", m->name));
        /* Without it we can work, and it may never be allowed. */
        m->ready = err->reason == KR_FORBIDDEN;
        write_later(m);
        return;
    }
    m->failures = 0;
    m->ready = true;
    m->exists = !err;
    if (!err)
        take_text(m, r);
    if (m->dirty)
        moves_changed(m);
}

void moves_read(struct moves *m)
{
    m->call = kube_do(m->o.kube,
                      &(struct kube_req){
                          .verb = KUBE_GET, .kind = &kind_configmap, .ns = m->ns, .name = m->name },
                      on_read, m);
}
