/* explain.c - verdicts become text: the message that people read on a pod that does not fit. */
#include "base/arena.h"
#include "base/strbuf.h"
#include "scheduler/framework/attempt_int.h"
#include "json/kj.h"

#include <stdarg.h>
#include <stdio.h>

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

void ks_texts_addf(struct ks_texts *t, const char *fmt, ...)
{
    va_list ap;
    char *heap = NULL;

    va_start(ap, fmt);
    int n = vasprintf(&heap, fmt, ap);
    va_end(ap);
    assert(n >= 0);
    const char *text = arena_strndup(t->arena, heap, (size_t)n);
    free(heap);
    ks_texts_add(t, text);
}

const char *ks_texts_join(const struct ks_texts *t)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    if (t->n < 2)
        return t->n ? t->items[0] : "no reason given";
    for (uint32_t i = 0; i < t->n; i++) {
        strbuf_append(&b, i ? ", " : "");
        strbuf_append(&b, t->items[i]);
    }
    return arena_strndup(t->arena, strbuf_str(&b), b.len);
}

const char *ks_code_name(enum ks_code c)
{
    static const char *const names[] = {
        [KS_SUCCESS] = "Success",
        [KS_ERROR] = "Error",
        [KS_UNSCHEDULABLE] = "Unschedulable",
        [KS_UNRESOLVABLE] = "UnschedulableAndUnresolvable",
        [KS_WAIT] = "Wait",
        [KS_SKIP] = "Skip",
        [KS_PENDING] = "Pending",
    };
    return names[c];
}

/* ---- how many nodes gave a reason; there are few different ones --------------------------------
 */

struct tally {
    struct arena *arena;
    struct tally_item {
        const char *text;
        uint32_t count;
    } * items;
    uint32_t n, cap;
};

struct tally *tally_new(struct arena *a)
{
    struct tally *t = arena_new0(a, struct tally);
    t->arena = a;
    return t;
}

void tally_add(struct tally *t, const char *text, uint32_t count)
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

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

void tally_format(const struct tally *t, uint32_t total, struct strbuf *out)
{
    const char **lines = arena_newn0(t->arena, t->n, const char *);

    strbuf_appendf(out, "0/%u nodes are available:", total);
    /* Sorted as strings with their counts, as upstream does: "10 X" comes before "2 Y". */
    for (uint32_t i = 0; i < t->n; i++)
        lines[i] = arena_printf(t->arena, "%u %s", t->items[i].count, t->items[i].text);
    if (t->n)
        qsort(lines, t->n, sizeof *lines, by_text);
    for (uint32_t i = 0; i < t->n; i++)
        strbuf_appendf(out, "%s%s", i ? ", " : " ", lines[i]);
    if (t->n)
        strbuf_append(out, ".");
}

void tally_one_node(const struct ks_texts *why, struct strbuf *out)
{
    struct tally *t = tally_new(why->arena);

    for (uint32_t i = 0; i < why->n; i++)
        tally_add(t, why->items[i], 1);
    tally_format(t, 1, out);
}

/* ---- rows ------------------------------------------------------------------------------------ */

enum ks_code attempt_code(const struct attempt *a, uint32_t row)
{
    if (a->code != KS_SUCCESS)
        return a->code;
    if (a->by[row] == 0)
        return KS_SUCCESS;
    if (a->by[row] == ATTEMPT_LEFT_OUT)
        return KS_UNRESOLVABLE;
    if (a->by[row] == PROFILE_EXTENDER + 1)
        return a->opinion[row]->code;
    return a->profile->slots[a->by[row] - 1].plugin->reasons[a->why[row]].code;
}

const char *attempt_plugin(const struct attempt *a, uint32_t row)
{
    bool left_out = a->by[row] == 0 || a->by[row] == ATTEMPT_LEFT_OUT;

    if (a->by[row] == PROFILE_EXTENDER + 1)
        return "Extender";
    return left_out ? NULL : a->profile->slots[a->by[row] - 1].plugin->name;
}

void attempt_verdict_texts(struct attempt *a, uint32_t row, uint8_t by, uint8_t why,
                           struct ks_texts *out)
{
    const struct profile_slot *s = &a->profile->slots[by - 1];
    uint32_t before = out->n;

    if (s->plugin->explain) {
        attempt_enter(a, by - 1u, a->state[by - 1]);
        s->plugin->explain(s->self, &a->cycle, &a->pod, row, out);
    }
    if (out->n == before)
        ks_texts_add(out, s->plugin->reasons[why].text);
}

void attempt_texts(struct attempt *a, uint32_t row, struct ks_texts *out)
{
    if (a->text || a->by[row] == ATTEMPT_LEFT_OUT) {
        ks_texts_add(out, a->text ? a->text : a->left_out);
    } else if (a->by[row] == PROFILE_EXTENDER + 1) {
        if (*a->opinion[row]->why)
            ks_texts_add(out, a->opinion[row]->why);
    } else if (a->by[row] && a->with_nominated && a->with_nominated[row]) {
        struct attempt_verdict v;
        if (!attempt_fits(a, row, &v))
            attempt_fits_texts(a, row, &v, out);
    } else if (a->by[row]) {
        attempt_verdict_texts(a, row, a->by[row], a->why[row], out);
    }
}

void attempt_message(struct attempt *a, struct strbuf *out)
{
    struct tally *t = tally_new(a->arena);

    if (a->text) {
        strbuf_appendf(out, "0/%u nodes are available: %s.", a->n, a->text);
        return;
    }
    for (uint32_t i = 0; i < a->n; i++) {
        struct ks_texts texts = { .arena = a->arena };
        attempt_texts(a, i, &texts);
        for (uint32_t k = 0; k < texts.n; k++)
            tally_add(t, texts.items[k], 1);
    }
    tally_format(t, a->n, out);
}

void attempt_show(struct attempt *a, uint32_t row, struct kjw *w)
{
    for (uint32_t i = 0; i < a->profile->n; i++) {
        const struct profile_slot *s = &a->profile->slots[i];
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        if (!s->plugin->show)
            continue;
        struct kjw own = kjw_to(&text);
        attempt_enter(a, i, a->state[i]);
        kjw_obj(&own, NULL);
        s->plugin->show(s->self, &a->cycle, &a->pod, row, &own);
        kjw_end(&own);
        if (!streq(strbuf_str(&text), "{}"))
            kjw_raw(w, s->plugin->name, text.data, text.len);
    }
}
