/* docker_json.h - bodies of Docker's API as CRI's messages, and back (runtime-proxy 7).
 *
 * Pure. A sandbox is a container with a label; annotations are labels with a prefix; resources and
 * the cgroup are in HostConfig. What is written is the body as it came, with the fields that
 * differ. Texts live in the arena.
 */
#ifndef KOORD_RUNTIMEPROXY_DOCKER_JSON_H
#define KOORD_RUNTIMEPROXY_DOCKER_JSON_H
#include "api/wire/cri.h"
#include "json/kj.h"

struct docker_name { /* k8s_<container>_<pod>_<namespace>_<uid>_<attempt> */
    struct str container, pod, ns, uid;
    uint64_t attempt;
};
/* A seventh part is what dockershim adds when a name is taken. */
bool docker_name_split(const char *name, struct arena *a, struct docker_name *ret);

/* "kubepods-besteffort.slice" is "/kubepods.slice/kubepods-besteffort.slice" in the tree; other
 * texts stay. */
struct str docker_parent_expand(struct str name, struct arena *a);

struct docker_created {
    bool is_pod;
    struct cri_run_pod_request run;   /* of a pod */
    struct cri_create_request create; /* of a container; pod_id from a label */
};
/* config: the object with Labels and Env; host: its HostConfig. has_systemd: cgroups are slices. */
void docker_read_create(const struct kj_val *config, const struct kj_val *host,
                        const struct docker_name *name, bool has_systemd, struct arena *a,
                        struct docker_created *ret);
bool docker_is_pod(const struct kj_val *labels);
/* The body of a request, with what is in `now`. */
void docker_write_create(const struct kj_val *body, const struct docker_created *now,
                         bool has_systemd, struct strbuf *out);

void docker_read_update(const struct kj_val *body, struct arena *a, struct cri_resources *ret);
void docker_write_update(const struct kj_val *body, const struct cri_resources *now,
                         struct strbuf *out);
#endif
