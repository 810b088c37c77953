/* attempt.c - one pod against all nodes: the filters.
 *
 * What LOCAL plugins say about a row is a function of the pod's shape and that row, so it is taken
 * from the shape where the row did not change. The others run over all rows. `by` and `why` point
 * to the shape's own arrays as long as no other plugin has anything to add.
 */
#include "scheduler/framework/attempt.h"

#include "api/kobj.h"
#include "api/pod.h"
#include "base/arena.h"
#include "scheduler/framework/attempt_int.h"
#include "scheduler/framework/shapes.h"
#include "scheduler/framework/stopwatch.h"
#include "scheduler/model/nodecache.h"
#include "scheduler/model/nominator.h"
#include "scheduler/model/objects.h"
#include "scheduler/model/overlay.h"
#include "scheduler/model/uidmap.h"

static void describe(struct attempt *a)
{
    a->pod.pod = pod_of(a->obj);
    requests_placed(a->pod.pod, a->arena, &a->pod.requests);
    requests_resolve(&a->pod.requests, a->cycle.nodes);
}

void attempt_init(struct attempt *a, const struct attempt_input *in, struct arena *arena)
{
    *a = (struct attempt){
        .profile = in->profile,
        .cache = in->cache,
        .nominator = in->nominator,
        .shapes = in->shapes,
        .objects_generation =
            in->objects ? profile_objects_generation(in->profile, in->objects) : 0,
        .obj = in->pod,
        .nominated_first = in->nominated_first,
        .nominated_once = in->nominated_once,
        .ignored = in->ignored,
        .nignored = in->nignored,
        .ignored_set = in->ignored_set,
        .node = in->node,
        .advice = in->advice,
        .all_plans = in->all_plans,
        .stopwatch = in->stopwatch,
        .arena = arena,
        .cycle = { .nodes = nodecache_nodes(in->cache),
                   .arena = arena,
                   .now = in->now,
                   .serial = nodecache_serial(in->cache),
                   .complete = in->complete },
    };
    a->n = a->cycle.nodes->n;
    a->own.cache = in->cache;
    a->overlay = in->within ? in->within->overlay : &a->own;
    a->before = a->after = ks_overlay_mark(a->overlay);
    if (!in->within)
        nodecache_begin(in->cache);
    attempt_begin_rows(a);
    describe(a);
    if (in->shapes && !in->complete && !in->within) {
        struct shape *of[SHAPE_PARTS];
        shapes_get(in->shapes, in->profile, in->pod, a->cycle.nodes, a->objects_generation, of);
        a->shape = of[SHAPE_LOCAL];
        a->domains = of[SHAPE_DOMAIN];
    }
}

/* ---- pre_filter ------------------------------------------------------------------------------ */

static bool is_local(const struct profile_slot *s)
{
    return s->plugin->reuse == KS_REUSE_LOCAL;
}

static bool slot_in(uint64_t set, uint32_t slot)
{
    return set >> slot & 1;
}

/* Rows of both; *only is narrowed. */
static void intersect(struct attempt *a, struct ks_only *only, const struct ks_only *with)
{
    if (!only->set) {
        *only = *with;
        return;
    }
    uint32_t *rows = arena_newn0(a->arena, with->n, uint32_t), n = 0;
    uint8_t *in = arena_zalloc(a->arena, a->n);
    for (uint32_t i = 0; i < only->n; i++)
        in[only->rows[i]] = 1;
    for (uint32_t i = 0; i < with->n; i++)
        if (in[with->rows[i]])
            rows[n++] = with->rows[i];
    *only = (struct ks_only){ rows, n, true };
}

static void reject_all(struct attempt *a, enum ks_code code, uint64_t rejectors, const char *text)
{
    a->code = code;
    a->rejectors = rejectors;
    a->text = text;
}

