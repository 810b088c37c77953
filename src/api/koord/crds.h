/* crds.h - the manifests that make an API server know the kinds of this folder.
 *
 * Made from the tables, so that what components decode, what they write and what the server accepts
 * cannot drift apart. packaging/crds holds the YAML; a test keeps it equal to this.
 */
#ifndef KOORD_API_KOORD_CRDS_H
#define KOORD_API_KOORD_CRDS_H
#include "api/koord/common.h"
#include "api/protocol/protocol.h"

/* Every CRD, in the order in which they are installed; NULL after the last. */
const struct kind_crd *crd_at(size_t i);
/* "nodemetrics.slo.koordinator.sh": its metadata.name. Into buf; returns the length. */
size_t crd_name(const struct kind_crd *c, char *buf, size_t size);
/* "slo.koordinator.sh_nodemetrics.yaml": its file in packaging/crds. */
size_t crd_file_name(const struct kind_crd *c, char *buf, size_t size);
/* The CustomResourceDefinition object. */
void crd_manifest_json(const struct kind_crd *c, struct strbuf *out);
void crd_manifest(const struct kind_crd *c, struct strbuf *yaml);

/* The four PriorityClass objects, one after another: packaging/priorityclasses.yaml. */
void priority_class_manifests(struct strbuf *yaml);
/* One of them: not PRIO_NONE. */
void priority_class_manifest_json(enum priority_class c, struct strbuf *out);
#endif
