/* fragmentationaware.c - FragmentationAware: one pod of a node that uses up one resource and leaves
 * another idle, if the node is more even without it (descheduler 5.2).
 */
#include <math.h>

#include "base/num.h"
#include "base/strbuf.h"
#include "descheduler/framework/nodefit.h"
#include "descheduler/plugins/common/balance_args.h"
#include "descheduler/plugins/kube/common.h"
#include "descheduler/plugins/plugins.h"

struct fragmentation_args {
    struct balance_args common;
    kstrlist resources;
    struct opt_f64 imbalance, improvement;
};

ARGS_DEFAULT(def_imbalance, "0.15");
ARGS_DEFAULT(def_improvement, "0.02");
#define STYPE struct fragmentation_args
static const struct kfield args_fields[] = {
    BALANCE_FIELDS(STYPE, common),
    BALANCE_FIT_FIELDS(STYPE, common),
    KF_LIST_OF(STYPE, resources, "resources", KF_STR, .flags = KF_OMITEMPTY),
    KF(STYPE, imbalance, "imbalanceThreshold", KF_OPT_F64, .meta = &def_imbalance),
    KF(STYPE, improvement, "minImprovementThreshold", KF_OPT_F64, .meta = &def_improvement),
};
static const struct kschema args_schema = KSCHEMA("FragmentationAwareArgs", STYPE, args_fields);
#undef STYPE

static void fill(void *args, const struct kd_args_context *c, struct arena *a)
{
    (void)c;
    balance_default_resources(&((struct fragmentation_args *)args)->resources, a);
}

static int check_share(const char *path, double v, struct kerr *err)
{
    if (v >= 0 && isfinite(v))
        return 0;
    return kerr_api(err, -EINVAL, KR_INVALID,
                    "%s: Invalid value: must be greater than or equal to 0", path);
}

static int check(void *args, struct arena *a, struct kerr *err)
{
    struct fragmentation_args *x = args;
    int r = balance_args_check(&x->common, a, err);

    if (r == 0)
        r = balance_check_resources(&x->resources, err);
    if (r == 0)
        r = check_share("imbalanceThreshold", x->imbalance.v, err);
    return r == 0 ? check_share("minImprovementThreshold", x->improvement.v, err) : r;
}
static const struct kd_args args_table = { .schema = &args_schema, .fill = fill, .check = check };

/* ---- how uneven a node is --------------------------------------------------------------------- */

struct uneven {
    const struct fragmentation_args *args;
    struct kd_round *round;
    uint32_t *ids; /* of the resources, in the view */
    uint32_t *nodes, nnodes;
};

/* Standard deviation of the shares in use, over resources that the node has. */
static double deviation(const struct uneven *u, uint32_t node, const struct pod *without)
{
    const struct kd_view *v = u->round->view;
    uint32_t n = u->args->resources.n, used = 0;
    double sum = 0, squares = 0;

    for (int pass = 0; pass < 2; pass++) {
        double mean = used ? sum / used : 0;
        for (uint32_t i = 0; i < n; i++) {
            int64_t have = kd_view_allocatable(v, node, u->ids[i]);
            int64_t asked = kd_view_requested(v, node, u->ids[i]);
            if (have == 0)
                continue;
            if (without)
                asked = i64_sub_sat(asked, balance_request(v, without, u->ids[i]));
            double share = (double)asked / (double)have;
            if (pass == 0) {
                sum += share;
                used++;
            } else {
                squares += (share - mean) * (share - mean);
            }
        }
    }
    return used ? sqrt(squares / used) : 0;
}

static bool is_candidate(const struct uneven *u, const struct pod *p)
{
    return balance_wants(&u->args->common, p) && kd_filter(u->round, p) &&
           (!u->args->common.node_fit.v ||
            kd_fits_any_other(u->round->view, p, u->nodes, u->nnodes, KD_FIT_KOORD));
}

static void look(const struct uneven *u, uint32_t node)
{
    CLEANUP(strbuf_fini) struct strbuf reason = STRBUF_INIT;
    struct kd_pods pods = kd_view_active(u->round->view, node);
    double before = deviation(u, node, NULL), most = 0;
    const struct pod *best = NULL;

    if (before <= u->args->imbalance.v)
        return;
    for (uint32_t i = 0; i < pods.n; i++) {
        double gain = before - deviation(u, node, pods.items[i]);
        if (gain > u->args->improvement.v && gain > most && is_candidate(u, pods.items[i])) {
            most = gain;
            best = pods.items[i];
        }
    }
    if (!best || !kd_pre_eviction_filter(u->round, best))
        return;
    strbuf_appendf(&reason, "fragmentation reduction: stdBefore=%.4f stdAfter=%.4f gain=%.4f",
                   before, before - most, most);
    (void)balance_evict(&u->args->common, u->round, best, strbuf_str(&reason));
}

static int balance(void *self, struct kd_round *r, struct kerr *err)
{
    const struct fragmentation_args *x = kube_args(self);
    struct uneven u = { .args = x, .round = r };

    (void)err;
    if (x->common.paused)
        return 0;
    u.nodes = balance_nodes(&x->common, r, &u.nnodes);
    u.ids = arena_newn0(r->arena, x->resources.n, uint32_t);
    for (uint32_t i = 0; i < x->resources.n; i++)
        u.ids[i] = kd_view_resource(r->view, x->resources.items[i]);
    for (uint32_t i = 0; i < u.nnodes; i++)
        look(&u, u.nodes[i]);
    return 0;
}

const struct kd_plugin plugin_fragmentationaware = { KUBE_PLUGIN("FragmentationAware", &args_table),
                                                     .balance = balance };
