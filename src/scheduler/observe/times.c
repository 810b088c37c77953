/* times.c - how long extension points and plugins of a profile take. */
#include "scheduler/observe/times.h"

#include "component/metrics.h"
#include "loop/loop.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/framework/profile.h"
#include "scheduler/observe/smetrics.h"

enum { WATCHED = 10, CODES = KS_PENDING + 1 };

static const char *const lap_names[LAPS] = {
    [LAP_PRE_ENQUEUE] = "PreEnqueue",
    [LAP_NEXT] = "NextPod",
    [LAP_BEFORE_PRE_FILTER] = "BeforePreFilter",
    [LAP_PRE_FILTER] = "PreFilter",
    [LAP_AFTER_PRE_FILTER] = "AfterPreFilter",
    [LAP_FIND_ONE] = "FindOneNodePlugin",
    [LAP_PREFER] = "PreferNodesPlugin",
    [LAP_FILTER] = "Filter",
    [LAP_POST_FILTER] = "PostFilter",
    [LAP_AFTER_POST_FILTER] = "AfterPostFilter",
    [LAP_PRE_SCORE] = "PreScore",
    [LAP_SCORE] = "Score",
    [LAP_NORMALIZE] = "ScoreExtensionNormalize",
    [LAP_RESIZE] = "ResizePod",
    [LAP_RESERVE] = "Reserve",
    [LAP_UNRESERVE] = "Unreserve",
    [LAP_PERMIT] = "Permit",
    [LAP_PRE_BIND] = "PreBind",
    [LAP_BIND] = "Bind",
    [LAP_POST_BIND] = "PostBind",
};

/* Koordinator's points are part of upstream's. */
static enum lap point_of(enum lap l)
{
    switch (l) {
    case LAP_BEFORE_PRE_FILTER:
    case LAP_AFTER_PRE_FILTER:
    case LAP_FIND_ONE:
    case LAP_PREFER: return LAP_PRE_FILTER;
    case LAP_NORMALIZE: return LAP_SCORE;
    case LAP_AFTER_POST_FILTER: return LAP_POST_FILTER;
    case LAP_RESIZE: return LAP_NOBODY;
    default: return l;
    }
}

static const double point_bounds[] = { 0.0001, 0.0002, 0.0004, 0.0008, 0.0016, 0.0032,
                                       0.0064, 0.0128, 0.0256, 0.0512, 0.1024, 0.2048 };
static const struct metric_desc points_desc = {
    "scheduler_framework_extension_point_duration_seconds",
    "Time for all plugins of an extension point in one attempt.",
    METRIC_HISTOGRAM,
    .labels = { "extension_point", "status", "profile" },
    .buckets = point_bounds,
    .nbuckets = ARRAY_LEN(point_bounds),
};
/* Each half as much again as the one before, multiplied in Go's order. */
#define HALF_MORE_5(x) (x), (x)*1.5, (x)*1.5 * 1.5, (x)*1.5 * 1.5 * 1.5, (x)*1.5 * 1.5 * 1.5 * 1.5
#define AFTER_5(x)     ((x)*1.5 * 1.5 * 1.5 * 1.5 * 1.5)
const double times_plugin_bounds[TIMES_PLUGIN_BOUNDS] = {
    HALF_MORE_5(0.00001),
    HALF_MORE_5(AFTER_5(0.00001)),
    HALF_MORE_5(AFTER_5(AFTER_5(0.00001))),
    HALF_MORE_5(AFTER_5(AFTER_5(AFTER_5(0.00001)))),
};
static const struct metric_desc plugins_desc = {
    "scheduler_plugin_execution_duration_seconds",
    "Time for one plugin at an extension point in one attempt, all nodes together.",
    METRIC_HISTOGRAM,
    .labels = { "plugin", "extension_point", "status" },
    .buckets = times_plugin_bounds,
    .nbuckets = ARRAY_LEN(times_plugin_bounds),
};
static const struct metric_desc evaluations_desc = {
    "scheduler_plugin_evaluation_total",
    "Number of attempts in which a plugin took part at an extension point.",
    METRIC_COUNTER,
    .labels = { "plugin", "extension_point", "profile" },
};

