/* apply.c - a pass over what changed: compose, compare, and write in the kernel's order.
 *
 * First from the top down what grows, then from the bottom up what shrinks. A cpuset that does both
 * becomes the union first. So no child is beyond its parent at any time.
 */
#include <stdio.h>

#include "base/klog.h"
#include "koordlet/executor/executor_int.h"
#include "koordlet/kernel/convert.h"
#include "loop/loop.h"

#define BACKOFF_FIRST (NSEC_PER_SEC)
#define BACKOFF_GONE  (100 * NSEC_PER_MSEC)
#define BACKOFF_MAX   (60 * NSEC_PER_SEC)

enum { STRANGERS_DEPTH = 3 /* class, pod, container */ };

static bool is_gone(int code)
{
    return code == -ENOENT || code == -ENODEV || code == -ESRCH || code == -EOPNOTSUPP;
}

/* ---- back-off -------------------------------------------------------------------------------- */

static void on_again(struct loop *l, void *arg)
{
    struct executor *e = arg;
    nsec_t now = loop_mono(l);

    e->again = NULL;
    vec_foreach(&e->waiting, i)
        if (e->waiting.items[i]->retry <= now)
            target_list(e, e->waiting.items[i]);
    pass_run(e);
}

static void again_arm(struct executor *e)
{
    nsec_t next = INT64_MAX;

    e->again = timer_cancel(e->again);
    vec_foreach(&e->waiting, i)
        next = MIN(next, e->waiting.items[i]->retry);
    if (next < INT64_MAX)
        e->again = loop_after(e->env.loop, next - loop_mono(e->env.loop), on_again, e);
}

static void target_wait(struct executor *e, struct target *t, nsec_t retry)
{
    t->retry = retry;
    if (t->waiting)
        return;
    t->waiting = true;
    vec_push(&e->waiting, t);
}

static void target_ready(struct executor *e, struct target *t)
{
    if (!t->waiting)
        return;
    t->waiting = false;
    vec_foreach(&e->waiting, i)
        if (e->waiting.items[i] == t) {
            vec_swap_remove(&e->waiting, i);
            return;
        }
}

void target_hold(struct executor *e, struct target *t, nsec_t until)
{
    target_wait(e, t, until);
    again_arm(e);
}

static nsec_t backoff(const struct executor *e, nsec_t first, unsigned failures)
{
    nsec_t d = first << MIN(failures, 10u);

    return loop_mono(e->env.loop) + MIN(d, BACKOFF_MAX);
}

/* ---- answers --------------------------------------------------------------------------------- */

void target_done(struct executor *e, struct target *t)
{
    target_ready(e, t);
    t->failures = 0;
    if (complaint_over(&t->complaint))
        KLOG_I(0, "The kernel takes the value again", KV_S("file", target_path(e, t)));
}

static void complain(const struct target *t, const struct kerr *err)
{
    struct writer by = target_writer(t);
    char name[320] = "";

    if (*by.pod)
        snprintf(name, sizeof name, "%s/%s", by.ns, by.pod);
    KLOG_E(err, "Failed to write a kernel file", KV_S("pod", name), KV_S("container", by.container),
           KV_S("owner", by.owner));
}

void target_refused(struct executor *e, struct target *t, const struct kerr *err)
{
    value_forget(&t->is);
    if (is_gone(err->code)) {
        /* It may come later; what was to be put back went with it. */
        t->marked = false;
        if (!t->want.known || !t->proposals)
            t->owned = false;
        target_wait(e, t,
                    backoff(e, err->code == -EOPNOTSUPP ? BACKOFF_MAX : BACKOFF_GONE, t->failures));
        t->failures = (uint8_t)MIN(t->failures + 1u, 10u);
        return;
    }
    e->stats.refused++;
    if (complaint_due(&t->complaint, loop_mono(e->env.loop)))
        complain(t, err);
    target_wait(e, t, backoff(e, BACKOFF_FIRST, t->failures));
    t->failures = (uint8_t)MIN(t->failures + 1u, 10u);
}

/* ---- others in the way ----------------------------------------------------------------------- */

/* Directories below t's that no plan knows (yet): a pod that just starts, a container that is not
 * in its status. What stands above the value to be is lowered to it, the deepest first. Those with
 * a plan are in their place by then, and so is what is below them. */
