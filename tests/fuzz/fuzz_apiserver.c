/* fuzz_apiserver.c - requests to the embedded API server, over its HTTP front.
 *
 * An input is a few requests, parted by lines "%%". The first line of each is the method, the
 * target, and perhaps a content type and what is accepted; the rest is the body. Before them there
 * are a node, a pod, a config map, a deployment, a definition and an object of its kind.
 *
 * Holds: every request but a watch gets its one answer, never an internal error; JSON in answers
 * can be read; a refusal is a Status with the code of the answer. Afterwards what is stored can
 * be read one by one, and writing back what was read is accepted and changes nothing (unless the
 * definition of its kind was changed).
 */
#include "apiserver/server.h"
#include "base/klog.h"
#include "base/strbuf.h"
#include "loop/loop.h"
#include "net/http.h"
#include "net/stream.h"
#include "json/kj.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define WALL0 (INT64_C(1763200000) * NSEC_PER_SEC)
enum { REQUESTS_MAX = 8, OBJECTS_MAX = 10 };

struct fixture {
    struct loop *loop;
    struct apiserver *s;
    struct http *client;
    /* The last answer. */
    int status;
    bool is_json, ended;
    struct strbuf body;
    uint64_t at_first; /* the revision before the requests of an input */
};

/* ---- one request ----------------------------------------------------------------------------- */

struct dialing {
    struct fixture *b;
    http_dialed_fn fn;
    void *arg;
};

static void dial_now(struct loop *l, void *arg)
{
    struct dialing *d = arg;
    struct stream *ends[2];

    stream_mem_pair(l, &(struct mem_opts){ 0 }, ends);
    apiserver_serve(d->b->s, ends[0]);
    d->fn(d->arg, ends[1], NULL);
    free(d);
}

static void dial_later(void *dial_arg, struct loop *l, http_dialed_fn fn, void *arg)
{
    struct dialing *d = xnew0(struct dialing);

    *d = (struct dialing){ dial_arg, fn, arg };
    loop_post(l, dial_now, d);
}

static void on_headers(void *arg, const struct http_resp *r)
{
    struct fixture *b = arg;
    struct str type = http_header_get(&r->headers, "content-type");

    b->status = r->status;
    b->is_json = type.n >= 16 && memcmp(type.p, "application/json", 16) == 0;
}

static void on_data(void *arg, const char *p, size_t n)
{
    strbuf_appendn(&((struct fixture *)arg)->body, p, n);
}

static void on_end(void *arg, const struct kerr *err, bool sent)
{
    struct fixture *b = arg;

    (void)sent;
    assert(!err && !b->ended);
    b->ended = true;
}

struct request {
    const char *method, *target, *type, *accept, *body;
    size_t n;
};

static void check_answer(const struct fixture *b, const struct request *q)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;

    assert(b->status >= 200 && b->status < 600);
    /* kube-apiserver answers so to a strategic merge patch that does not fit its object, and to a
     * resourceVersion that is none */
    assert(b->status != 500 || strstr(q->type, "strategic") ||
           strstr(strbuf_str(&b->body), "ParseUint"));
    if (!b->is_json || streq(q->method, "HEAD"))
        return;
    int r = kj_parse(strbuf_str(&b->body), b->body.len, 0, &doc, NULL);
    assert(r == 0);
    (void)r;
    const struct kj_val *v = kj_root(doc);
    if (b->status < 400 || !kj_get(v, "kind"))
        return;
    assert(streq(kj_str_or(kj_get(v, "kind"), ""), "Status"));
    assert(streq(kj_str_or(kj_get(v, "status"), ""), "Failure"));
    assert(kj_i64_or(kj_get(v, "code"), 0) == b->status);
    assert(*kj_str_or(kj_get(v, "message"), "") != '\0');
}

/* The status; 0: a watch, which goes on. */
static int ask(struct fixture *b, const struct request *q)
{
    static const struct http_handler handler = { on_headers, on_data, on_end, NULL };
    struct http_header headers[] = { { STR("content-type"), str_of(q->type) },
                                     { STR("accept"), str_of(q->accept) } };
    struct http_req r = { .method = q->method,
                          .target = q->target,
                          .headers = { headers, ARRAY_LEN(headers) },
                          .body = q->body,
                          .body_len = q->n };

    b->status = 0;
    b->ended = b->is_json = false;
    strbuf_reset(&b->body);
    struct http_call *call = http_send(b->client, &r, &handler, b);
    for (int i = 0; i < 100 && !b->ended; i++)
        loop_advance(b->loop, NSEC_PER_MSEC);
    if (b->ended) {
        check_answer(b, q);
        return b->status;
    }
    assert(strstr(q->target, "watch"));
    http_cancel(call);
    return 0;
}

static int ask_json(struct fixture *b, const char *method, const char *target, const char *body)
{
    return ask(b, &(struct request){ method, target, "application/json", "application/json", body,
                                     strlen(body) });
}

/* ---- what is there at first ------------------------------------------------------------------ */

#define WIDGETS "/apis/example.com/v1/namespaces/default/widgets"

