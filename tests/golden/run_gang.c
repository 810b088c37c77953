/* run_gang.c - gangs: scripts against the gang cache and its rounds (sched-gang 1-4), and what the
 * controller makes of a PodGroup (5).
 *
 * The script stands in for the engine: it pops, finds nodes or not, and binds, in the order in
 * which the engine calls.
 */
#include "api/koord/podgroup.h"
#include "api/pod.h"
#include "base/intern.h"
#include "base/ktime.h"
#include "base/vec.h"
#include "runners.h"
#include "scheduler/framework/args.h"
#include "scheduler/framework/attempt.h"
#include "scheduler/plugins/coscheduling/args.h"
#include "scheduler/plugins/coscheduling/gangs.h"
#include "scheduler/plugins/coscheduling/status.h"

enum place { PLACE_IDLE, PLACE_WAITING, PLACE_BINDING, PLACE_BOUND };
struct scripted { /* a pod of the script */
    const char *key;
    struct kobj *pod;
    enum place place;
};
struct said {
    const char *pod, *text;
};
struct script {
    struct gangs gangs;
    struct kj_scratch *scratch;
    struct arena *arena;
    struct vec_of(struct scripted) pods;
    struct vec_of(struct kobj *) podgroups;
    uint64_t told; /* the round whose rest was told */
    /* of this step */
    struct vec_of(struct said) rejected, patched;
    struct vec_of(const char *) allowed, activated;
};

static struct scripted *find(struct script *x, const char *key)
{
    vec_foreach(&x->pods, i)
        if (streq(x->pods.items[i].key, key))
            return &x->pods.items[i];
    return NULL;
}

static const char *key_of(struct script *x, const struct gang_member *m)
{
    return member_key(m, x->arena);
}

static void on_allow(void *arg, const struct gang_member *m)
{
    struct script *x = arg;
    struct scripted *p = find(x, key_of(x, m));

    if (p)
        p->place = PLACE_BINDING;
    vec_push(&x->allowed, key_of(x, m));
}

static void on_reject(void *arg, const struct gang_member *m, enum gang_rejection how,
                      const char *why)
{
    struct script *x = arg;
    struct scripted *p = find(x, key_of(x, m));

    (void)how;
    if (p)
        p->place = PLACE_IDLE;
    vec_push(&x->rejected, ((struct said){ key_of(x, m), arena_strdup(x->arena, why) }));
    gangs_unreserve(&x->gangs, pod_of(m->pod));
}

static void on_activate(void *arg, const struct gang_member *m)
{
    struct script *x = arg;

    vec_push(&x->activated, arena_strdup(x->arena, m->gang->id));
}

static void on_tell(void *arg, const struct gang_member *m, const char *why)
{
    struct script *x = arg;

    vec_push(&x->patched, ((struct said){ key_of(x, m), arena_strdup(x->arena, why) }));
}

static const struct gang_ops script_ops = {
    .allow = on_allow, .reject = on_reject, .activate = on_activate, .tell = on_tell
};

/* ---- an attempt ------------------------------------------------------------------------------ */

static const char *fit_of(struct script *x, const struct kj_val *step)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct tally *t = tally_new(x->arena);
    const struct kj_val *reasons = step ? kj_get(step, "reasons") : NULL;
    struct kj_iter it = kj_iter(reasons);
    const struct kj_val *v;
    struct str key;

    while (reasons && kj_next(&it, &key, &v))
        if (*kj_str_or(v, ""))
            tally_add(t, arena_strdup(x->arena, kj_str(v)), 1);
    tally_format(t, x->gangs.nodes, &text);
    return arena_strdup(x->arena, strbuf_str(&text));
}

static void write_outcome(struct kjw *w, const char *pod, const char *phase, const char *code,
                          const struct ks_texts *why)
{
    kjw_str(w, "pod", pod);
    kjw_str(w, "phase", phase);
    kjw_str(w, "code", code);
    if (why && why->n)
        kjw_str(w, "message", why->items[0]);
}

