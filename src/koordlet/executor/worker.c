/* worker.c - writes that the kernel may hold for seconds, away from the loop.
 *
 * A memory limit below the usage makes the kernel reclaim before it answers. One such write runs in
 * a directory at a time, so that they stay in order; what else changes there meanwhile waits.
 * Memory that is asked back is such a write too, but nothing is kept of it.
 */
#include "koordlet/executor/executor_int.h"
#include "loop/loop.h"

struct job {
    struct job *next;
    struct executor *e; /* NULL: it is gone */
    struct target *target;
    const struct executor_ops *ops;
    void *ops_arg;
    int opened;
    bool once;
    struct writer by; /* of one that is not kept; its texts are the job's */
    char *path, *text;
    struct value v;
    nsec_t began;
    int code;
};

static void job_free(struct job *j)
{
    if (j->once) {
        free((char *)(uintptr_t)j->by.ns);
        free((char *)(uintptr_t)j->by.pod);
        free((char *)(uintptr_t)j->by.container);
    }
    free(j->path);
    free(j->text);
    value_forget(&j->v);
    free(j);
}

static void on_work(void *arg)
{
    struct job *j = arg;

    j->code = j->ops->write_end(j->ops_arg, j->opened, j->text, strlen(j->text));
}

static void job_take_out(struct job *j)
{
    for (struct job **at = &j->e->jobs; *at; at = &(*at)->next)
        if (*at == j) {
            *at = j->next;
            return;
        }
}

static void on_done(struct loop *l, void *arg)
{
    struct job *j = arg;
    struct executor *e = j->e;
    struct target *t = j->target;
    struct kerr err = { 0 };

    if (!e) {
        job_free(j);
        return;
    }
    job_take_out(j);
    t->busy = t->dir->busy = false;
    t->once = j->once ? &j->by : NULL;
    if (j->once && j->code == -EAGAIN)
        j->code = 0; /* there was less to reclaim than asked for */
    if (j->code < 0)
        kerr_set(&err, j->code, "write '%.64s' to %s: %s", j->text, j->path, strerror(-j->code));
    target_told(e, t, &j->v, loop_mono(l) - j->began, &err);
    if (j->code < 0) {
        target_refused(e, t, &err);
    } else {
        if (!j->once)
            value_set(&t->is, j->v.number, j->v.text);
        target_done(e, t);
    }
    t->once = NULL;
    for (struct target *o = t->dir->targets; o; o = o->next)
        if (o->waiting && (o != t || j->code == 0))
            target_list(e, o);
    target_list(e, t);
    pass_post(e);
    job_free(j);
}

/* NULL: it could not be opened, and was told of. */
static struct job *job_new(struct executor *e, struct target *t, const struct value *v)
{
    struct kerr err = { 0 };
    struct str text;

    if (target_text(e, t, v, &text, &err) < 0) {
        target_refused(e, t, &err);
        return NULL;
    }
    int opened = e->env.ops->write_begin(e->env.ops_arg, t->dir->root, target_path(e, t));
    if (opened < 0) {
        kerr_set(&err, opened, "open %s: %s", target_path(e, t), strerror(-opened));
        target_refused(e, t, &err);
        return NULL;
    }
    struct job *j = xnew0(struct job);
    *j = (struct job){ .next = e->jobs,
                       .e = e,
                       .target = t,
                       .ops = e->env.ops,
                       .ops_arg = e->env.ops_arg,
                       .opened = opened,
                       .text = xstrdup(text.p),
                       .began = loop_mono(e->env.loop) };
    j->path = xstrdup(target_path(e, t));
    value_set(&j->v, v->number, v->text);
    e->jobs = j;
    e->stats.writes++;
    t->busy = t->dir->busy = true;
    return j;
}

void job_start(struct executor *e, struct target *t, const struct value *v)
{
    struct job *j = job_new(e, t, v);

    if (!j)
        return;
    t->owned = true;
    loop_work(e->env.loop, on_work, on_done, j);
}

void job_once(struct executor *e, struct target *t, const struct value *v, const struct writer *by)
{
    if (t->dir->busy)
        return; /* who asked does so again */
    t->once = by;
    struct job *j = job_new(e, t, v);
    t->once = NULL;
    if (!j)
        return;
    j->once = true;
    j->by = (struct writer){ by->owner, by->reason, xstrdup(by->ns), xstrdup(by->pod),
                             xstrdup(by->container) };
    loop_work(e->env.loop, on_work, on_done, j);
}

void jobs_fini(struct executor *e)
{
    for (struct job *j = e->jobs; j; j = j->next)
        j->e = NULL;
    e->jobs = NULL;
}
