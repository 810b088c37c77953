/* states_int.h - the parts of struct states, for the files of this folder. */
#ifndef KOORD_KOORDLET_STATES_INT_H
#define KOORD_KOORDLET_STATES_INT_H
#include "base/map.h"
#include "base/vec.h"
#include "client/bucket.h"
#include "koordlet/states/complaint.h"
#include "koordlet/states/kubelet.h"
#include "koordlet/states/listsplit.h"
#include "koordlet/states/nodeslo.h"
#include "koordlet/states/states.h"

struct counter;
struct informer;
struct metric;
struct pleg;
struct recorder;

/* ---- pods ------------------------------------------------------------------------------------ */

struct pods {
    struct kubelet_call *call;
    struct kube_call *api_call; /* in its place, without a kubelet */
    struct timer *timer;        /* the next regular round */
    struct timer *asked;        /* a round that waits for its token */
    struct bucket bucket;
    bool again; /* asked while one was under way */
    bool ended_badly;

    struct map by_stamp; /* of the pods in the snapshot */
    const struct cgroup_layout *driver;

    /* One round. */
    struct listsplit cut;
    struct incoming vec_of(struct npod *) incoming;
    size_t fresh; /* decoded, not taken from the old set */
    struct kerr err;

    struct complaint complaint, odd_pod;
    struct kerr problem; /* of the last round */
    struct metric *requests, *limits, *failures;
};
void pods_init(struct states *s);
void pods_fini(struct states *s);
/* The kubelet is aimed: begin, or look at once. */
void pods_sync(struct states *s);
/* Something appeared: a round soon, as the token bucket allows. */
void pods_ask(struct states *s);

/* The gauges of containers' requests and limits. */
void pod_gauges_init(struct states *s);
void pod_gauges_update(struct states *s, const struct podset *old, const struct podset *now);

/* ---- the kubelet's configuration ------------------------------------------------------------- */

struct configz {
    struct kubelet_call *call;
    struct strbuf body;
    uint64_t hash;
    nsec_t read_at;
    bool wanted; /* read it again at the next chance */
    struct complaint complaint;
    struct kerr problem;
};
void configz_fini(struct states *s);
/* The kubelet answers: read it if it is not known, may have changed, or is old. */
void configz_check(struct states *s);
/* Pure: the JSON of /configz. */
int configz_decode(const char *text, size_t n, struct arena *a, struct kubelet_config *ret,
                   struct kerr *err);

/* ---- volumes --------------------------------------------------------------------------------- */

struct volumes {
    struct map claims; /* "ns/name" -> struct claim */
    unsigned round;
};
void volumes_update(struct states *s);
void volumes_fini(struct states *s);

/* ---- all of it ------------------------------------------------------------------------------- */

struct states {
    struct states_env env;
    struct states_options o; /* its texts are copies */
    char *selector;          /* metadata.name=<node> */

    struct informer *nodes, *slos, *nodemetrics;
    struct metric *allocatable;
    struct kerr aim_problem;

    char *slo_text;
    struct metric *slo_refused;
    struct recorder *recorder;

    int64_t policy_generation;
    char *policy_text;

    struct kubelet *kubelet;
    struct pods pods;
    struct configz configz;
    struct volumes volumes;
    struct pleg *pleg;
    char missing[320]; /* the last reason asked for */
};

/* What is published now. */
static inline const struct snapshot *states_now(const struct states *s)
{
    return snapshots_get(s->env.snapshots);
}

void node_init(struct states *s);
void slo_init(struct states *s);
void slo_fini(struct states *s);
void policy_init(struct states *s);
void policy_fini(struct states *s);
/* Pure: the spec of a NodeMetric over the defaults. Fields that are nonsense keep their default;
 * the first of them is told in err. */
struct kj_val;
void policy_decode(const struct kj_val *spec, struct collect_policy *ret, struct kerr *err);
#endif
