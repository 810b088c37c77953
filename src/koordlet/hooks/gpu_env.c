/* gpu_env.c - GPUEnvInject: which GPUs a container sees, and its share of one with HAMi
 * (koordlet-qos 15.5). */
#include <libgen.h>

#include "api/protocol/device.h"
#include "koordlet/hooks/hooks.h"
#include "koordlet/hooks/rules.h"

#define LOCK_DIR "/tmp/vgpulock"

static void put_env(struct hook_context *c, const char *name, const char *value)
{
    vec_push(&c->envs, ((struct hook_env){ name, value }));
}

static void put_mount(struct hook_context *c, const char *source, const char *destination)
{
    vec_push(&c->mounts, ((struct hook_mount){ source, destination }));
}

static const char *minors(const struct device_allocation_list *gpus, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    for (uint32_t i = 0; i < gpus->v.n; i++)
        strbuf_appendf(&out, "%s%d", i ? "," : "", (int)gpus->v.items[i].minor);
    return arena_strdup(a, strbuf_str(&out));
}

/* The monitor finds a file for each container below the library's directory. */
static void monitor(const struct hook_rules *r, struct hook_context *c)
{
    char *copy = arena_strdup(c->arena, r->hami_library);
    const char *dir = dirname(copy);
    const char *key = arena_printf(c->arena, "%s_%s", c->uid, str_or(c->container, ""));

    put_env(c, "CUDA_DEVICE_MEMORY_SHARED_CACHE", arena_printf(c->arena, "%s/%s.cache", dir, key));
    put_mount(c, arena_printf(c->arena, "%s/containers/%s", dir, key), dir);
}

static int share(const struct hook_rules *r, const struct device_allocation *gpu,
                 struct hook_context *c, struct kerr *err)
{
    const struct qty *ratio = reslist_find(&gpu->resources, RES_GPU_MEMORY_RATIO);
    const struct qty *memory = reslist_find(&gpu->resources, RES_GPU_MEMORY);
    const struct qty *core = reslist_find(&gpu->resources, RES_GPU_CORE);

    if (!ratio)
        return kerr_set(err, -EINVAL, "GPU %d has no %s", (int)gpu->minor, RES_GPU_MEMORY_RATIO);
    if (qty_value(*ratio) >= 100)
        return 0;
    if (!memory)
        return kerr_set(err, -EINVAL, "GPU %d has no %s", (int)gpu->minor, RES_GPU_MEMORY);
    put_env(c, "CUDA_DEVICE_MEMORY_LIMIT",
            arena_printf(c->arena, "%lld", (long long)qty_value(*memory)));
    if (core)
        put_env(c, "CUDA_DEVICE_SM_LIMIT",
                arena_printf(c->arena, "%lld", (long long)qty_value(*core)));
    put_env(c, "LD_PRELOAD", r->hami_library);
    put_mount(c, r->hami_library, r->hami_library);
    put_mount(c, LOCK_DIR, LOCK_DIR);
    if (r->hami_monitor)
        monitor(r, c);
    return 0;
}

static int run(const struct hook_rules *r, struct hook_context *c, struct kerr *err)
{
    struct device_allocations all;
    const char *provider = kstrmap_get(c->labels, LABEL_GPU_ISOLATION_PROVIDER);

    if (device_allocations_read(c->annotations, c->arena, &all, err) < 0)
        return err->code;
    const struct device_allocation_list *gpus = device_allocations_of(&all, DEVICE_TYPE_GPU);
    if (!gpus || gpus->v.n == 0)
        return 0;
    put_env(c, "NVIDIA_VISIBLE_DEVICES", minors(gpus, c->arena));
    if (!provider || !streq(provider, GPU_ISOLATION_HAMI))
        return 0;
    return share(r, &gpus->v.items[0], c, err);
}

const struct hook_plugin hook_gpu_env = {
    .name = "gpu env inject",
    .gate = GATE_GPU_ENV_INJECT,
    .stages = { [HOOK_PRE_CREATE_CONTAINER] = run },
};
