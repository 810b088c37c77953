/* tree.h - labels, annotations and resources in the JSON trees of objects. */
#ifndef KOORD_MANAGER_WEBHOOK_TREE_H
#define KOORD_MANAGER_WEBHOOK_TREE_H
#include "api/types.h"
#include "json/kj.h"

/* A map of strings, sorted; NULL is an empty one. -EINVAL when something in it is no string. */
int tree_strmap(const struct kj_mval *v, struct arena *a, kstrmap *ret);
kstrmap tree_strmap_of(const struct kj_val *v, struct arena *a); /* what is no string is left out */
/* The object under a key; made when it is missing or null. */
struct kj_mval *tree_object(struct kj_mdoc *d, struct kj_mval *parent, const char *key);
/* Sets a text; false: it was the same. */
bool tree_set_str(struct kj_mdoc *d, struct kj_mval *obj, const char *key, const char *text);
/* A label or annotation of an object: field is "labels" or "annotations". */
const char *tree_meta_get(const struct kj_mval *obj, const char *field, const char *key);
bool tree_meta_set(struct kj_mdoc *d, struct kj_mval *obj, const char *field, const char *key,
                   const char *value);
/* Resources of a container ({ requests, limits }); absent ones are empty. -EINVAL names the one
 * that is no quantity. */
int tree_resources(const struct kj_mval *container, struct arena *a, struct resources *ret,
                   struct kerr *err);
int tree_reslist(const struct kj_mval *v, struct arena *a, reslist *ret, struct kerr *err);
/* The list under a key becomes `now`, where it was `was`; texts of what stays are left alone.
 * false: nothing had to change. */
bool tree_set_reslist(struct kj_mdoc *d, struct kj_mval *parent, const char *key,
                      const reslist *was, const reslist *now);
bool tree_set_resources(struct kj_mdoc *d, struct kj_mval *container, const struct resources *was,
                        const struct resources *now);

/* Are both names among the requests, or among the limits: cpu and batch-cpu, for instance? */
bool resources_have_both(const struct resources *r, const char *native, const char *extended);
/* The LimitRanger says in an annotation what it set; "" when it set nothing. */
#define ANNO_LIMIT_RANGER "kubernetes.io/limit-ranger"
const char *limit_ranger_text(const char *annotation);
#endif
