/* runners.h - who answers the golden vectors.
 *
 * A runner hands one case's input to a product function and writes the answer as JSON, in the
 * shape of the case's `out`; golden.c compares and reports. One file an area: run_<area>.c has a
 * table of its files, and golden.c lists the tables.
 */
#ifndef KOORD_GOLDEN_RUNNERS_H
#define KOORD_GOLDEN_RUNNERS_H
#include "base/arena.h"
#include "base/base.h"
#include "base/strbuf.h"
#include "json/kj.h"

/* Appends the answer to got: what the function returned, or {"error":"..."} when it refused.
 * Memory of the case comes from the arena. A negative return means that the runner itself could
 * not do its work (the case fails with err's text). */
typedef int (*golden_run_fn)(const struct kj_val *in, struct arena *a, struct strbuf *got,
                             struct kerr *err);
/* Is the answer right? For files where "equal" is not the whole story. */
typedef bool (*golden_same_fn)(const struct kj_val *out, const struct kj_val *got);

struct golden_runner {
    const char *file; /* "quantity": AREA/quantity.jsonl; NULL ends a table */
    golden_run_fn run;
    golden_same_fn same; /* NULL: golden_same */
};
struct golden_area {
    const char *area;
    const struct golden_runner *runners;
};

/* Every member of `out` is in `got` with the same value; of an "error" only the presence counts,
 * and an answer with an error never matches an expectation without. Members that only `got` has
 * are no fault at the top, but are one inside. */
bool golden_same(const struct kj_val *out, const struct kj_val *got);

/* In run_numa.c, for the table of the scheduler. */
int run_cpu_accumulator(const struct kj_val *in, struct arena *a, struct strbuf *got,
                        struct kerr *err);
int run_numa_hints(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
/* Equal, but for the order of "reasons". */
bool same_but_order_of_reasons(const struct kj_val *out, const struct kj_val *got);

/* In run_dra.c, for the table of the scheduler. Texts of CEL's syntax errors may differ. */
int golden_dra_allocate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                        struct kerr *err);
bool golden_dra_same(const struct kj_val *out, const struct kj_val *got);
/* In run_dra_plugin.c. */
int golden_dra_plugin(const struct kj_val *in, struct arena *a, struct strbuf *got,
                      struct kerr *err);
bool golden_dra_plugin_same(const struct kj_val *out, const struct kj_val *got);

/* run_quota_preempt.c, for the table of run_quota.c. */
int golden_quota_preempt(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err);

/* run_gang_topology.c, for the table of run_gang.c. */
int golden_gang_topology(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err);

/* run_migration.c, for the table of the descheduler. */
int golden_migration_filter(const struct kj_val *in, struct arena *a, struct strbuf *got,
                            struct kerr *err);
bool golden_migration_filter_same(const struct kj_val *out, const struct kj_val *got);
int golden_migration_arbitrate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                               struct kerr *err);

extern const struct golden_runner golden_cel[], golden_descheduler[], golden_device[],
    golden_gang[], golden_koordlet[], golden_kube[], golden_manager[], golden_quota[],
    golden_reservation[], golden_scheduler[];
/* Files of the scheduler's area that have a source of their own. */
int golden_reservation_status(const struct kj_val *in, struct arena *a, struct strbuf *got,
                              struct kerr *err);
#endif
