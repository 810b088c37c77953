/* explain.c - verdicts become text: the message that people read on a pod that does not fit. */
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/profile.h"

void ks_texts_add(struct ks_texts *t, const char *text)
{
    if (t->n == t->cap) {
        uint32_t cap = t->cap ? t->cap * 2 : 8;
        const char **items = arena_newn0(t->arena, cap, const char *);
        if (t->n)
            memcpy(items, t->items, t->n * sizeof *items);
        t->items = items;
        t->cap = cap;
    }
    t->items[t->n++] = text;
}

struct tally { /* how many nodes gave a reason; there are few different ones */
    struct arena *arena;
    struct tally_item {
        const char *text;
        uint32_t count;
    } * items;
    uint32_t n, cap;
};

static void tally_add(struct tally *t, const char *text, uint32_t count)
{
    for (uint32_t i = 0; i < t->n; i++) {
        if (t->items[i].text == text || streq(t->items[i].text, text)) {
            t->items[i].count += count;
            return;
        }
    }
    if (t->n == t->cap) {
        uint32_t cap = t->cap ? t->cap * 2 : 16;
        struct tally_item *items = arena_newn0(t->arena, cap, struct tally_item);
        if (t->n)
            memcpy(items, t->items, t->n * sizeof *items);
        t->items = items;
        t->cap = cap;
    }
    t->items[t->n++] = (struct tally_item){ text, count };
}

static void tally_row(struct tally *t, const struct profile *p, struct ks_cycle *c,
                      const struct ks_pod *pod, const struct verdicts *v, uint32_t row)
{
    uint32_t slot = v->by[row] - 1u;
    const struct profile_slot *s = &p->slots[slot];
    struct ks_texts texts = { .arena = c->arena };

    if (!s->plugin->explain) {
        tally_add(t, s->plugin->reasons[v->why[row]].text, 1);
        return;
    }
    c->state = v->state[slot];
    s->plugin->explain(s->self, c, pod, row, &texts);
    for (uint32_t i = 0; i < texts.n; i++)
        tally_add(t, texts.items[i], 1);
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void profile_explain(const struct profile *p, struct ks_cycle *c, const struct ks_pod *pod,
                     const struct verdicts *v, struct strbuf *out)
{
    struct tally t = { .arena = c->arena };

    strbuf_appendf(out, "0/%u nodes are available:", v->n);
    if (v->pre_filter_text) {
        strbuf_appendf(out, " %s.", v->pre_filter_text);
        return;
    }
    for (uint32_t i = 0; i < v->n; i++)
        if (v->by[i])
            tally_row(&t, p, c, pod, v, i);
    /* Sorted as strings with their counts, as upstream does: "10 X" comes before "2 Y". */
    const char **lines = arena_newn0(c->arena, t.n, const char *);
    for (uint32_t i = 0; i < t.n; i++)
        lines[i] = arena_printf(c->arena, "%u %s", t.items[i].count, t.items[i].text);
    if (t.n)
        qsort(lines, t.n, sizeof *lines, by_text);
    for (uint32_t i = 0; i < t.n; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : " ", lines[i]);
    if (t.n)
        strbuf_append(out, ".");
}
