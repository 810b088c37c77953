/* daemon.c - rounds: ask on a worker, keep what was learned, write the file. */
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <unistd.h>

#include "base/klog.h"
#include "devicedaemon/survey.h"
#include "loop/loop.h"
#include "sys/file.h"

struct known { /* the cards of a vendor as it last told them */
    struct arena *a;
    struct cards cards;
};
struct round {                  /* the worker's while it is under way; outlives its owner then */
    struct devicedaemon *owner; /* NULL: gone */
    char *host_root;
    tool_fn tool;
    void *tool_arg;
    struct survey surveys[VENDORS];
    int found[VENDORS]; /* devices on the bus; negative: could not be asked */
    struct kerr errs[VENDORS];
};
struct devicedaemon {
    struct loop *loop;
    struct devicedaemon_opts o;
    char *host_root, *output;
    struct timer *timer;
    struct round *round;
    struct known known[VENDORS];
    uint32_t failed;
};

/* ---- a round --------------------------------------------------------------------------------- */

static struct round *round_free(struct round *r)
{
    for (uint32_t v = 0; v < VENDORS; v++) {
        vec_fini(&r->surveys[v].cards);
        vec_fini(&r->surveys[v].left_out);
        arena_free(r->surveys[v].a);
    }
    free(r->host_root);
    free(r);
    return NULL;
}

static void ask_all(void *arg)
{
    struct round *r = arg;
    CLEANUP(fd_close) int root_fd = open(r->host_root, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

    for (uint32_t v = 0; v < VENDORS; v++) {
        struct survey *s = &r->surveys[v];
        *s = (struct survey){ arena_new(), root_fd, r->tool, r->tool_arg, { 0 }, { 0 } };
        r->found[v] = root_fd < 0 ? kerr_set(&r->errs[v], -ENOENT, "open %s", r->host_root)
                                  : survey_vendor(s, v, &r->errs[v]);
        s->root_fd = -1;
    }
}

static void begin_round(struct loop *l, void *arg);

static int write_file(struct devicedaemon *d, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct cards *lists[VENDORS];

    if (str_empty(d->output))
        return 0;
    for (uint32_t v = 0; v < VENDORS; v++)
        lists[v] = &d->known[v].cards;
    survey_write(lists, &text);
    char *path = xstrdup(d->output);
    int e = dir_make(AT_FDCWD, dirname(path), 0755, err);
    free(path);
    return e < 0 ? e
                 : file_write_atomic(AT_FDCWD, d->output, strbuf_str(&text), text.len, 0644, err);
}

static void known_fini(struct known *k)
{
    vec_fini(&k->cards);
    arena_free(k->a);
}

/* A vendor that answered is known as it is now; one that did not keeps what it had. */
static void learn(struct devicedaemon *d, struct round *r, uint32_t v)
{
    struct survey *s = &r->surveys[v];

    vec_foreach(&s->left_out, i)
        KLOG_E(&s->left_out.items[i].err, "Left out of the list of devices",
               KV_S("vendor", s->left_out.items[i].vendor),
               KV_S("minor", s->left_out.items[i].what));
    if (r->found[v] < 0) {
        d->failed++;
        KLOG_E(&r->errs[v], "Cannot ask for the devices of a vendor",
               KV_S("vendor", survey_vendor_name(v)), KV_I("kept", d->known[v].cards.n));
        return;
    }
    known_fini(&d->known[v]);
    d->known[v] = (struct known){ take(s->a), s->cards };
    s->cards = (struct cards){ 0 };
}

static void end_round(struct loop *l, void *arg)
{
    struct round *r = arg;
    struct devicedaemon *d = r->owner;
    struct kerr err = { 0 };

    (void)l;
    if (!d) {
        round_free(r);
        return;
    }
    d->round = NULL;
    d->failed = 0;
    for (uint32_t v = 0; v < VENDORS; v++)
        learn(d, r, v);
    round_free(r);
    if (write_file(d, &err) < 0) {
        d->failed++;
        KLOG_E(&err, "Cannot write the list of devices", KV_S("file", d->output));
    }
    if (d->o.interval > 0)
        d->timer = loop_after(d->loop, d->o.interval, begin_round, d);
    else if (d->o.done)
        d->o.done(d->o.done_arg, d->failed); /* d may be gone */
}

static void begin_round(struct loop *l, void *arg)
{
    struct devicedaemon *d = arg;

    d->timer = NULL;
    d->round = xnew0(struct round);
    d->round->owner = d;
    d->round->host_root = xstrdup(d->host_root);
    d->round->tool = d->o.tool;
    d->round->tool_arg = d->o.tool_arg;
    loop_work(l, ask_all, end_round, d->round);
}

/* ---- life ------------------------------------------------------------------------------------ */

struct devicedaemon *devicedaemon_new(struct loop *l, const struct devicedaemon_opts *o)
{
    struct devicedaemon *d = xnew0(struct devicedaemon);

    d->loop = l;
    d->o = *o;
    d->host_root = xstrdup(o->host_root);
    d->output = xstrdup(o->output);
    begin_round(l, d);
    return d;
}

uint32_t devicedaemon_failed(const struct devicedaemon *d)
{
    return d->failed;
}

/* The file, and the directory beside it that Koordinator's daemon writes through. */
static void remove_output(struct devicedaemon *d)
{
    CLEANUP(strbuf_fini) struct strbuf beside = STRBUF_INIT;

    if (str_empty(d->output))
        return;
    unlink(d->output);
    strbuf_appendf(&beside, "%s-tmp", d->output);
    rmdir(strbuf_str(&beside));
}

struct devicedaemon *devicedaemon_free(struct devicedaemon *d)
{
    if (!d)
        return NULL;
    timer_cancel(d->timer);
    if (d->round)
        d->round->owner = NULL;
    if (d->o.interval > 0)
        remove_output(d);
    for (uint32_t v = 0; v < VENDORS; v++)
        known_fini(&d->known[v]);
    free(d->host_root);
    free(d->output);
    free(d);
    return NULL;
}