static void attempt(struct script *x, struct scripted *p, const struct kj_val *step, struct kjw *w)
{
    struct ks_texts why = { .arena = x->arena };
    const struct pod *pod = pod_of(p->pod);
    const char *node = kj_str(kj_get(step, "node"));
    nsec_t wait = 0;

    if (gangs_check(&x->gangs, pod, &why) != KS_SUCCESS) {
        write_outcome(w, p->key, "PreFilter", "UnschedulableAndUnresolvable", &why);
        if (x->gangs.round && x->gangs.round->failure &&
            streq(why.items[0], x->gangs.round->failure) && x->told != x->gangs.round->number) {
            x->told = x->gangs.round->number;
            round_tell_rest(&x->gangs);
        }
        gangs_failed(&x->gangs, pod, fit_of(x, NULL)); /* no node was looked at */
        return;
    }
    if (!node) {
        write_outcome(w, p->key, "Filter", "Unschedulable", NULL);
        gangs_failed(&x->gangs, pod, fit_of(x, step));
        return;
    }
    enum ks_code code = gangs_permit(&x->gangs, pod, node, &wait, &why);
    write_outcome(w, p->key, "Permit", ks_code_name(code), &why);
    if (code == KS_WAIT)
        kjw_i64(w, "waitSeconds", wait / NSEC_PER_SEC);
    p->place = code == KS_WAIT ? PLACE_WAITING : code == KS_SUCCESS ? PLACE_BINDING : PLACE_IDLE;
}

/* ---- steps ----------------------------------------------------------------------------------- */

static void step_schedule(struct script *x, const struct kj_val *step, struct kjw *w)
{
    struct scripted *p = find(x, kj_str_or(kj_get(step, "key"), ""));
    struct ks_texts why = { .arena = x->arena };

    if (!p || p->place != PLACE_IDLE || x->gangs.round) {
        kjw_str(w, "code", "NotPopped");
        return;
    }
    if (gangs_enqueue(&x->gangs, pod_of(p->pod), &why) != KS_SUCCESS)
        write_outcome(w, p->key, "PreEnqueue", "UnschedulableAndUnresolvable", &why);
    else
        attempt(x, p, step, w);
}

static void step_pre_enqueue(struct script *x, const struct kj_val *step, struct kjw *w)
{
    const struct scripted *p = find(x, kj_str_or(kj_get(step, "key"), ""));
    struct ks_texts why = { .arena = x->arena };
    enum ks_code code = p ? gangs_enqueue(&x->gangs, pod_of(p->pod), &why) : KS_ERROR;

    kjw_str(w, "code", ks_code_name(code));
    if (why.n)
        kjw_str(w, "message", why.items[0]);
}

static void step_next(struct script *x, const struct kj_val *step, struct kjw *w)
{
    const struct gang_member *m = round_next(&x->gangs);
    struct scripted *p = m ? find(x, key_of(x, m)) : NULL;

    if (p)
        attempt(x, p, step, w);
}

/* The first by key of those that are at a place. */
static struct scripted *first_at(struct script *x, enum place place)
{
    struct scripted *first = NULL;

    vec_foreach(&x->pods, i) {
        struct scripted *p = &x->pods.items[i];
        if (p->place == place && (!first || strcmp(p->key, first->key) < 0))
            first = p;
    }
    return first;
}

static void step_undo(struct script *x, enum place place, struct kjw *w)
{
    struct scripted *p = first_at(x, place);

    if (!p) {
        kjw_str(w, "code", "None");
        return;
    }
    kjw_str(w, "pod", p->key);
    p->place = PLACE_IDLE;
    gangs_unreserve(&x->gangs, pod_of(p->pod));
}

static int by_key(const void *a, const void *b)
{
    return strcmp((*(struct scripted *const *)a)->key, (*(struct scripted *const *)b)->key);
}

