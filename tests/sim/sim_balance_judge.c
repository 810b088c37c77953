/* sim_balance_judge.c - what nodes use, computed from the loads that the pods were given; whether a
 * node stays hot that need not; how many moves would have sufficed.
 *
 * How many would have sufficed is counted for each time that a node goes above its threshold and
 * until it is below: the fewest pods that have to leave at the height of it. Nobody knows the
 * future: a wave may rise on after the pod went that sufficed for what was there. So a second count
 * has no more in view than the plugin has: at each look it takes the pod that just suffices, the
 * largest when none does.
 *
 * A node may be hot for 15 minutes, or for as long as the configuration of the run makes it last:
 * see time_needed().
 */
#include "sim_balance.h"

#include <stdio.h>

#include "api/koord/podmigrationjob.h"

#define TOO_LONG (15 * MINUTE)
enum { SYSTEM_MCPU = NODE_MCPU / 50 };
enum { LOW = NODE_MCPU * 30 / 100, HIGH = NODE_MCPU * 50 / 100 };
/* What the system uses is not the same all the time: by a fifth more or less. */
enum { SYSTEM_MOST = SYSTEM_MCPU * 6 / 5 };
enum { CLEARLY_HIGH = HIGH + NODE_MCPU / 100, CLEARLY_LOW = LOW - NODE_MCPU / 100 };

/* ---- what pods use ---------------------------------------------------------------------------- */

static unsigned number_behind(const char *name, const char *prefix, unsigned max)
{
    unsigned n = max;

    if (str_starts(str_or(name, ""), prefix))
        n = (unsigned)strtoul(name + strlen(prefix), NULL, 10);
    return MIN(n, max);
}

struct app *balance_app_of(struct fixture *w, const struct kobj *pod)
{
    unsigned i = number_behind(kstrmap_get(&pod->meta.labels, "app"), "app-", w->size->apps);
    return i < w->size->apps ? &w->apps[i] : NULL;
}

static struct spot *spot_named(struct fixture *w, const char *node)
{
    unsigned i = number_behind(node, "hollow-", w->size->nodes);
    return i < w->size->nodes ? &w->spots[i] : NULL;
}

static int64_t use_of(const struct app *a, nsec_t wall)
{
    return load_at(&a->load, 0, wall).mcpu;
}

/* ---- how many had to go ----------------------------------------------------------------------- */