struct strangers {
    struct executor *e;
    struct target *top;
    const struct value *limit;
    const char *path; /* of the directory whose children are told */
    unsigned depth;
    bool lowered;
};

static void lower_below(struct strangers *s);

/* What a stranger is to have; false: what it has is fine. A cpuset with nothing in common gets all
 * of the limit. */
static bool stranger_value(struct executor *e, const struct target *t, const struct value *limit,
                           struct cpuset *ret_is, struct value *ret)
{
    struct cpuset top;

    *ret = (struct value){ .known = true, .number = limit->number };
    if (t->file == PLAN_CPU_QUOTA)
        return t->is.number >= 0 && value_compare(t->file, t->is.number, limit->number) > 0;
    if (cpus_parse(t->is.text, strlen(t->is.text), ret_is, NULL) < 0 ||
        cpus_parse(limit->text, strlen(limit->text), &top, NULL) < 0 || cpuset_subset(ret_is, &top))
        return false;
    struct cpuset cut = cpuset_intersect(ret_is, &top);
    ret->text = (char *)(uintptr_t)cpuset_format(cpuset_is_empty(&cut) ? &top : &cut, e->scratch);
    return true;
}

/* One stranger and those below it: what has to grow first does so on the way down. */
static void lower_stranger(struct strangers *s, const char *path)
{
    struct executor *e = s->e;
    struct target *t = target_get(e, s->top->file, path, NULL);
    struct strangers below = { e, s->top, s->limit, path, s->depth - 1, false };
    struct cpuset is, want;
    struct value v, first = { .known = true };
    struct kerr err;

    if (!t || target_read(e, t) < 0 || !stranger_value(e, t, s->limit, &is, &v)) {
        lower_below(&below);
        s->lowered |= below.lowered;
        return;
    }
    CLEANUP(arena_free) struct arena *a = arena_new();
    v.text = v.text ? arena_strdup(a, v.text) : NULL;
    if (v.text && cpus_parse(v.text, strlen(v.text), &want, NULL) == 0 &&
        !cpuset_subset(&want, &is)) {
        struct cpuset both = cpuset_union(&is, &want);
        first.text = (char *)(uintptr_t)cpuset_format(&both, a);
        (void)target_write(e, t, &first, &err);
    }
    lower_below(&below);
    s->lowered |= below.lowered | (target_write(e, t, &v, &err) == 0);
    arena_reset(e->scratch);
}

/* A quota of -1 says nothing about those below it. */
static bool is_in_place(struct executor *e, const struct strangers *s, const char *path)
{
    const struct target *t = target_find(e, s->top->file, path, NULL);

    return t && t->want.known && t->failures == 0 &&
           !(t->file == PLAN_CPU_QUOTA && t->want.number < 0);
}

static void on_stranger(void *to, const char *name)
{
    struct strangers *s = to;
    char path[1024];

    if (s->depth == 0 || snprintf(path, sizeof path, "%s/%s", s->path, name) >= (int)sizeof path ||
        is_in_place(s->e, s, path))
        return;
    lower_stranger(s, path);
}

static void lower_below(struct strangers *s)
{
    struct executor *e = s->e;
    CLEANUP(strbuf_fini) struct strbuf dir = STRBUF_INIT;

    strbuf_appendf(&dir, "%s/%s", e->resources[s->top->file]->files[e->env.host->version].subsystem,
                   s->path);
    e->env.ops->list(e->env.ops_arg, EXECUTOR_CGROUP, strbuf_str(&dir), on_stranger, s);
}

/* ---- writing --------------------------------------------------------------------------------- */

/* What was believed of the files that this one depends on may be old. */
static void forget_around(struct target *t)
{
    static const uint8_t files[] = { PLAN_CPU_QUOTA, PLAN_CPU_BURST_US, PLAN_CPU_IDLE_CLASS,
                                     PLAN_CPUSET_CPUS };

    for (struct target_dir *d = t->dir; d; d = d->parent)
        for (size_t i = 0; i < ARRAY_LEN(files); i++) {
            struct target *o = target_of(d, files[i], NULL);
            if (o)
                value_forget(&o->is);
        }
}

