/* crds.c - CRD manifests out of the tables (api-crds 0). */
#include "api/koord/crds.h"

#include "api/koord/device.h"
#include "api/koord/explanation.h"
#include "api/koord/networktopology.h"
#include "api/koord/nodemetric.h"
#include "api/koord/noderesourcetopology.h"
#include "api/koord/nodeslo.h"
#include "api/koord/podgroup.h"
#include "api/koord/podmigrationjob.h"
#include "api/koord/profile.h"
#include "api/koord/quota.h"
#include "api/koord/recommendation.h"
#include "api/koord/reservation.h"
#include "api/protocol/protocol.h"
#include "json/kj.h"

#include <ctype.h>
#include <stdio.h>

static const struct kind_crd *const crds[] = {
    &crd_nodemetric,           &crd_nodeslo,          &crd_colocation_profile,
    &crd_reservation,          &crd_podmigrationjob,  &crd_device,
    &crd_schedule_explanation, &crd_network_topology, &crd_elasticquotaprofile,
    &crd_recommendation,       &crd_elasticquota,     &crd_podgroup,
    &crd_noderesourcetopology,
};

const struct kind_crd *crd_at(size_t i)
{
    return i < ARRAY_LEN(crds) ? crds[i] : NULL;
}

static const struct kind *kind_of(const struct kind_crd *c)
{
    return c->versions[0].kind;
}

size_t crd_name(const struct kind_crd *c, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s.%s", kind_of(c)->plural, kind_of(c)->group);

    return MIN((size_t)n, size ? size - 1 : 0);
}

size_t crd_file_name(const struct kind_crd *c, char *buf, size_t size)
{
    int n = snprintf(buf, size, "%s_%s.yaml", kind_of(c)->group, kind_of(c)->plural);

    return MIN((size_t)n, size ? size - 1 : 0);
}

/* ---- one version ----------------------------------------------------------------------------- */

static void set_str(struct kj_mdoc *d, struct kj_mval *obj, const char *key, const char *value)
{
    kj_mset(d, obj, key, kj_mstr(d, value));
}

static struct kj_mval *property(struct kj_mdoc *d, const char *type, const char *description)
{
    struct kj_mval *p = kj_mobj(d);

    if (description)
        set_str(d, p, "description", description);
    set_str(d, p, "type", type);
    return p;
}

static struct kj_mval *schema_of(struct kj_mdoc *d, const struct kind_crd *c,
                                 const struct kschema *schema)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    kj_openapi(schema, &text);
    int r = kj_parse(text.data, text.len, 0, &doc, &err);
    assert(r == 0); /* our own text */
    (void)r;
    struct kj_mval *root = kj_mcopy(d, kj_root(doc));
    struct kj_mval *properties = kj_mget(root, "properties");
    set_str(d, root, "description", c->description);
    kj_mset(d, properties, "apiVersion",
            property(d, "string", "version of the schema this object was written in"));
    kj_mset(d, properties, "kind", property(d, "string", "kind of this object"));
    kj_mset(d, properties, "metadata", property(d, "object", NULL));
    return root;
}

static struct kj_mval *columns_of(struct kj_mdoc *d, const struct crd_column *column)
{
    struct kj_mval *list = kj_marr(d);

    for (; column->name; column++) {
        struct kj_mval *o = kj_mobj(d);
        if (column->description)
            set_str(d, o, "description", column->description);
        set_str(d, o, "jsonPath", column->path);
        set_str(d, o, "name", column->name);
        set_str(d, o, "type", column->type);
        kj_mpush(list, o);
    }
    return list;
}

static struct kj_mval *version_of(struct kj_mdoc *d, const struct kind_crd *c,
                                  const struct crd_version *v)
{
    struct kj_mval *o = kj_mobj(d), *schema = kj_mobj(d);

    set_str(d, o, "name", v->kind->version);
    kj_mset(d, o, "served", kj_mbool(d, true));
    kj_mset(d, o, "storage", kj_mbool(d, v->storage));
    kj_mset(d, schema, "openAPIV3Schema", schema_of(d, c, v->kind->schema));
    kj_mset(d, o, "schema", schema);
    if (c->columns)
        kj_mset(d, o, "additionalPrinterColumns", columns_of(d, c->columns));
    if (v->kind->has_status) {
        struct kj_mval *subresources = kj_mobj(d);
        kj_mset(d, subresources, "status", kj_mobj(d));
        kj_mset(d, o, "subresources", subresources);
    }
    return o;
}

/* ---- the object ------------------------------------------------------------------------------ */

