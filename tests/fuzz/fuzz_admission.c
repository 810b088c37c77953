/* fuzz_admission.c - AdmissionReviews. The first byte picks the webhook, the rest is the body.
 *
 * Whatever comes, the answer is a review that can be read; one that refuses says why; a patch
 * applies to the object that was sent, and leaves an object.
 */
#include "api/policy.h"
#include "apiserver/schema/types.h"
#include "base/b64.h"
#include "base/intern.h"
#include "loop/loop.h"
#include "manager/profile/profiles.h"
#include "manager/webhook/serve.h"
#include "manager/webhook/source.h"
#include "json/patch.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const profiles[] = {
    "{\"metadata\":{\"name\":\"a\"},\"spec\":{\"qosClass\":\"BE\",\"priorityClassName\":\"c\","
    "\"koordinatorPriority\":1,\"labels\":{\"x/y~z\":\"1\"},\"annotations\":{\"a\":\"b\"},"
    "\"labelKeysMapping\":{\"app\":\"b\"},\"labelSuffixes\":{\"app\":\"-s\"},"
    "\"schedulerName\":\"s\"}}",
    "{\"metadata\":{\"name\":\"b\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"web\"}},"
    "\"namespaceSelector\":{},\"patch\":{\"spec\":{\"containers\":[{\"name\":\"c\",\"image\":\"i\"}"
    "],"
    "\"tolerations\":[{\"operator\":\"Exists\"}]}}}}",
};

struct cluster {
    struct intern *strings;
    struct kj_scratch *scratch;
    struct profile_set *set;
    struct loop *loop;
    struct webhook_source src;
    struct webhooks *w;
};

static const struct profile_set *get_profiles(void *self)
{
    return ((struct cluster *)self)->set;
}

static const struct priority_class_obj *get_class(void *self, const char *name)
{
    static const struct priority_class_obj class = { .value = 5000 };

    (void)self, (void)name;
    return &class;
}

static const kstrmap *get_config(void *self)
{
    static struct kstrpair pair = { "colocation-config",
                                    "{\"nodeConfigs\":[{\"nodeSelector\":{\"matchLabels\":{\"a\":"
                                    "\"b\"}}},{\"nodeSelector\":{}}]}" };
    static const kstrmap data = { &pair, 1 };

    (void)self;
    return &data;
}

static void cluster_init(struct cluster *c)
{
    struct webhook_opts o = { .gates = (1u << WEBHOOK_GATES) - 1 };

    *c = (struct cluster){ .strings = intern_new(),
                           .set = profile_set_new(),
                           .loop = loop_new_virtual(0, 1) };
    c->scratch = kj_scratch_new(c->strings);
    /* These turn steps off. */
    o.gates &= ~(1u << GATE_NO_EXTENDED_SPEC | 1u << GATE_NO_DEVICE_SPEC |
                 1u << GATE_SKIP_MUTATING_RESOURCES | 1u << GATE_SKIP_VALIDATING_PRIORITY);
    o.pod_merge = types_merge(types_find("", "v1", "Pod"));
    o.binding_users = "u";
    o.binding_namespaces = "*";
    c->src = (struct webhook_source){
        .profiles = get_profiles, .priority_class = get_class, .slo_config = get_config, .self = c
    };
    c->w = webhooks_new(c->loop, &c->src, &o);
    for (size_t i = 0; i < ARRAY_LEN(profiles); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
        struct kobj *obj = NULL;
        int r = kj_parse(profiles[i], strlen(profiles[i]), 0, &doc, NULL);
        assert(r == 0);
        r = kobj_decode(&kind_colocation_profile, kj_root(doc), c->scratch, &obj, NULL);
        assert(r == 0);
        (void)r;
        profile_set_put(c->set, obj);
        kobj_unref(obj);
    }
}

static void cluster_fini_p(struct cluster *c)
{
    webhooks_free(c->w);
    loop_free(c->loop);
    profile_set_free(c->set);
    kj_scratch_free(c->scratch);
    intern_free(c->strings);
}

static void check_patch(const struct kj_val *patch, const char *body, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *review = NULL, *ops = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    struct kj_mval *v = NULL;

    int r = b64_decode(kj_str(patch), kj_len(patch), &text);
    assert(r == 0);
    r = kj_parse(text.data, text.len, 0, &ops, NULL);
    assert(r == 0 && kj_type(kj_root(ops)) == KJ_ARR && kj_len(kj_root(ops)) > 0);
    r = kj_parse(body, n, 0, &review, NULL);
    assert(r == 0);
    if (kj_len(kj_root(ops)) > 10000)
        return;
    r = kj_patch_json(d, kj_path(kj_root(review), "request.object"), kj_root(ops), &v, NULL);
    assert(r == 0 && kj_mtype(v) == KJ_OBJ);
    (void)r;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(cluster_fini) struct cluster c = { 0 };
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    CLEANUP(mem_free) char *body = NULL;

    if (size == 0)
        return 0;
    cluster_init(&c);
    size_t n = size - 1;
    body = xcalloc(1, n + KJ_PADDING + 1);
    memcpy(body, data + 1, n);
    if (data[0] == 'c')
        webhook_convert(body, n, &out);
    else
        (void)webhook_review(c.w, (enum webhook_id)(data[0] % WEBHOOK_COUNT), body, n, &out);
    int r = kj_parse(strbuf_str(&out), out.len, 0, &doc, NULL);
    assert(r == 0);
    (void)r;
    const struct kj_val *response = kj_get(kj_root(doc), "response");
    if (data[0] == 'c') {
        assert(kj_str(kj_path(response, "result.status")));
        return 0;
    }
    const struct kj_val *patch = kj_get(response, "patch");
    bool allowed = kj_bool(kj_get(response, "allowed"), false);
    assert(kj_type(kj_get(response, "allowed")) == KJ_BOOL);
    assert(allowed || (kj_len(kj_path(response, "status.message")) > 0 &&
                       kj_i64_or(kj_path(response, "status.code"), 0) >= 400));
    if (patch) {
        assert(allowed);
        check_patch(patch, (const char *)data + 1, n);
    }
    return 0;
}
