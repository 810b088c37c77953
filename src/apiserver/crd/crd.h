/* crd.h - CustomResourceDefinitions: kinds that come as objects.
 *
 * A definition is itself a resource (crd_resource()); once stored, crds_start()'s watcher makes
 * each served version an entry of the table of resources, whose objects then go through the same
 * registry as the built-in kinds. What a schema does to an object is declared in registry.h
 * (crd_check, crd_prune, crd_default, crd_validate). Loop thread only.
 */
#ifndef KOORD_APISERVER_CRD_CRD_H
#define KOORD_APISERVER_CRD_CRD_H
#include "apiserver/registry/registry.h"

/* customresourcedefinitions.apiextensions.k8s.io; static. crds_start() adds it to the table. */
const struct resource *crd_resource(void);
/* The OpenAPI schema of the objects of a custom resource, as its definition has it. */
const struct kj_val *crd_schema_openapi(const struct crd_schema *s);
const struct kj_val *crd_schema_selectable(const struct crd_schema *s); /* selectableFields */
/* Changes when the definition of the version does; the same over restarts. */
uint64_t crd_schema_hash(const struct crd_schema *s);
#endif
