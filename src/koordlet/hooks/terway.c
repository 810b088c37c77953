/* terway.c - the texts of Terway's QoS files. */
#include "koordlet/hooks/terway.h"

#include "api/protocol/slo.h"
#include "api/qos.h"
#include "base/num.h"
#include "json/kj.h"

bool terway_is_on(const struct nodeslo_spec *slo)
{
    const struct qos_policies *p = slo && slo->resource_qos ? slo->resource_qos->policies : NULL;

    return p && p->net_policy && streq(p->net_policy, "terway-qos");
}

/* ---- the node -------------------------------------------------------------------------------- */

/* Bytes a second from a quantity of bits; a number is a percentage of the total, which upstream
 * does not divide by 8. */
static int bandwidth(const struct int_or_str *v, int64_t total, int64_t *ret, struct kerr *err)
{
    struct qty q;

    *ret = 0;
    if (!v)
        return 0;
    if (!v->s) {
        *ret = i64_muldiv(v->i, total, 100);
        return 0;
    }
    if (qty_parse(v->s, strlen(v->s), &q, err) < 0)
        return kerr_wrap(err, "network bandwidth");
    if (qty_value(q) > total)
        return kerr_set(err, -EINVAL, "network bandwidth %s is above the node's %lld", v->s,
                        (long long)total);
    *ret = qty_value(q) / 8;
    return 0;
}

struct rates {
    int64_t tx_min, tx_max, rx_min, rx_max;
};

static int class_rates(const struct resource_qos *q, int64_t total, struct rates *ret,
                       struct kerr *err)
{
    const struct network_qos *n = q ? q->network : NULL;

    *ret = (struct rates){ 0 };
    if (!n || !n->enable.set || !n->enable.v)
        return 0;
    if (bandwidth(n->egress_request, total, &ret->tx_min, err) < 0 ||
        bandwidth(n->egress_limit, total, &ret->tx_max, err) < 0 ||
        bandwidth(n->ingress_request, total, &ret->rx_min, err) < 0 ||
        bandwidth(n->ingress_limit, total, &ret->rx_max, err) < 0)
        return err->code;
    return 0;
}

int terway_node_text(const struct nodeslo_spec *slo, struct strbuf *out, struct kerr *err)
{
    int64_t total = slo->system ? qty_value(slo->system->total_network_bandwidth) : 0;
    struct rates l1 = { 0 }, l2 = { 0 };

    if (slo->resource_qos && (class_rates(slo->resource_qos->ls, total, &l1, err) < 0 ||
                              class_rates(slo->resource_qos->be, total, &l2, err) < 0))
        return err->code;
    const struct {
        const char *name;
        int64_t value;
    } lines[] = {
        { "hw_tx_bps_max", total / 8 },         { "hw_rx_bps_max", total / 8 },
        { "offline_l1_tx_bps_min", l1.tx_min }, { "offline_l1_tx_bps_max", l1.tx_max },
        { "offline_l1_rx_bps_min", l1.rx_min }, { "offline_l1_rx_bps_max", l1.rx_max },
        { "offline_l2_tx_bps_min", l2.tx_min }, { "offline_l2_tx_bps_max", l2.tx_max },
        { "offline_l2_rx_bps_min", l2.rx_min }, { "offline_l2_rx_bps_max", l2.rx_max },
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        strbuf_appendf(out, "%s %lld\n", lines[i].name, (long long)lines[i].value);
    return 0;
}

/* ---- pods ------------------------------------------------------------------------------------ */

static int priority_of(const struct npod *p)
{
    switch (qos_raw(&p->obj->meta.labels)) {
    case QOS_SYSTEM: return 0;
    case QOS_LSE:
    case QOS_LSR:
    case QOS_LS: return 1;
    case QOS_BE: return 2;
    default: break;
    }
    return p->kube_qos == KUBE_QOS_BEST_EFFORT ? 2 : p->kube_qos == KUBE_QOS_NONE ? 0 : 1;
}

static int put_pod(struct kjw *w, const struct npod *p, struct arena *a, struct kerr *err)
{
    const struct kobj *o = p->obj;
    struct pod_network_qos net;

    if (pod_network_qos_read(&o->meta.annotations, a, &net, err) < 0)
        return kerr_wrap(err, "pod %s/%s", str_or(o->meta.ns, ""), o->meta.name);
    kjw_obj(w, p->uid);
    kjw_str(w, "podName", o->meta.name);
    kjw_str(w, "podNamespace", str_or(o->meta.ns, ""));
    kjw_str(w, "podUID", p->uid);
    kjw_i64(w, "prio", priority_of(p));
    kjw_str(w, "cgroupDir", arena_printf(a, "/sys/fs/cgroup/net_cls/%s", p->cgroup_dir));
    kjw_obj(w, "qosConfig");
    kjw_i64(w, "ingressBandwidth", network_limit_bytes(net.ingress_limit));
    kjw_i64(w, "egressBandwidth", network_limit_bytes(net.egress_limit));
    kjw_end(w);
    kjw_end(w);
    return 0;
}

void terway_pod_text(const struct podset *pods, struct arena *a, struct strbuf *out,
                     struct kerr *err)
{
    struct kjw w = kjw_to(out);

    kjw_obj(&w, NULL);
    for (uint32_t i = 0; pods && i < pods->n; i++)
        if (!pod_is_terminal(npod_pod(pods->pods[i])))
            (void)put_pod(&w, pods->pods[i], a, err);
    kjw_end(&w);
}
