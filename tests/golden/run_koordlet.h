/* run_koordlet.h - what the runners of koordlet's files share. */
#ifndef KOORD_GOLDEN_RUN_KOORDLET_H
#define KOORD_GOLDEN_RUN_KOORDLET_H
#include <math.h>

#include "koordlet/states/podset.h"
#include "runners.h"

/* Pods as a kubelet tells them; a new reference. */
int golden_pods(const struct kj_val *in, struct kj_scratch *scratch, struct podset **ret,
                struct kerr *err);

/* cgroup-convert: run_koordlet_cgroup.c. */
int run_cgroup(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
bool same_cgroup(const struct kj_val *out, const struct kj_val *got);
/* resctrl: run_koordlet_resctrl.c. */
int run_resctrl(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
/* nodemetric, topology: run_koordlet_report.c. */
int run_nodemetric(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
bool same_nodemetric(const struct kj_val *out, const struct kj_val *got);
int run_topology(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
bool same_topology(const struct kj_val *out, const struct kj_val *got);

/* evict-cpu, evict-memory: run_koordlet_evict.c. */
int run_evict(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
bool same_evict(const struct kj_val *out, const struct kj_val *got);

/* cpu-suppress, cpu-burst: run_koordlet_suppress.c. */
int run_suppress(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
int run_burst(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
/* memory-qos, blkio: run_koordlet_memory.c. */
int run_memory(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
bool same_memory(const struct kj_val *out, const struct kj_val *got);
int run_blkio(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);

/* runtimehooks: run_koordlet_hooks.c. */
int run_hooks(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);

static inline int write_error(struct strbuf *got, const struct kerr *err)
{
    struct kjw w = kjw_to(got);
    kjw_obj(&w, NULL);
    kjw_str(&w, "error", err->text);
    kjw_end(&w);
    return 0;
}

static inline double number(const struct kj_val *v)
{
    double d = NAN;
    return kj_f64(v, &d) < 0 ? NAN : d;
}

/* Every member of `out` is in `got`; numbers may differ by this much, relatively or absolutely. */
static inline bool near(const struct kj_val *out, const struct kj_val *got, double relative,
                        double absolute)
{
    const struct kj_val *v;
    struct str key;

    if (kj_type(out) != kj_type(got))
        return false;
    if (kj_type(out) == KJ_NUM) {
        double a = number(out), b = number(got);
        return fabs(a - b) <= fmax(absolute, relative * fabs(a));
    }
    if (kj_type(out) == KJ_OBJ) {
        for (struct kj_iter it = kj_iter(out); kj_next(&it, &key, &v);)
            if (!near(v, kj_getn(got, key.p, key.n), relative, absolute))
                return false;
        return true;
    }
    if (kj_type(out) != KJ_ARR)
        return kj_equal(out, got);
    for (size_t i = 0; i < kj_len(out); i++)
        if (!near(kj_at(out, i), kj_at(got, i), relative, absolute))
            return false;
    return kj_len(out) == kj_len(got);
}

#endif
