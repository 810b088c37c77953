/* round.c - the candidates of one pod go from extender to extender: those that filter one after the
 * other, then all that score at once.
 */
#include "api/node.h"
#include "api/pod.h"
#include "base/arena.h"
#include "base/klog.h"
#include "base/num.h"
#include "base/strbuf.h"
#include "scheduler/extender/extender_int.h"
#include "json/kj.h"

enum { WHY_MAX = 1024 };
/* Extenders score to 10, plugins to 100. */
#define SCORE_SCALE 10
/* More than any honest score with any weight, and far from an overflow of the totals. */
#define SCORE_MAX (INT64_C(1) << 40)

struct scoring {
    struct round *r;
    struct extender *e;
    struct extender_call *call;
};
struct round {
    struct extenders *set;
    struct arena *arena;
    struct kobj *pod;
    struct attempt_opinion *nodes; /* by name */
    struct kobj **objects;
    uint32_t n, left; /* left: not rejected so far */
    uint32_t at;      /* the extender that filters */
    struct extender_call *call;
    struct scoring *scorings;
    uint32_t nscorings, pending;
    round_fn fn;
    void *arg;
};

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct round_node *)a)->name, ((const struct round_node *)b)->name);
}

static int to_name(const void *name, const void *opinion)
{
    return strcmp(name, ((const struct attempt_opinion *)opinion)->node);
}

static struct attempt_opinion *find(const struct round *r, const char *name)
{
    return bsearch(name, r->nodes, r->n, sizeof *r->nodes, to_name);
}

static void write_nodes(const struct round *r, struct kjw *w)
{
    CLEANUP(strbuf_fini) struct strbuf node = STRBUF_INIT;

    kjw_obj(w, "Nodes");
    kjw_obj(w, "metadata");
    kjw_end(w);
    kjw_arr(w, "items");
    for (uint32_t i = 0; i < r->n; i++) {
        if (r->nodes[i].code != KS_SUCCESS)
            continue;
        strbuf_reset(&node);
        kj_encode(kind_node.schema, node_of(r->objects[i]), &node);
        kjw_raw(w, NULL, node.data, node.len);
    }
    kjw_end(w);
    kjw_end(w);
}

static void write_names(const struct round *r, struct kjw *w)
{
    kjw_arr(w, "NodeNames");
    for (uint32_t i = 0; i < r->n; i++)
        if (r->nodes[i].code == KS_SUCCESS)
            kjw_str(w, NULL, r->nodes[i].node);
    kjw_end(w);
}

static struct extender_call *ask(struct round *r, struct extender *e, enum extender_verb verb,
                                 extender_fn fn, void *arg)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    extender_put_pod(&w, "Pod", r->pod);
    if (e->c.node_cache_capable) {
        kjw_null(&w, "Nodes");
        write_names(r, &w);
    } else {
        write_nodes(r, &w);
        kjw_null(&w, "NodeNames");
    }
    kjw_end(&w);
    return extender_post(e, verb, &body, fn, arg);
}

static void finish(struct round *r, const struct kerr *err)
{
    struct attempt_advice said = { r->nodes, r->n };
    r->fn(r->arg, err ? NULL : &said, err);
}

/* ---- scores ---------------------------------------------------------------------------------- */

static void add_scores(struct round *r, const struct extender *e,
                       const struct host_priorities *said)
{
    for (uint32_t i = 0; i < said->items.n; i++) {
        struct attempt_opinion *o = find(r, said->items.items[i].host);
        if (!o)
            continue;
        int64_t more =
            i64_mul_sat(i64_mul_sat(said->items.items[i].score, e->c.weight), SCORE_SCALE);
        o->score = MIN(MAX(i64_add_sat(o->score, more), -SCORE_MAX), SCORE_MAX);
    }
}

/* Scores are a wish: who fails to tell his has none. */
static void on_scores(void *arg, const struct kj_val *answer, const struct kerr *failed)
{
    struct scoring *s = arg;
    struct round *r = s->r;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct host_priorities said = { 0 };
    struct kerr err = { 0 };

    s->call = NULL;
    if (failed)
        err = *failed;
    else if (extender_decode(&host_priorities_schema, answer, a, &said, &err) == 0)
        add_scores(r, s->e, &said);
    if (err.code)
        KLOG_E(&err, "Extender failed to prioritize, ignoring its scores", KV_S("url", s->e->url),
               KV_S("pod", r->pod->meta.name));
    if (--r->pending == 0)
        finish(r, NULL);
}

/* false: nobody scores. */
static bool ask_scores(struct round *r)
{
    if (r->left < 2) /* nothing to compare it with */
        return false;
    r->scorings = arena_newn0(r->arena, r->set->n, struct scoring);
    for (uint32_t i = 0; i < r->set->n; i++) {
        struct extender *e = &r->set->items[i];
        if (!extender_serves(e, EXTENDER_PRIORITIZE, pod_of(r->pod)))
            continue;
        struct scoring *s = &r->scorings[r->nscorings++];
        *s = (struct scoring){ .r = r, .e = e };
        s->call = ask(r, e, EXTENDER_PRIORITIZE, on_scores, s);
        r->pending++;
    }
    return r->pending;
}

/* ---- filters --------------------------------------------------------------------------------- */

