/* net_round.c - network QoS: the link's classes, or the files that Terway reads. */
#include <unistd.h>

#include "base/klog.h"
#include "koordlet/hooks/rounds.h"
#include "koordlet/hooks/tc.h"
#include "koordlet/hooks/terway.h"
#include "koordlet/kernel/sysfs.h"
#include "koordlet/states/complaint.h"
#include "sys/file.h"

struct net_round {
    struct host *host;
    struct tc *tc;
    char *dir;
    struct strbuf node, pods; /* what Terway's files hold */
    bool terway_seen;         /* the files may be there */
    struct complaint complaint;
};

struct net_round *net_round_new(struct host *h, const char *terway_dir)
{
    struct net_round *n = xnew0(struct net_round);

    n->host = h;
    n->tc = tc_new();
    n->dir = xstrdup(terway_dir);
    n->terway_seen = true;
    return n;
}

struct net_round *net_round_free(struct net_round *n)
{
    if (!n)
        return NULL;
    tc_free(n->tc);
    strbuf_fini(&n->node);
    strbuf_fini(&n->pods);
    free(n->dir);
    free(n);
    return NULL;
}

static void told(struct net_round *n, const struct kerr *err, nsec_t now)
{
    if (err->code < 0 && complaint_due(&n->complaint, now))
        KLOG_E(err, "Network QoS could not be applied");
    else if (err->code == 0)
        complaint_over(&n->complaint);
}

/* ---- tc -------------------------------------------------------------------------------------- */

static uint32_t hz_of(const struct host *h)
{
    struct str text;

    return sysfs_text(h, h->proc_fd, &text, "net/psched") < 0 ? 0 : tc_hz(text);
}

static bool default_link(const struct net_round *n, char *link, size_t size)
{
    struct str route;

    return sysfs_text(n->host, n->host->proc_fd, &route, "net/route") == 0 &&
           tc_default_link(route, link, size);
}

void net_round_tc(struct net_round *n, const struct hook_view *v, bool act, nsec_t now,
                  struct plan *p)
{
    CLEANUP(tc_want_fini) struct tc_want want = { 0 };
    const struct podset *pods = v->snapshot->pods;
    struct kerr err = { 0 };
    char link[64] = "";

    tc_plan(v->snapshot->slo, pods, hz_of(n->host), &want);
    for (uint32_t i = 0; want.classes.n > 0 && pods && i < pods->n; i++) {
        uint32_t id = tc_classid(&want, pods->pods[i]);
        if (id && !pod_is_terminal(npod_pod(pods->pods[i])))
            plan_number(p, (struct plan_at){ pods->pods[i]->cgroup_dir, pods->pods[i], NULL },
                        PLAN_NET_CLS_CLASSID, id);
    }
    if (!act)
        return;
    if (!default_link(n, link, sizeof link)) {
        if (want.classes.n > 0)
            kerr_set(&err, -ENODEV, "no IPv4 default route");
    } else {
        tc_apply(n->tc, link, &want, &err);
    }
    told(n, &err, now);
}

/* ---- Terway ---------------------------------------------------------------------------------- */

/* Writes the file when its text differs from the last one. */
static int put_file(struct net_round *n, const char *name, const struct strbuf *text,
                    struct strbuf *last, struct kerr *err)
{
    CLEANUP(fd_close) int dir = -1;

    if (last->len == text->len && memcmp(strbuf_str(last), strbuf_str(text), text->len) == 0)
        return 0;
    dir = dir_make_open(AT_FDCWD, n->dir, 0755, err);
    if (dir < 0)
        return dir;
    if (file_write_atomic(dir, name, strbuf_str(text), text->len, 0644, err) < 0)
        return err->code;
    strbuf_reset(last);
    strbuf_appendn(last, strbuf_str(text), text->len);
    return 0;
}

static void remove_files(struct net_round *n)
{
    CLEANUP(fd_close) int dir = open(n->dir, O_PATH | O_DIRECTORY | O_CLOEXEC);

    n->terway_seen = false;
    strbuf_reset(&n->node);
    strbuf_reset(&n->pods);
    if (dir < 0)
        return;
    unlinkat(dir, TERWAY_NODE_FILE, 0);
    unlinkat(dir, TERWAY_POD_FILE, 0);
}

void net_round_terway(struct net_round *n, const struct hook_view *v, bool act, nsec_t now)
{
    CLEANUP(strbuf_fini) struct strbuf node = STRBUF_INIT, pods = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct kerr err = { 0 };

    if (!act)
        return;
    if (!terway_is_on(v->snapshot->slo)) {
        if (n->terway_seen)
            remove_files(n);
        return;
    }
    n->terway_seen = true;
    if (terway_node_text(v->snapshot->slo, &node, &err) == 0)
        (void)put_file(n, TERWAY_NODE_FILE, &node, &n->node, &err);
    terway_pod_text(v->snapshot->pods, a, &pods, &err);
    (void)put_file(n, TERWAY_POD_FILE, &pods, &n->pods, &err);
    told(n, &err, now);
}

void net_round_restore(struct net_round *n, bool tc, bool terway)
{
    const struct tc_want none = { 0 };
    struct kerr err = { 0 };
    char link[64] = "";

    if (tc && default_link(n, link, sizeof link) && tc_apply(n->tc, link, &none, &err) < 0)
        KLOG_E(&err, "The classes of the network link could not be taken away");
    if (terway)
        remove_files(n);
}