static const char *names_of(struct attempt *a, uint64_t slots)
{
    const char *names[PROFILE_PLUGINS_MAX], *all = "";
    uint32_t n = 0;

    for (uint32_t i = 0; i < a->profile->n; i++) {
        if (!slot_in(slots, i))
            continue;
        uint32_t at = n++;
        for (; at > 0 && strcmp(names[at - 1], a->profile->slots[i].plugin->name) > 0; at--)
            names[at] = names[at - 1];
        names[at] = a->profile->slots[i].plugin->name;
    }
    for (uint32_t i = 0; i < n; i++)
        all = i ? arena_printf(a->arena, "%s %s", all, names[i]) : names[i];
    return all;
}

/* One plugin's pre_filter, whose state lives with the shape unless the plugin is GLOBAL. */
static enum ks_code pre_filter_one(struct attempt *a, uint32_t slot, struct ks_only *only,
                                   struct ks_texts *why)
{
    const struct profile_slot *s = &a->profile->slots[slot];
    const struct shape *keeper = attempt_keeper(a, slot);

    a->cycle.arena = keeper ? keeper->arena : a->arena;
    attempt_enter(a, slot, a->carried ? a->carried[slot] : NULL);
    enum ks_code code =
        s->plugin->pre_filter(s->self, &a->cycle, &a->pod, &a->state[slot], only, why);
    a->cycle.arena = a->arena;
    stopwatch_plugin(a->stopwatch, LAP_PRE_FILTER, slot, code);
    if (code == KS_SKIP)
        a->skip_filter |= UINT64_C(1) << slot;
    return code;
}

/* A state that was kept is brought up to date; false: there is none, or it could not be. */
static bool refresh_one(struct attempt *a, uint32_t slot)
{
    const struct profile_slot *s = &a->profile->slots[slot];
    const struct shape *keeper = attempt_keeper(a, slot);

    if (!keeper || !keeper->made)
        return false;
    bool skip = slot_in(keeper->skip_filter, slot);
    if (s->plugin->reuse == KS_REUSE_DOMAIN && a->state[slot] && a->domains_dirty.n) {
        a->cycle.arena = keeper->arena;
        attempt_enter(a, slot, a->state[slot]);
        bool ok = s->plugin->refresh(s->self, &a->cycle, &a->pod, &a->domains_dirty, &skip);
        a->cycle.arena = a->arena;
        stopwatch_plugin(a->stopwatch, LAP_PRE_FILTER, slot, KS_SUCCESS);
        if (!ok)
            return false;
    }
    if (skip)
        a->skip_filter |= UINT64_C(1) << slot;
    return true;
}

/* One more plugin narrows the attempt; the names of all that do. */
static const char *leave_out(struct attempt *a, uint32_t slot)
{
    a->narrowed |= UINT64_C(1) << slot;
    const char *names = names_of(a, a->narrowed);
    a->left_out = arena_printf(a->arena, "node(s) didn't satisfy plugin(s) [%s]", names);
    return names;
}

/* The rows that a plugin names; false: there is none that this one and earlier ones named. One
 * alone may name nodes that do not exist: then all that do are left out. */
static bool narrow(struct attempt *a, uint32_t slot, const struct ks_only *only)
{
    const char *names = leave_out(a, slot);

    intersect(a, &a->only, only);
    if (a->only.n > 0 || !(a->narrowed & (a->narrowed - 1)))
        return true;
    reject_all(
        a, KS_UNRESOLVABLE, a->narrowed,
        arena_printf(a->arena, "node(s) didn't satisfy plugin(s) [%s] simultaneously", names));
    return false;
}

/* What is no verdict is an error. */
static void pre_filter_refused(struct attempt *a, uint32_t slot, enum ks_code code, const char *why)
{
    if (code == KS_UNSCHEDULABLE || code == KS_UNRESOLVABLE)
        reject_all(a, code, UINT64_C(1) << slot, why);
    else
        reject_all(a, KS_ERROR, 0,
                   arena_printf(a->arena, "running PreFilter plugin \"%s\": %s",
                                a->profile->slots[slot].plugin->name, why));
}