static void on_filtered(void *arg, const struct kj_val *answer, const struct kerr *failed);

/* false: nobody is asked any more. */
static bool ask_next(struct round *r)
{
    for (; r->at < r->set->n && r->left; r->at++) {
        struct extender *e = &r->set->items[r->at];
        if (!extender_serves(e, EXTENDER_FILTER, pod_of(r->pod)))
            continue;
        r->call = ask(r, e, EXTENDER_FILTER, on_filtered, r);
        return true;
    }
    return ask_scores(r);
}

static int keep(const struct round *r, const char *name, uint8_t *kept, struct kerr *err)
{
    const struct attempt_opinion *o = find(r, name);

    if (!o || o->code != KS_SUCCESS)
        return kerr_set(err, -EBADMSG,
                        "extender \"%s\" claims a filtered node \"%.64s\" which is not found in "
                        "the input node list",
                        r->set->items[r->at].url, name);
    kept[o - r->nodes] = 1;
    return 0;
}

static int find_kept(const struct round *r, const struct filter_result *said, uint8_t *kept,
                     struct kerr *err)
{
    int code = 0;

    if (r->set->items[r->at].c.node_cache_capable && said->names.n) {
        for (uint32_t i = 0; i < said->names.n && code == 0; i++)
            code = keep(r, said->names.items[i], kept, err);
        return code;
    }
    for (uint32_t i = 0; said->nodes && i < said->nodes->items.n && code == 0; i++)
        code = keep(r, said->nodes->items.items[i].meta.name, kept, err);
    return code;
}

/* Not in the middle of a character. */
static const char *copy_why(struct arena *a, const char *why)
{
    size_t n = strlen(why);

    if (n > WHY_MAX)
        for (n = WHY_MAX; n > 0 && ((unsigned char)why[n] & 0xc0) == 0x80;)
            n--;
    return arena_strndup(a, why, n);
}

static void turn_down(struct round *r, const struct filter_result *said, const uint8_t *kept)
{
    for (uint32_t i = 0; i < r->n; i++) {
        struct attempt_opinion *o = &r->nodes[i];
        if (o->code != KS_SUCCESS || kept[i])
            continue;
        const char *never = kstrmap_get(&said->unresolvable, o->node);
        const char *why = never ? never : kstrmap_get(&said->failed, o->node);
        o->code = never || !why ? KS_UNRESOLVABLE : KS_UNSCHEDULABLE;
        o->why = why ? copy_why(r->arena, why) : "";
        r->left--;
    }
}

static int filtered(struct round *r, const struct kj_val *answer, struct kerr *err)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct filter_result said = { 0 };
    uint8_t *kept = arena_zalloc(a, r->n);

    int code = extender_decode(&filter_result_schema, answer, a, &said, err);
    if (code < 0)
        return kerr_wrap(err, "answer of extender at URL %s", r->set->items[r->at].url);
    code = find_kept(r, &said, kept, err);
    if (code == 0)
        turn_down(r, &said, kept);
    return code;
}

static void on_filtered(void *arg, const struct kj_val *answer, const struct kerr *failed)
{
    struct round *r = arg;
    const struct extender *e = &r->set->items[r->at];
    struct kerr err = { 0 };

    r->call = NULL;
    if (failed)
        err = *failed;
    else
        (void)filtered(r, answer, &err);
    if (err.code && !e->c.ignorable) {
        finish(r, &err);
        return;
    }
    if (err.code)
        KLOG_E(&err, "Extender failed to filter, ignoring it", KV_S("url", e->url),
               KV_S("pod", r->pod->meta.name));
    r->at++;
    if (!ask_next(r))
        finish(r, NULL);
}

/* ---- life ------------------------------------------------------------------------------------ */

static void take_nodes(struct round *r, const struct round_node *nodes, uint32_t n)
{
    struct round_node *sorted = arena_newn0(r->arena, n, struct round_node);

    memcpy(sorted, nodes, n * sizeof *nodes);
    qsort(sorted, n, sizeof *sorted, by_name);
    r->nodes = arena_newn0(r->arena, n, struct attempt_opinion);
    r->objects = arena_newn0(r->arena, n, struct kobj *);
    for (uint32_t i = 0; i < n; i++) {
        r->nodes[i].node = arena_strdup(r->arena, sorted[i].name);
        r->nodes[i].why = "";
        r->objects[i] = kobj_ref(sorted[i].node);
    }
    r->n = r->left = n;
}

struct round *round_start(struct extenders *s, struct kobj *pod, const struct round_node *nodes,
                          uint32_t n, round_fn fn, void *arg)
{
    struct round *r = xnew0(struct round);

    *r = (struct round){
        .set = extenders_ref(s), .arena = arena_new(), .pod = kobj_ref(pod), .fn = fn, .arg = arg
    };
    take_nodes(r, nodes, n);
    return ask_next(r) ? r : round_free(r);
}

struct round *round_free(struct round *r)
{
    if (!r)
        return NULL;
    extender_cancel(r->call);
    for (uint32_t i = 0; i < r->nscorings; i++)
        extender_cancel(r->scorings[i].call);
    for (uint32_t i = 0; i < r->n; i++)
        kobj_unref(r->objects[i]);
    kobj_unref(r->pod);
    arena_free(r->arena);
    extenders_unref(r->set);
    free(r);
    return NULL;
}
