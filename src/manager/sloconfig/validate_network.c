/* validate_network.c - bandwidths that the QoS classes ask for (manager 8.4, api-config 1.6).
 *
 * Only LSR, LS and BE are looked at. Upstream's sums are kept as they are, since users meet the
 * refusals: the sum of percentages is also taken of quantities, and the sum of quantities also of
 * percentages, so that a bandwidth as quantity is refused when it is above 100.
 */
#include "manager/sloconfig/validate_int.h"

enum { INGRESS, EGRESS, DIRECTIONS };
struct class_qos {
    const char *name;
    const struct network_qos *q;
};
enum { CLASSES = 3 };

static void classes_of(const struct resource_qos_strategy *s, struct class_qos out[CLASSES])
{
    const struct resource_qos *const of[] = { s->lsr, s->ls, s->be };
    static const char *const names[] = { "LSRClass", "LSClass", "BEClass" };

    for (size_t i = 0; i < CLASSES; i++)
        out[i] = (struct class_qos){ names[i], of[i] ? of[i]->network : NULL };
}

/* One value: whole percent, or a quantity. NULL: fine. */
static const char *check_value(const char *path, const char *name, const struct int_or_str *v,
                               struct arena *a)
{
    struct qty q;

    if (v && !v->s && (v->i < 0 || v->i > 100))
        return arena_printf(a, "%s.%s: Invalid value: %d: must be percentage value just in 0-100'",
                            path, name, v->i);
    if (v && v->s && qty_parse(v->s, strlen(v->s), &q, NULL) < 0)
        return arena_printf(a,
                            "%s.%s: Invalid value: \"%s\": quantities must match the regular "
                            "expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
                            path, name, v->s);
    return NULL;
}

static const char *check_class(const char *path, const struct network_qos *q, struct arena *a)
{
    const struct {
        const char *name;
        const struct int_or_str *v;
    } values[] = {
        { "IngressRequest", q->ingress_request },
        { "IngressLimit", q->ingress_limit },
        { "EgressRequest", q->egress_request },
        { "EgressLimit", q->egress_limit },
    };
    const char *bad = NULL;

    for (size_t i = 0; !bad && i < ARRAY_LEN(values); i++)
        bad = check_value(path, values[i].name, values[i].v, a);
    return bad;
}

static const struct int_or_str *request_of(const struct network_qos *q, int direction)
{
    if (!q)
        return NULL;
    return direction == INGRESS ? q->ingress_request : q->egress_request;
}

static struct qty amount(const struct int_or_str *v)
{
    struct qty q = { 0 };

    if (v && !v->s)
        return qty_from_i64(v->i, QTY_DECIMAL_SI);
    if (v)
        qty_parse(v->s, strlen(v->s), &q, NULL); /* checked before */
    return q;
}

static bool is_mixed(const struct class_qos classes[CLASSES])
{
    bool percent = false, quantity = false;

    for (size_t i = 0; i < CLASSES * DIRECTIONS; i++) {
        const struct int_or_str *v = request_of(classes[i / 2].q, i % 2);
        percent |= v && !v->s;
        quantity |= v && v->s;
    }
    return percent && quantity;
}

/* Does what the classes ask for exceed the limit, in one direction at least? */
static bool is_over(const struct class_qos classes[CLASSES], struct qty limit)
{
    for (int d = 0; d < DIRECTIONS; d++) {
        struct qty sum = { 0 };
        for (size_t i = 0; i < CLASSES; i++)
            sum = qty_add(sum, amount(request_of(classes[i].q, d)));
        if (qty_cmp(sum, limit) > 0)
            return true;
    }
    return false;
}

struct place { /* the same strategy by the names that the messages use */
    const char *path, *mixed, *percent;
};

static const char *check_strategy(const struct resource_qos_strategy *s, const struct place *p,
                                  const struct qty *total, struct arena *a)
{
    struct class_qos classes[CLASSES];
    const char *bad = NULL;

    classes_of(s, classes);
    for (size_t i = 0; !bad && i < CLASSES; i++)
        if (classes[i].q)
            bad = check_class(arena_printf(a, "%s.%s", p->path, classes[i].name), classes[i].q, a);
    if (bad)
        return bad;
    if (is_mixed(classes))
        return arena_printf(a, "only one type can be used for percentages or quantity in %s",
                            p->mixed);
    if (is_over(classes, qty_from_i64(100, QTY_DECIMAL_SI)))
        return arena_printf(a, "%s total net bandwidth percentage already over 100", p->percent);
    if (total && is_over(classes, *total))
        return arena_printf(a, "total net bandwidth over total network bandwidth in %s", p->mixed);
    return NULL;
}

static struct qty total_of(const void *system_strategy)
{
    const struct system_strategy *s = system_strategy;
    return s ? s->total_network_bandwidth : (struct qty){ 0 };
}

/* What the nodes of a QoS entry share: of the system entry with the same selector; the cluster's
 * when the system strategy has no entries. */
static struct qty total_of_node(const struct slo_section *system, const struct slo_node_entry *e)
{
    if (system->nodes.n == 0)
        return total_of(system->own);
    for (uint32_t i = 0; i < system->nodes.n; i++)
        if (kj_struct_equal(&label_selector_schema, system->nodes.items[i].selector, e->selector))
            return total_of(system->nodes.items[i].own);
    return (struct qty){ 0 };
}

const char *slo_check_network(const struct slo_section *qos, const struct slo_section *system,
                              struct arena *a)
{
    static const struct place cluster = { "ResourceQOSCfg.ClusterStrategy", "clusterStrategy",
                                          "ClusterStrategy" };
    const char *bad = NULL;

    if (qos->own) {
        struct qty total = total_of(system->own);
        bad = check_strategy(qos->own, &cluster, system->own ? &total : NULL, a);
    }
    for (uint32_t i = 0; !bad && i < qos->nodes.n; i++) {
        const struct slo_node_entry *e = &qos->nodes.items[i];
        struct place p = { arena_printf(a, "ResourceQOSCfg.NodeStrategies[%u]", i),
                           arena_printf(a, "nodeStrategy[%u]", i),
                           arena_printf(a, "cfg.NodeStrategies[%u]", i) };
        struct qty total = total_of_node(system, e);
        if (e->own)
            bad = check_strategy(e->own, &p, &total, a);
    }
    return bad;
}
