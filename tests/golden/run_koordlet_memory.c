/* run_koordlet_memory.c - memory QoS of classes, pods and containers; block I/O. */
#include <stdio.h>

#include "base/intern.h"
#include "koordlet/kernel/naming.h"
#include "koordlet/kernel/resource.h"
#include "koordlet/qos/blkio/blkio.h"
#include "koordlet/qos/memory/memory.h"
#include "run_koordlet.h"

/* ---- memory-qos ------------------------------------------------------------------------------ */

/* The proposals for one directory, as the vectors' files of cgroup v1. */
static void write_dir(struct kjw *w, const char *key, const struct plan *p, const char *dir)
{
    char number[32];

    kjw_obj(w, key);
    for (size_t i = 0; i < p->proposals.n; i++) {
        const struct proposal *one = &p->proposals.items[i];
        const char *file = plan_file_type(one->file);
        if (!streq(one->at.dir, dir) || !cgroup_resource_find(CGROUP_V1, file, NULL))
            continue;
        snprintf(number, sizeof number, "%lld", (long long)one->number);
        kjw_str(w, file, number);
    }
    kjw_end(w);
}

static void write_memory(struct kjw *w, const struct plan *p, const struct podset *pods,
                         struct arena *a)
{
    kjw_obj(w, "qos");
    for (enum kube_qos k = KUBE_QOS_GUARANTEED; k <= KUBE_QOS_BEST_EFFORT; k++)
        write_dir(w, kube_qos_name(k), p, cgroup_qos_dir(CGROUP_SYSTEMD, k));
    kjw_end(w);
    kjw_obj(w, "pods");
    for (uint32_t i = 0; i < pods->n; i++)
        write_dir(w, npod_pod(pods->pods[i])->obj.meta.name, p, pods->pods[i]->cgroup_dir);
    kjw_end(w);
    kjw_obj(w, "containers");
    for (uint32_t i = 0; i < pods->n; i++)
        for (uint32_t k = 0; k < pods->pods[i]->ncontainers; k++) {
            const struct npod *n = pods->pods[i];
            write_dir(w,
                      arena_printf(a, "%s/%s", npod_pod(n)->obj.meta.name, n->containers[k].name),
                      p, arena_printf(a, "%s/%s", n->cgroup_dir, n->containers[k].dir));
        }
    kjw_end(w);
}

int run_memory(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    CLEANUP(intern_free) struct intern *strings = intern_new();
    CLEANUP(kj_scratch_free) struct kj_scratch *scratch = kj_scratch_new(strings);
    CLEANUP(podset_unref) struct podset *pods = NULL;
    CLEANUP(kobj_unref) struct kobj *node = NULL;
    struct resource_qos_strategy strategy;
    struct nodeslo_spec slo = { .resource_qos = &strategy };
    struct kjw w = kjw_to(got);

    int r = kobj_decode(&kind_node, kj_get(in, "node"), scratch, &node, err);
    if (r == 0)
        r = golden_pods(kj_get(in, "pods"), scratch, &pods, err);
    if (r == 0)
        r = kj_decode(&resource_qos_strategy_schema, kj_get(in, "strategy"), 0, a, &strategy, err);
    if (r < 0)
        return r;
    struct snapshot known = { .refs = 1, .node = node_of(node), .pods = pods, .slo = &slo };
    CLEANUP(plan_free) struct plan *plan = plan_new(PLAN_MEMORY_QOS);
    memory_propose(&(struct memory_in){ &known, CGROUP_SYSTEMD, 4096 }, plan);
    kjw_obj(&w, NULL);
    write_memory(&w, plan, pods, a);
    kjw_end(&w);
    return 0;
}

/* Directories of which nothing is proposed may be left out. */
static bool same_files(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *v;
    struct str key;

    for (struct kj_iter it = kj_iter(out); kj_next(&it, &key, &v);) {
        const struct kj_val *mine = kj_getn(got, key.p, key.n);
        if (kj_len(v) != kj_len(mine) || (kj_len(v) > 0 && !kj_equal(v, mine)))
            return false;
    }
    for (struct kj_iter it = kj_iter(got); kj_next(&it, &key, &v);)
        if (kj_len(v) > 0 && !kj_getn(out, key.p, key.n))
            return false;
    return true;
}

