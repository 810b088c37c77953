/* sim_scheduler_churn.c - what happens to pods and nodes. */
#include "sim_scheduler.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/strbuf.h"
#include "loop/loop.h"
#include "json/kj.h"

/* ---- pods ------------------------------------------------------------------------------------ */

static void pod_gone(struct sim *s, struct sim_pod *p)
{
    p->alive = p->dying = false;
    p->end = timer_cancel(p->end);
    /* It may have been the one for whom room was made, before it was told. */
    for (size_t i = s->owed.n; p->node == SIM_NOWHERE && i-- > 0;)
        if (p->priority > s->owed.items[i].priority)
            vec_swap_remove(&s->owed, i);
}

static void on_grace_over(struct loop *l, void *arg)
{
    struct sim_pod *p = arg;
    (void)l;
    p->end = NULL;
    fake_delete(p->sim->fake, PODS, p->name);
    pod_gone(p->sim, p);
}

static const char *path_of(const struct sim_pod *p)
{
    return p->reserved ? RESERVATIONS : PODS;
}

const char *sim_pod_json(const struct sim *s, const struct sim_pod *p)
{
    return fake_find(s->fake, path_of(p), p->name);
}

void sim_pod_evicted(struct sim *s, struct sim_pod *p)
{
    if (p->node == SIM_NOWHERE || p->reserved) {
        pod_gone(s, p);
        return;
    }
    p->dying = true;
    if (!p->end)
        p->end = loop_after(s->loop, sim_below(s, 30) * NSEC_PER_SEC, on_grace_over, p);
}

static void delete_pod(struct sim *s, struct sim_pod *p)
{
    fake_delete(s->fake, path_of(p), p->name);
    pod_gone(s, p);
}

static struct sim_pod *any_pod(struct sim *s)
{
    struct sim_pod *p = s->npods ? &s->pods[sim_below(s, s->npods)] : NULL;
    return p && p->alive ? p : NULL;
}

static void write_affinity(const struct sim_pod *p, struct strbuf *b)
{
    static const char term[] =
        "\"%s\":{\"requiredDuringSchedulingIgnoredDuringExecution\":[{\"topologyKey\":\"%s\","
        "\"labelSelector\":{\"matchLabels\":{\"app\":\"a%d\"}}}]}";

    if (p->near == SIM_NOWHERE && !p->alone)
        return;
    strbuf_append(b, ",\"affinity\":{");
    if (p->near != SIM_NOWHERE)
        strbuf_appendf(b, term, "podAffinity", "zone", p->near);
    strbuf_append(b, p->near != SIM_NOWHERE && p->alone ? "," : "");
    if (p->alone)
        strbuf_appendf(b, term, "podAntiAffinity", "kubernetes.io/hostname", p->app);
    strbuf_append(b, "}");
}

/* The rest of the metadata, and the spec. */
static void write_spec(const struct sim_pod *p, const char *node, const char *annotations,
                       struct strbuf *b)
{
    const char *own = numa_annotation(p);

    strbuf_appendf(b, ",\"annotations\":{%s%s%s}", own, *own && *annotations ? "," : "",
                   annotations);
    strbuf_appendf(
        b,
        ",\"labels\":{%s%s\"app\":\"a%d\"}},\"spec\":{\"schedulerName\":\"%s\",\"nodeName\":"
        "\"%s\",\"priority\":%d,\"containers\":[{\"name\":\"c\",\"resources\":{"
        "\"requests\":{\"cpu\":\"%dm\",\"memory\":\"%dMi\"}}",
        p->pinned        ? "\"koordinator.sh/qosClass\":\"LSR\","
                           "\"koordinator.sh/priority-class\":\"koord-prod\","
        : p->best_effort ? "\"koordinator.sh/qosClass\":\"BE\","
                         : "",
        quota_label(p), p->app, p->scheduler, node, p->priority, p->mcpu, p->mib);
    if (p->port)
        strbuf_appendf(b, ",\"ports\":[{\"containerPort\":80,\"hostPort\":%d}]", p->port);
    strbuf_append(b, "}]");
    write_affinity(p, b);
    if (p->needs_ssd)
        strbuf_append(b, ",\"nodeSelector\":{\"disk\":\"ssd\"}");
    if (p->tolerates)
        strbuf_append(b, ",\"tolerations\":[{\"key\":\"t\",\"operator\":\"Exists\"}]");
    if (p->spread)
        strbuf_appendf(b,
                       ",\"topologySpreadConstraints\":[{\"maxSkew\":1,\"topologyKey\":\"zone\","
                       "\"whenUnsatisfiable\":\"DoNotSchedule\",\"labelSelector\":{\"matchLabels\":"
                       "{\"app\":\"a%d\"}}}]",
                       p->app);
    if (p->gated)
        strbuf_append(b, ",\"schedulingGates\":[{\"name\":\"g\"}]");
    strbuf_append(b, "}}");
}

