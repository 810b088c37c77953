/* jsonpath.h - the simple JSON paths of printer columns and the scale subresource.
 *
 *     .spec.size   .a.b[0].c   .metadata.labels.app\.kubernetes\.io/name   .a['x\.y']   .list[*].n
 *     .status.conditions[?(@.type=="Ready")].status
 *
 * The first value that a path leads to is its value, as kube-apiserver prints it.
 */
#ifndef KOORD_APISERVER_CRD_JSONPATH_H
#define KOORD_APISERVER_CRD_JSONPATH_H
#include "json/kj.h"

bool jsonpath_is_valid(const char *path);
/* Borrowed from root; NULL when it leads nowhere or is not valid. */
const struct kj_val *jsonpath_first(const char *path, const struct kj_val *root);
#endif
