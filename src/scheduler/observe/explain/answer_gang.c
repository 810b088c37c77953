/* answer_gang.c - what a ScheduleExplanation says about a gang: how many of its members fit now,
 * which is the first that does not and why, and what one more node of each kind would do.
 */
#include <stdio.h>

#include "base/arena.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "scheduler/engine/internal.h"
#include "scheduler/observe/explain/answer.h"
#include "scheduler/observe/explain/whatgang.h"
#include "scheduler/plugins/coscheduling/coscheduling.h"
#include "scheduler/plugins/coscheduling/topo_network.h"
#include "json/kj.h"

struct asking {
    struct scheduler *s;
    struct arena *arena;
    struct attempt *attempt;
};

static void *find_service(const struct scheduler *s, const struct ks_service *key)
{
    const struct service_instance *i = service_table_first(s->services);

    while (i && i->key != key)
        i = i->next;
    return i ? i->self : NULL;
}

static struct attempt *begin(void *arg, struct kobj *pod)
{
    struct asking *k = arg;
    const struct active_profile *active = scheduler_profile(k->s, pod_of(pod));

    if (!active)
        return NULL;
    k->attempt = arena_new0(k->arena, struct attempt);
    attempt_init(k->attempt,
                 &(struct attempt_input){ .profile = active->profile,
                                          .cache = k->s->cache,
                                          .nominator = k->s->nominator,
                                          .objects = k->s->objects,
                                          .pod = pod,
                                          .now = loop_wall(k->s->loop) },
                 k->arena);
    attempt_prepare(k->attempt);
    return k->attempt;
}

static int64_t count_of(const struct kj_val *v, const char *key)
{
    return kj_i64_or(kj_get(v, key), 0);
}

/* Which of the gangs of the group lack members; false: none. */
static bool tell_missing(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *gangs = kj_get(root, "gangs");
    bool any = false;

    for (size_t i = 0; i < kj_len(gangs); i++) {
        const struct kj_val *g = kj_at(gangs, i);
        int64_t able = count_of(g, "members") - (int64_t)kj_len(kj_get(g, "gated"));
        if (kj_bool(kj_get(g, "ready"), false) && able >= count_of(g, "minMember"))
            continue;
        strbuf_appendf(out, "%sgang %s has %lld of %lld members that may be scheduled",
                       any ? "; " : "", kj_str_or(kj_get(g, "name"), ""), (long long)able,
                       (long long)count_of(g, "minMember"));
        any = true;
    }
    return any && !kj_bool(kj_get(root, "onceSatisfied"), false);
}

static void tell_room(const struct kj_val *root, struct strbuf *out)
{
    const struct kj_val *nodes = kj_get(root, "nodes");

    strbuf_appendf(out, "%s%lld of %lld members fit, %s is the first that does not: %s",
                   out->len ? "; " : "", (long long)count_of(root, "fitting"),
                   (long long)count_of(root, "wanted"), kj_str_or(kj_get(root, "first"), ""),
                   kj_str_or(kj_get(root, "message"), ""));
    for (size_t i = 0; i < kj_len(nodes); i++) {
        const struct kj_val *n = kj_at(nodes, i);
        strbuf_appendf(out, "%s one more node like %s: %lld more members", i ? ";" : "",
                       kj_str_or(kj_get(n, "kind"), ""), (long long)count_of(n, "oneMore"));
    }
}

static void write_summary(struct kjw *w, bool schedulable, const char *failed)
{
    kjw_bool(w, "schedulable", schedulable);
    kjw_bool(w, "schedulableAfterPreemption", false);
    kjw_str(w, "failedMessage", failed);
}

static void write_domains(struct kjw *w, const struct kj_val *root)
{
    const struct kj_val *domains = kj_path(root, "network.domains");

    for (size_t i = 0; i < kj_len(domains); i++) {
        const struct kj_val *d = kj_at(domains, i);
        char text[48];
        (void)snprintf(text, sizeof text, "room for %lld members", (long long)count_of(d, "slots"));
        kjw_obj(w, NULL);
        kjw_str(w, "topologyDomain", kj_str_or(kj_get(d, "name"), ""));
        write_summary(w, count_of(d, "slots") >= count_of(root, "wanted"), text);
        kjw_end(w);
    }
}

static void write_status(struct kjw *w, const struct kj_val *root)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    bool schedulable = !tell_missing(root, &text);

    if (kj_get(root, "message")) {
        schedulable = false;
        tell_room(root, &text);
    }
    write_summary(w, schedulable, strbuf_str(&text));
    kjw_arr(w, "detailedExplanation");
    kjw_obj(w, NULL);
    write_summary(w, schedulable, strbuf_str(&text));
    kjw_end(w);
    write_domains(w, root);
    kjw_end(w);
}

bool answer_write_gang(struct scheduler *s, const char *key, struct arena *a, struct kjw *w)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct asking asking = { .s = s, .arena = a };
    struct whatgang_source src = { .gangs = find_service(s, &gangs_service),
                                   .network = find_service(s, &topo_network_service),
                                   .now = loop_wall(s->loop),
                                   .begin = begin,
                                   .arg = &asking };
    struct kerr err = { 0 };

    if (!src.gangs || !src.network)
        return false;
    int r = whatgang_write(&src, key, &json, &err);
    if (asking.attempt)
        attempt_end(asking.attempt);
    if (r < 0 || kj_parse(json.data, json.len, 0, &doc, &err) < 0)
        return false;
    write_status(w, kj_root(doc));
    return true;
}