static const char *const objects[][2] = {
    { "/api/v1/nodes", "{\"metadata\":{\"name\":\"n\"},\"spec\":{\"taints\":[{\"key\":\"k\","
                       "\"effect\":\"NoSchedule\"}]},\"status\":{\"capacity\":{\"cpu\":\"4\"}}}" },
    { "/api/v1/namespaces/default/configmaps",
      "{\"metadata\":{\"name\":\"c\",\"labels\":{\"app\":\"a\"},\"finalizers\":[\"x.io/f\"]},"
      "\"data\":{\"k\":\"v\"}}" },
    { "/api/v1/namespaces/default/pods",
      "{\"metadata\":{\"name\":\"p\",\"labels\":{\"app\":\"a\"}},\"spec\":{\"nodeName\":\"n\","
      "\"containers\":[{\"name\":\"c\",\"image\":\"i\",\"ports\":[{\"containerPort\":80}],"
      "\"env\":[{\"name\":\"E\",\"value\":\"1\"}],\"resources\":{\"limits\":{\"cpu\":\"1\"}}}],"
      "\"tolerations\":[{\"operator\":\"Exists\"}]}}" },
    { "/apis/apps/v1/namespaces/default/deployments",
      "{\"metadata\":{\"name\":\"d\"},\"spec\":{\"selector\":{\"matchLabels\":{\"app\":\"d\"}},"
      "\"template\":{\"metadata\":{\"labels\":{\"app\":\"d\"}},\"spec\":{\"containers\":[{"
      "\"name\":\"c\",\"image\":\"i\"}]}}}}" },
    { "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
      "{\"metadata\":{\"name\":\"widgets.example.com\"},\"spec\":{\"group\":\"example.com\","
      "\"names\":{\"plural\":\"widgets\",\"kind\":\"Widget\"},\"scope\":\"Namespaced\","
      "\"versions\":[{\"name\":\"v1\",\"served\":true,\"storage\":true,\"subresources\":{"
      "\"status\":{},\"scale\":{\"specReplicasPath\":\".spec.size\",\"statusReplicasPath\":"
      "\".status.size\"}},\"additionalPrinterColumns\":[{\"name\":\"Size\",\"type\":\"integer\","
      "\"jsonPath\":\".spec.size\"}],\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
      "\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[\"size\"],\"properties\":{"
      "\"size\":{\"type\":\"integer\",\"minimum\":0,\"maximum\":9,\"default\":1},"
      "\"name\":{\"type\":\"string\",\"pattern\":\"^[a-z]*$\",\"maxLength\":5},"
      "\"kind\":{\"enum\":[\"x\",\"y\"],\"type\":\"string\",\"nullable\":true},"
      "\"port\":{\"x-kubernetes-int-or-string\":true},"
      "\"any\":{\"type\":\"object\",\"x-kubernetes-preserve-unknown-fields\":true},"
      "\"map\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"number\",\"multipleOf\":"
      "0.5}},\"when\":{\"type\":\"string\",\"format\":\"date-time\"},"
      "\"list\":{\"type\":\"array\",\"maxItems\":3,\"x-kubernetes-list-type\":\"map\","
      "\"x-kubernetes-list-map-keys\":[\"n\"],\"items\":{\"type\":\"object\",\"required\":[\"n\"],"
      "\"properties\":{\"n\":{\"type\":\"string\"},\"v\":{\"type\":\"boolean\",\"default\":true}}"
      "}},\"one\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{"
      "\"type\":\"string\"}},\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]}}},"
      "\"status\":{\"type\":\"object\",\"properties\":{\"size\":{\"type\":\"integer\"}}}}}}}]}}" },
    { WIDGETS, "{\"apiVersion\":\"example.com/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":"
               "\"w\"},\"spec\":{\"size\":2,\"list\":[{\"n\":\"a\"}],\"any\":{\"k\":[1]}}}" },
};

static void quiet(void *arg, const char *text, size_t n)
{
    (void)arg, (void)text, (void)n;
}

static void fixture_init(struct fixture *b)
{
    struct kerr err = { 0 };

    klog_set_sink(quiet, NULL);
    *b = (struct fixture){ .loop = loop_new_virtual(WALL0, 1) };
    int r = apiserver_new(b->loop, &(struct apiserver_opts){ .no_crds = true }, &b->s, &err);
    assert(r == 0);
    b->client = http_client_new(
        b->loop,
        &(struct http_client_opts){
            .host = "fuzz", .port = 80, .no_gzip = true, .dial = dial_later, .dial_arg = b });
    loop_advance(b->loop, NSEC_PER_SEC);
    for (size_t i = 0; i < ARRAY_LEN(objects); i++) {
        r = ask_json(b, "POST", objects[i][0], objects[i][1]);
        assert(r == 201);
    }
    b->at_first = apiserver_stats(b->s).revision;
}

static void fixture_fini(struct fixture *b)
{
    http_free(b->client);
    apiserver_free(b->s);
    loop_advance(b->loop, 10 * NSEC_PER_SEC);
    loop_free(b->loop);
    strbuf_fini(&b->body);
    *b = (struct fixture){ 0 };
}

/* ---- what is there in the end ---------------------------------------------------------------- */

