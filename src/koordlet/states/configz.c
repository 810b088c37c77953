/* configz.c - the kubelet's configuration: read when the kubelet may have been restarted.
 *
 * It changes only with a restart, which shows as a failed round of pods, another version or another
 * port; a restart between two rounds is caught by reading it again now and then.
 */
#include "base/arena.h"
#include "base/klog.h"
#include "component/metrics.h"
#include "koordlet/states/states_int.h"
#include "loop/loop.h"
#include "json/kj.h"

#define CONFIGZ_PATH  "/configz"
#define CONFIGZ_EVERY (300 * NSEC_PER_SEC)
enum { CONFIGZ_MAX = 4 << 20 };

/* ---- decoding -------------------------------------------------------------------------------- */

#define F(member, json, type, ...) KF(struct kubelet_config, member, json, type, __VA_ARGS__)
static const struct kfield kubelet_config_fields[] = {
    F(cpu_manager_policy, "cpuManagerPolicy", KF_STR),
    KF_MAP_OF(struct kubelet_config, cpu_manager_options, "cpuManagerPolicyOptions", KF_STR),
    F(reserved_system_cpus, "reservedSystemCPUs", KF_STR),
    KF_MAP_OF(struct kubelet_config, kube_reserved, "kubeReserved", KF_STR),
    KF_MAP_OF(struct kubelet_config, system_reserved, "systemReserved", KF_STR),
    KF_MAP_OF(struct kubelet_config, eviction_hard, "evictionHard", KF_STR),
    F(topology_policy, "topologyManagerPolicy", KF_STR),
    F(topology_scope, "topologyManagerScope", KF_STR),
    F(cgroup_driver, "cgroupDriver", KF_STR),
    F(cgroup_root, "cgroupRoot", KF_STR),
};
#undef F
static const struct kschema kubelet_config_schema =
    KSCHEMA("KubeletConfiguration", struct kubelet_config, kubelet_config_fields);

/* What a kubelet does when its configuration does not say. */
static void set_defaults(struct kubelet_config *c)
{
    static struct kstrpair eviction[] = {
        { "imagefs.available", "15%" },  { "imagefs.inodesFree", "5%" },
        { "memory.available", "100Mi" }, { "nodefs.available", "10%" },
        { "nodefs.inodesFree", "5%" },
    };

    if (str_empty(c->cpu_manager_policy))
        c->cpu_manager_policy = "none";
    if (str_empty(c->topology_policy))
        c->topology_policy = "none";
    if (str_empty(c->topology_scope))
        c->topology_scope = "container";
    if (c->eviction_hard.n == 0) {
        c->eviction_hard.items = eviction;
        c->eviction_hard.n = ARRAY_LEN(eviction);
    }
}

/* Fields that we do not use may have any form: kubelets change theirs (logging, for one). */
int configz_decode(const char *text, size_t n, struct arena *a, struct kubelet_config *ret,
                   struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    int r = kj_parse(text, n, 0, &doc, err);

    if (r < 0)
        return r;
    const struct kj_val *v = kj_get(kj_root(doc), "kubeletconfig");
    if (kj_type(v) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "it has no kubeletconfig");
    r = kj_decode(&kubelet_config_schema, v, 0, a, ret, err);
    if (r == 0)
        set_defaults(ret);
    return r;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static void failed(struct states *s, const struct kerr *err)
{
    struct configz *z = &s->configz;

    z->problem = *err;
    z->wanted = true; /* again after the next round of pods */
    if (s->pods.failures)
        counter_inc(metric_counter(s->pods.failures, METRIC_VALUES(CONFIGZ_PATH)));
    if (complaint_due(&z->complaint, loop_mono(s->env.loop)))
        KLOG_E(err, "Failed to get the kubelet's configuration");
}

static int take_body(struct states *s, struct kerr *err)
{
    struct configz *z = &s->configz;
    CLEANUP(arena_free) struct arena *a = arena_new_sized(1024);
    uint64_t hash = hash_bytes(strbuf_str(&z->body), z->body.len);
    struct kubelet_config c;

    if (z->body.len > CONFIGZ_MAX)
        return kerr_set(err, -E2BIG, "answer to " CONFIGZ_PATH ": larger than %d bytes",
                        CONFIGZ_MAX);
    if (states_now(s)->kubelet && hash == z->hash)
        return 0;
    if (configz_decode(strbuf_str(&z->body), z->body.len, a, &c, err) < 0)
        return kerr_wrap(err, "answer to " CONFIGZ_PATH);
    snapshots_set_kubelet(s->env.snapshots, &c, take(a));
    z->hash = hash;
    return 0;
}

static void on_data(void *arg, const char *p, size_t n)
{
    struct states *s = arg;
    if (s->configz.body.len <= CONFIGZ_MAX)
        strbuf_appendn(&s->configz.body, p, n);
}

static void on_end(void *arg, const struct kerr *http_err)
{
    struct states *s = arg;
    struct configz *z = &s->configz;
    struct kerr err = { 0 };

    z->call = NULL;
    if (http_err)
        err = *http_err;
    else
        take_body(s, &err);
    strbuf_fini(&z->body);
    if (err.code < 0) {
        failed(s, &err);
        return;
    }
    z->read_at = loop_mono(s->env.loop);
    z->problem = (struct kerr){ 0 };
    if (complaint_over(&z->complaint))
        KLOG_I(0, "Reading the kubelet's configuration works again");
}

static const struct kubelet_handler handler = { on_data, on_end };

void configz_check(struct states *s)
{
    struct configz *z = &s->configz;
    bool old = loop_mono(s->env.loop) - z->read_at >= CONFIGZ_EVERY;

    if (!s->o.query_kubelet_config || z->call || (states_now(s)->kubelet && !z->wanted && !old))
        return;
    z->wanted = false;
    z->call = kubelet_get(s->kubelet, CONFIGZ_PATH, &handler, s);
}

void configz_fini(struct states *s)
{
    s->configz.call = kubelet_cancel(s->configz.call);
    strbuf_fini(&s->configz.body);
}
