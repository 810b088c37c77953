/* purge.c - when a definition goes, so do its objects. */
#include <stdio.h>

#include "apiserver/crd/serve.h"
#include "base/klog.h"
#include "loop/loop.h"

enum { PAGE = 500 };
#define RETRY (10 * NSEC_PER_MSEC)

struct purge {
    struct crds *c;
    char *name;
    struct timer *timer;
    size_t seen;
};

static void purge_free(struct purge *p)
{
    vec_foreach(&p->c->purges, i)
        if (p->c->purges.items[i] == p) {
            vec_swap_remove(&p->c->purges, i);
            break;
        }
    timer_cancel(p->timer);
    free(p->name);
    free(p);
}

/* The document with another resourceVersion. */
static void document_with_rev(const char *doc, size_t n, uint64_t rev, struct strbuf *out)
{
    CLEANUP(kj_doc_free) struct kj_doc *parsed = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    char text[24];

    if (kj_parse(doc, n, KJ_RAW_NUMBERS, &parsed, NULL) < 0)
        return;
    struct kj_mval *obj = kj_mcopy(d, kj_root(parsed));
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)rev);
    kj_mset(d, kj_mget(obj, "metadata"), "resourceVersion", kj_mstr(d, text));
    kj_mwrite(obj, 0, out);
}

static void on_deleted(void *arg, uint64_t rev, const struct kerr *err)
{
    (void)arg, (void)rev;
    if (err) /* found again by the next page */
        KLOG_E(err, "Failed to delete an object of a deleted CustomResourceDefinition");
}

static bool on_object(void *arg, const struct store_key *k, uint64_t rev, const char *doc, size_t n)
{
    struct purge *p = arg;
    struct store *store = apiserver_store(p->c->s);
    CLEANUP(strbuf_fini) struct strbuf last = STRBUF_INIT;
    struct kerr err = { 0 };

    document_with_rev(doc, n, store_next_revision(store), &last);
    /* What is under way already (-ENOENT, -ESTALE) is met again on the next page. */
    (void)store_delete(store, k, rev, strbuf_str(&last), last.len, on_deleted, NULL, &err);
    return ++p->seen < PAGE;
}

static void step(struct loop *l, void *arg)
{
    struct purge *p = arg;
    struct crds *c = p->c;
    struct kerr err = { 0 };

    p->timer = NULL;
    p->seen = 0;
    int e = store_list(apiserver_store(c->s), p->name, NULL, 0, NULL, on_object, p, &err);
    if (e == 0 && p->seen == 0) {
        CLEANUP(mem_free) char *name = xstrdup(p->name);
        purge_free(p);
        crds_resync(c, name);
        return;
    }
    p->timer = loop_after(l, RETRY, step, p);
}

void purge_start(struct crds *c, const char *name)
{
    if (purge_is_active(c, name))
        return;
    struct purge *p = xnew0(struct purge);
    p->c = c;
    p->name = xstrdup(name);
    p->timer = loop_after(apiserver_loop(c->s), 0, step, p);
    vec_push(&c->purges, p);
}

bool purge_is_active(const struct crds *c, const char *name)
{
    vec_foreach(&c->purges, i)
        if (streq(c->purges.items[i]->name, name))
            return true;
    return false;
}

void purge_stop_all(struct crds *c)
{
    while (c->purges.n)
        purge_free(c->purges.items[0]);
    vec_fini(&c->purges);
}