/* false: the pod is rejected as a whole. */
static bool pre_filter(struct attempt *a)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_PRE_FILTER];

    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        struct ks_texts why = { .arena = a->arena };
        struct ks_only only = { 0 };
        a->asked |= UINT64_C(1) << slot;
        if (refresh_one(a, slot))
            continue;
        enum ks_code code = pre_filter_one(a, slot, &only, &why);
        if (code == KS_SUCCESS && only.set && !narrow(a, slot, &only))
            return false;
        if (code == KS_SUCCESS || code == KS_SKIP)
            continue;
        pre_filter_refused(a, slot, code, ks_texts_join(&why));
        if (code != KS_UNSCHEDULABLE)
            return false; /* otherwise a later plugin may say that nothing helps */
    }
    return a->code == KS_SUCCESS;
}

/* ---- filter ---------------------------------------------------------------------------------- */

/* Rows that the plugin rejected, and that no earlier one did, are marked with it. Slots of filters
 * have the order of filters. Bytes only: 32 rows an instruction. */
KOORD_CLONES static void mark(struct ks_span s, uint8_t slot1, const uint8_t *restrict said,
                              uint8_t *restrict by, uint8_t *restrict why)
{
    for (uint32_t i = s.begin; i < s.end; i++) {
        uint8_t now =
            (uint8_t) - (uint8_t)((said[i] != 0) & ((uint8_t)(by[i] - 1) >= slot1)); /* 0 or 255 */
        by[i] = (uint8_t)((by[i] & ~now) | (slot1 & now));
        why[i] = (uint8_t)((why[i] & ~now) | (said[i] & now));
    }
}

/* The same for one row, without what it takes to get vectors going: dirty rows come one by one. */
static void mark_row(uint32_t row, uint8_t slot1, const uint8_t *said, uint8_t *by, uint8_t *why)
{
    if (!said[row] || (uint8_t)(by[row] - 1) < slot1)
        return;
    by[row] = slot1;
    why[row] = said[row];
}

KOORD_CLONES static uint32_t count_zero(uint32_t n, const uint8_t *a)
{
    uint32_t zero = 0;
    for (uint32_t i = 0; i < n; i++)
        zero += a[i] == 0;
    return zero;
}

static void filter_one(struct attempt *a, uint32_t slot, struct ks_span s, uint8_t *said,
                       uint8_t *by, uint8_t *why)
{
    const struct profile_slot *p = &a->profile->slots[slot];

    attempt_enter(a, slot, a->state[slot]);
    p->plugin->filter(p->self, &a->cycle, &a->pod, s, by, said);
    if (s.end - s.begin == 1)
        mark_row(s.begin, (uint8_t)(slot + 1), said, by, why);
    else
        mark(s, (uint8_t)(slot + 1), said, by, why);
    stopwatch_plugin(a->stopwatch, LAP_FILTER, slot, KS_SUCCESS);
}

/* The filters whose LOCAL-ness is as asked, over a span. */
static void filter_span(struct attempt *a, bool local, struct ks_span s, uint8_t *said, uint8_t *by,
                        uint8_t *why)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_FILTER];

    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        if (is_local(&a->profile->slots[slot]) == local && !slot_in(a->skip_filter, slot))
            filter_one(a, slot, s, said, by, why);
    }
}

void attempt_filter_row(struct attempt *a, uint32_t row, uint8_t *said, uint8_t *by, uint8_t *why)
{
    struct ks_span s = { row, row + 1 };

    by[row] = why[row] = 0;
    filter_span(a, true, s, said, by, why);
    filter_span(a, false, s, said, by, why);
}

