/* fixture_cluster.h - koordctl against the fake API server: what check, adopt and uninstall meet.
 */
#ifndef KOORD_CTL_TEST_FIXTURE_CLUSTER_H
#define KOORD_CTL_TEST_FIXTURE_CLUSTER_H
#include "client/test/client_fixture.h"

#include "api/koord/crds.h"
#include "base/strbuf.h"
#include "base/test/asserts.h"
#include "ctl/ctl.h"
#include "ctl/installation.h"
#include "json/kj.h"

#define SYSTEM      "koordinator-system"
#define SYSTEM_PODS "/api/v1/namespaces/" SYSTEM "/pods"
#define CONFIGMAPS  "/api/v1/namespaces/" SYSTEM "/configmaps"
#define DEPLOYMENTS "/apis/apps/v1/namespaces/" SYSTEM "/deployments"
#define DAEMONSETS  "/apis/apps/v1/namespaces/" SYSTEM "/daemonsets"
#define LEASES      "/apis/coordination.k8s.io/v1/namespaces/" SYSTEM "/leases"
#define NODES       "/api/v1/nodes"
#define CRDS        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define HOOKS       "/apis/admissionregistration.k8s.io/v1/"
#define REVIEWS     "/apis/authorization.k8s.io/v1/"

struct cluster_fixture {
    struct client_fixture f;
    const struct ctl_parts *parts;
    char *out, *err;
    size_t out_n, err_n;
};

static inline void cluster_init(struct cluster_fixture *x)
{
    *x = (struct cluster_fixture){ 0 };
    client_fixture_init(&x->f, 11);
    fake_say(x->f.fake, "/version", 200,
             "{\"major\":\"1\",\"minor\":\"35\",\"gitVersion\":\"v1.35.4\"}");
    fake_say(x->f.fake, REVIEWS "selfsubjectrulesreviews", 201,
             "{\"status\":{\"resourceRules\":[{\"verbs\":[\"*\"],\"apiGroups\":[\"*\"],"
             "\"resources\":[\"*\"]}],\"incomplete\":false}}");
    fake_say(x->f.fake, REVIEWS "subjectaccessreviews", 201, "{\"status\":{\"allowed\":true}}");
    fake_put(x->f.fake, NODES, "n1",
             "{\"status\":{\"conditions\":[{\"type\":\"Ready\",\"status\":\"True\"}],"
             "\"nodeInfo\":{\"kubeletVersion\":\"v1.35.4\"}}}");
}

static inline UNUSED void cluster_fini_p(struct cluster_fixture *x)
{
    free(x->out);
    free(x->err);
    client_fixture_fini(&x->f);
}

static inline int cluster_run(struct cluster_fixture *x, char *const *argv)
{
    int argc = 0;

    free(x->out);
    free(x->err);
    if (!x->f.kube)
        x->f.kube = kube_http_over(x->f.loop, x->f.strings, x->f.faulty);
    struct ctl c = {
        .loop = x->f.loop,
        .strings = x->f.strings,
        .kube = take(x->f.kube), /* ctl_main() frees it */
        .out = open_memstream(&x->out, &x->out_n),
        .err = open_memstream(&x->err, &x->err_n),
        .parts = x->parts,
    };
    while (argv[argc])
        argc++;
    int code = ctl_main(&c, argc, argv);
    fclose(c.out);
    fclose(c.err);
    return code;
}
#define run(x, ...) cluster_run((x), (char *const[]){ "koordctl", __VA_ARGS__, NULL })

/* Every CRD as we write it. */
static inline UNUSED void cluster_put_crds(struct cluster_fixture *x)
{
    char name[160];

    for (size_t i = 0; crd_at(i); i++) {
        CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
        crd_manifest_json(crd_at(i), &text);
        crd_name(crd_at(i), name, sizeof name);
        fake_put(x->f.fake, CRDS, name, strbuf_str(&text));
        fake_patch(
            x->f.fake, CRDS, name,
            "{\"status\":{\"conditions\":[{\"type\":\"Established\",\"status\":\"True\"}]}}");
    }
}

static inline UNUSED void cluster_put_pod(struct cluster_fixture *x, const char *name,
                                          const char *app, const char *port, bool ready)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    strbuf_appendf(
        &body,
        "{\"metadata\":{\"labels\":{\"koord-app\":\"%s\"}},\"spec\":{\"nodeName\":\"n1\","
        "\"containers\":[{\"name\":\"main\",\"ports\":[{\"name\":\"%s\","
        "\"containerPort\":9000}]}]},\"status\":{\"phase\":\"Running\",\"conditions\":[{"
        "\"type\":\"Ready\",\"status\":\"%s\"}],\"containerStatuses\":[{\"state\":{"
        "\"running\":{}}}]}}",
        app, port, ready ? "True" : "False");
    fake_put(x->f.fake, SYSTEM_PODS, name, strbuf_str(&body));
}

