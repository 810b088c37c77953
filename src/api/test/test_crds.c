/* The committed manifests are what the tables say, and the tables what spec/api-crds.md says. */
#include "pairs.h"

#include "api/koord/crds.h"
#include "source_file.h"
#include "json/kj.h"

#include <strings.h>

static const struct kind_crd *find(const char *plural)
{
    for (size_t i = 0; crd_at(i); i++)
        if (streq(crd_at(i)->versions[0].kind->plural, plural))
            return crd_at(i);
    fail_msg("no CRD %s", plural);
    return NULL;
}

static struct kj_doc *manifest(const char *plural)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    crd_manifest_json(find(plural), &b);
    if (kj_parse(b.data, b.len, 0, &doc, &err) < 0)
        fail_msg("%s", err.text);
    return doc;
}

/* The schema of a field: "spec.owners[]" or "status.x{}" in version 0. */
static const struct kj_val *field(const struct kj_doc *doc, const char *path)
{
    const struct kj_val *v =
        kj_path(kj_at(kj_path(kj_root(doc), "spec.versions"), 0), "schema.openAPIV3Schema");

    while (*path) {
        size_t n = strcspn(path, ".[{");
        if (n > 0)
            v = kj_getn(kj_get(v, "properties"), path, n);
        path += n;
        if (path[0] == '[')
            v = kj_get(v, "items");
        else if (path[0] == '{')
            v = kj_get(v, "additionalProperties");
        path += *path == '.' ? 1 : *path ? 2 : 0;
        path += *path == '.';
    }
    return v;
}

static void assert_field(const struct kj_doc *doc, const char *path, const char *json)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    struct kj_mval *v = kj_mcopy(d, field(doc, path));

    kj_mdel(v, "description", 11);
    kj_mwrite(v, KJ_SORTED, &b);
    assert_string_equal(strbuf_str(&b), json);
}

static void test_committed_files_are_up_to_date(void **state)
{
    char path[200] = "packaging/crds/";

    (void)state;
    for (size_t i = 0; crd_at(i); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        size_t n = strlen("packaging/crds/");

        crd_file_name(crd_at(i), path + n, sizeof path - n);
        CLEANUP(mem_free) char *committed = source_file(path);
        crd_manifest(crd_at(i), &b);
        if (!streq(committed, strbuf_str(&b)))
            fail_msg("%s is not what the tables say: run koord-crdgen packaging", path);
    }
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
    CLEANUP(mem_free) char *committed = source_file("packaging/priorityclasses.yaml");
    priority_class_manifests(&b);
    assert_string_equal(committed, strbuf_str(&b));
}

static void test_names_scopes_and_subresources(void **state)
{
    static const struct {
        const char *plural, *name, *scope, *short_name, *kind;
        bool status;
    } cases[] = {
        { "nodemetrics", "nodemetrics.slo.koordinator.sh", "Cluster", NULL, "NodeMetric", true },
        { "nodeslos", "nodeslos.slo.koordinator.sh", "Cluster", NULL, "NodeSLO", true },
        { "clustercolocationprofiles", "clustercolocationprofiles.config.koordinator.sh", "Cluster",
          NULL, "ClusterColocationProfile", true },
        { "reservations", "reservations.scheduling.koordinator.sh", "Cluster", NULL, "Reservation",
          true },
        { "podmigrationjobs", "podmigrationjobs.scheduling.koordinator.sh", "Cluster", "pmj",
          "PodMigrationJob", true },
        { "devices", "devices.scheduling.koordinator.sh", "Cluster", NULL, "Device", false },
        { "scheduleexplanations", "scheduleexplanations.scheduling.koordinator.sh", "Namespaced",
          "sched-exp", "ScheduleExplanation", true },
        { "clusternetworktopologies", "clusternetworktopologies.scheduling.koordinator.sh",
          "Cluster", NULL, "ClusterNetworkTopology", true },
        { "elasticquotaprofiles", "elasticquotaprofiles.quota.koordinator.sh", "Namespaced", "eqp",
          "ElasticQuotaProfile", false },
        { "recommendations", "recommendations.analysis.koordinator.sh", "Namespaced", "recom",
          "Recommendation", true },
        { "elasticquotas", "elasticquotas.scheduling.sigs.k8s.io", "Namespaced", NULL,
          "ElasticQuota", false },
        { "podgroups", "podgroups.scheduling.sigs.k8s.io", "Namespaced", NULL, "PodGroup", false },
        { "noderesourcetopologies", "noderesourcetopologies.topology.node.k8s.io", "Cluster",
          "node-res-topo", "NodeResourceTopology", false },
    };
    char list_kind[80];

    (void)state;
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = manifest(cases[i].plural);
        const struct kj_val *root = kj_root(doc), *names = kj_path(root, "spec.names");
        const struct kj_val *v = kj_at(kj_path(root, "spec.versions"), 0);

        assert_string_equal(kj_str(kj_get(root, "kind")), "CustomResourceDefinition");
        assert_string_equal(kj_str(kj_path(root, "metadata.name")), cases[i].name);
        assert_string_equal(kj_str(kj_path(root, "spec.scope")), cases[i].scope);
        assert_string_equal(kj_str(kj_get(names, "kind")), cases[i].kind);
        (void)snprintf(list_kind, sizeof list_kind, "%sList", cases[i].kind);
        assert_string_equal(kj_str(kj_get(names, "listKind")), list_kind);
        assert_int_equal(strcasecmp(kj_str(kj_get(names, "singular")), cases[i].kind), 0);
        if (cases[i].short_name)
            assert_string_equal(kj_str(kj_at(kj_get(names, "shortNames"), 0)), cases[i].short_name);
        else
            assert_null(kj_get(names, "shortNames"));
        assert_int_equal(kj_path(v, "subresources.status") != NULL, cases[i].status);
        assert_true(kj_bool(kj_get(v, "served"), false));
        assert_string_equal(
            kj_str(kj_path(kj_path(v, "schema.openAPIV3Schema.properties.metadata"), "type")),
            "object");
    }
    assert_null(crd_at(ARRAY_LEN(cases)));
}