void churn_write_placeholder(const struct sim_pod *p, const char *node, const char *annotations,
                             struct strbuf *b)
{
    char uid[KUID_TEXT_MAX];

    kuid_format(p->uid, uid, sizeof uid);
    strbuf_appendf(b, "{\"metadata\":{\"name\":\"reserve-%s\",\"namespace\":\"ns\",\"uid\":\"%s\"",
                   p->name, uid);
    write_spec(p, node, annotations, b);
    strbuf_truncate(b, b->len - 1);
}

static void put_pod(struct sim *s, struct sim_pod *p)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    strbuf_append(&b, "{\"metadata\":{\"generation\":1");
    write_spec(p, "", "", &b);
    fake_put(s->fake, path_of(p), p->name, p->reserved ? "{}" : strbuf_str(&b));
    const char *json = sim_pod_json(s, p);
    if (kj_parse(json, strlen(json), 0, &doc, NULL) < 0)
        sim_fail(s, "unreadable");
    const char *uid = kj_str_or(kj_path(kj_root(doc), "metadata.uid"), "");
    p->uid = kuid_parse(uid, strlen(uid));
}

static void new_pod(struct sim *s)
{
    if (s->npods == SIM_PODS)
        return;
    const struct sim_pod *dead =
        sim_chance(s, 20) && s->npods ? &s->pods[sim_below(s, s->npods)] : NULL;
    struct sim_pod *p = &s->pods[s->npods];
    *p = (struct sim_pod){
        .mcpu = 100 + 100 * sim_below(s, s->crowded ? 25 : 15),
        .mib = 64 * (1 + sim_below(s, 15)),
        .priority = sim_chance(s, 50) ? 0 : 100 * sim_below(s, 4),
        .app = sim_below(s, SIM_APPS),
        .port = sim_chance(s, 10) ? 8000 + sim_below(s, 2) : 0,
        .near = sim_chance(s, 10) ? sim_below(s, SIM_APPS) : SIM_NOWHERE,
        .needs_ssd = sim_chance(s, 15),
        .tolerates = sim_chance(s, 20),
        .alone = sim_chance(s, 10),
        .spread = sim_chance(s, 10),
        .gated = sim_chance(s, 10),
        .kept_out = sim_chance(s, 15),
        .paired = sim_chance(s, 70),
        .alive = true,
        .node = SIM_NOWHERE,
        .nominated = SIM_NOWHERE,
        .undone = SIM_NOWHERE,
        .quota = SIM_NOWHERE,
        .sim = s,
    };
    if (s->parts & SIM_QUOTA && sim_chance(s, 80))
        p->quota = sim_below(s, SIM_QUOTAS);
    p->reserved = s->parts & SIM_RESERVE && sim_chance(s, 15);
    if (p->reserved) {
        p->gated = p->kept_out = p->paired = p->spread = false;
        p->port = 0;
    }
    p->best_effort = s->parts & SIM_LOAD && sim_chance(s, 20);
    p->foreign = !p->reserved && sim_chance(s, 5);
    p->pinned = s->parts & SIM_NUMA && !p->foreign && sim_chance(s, 35);
    if (p->pinned) {
        p->bind = sim_chance(s, 60) ? SIM_BIND_ANY : 1 + sim_below(s, 2);
        p->mcpu = p->bind == SIM_BIND_FULL ? 2000 : 1000 * (1 + sim_below(s, 2));
        p->best_effort = false;
    }
    p->scheduler = p->foreign          ? "foreign"
                   : sim_chance(s, 20) ? sim_scheduler_names[1]
                                       : sim_scheduler_names[0];
    (void)snprintf(p->name, sizeof p->name, "p%d", s->npods);
    if (dead && !dead->alive && dead->reserved == p->reserved && !sim_pod_json(s, dead))
        memcpy(p->name, dead->name, sizeof p->name);
    s->npods++;
    put_pod(s, p);
}

void churn_new_pods(struct sim *s)
{
    for (int n = sim_below(s, 4); n >= 0; n--)
        new_pod(s);
}

/* Deleted at once, in its own time, or it has done its work. */
void churn_end_pod(struct sim *s)
{
    struct sim_pod *p = any_pod(s);

    if (!p || p->dying)
        return;
    switch (sim_below(s, 3)) {
    case 0: delete_pod(s, p); break;
    case 1:
        if (p->node == SIM_NOWHERE || p->reserved) {
            delete_pod(s, p);
            break;
        }
        fake_patch(s->fake, PODS, p->name,
                   "{\"metadata\":{\"deletionTimestamp\":\"2025-11-15T10:00:00Z\"}}");
        sim_pod_evicted(s, p);
        break;
    case 2:
        if (p->node == SIM_NOWHERE)
            break;
        fake_patch(s->fake, path_of(p), p->name,
                   p->reserved ? "{\"spec\":{\"unschedulable\":true}}"
                               : "{\"status\":{\"phase\":\"Succeeded\"}}");
        pod_gone(s, p);
        break;
    }
}