static bool others_filter(const struct attempt *a)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_FILTER];

    for (uint32_t i = 0; i < point->n; i++)
        if (!is_local(&a->profile->slots[point->slots[i]]) &&
            !slot_in(a->skip_filter, point->slots[i]))
            return true;
    return false;
}

void attempt_own_verdicts(struct attempt *a)
{
    if (!a->shape || a->by != a->shape->by)
        return;
    a->by = memcpy(arena_alloc(a->arena, a->n, 16), a->by, a->n);
    a->why = memcpy(arena_alloc(a->arena, a->n, 16), a->why, a->n);
}

/* Only these rows: the others are not even looked at. */
static void filter_few(struct attempt *a, uint8_t *said)
{
    a->by = memset(arena_alloc(a->arena, a->n, 16), ATTEMPT_LEFT_OUT, a->n);
    a->why = arena_zalloc(a->arena, a->n);
    for (uint32_t i = 0; i < a->only.n; i++)
        attempt_filter_row(a, a->only.rows[i], said, a->by, a->why);
}

/* The LOCAL filters over the rows that changed, one plugin after the other. */
static void filter_dirty(struct attempt *a, uint8_t *said)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_FILTER];
    const uint32_t *rows = a->dirty.rows, n = a->dirty.n;

    for (uint32_t i = 0; i < n; i++)
        a->by[rows[i]] = a->why[rows[i]] = 0;
    for (uint32_t k = 0; k < point->n && n; k++) {
        uint32_t slot = point->slots[k];
        const struct profile_slot *p = &a->profile->slots[slot];
        if (!is_local(p) || slot_in(a->skip_filter, slot))
            continue;
        attempt_enter(a, slot, a->state[slot]);
        for (uint32_t i = 0; i < n; i++) {
            struct ks_span s = { rows[i], rows[i] + 1 };
            p->plugin->filter(p->self, &a->cycle, &a->pod, s, a->by, said);
            mark_row(rows[i], (uint8_t)(slot + 1), said, a->by, a->why);
        }
        stopwatch_plugin(a->stopwatch, LAP_FILTER, slot, KS_SUCCESS);
    }
}

static void filter_all(struct attempt *a, uint8_t *said)
{
    struct ks_span all = { 0, a->n };

    a->by = a->shape ? a->shape->by : arena_zalloc(a->arena, a->n);
    a->why = a->shape ? a->shape->why : arena_zalloc(a->arena, a->n);
    if (a->fresh)
        filter_span(a, true, all, said, a->by, a->why);
    else
        filter_dirty(a, said);
    if (others_filter(a)) {
        attempt_own_verdicts(a);
        filter_span(a, false, all, said, a->by, a->why);
    }
}

/* Nominated pods of no lower priority are taken to be there; with and without them the pod must
 * fit. */
static void filter_nominated(struct attempt *a)
{
    const struct nominator *n = a->nominator;
    const char *node;
    struct kobj *pod;

    if (!n || nominator_count(n) == 0)
        return;
    a->with_nominated = arena_zalloc(a->arena, a->n);
    attempt_own_verdicts(a);
    for (size_t it = 0; (pod = nominator_next(n, &it, &node));) {
        uint32_t row = ks_row_of(a->cycle.nodes, node);
        struct attempt_verdict v;
        if (row == KS_NO_ROW || a->with_nominated[row] || a->by[row] == ATTEMPT_LEFT_OUT ||
            !attempt_nominated_counts(a, pod))
            continue;
        a->with_nominated[row] = 1;
        bool fits = attempt_fits(a, row, &v);
        if (!fits || a->nominated_once) {
            a->by[row] = v.by;
            a->why[row] = v.why;
        }
    }
}

