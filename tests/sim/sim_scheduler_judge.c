/* sim_scheduler_judge.c - what must hold, judged by what the server holds.
 *
 * A scheduler cannot know what another one binds meanwhile, nor how a node has changed since it was
 * told last. So a binding is judged by the pods that were there before the scheduler was born or
 * that are its own, and by the node as it was seen at the choice or has been since.
 */
#include "sim_scheduler.h"

#include <limits.h>
#include <stdio.h>

#include "base/strbuf.h"
#include "loop/loop.h"
#include "json/kj.h"

static bool conflict(const struct sim_pod *a, const struct sim_pod *b)
{
    return (a->port && a->port == b->port) || (a->app == b->app && (a->alone || b->alone));
}

/* What the node itself says, in one of its states. */
static bool welcome(const struct sim_pod *p, const struct sim_node *n, const struct sim_version *v)
{
    return !v->cordoned && (!v->tainted || p->tolerates) && (!p->needs_ssd || n->ssd);
}

static void add(struct sim_room *sum, const struct sim_pod *p)
{
    sum->mcpu += p->mcpu;
    sum->mib += p->mib;
    sum->pods++;
}

static bool within(const struct sim_room *sum, const struct sim_room *room)
{
    return sum->mcpu <= room->mcpu && sum->mib <= room->mib && sum->pods <= room->pods;
}

/* It is told for whom pods were evicted from a node: it has a claim there. A pod that is bound
 * elsewhere just afterwards may not have said so in time; nor one that has lost its claim before it
 * was written, because the node reported more load meanwhile. */
static void settle_owed(struct sim *s, const struct sim_pod *p, int node)
{
    nsec_t lately = loop_mono(s->loop) - 10 * NSEC_PER_SEC;

    for (size_t i = s->owed.n; i-- > 0;) {
        const struct sim_owed *o = &s->owed.items[i];
        bool late = p->node != SIM_NOWHERE || (s->parts & SIM_LOAD && node != o->node);
        bool here = o->node == node || (late && o->since > lately);
        if (here && o->priority < p->priority)
            vec_swap_remove(&s->owed, i);
    }
}

/* ---- bindings -------------------------------------------------------------------------------- */

/* The most that the node has had since that revision. */
static struct sim_room room_since(const struct sim_node *n, uint64_t revision,
                                  const struct sim_version **ret_seen)
{
    struct sim_room most = { 0 };

    *ret_seen = NULL;
    vec_foreach(&n->versions, i) {
        const struct sim_version *v = &n->versions.items[i];
        if (v->revision == revision)
            *ret_seen = v;
        if (v->revision < revision)
            continue;
        most.mcpu = MAX(most.mcpu, v->room.mcpu);
        most.mib = MAX(most.mib, v->room.mib);
        most.pods = MAX(most.pods, v->room.pods);
    }
    return most;
}

static void judge_place(struct sim *s, const struct sim_scheduler *by, const struct sim_pod *p,
                        uint64_t revision)
{
    const struct sim_node *n = &s->nodes[p->node];
    const struct sim_version *seen;
    struct sim_room most = room_since(n, revision, &seen), sum = { 0 };

    if (!seen || !welcome(p, n, seen))
        sim_fail(s, "%s was bound to %s, which does not want it", p->name, n->name);
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *o = &s->pods[i];
        if (!o->alive || o->node != p->node || (o->by != by->number && o->bound >= by->born))
            continue;
        add(&sum, o);
        if (o != p && conflict(o, p))
            sim_fail(s, "%s was bound to %s beside %s", p->name, n->name, o->name);
    }
    if (!within(&sum, &most))
        sim_fail(s, "%s was bound to %s, which has no room: %d of %dm, %d of %dMi, %d of %d pods",
                 p->name, n->name, sum.mcpu, most.mcpu, sum.mib, most.mib, sum.pods, most.pods);
}

static void judge_bind(struct sim *s, struct sim_scheduler *by, struct sim_pod *p,
                       const struct kj_val *body, const char *node)
{
    const struct sim_hold *h = p ? hold_find(by, p->uid) : NULL;
    int at = sim_node_of(s, node);

    if (!p)
        sim_fail(s, "a pod was bound that does not exist");
    if (p->node != SIM_NOWHERE)
        sim_fail(s, "%s was bound twice", p->name);
    if (p->gated || p->dying)
        sim_fail(s, "%s was bound though it is %s", p->name, p->gated ? "gated" : "dying");
    if (!h || h->node != at)
        sim_fail(s, "%s was bound to %s without being reserved there", p->name, node);
    if (!kj_path(body, "metadata.annotations.chaos") != !h->annotates)
        sim_fail(s, "%s was bound with other annotations than plugins set", p->name);
    s->n.annotated += h->annotates;
    p->node = at;
    p->by = by->number;
    p->bound = s->binds++;
    p->nominated = SIM_NOWHERE;
    settle_owed(s, p, at);
    *(p->reserved ? &s->n.reserved : &s->n.bound) += 1;
    s->n.late += !by->s;
    judge_place(s, by, p, h->revision);
    numa_judge_bind(s, by, p, h, body);
}