/* ---- who took part --------------------------------------------------------------------------- */

enum { PARTS = 4 };
static const enum lap parts[PARTS] = { LAP_PRE_FILTER, LAP_FILTER, LAP_PRE_SCORE, LAP_SCORE };

/* Attempts for pods of one kind have the same plugins: they are counted together. */
struct parties {
    uint64_t slots[PARTS];
    uint64_t attempts;
};

struct times {
    struct stopwatch stopwatch;
    struct loop *loop;
    const struct profile *profile;
    struct metric *points, *plugins, *evaluations;
    uint64_t attempts;
    nsec_t last; /* when the last lap ended */
    struct lap_sum {
        nsec_t took;
        enum ks_code code;
        struct histogram *by_code[CODES]; /* NULL: not seen yet */
        uint64_t called;                  /* slots */
        uint64_t sampled;                 /* stretches so far */
        struct plugin_sum {
            nsec_t took;
            enum ks_code code;
            struct histogram *success; /* NULL: not seen yet */
        } slots[PROFILE_PLUGINS_MAX];
    } sums[LAPS];
    uint32_t seen; /* which of them */
    struct parties same;
};

void times_settle(struct times *t)
{
    const struct profile *p = t ? t->profile : NULL;

    for (int i = 0; t && t->same.attempts && i < PARTS; i++)
        for (uint32_t k = 0; k < p->n; k++)
            if (t->same.slots[i] >> k & 1)
                counter_add(metric_counter(t->evaluations,
                                           METRIC_VALUES(p->slots[k].plugin->name,
                                                         lap_names[parts[i]], p->scheduler_name)),
                            (double)t->same.attempts);
    if (t)
        t->same.attempts = 0;
}

void times_took_part(struct times *t, const struct attempt *a)
{
    const struct profile_point *points = a->profile->points;
    uint64_t filters = a->by && a->code == KS_SUCCESS ? ~a->skip_filter : 0;
    uint64_t scorers = a->feasible > 1 ? ~a->skip_score : 0;
    struct parties now = { { a->asked & ~a->skip_filter, points[KS_POINT_FILTER].set & filters,
                             points[KS_POINT_PRE_SCORE].set & scorers,
                             points[KS_POINT_SCORE].set & scorers },
                           0 };

    if (!t)
        return;
    if (a->feasible < 2) /* scores were made in advance, for equal pods that come later */
        t->seen &= ~(1u << LAP_PRE_SCORE | 1u << LAP_SCORE);
    if (memcmp(now.slots, t->same.slots, sizeof now.slots) != 0) {
        times_settle(t);
        t->same = now;
    }
    t->same.attempts++;
}

/* ---- laps ------------------------------------------------------------------------------------ */

static void observe_point(struct times *t, enum lap what, enum ks_code code, nsec_t took)
{
    struct histogram **h = &t->sums[what].by_code[code];

    if (!*h)
        *h = metric_histogram(t->points, METRIC_VALUES(lap_names[what], ks_code_name(code),
                                                       t->profile->scheduler_name));
    histogram_observe(*h, nsec_seconds(took));
}

static void observe_plugin(struct times *t, enum lap what, uint32_t slot, enum ks_code code,
                           nsec_t took)
{
    struct histogram **kept = &t->sums[what].slots[slot].success, *h = *kept;

    if (!h || code != KS_SUCCESS)
        h = metric_histogram(t->plugins, METRIC_VALUES(t->profile->slots[slot].plugin->name,
                                                       lap_names[what], ks_code_name(code)));
    if (code == KS_SUCCESS)
        *kept = h;
    histogram_observe(h, nsec_seconds(took));
}

