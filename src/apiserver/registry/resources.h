/* resources.h - the table of what is served: built-in kinds, and custom ones that come and go.
 *
 * An entry is a copy of the struct resource it was added with (the strings it points to stay the
 * adder's until `release`). Calls and watches hold a reference while they run, so a custom resource
 * may be removed under them. Loop thread only.
 *
 * (struct resources is taken: api/types.h has it for ResourceRequirements.)
 */
#ifndef KOORD_APISERVER_REGISTRY_RESOURCES_H
#define KOORD_APISERVER_REGISTRY_RESOURCES_H
#include "apiserver/registry/resource.h"

struct res_table;

struct res_table *res_table_new(void);
struct res_table *res_table_free(struct res_table *t); /* returns NULL */
DEFINE_CLEANUP(res_table_free, struct res_table *)

/* release (may be NULL) is called when the entry was removed and nobody uses it any more. Replaces
 * an entry of the same group, version and plural; it keeps its place. Returns the entry. */
const struct resource *res_table_add(struct res_table *t, const struct resource *r,
                                     void (*release)(const struct resource *r));
/* false: there was none. Its open watches end. */
bool res_table_remove(struct res_table *t, const char *group, const char *version,
                      const char *plural);

/* Its definition is being deleted, or not; open watches go on. */
void res_table_set_terminating(struct res_table *t, const char *group, const char *version,
                               const char *plural, bool terminating);

/* NULL when not served. Borrowed: valid until the end of the turn; see resource_ref(). */
const struct resource *res_table_find(const struct res_table *t, const char *group,
                                      const char *version, const char *plural);
/* version NULL: any. */
bool res_table_has_group(const struct res_table *t, const char *group, const char *version);
/* In the order they were added; NULL after the last. */
const struct resource *res_table_at(const struct res_table *t, size_t i);
/* Grows with every change: for caches of discovery and OpenAPI documents. */
uint64_t res_table_generation(const struct res_table *t);

/* Only for entries of a table. */
const struct resource *resource_ref(const struct resource *r);
const struct resource *resource_unref(const struct resource *r); /* NULL is fine; returns NULL */
bool resource_is_gone(const struct resource *r);                 /* removed or replaced */

/* "pods", "deployments.apps": how messages name a resource. */
const char *resource_group_resource(const struct resource *r, struct arena *a);
/* "v1", "apps/v1". */
const char *resource_api_version(const struct resource *r, struct arena *a);
bool resource_has_sub(const struct resource *r, const char *sub);
/* "create", "get", "list", "deletecollection"... */
bool resource_has_verb(const struct resource *r, const char *verb);
#endif
