/* merge.h - how lists of the built-in kinds merge in a strategic merge patch.
 *
 * The merge keys of Kubernetes 1.35's Go types. Constant tables: any thread may read them.
 */
#ifndef KOORD_API_MERGE_H
#define KOORD_API_MERGE_H
#include "json/patch.h"

/* The table of a built-in kind ("Pod"), for kj_patch_strategic(). NULL for kinds we do not know:
 * those take no strategic merge patch (custom resources never do; kube-apiserver answers 415). */
const struct kmerge *api_merge_for_kind(const char *kind);
#endif
