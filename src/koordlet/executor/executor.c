/* executor.c - plans come in; the executor's life. */
#include "koordlet/executor/executor.h"

#include "base/klog.h"
#include "koordlet/executor/executor_int.h"
#include "koordlet/kernel/convert.h"
#include "loop/loop.h"

/* ---- the forced update ----------------------------------------------------------------------- */

/* Somebody else may have written: all values are compared with the kernel again. */
static void on_verify(struct loop *l, void *arg)
{
    struct executor *e = arg;

    map_foreach(&e->dirs, en) {
        struct target_dir *d = en->value;
        for (struct target *t = d->targets; t; t = t->next) {
            if (t->busy)
                continue;
            value_forget(&t->is);
            if (t->want.known)
                target_list(e, t);
        }
    }
    pass_run(e);
    targets_sweep(e);
    e->verify = loop_after(l, e->env.force_update, on_verify, e);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct executor *executor_new(const struct executor_env *env)
{
    struct executor *e = xnew0(struct executor);
    struct kerr err;

    e->env = *env;
    e->scratch = arena_new();
    for (unsigned f = 0; f < PLAN_CGROUP_FILES; f++)
        e->resources[f] =
            cgroup_resource_find(env->host->version, plan_file_type((enum plan_file)f), &err);
    e->resources[PLAN_CGROUP_FILES] =
        cgroup_resource_find(env->host->version, "cpuset.cpus.effective", &err);
    memset(e->support, -1, sizeof e->support);
    if (env->force_update > 0)
        e->verify = loop_after(env->loop, env->force_update, on_verify, e);
    if (env->watch && !env->dry_run)
        e->overwrites = overwrites_new(e);
    return e;
}

struct executor *executor_free(struct executor *e)
{
    if (!e)
        return NULL;
    timer_cancel(e->verify);
    timer_cancel(e->again);
    timer_cancel(e->post);
    overwrites_free(e->overwrites);
    jobs_fini(e);
    targets_fini(e);
    for (int o = 0; o < PLAN_OWNERS; o++) {
        plan_free(e->standing[o]);
        plan_free(e->spare[o]);
    }
    vec_fini(&e->changed);
    vec_fini(&e->batch);
    vec_fini(&e->waiting);
    vec_fini(&e->once);
    strbuf_fini(&e->path);
    strbuf_fini(&e->text);
    strbuf_fini(&e->content);
    arena_free(e->scratch);
    free(e);
    return NULL;
}

void executor_set_burst_above_quota(struct executor *e, bool takes)
{
    e->burst_above_quota = takes;
}

/* ---- plans ----------------------------------------------------------------------------------- */

struct plan *executor_plan(struct executor *e, enum plan_owner o, const struct snapshot *s)
{
    if (!e->spare[o])
        e->spare[o] = plan_new(o);
    plan_reset(e->spare[o], s);
    return e->spare[o];
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && streq(a, b));
}

static bool same_place(const struct proposal *a, const struct proposal *b)
{
    return a->file == b->file && same_text(a->at.dir, b->at.dir) && same_text(a->item, b->item);
}

static bool same_value(const struct proposal *a, const struct proposal *b)
{
    return a->rule == b->rule && a->number == b->number && a->base == b->base &&
           same_text(a->text, b->text);
}

static void unlink_proposal(struct proposal *p)
{
    for (struct proposal **at = &p->target->proposals; *at; at = &(*at)->next)
        if (*at == p) {
            *at = p->next;
            break;
        }
    p->next = NULL;
    p->target = NULL;
}

/* The target changed: what failed before is tried at once. */
static void target_changed(struct executor *e, struct target *t)
{
    t->retry = 0;
    t->failures = 0;
    target_list(e, t);
}

/* Puts p in the place of what its owner proposed here before. */
static void link_proposal(struct executor *e, struct proposal *p, struct target *t)
{
    struct proposal **at = &t->proposals;

    while (*at && (*at)->owner < p->owner)
        at = &(*at)->next;
    if (*at && (*at)->owner == p->owner) {
        struct proposal *old = *at;
        p->next = old->next;
        old->next = NULL;
        old->target = NULL;
        if (!same_value(old, p))
            target_changed(e, t);
    } else {
        p->next = *at;
        target_changed(e, t);
    }
    *at = p;
    p->target = t;
}

