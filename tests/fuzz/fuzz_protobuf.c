/* fuzz_protobuf.c - request bodies in protobuf, of every kind.
 *
 * Input that starts with "k8s\0" is a whole body. Otherwise byte 0 picks a kind and the rest is the
 * message, which gets its envelope here: below KINDS one of the list that the corpus is written
 * for, above it any of the built-in kinds.
 *
 * A refusal says why, as 400 or 415; a body that is accepted has the kind that it names, can be
 * written and read again, as JSON and in protobuf, with the same result, and a field that nobody
 * knows behind it changes nothing.
 */
#include "apiserver/http/protobuf.h"
#include "apiserver/kinds/kinds.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const char *const kinds[][2] = {
    { "v1", "ConfigMap" },
    { "v1", "Secret" },
    { "v1", "Namespace" },
    { "v1", "ServiceAccount" },
    { "v1", "Binding" },
    { "v1", "Service" },
    { "v1", "Event" },
    { "v1", "Pod" },
    { "events.k8s.io/v1", "Event" },
    { "apps/v1", "Deployment" },
    { "batch/v1", "Job" },
    { "policy/v1", "Eviction" },
    { "policy/v1", "PodDisruptionBudget" },
    { "coordination.k8s.io/v1", "Lease" },
    { "scheduling.k8s.io/v1", "PriorityClass" },
    { "rbac.authorization.k8s.io/v1", "ClusterRole" },
    { "rbac.authorization.k8s.io/v1", "RoleBinding" },
    { "authorization.k8s.io/v1", "SelfSubjectAccessReview" },
    { "meta.k8s.io/v1", "DeleteOptions" },
    { "v1", "Node" },
    { "v1", "PersistentVolume" },
    { "resource.k8s.io/v1", "ResourceSlice" },
    { "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration" },
};

static void put_bytes(struct strbuf *b, unsigned num, const void *p, size_t n)
{
    size_t v = n;

    strbuf_appendc(b, (char)(num << 3 | 2));
    for (; v >= 0x80; v >>= 7)
        strbuf_appendc(b, (char)(v | 0x80));
    strbuf_appendc(b, (char)v);
    strbuf_appendn(b, n ? p : "", n);
}

static void wrap(struct strbuf *out, const char *const kind[2], const void *msg, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf type = STRBUF_INIT;

    for (unsigned i = 0; i < 2; i++)
        put_bytes(&type, i + 1, kind[i], strlen(kind[i]));
    strbuf_appendn(out, "k8s", 4);
    put_bytes(out, 1, type.data, type.len);
    put_bytes(out, 2, msg, n);
}

static struct kj_doc *decode(const struct strbuf *body)
{
    /* Not more than the body may be read: the decoder gets a block of its size. */
    CLEANUP(mem_free) char *exact = xmemdup(strbuf_str(body), body->len);
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (protobuf_decode(exact, body->len, "v1", "Pod", &doc, &err) == 0)
        return doc;
    assert(!doc && err.code < 0 && err.text[0]);
    assert(err.reason == KR_BAD_REQUEST || err.reason == KR_UNSUPPORTED_MEDIA_TYPE);
    return NULL;
}

static void check_text(const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf second = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *again = NULL;

    kj_write(v, 0, &text);
    int r = kj_parse(text.data, text.len, 0, &again, NULL);
    assert(r == 0);
    kj_write(kj_root(again), 0, &second);
    assert(streq(strbuf_str(&text), strbuf_str(&second)));
    (void)r;
}

/* Through JSON and protobuf. */
static struct kj_doc *round_trip(const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT, body = STRBUF_INIT;

    kj_write(v, 0, &text);
    if (!protobuf_encode(text.data, text.len, &body))
        return NULL; /* of a kind that answers are never made of */
    struct kj_doc *doc = decode(&body);
    assert(doc);
    return doc;
}

/* What was read goes through unchanged, from the first time on: what the encoding lost would be
 * missing from then on, and two passes alike. */
static void check_round(const struct kj_val *v)
{
    CLEANUP(strbuf_fini) struct strbuf x = STRBUF_INIT, y = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *once = round_trip(v);

    if (!once)
        return;
    kj_write(v, KJ_SORTED, &x);
    kj_write(kj_root(once), KJ_SORTED, &y);
    assert(streq(strbuf_str(&x), strbuf_str(&y)));
}

static void check_message(const char *const kind[2], const uint8_t *msg, size_t n)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf longer = STRBUF_INIT;

    wrap(&body, kind, msg, n);
    CLEANUP(kj_doc_free) struct kj_doc *doc = decode(&body);
    if (!doc)
        return;
    assert(streq(kj_str_or(kj_get(kj_root(doc), "apiVersion"), ""), kind[0]));
    assert(streq(kj_str_or(kj_get(kj_root(doc), "kind"), ""), kind[1]));
    check_text(kj_root(doc));
    check_round(kj_root(doc));

    CLEANUP(strbuf_fini) struct strbuf more = STRBUF_INIT;
    strbuf_appendn(&more, n ? (const char *)msg : "", n);
    strbuf_append(&more, "\xf8\x01\x01"); /* field 31: 1 */
    wrap(&longer, kind, more.data, more.len);
    CLEANUP(kj_doc_free) struct kj_doc *same = decode(&longer);
    assert(same && kj_equal(kj_root(same), kj_root(doc)));
}

/* One of the list, or of all built-in kinds. */
static void check_kind(const uint8_t *data, size_t size)
{
    size_t n, i = data[0];
    const struct resource *all = builtin_resources(&n);
    CLEANUP(strbuf_fini) struct strbuf version = STRBUF_INIT;

    if (i < ARRAY_LEN(kinds)) {
        check_message(kinds[i], data + 1, size - 1);
        return;
    }
    const struct resource *r = &all[(i - ARRAY_LEN(kinds)) % n];
    strbuf_appendf(&version, "%s%s%s", r->group, *r->group ? "/" : "", r->version);
    const char *const kind[2] = { version.data, r->kind };
    check_message(kind, data + 1, size - 1);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;

    if (size >= 4 && memcmp(data, "k8s", 4) == 0) {
        strbuf_appendn(&body, data, size);
        CLEANUP(kj_doc_free) struct kj_doc *doc = decode(&body);
        if (doc) {
            check_text(kj_root(doc));
            check_round(kj_root(doc));
        }
    } else if (size > 0) {
        check_kind(data, size);
    }
    return 0;
}