static void after_write(struct executor *e, struct target *t)
{
    t->owned = true;
    target_done(e, t);
    if (t->file == PLAN_CPU_IDLE_CLASS) {
        struct target *shares = target_of(t->dir, PLAN_CPU_SHARES, NULL);
        if (shares) {
            value_forget(&shares->is);
            shares->owned = true;
            target_list(e, shares);
        }
    } else if (t->file == PLAN_CPUSET_CPUS) {
        struct target *in_force = target_of(t->dir, FILE_CPUSET_EFFECTIVE, NULL);
        if (in_force)
            value_forget(&in_force->is);
    }
}

static bool lower_strangers(struct executor *e, struct target *t, const struct value *v)
{
    struct strangers s = { e, t, v, t->dir->path, STRANGERS_DEPTH, false };

    if (e->env.host->version == CGROUP_V1 && !e->env.dry_run &&
        (t->file == PLAN_CPU_QUOTA || t->file == PLAN_CPUSET_CPUS))
        lower_below(&s);
    return s.lowered;
}

/* The kernel refused v: once more, with what stood in the way lowered and with what the value
 * depends on read again. true: it was written. */
static bool apply_again(struct executor *e, struct target *t, const struct value *v,
                        struct kerr *err)
{
    struct value tried = { 0 };
    bool lowered = lower_strangers(e, t, v);

    value_set(&tried, v->number, v->text); /* v may be t->want */
    forget_around(t);
    target_compose(e, t);
    bool other = t->want.known && (lowered || !value_equal(t->file, &tried, &t->want));
    value_forget(&tried);
    return other && target_read(e, t) == 0 && target_write(e, t, &t->want, err) == 0;
}

static void apply_value(struct executor *e, struct target *t, const struct value *v)
{
    struct kerr err = { 0 };

    if (target_write(e, t, v, &err) == 0 || (!is_gone(err.code) && apply_again(e, t, v, &err)))
        after_write(e, t);
    else
        target_refused(e, t, &err);
}

/* The first half for a leveled file: what grows. A cpuset may have to become the union. */
static void apply_growing(struct executor *e, struct target *t)
{
    struct cpuset is, want;

    /* A write of this pass that was refused may have shaken what was believed of this file. */
    if (!t->want.known || (!t->is.known && target_read(e, t) < 0))
        return;
    if (file_rules[t->file].kind != VALUE_CPUS) {
        if (value_compare(t->file, t->want.number, t->is.number) > 0)
            apply_value(e, t, &t->want);
        return;
    }
    if (cpus_parse(t->is.text, strlen(t->is.text), &is, NULL) < 0)
        is = (struct cpuset){ 0 };
    if (cpus_parse(t->want.text, strlen(t->want.text), &want, NULL) < 0) {
        apply_value(e, t, &t->want); /* is told of */
        return;
    }
    if (cpuset_subset(&want, &is))
        return;
    struct cpuset both = cpuset_union(&is, &want);
    struct value v = { .known = true, .text = xstrdup(cpuset_format(&both, e->scratch)) };
    apply_value(e, t, &v);
    free(v.text);
    arena_reset(e->scratch);
}

/* ---- the pass -------------------------------------------------------------------------------- */

static int by_level(const void *a, const void *b)
{
    const struct target *x = *(struct target *const *)a, *y = *(struct target *const *)b;

    if (x->dir->depth != y->dir->depth)
        return x->dir->depth < y->dir->depth ? -1 : 1;
    int rx = file_rules[x->file].rank, ry = file_rules[y->file].rank;
    if (rx != ry)
        return rx < ry ? -1 : 1;
    /* Any order would do, but the same one each time. */
    int c = strcmp(x->dir->path, y->dir->path);
    return c ? c : strcmp(str_or(x->item, ""), str_or(y->item, ""));
}

static void list_below(struct executor *e, struct target_dir *d, unsigned file)
{
    struct target *t = target_of(d, file, NULL);
    struct target *burst = file == PLAN_CPU_QUOTA ? target_of(d, PLAN_CPU_BURST_US, NULL) : NULL;

    if (t)
        target_list(e, t);
    if (burst && burst->proposals)
        target_list(e, burst);
    for (struct target_dir *c = d->first_child; c; c = c->next)
        list_below(e, c, file);
}