static void submit_one(struct executor *e, struct proposal *p, const struct proposal *before)
{
    if (p->rule == PLAN_ONCE) {
        vec_push(&e->once, p);
        return;
    }
    struct target *t = before && before->target && same_place(before, p)
                           ? before->target
                           : target_get(e, p->file, p->at.dir, p->item);
    if (t)
        link_proposal(e, p, t);
    else
        KLOG_W("Refused a proposal for a path outside of the cgroups", KV_S("path", p->at.dir),
               KV_S("owner", plan_owner_name((enum plan_owner)p->owner)));
}

void executor_submit(struct executor *e, struct plan *p)
{
    struct plan *old = e->standing[p->owner];
    size_t nold = old ? old->proposals.n : 0, kept = 0;

    assert(p == e->spare[p->owner]);
    vec_foreach(&e->once, i)
        if (e->once.items[i]->owner != p->owner)
            e->once.items[kept++] = e->once.items[i];
    e->once.n = kept;
    /* Mostly the same files in the same order as before: no search is needed. */
    vec_foreach(&p->proposals, i)
        submit_one(e, &p->proposals.items[i], i < nold ? &old->proposals.items[i] : NULL);
    for (size_t i = 0; i < nold; i++) {
        struct proposal *o = &old->proposals.items[i];
        if (!o->target)
            continue;
        target_changed(e, o->target);
        unlink_proposal(o);
    }
    e->standing[p->owner] = p;
    e->spare[p->owner] = old;
    if (e->changed.n > 0 || e->once.n > 0)
        pass_post(e);
}

void executor_apply(struct executor *e)
{
    e->post = timer_cancel(e->post);
    pass_run(e);
}

/* ---- what files hold ------------------------------------------------------------------------- */

static int look(struct executor *e, const char *dir, unsigned file, struct target **ret,
                struct kerr *err)
{
    struct target *t = target_get(e, file, dir, NULL);

    if (!t)
        return kerr_set(err, -EINVAL, "%.200s is no path of a cgroup", dir);
    t->read = true;
    int code = t->is.known ? 0 : target_read(e, t);
    if (code < 0)
        return kerr_set(err, code, "read %s: %s", target_path(e, t), strerror(-code));
    *ret = t;
    return 0;
}

static int view_number(void *arg, const char *dir, enum plan_file f, int64_t *ret, struct kerr *err)
{
    struct executor *e = arg;
    struct target *t = NULL;

    if (!file_supported(e, f))
        return kerr_set(err, -EOPNOTSUPP, "this node has no %s", plan_file_type(f));
    int code = look(e, dir, f, &t, err);
    if (code < 0)
        return code;
    *ret = t->is.number;
    if (f == PLAN_CPU_SHARES && e->env.host->version == CGROUP_V2)
        return weight_to_shares(t->is.number, ret, err);
    return 0;
}

static int view_cpus(void *arg, const char *dir, struct cpuset *ret, struct kerr *err)
{
    struct executor *e = arg;
    struct target *t = NULL;
    int code = look(e, dir,
                    e->env.host->version == CGROUP_V2 ? (unsigned)FILE_CPUSET_EFFECTIVE
                                                      : (unsigned)PLAN_CPUSET_CPUS,
                    &t, err);

    return code < 0 ? code : cpus_parse(t->is.text, strlen(t->is.text), ret, err);
}

struct plan_view executor_view(struct executor *e)
{
    return (struct plan_view){ view_number, view_cpus, e };
}

struct executor_stats executor_stats(const struct executor *e)
{
    struct executor_stats s = e->stats;

    map_foreach(&e->dirs, en)
        for (const struct target *t = ((struct target_dir *)en->value)->targets; t; t = t->next)
            s.files += t->proposals != NULL;
    map_foreach(&e->dirs, busy)
        s.busy += ((struct target_dir *)busy->value)->busy;
    return s;
}