void churn_end_all(struct sim *s)
{
    for (int i = 0; i < s->npods; i++)
        if (s->pods[i].alive)
            delete_pod(s, &s->pods[i]);
}

/* Its scheduler, which is none of ours, gives it some node, even one that is not there. */
static void place_foreign(struct sim *s, struct sim_pod *p)
{
    char body[64];

    p->node = sim_below(s, SIM_NODES);
    p->by = SIM_NOWHERE;
    p->bound = s->binds++;
    (void)snprintf(body, sizeof body, "{\"spec\":{\"nodeName\":\"%s\"}}", s->nodes[p->node].name);
    fake_patch(s->fake, PODS, p->name, body);
}

/* What may be changed of a pod that waits. */
void churn_change_pod(struct sim *s)
{
    struct sim_pod *p = any_pod(s);

    if (p && s->parts & SIM_QUOTA && !p->reserved && sim_chance(s, 30)) {
        quota_change_pod(s, p); /* also of one that has a node */
        return;
    }
    if (!p || p->node != SIM_NOWHERE || p->reserved)
        return;
    if (p->gated) {
        p->gated = false;
        fake_patch(s->fake, PODS, p->name, "{\"spec\":{\"schedulingGates\":null}}");
    } else if (p->foreign) {
        place_foreign(s, p);
    } else {
        p->tolerates = true;
        fake_patch(s->fake, PODS, p->name,
                   "{\"spec\":{\"tolerations\":[{\"key\":\"t\",\"operator\":\"Exists\"}]}}");
    }
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void put_node(struct sim *s, struct sim_node *n)
{
    char body[1024];

    (void)snprintf(
        body, sizeof body,
        "{\"metadata\":{\"labels\":{%s\"kubernetes.io/hostname\":\"%s\",\"zone\":\"z%d\","
        "\"disk\":\"%s\"},\"annotations\":{%s%s\"sim\":\"\"}},\"spec\":{\"unschedulable\":%s%s},"
        "\"status\":{\"allocatable\":{\"cpu\":\"%dm\",\"memory\":\"%dMi\",\"pods\":\"%d\"}}}",
        numa_labels(n), n->name, n->zone, n->ssd ? "ssd" : "disk", numa_annotations(n),
        s->parts & SIM_LOAD ? load_annotation(s) : "", n->now.cordoned ? "true" : "false",
        n->now.tainted ? ",\"taints\":[{\"key\":\"t\",\"effect\":\"NoSchedule\"}]" : "",
        n->now.room.mcpu, n->now.room.mib, n->now.room.pods);
    fake_put(s->fake, SIM_NODES_PATH, n->name, body);
    n->alive = true;
    n->now.revision = fake_revision(s->fake);
    vec_push(&n->versions, n->now);
}

static struct sim_room any_room(struct sim *s)
{
    return (struct sim_room){ 2000 + 1000 * sim_below(s, 5), 1024 * (2 + sim_below(s, 4)),
                              4 + sim_below(s, 6) };
}

void churn_change_node(struct sim *s)
{
    struct sim_node *n = &s->nodes[sim_below(s, SIM_NODES)];

    switch (sim_below(s, 3)) {
    case 0: n->now.cordoned = !n->now.cordoned && sim_chance(s, 50); break;
    case 1: n->now.tainted = !n->now.tainted && sim_chance(s, 70); break;
    case 2: n->now.room = any_room(s); break;
    }
    if (s->parts & SIM_NUMA && sim_chance(s, 20))
        numa_any_policies(s, n);
    put_node(s, n); /* also one that was gone */
}

void churn_delete_node(struct sim *s)
{
    int k = sim_below(s, SIM_NODES);

    if (!s->nodes[k].alive)
        return;
    fake_delete(s->fake, SIM_NODES_PATH, s->nodes[k].name);
    s->nodes[k].alive = false;
    if (sim_chance(s, 50)) /* the garbage collector was here */
        for (int i = 0; i < s->npods; i++)
            if (s->pods[i].alive && s->pods[i].node == k)
                delete_pod(s, &s->pods[i]);
}

void churn_new_nodes(struct sim *s)
{
    for (int k = 0; k < SIM_NODES; k++) {
        struct sim_node *n = &s->nodes[k];
        (void)snprintf(n->name, sizeof n->name, "n%d", k);
        n->zone = k % SIM_ZONES;
        n->ssd = sim_chance(s, 30);
        n->now.room = any_room(s);
        n->now.ratio = 100;
        if (s->parts & SIM_NUMA)
            numa_any_policies(s, n);
        put_node(s, n);
    }
}
