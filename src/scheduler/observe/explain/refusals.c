/* refusals.c - which nodes turned a pod down, and why. */
#include "scheduler/observe/explain/refusals.h"

#include "base/arena.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/model/nodecache.h"
#include "json/kj.h"

struct refusal {
    const char *plugin, *reason, *node;
    bool might_help; /* victims */
};

static int by_group(const void *left, const void *right)
{
    const struct refusal *a = left, *b = right;
    int d = strcmp(a->plugin, b->plugin);

    if (d == 0)
        d = strcmp(a->reason, b->reason);
    if (d == 0)
        d = (int)b->might_help - (int)a->might_help;
    return d;
}

static int by_group_and_node(const void *left, const void *right)
{
    int d = by_group(left, right);
    return d ? d
             : strcmp(((const struct refusal *)left)->node, ((const struct refusal *)right)->node);
}

/* A pre_filter that rejected the pod did so for all nodes. */
static const char *plugin_of(const struct attempt *a, uint32_t row)
{
    const char *plugin = attempt_plugin(a, row);

    if (!plugin && a->code != KS_SUCCESS && a->rejectors)
        plugin = a->profile->slots[__builtin_ctzll(a->rejectors)].plugin->name;
    return plugin ? plugin : "";
}

static const char *reason_of(struct attempt *a, uint32_t row)
{
    struct ks_texts texts = { .arena = a->arena };
    const char *all = "";

    attempt_texts(a, row, &texts);
    for (uint32_t i = 0; i < texts.n; i++)
        all = i ? arena_printf(a->arena, "%s, %s", all, texts.items[i]) : texts.items[i];
    return all;
}

static uint32_t collect(struct attempt *a, struct refusal *all)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->n; i++) {
        enum ks_code code = attempt_code(a, i);
        if (code != KS_SUCCESS)
            all[n++] = (struct refusal){ plugin_of(a, i), reason_of(a, i),
                                         nodecache_row_name(a->cache, i), code != KS_UNRESOLVABLE };
    }
    if (n)
        qsort(all, n, sizeof *all, by_group_and_node);
    return n;
}

void refusals_write(struct attempt *a, struct kjw *w)
{
    struct refusal *all = arena_newn0(a->arena, a->n, struct refusal);
    uint32_t n = collect(a, all);

    if (n == 0)
        return;
    kjw_arr(w, "nodeFailedDetails");
    for (uint32_t i = 0; i < n;) {
        const struct refusal *first = &all[i];
        kjw_obj(w, NULL);
        if (*first->plugin)
            kjw_str(w, "failedPlugin", first->plugin);
        kjw_str(w, "reason", first->reason);
        kjw_bool(w, "preemptMightHelp", first->might_help);
        kjw_arr(w, "failedNodes");
        for (; i < n && by_group(first, &all[i]) == 0; i++)
            kjw_str(w, NULL, all[i].node);
        kjw_end(w);
        kjw_end(w);
    }
    kjw_end(w);
}
