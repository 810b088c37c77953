/* run_device.c - device requests. */
#include "api/protocol/device.h"
#include "runners.h"

/* The list as whole numbers, under the key unless it is empty. */
static void write_counts(struct kjw *w, const char *key, const reslist *l)
{
    if (l->n == 0)
        return;
    kjw_obj(w, key);
    for (uint32_t i = 0; i < l->n; i++)
        kjw_i64(w, l->items[i].name, resource_count(l->items[i].name, l->items[i].value));
    kjw_end(w);
}

static int run_normalize(const struct kj_val *in, struct arena *a, struct strbuf *got,
                         struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    struct kjw w = kjw_to(got);
    struct device_requests d;
    reslist requests;

    kj_write(kj_get(in, "requests"), 0, &text);
    if (reslist_decode_text(strbuf_str(&text), a, &requests, err) < 0)
        return err->code;
    kjw_obj(&w, NULL);
    if (device_requests_parse(&requests, a, &d, err) < 0) {
        kjw_str(&w, "error", err->text);
        kjw_end(&w);
        return 0;
    }
    kjw_obj(&w, "requests");
    write_counts(&w, "gpu", &d.gpu);
    write_counts(&w, "rdma", &d.rdma);
    write_counts(&w, "fpga", &d.fpga);
    kjw_end(&w);
    if (d.gpu.n > 0) {
        kjw_obj(&w, "gpu");
        kjw_i64(&w, "count", d.gpu_count);
        write_counts(&w, "perInstance", &d.gpu_per_instance);
        kjw_bool(&w, "shared", d.gpu_shared);
        kjw_end(&w);
    }
    kjw_end(&w);
    return 0;
}

/* The text of a refusal is exact: users see it. */
static bool same_normalize(const struct kj_val *out, const struct kj_val *got)
{
    const struct kj_val *error = kj_get(out, "error");

    return error ? kj_equal(error, kj_get(got, "error")) : golden_same(out, got);
}

const struct golden_runner golden_device[] = {
    { "normalize", run_normalize, same_normalize },
    { NULL, NULL, NULL },
};