/* A filter that could not do its work on some row ends the attempt. */
static bool find_filter_error(struct attempt *a)
{
    const struct profile_point *point = &a->profile->points[KS_POINT_FILTER];

    for (uint32_t i = 0; i < point->n; i++) {
        uint32_t slot = point->slots[i];
        const struct ks_plugin *p = a->profile->slots[slot].plugin;
        if (!p->filter_error || slot_in(a->skip_filter, slot))
            continue;
        for (uint32_t row = 0; row < a->n; row++) {
            struct ks_texts why = { .arena = a->arena };
            if (a->by[row] != slot + 1 || a->why[row] != p->filter_error)
                continue;
            attempt_verdict_texts(a, row, a->by[row], a->why[row], &why);
            reject_all(a, KS_ERROR, 0,
                       arena_printf(a->arena, "running \"%s\" filter plugin: %s", p->name,
                                    ks_texts_join(&why)));
            return true;
        }
    }
    return false;
}

void attempt_note_rejectors(struct attempt *a)
{
    bool seen[256] = { false };

    for (uint32_t i = 0; i < a->n; i++) {
        seen[a->by[i]] = true;
        if (a->by[i] && a->by[i] <= a->profile->n && attempt_code(a, i) == KS_PENDING)
            a->pending |= UINT64_C(1) << (a->by[i] - 1);
    }
    a->rejectors = a->narrowed;
    for (unsigned s = 0; s <= PROFILE_EXTENDER; s++)
        a->rejectors |= (uint64_t)seen[s + 1] << s;
}

static void reject_rows(struct attempt *a)
{
    a->by = arena_zalloc(a->arena, a->n);
    a->why = arena_zalloc(a->arena, a->n);
    for (uint32_t i = 0; i < PROFILE_PLUGINS_MAX; i++)
        if (slot_in(a->rejectors, i))
            memset(a->by, (int)i + 1, a->n);
    if (!a->rejectors)
        memset(a->by, ATTEMPT_LEFT_OUT, a->n);
}

struct ks_pod *ks_overlay_pod(struct ks_overlay *o)
{
    assert(o->of);
    o->of->pod_replaced = true;
    return &o->of->pod;
}

/* What is known of equal pods is not about a pod that was changed; of rows that were changed it is
 * found anew. */
static void transform(struct attempt *a)
{
    const struct profile_point *point = &a->profile->extras[PROFILE_TRANSFORM];

    if (point->n == 0)
        return;
    a->overlay->of = a;
    a->carried = arena_newn0(a->arena, a->profile->n, void *);
    for (uint32_t i = 0; i < point->n && a->code == KS_SUCCESS; i++) {
        uint32_t slot = point->slots[i];
        const struct profile_slot *s = &a->profile->slots[slot];
        struct ks_texts why = { .arena = a->arena };
        attempt_enter(a, slot, NULL);
        enum ks_code code =
            s->plugin->transform(s->self, &a->cycle, &a->pod, a->overlay, &a->carried[slot], &why);
        stopwatch_plugin(a->stopwatch, LAP_BEFORE_PRE_FILTER, slot, code);
        if (code != KS_SUCCESS && code != KS_SKIP)
            reject_all(a, code, code == KS_ERROR ? 0 : UINT64_C(1) << slot, ks_texts_join(&why));
    }
    a->overlay->of = NULL;
    a->after = ks_overlay_mark(a->overlay);
    if (a->pod_replaced)
        a->shape = a->domains = NULL;
}

static void after_pre_filter(struct attempt *a)
{
    const struct profile_point *point = &a->profile->extras[PROFILE_AFTER_PRE_FILTER];

    for (uint32_t i = 0; i < point->n && a->code == KS_SUCCESS; i++) {
        uint32_t slot = point->slots[i];
        const struct profile_slot *s = &a->profile->slots[slot];
        struct ks_texts why = { .arena = a->arena };
        struct ks_only only = { 0 };
        attempt_enter(a, slot, a->state[slot]);
        enum ks_code code = s->plugin->after_pre_filter(s->self, &a->cycle, &a->pod, &only, &why);
        stopwatch_plugin(a->stopwatch, LAP_AFTER_PRE_FILTER, slot, code);
        if (code == KS_SUCCESS && only.set)
            (void)narrow(a, slot, &only);
        else if (code != KS_SUCCESS && code != KS_SKIP)
            reject_all(a, code, code == KS_ERROR ? 0 : UINT64_C(1) << slot, ks_texts_join(&why));
    }
}

