/* openapi_int.h - what both versions of OpenAPI share: names of schemas, schemas, hashes. */
#ifndef KOORD_APISERVER_HTTP_OPENAPI_INT_H
#define KOORD_APISERVER_HTTP_OPENAPI_INT_H
#include "apiserver/registry/registry.h"
#include "apiserver/schema/types.h"

/* The table of a built-in kind; NULL: it is a custom one. */
const struct t_type *openapi_type(const struct resource *r);
/* "io.k8s.api.core.v1.Pod", "io.ex.v1.Widget". */
const char *openapi_schema_name(struct arena *a, const struct resource *r);
/* The schemas of one group version, or of all that is served (group NULL), as members of the object
 * that is open. */
void openapi_write_schemas(struct kjw *w, struct api_call *c, enum openapi_version v,
                           const char *group, const char *version);
/* A whole document of version 2 in the messages of gnostic. */
void openapi_gnostic(const struct kj_val *doc, struct strbuf *out);
/* Of what these are made of: changes with the content, and is the same after a restart. */
uint64_t openapi_hash(const struct api_call *c, const char *group, const char *version);
#endif