static void step_bind(struct script *x, struct kjw *w)
{
    struct vec_of(struct scripted *) all = { 0 };

    vec_foreach(&x->pods, i)
        if (x->pods.items[i].place == PLACE_BINDING)
            vec_push(&all, &x->pods.items[i]);
    if (all.n) {
        qsort(all.items, all.n, sizeof *all.items, by_key);
        kjw_arr(w, "bound");
        vec_foreach(&all, i) {
            uint32_t n = 0;
            const char *id = gangs_binding(&x->gangs, all.items[i]->pod->meta.uid, &n);
            kjw_obj(w, NULL);
            kjw_str(w, "pod", all.items[i]->key);
            if (id) {
                kjw_str(w, "groupId", id);
                kjw_i64(w, "memberCount", n);
            }
            kjw_end(w);
        }
        kjw_end(w);
    }
    vec_foreach(&all, i) {
        all.items[i]->place = PLACE_BOUND;
        gangs_bound(&x->gangs, pod_of(all.items[i]->pod));
    }
    vec_fini(&all);
}

static int step_add_pod(struct script *x, const struct kj_val *step, struct kerr *err)
{
    struct kobj *pod = NULL;
    char key[KOBJ_KEY_MAX];
    int r = kobj_decode(&kind_pod, kj_get(step, "pod"), x->scratch, &pod, err);

    if (r < 0)
        return r;
    kobj_key(pod, key, sizeof key);
    struct scripted *p = find(x, key);
    if (!p) {
        vec_push(&x->pods, ((struct scripted){ arena_strdup(x->arena, key), NULL, PLACE_IDLE }));
        p = &vec_last(&x->pods);
    }
    p->place = str_empty(pod_of(pod)->node_name) ? p->place : PLACE_BOUND;
    kobj_unref(p->pod);
    p->pod = pod;
    gangs_pod(&x->gangs, pod_of(pod));
    return 0;
}

static void step_delete_pod(struct script *x, const struct kj_val *step)
{
    struct scripted *p = find(x, kj_str_or(kj_get(step, "key"), ""));

    if (!p)
        return;
    gangs_pod_gone(&x->gangs, pod_of(p->pod));
    kobj_unref(p->pod);
    vec_swap_remove(&x->pods, (size_t)(p - x->pods.items));
}

static int step_podgroup(struct script *x, const struct kj_val *step, struct kerr *err)
{
    struct kobj *o = NULL;
    int r = kobj_decode(&kind_podgroup, kj_get(step, "podGroup"), x->scratch, &o, err);

    if (r < 0)
        return r;
    vec_foreach(&x->podgroups, i) {
        struct kobj *old = x->podgroups.items[i];
        if (!streq(old->meta.name, o->meta.name) || !streq(old->meta.ns, o->meta.ns))
            continue;
        gangs_podgroup(&x->gangs, old, o);
        kobj_unref(old);
        x->podgroups.items[i] = o;
        return 0;
    }
    /* An update of one that is not there says nothing. */
    if (streq(kj_str_or(kj_get(step, "op"), ""), "updatePodGroup")) {
        kobj_unref(o);
        return 0;
    }
    vec_push(&x->podgroups, o);
    gangs_podgroup(&x->gangs, NULL, o);
    return 0;
}

static void step_delete_podgroup(struct script *x, const struct kj_val *step)
{
    const char *key = kj_str_or(kj_get(step, "key"), "");
    char its[KOBJ_KEY_MAX];

    vec_foreach(&x->podgroups, i) {
        struct kobj *o = x->podgroups.items[i];
        kobj_key(o, its, sizeof its);
        if (!streq(its, key))
            continue;
        gangs_podgroup(&x->gangs, o, NULL);
        kobj_unref(o);
        vec_swap_remove(&x->podgroups, i);
        return;
    }
}

