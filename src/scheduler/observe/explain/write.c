/* write.c - answers of whatif.h as JSON. */
#include "api/kobj.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/observe/explain/whatif.h"
#include "json/kj.h"

static void write_texts(struct kjw *w, const char *key, const char *const *texts, uint32_t n)
{
    kjw_arr(w, key);
    for (uint32_t i = 0; i < n; i++)
        kjw_str(w, NULL, texts[i]);
    kjw_end(w);
}

static void write_scores(struct kjw *w, const struct whatif_node *n)
{
    kjw_bool(w, "fit", true);
    kjw_obj(w, "scores");
    for (uint32_t i = 0; i < n->nscores; i++)
        kjw_i64(w, n->scores[i].plugin, n->scores[i].score);
    kjw_end(w);
    kjw_i64(w, "total", n->total);
}

static void write_change(struct kjw *w, const struct whatif_change *c)
{
    kjw_obj(w, NULL);
    if (c->plugin)
        kjw_str(w, "plugin", c->plugin);
    kjw_str(w, "code", ks_code_name(c->code));
    kjw_str(w, "reason", c->reason);
    if (c->resource) {
        kjw_str(w, "resource", c->resource);
        kjw_i64(w, "missing", c->missing);
    }
    if (c->taint)
        kjw_str(w, "taint", c->taint);
    kjw_end(w);
}

static void write_verdict(struct kjw *w, const struct whatif_node *n, unsigned flags)
{
    kjw_bool(w, "fit", false);
    if (n->plugin)
        kjw_str(w, "plugin", n->plugin);
    kjw_str(w, "code", ks_code_name(n->code));
    write_texts(w, "reasons", n->reasons, n->nreasons);
    if (!(flags & WHATIF_CHANGES))
        return;
    kjw_arr(w, "changes");
    for (uint32_t i = 0; i < n->nchanges; i++)
        write_change(w, &n->changes[i]);
    kjw_end(w);
}

static void write_reservations(struct kjw *w, const struct whatif_node *n)
{
    write_texts(w, "reservations", n->usable, n->nusable);
    kjw_obj(w, "usedByOthers");
    kjw_i64(w, "cpu", n->used_mcpu);
    kjw_i64(w, "memory", n->used_memory);
    kjw_end(w);
}

void whatif_write(const struct whatif_result *r, unsigned flags, struct strbuf *out)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    if (r->held_by) {
        kjw_obj(&w, "held");
        kjw_str(&w, "plugin", r->held_by);
        write_texts(&w, "reasons", r->held_reasons, r->nheld_reasons);
        kjw_end(&w);
    }
    kjw_obj(&w, "nodes");
    for (uint32_t i = 0; i < r->nnodes; i++) {
        kjw_obj(&w, r->nodes[i].name);
        if (r->nodes[i].code == KS_SUCCESS)
            write_scores(&w, &r->nodes[i]);
        else
            write_verdict(&w, &r->nodes[i], flags);
        if (flags & WHATIF_DETAILS)
            kjw_raw(&w, "details", r->nodes[i].details, strlen(r->nodes[i].details));
        if (r->nodes[i].nusable)
            write_reservations(&w, &r->nodes[i]);
        kjw_end(&w);
    }
    kjw_end(&w);
    if (r->nbest)
        write_texts(&w, "best", r->best, r->nbest);
    if (r->message)
        kjw_str(&w, "message", r->message);
    kjw_end(&w);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void whatif_write_preemption(const struct whatif_preemption *p, struct strbuf *out)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char **victims = arena_newn0(a, p->n, const char *);
    struct kjw w = kjw_to(out);

    for (uint32_t i = 0; i < p->n; i++)
        victims[i] =
            arena_printf(a, "%s/%s", p->victims[i]->obj.meta.ns, p->victims[i]->obj.meta.name);
    if (p->n)
        qsort(victims, p->n, sizeof *victims, by_text);
    kjw_obj(&w, NULL);
    kjw_str(&w, "code", ks_code_name(p->code));
    kjw_str(&w, "nominatedNode", p->node);
    if (p->code == KS_SUCCESS)
        write_texts(&w, "victims", victims, p->n);
    else
        kjw_str(&w, "message", p->message);
    kjw_end(&w);
}
