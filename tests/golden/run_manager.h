/* run_manager.h - what the runners of the manager's vectors share. */
#ifndef KOORD_GOLDEN_RUN_MANAGER_H
#define KOORD_GOLDEN_RUN_MANAGER_H
#include "api/kobj.h"
#include "json/kj.h"

/* *ret is NULL when the object is absent or null. */
int manager_decode(const struct kind *k, const struct kj_val *v, struct kj_scratch *scratch,
                   struct kobj **ret, struct kerr *err);
kstrmap manager_strmap(const struct kj_val *v, struct arena *a);
/* Equal but for members "extensions"; quantities may be written differently. */
bool manager_same(const struct kj_val *out, const struct kj_val *got);

int run_batch(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
int run_mid(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
int run_node_resources(const struct kj_val *in, struct arena *a, struct strbuf *got,
                       struct kerr *err);
int run_profile(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err);
int run_pod_validate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                     struct kerr *err);
int run_quota_validate(const struct kj_val *in, struct arena *a, struct strbuf *got,
                       struct kerr *err);
bool same_quota_validate(const struct kj_val *out, const struct kj_val *got);
bool same_profile(const struct kj_val *out, const struct kj_val *got);
bool same_node_resources(const struct kj_val *out, const struct kj_val *got);
#endif