bool same_memory(const struct kj_val *out, const struct kj_val *got)
{
    return same_files(kj_get(out, "qos"), kj_get(got, "qos")) &&
           same_files(kj_get(out, "pods"), kj_get(got, "pods")) &&
           same_files(kj_get(out, "containers"), kj_get(got, "containers"));
}

/* ---- blkio ----------------------------------------------------------------------------------- */

static int by_key(const void *a, const void *b)
{
    return strcmp(((const struct storage_pair *)a)->key, ((const struct storage_pair *)b)->key);
}

static struct storage_map map_of(const struct kj_val *v, struct arena *a)
{
    struct storage_map m = { arena_newn0(a, kj_len(v) + 1, struct storage_pair), 0 };
    const struct kj_val *value;
    struct str key;

    for (struct kj_iter it = kj_iter(v); kj_next(&it, &key, &value);)
        m.items[m.n++] =
            (struct storage_pair){ arena_strndup(a, key.p, key.n), kj_str_or(value, "") };
    qsort(m.items, m.n, sizeof *m.items, by_key);
    return m;
}

struct claims {
    const struct kj_val *known;
    struct arena *a;
};

static const char *volume_of(void *arg, const char *ns, const char *claim)
{
    const struct claims *c = arg;

    return kj_str(kj_get(c->known, arena_printf(c->a, "%s/%s", ns, claim)));
}

static int by_text(const void *a, const void *b)
{
    const struct blkio_line *x = a, *y = b;
    int r = strcmp(plan_file_type(x->file), plan_file_type(y->file));

    return r != 0 ? r : strcmp(x->text, y->text);
}

static void write_lines(struct kjw *w, struct blkio_line *lines, uint32_t n)
{
    if (n > 0)
        qsort(lines, n, sizeof *lines, by_text);
    kjw_arr(w, "writes");
    for (uint32_t i = 0; i < n; i++) {
        kjw_arr(w, NULL);
        kjw_str(w, NULL, plan_file_type(lines[i].file));
        kjw_str(w, NULL, lines[i].text);
        kjw_end(w);
    }
    kjw_end(w);
}

int run_blkio(const struct kj_val *in, struct arena *a, struct strbuf *got, struct kerr *err)
{
    const struct kj_val *blocks = kj_get(in, "blocks"), *existing = kj_get(in, "existing");
    struct blkio_block *list = arena_newn0(a, kj_len(blocks) + 1, struct blkio_block);
    const char **disks = arena_newn0(a, kj_len(existing) + 1, const char *);
    struct claims claims = { kj_get(in, "claims"), a };
    struct storage_info storage = {
        .disk_number = map_of(kj_get(in, "disks"), a),
        .partition_disk = map_of(kj_get(in, "partitions"), a),
        .vg_disk = map_of(kj_get(in, "volumeGroups"), a),
        .lv_vg = map_of(kj_get(in, "logicalVolumes"), a),
        .mount_source = map_of(kj_get(in, "mounts"), a),
    };
    struct blkio_machine m = { &storage, "/var/lib/kubelet/", volume_of, &claims };
    struct blkio_line *lines = NULL;
    struct pod *pod = NULL;
    uint32_t n = 0;
    int r = 0;
    struct kjw w = kjw_to(got);

    for (size_t i = 0; r == 0 && i < kj_len(blocks); i++)
        r = kj_decode(&blkio_block_schema, kj_at(blocks, i), 0, a, &list[i], err);
    if (r == 0 && kj_get(in, "pod"))
        r = pod_decode(kj_get(in, "pod"), a, &pod, err);
    if (r < 0)
        return r;
    for (size_t i = 0; i < kj_len(existing); i++)
        disks[i] = kj_str_or(kj_at(existing, i), "");
    struct blkio_target t = { .pod = pod,
                              .root = streq(kj_str_or(kj_get(in, "level"), ""), "root"),
                              .blocks = list,
                              .nblocks = (uint32_t)kj_len(blocks),
                              .existing = disks,
                              .nexisting = (uint32_t)kj_len(existing) };
    r = blkio_lines(&m, &t, a, &lines, &n, err);
    kjw_obj(&w, NULL);
    if (r < 0)
        kjw_bool(&w, "failed", true);
    write_lines(&w, lines, r < 0 ? 0 : n);
    kjw_end(&w);
    return 0;
}