static int step_run(struct script *x, const struct kj_val *step, struct kjw *w, struct kerr *err)
{
    const char *op = kj_str_or(kj_get(step, "op"), "");

    if (streq(op, "addPod"))
        return step_add_pod(x, step, err);
    if (streq(op, "addPodGroup") || streq(op, "updatePodGroup"))
        return step_podgroup(x, step, err);
    if (streq(op, "deletePod"))
        step_delete_pod(x, step);
    else if (streq(op, "deletePodGroup"))
        step_delete_podgroup(x, step);
    else if (streq(op, "preEnqueue"))
        step_pre_enqueue(x, step, w);
    else if (streq(op, "schedule"))
        step_schedule(x, step, w);
    else if (streq(op, "nextPod"))
        step_next(x, step, w);
    else if (streq(op, "timeout"))
        step_undo(x, PLACE_WAITING, w);
    else if (streq(op, "bindFail"))
        step_undo(x, PLACE_BINDING, w);
    else if (streq(op, "bindAll"))
        step_bind(x, w);
    else
        return kerr_set(err, -EINVAL, "no operation %s", op);
    return 0;
}

/* ---- what a step leads to -------------------------------------------------------------------- */

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static void write_texts(struct kjw *w, const char *key, const char **items, size_t n)
{
    if (n == 0)
        return;
    qsort(items, n, sizeof *items, by_text);
    kjw_arr(w, key);
    for (size_t i = 0; i < n; i++)
        kjw_str(w, NULL, items[i]);
    kjw_end(w);
}

static int by_pod(const void *a, const void *b)
{
    return strcmp(((const struct said *)a)->pod, ((const struct said *)b)->pod);
}

static void write_said(struct kjw *w, const char *key, struct said *items, size_t n)
{
    if (n == 0)
        return;
    qsort(items, n, sizeof *items, by_pod);
    kjw_arr(w, key);
    for (size_t i = 0; i < n; i++) {
        kjw_obj(w, NULL);
        kjw_str(w, "pod", items[i].pod);
        kjw_str(w, "message", items[i].text);
        kjw_end(w);
    }
    kjw_end(w);
}

static void write_effects(struct script *x, struct kjw *w)
{
    struct vec_of(const char *) waiting = { 0 };

    vec_foreach(&x->pods, i)
        if (x->pods.items[i].place == PLACE_WAITING)
            vec_push(&waiting, x->pods.items[i].key);
    write_texts(w, "allowed", x->allowed.items, x->allowed.n);
    write_said(w, "rejected", x->rejected.items, x->rejected.n);
    write_texts(w, "activated", x->activated.items, x->activated.n);
    write_said(w, "patched", x->patched.items, x->patched.n);
    write_texts(w, "waiting", waiting.items, waiting.n);
    x->allowed.n = x->rejected.n = x->activated.n = x->patched.n = 0;
    vec_fini(&waiting);
}

static int script_args(struct script *x, const struct kj_val *in, struct kerr *err)
{
    void *decoded = NULL;
    int r = args_decode(&coscheduling_args, kj_get(in, "args"), &(struct ks_args_context){ 0 },
                        x->arena, &decoded, err);

    if (r < 0)
        return r;
    const struct coscheduling_args *args = decoded;
    x->gangs.defaults = coscheduling_defaults(args);
    return 0;
}

static int script_run(struct script *x, const struct kj_val *in, struct strbuf *got,
                      struct kerr *err)
{
    const struct kj_val *steps = kj_get(in, "steps");
    struct kjw w = kjw_to(got);
    int64_t nodes = 0;
    int r = script_args(x, in, err);

    (void)kj_i64(kj_get(in, "nodes"), &nodes);
    x->gangs.nodes = (uint32_t)nodes;
    kjw_obj(&w, NULL);
    kjw_arr(&w, "steps");
    for (size_t i = 0; r == 0 && i < kj_len(steps); i++) {
        kjw_obj(&w, NULL);
        r = step_run(x, kj_at(steps, i), &w, err);
        write_effects(x, &w);
        kjw_end(&w);
    }
    kjw_end(&w);
    kjw_end(&w);
    return r;
}