/* ---- evictions ------------------------------------------------------------------------------- */

static bool is_nominated(const struct sim *s, int node, int priority)
{
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *p = &s->pods[i];
        if (p->alive && p->node == SIM_NOWHERE && p->nominated == node && p->priority > priority)
            return true;
    }
    return false;
}

/* Its node, or the one to which it is on its way, or was until a moment ago: as long as a request
 * may take. */
static int evicted_from(struct sim *s, struct sim_scheduler *by, const struct sim_pod *p)
{
    const struct sim_hold *h = hold_find(by, p->uid);

    if (p->node != SIM_NOWHERE || h)
        return h ? h->node : p->node;
    if (p->undone == SIM_NOWHERE || loop_mono(s->loop) - p->undone_at > 4 * NSEC_PER_SEC)
        sim_fail(s, "%s was evicted from nowhere", p->name);
    return p->undone;
}

/* The pod for whom may be told to the server a moment later. */
static void judge_evict(struct sim *s, struct sim_scheduler *by, struct sim_pod *p)
{
    int node = evicted_from(s, by, p);

    s->n.evicted++;
    if (!is_nominated(s, node, p->priority)) {
        struct sim_owed o = { node, p->priority, loop_mono(s->loop) };
        vec_push(&s->owed, o);
    }
    sim_pod_evicted(s, p);
}

/* Annotations travel with the binding; a patch is for labels, and takes them back. */
static void judge_patch(struct sim *s, const struct sim_pod *p, const struct kj_val *body)
{
    if (kj_path(body, "metadata.annotations") || !kj_path(body, "metadata.labels"))
        sim_fail(s, "a patch of %s writes something else than labels", p ? p->name : "a pod");
    s->n.labelled++;
}

static void judge_status(struct sim *s, const struct sim_scheduler *by, struct sim_pod *p,
                         const struct kj_val *body)
{
    const struct kj_val *node = kj_path(body, p && p->reserved ? "metadata.labels.nominated-node"
                                                               : "status.nominatedNodeName");

    if (!p)
        return;
    p->said_by = by->number;
    if (!node)
        return;
    p->nominated = kj_str(node) ? sim_node_of(s, kj_str(node)) : SIM_NOWHERE;
    settle_owed(s, p, p->nominated);
}

/* ---- news from the server -------------------------------------------------------------------- */

static bool ends_with(const char *target, const char *with)
{
    size_t n = strcspn(target, "?"), m = strlen(with);
    return n >= m && memcmp(target + n - m, with, m) == 0;
}

static struct sim_scheduler *by_agent(struct sim *s, const char *agent)
{
    vec_foreach(&s->schedulers, i)
        if (streq(s->schedulers.items[i]->agent, agent))
            return s->schedulers.items[i];
    sim_fail(s, "'%s' wrote something", agent);
}

void judge_wrote(void *arg, const char *agent, const char *method, const char *target,
                 const struct kj_val *body)
{
    struct sim *s = arg;
    struct sim_scheduler *by = by_agent(s, agent);

    if (strstr(target, "/poddisruptionbudgets/"))
        clerk_judge_write(s, by);
    if ((!strstr(target, "/pods/") && !strstr(target, "/reservations/")) || !body)
        return;
    bool evicts = streq(method, "DELETE");
    const char *uid = kj_str_or(kj_path(body, evicts ? "preconditions.uid" : "metadata.uid"), "");
    struct sim_pod *p = sim_pod_of(s, kuid_parse(uid, strlen(uid)));
    const char *node = kj_str(kj_path(body, "status.nodeName")); /* of a reservation */
    if (ends_with(target, "/binding"))
        judge_bind(s, by, p, body, kj_str_or(kj_path(body, "target.name"), ""));
    else if (node)
        judge_bind(s, by, p, body, node);
    else if (ends_with(target, "/status"))
        judge_status(s, by, p, body);
    else if (evicts && p)
        judge_evict(s, by, p);
    else if (streq(method, "PATCH"))
        judge_patch(s, p, body);
}