static struct kj_mval *names_of(struct kj_mdoc *d, const struct kind *k)
{
    struct kj_mval *o = kj_mobj(d);
    char text[128];

    set_str(d, o, "kind", k->kind);
    (void)snprintf(text, sizeof text, "%sList", k->kind);
    set_str(d, o, "listKind", text);
    set_str(d, o, "plural", k->plural);
    for (size_t i = 0; i <= strlen(k->kind); i++)
        text[i] = (char)tolower((unsigned char)k->kind[i]);
    set_str(d, o, "singular", text);
    if (k->short_names) {
        struct kj_mval *list = kj_marr(d);
        for (const char *p = k->short_names; *p;) {
            size_t n = strcspn(p, ",");
            kj_mpush(list, kj_mstrn(d, p, n));
            p += n + (p[n] == ',');
        }
        kj_mset(d, o, "shortNames", list);
    }
    return o;
}

static struct kj_mval *metadata_of(struct kj_mdoc *d, const struct kind_crd *c)
{
    struct kj_mval *o = kj_mobj(d), *annotations = kj_mobj(d);
    char name[128];

    crd_name(c, name, sizeof name);
    set_str(d, annotations, "controller-gen.kubebuilder.io/version", c->generator);
    if (c->approved)
        set_str(d, annotations, "api-approved.kubernetes.io", c->approved);
    kj_mset(d, o, "annotations", annotations);
    set_str(d, o, "name", name);
    return o;
}

static struct kj_mval *manifest_of(struct kj_mdoc *d, const struct kind_crd *c)
{
    struct kj_mval *o = kj_mobj(d), *spec = kj_mobj(d), *versions = kj_marr(d);
    const struct kind *k = kind_of(c);

    set_str(d, o, "apiVersion", "apiextensions.k8s.io/v1");
    set_str(d, o, "kind", "CustomResourceDefinition");
    kj_mset(d, o, "metadata", metadata_of(d, c));
    set_str(d, spec, "group", k->group);
    kj_mset(d, spec, "names", names_of(d, k));
    set_str(d, spec, "scope", k->namespaced ? "Namespaced" : "Cluster");
    for (size_t i = 0; i < ARRAY_LEN(c->versions) && c->versions[i].kind; i++)
        kj_mpush(versions, version_of(d, c, &c->versions[i]));
    kj_mset(d, spec, "versions", versions);
    kj_mset(d, o, "spec", spec);
    return o;
}

void crd_manifest_json(const struct kind_crd *c, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    kj_mwrite(manifest_of(d, c), KJ_SORTED, out);
}

static void put_yaml(const struct kj_mval *v, struct strbuf *yaml)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = kj_freeze(v);

    strbuf_append(yaml, "---\n");
    kj_write_yaml(kj_root(doc), yaml);
}

void crd_manifest(const struct kind_crd *c, struct strbuf *yaml)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    put_yaml(manifest_of(d, c), yaml);
}

/* ---- priority classes ------------------------------------------------------------------------ */

static const char *const class_descriptions[PRIO_COUNT] = {
    [PRIO_PROD] = "Production pods: latency-sensitive, with guaranteed resources.",
    [PRIO_MID] = "Pods that use what production pods are predicted not to need.",
    [PRIO_BATCH] = "Batch pods that use what is idle right now.",
    [PRIO_FREE] = "Pods that run when there is room, without any guarantee.",
};

static struct kj_mval *class_of(struct kj_mdoc *d, enum priority_class c)
{
    const struct priority_band *band = priority_band(c);
    struct kj_mval *o = kj_mobj(d), *metadata = kj_mobj(d);

    set_str(d, o, "apiVersion", "scheduling.k8s.io/v1");
    set_str(d, o, "kind", "PriorityClass");
    set_str(d, metadata, "name", band->name);
    kj_mset(d, o, "metadata", metadata);
    kj_mset(d, o, "value", kj_mi64(d, band->shipped_value));
    set_str(d, o, "preemptionPolicy", "PreemptLowerPriority");
    kj_mset(d, o, "globalDefault", kj_mbool(d, false));
    set_str(d, o, "description", class_descriptions[c]);
    return o;
}

void priority_class_manifest_json(enum priority_class c, struct strbuf *out)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();

    kj_mwrite(class_of(d, c), 0, out);
}

void priority_class_manifests(struct strbuf *yaml)
{
    for (unsigned i = PRIO_PROD; i < PRIO_COUNT; i++) {
        CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
        put_yaml(class_of(d, (enum priority_class)i), yaml);
    }
}
