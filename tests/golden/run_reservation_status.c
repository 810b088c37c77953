/* run_reservation_status.c - what the controller of Reservations makes of one (sched-reservation
 * 12): in {reservation, pods, node: known (default), missing or gone, now}. */
#include "api/pod.h"
#include "base/intern.h"
#include "base/ktime.h"
#include "base/vec.h"
#include "runners.h"
#include "scheduler/plugins/reservation/controller/status.h"

struct objects {
    struct kobj *reservation;
    struct vec_of(struct kobj *) pods;
};

static int read_objects(const struct kj_val *in, struct kj_scratch *scratch, struct objects *x,
                        struct kerr *err)
{
    const struct kj_val *pods = kj_get(in, "pods");
    int r =
        kobj_decode(&kind_reservation, kj_get(in, "reservation"), scratch, &x->reservation, err);

    for (size_t i = 0; r == 0 && i < kj_len(pods); i++) {
        struct kobj *pod = NULL;
        r = kobj_decode(&kind_pod, kj_at(pods, i), scratch, &pod, err);
        if (r == 0)
            vec_push(&x->pods, pod);
    }
    return r;
}

static void objects_fini(struct objects *x)
{
    kobj_unref(x->reservation);
    vec_foreach(&x->pods, i)
        kobj_unref(x->pods.items[i]);
    vec_fini(&x->pods);
}

static void write_plan(const struct resv_plan *plan, struct strbuf *got)
{
    CLEANUP(strbuf_fini) struct strbuf status = STRBUF_INIT;
    struct kjw w = kjw_to(got);

    kjw_obj(&w, NULL);
    kjw_bool(&w, "writes", plan->writes);
    kjw_bool(&w, "asksForNode", plan->asks_for_node);
    kjw_i64(&w, "againSeconds", plan->again / NSEC_PER_SEC);
    if (plan->reason)
        kjw_str(&w, "event", plan->reason);
    if (plan->writes) {
        kj_encode(&reservation_status_schema, &plan->to, &status);
        kjw_raw(&w, "status", status.data, status.len);
    }
    kjw_end(&w);
}

static int answer(const struct kj_val *in, struct kj_scratch *scratch, struct arena *a,
                  struct strbuf *got, struct kerr *err)
{
    const char *node = kj_str_or(kj_get(in, "node"), "known"), *now = kj_str(kj_get(in, "now"));
    struct objects x = { 0 };
    struct resv_facts f = { .node = streq(node, "gone")      ? RESV_NODE_GONE
                                    : streq(node, "missing") ? RESV_NODE_NOT_KNOWN
                                                             : RESV_NODE_KNOWN };
    struct resv_plan plan;

    int r = read_objects(in, scratch, &x, err);
    if (r == 0)
        r = ktime_parse(now ? now : "", now ? strlen(now) : 0, &f.now, err);
    if (r == 0) {
        f.pods = x.pods.items;
        f.npods = x.pods.n;
        resv_plan_status(reservation_of(x.reservation), &f, a, &plan);
        write_plan(&plan, got);
    }
    objects_fini(&x);
    return r;
}

int golden_reservation_status(const struct kj_val *in, struct arena *a, struct strbuf *got,
                              struct kerr *err)
{
    struct intern *strings = intern_new();
    struct kj_scratch *scratch = kj_scratch_new(strings);
    int r = answer(in, scratch, a, got, err);

    kj_scratch_free(scratch);
    intern_free(strings);
    return r;
}