static void on_lap(struct stopwatch *w, enum lap what, int slot, enum ks_code code)
{
    struct times *t = container_of(w, struct times, stopwatch);
    nsec_t now = loop_stopwatch(t->loop), took = now - t->last;
    enum lap point = point_of(what);
    struct lap_sum *sum = &t->sums[point];

    t->last = now;
    if (what == LAP_NOBODY)
        return;
    sum->took = t->seen >> point & 1 ? sum->took + took : took;
    if (slot < 0)
        sum->code = code;
    t->seen |= 1u << point;
    if (slot < 0 || slot >= PROFILE_PLUGINS_MAX)
        return;
    struct lap_sum *own = &t->sums[what];
    struct plugin_sum *p = &own->slots[slot];
    p->took = own->called >> slot & 1 ? p->took + took : took;
    p->code = code;
    own->called |= UINT64_C(1) << slot;
}

static void settle_plugins(struct times *t)
{
    for (int what = 0; what < LAPS; what++) {
        uint64_t left = t->sums[what].called;
        t->sums[what].called = 0;
        for (; left; left &= left - 1) {
            uint32_t slot = (uint32_t)__builtin_ctzll(left);
            const struct plugin_sum *p = &t->sums[what].slots[slot];
            observe_plugin(t, (enum lap)what, slot, p->code, p->took);
        }
    }
}

void times_end(struct times *t)
{
    if (!t)
        return;
    for (uint32_t left = t->seen & ~(1u << LAP_NOBODY); left; left &= left - 1) {
        enum lap what = (enum lap)__builtin_ctz(left);
        observe_point(t, what, t->sums[what].code, t->sums[what].took);
    }
    if (t->stopwatch.each)
        settle_plugins(t);
    t->seen = 0;
}

struct stopwatch *times_begin(struct times *t, nsec_t now)
{
    if (!t)
        return NULL;
    t->stopwatch.each = t->attempts++ % WATCHED == 0;
    t->last = now;
    return &t->stopwatch;
}

struct stopwatch *times_resume(struct times *t)
{
    if (t)
        t->last = loop_stopwatch(t->loop);
    return t ? &t->stopwatch : NULL;
}

nsec_t times_last(const struct times *t)
{
    return t ? t->last : 0;
}

bool times_each(const struct times *t)
{
    return t && t->stopwatch.each;
}

void times_add(struct times *t, enum lap what, int slot, enum ks_code code, nsec_t took)
{
    if (t && slot < 0)
        observe_point(t, what, code, took);
    else if (t)
        observe_plugin(t, what, (uint32_t)slot, code, took);
}

bool times_sample(struct times *t, enum lap what)
{
    return t && t->sums[what].sampled++ % WATCHED == 0;
}

/* ---- beside the attempt ---------------------------------------------------------------------- */

static void on_stretch_lap(struct stopwatch *w, enum lap what, int slot, enum ks_code code)
{
    struct stretch *x = container_of(w, struct stretch, stopwatch);
    nsec_t now = loop_stopwatch(x->times->loop);

    times_add(x->times, what, slot, code, now - (slot < 0 ? x->began : x->last));
    x->last = now;
}

struct stopwatch *stretch_begin(struct stretch *x, struct times *t, bool each)
{
    if (!t)
        return NULL;
    nsec_t now = loop_stopwatch(t->loop);
    *x = (struct stretch){ { each, on_stretch_lap }, t, now, now };
    return &x->stopwatch;
}

/* ---- life ------------------------------------------------------------------------------------ */

struct times *times_new(struct loop *l, struct metrics *m, const struct profile *p)
{
    if (!m)
        return NULL;
    struct times *t = xnew0(struct times);
    t->stopwatch.lap = on_lap;
    t->loop = l;
    t->profile = p;
    t->points = metrics_add(m, &points_desc);
    t->plugins = metrics_add(m, &plugins_desc);
    t->evaluations = metrics_add(m, &evaluations_desc);
    return t;
}

struct times *times_free(struct times *t)
{
    times_settle(t);
    free(t);
    return NULL;
}