/* A workload with as many pods ready as it wants, less `unready`. */
static inline UNUSED void cluster_put_part(struct cluster_fixture *x, enum part_id id, int want,
                                           int unready)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const struct part *p = &koord_parts[id];
    bool on_nodes = streq(p->kind->plural, "daemonsets");

    strbuf_appendf(&body,
                   "{\"spec\":{\"replicas\":%d,\"template\":{\"metadata\":{\"labels\":{"
                   "\"koord-app\":\"%s\"}},\"spec\":{\"serviceAccountName\":\"%s\","
                   "\"nodeSelector\":{\"disk\":\"ssd\"},\"containers\":[{\"name\":\"main\","
                   "\"image\":\"localhost/koordinator-sh/%s:v" KOORD_VERSION
                   "\",\"command\":[\"/%s\"],\"args\":[\"--v=4\"],\"livenessProbe\":{}}]}}},"
                   "\"status\":{\"readyReplicas\":%d,\"desiredNumberScheduled\":%d,"
                   "\"numberReady\":%d}}",
                   want, p->program, p->program, p->program, p->program, want - unready, want,
                   want - unready);
    fake_put(x->f.fake, on_nodes ? DAEMONSETS : DEPLOYMENTS, p->program, strbuf_str(&body));
}

static inline UNUSED void cluster_put_lease(struct cluster_fixture *x, const char *name,
                                            const char *holder)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_obj(&w, "spec");
    kjw_str(&w, "holderIdentity", holder);
    kjw_i64(&w, "leaseDurationSeconds", 15);
    kjw_time(&w, "renewTime", loop_wall(x->f.loop));
    kjw_end(&w);
    kjw_end(&w);
    fake_put(x->f.fake, LEASES, name, strbuf_str(&body));
}

/* All of koord, as the chart installs it, and everything works. */
static inline UNUSED void cluster_install(struct cluster_fixture *x)
{
    static const char hooks[] =
        "{\"webhooks\":[{\"name\":\"mpod-create.koordinator.sh\",\"failurePolicy\":\"Ignore\","
        "\"clientConfig\":{\"caBundle\":\"Cg==\"}}]}";

    cluster_put_crds(x);
    for (enum part_id id = 0; id < PARTS; id++) {
        CLEANUP(strbuf_fini) struct strbuf holder = STRBUF_INIT;
        const struct part *p = &koord_parts[id];
        cluster_put_part(x, id, 1, 0);
        cluster_put_pod(x, p->program, p->program, str_or(p->port, "none"), true);
        strbuf_appendf(&holder, "%s_1-2-3", p->program);
        if (p->lease)
            cluster_put_lease(x, p->lease, strbuf_str(&holder));
    }
    fake_put(x->f.fake, HOOKS "mutatingwebhookconfigurations", MUTATING_WEBHOOKS, hooks);
    fake_put(x->f.fake, HOOKS "validatingwebhookconfigurations", VALIDATING_WEBHOOKS, hooks);
    fake_put(x->f.fake, "/apis/discovery.k8s.io/v1/namespaces/" SYSTEM "/endpointslices", "s",
             "{\"endpoints\":[{\"conditions\":{\"ready\":true}}]}");
    fake_say(x->f.fake,
             "/api/v1/namespaces/" SYSTEM "/services/https:" WEBHOOK_SERVICE
             ":443/proxy/mutate-pod",
             405, "only POST");
    fake_put(x->f.fake, CONFIGMAPS, CONFIGMAP_SLO,
             "{\"data\":{\"colocation-config\":\"{\\\"enable\\\":true}\","
             "\"resource-threshold-config\":\"{\\\"clusterStrategy\\\":{\\\"enable\\\":true}}\"}}");
    fake_say(
        x->f.fake, "/api/v1/namespaces/" SYSTEM "/pods/koordlet:9000/proxy/capabilities", 200,
        "{\"kernel\":\"6.1.0\",\"cgroupVersion\":\"v2\",\"cgroupDriver\":\"systemd\","
        "\"capabilities\":[{\"name\":\"cpu-burst\",\"state\":\"no\",\"reason\":\"no file "
        "cpu.max.burst\"}],\"features\":[{\"name\":\"BECPUSuppress\",\"state\":\"on\","
        "\"needs\":[\"cpu-controller\"]},{\"name\":\"CPUBurst\",\"state\":\"reduced\","
        "\"needs\":[\"cpu-burst\"],\"missing\":\"cpu-burst\",\"consequence\":\"no bursts\"}]}");
}
#endif