static void find_one_refused(struct attempt *a, uint32_t slot, enum ks_code code,
                             const struct ks_texts *why)
{
    const struct objmeta *m = &a->obj->meta;

    if (code == KS_SUCCESS)
        reject_all(a, KS_ERROR, 0,
                   arena_printf(a->arena,
                                "FindOneNodePlugin \"%s\" succeeded but produced no node for pod "
                                "%s/%s",
                                a->profile->slots[slot].plugin->name, m->ns, m->name));
    else
        reject_all(a, code, code == KS_ERROR ? 0 : a->rejectors | UINT64_C(1) << slot,
                   ks_texts_join(why));
}

/* A plan has named it: nobody is asked for one. */
static void only_there(struct attempt *a)
{
    uint32_t *row = arena_new0(a->arena, uint32_t);

    *row = ks_row_of(a->cycle.nodes, a->node);
    intersect(a, &a->only, &(struct ks_only){ row, *row != KS_NO_ROW, true });
    a->left_out = a->left_out ? a->left_out : "node(s) are not where the plan of its job has it";
    a->found_one = true;
}

/* A plugin may know the one row; the first of them is asked. */
static void find_one(struct attempt *a)
{
    const struct profile_point *point = &a->profile->extras[PROFILE_FIND_ONE];

    if (a->node && a->code == KS_SUCCESS)
        only_there(a);
    if (a->node || point->n == 0 || a->code != KS_SUCCESS)
        return;
    uint32_t slot = point->slots[0], *row = arena_new0(a->arena, uint32_t);
    const struct profile_slot *s = &a->profile->slots[slot];
    struct ks_texts why = { .arena = a->arena };
    *row = KS_NO_ROW;
    attempt_enter(a, slot, a->state[slot]);
    enum ks_code code = s->plugin->find_one(s->self, a, row, &why);
    stopwatch_plugin(a->stopwatch, LAP_FIND_ONE, slot, code);
    a->found_one = code == KS_SUCCESS && *row < a->n;
    if (a->found_one)
        (void)narrow(a, slot, &(struct ks_only){ row, 1, true });
    else if (code != KS_SKIP)
        find_one_refused(a, slot, code, &why);
}

bool attempt_may_have(const struct attempt *a, uint32_t row)
{
    bool found = !a->only.set;
    for (uint32_t i = 0; i < a->only.n && !found; i++)
        found = a->only.rows[i] == row;
    return found;
}

/* The row becomes the only candidate, if the pod fits there. */
static bool take_alone(struct attempt *a, uint32_t row)
{
    if (!attempt_may_have(a, row))
        return false;
    if (!attempt_fits(a, row, NULL))
        return false;
    uint32_t *one = arena_new0(a->arena, uint32_t);
    *one = row;
    a->only = (struct ks_only){ one, 1, true };
    return true;
}

/* The first of the rows a plugin prefers that passes all filters is the only candidate. */
static void prefer(struct attempt *a)
{
    const struct profile_point *point = &a->profile->extras[PROFILE_PREFER];
    const uint32_t *rows = NULL;

    if (point->n == 0)
        return;
    uint32_t slot = point->slots[0];
    const struct profile_slot *s = &a->profile->slots[slot];
    attempt_enter(a, slot, a->state[slot]);
    uint32_t n = s->plugin->prefer(s->self, &a->cycle, &a->pod, &rows);
    stopwatch_plugin(a->stopwatch, LAP_PREFER, slot, n ? KS_SUCCESS : KS_SKIP);
    for (uint32_t k = 0; k < n; k++) {
        if (!take_alone(a, rows[k]))
            continue;
        (void)leave_out(a, slot);
        return;
    }
}