static void test_annotations_of_crds(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *slo = manifest("nodeslos"), *quota = manifest("elasticquotas"),
                  *nrt = manifest("noderesourcetopologies");
    const char *gen = "controller-gen.kubebuilder.io/version", *ok = "api-approved.kubernetes.io";

    (void)state;
    assert_string_equal(kj_str(kj_get(kj_path(kj_root(slo), "metadata.annotations"), gen)),
                        "v0.20.1");
    assert_null(kj_get(kj_path(kj_root(slo), "metadata.annotations"), ok));
    assert_string_equal(kj_str(kj_get(kj_path(kj_root(quota), "metadata.annotations"), ok)),
                        "https://github.com/kubernetes-sigs/scheduler-plugins/pull/52");
    assert_string_equal(kj_str(kj_get(kj_path(kj_root(nrt), "metadata.annotations"), gen)),
                        "v0.11.1");
    assert_string_equal(kj_str(kj_get(kj_path(kj_root(nrt), "metadata.annotations"), ok)),
                        "https://github.com/kubernetes/enhancements/pull/1870");
}

#define INT_OR_STRING "\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}]"
#define QTY_SCHEMA                                                                          \
    "{" INT_OR_STRING ",\"pattern\":\"^(\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))"    \
    "(([KMGTPE]i)|[numkMGTPE]|([eE](\\\\+|-)?(([0-9]+(\\\\.[0-9]*)?)|(\\\\.[0-9]+))))?$\"," \
    "\"x-kubernetes-int-or-string\":true}"

static void test_schemas_of_the_notation(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *r = manifest("reservations"), *s = manifest("nodeslos"),
                  *m = manifest("nodemetrics"), *d = manifest("devices"),
                  *j = manifest("podmigrationjobs"), *p = manifest("clustercolocationprofiles");

    (void)state;
    assert_field(r, "spec.template", "{\"x-kubernetes-preserve-unknown-fields\":true}"); /* ANY */
    assert_field(s, "spec.extensions",
                 "{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true}");
    assert_field(r, "spec.ttl", "{\"default\":\"24h\",\"type\":\"string\"}");
    assert_field(r, "spec.expires", "{\"format\":\"date-time\",\"type\":\"string\"}");
    assert_field(r, "spec.allocatePolicy",
                 "{\"enum\":[\"Aligned\",\"Restricted\"],\"type\":\"string\"}");
    assert_field(r, "status.phase", "{\"default\":\"Pending\",\"type\":\"string\"}");
    assert_field(r, "status.allocatable{}", QTY_SCHEMA);
    assert_field(s, "spec.systemStrategy.totalNetworkBandwidth", QTY_SCHEMA);
    assert_field(s, "spec.systemStrategy.schedFeatures{}", "{\"type\":\"boolean\"}");
    assert_field(s, "spec.resourceQOSStrategy.beClass.networkQOS.egressLimit",
                 "{" INT_OR_STRING ",\"default\":100,\"x-kubernetes-int-or-string\":true}");
    assert_field(p, "spec.probability", "{" INT_OR_STRING ",\"x-kubernetes-int-or-string\":true}");
    assert_field(s, "spec.resourceQOSStrategy.lsClass.memoryQOS.wmarkMinAdj",
                 "{\"format\":\"int64\",\"maximum\":50,\"minimum\":-25,\"type\":\"integer\"}");
    assert_field(s, "spec.resourceUsedThresholdWithBE.evictEnabledPriorityThreshold",
                 "{\"format\":\"int32\",\"type\":\"integer\"}");
    assert_field(m, "spec.metricCollectPolicy.nodeMemoryCollectPolicy",
                 "{\"enum\":[\"usageWithHotPageCache\",\"usageWithoutPageCache\","
                 "\"usageWithPageCache\"],\"type\":\"string\"}");
    assert_field(m, "spec.metricCollectPolicy.nodeAggregatePolicy.durations",
                 "{\"items\":{\"type\":\"string\"},\"type\":\"array\"}");
    assert_field(d, "spec.devices[].health", "{\"default\":false,\"type\":\"boolean\"}");
    assert_field(j, "status.conditions[].lastProbeTime",
                 "{\"format\":\"date-time\",\"nullable\":true,\"type\":\"string\"}");
    assert_field(d, "spec.devices[].conditions[].reason",
                 "{\"maxLength\":1024,\"minLength\":1,\"pattern\":"
                 "\"^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$\",\"type\":\"string\"}");
    assert_field(d, "spec.devices[].conditions[].status",
                 "{\"enum\":[\"True\",\"False\",\"Unknown\"],\"type\":\"string\"}");
    assert_field(p, "status", "{\"type\":\"object\"}");
}