void judge_step(struct sim *s)
{
    struct kerr err = { 0 };

    vec_foreach(&s->schedulers, i) {
        const struct scheduler *of = s->schedulers.items[i]->s;
        if (!of)
            continue;
        if (scheduler_verify(of, &err) < 0)
            sim_fail(s, "%s", err.text);
        if (s->parts & SIM_CENSUS)
            census_judge(s->schedulers.items[i]);
        if (s->parts & SIM_QUOTA)
            quota_judge(s->schedulers.items[i]);
        struct scheduler_stats st = scheduler_stats(of);
        if (st.attempts > SIM_ATTEMPTS_MAX && !s->schedulers.items[i]->overlapped)
            sim_fail(s, "%llu attempts", (unsigned long long)st.attempts);
        if (st.nominated + st.binding > st.pending) /* a pod on its way counts as there already */
            sim_fail(s, "%zu pods are nominated, but of %zu that wait %zu are on their way",
                     st.nominated, st.pending, st.binding);
    }
}

void judge_holds(struct sim *s, const struct sim_scheduler *of)
{
    vec_foreach(&of->holds, i)
        if (!sim_pod_of(s, of->holds.items[i]->uid))
            sim_fail(s, "n%d is kept for a pod that is gone", of->holds.items[i]->node);
}

/* ---- the end --------------------------------------------------------------------------------- */

static bool on_live_node(const struct sim *s, const struct sim_pod *p)
{
    return p->alive && p->node != SIM_NOWHERE && s->nodes[p->node].alive;
}

static bool near_enough(const struct sim *s, const struct sim_pod *p, int zone)
{
    bool any = false;

    if (p->near == SIM_NOWHERE)
        return true;
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *o = &s->pods[i];
        if (!on_live_node(s, o) || o->app != p->near)
            continue;
        any = true;
        if (s->nodes[o->node].zone == zone)
            return true;
    }
    return !any && p->app == p->near; /* the first of its kind */
}

static bool spread_enough(const struct sim *s, const struct sim_pod *p, int zone)
{
    int count[SIM_ZONES] = { 0 }, least = INT_MAX;
    bool there[SIM_ZONES] = { false };

    if (!p->spread)
        return true;
    for (int k = 0; k < SIM_NODES; k++)
        if (s->nodes[k].alive && (!p->needs_ssd || s->nodes[k].ssd))
            there[s->nodes[k].zone] = true;
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *o = &s->pods[i];
        if (on_live_node(s, o) && o->app == p->app && (!p->needs_ssd || s->nodes[o->node].ssd))
            count[s->nodes[o->node].zone]++;
    }
    for (int z = 0; z < SIM_ZONES; z++)
        if (there[z])
            least = MIN(least, count[z]);
    return count[zone] + 1 - least <= 1;
}

/* Room on a node that waiting pods of at least the same priority have claimed (nominatedNodeName)
 * is theirs until they are tried again: no other pod gets it. */
static void add_nominated(const struct sim *s, const struct sim_pod *p, int node,
                          struct sim_room *sum)
{
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *o = &s->pods[i];
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        const char *json;
        if (o == p || !o->alive || o->node != SIM_NOWHERE || o->priority < p->priority)
            continue;
        json = sim_pod_json(s, o);
        if (json && kj_parse(json, strlen(json), 0, &doc, NULL) == 0 &&
            streq(kj_str_or(kj_path(kj_root(doc), "status.nominatedNodeName"), ""),
                  s->nodes[node].name))
            add(sum, o);
    }
}

static bool fits(const struct sim *s, const struct sim_pod *p, int node)
{
    const struct sim_node *n = &s->nodes[node];
    struct sim_room sum = { 0 };

    if (!n->alive || !welcome(p, n, &n->now) || !near_enough(s, p, n->zone) ||
        !spread_enough(s, p, n->zone) || !numa_fits(s, p, node))
        return false;
    add(&sum, p);
    if (rows_are_kept(s, node, p->priority)) {
        if (p->port == SIM_KEPT_PORT)
            return false;
        sum.mcpu += SIM_KEPT_MCPU;
        sum.pods++;
    }
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *o = &s->pods[i];
        if (!o->alive || o->node != node)
            continue;
        if (conflict(o, p))
            return false;
        add(&sum, o);
    }
    if (!within(&sum, &n->now.room))
        return false;
    add_nominated(s, p, node, &sum); /* seldom: only here documents are read */
    return within(&sum, &n->now.room);
}

