/* fuzz_runtimeproxy.c - what kubelets and hook servers send to the runtime proxy.
 *
 * Byte 0 divides the rest into a CRI request and the answer of a hook; the same bytes are read as
 * configurations of hook servers and as bodies of Docker's API. A request that can be read and a
 * hook that says nothing give no change; what a hook changes can be read again, and asking it twice
 * changes nothing more. A body that is written as it was read says the same.
 */
#include "runtimeproxy/docker_json.h"
#include "runtimeproxy/hookconfig.h"
#include "runtimeproxy/merge.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { MAP_MAX = 4096 };

static void check_config(struct str text)
{
    struct hookconfig c = { 0 };
    struct kerr err = { 0 };

    if (hookconfig_parse(text, &c, &err) < 0) {
        assert(err.text[0] != '\0');
        return;
    }
    assert(c.endpoint && *c.endpoint);
    hookconfig_fini(&c);
}

/* Reads a body and writes it as it is. */
static void copy_body(struct str text, bool has_systemd, struct strbuf *out, struct strbuf *update)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct docker_name name = { .pod = STR("p") };
    struct docker_created made;
    struct cri_resources r;

    if (kj_parse(text.p, text.n, KJ_RAW_NUMBERS, &doc, NULL) < 0 || kj_type(kj_root(doc)) != KJ_OBJ)
        return;
    const struct kj_val *root = kj_root(doc);
    docker_read_create(root, kj_get(root, "HostConfig"), &name, has_systemd, a, &made);
    docker_write_create(root, &made, has_systemd, out);
    docker_read_update(root, a, &r);
    docker_write_update(root, &r, update);
}

static void check_docker(struct str text, bool has_systemd)
{
    CLEANUP(strbuf_fini) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf update = STRBUF_INIT, again = STRBUF_INIT;
    CLEANUP(arena_free) struct arena *a = arena_new();
    struct docker_name name;

    (void)docker_name_split(arena_strndup(a, text.n ? text.p : "", text.n), a, &name);
    copy_body(text, has_systemd, &once, &update);
    if (once.len == 0)
        return;
    copy_body((struct str){ once.data, once.len }, has_systemd, &twice, &again);
    assert(twice.len == once.len && memcmp(once.data, twice.data, once.len) == 0);
    strbuf_reset(&again);
    strbuf_reset(&twice);
    copy_body((struct str){ update.data, update.len }, has_systemd, &twice, &again);
    assert(again.len == update.len && memcmp(again.data, update.data, update.len) == 0);
}

static void check_pod(struct str request, struct str answer, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf changes = STRBUF_INIT, out = STRBUF_INIT;
    struct cri_run_pod_request in, again;
    struct hook_pod_request about;
    struct hook_pod_response said;
    struct kerr err;

    if (wire_decode(&cri_run_pod_request_table, request, a, &in, &err) < 0 ||
        merge_read_pod(answer, a, &said, &err) < 0 || said.labels.n > MAP_MAX)
        return;
    merge_from_run_pod(&in, &about);
    bool nothing = merge_to_run_pod(&about, a, &in, &changes);
    merge_pod(&about, &said, a);
    bool changed = merge_to_run_pod(&about, a, &in, &changes);
    assert(changed == (changes.len > 0) || nothing);
    wire_encode(&cri_run_pod_request_table, &in, &out);
    int r = wire_decode(&cri_run_pod_request_table, (struct str){ strbuf_str(&out), out.len }, a,
                        &again, &err);
    assert(r == 0 && !merge_to_run_pod(&about, a, &again, &changes));
    (void)r;
}

static void check_container(struct str request, struct str answer, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf changes = STRBUF_INIT, out = STRBUF_INIT;
    static const struct hook_pod_request pod;
    struct cri_create_request in, again;
    struct hook_container_request about;
    struct hook_container_response said;
    struct kerr err;

    if (wire_decode(&cri_create_request_table, request, a, &in, &err) < 0 ||
        merge_read_container(answer, a, &said, &err) < 0)
        return;
    merge_from_create(&in, &pod, a, &about);
    assert(!merge_to_create(&about, a, &in, &changes));
    merge_container(&about, &said, a);
    merge_to_create(&about, a, &in, &changes);
    wire_encode(&cri_create_request_table, &in, &out);
    int r = wire_decode(&cri_create_request_table, (struct str){ strbuf_str(&out), out.len }, a,
                        &again, &err);
    assert(r == 0 && !merge_to_create(&about, a, &again, &changes));
    (void)r;
}

static void check_update(struct str request, struct str answer, struct arena *a)
{
    CLEANUP(strbuf_fini) struct strbuf changes = STRBUF_INIT;
    struct hook_container_request cached = { 0 };
    struct hook_container_response said;
    struct cri_update_request in;
    struct kerr err;

    if (wire_decode(&cri_update_request_table, request, a, &in, &err) < 0 ||
        merge_read_container(answer, a, &said, &err) < 0)
        return;
    merge_from_update(&in, a, &cached);
    merge_container(&cached, &said, a);
    merge_to_update(&cached, a, &in, &changes);
    assert(!merge_to_update(&cached, a, &in, &changes));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(arena_free) struct arena *a = arena_new();

    if (size == 0 || size > 16384)
        return 0;
    size_t n = (size - 1) * data[0] / 255;
    struct str request = { (const char *)data + 1, n };
    struct str answer = { (const char *)data + 1 + n, size - 1 - n };
    check_config((struct str){ (const char *)data + 1, size - 1 });
    check_docker((struct str){ (const char *)data + 1, size - 1 }, data[0] & 1);
    check_pod(request, answer, a);
    check_container(request, answer, a);
    check_update(request, answer, a);
    return 0;
}