static void test_selectors_and_references_are_atomic(void **state)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *p = manifest("clustercolocationprofiles"), *r = manifest("reservations");
    const struct kj_val *selector = field(p, "spec.selector");
    const struct kj_val *owner = field(r, "spec.owners[]");
    int64_t n;

    (void)state;
    assert_string_equal(kj_str(kj_get(selector, "x-kubernetes-map-type")), "atomic");
    assert_string_equal(
        kj_str(kj_get(field(p, "spec.selector.matchExpressions"), "x-kubernetes-list-type")),
        "atomic");
    assert_field(p, "spec.selector.matchExpressions[].operator", "{\"type\":\"string\"}");
    assert_int_equal(kj_len(kj_get(field(p, "spec.selector.matchExpressions[]"), "required")), 2);
    assert_string_equal(kj_str(kj_get(field(r, "spec.owners[].object"), "x-kubernetes-map-type")),
                        "atomic");
    assert_int_equal(kj_i64(kj_get(owner, "minProperties"), &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(kj_i64(kj_get(field(r, "spec.owners"), "minItems"), &n), 0);
    assert_int_equal(n, 1);
    assert_int_equal(kj_len(kj_get(field(r, "spec"), "required")), 2);
}

static void test_topology_has_two_versions(void **state)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = manifest("noderesourcetopologies");
    const struct kj_val *versions = kj_path(kj_root(doc), "spec.versions");
    const struct kj_val *one = kj_at(versions, 0), *two = kj_at(versions, 1);

    (void)state;
    assert_int_equal(kj_len(versions), 2);
    assert_string_equal(kj_str(kj_get(one, "name")), "v1alpha1");
    assert_false(kj_bool(kj_get(one, "storage"), true));
    assert_string_equal(kj_str(kj_get(two, "name")), "v1alpha2");
    assert_true(kj_bool(kj_get(two, "storage"), false));
    assert_int_equal(kj_len(kj_path(one, "schema.openAPIV3Schema.required")), 2);
    assert_int_equal(kj_len(kj_path(two, "schema.openAPIV3Schema.required")), 1);
    assert_null(kj_path(one, "schema.openAPIV3Schema.properties.attributes"));
    assert_non_null(kj_path(two, "schema.openAPIV3Schema.properties.attributes"));
}

static void test_printer_columns(void **state)
{
    CLEANUP(kj_doc_free) struct kj_doc *j = manifest("podmigrationjobs"), *d = manifest("devices");
    const struct kj_val *columns =
        kj_get(kj_at(kj_path(kj_root(j), "spec.versions"), 0), "additionalPrinterColumns");

    (void)state;
    assert_int_equal(kj_len(columns), 9);
    assert_string_equal(kj_str(kj_get(kj_at(columns, 4), "jsonPath")),
                        ".spec.reservationOptions.reservationRef.name");
    assert_string_equal(kj_str(kj_get(kj_at(columns, 0), "description")),
                        "The phase of PodMigrationJob");
    assert_null(kj_get(kj_at(kj_path(kj_root(d), "spec.versions"), 0), "additionalPrinterColumns"));
}

int main(int argc, char **argv)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_committed_files_are_up_to_date),
        cmocka_unit_test(test_names_scopes_and_subresources),
        cmocka_unit_test(test_annotations_of_crds),
        cmocka_unit_test(test_schemas_of_the_notation),
        cmocka_unit_test(test_selectors_and_references_are_atomic),
        cmocka_unit_test(test_topology_has_two_versions),
        cmocka_unit_test(test_printer_columns),
    };
    RUN_TESTS(tests);
}