/* A member of the condition PodScheduled that the server holds; "" when there is none. */
static void condition(const struct sim *s, const struct sim_pod *p, const char *member,
                      struct strbuf *out)
{
    const char *json = sim_pod_json(s, p);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    if (!json || kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        sim_fail(s, "%s is not on the server", p->name);
    if (!streq(
            kj_str_or(kj_path(kj_root(doc), p->reserved ? "status.nodeName" : "spec.nodeName"), ""),
            p->node == SIM_NOWHERE ? "" : s->nodes[p->node].name))
        sim_fail(s, "%s is not where its binding said", p->name);
    const struct kj_val *all = kj_path(kj_root(doc), "status.conditions");
    for (size_t i = 0; all && i < kj_len(all); i++)
        if (streq(kj_str_or(kj_path(kj_at(all, i), "type"), ""), "PodScheduled"))
            strbuf_append(out, kj_str_or(kj_path(kj_at(all, i), member), ""));
}

static bool has_annotation(const struct sim *s, const struct sim_pod *p, const char *key)
{
    const char *json = sim_pod_json(s, p);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    return kj_parse(json, strlen(json), 0, &doc, NULL) == 0 &&
           kj_get(kj_path(kj_root(doc), "metadata.annotations"), key);
}

static void judge_pending(const struct sim *s, const struct sim_pod *p, int nodes)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT, message = STRBUF_INIT;
    char begins[64];

    condition(s, p, "reason", &reason);
    condition(s, p, "message", &message);
    if (has_annotation(s, p, "chaos"))
        sim_fail(s, "%s waits, and has the annotation of a binding that failed", p->name);
    if (p->gated)
        return;
    const char *said = strbuf_str(&message);
    (void)snprintf(begins, sizeof begins, "0/%d nodes are available: ", nodes);
    bool counts_all = strncmp(said, begins, strlen(begins)) == 0;
    bool refused = s->parts & SIM_NUMA && !counts_all && /* by reserve: of those that were tried */
                   strncmp(said, "0/", 2) == 0 && strstr(said, " nodes are available: ");
    bool room = !(s->parts & SIM_QUOTA) || quota_fits(s, p);
    for (int k = 0; k < SIM_NODES && room; k++)
        if (fits(s, p, k))
            sim_fail(s, "%s was forgotten: it fits %s (%s)", p->name, s->nodes[k].name, said);
    if (!streq(strbuf_str(&reason), "Unschedulable") || (!counts_all && !refused))
        sim_fail(s, "%s does not say why it waits (%d nodes): %s: %s", p->name, nodes,
                 strbuf_str(&reason), said);
}

static void judge_bound(const struct sim *s, const struct sim_pod *p)
{
    CLEANUP(strbuf_fini) struct strbuf status = STRBUF_INIT;

    condition(s, p, "status", &status);
    /* Another scheduler may not have known yet that its time was over. */
    if (streq(strbuf_str(&status), "False") && p->said_by == p->by)
        sim_fail(s, "%s has a node and says that it waits for one", p->name);
}

static void judge_stats(struct sim *s, const struct sim_scheduler *of, size_t bound, size_t waiting,
                        size_t nominated)
{
    struct scheduler_stats st = scheduler_stats(of->s);

    if (st.pending != waiting || st.pods != bound)
        sim_fail(s, "%zu pods wait and %zu have a node, but the scheduler knows %zu and %zu",
                 waiting, bound, st.pending, st.pods);
    if (st.assumed || st.binding || st.waiting)
        sim_fail(s, "at the end %zu pods are assumed, %zu in flight, %zu wait for a permit",
                 st.assumed, st.binding, st.waiting);
    if (st.nominated != nominated)
        sim_fail(s, "%zu pods are nominated, the scheduler knows %zu", nominated, st.nominated);
    if (of->holds.n)
        sim_fail(s, "%zu reservations were never undone", of->holds.n);
}

void judge_end(struct sim *s)
{
    size_t waiting = 0, bound = 0, nominated = 0;
    int nodes = 0;

    judge_step(s);
    if (s->owed.n)
        sim_fail(s, "a pod was evicted from n%d for nobody", s->owed.items[0].node);
    for (int k = 0; k < SIM_NODES; k++)
        nodes += s->nodes[k].alive;
    for (int i = 0; i < s->npods; i++) {
        const struct sim_pod *p = &s->pods[i];
        if (!p->alive)
            continue;
        if (p->foreign) {
            bound += p->node != SIM_NOWHERE;
        } else if (p->node == SIM_NOWHERE) {
            waiting++;
            nominated += p->nominated != SIM_NOWHERE;
            judge_pending(s, p, nodes);
        } else {
            bound++;
            judge_bound(s, p);
        }
    }
    s->n.pending += waiting;
    s->n.refused += fake_stats(s->fake).bind_conflicts;
    if (fake_stats(s->fake).binds != s->n.bound)
        sim_fail(s, "the server counts other bindings");
    judge_stats(s, vec_last(&s->schedulers), bound, waiting, nominated);
    if (s->parts & SIM_CENSUS)
        census_judge_end(vec_last(&s->schedulers));
    if (s->parts & SIM_CLERK)
        clerk_judge_end(s);
}
