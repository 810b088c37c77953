/* detector.c - two states, two counters, one deadline. */
#include "descheduler/plugins/lownodeload/detector.h"

#include "base/vec.h"
#include "descheduler/plugins/lownodeload/args.h"

struct detector {
    bool anomaly;
    int32_t abnormal, normal; /* marks in a row */
    nsec_t until;             /* of the anomaly */
    nsec_t marked;
    char node[];
};

static void clear(struct detector *x)
{
    x->abnormal = x->normal = 0;
}

void detectors_fini(struct detectors *d)
{
    map_foreach(&d->all, e)
        free(e->value);
    map_fini(&d->all);
}

static bool is_over(const struct detectors *d, const struct detector *x, nsec_t now)
{
    return now - x->marked >= d->keep;
}

void detectors_expire(struct detectors *d, nsec_t now)
{
    struct vec_of(struct detector *) gone = { 0 };

    map_foreach(&d->all, e)
        if (is_over(d, e->value, now))
            vec_push(&gone, e->value);
    vec_foreach(&gone, i) {
        map_removez(&d->all, gone.items[i]->node);
        free(gone.items[i]);
    }
    vec_fini(&gone);
}

static struct detector *get(struct detectors *d, const char *node, nsec_t now)
{
    struct detector *x = map_getz(&d->all, node);
    size_t n = strlen(node) + 1;

    if (x && is_over(d, x, now)) {
        map_removez(&d->all, node);
        free(x);
        x = NULL;
    }
    if (!x) {
        x = xcalloc(1, sizeof *x + n);
        memcpy(x->node, node, n);
        map_putz(&d->all, x->node, x);
    }
    return x;
}

bool detector_mark(struct detectors *d, const char *node, bool abnormal,
                   const struct lnl_anomaly *a, nsec_t now)
{
    struct detector *x = get(d, node, now);

    x->marked = now;
    if (x->anomaly && now > x->until) {
        x->anomaly = false;
        clear(x);
    }
    if (abnormal) {
        x->abnormal++;
        x->normal = 0;
        if (!x->anomaly && x->abnormal > a->abnormal) {
            x->anomaly = true;
            x->until = now + a->timeout.v;
            clear(x);
        }
    } else {
        x->normal++;
        x->abnormal = 0;
        if (x->anomaly && x->normal > a->normal) {
            x->anomaly = false;
            clear(x);
        }
    }
    return x->anomaly;
}

void detector_reset(struct detectors *d, const char *node, nsec_t now)
{
    struct detector *x = map_getz(&d->all, node);

    if (!x || is_over(d, x, now) || !x->anomaly)
        return;
    x->anomaly = false;
    clear(x);
}
