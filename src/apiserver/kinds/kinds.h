/* kinds.h - the built-in kinds: one table of resources with their strategies and columns.
 *
 * Everything here is constant data and pure functions of documents; only the subresource hooks
 * reach into the registry. Loop thread only.
 */
#ifndef KOORD_APISERVER_KINDS_KINDS_H
#define KOORD_APISERVER_KINDS_KINDS_H
#include "apiserver/registry/resource.h"
#include "base/base.h"

/* All of them, in the order of discovery. Static: never freed. */
const struct resource *builtin_resources(size_t *n);
#endif
