/* rows.c - the row data of plugins in an attempt: who reads it, and when it is made current. */
#include "api/kobj.h"
#include "scheduler/framework/attempt_int.h"

static struct rowset *set_at(const struct attempt *a, uint64_t left)
{
    return a->profile->slots[__builtin_ctzll(left)].rows;
}

void attempt_begin_rows(struct attempt *a)
{
    a->rows = a->profile->with_rows;
    for (uint64_t left = a->rows; left; left &= left - 1) {
        rowset_begin(set_at(a, left));
        rowset_sync(set_at(a, left), a->cycle.now); /* now: rows that run out are dirty */
    }
}

void attempt_end_rows(struct attempt *a)
{
    for (; a->rows; a->rows &= a->rows - 1)
        rowset_end(set_at(a, a->rows));
}

static uint32_t slot_of(const struct attempt *a, const struct ks_rows *rows)
{
    uint32_t i = 0;

    while (!a->profile->slots[i].rows || rowset_rows(a->profile->slots[i].rows) != rows)
        i++;
    return i;
}

void ks_rows_refresh(const struct ks_cycle *c)
{
    struct attempt *a = container_of((struct ks_cycle *)c, struct attempt, cycle);
    uint32_t slot = slot_of(a, c->rows);
    struct rowset *s = a->profile->slots[slot].rows;

    if (!(a->rows >> slot & 1))
        rowset_begin(s);
    a->rows |= UINT64_C(1) << slot;
    rowset_sync(s, c->now);
}

void ks_overlay_add_own(struct ks_overlay *o, const struct ks_cycle *c, uint32_t row,
                        uint32_t column, int64_t delta)
{
    const struct attempt *a = container_of((struct ks_cycle *)c, struct attempt, cycle);

    assert(a->overlay == o);
    overlay_add_own(a->profile->slots[slot_of(a, c->rows)].rows, row, column, delta);
}

int attempt_verify_rows(struct attempt *a, struct kerr *err)
{
    for (uint64_t left = a->rows; left; left &= left - 1) {
        int r = rowset_verify(set_at(a, left), a->cycle.now, err);
        if (r < 0)
            return kerr_wrap(err, "row data of %s",
                             a->profile->slots[__builtin_ctzll(left)].plugin->name);
    }
    return 0;
}
