/* reserve_try.c - koordctl reserve --dry-run: pods of the template are placed one after the other
 * on the cluster as it is, by a scheduler of our own.
 */
#include "api/pod.h"
#include "base/arena.h"
#include "ctl/explain.h"
#include "ctl/reserve.h"
#include "loop/loop.h"
#include "json/kj.h"

/* The pod that a Reservation of this name stands for. node NULL: it looks for one. */
static struct kobj *make_pod(const struct reserve *x, const char *name, const char *node,
                             struct kj_scratch *scratch, struct kerr *err)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kj_mval *pod = kj_mcopy(d, reserve_template(x)), *meta = kj_mget(pod, "metadata");
    struct kobj *ret = NULL;

    if (kj_mtype(meta) != KJ_OBJ) {
        meta = kj_mobj(d);
        kj_mset(d, pod, "metadata", meta);
    }
    kj_mset(d, meta, "name", kj_mstr(d, name));
    kj_mset(d, meta, "uid", kj_mstr(d, name));
    kj_mset(d, meta, "namespace", kj_mstr(d, x->ns));
    if (node)
        kj_mset(d, kj_mget(pod, "spec"), "nodeName", kj_mstr(d, node));
    doc = kj_freeze(pod);
    return kobj_decode(&kind_pod, kj_root(doc), scratch, &ret, err) < 0 ? NULL : ret;
}

static int place(struct reserve *x, struct explain_cluster *on, struct reserved *one,
                 struct kerr *err)
{
    CLEANUP(kobj_unref) struct kobj *pod = make_pod(x, one->name, NULL, on->scratch, err);
    CLEANUP(kobj_unref) struct kobj *there = NULL;
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!pod || on->scheduler->try_pod(on->self, pod, loop_wall(x->c->loop), &json, err) < 0 ||
        kj_parse(strbuf_str(&json), json.len, 0, &doc, err) < 0)
        return err->code;
    const char *best = kj_str(kj_at(kj_get(kj_root(doc), "best"), 0));
    if (!best) {
        one->message =
            arena_strdup(x->arena, kj_str_or(kj_get(kj_root(doc), "message"), "no node fits"));
        return 0;
    }
    one->node = arena_strdup(x->arena, best);
    one->outcome = RESERVE_PLACED;
    there = make_pod(x, one->name, one->node, on->scratch, err);
    return there ? on->scheduler->add(on->self, there, err) : err->code;
}

static int place_all(struct reserve *x, struct explain_cluster *on)
{
    const char *scheduler =
        kj_str_or(kj_path(reserve_template(x), "spec.schedulerName"), "default-scheduler");
    struct kerr err = { 0 };
    int code = explain_read_cluster(on, scheduler, x->o->config);

    for (size_t i = 0; code == CTL_OK && i < x->all.n; i++)
        if (place(x, on, &x->all.items[i], &err) < 0)
            code = ctl_fail(x->c, "%s", err.text);
    return code;
}

int reserve_try(struct reserve *x)
{
    struct explain_cluster on = { .c = x->c, .arena = x->arena };

    if (!x->c->parts || !x->c->parts->explain)
        return ctl_fail(x->c, "this program has no scheduler to try it with");
    on.scheduler = x->c->parts->explain;
    on.scratch = kj_scratch_new(x->c->strings);
    int code = place_all(x, &on);
    on.scheduler->close(on.self);
    kj_scratch_free(on.scratch);
    if (code == CTL_OK && (!reserve_show(x) || reserve_count(x, RESERVE_PLACED) < x->all.n))
        code = CTL_FAILED;
    return code;
}