static int run_scenario(const struct kj_val *in, struct arena *a, struct strbuf *got,
                        struct kerr *err)
{
    struct intern *strings = intern_new();
    struct script x = { .arena = a, .scratch = kj_scratch_new(strings) };

    gangs_init(&x.gangs, &script_ops, &x);
    int r = script_run(&x, in, got, err);
    gangs_fini(&x.gangs);
    vec_foreach(&x.pods, i)
        kobj_unref(x.pods.items[i].pod);
    vec_foreach(&x.podgroups, i)
        kobj_unref(x.podgroups.items[i]);
    vec_fini(&x.pods);
    vec_fini(&x.podgroups);
    vec_fini(&x.rejected);
    vec_fini(&x.patched);
    vec_fini(&x.allowed);
    vec_fini(&x.activated);
    kj_scratch_free(x.scratch);
    intern_free(strings);
    return r;
}

/* ---- PodGroups ------------------------------------------------------------------------------- */

/* All pods of the gang at that time. */
static int read_pods(const struct kj_val *pods, struct kj_scratch *scratch, struct kobj **out,
                     struct kerr *err)
{
    for (size_t i = 0; i < kj_len(pods); i++)
        if (kobj_decode(&kind_pod, kj_at(pods, i), scratch, &out[i], err) < 0)
            return err->code;
    return 0;
}

static int run_round(struct podgroup *g, const struct kj_val *pods, nsec_t now,
                     struct kj_scratch *scratch, struct arena *a, struct kjw *w, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf status = STRBUF_INIT;
    size_t n = kj_len(pods);
    struct kobj **all = arena_newn0(a, n + 1, struct kobj *);
    struct podgroup_status to = g->status;
    int r = read_pods(pods, scratch, all, err);
    bool enqueued = podgroup_is_watched(g);

    if (r == 0 && enqueued)
        podgroup_plan(g, &(struct podgroup_facts){ .pods = all, .n = n, .now = now }, a, &to);
    kjw_obj(w, NULL);
    kjw_bool(w, "enqueued", enqueued);
    kjw_bool(w, "changed", !podgroup_status_equal(&to, &g->status));
    kj_encode(&podgroup_status_schema, &to, &status);
    kjw_raw(w, "status", status.data, status.len);
    kjw_end(w);
    g->status = to;
    for (size_t i = 0; i < n; i++)
        kobj_unref(all[i]);
    return r;
}

static int run_rounds(const struct kj_val *in, struct kj_scratch *scratch, struct arena *a,
                      struct strbuf *got, struct kerr *err)
{
    const struct kj_val *rounds = kj_get(in, "rounds");
    const char *when = kj_str_or(kj_get(in, "now"), "");
    struct kjw w = kjw_to(got);
    struct kobj *o = NULL;
    nsec_t now;
    int r = kobj_decode(&kind_podgroup, kj_get(in, "podGroup"), scratch, &o, err);

    if (r == 0)
        r = ktime_parse(when, strlen(when), &now, err);
    if (r < 0)
        return r;
    struct podgroup g = *podgroup_of(o); /* its status carries over */
    kjw_obj(&w, NULL);
    kjw_arr(&w, "rounds");
    for (size_t i = 0; r == 0 && i < kj_len(rounds); i++)
        r = run_round(&g, kj_get(kj_at(rounds, i), "pods"), now, scratch, a, &w, err);
    kjw_end(&w);
    kjw_end(&w);
    kobj_unref(o);
    return r;
}

static int run_podgroup_status(const struct kj_val *in, struct arena *a, struct strbuf *got,
                               struct kerr *err)
{
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    int r = run_rounds(in, scratch, a, got, err);

    kj_scratch_free(scratch);
    intern_free(strings);
    return r;
}

const struct golden_runner golden_gang[] = {
    { "podgroup-status", run_podgroup_status, NULL },
    { "scenario", run_scenario, NULL },
    { "topology", golden_gang_topology, NULL },
    { NULL, NULL, NULL },
};