/* Room was made for this pod: where it is nominated nobody is compared with that node. */
static void try_nominated(struct attempt *a)
{
    const char *node = a->nominator ? nominator_node(a->nominator, a->obj->meta.uid) : NULL;
    uint32_t row = str_empty(node) ? KS_NO_ROW : ks_row_of(a->cycle.nodes, node);

    if (row != KS_NO_ROW && !attempt_advised_against(a, node))
        a->nominated_fits = take_alone(a, row);
}

/* A few rows scored again are not worth a look at the clock. */
static void note_score(struct attempt *a)
{
    if (a->fresh_scores)
        stopwatch_point(a->stopwatch, LAP_FILTER, KS_SUCCESS);
    attempt_note_score(a);
    if (a->fresh_scores)
        stopwatch_point(a->stopwatch, LAP_SCORE, KS_SUCCESS);
}

void attempt_prepare(struct attempt *a)
{
    stopwatch_plugin(a->stopwatch, LAP_NOBODY, 0, KS_SUCCESS);
    transform(a);
    attempt_reuse(a);
    attempt_recall(a);
    a->score_state = arena_newn0(a->arena, a->profile->n, void *);
    stopwatch_plugin(a->stopwatch, LAP_NOBODY, 0, KS_SUCCESS);
    if (a->code == KS_SUCCESS && pre_filter(a))
        after_pre_filter(a);
    attempt_follow(a);
}

void attempt_filter(struct attempt *a)
{
    attempt_prepare(a);
    find_one(a);
    stopwatch_point(a->stopwatch, LAP_PRE_FILTER, a->code);
    if (a->code != KS_SUCCESS) {
        reject_rows(a);
        if (a->domains)
            a->domains->made = false; /* some of its states are up to date, others are not */
        return;
    }
    uint8_t *said = arena_zalloc(a->arena, a->n);
    if (a->nominated_first)
        try_nominated(a);
    if (!a->nominated_fits && !a->found_one)
        prefer(a);
    if (a->only.set) {
        a->shape = NULL; /* the arrays of a shape are about all rows */
        filter_few(a, said);
    } else {
        if (a->shape && a->fresh)
            shape_make_room(a->shape);
        filter_all(a, said);
    }
    attempt_keep(a);
    note_score(a);
    filter_nominated(a);
    if (a->advice)
        attempt_advise(a);
    if (find_filter_error(a)) {
        reject_rows(a);
        return;
    }
    a->feasible = count_zero(a->n, a->by);
    if (a->feasible == 0)
        attempt_note_rejectors(a);
    stopwatch_point(a->stopwatch, LAP_FILTER, KS_SUCCESS);
}

void attempt_end(struct attempt *a)
{
    if (!a->overlay)
        return;
    ks_overlay_rollback(a->overlay, a->after);
    if (a->follows)
        attempt_unfollow(a); /* the states that a shape keeps are refreshed when it is used again */
    ks_overlay_rollback(a->overlay, a->before);
    attempt_end_rows(a);
    a->overlay = NULL;
}

static bool is_ignored(const struct attempt *a, struct kuid uid)
{
    for (uint32_t i = 0; i < a->nignored; i++)
        if (kuid_equal(a->ignored[i], uid))
            return true;
    return a->ignored_set && uidmap_get(a->ignored_set, uid);
}

bool attempt_nominated_counts(const struct attempt *a, const struct kobj *pod)
{
    int32_t theirs = pod_priority(pod_of(pod)), ours = pod_priority(a->pod.pod);

    return !kuid_equal(pod->meta.uid, a->obj->meta.uid) && theirs >= ours &&
           (theirs > ours || !nominator_is_foreign(a->nominator, pod->meta.uid)) &&
           !is_ignored(a, pod->meta.uid);
}
