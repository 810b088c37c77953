/* work.c - what an evaluation may use besides what it costs: steps and memory. */
#include "cel/cel.h"
#include "cel/lib.h"

bool cel_work_look(struct cel_run *r)
{
    if (r->steps > CEL_STEPS_MAX)
        r->cancelled = true;
    else if (!r->cancelled && r->stop && r->stop->is_set(r->stop->arg))
        r->cancelled = r->stopped = true;
    return !r->cancelled;
}

bool cel_room(struct cel_run *r, uint64_t bytes)
{
    uint64_t most = CEL_BYTES_MAX + CEL_BYTES_PER_COST * MIN(r->cost, CEL_LIMIT_CALL);

    if (bytes > most || arena_used(r->a) - r->held > most - bytes)
        r->cancelled = true;
    return !r->cancelled;
}

void *cel_alloc(struct cel_run *r, uint64_t n, size_t size)
{
    uint64_t bytes;

    if (__builtin_mul_overflow(n, (uint64_t)size, &bytes) || !cel_room(r, bytes)) {
        r->cancelled = true;
        return NULL;
    }
    return arena_alloc(r->a, bytes, 16);
}

bool cel_append(struct cel_run *r, struct cel_val **items, size_t n, size_t *cap, struct cel_val v)
{
    if (n == *cap) {
        size_t more = MAX(*cap * 2, (size_t)8);
        struct cel_val *grown = cel_alloc(r, more, sizeof *grown);
        if (!grown)
            return false;
        if (n)
            memcpy(grown, *items, n * sizeof *grown);
        *items = grown;
        *cap = more;
    }
    (*items)[n] = v;
    return true;
}

static void grown(struct arena_watch *w)
{
    (void)cel_room(container_of(w, struct cel_watch, arena)->run, 0);
}

void cel_run_begin(struct cel_run *r, struct cel_watch *w)
{
    w->run = r;
    w->arena.grown = grown;
    arena_watch_begin(r->a, &w->arena);
    r->held = w->arena.since;
}

void cel_run_end(struct cel_run *r, struct cel_watch *w)
{
    arena_watch_end(r->a, &w->arena);
    /* It ends as what is too expensive does. */
    if (r->cancelled && !r->stopped && r->cost <= r->limit)
        r->cost = r->limit < UINT64_MAX ? r->limit + 1 : r->limit;
}