/* The definition may have gone, and with it its objects. */
static struct kj_doc *fetch(struct fixture *b, const char *target)
{
    struct kj_doc *doc = NULL;
    int r = ask_json(b, "GET", target, "");

    assert(r == 200 || r == 404);
    r = r == 200 ? kj_parse(strbuf_str(&b->body), b->body.len, 0, &doc, NULL) : 0;
    assert(r == 0);
    (void)r;
    return doc;
}

static void check_rewrite(struct fixture *b, const char *collection, const char *ns,
                          const char *name, bool same_schema)
{
    CLEANUP(strbuf_fini) struct strbuf target = STRBUF_INIT;
    CLEANUP(strbuf_fini) struct strbuf before = STRBUF_INIT;
    const char *plural = strrchr(collection, '/');

    /* "/api/v1/pods" and a namespace: "/api/v1/namespaces/x/pods/name" */
    strbuf_appendn(&target, collection, (size_t)(plural - collection));
    if (*ns)
        strbuf_appendf(&target, "/namespaces/%s", ns);
    strbuf_appendf(&target, "%s/%s", plural, name);
    CLEANUP(kj_doc_free) struct kj_doc *doc = fetch(b, target.data);
    assert(doc);
    strbuf_appendn(&before, b->body.data, b->body.len);
    int r = ask_json(b, "PUT", target.data, before.data);
    assert(r == 200 || (r == 422 && !same_schema));
    assert(streq(before.data, strbuf_str(&b->body)) || !same_schema);
    (void)r;
}

/* Objects are stored as they were when their definition was another. */
static bool is_changed(struct fixture *b)
{
    CLEANUP(kj_doc_free)
    struct kj_doc *doc =
        fetch(b, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/widgets.example.com");
    return doc && kj_i64_or(kj_path(kj_root(doc), "metadata.generation"), 0) != 1;
}

static void check_stored(struct fixture *b)
{
    static const char *const collections[] = {
        "/api/v1/nodes",
        "/api/v1/pods",
        "/api/v1/configmaps",
        "/apis/apps/v1/deployments",
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        "/apis/example.com/v1/widgets",
    };

    for (size_t i = 0; i < ARRAY_LEN(collections); i++) {
        CLEANUP(kj_doc_free) struct kj_doc *list = fetch(b, collections[i]);
        const struct kj_val *items = list ? kj_get(kj_root(list), "items") : NULL;
        for (size_t k = 0; k < MIN(kj_len(items), (size_t)OBJECTS_MAX); k++) {
            const struct kj_val *meta = kj_get(kj_at(items, k), "metadata");
            const char *version = kj_str_or(kj_get(meta, "resourceVersion"), "");
            if (strtoull(version, NULL, 10) <= b->at_first)
                continue;
            check_rewrite(b, collections[i], kj_str_or(kj_get(meta, "namespace"), ""),
                          kj_str_or(kj_get(meta, "name"), ""),
                          !strstr(collections[i], "widgets") || !is_changed(b));
        }
    }
}

/* ---- the input ------------------------------------------------------------------------------- */

/* What no client would let out is left to fuzz_http. */
static bool can_send(const struct request *q)
{
    size_t n = strlen(q->method);

    if (n == 0 || n > 10 || strspn(q->method, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") != n ||
        streq(q->method, "CONNECT") || q->target[0] != '/')
        return false;
    for (const char *const *s = (const char *const[]){ q->target, q->type, q->accept, NULL }; *s;
         s++)
        for (const char *p = *s; *p; p++)
            if (*p <= ' ' || *p > '~' || *p == '#')
                return false;
    return true;
}

/* "GET /path type accept\nbody", in place. */
static bool parse(char *text, size_t n, struct request *q)
{
    char *words[4] = { NULL }, *save = NULL;
    char *end = memchr(text, '\n', n);

    *q = (struct request){ .type = "application/json", .accept = "*/*", .body = "" };
    if (end) {
        *end = '\0';
        q->body = end + 1;
        q->n = n - (size_t)(end + 1 - text);
    }
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        words[i] = strtok_r(i ? NULL : text, " ", &save);
    if (!words[1])
        return false;
    q->method = words[0];
    q->target = words[1];
    q->type = words[2] ? words[2] : q->type;
    q->accept = words[3] ? words[3] : q->accept;
    return can_send(q);
}

static void send_all(struct fixture *b, char *text, size_t size)
{
    size_t n;

    for (size_t i = 0, at = 0; i < REQUESTS_MAX && at < size; i++, at += n + 4) {
        char *stop = memmem(text + at, size - at, "\n%%\n", 4);
        struct request q;

        n = stop ? (size_t)(stop - text) - at : size - at;
        text[at + n] = '\0';
        if (parse(text + at, n, &q))
            ask(b, &q);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct fixture b; /* serves the next input too when this one has written nothing */
    CLEANUP(mem_free) char *text = xstrndup((const char *)data, size);

    if (!b.s)
        fixture_init(&b);
    send_all(&b, text, size);
    if (apiserver_stats(b.s).revision != b.at_first) {
        check_stored(&b);
        fixture_fini(&b);
    }
    return 0;
}
