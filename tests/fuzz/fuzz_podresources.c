/* fuzz_podresources.c - the kubelet's list of pod resources, with devices added.
 *
 * A list that is refused says why and leaves nothing behind. Otherwise it has as many fields as
 * before; pods that have no annotation are the same bytes; the one that has keeps its name, and its
 * first container gets the two devices and is sorted. A second time adds them once more.
 */
#include "base/intern.h"
#include "base/wire.h"
#include "koordlet/states/podresources.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char pod_json[] =
    "{\"metadata\":{\"name\":\"p\",\"namespace\":\"n\",\"uid\":\"u\",\"annotations\":{"
    "\"scheduling.koordinator.sh/device-allocated\":\"{\\\"gpu\\\":[{\\\"id\\\":\\\"0\\\"}],"
    "\\\"rdma\\\":[{\\\"id\\\":\\\"1\\\"}]}\"}},\"spec\":{}}";

static struct intern *strings;
static struct kj_scratch *scratch;

static struct podset *make_pods(void)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct npod **pods = xnewn0(1, struct npod *);

    strings = intern_new();
    scratch = kj_scratch_new(strings);
    int r = kj_parse(pod_json, strlen(pod_json), 0, &doc, NULL);

    if (r == 0)
        r = npod_decode(kj_root(doc), 1, CGROUP_SYSTEMD, scratch, &pods[0], NULL);
    assert(r == 0);
    (void)r;
    return podset_new(pods, 1);
}

static struct str last_bytes(struct str message, uint32_t num)
{
    struct wire_field f;
    struct str last = { NULL, 0 };

    while (wire_next(&message, &f) > 0)
        if (f.num == num && f.type == WIRE_BYTES)
            last = f.bytes;
    return last;
}

static struct str first_container(struct str pod)
{
    struct wire_field f;

    while (wire_next(&pod, &f) > 0)
        if (f.num == 3 && f.type == WIRE_BYTES)
            return f.bytes;
    return (struct str){ NULL, 0 };
}

static bool in_order(struct str a, struct str b)
{
    size_t n = MIN(a.n, b.n);
    int r = n ? memcmp(a.p, b.p, n) : 0;

    return r < 0 || (r == 0 && a.n <= b.n);
}

static size_t count_devices(struct str container, bool sorted)
{
    struct wire_field f;
    struct str before = { NULL, 0 };
    size_t n = 0;

    while (wire_next(&container, &f) > 0) {
        if (f.num != 2 || f.type != WIRE_BYTES)
            continue;
        struct str resource = last_bytes(f.bytes, 1);
        assert(!sorted || in_order(before, resource));
        before = resource;
        n++;
    }
    return n;
}

static bool has_container(struct str pod)
{
    return first_container(pod).p != NULL;
}

static void compare(struct str before, struct str after)
{
    struct wire_field f, g;

    while (wire_next(&before, &f) > 0) {
        int r = wire_next(&after, &g);
        assert(r == 1 && f.num == g.num && f.type == g.type);
        (void)r;
        bool ours = f.num == 1 && f.type == WIRE_BYTES && str_eqz(last_bytes(f.bytes, 1), "p") &&
                    str_eqz(last_bytes(f.bytes, 2), "n");
        if (!ours) {
            assert(str_eq(f.raw, g.raw));
            continue;
        }
        assert(str_eqz(last_bytes(g.bytes, 1), "p") && str_eqz(last_bytes(g.bytes, 2), "n"));
        if (has_container(f.bytes))
            assert(count_devices(first_container(g.bytes), true) ==
                   count_devices(first_container(f.bytes), false) + 2);
    }
    assert(after.n == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct podset *pods;
    CLEANUP(strbuf_fini) struct strbuf once = STRBUF_INIT, twice = STRBUF_INIT;
    struct str list = { (const char *)data, size };
    struct kerr bad, err = { 0 };

    if (!pods)
        pods = make_pods();
    int r = podresources_edit(list, pods, &once, &bad, &err);
    assert(bad.code == 0);
    if (r < 0) {
        assert(r == -EBADMSG && err.code == r && err.text[0] && once.len == 0);
        return 0;
    }
    assert(r == 0 && wire_valid(list));
    struct str edited = { strbuf_str(&once), once.len };
    compare(list, edited);
    r = podresources_edit(edited, pods, &twice, &bad, &err);
    assert(r == 0);
    compare(edited, (struct str){ strbuf_str(&twice), twice.len });
    return 0;
}
