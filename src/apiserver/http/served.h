/* served.h - the table of resources as discovery and OpenAPI look at it. */
#ifndef KOORD_APISERVER_HTTP_SERVED_H
#define KOORD_APISERVER_HTTP_SERVED_H
#include "apiserver/registry/registry.h"

/* "v1" before "v1beta1" before "v1alpha1", higher numbers first, then by name. As strcmp(). */
int version_compare(const char *a, const char *b);

/* Borrowed from the table; the caller ends them with vec_fini(). */
struct names vec_of(const char *);
struct res_list vec_of(const struct resource *);

/* Named groups in the order of the table: built-in ones come first, as their priority has it. */
void served_groups(const struct res_table *t, struct names *groups);
/* The preferred one first. */
void served_versions(const struct res_table *t, const char *group, struct names *versions);
/* By name. */
void served_list(const struct res_table *t, const char *group, const char *version,
                 struct res_list *list);
/* Does the resource take this verb ("create", "deletecollection" ...)? */
bool served_has_verb(const struct resource *r, const char *verb);

/* Subresources that may be; resource_has_sub() says which are. kind NULL: that of the resource. */
struct subresource {
    const char *name, *group, *version, *kind, *verbs;
};
extern const struct subresource served_subs[];
extern const size_t served_nsubs;
#endif