/* The directories above one that is to change, when they were not looked at before. */
static void list_above(struct executor *e, const struct target *t)
{
    for (struct target_dir *d = t->dir->parent; d && d->depth > 0; d = d->parent)
        if (!target_of(d, t->file, NULL))
            target_list(e, target_in(d, t->file, NULL));
}

/* What depends on a file that changed has to be looked at too. */
static void list_dependants(struct executor *e)
{
    for (size_t i = 0; i < e->changed.n; i++) {
        struct target *t = e->changed.items[i];
        if (t->file == PLAN_CPU_QUOTA || t->file == PLAN_CPUSET_CPUS) {
            list_above(e, t);
            list_below(e, t->dir, t->file);
        } else if (t->file == PLAN_CPU_IDLE_CLASS) {
            struct target *shares = target_in(t->dir, PLAN_CPU_SHARES, NULL);
            if (!shares->first.known)
                target_read(e, shares);
            target_list(e, shares);
        }
    }
}

/* What was put back is nobody's any more. */
static void settle(struct target *t)
{
    if (!target_is_acting(t) && !t->busy && value_equal(t->file, &t->is, &t->want)) {
        t->owned = false;
        value_forget(&t->want);
    }
}

/* Composed, readable and due: whether there is something to write. */
static bool is_due(struct executor *e, struct target *t)
{
    struct kerr err = { 0 };

    target_compose(e, t);
    if (!t->want.known) {
        target_ready(e, t);
        return false;
    }
    if (t->busy || (t->dir->busy && file_rules[t->file].may_block)) {
        target_wait(e, t, INT64_MAX);
        return false;
    }
    if (t->waiting && t->retry > loop_mono(e->env.loop) && t->retry < INT64_MAX)
        return false;
    /* Before it is read: the kubelet makes a cgroup first and writes to it afterwards. */
    if (target_is_acting(t))
        overwrites_mark(e->overwrites, t);
    if (!t->is.known) {
        int code = target_read(e, t);
        if (code < 0) {
            kerr_set(&err, code, "read %s: %s", target_path(e, t), strerror(-code));
            target_refused(e, t, &err);
            return false;
        }
    }
    if (!value_equal(t->file, &t->is, &t->want))
        return true;
    target_done(e, t);
    settle(t);
    return false;
}

static void run_batch(struct executor *e)
{
    struct targets *b = &e->batch;
    size_t n = 0;

    vec_foreach(b, i)
        b->items[i]->listed = false;
    if (b->n > 0)
        qsort(b->items, b->n, sizeof *b->items, by_level);
    vec_foreach(b, i)
        if (is_due(e, b->items[i]))
            b->items[n++] = b->items[i];
    b->n = n;
    vec_foreach(b, i) {
        struct target *t = b->items[i];
        if (file_rules[t->file].leveled)
            apply_growing(e, t);
        else
            apply_value(e, t, &t->want);
    }
    for (size_t i = b->n; i-- > 0;) {
        struct target *t = b->items[i];
        if (!file_rules[t->file].leveled || !t->want.known || !t->is.known ||
            value_equal(t->file, &t->is, &t->want))
            continue;
        if (!file_rules[t->file].may_block || e->env.dry_run) {
            lower_strangers(e, t, &t->want);
            apply_value(e, t, &t->want);
        } else if (t->dir->busy) {
            target_wait(e, t, INT64_MAX);
        } else {
            job_start(e, t, &t->want);
        }
    }
    vec_foreach(b, i)
        settle(b->items[i]);
}

void pass_run(struct executor *e)
{
    /* cpu.idle lists cpu.shares again while it is written: a second round, not more. */
    for (int round = 0; round < 3 && e->changed.n > 0; round++) {
        list_dependants(e);
        struct targets t = e->batch;
        e->batch = e->changed;
        e->changed = t;
        vec_clear(&e->changed);
        run_batch(e);
        vec_clear(&e->batch);
    }
    vec_foreach(&e->once, i)
        once_write(e, e->once.items[i]);
    vec_clear(&e->once);
    again_arm(e);
}

static void on_post(struct loop *l, void *arg)
{
    struct executor *e = arg;

    (void)l;
    e->post = NULL;
    pass_run(e);
}

void pass_post(struct executor *e)
{
    if (!e->post)
        e->post = loop_after(e->env.loop, 0, on_post, e);
}