static int by_size(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* The fewest, if all that were here in this hot time were here now: the largest first. */
static unsigned fewest(const struct fixture *w, const struct spot *s, nsec_t now)
{
    int64_t sizes[256], sum = SYSTEM_MOST;
    unsigned n = 0, go = 0;

    vec_foreach(&s->guests, i) {
        if (n == ARRAY_LEN(sizes))
            break;
        sizes[n] = use_of(&w->apps[s->guests.items[i].app], now);
        sum += sizes[n++];
    }
    qsort(sizes, n, sizeof *sizes, by_size);
    while (go < n && sum > HIGH)
        sum -= sizes[go++];
    return go;
}

/* The smallest that suffices, else the largest. NULL: nobody is left. */
static struct guest *choose(const struct fixture *w, struct spot *s, int64_t excess, nsec_t now)
{
    struct guest *best = NULL;
    int64_t best_use = 0;

    vec_foreach(&s->guests, i) {
        struct guest *g = &s->guests.items[i];
        int64_t use = use_of(&w->apps[g->app], now);
        if (g->would_go)
            continue;
        bool better = best_use >= excess ? use >= excess && use < best_use : use > best_use;
        if (!best || better) {
            best = g;
            best_use = use;
        }
    }
    return best;
}

/* Moves what is too much now of the guests that would still be here. */
static void follow_wave(const struct fixture *w, struct spot *s, nsec_t now)
{
    int64_t sum = SYSTEM_MOST;
    struct guest *g;

    vec_foreach(&s->guests, i)
        if (!s->guests.items[i].would_go)
            sum += use_of(&w->apps[s->guests.items[i].app], now);
    while (sum > HIGH && (g = choose(w, s, sum - HIGH, now))) {
        sum -= use_of(&w->apps[g->app], now);
        g->would_go = true;
        s->would_go++;
    }
}

static void add_guest(struct spot *s, const struct kobj *pod, unsigned app)
{
    vec_foreach(&s->guests, i)
        if (kuid_equal(s->guests.items[i].uid, pod->meta.uid))
            return;
    vec_push(&s->guests, ((struct guest){ .uid = pod->meta.uid, .app = app }));
}

static void end_hot_time(struct fixture *w, struct spot *s)
{
    w->needed += s->needed;
    w->would_go += s->would_go;
    s->needed = s->would_go = 0;
    vec_clear(&s->guests);
}

static void count_needed(const struct fixture *w, struct spot *s, nsec_t now)
{
    follow_wave(w, s, now);
    s->needed = MAX(s->needed, fewest(w, s, now));
}

/* ---- a node that stays hot -------------------------------------------------------------------- */

/* Not one that the memory of moves keeps where it is. */
static bool is_movable(struct fixture *w, const struct kobj *o, const struct spot *s, nsec_t now)
{
    const struct app *a = balance_app_of(w, o);

    if (!a || !pod_is_ready(pod_of(o)) || o->meta.deleted)
        return false;
    if (a->first_move && o->meta.created >= a->first_move - SEC && now - o->meta.created < HOUR)
        return false;
    if (a->moves >= 2 * w->size->replicas)
        return false;
    return !s->left_by[a - w->apps] || o->meta.created < s->left_at[a - w->apps] - SEC;
}

static bool has_target(const struct fixture *w, int64_t mcpu)
{
    for (unsigned i = 0; i < w->size->nodes; i++) {
        const struct spot *t = &w->spots[i];
        if (t->mcpu < CLEARLY_LOW && t->mcpu + mcpu < HIGH - NODE_MCPU / 100 &&
            (t->pods + 1) * REQUEST_MCPU <= NODE_MCPU)
            return true;
    }
    return false;
}

/* Moves that all nodes needed so far. */
static unsigned needed_so_far(const struct fixture *w)
{
    unsigned n = w->needed;

    for (unsigned i = 0; i < w->size->nodes; i++)
        n += w->spots[i].needed;
    return n;
}

/* Rounds until the last of these moves is decided: a round decides no more for a node than may be
 * under way there, and no more than may be under way at all. Before the first one a node must have
 * been hot for some rounds, and again whenever the time of an anomaly is over. */
static unsigned rounds_needed(const struct fixture *w, unsigned of_node, unsigned of_all)
{
    const struct pace *p = &w->pace;
    unsigned detect = p->abnormal == 1 ? 0 : p->abnormal;
    unsigned in_anomaly = (unsigned)(p->anomaly / p->interval) + 1;
    unsigned rounds = MAX((of_node + w->m.limits.per_node - 1) / w->m.limits.per_node,
                          (of_all + w->m.limits.globally - 1) / w->m.limits.globally);
    unsigned anomalies = (rounds + in_anomaly - 1) / in_anomaly;

    return rounds + anomalies * detect;
}

/* How long the configuration makes it last until this node is relieved: the report that shows it,
 * the rounds, and the last job. A job that failed has to be done once more, and a descheduler that
 * was replaced has to see for itself how long nodes are hot. Evictions of all nodes keep to one
 * rate. */
static nsec_t time_needed(const struct fixture *w, const struct spot *s)
{
    const struct pace *p = &w->pace;
    unsigned of_node = s->needed + s->failed - s->stuck.failed;
    unsigned of_all = needed_so_far(w) - s->stuck.needed;
    unsigned restarts = p->abnormal == 1 ? 0 : w->restarts - s->stuck.restarts;
    unsigned rounds = rounds_needed(w, of_node, of_all) + restarts * p->abnormal;
    nsec_t rate = (nsec_t)(of_all / w->m.limits.qps * (double)SEC);

    return w->size->metrics_interval + MAX(rounds * p->interval, rate) + p->job_ttl;
}

static void judge_spot(struct fixture *w, struct spot *s, bool could, nsec_t now)
{
    if (!could) {
        s->stuck.since = 0;
        return;
    }
    if (!s->stuck.since)
        s->stuck = (struct stuck){
            .since = now, .restarts = w->restarts, .failed = s->failed, .needed = w->needed
        };
    nsec_t may = MAX(TOO_LONG, time_needed(w, s)), is = now - s->stuck.since;
    if (is > may)
        moves_die(&w->m, "node hollow-%u is at %lld m for %lld s, and need not be: %u moves needed",
                  (unsigned)(s - w->spots), (long long)s->mcpu, (long long)(is / SEC), s->needed);
}

static void judge_stuck(struct fixture *w, nsec_t now)
{
    bool could[NODES_MAX] = { false };
    struct kobj *o;

    for (size_t it = 0; (o = informer_next(w->m.s.pods, &it));) {
        const struct spot *s = spot_named(w, pod_of(o)->node_name);
        if (s && s->mcpu > CLEARLY_HIGH && !could[s - w->spots] && is_movable(w, o, s, now))
            could[s - w->spots] = has_target(w, use_of(balance_app_of(w, o), now));
    }
    for (unsigned i = 0; i < w->size->nodes; i++)
        judge_spot(w, &w->spots[i], could[i], now);
}

/* ---- looking around --------------------------------------------------------------------------- */

static void measure(struct fixture *w, nsec_t now)
{
    struct kobj *o;

    for (unsigned i = 0; i < w->size->nodes; i++) {
        w->spots[i].mcpu = SYSTEM_MCPU;
        w->spots[i].pods = 0;
    }
    for (size_t it = 0; (o = informer_next(w->m.s.pods, &it));) {
        const struct app *a = balance_app_of(w, o);
        struct spot *s = a ? spot_named(w, pod_of(o)->node_name) : NULL;
        if (!s || pod_is_terminal(pod_of(o)))
            continue;
        s->pods++;
        if (pod_is_ready(pod_of(o)) && !o->meta.deleted)
            s->mcpu += use_of(a, now);
    }
    for (unsigned i = 0; i < w->size->nodes; i++) {
        struct spot *s = &w->spots[i];
        s->hot = s->mcpu + SYSTEM_MOST - SYSTEM_MCPU > HIGH;
        if (!s->hot)
            end_hot_time(w, s);
    }
}

void balance_look(struct fixture *w)
{
    nsec_t now = loop_wall(w->m.s.loop);
    struct kobj *o;

    measure(w, now);
    for (size_t it = 0; (o = informer_next(w->m.s.pods, &it));) {
        const struct app *a = balance_app_of(w, o);
        struct spot *s = a ? spot_named(w, pod_of(o)->node_name) : NULL;
        if (s && s->hot && pod_is_ready(pod_of(o)) && !o->meta.deleted)
            add_guest(s, o, (unsigned)(a - w->apps));
    }
    for (unsigned i = 0; i < w->size->nodes; i++)
        if (w->spots[i].hot)
            count_needed(w, &w->spots[i], now);
    judge_stuck(w, now);
}

void balance_on_move(struct moves_sim *m, const struct podmigrationjob *j, const struct pod *p)
{
    struct fixture *w = fixture_of(m);
    struct app *a = balance_app_of(w, &p->obj);
    struct spot *s = spot_named(w, p->node_name);
    nsec_t now = loop_wall(m->s.loop), age = now - p->obj.meta.created;

    w->moves++;
    if (!a || !s)
        moves_die(m, "%s was moved, and is not ours", p->obj.meta.name);
    if (a->first_move && p->obj.meta.created > a->first_move && age < HOUR)
        moves_die(m, "%s was moved by %s, %lld s after it had come in place of another",
                  p->obj.meta.name, j->obj.meta.name, (long long)(age / SEC));
    if (!a->first_move)
        a->first_move = now;
    a->moves++;
    s->left_by[a - w->apps] = true;
    s->left_at[a - w->apps] = now;
}

/* Its pod is still there, and to be moved once more. */
void balance_on_failed(struct moves_sim *m, const struct podmigrationjob *j)
{
    struct fixture *w = fixture_of(m);
    char key[KOBJ_KEY_MAX];

    if (!j->spec.pod_ref)
        return;
    (void)snprintf(key, sizeof key, "%s/%s", j->spec.pod_ref->ns, j->spec.pod_ref->name);
    const struct kobj *pod = informer_get(m->s.pods, key);
    struct spot *s = pod ? spot_named(w, pod_of(pod)->node_name) : NULL;
    if (s)
        s->failed++;
}

void balance_end(struct fixture *w)
{
    for (unsigned i = 0; i < w->size->nodes; i++) {
        end_hot_time(w, &w->spots[i]);
        vec_fini(&w->spots[i].guests);
    }
}
