/* reserve_try.c - koordctl reserve --dry-run: pods of the template are placed one after the other
 * on the cluster as it is, by a scheduler of our own.
 */
#include "api/kobj.h"
#include "base/arena.h"
#include "ctl/explain.h"
#include "ctl/reserve.h"
#include "loop/loop.h"
#include "json/kj.h"

static int place(struct reserve *x, struct explain_cluster *on, struct reserved *one,
                 struct kerr *err)
{
    CLEANUP(kobj_unref)
    struct kobj *pod = explain_template_pod(on, reserve_template(x), x->ns, one->name, NULL, err);
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
    there = explain_template_pod(on, reserve_template(x), x->ns, one->name, one->node, err);
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
