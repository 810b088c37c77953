/* test_conversion.c - custom resources whose versions a webhook converts, and webhooks that hang,
 * lie, return too little, change what they must not, talk too much or nonsense. */
#include "apiserver/test/hook_fixture.h"

#define CRDS "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define V1   "/apis/ex.io/v1/namespaces/default/links"
#define V2   "/apis/ex.io/v2/namespaces/default/links"

/* v1 (stored) has spec.at "host:port", v2 has spec.host and spec.port. */
#define CRD                                                                                   \
    "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"              \
    "'metadata':{'name':'links.ex.io'},'spec':{'group':'ex.io','scope':'Namespaced',"         \
    "'names':{'plural':'links','kind':'Link'},'conversion':{'strategy':'Webhook','webhook':{" \
    "'conversionReviewVersions':['%s'],'clientConfig':{'url':'https://127.0.0.1:9/%s'}}},"    \
    "'versions':[{'name':'v1','served':true,'storage':%s,'schema':{'openAPIV3Schema':"        \
    "{'type':'object','properties':{'spec':{'type':'object','properties':{'at':"              \
    "{'type':'string'},'n':{'type':'integer'}}},'status':{'type':'object',"                   \
    "'x-kubernetes-preserve-unknown-fields':true}}}}},"                                       \
    "{'name':'v2','served':true,'storage':%s,'schema':{'openAPIV3Schema':{'type':'object',"   \
    "'properties':{'spec':{'type':'object','properties':{'host':{'type':'string'},'n':"       \
    "{'type':'integer'},'port':{'type':'string'}}},"                                          \
    "'status':{'type':'object','x-kubernetes-preserve-unknown-fields':true}}}},"              \
    "'subresources':{'scale':{'specReplicasPath':'.spec.n','statusReplicasPath':'.status.n'}}}]}}"

static const char *word_of(const char *path)
{
    static char word[40];
    size_t n = strcspn(path + 1, "/?");

    (void)snprintf(word, sizeof word, "%.*s", (int)MIN(n, sizeof word - 1), path + 1);
    return word;
}

static void convert_spec(struct kj_mdoc *d, struct kj_mval *obj, bool to_v2)
{
    struct kj_mval *spec = kj_mget(obj, "spec");
    char text[100];

    if (to_v2) {
        const char *at = str_or(kj_mstr_get(kj_mget(spec, "at")), ":");
        const char *colon = strchr(at, ':');
        kj_mset(d, spec, "host", kj_mstrn(d, at, (size_t)(colon - at)));
        kj_mset(d, spec, "port", kj_mstr(d, colon + 1));
        kj_mdel(spec, "at", 2);
    } else {
        (void)snprintf(text, sizeof text, "%s:%s", str_or(kj_mstr_get(kj_mget(spec, "host")), ""),
                       str_or(kj_mstr_get(kj_mget(spec, "port")), ""));
        kj_mset(d, spec, "at", kj_mstr(d, text));
        kj_mdel(spec, "host", 4);
        kj_mdel(spec, "port", 4);
    }
}

static void spoil(const char *word, struct kj_mdoc *d, struct kj_mval *obj)
{
    struct kj_mval *meta = kj_mget(obj, "metadata"), *labels = kj_mobj(d);

    kj_mset(d, labels, streq(word, "badlabel") ? "not a key" : "converted",
            streq(word, "typedlabel") ? kj_mi64(d, 7) : kj_mstr(d, "yes"));
    if (streq(word, "name"))
        kj_mset(d, meta, "name", kj_mstr(d, "other"));
    else if (streq(word, "uid"))
        kj_mset(d, meta, "uid", kj_mstr(d, "other"));
    else if (streq(word, "kind"))
        kj_mset(d, obj, "kind", kj_mstr(d, "Other"));
    else if (streq(word, "version"))
        kj_mset(d, obj, "apiVersion", kj_mstr(d, "ex.io/v9"));
    else if (streq(word, "nometa"))
        kj_mdel(obj, "metadata", 8);
    else if (streq(word, "badmeta"))
        kj_mset(d, obj, "metadata", kj_mstr(d, "x"));
    else if (streq(word, "generation"))
        kj_mset(d, meta, "generation", kj_mi64(d, 99));
    else if (streq(word, "labels") || streq(word, "badlabel") || streq(word, "typedlabel"))
        kj_mset(d, meta, "labels", labels);
}

static struct kj_mval *convert_all(const char *word, struct kj_mdoc *d,
                                   const struct kj_val *request)
{
    const char *want = kj_str_or(kj_get(request, "desiredAPIVersion"), "");
    const struct kj_val *objects = kj_get(request, "objects");
    struct kj_mval *list = kj_marr(d);

    for (size_t i = 0; i < kj_len(objects); i++) {
        struct kj_mval *obj = kj_mcopy(d, kj_at(objects, i));
        if (streq(word, "fewer") && i == 0)
            continue;
        kj_mset(d, obj, "apiVersion", kj_mstr(d, want));
        convert_spec(d, obj, str_ends(want, "v2"));
        spoil(word, d, obj);
        kj_mpush(list, streq(word, "nulls") ? kj_mnull(d) : obj);
    }
    return list;
}

static void answer(struct hook_server *h, struct hook_call *c, const char *path,
                   const struct kj_val *review)
{
    CLEANUP(kj_mdoc_free) struct kj_mdoc *d = kj_mdoc_new();
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    const struct kj_val *request = kj_get(review, "request");
    struct kj_mval *answer = kj_mobj(d), *response = kj_mobj(d), *result = kj_mobj(d);
    const char *word = h->arg ? (const char *)h->arg : word_of(path);
    CLEANUP(mem_free) char *huge = xnewn0((1 << 20) + 1, char);

    c->status = 200;
    if (streq(word, "hang"))
        c->error = -ETIMEDOUT;
    else if (streq(word, "refuse"))
        c->error = -ECONNREFUSED;
    else if (streq(word, "garbage"))
        c->body = xstrdup("{\"response\":{\"convertedObjects\":[");
    else if (streq(word, "sick"))
        c->status = 500, c->body = xstrdup("out of order\n");
    if (c->error || c->body)
        return;
    bool failed = streq(word, "failed") || streq(word, "huge") || streq(word, "silent");
    memset(huge, 'x', 1 << 20);
    kj_mset(d, result, "status", kj_mstr(d, failed ? "Failed" : "Success"));
    if (failed && !streq(word, "silent"))
        kj_mset(d, result, "message", kj_mstr(d, streq(word, "huge") ? huge : "no way"));
    kj_mset(d, response, "uid",
            streq(word, "liar") ? kj_mstr(d, "other") : kj_mcopy(d, kj_get(request, "uid")));
    kj_mset(d, response, "result", result);
    kj_mset(d, response, "convertedObjects", convert_all(word, d, request));
    kj_mset(d, answer, "kind", kj_mstr(d, streq(word, "nokind") ? "" : "ConversionReview"));
    kj_mset(d, answer, "apiVersion", kj_mcopy(d, kj_get(review, "apiVersion")));
    if (!streq(word, "empty"))
        kj_mset(d, answer, "response", response);
    kj_mwrite(answer, 0, &text);
    c->body = strbuf_take(&text);
}

/* A server with the definition, whose webhook does what the path says. */
static void start(struct fixture *r, struct hook_server *h, const char *path, bool v2_stored)
{
    CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;

    fixture_init(r, 1);
    hook_server_init(h, r);
    h->answer = answer;
    strbuf_appendf(&b, CRD, "v1", path, v2_stored ? "false" : "true", v2_stored ? "true" : "false");
    if (fixture_post(r, CRDS, fixture_json(b.data)) != 201)
        fail_msg("%s", r->text.data);
    loop_advance(r->loop, NSEC_PER_SEC);
}

static void add_v1(struct fixture *r, const char *name, const char *at)
{
    char body[300];

    (void)snprintf(body, sizeof body,
                   "{'apiVersion':'ex.io/v1','kind':'Link','metadata':{'name':'%s',"
                   "'labels':{'of':'%s'}},'spec':{'at':'%s'}}",
                   name, name, at);
    if (fixture_post(r, V1, fixture_json(body)) != 201)
        fail_msg("%s", r->text.data);
}

/* ---- reads ----------------------------------------------------------------------------------- */

static void test_get_asks_once_for_what_is_stored_otherwise(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;

    (void)state;
    start(&r, &h, "ok", false);
    add_v1(&r, "a", "h:1");
    assert_int_equal(fixture_get(&r, V1 "/a"), 200);
    assert_int_equal(h.n, 0);
    CLEANUP(mem_free) char *rev = xstrdup(fixture_str(&r, "metadata.resourceVersion"));
    assert_int_equal(fixture_get(&r, V2 "/a"), 200);
    assert_string_equal(fixture_str(&r, "apiVersion"), "ex.io/v2");
    assert_string_equal(fixture_str(&r, "spec.host"), "h");
    assert_string_equal(fixture_str(&r, "spec.port"), "1");
    assert_string_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
    assert_int_equal(h.n, 1);
    assert_string_equal(h.paths[0], "/ok?timeout=30s");
    assert_string_equal(hook_asked(&h, 0, "kind"), "ConversionReview");
    assert_string_equal(hook_asked(&h, 0, "apiVersion"), "apiextensions.k8s.io/v1");
    assert_string_equal(hook_asked(&h, 0, "request.desiredAPIVersion"), "ex.io/v2");
    assert_int_equal(strlen(hook_asked(&h, 0, "request.uid")), 36);
    assert_int_equal(fixture_get(&r, V2 "/a"), 200);
    assert_int_equal(h.n, 1); /* kept */
}

static void test_a_list_is_converted_in_batches_and_in_order(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    char name[20], at[20];

    (void)state;
    start(&r, &h, "ok", false);
    for (int i = 0; i < 250; i++) {
        (void)snprintf(name, sizeof name, "l%03d", i);
        (void)snprintf(at, sizeof at, "h:%d", i);
        add_v1(&r, name, at);
    }
    assert_int_equal(fixture_get(&r, V2), 200);
    assert_int_equal(h.n, 3);
    const struct kj_val *items = fixture_val(&r, "items");
    assert_int_equal(kj_len(items), 250);
    for (int i = 0; i < 250; i++) {
        (void)snprintf(name, sizeof name, "l%03d", i);
        (void)snprintf(at, sizeof at, "%d", i);
        assert_string_equal(kj_str_or(kj_path(kj_at(items, (size_t)i), "metadata.name"), ""), name);
        assert_string_equal(kj_str_or(kj_path(kj_at(items, (size_t)i), "spec.port"), ""), at);
    }
    /* A page needs no more than its own objects; selectors see what was converted. */
    assert_int_equal(fixture_get(&r, V2 "?labelSelector=of=l007"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
    assert_int_equal(fixture_get(&r, V2 "?limit=10"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 10);
    assert_int_equal(h.n, 3);
}

static void test_others_do_not_wait_for_a_read_that_does(void **state)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    struct fixture slow = { 0 };

    (void)state;
    start(&r, &h, "ok", false);
    add_v1(&r, "a", "h:1");
    h.delay = 5 * NSEC_PER_SEC;
    fixture_start(&r, &sink, &slow, "GET", V2 "/a", NULL, NULL);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_false(slow.answered);
    assert_int_equal(fixture_get(&r, V1 "/a"), 200);
    add_v1(&r, "b", "h:2");
    /* The same question is asked once. */
    struct fixture second = { 0 };
    fixture_start(&r, &sink, &second, "GET", V2 "/a", NULL, NULL);
    loop_advance(r.loop, 10 * NSEC_PER_SEC);
    assert_int_equal(slow.status, 200);
    assert_int_equal(second.status, 200);
    assert_int_equal(h.n, 1);
    kj_doc_free(slow.doc);
    strbuf_fini(&slow.text);
    kj_doc_free(second.doc);
    strbuf_fini(&second.text);
}

static void test_who_goes_away_leaves_nothing_behind(void **state)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    struct fixture gone = { 0 };

    (void)state;
    start(&r, &h, "ok", false);
    add_v1(&r, "a", "h:1");
    h.delay = 5 * NSEC_PER_SEC;
    api_cancel(fixture_start(&r, &sink, &gone, "GET", V2 "/a", NULL, NULL));
    /* One is left waiting while the definition goes, one while the server does. */
    fixture_start(&r, &sink, &gone, "GET", V2 "/a", NULL, NULL);
    assert_int_equal(fixture_delete(&r, CRDS "/links.ex.io", NULL), 200);
    loop_advance(r.loop, 10 * NSEC_PER_SEC);
    assert_true(gone.answered);
    kj_doc_free(gone.doc);
    strbuf_fini(&gone.text);
}

/* ---- writes ---------------------------------------------------------------------------------- */

static void test_writes_in_another_version_are_stored_in_theirs(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;

    (void)state;
    start(&r, &h, "ok", false);
    assert_int_equal(fixture_post(&r, V2,
                                  fixture_json("{'apiVersion':'ex.io/v2','kind':'Link','metadata':"
                                               "{'generateName':'g-'},'spec':{'host':'x',"
                                               "'port':'9','other':1}}")),
                     201);
    CLEANUP(mem_free) char *name = xstrdup(fixture_str(&r, "metadata.name"));
    CLEANUP(mem_free) char *uid = xstrdup(fixture_str(&r, "metadata.uid"));
    assert_string_equal(fixture_str(&r, "spec.host"), "x");
    assert_string_equal(hook_asked(&h, 0, "request.desiredAPIVersion"), "ex.io/v1");
    const struct kj_val *sent = kj_at(kj_path(kj_root(h.asked[0]), "request.objects"), 0);
    assert_string_equal(kj_str_or(kj_path(sent, "metadata.uid"), ""), uid);
    assert_string_equal(kj_str_or(kj_path(sent, "metadata.resourceVersion"), "none"), "none");

    char target[200];
    (void)snprintf(target, sizeof target, V1 "/%s", name);
    size_t asked = h.n;
    assert_int_equal(fixture_get(&r, target), 200);
    assert_int_equal(h.n, asked);
    assert_string_equal(fixture_str(&r, "spec.at"), "x:9");
    assert_string_equal(fixture_str(&r, "metadata.uid"), uid);

    (void)snprintf(target, sizeof target, V2 "/%s", name);
    assert_int_equal(fixture_do(&r, "PATCH", target, MERGE, "{\"spec\":{\"port\":\"10\"}}"), 200);
    assert_string_equal(fixture_str(&r, "spec.port"), "10");
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 2);
    CLEANUP(mem_free) char *rev = xstrdup(fixture_str(&r, "metadata.resourceVersion"));
    assert_int_equal(fixture_do(&r, "PATCH", target, MERGE, "{}"), 200);
    assert_string_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
    (void)snprintf(target, sizeof target, V1 "/%s", name);
    assert_int_equal(fixture_get(&r, target), 200);
    assert_string_equal(fixture_str(&r, "spec.at"), "x:10");
}

static void test_a_write_that_was_overtaken_starts_again(void **state)
{
    static const struct api_sink sink = { .reply = fixture_on_reply };
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    struct fixture slow = { 0 };

    (void)state;
    start(&r, &h, "ok", false);
    add_v1(&r, "a", "h:1");
    h.delay = NSEC_PER_SEC;
    fixture_start(&r, &sink, &slow, "PATCH", V2 "/a", MERGE, "{\"spec\":{\"host\":\"n\"}}");
    loop_advance(r.loop, 1500 * NSEC_PER_MSEC); /* it is read; now it is being written */
    assert_int_equal(
        fixture_do(&r, "PATCH", V1 "/a", MERGE, "{\"metadata\":{\"labels\":{\"l\":\"2\"}}}"), 200);
    loop_advance(r.loop, 20 * NSEC_PER_SEC);
    assert_int_equal(slow.status, 200);
    assert_int_equal(fixture_get(&r, V1 "/a"), 200);
    assert_string_equal(fixture_str(&r, "spec.at"), "n:1");
    assert_string_equal(fixture_str(&r, "metadata.labels.l"), "2");
    kj_doc_free(slow.doc);
    strbuf_fini(&slow.text);
}

static void on_any(void *arg, struct api_call *c, int status, const char *json, size_t n)
{
    (void)arg, (void)c, (void)status, (void)json, (void)n;
}

static struct fixture *busy; /* whose object is written at each question */

static void write_beside(struct hook_server *h, void *arg)
{
    static const struct api_sink sink = { .reply = on_any };
    char patch[80];

    (void)arg;
    (void)snprintf(patch, sizeof patch, "{\"metadata\":{\"labels\":{\"l\":\"%zu\"}}}", h->n);
    fixture_start(busy, &sink, NULL, "PATCH", V1 "/a", MERGE, patch);
}

/* Who wants to change an object that others change faster than it is converted gives up. */
static void test_an_object_that_never_rests(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;

    (void)state;
    start(&r, &h, "ok", false);
    add_v1(&r, "a", "h:1");
    h.delay = NSEC_PER_MSEC;
    h.on_ask = write_beside;
    busy = &r;
    assert_int_equal(fixture_do(&r, "PATCH", V2 "/a", MERGE, "{\"spec\":{\"host\":\"n\"}}"), 409);
    assert_string_equal(fixture_str(&r, "reason"), "Conflict");
    assert_that(h.n, <=, 20);
    h.on_ask = NULL;
    assert_int_equal(fixture_do(&r, "PATCH", V2 "/a", MERGE, "{\"spec\":{\"host\":\"n\"}}"), 200);
}

/* A selector that leaves nearly all out: the webhook is asked for more each time. */
static void test_a_page_of_few_asks_ahead(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    char name[24];

    (void)state;
    start(&r, &h, "ok", false);
    for (int i = 0; i < 350; i++) {
        (void)snprintf(name, sizeof name, "l%03d", i);
        add_v1(&r, name, "h:1");
    }
    assert_int_equal(fixture_get(&r, V2 "?limit=1&labelSelector=of%3Dl349"), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
    assert_that(h.n, <=, 6); /* reviews of 100 at most */
}

static void test_apply_scale_and_delete(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;

    (void)state;
    start(&r, &h, "ok", false);
    const char *doc = "apiVersion: ex.io/v2\nkind: Link\nmetadata: {name: s}\n"
                      "spec: {host: h, port: \"1\", n: 3}\n";
    const char *apply = V2 "/s?fieldManager=me";
    assert_int_equal(fixture_do(&r, "PATCH", apply, "application/apply-patch+yaml", doc), 201);
    assert_int_equal(fixture_do(&r, "PATCH", apply, "application/apply-patch+yaml", doc), 200);
    assert_int_equal(fixture_get(&r, V1 "/s"), 200);
    assert_string_equal(fixture_str(&r, "spec.at"), "h:1");
    assert_int_equal(fixture_get(&r, V2 "/s/scale"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.replicas"), 0), 3);
    assert_int_equal(fixture_do(&r, "PATCH", V2 "/s/scale", MERGE, "{\"spec\":{\"replicas\":5}}"),
                     200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "spec.replicas"), 0), 5);
    /* A finalizer, then a deletion that only marks, in the version that is not stored. */
    assert_int_equal(
        fixture_do(&r, "PATCH", V2 "/s", MERGE, "{\"metadata\":{\"finalizers\":[\"a.io/b\"]}}"),
        200);
    assert_int_equal(fixture_delete(&r, V2 "/s", NULL), 200);
    assert_string_equal(fixture_str(&r, "spec.host"), "h");
    assert_true(*fixture_str(&r, "metadata.deletionTimestamp"));
    assert_int_equal(fixture_get(&r, V1 "/s"), 200);
    assert_string_equal(fixture_str(&r, "spec.at"), "h:1");
    assert_int_equal(
        fixture_do(&r, "PATCH", V2 "/s", MERGE, "{\"metadata\":{\"finalizers\":null}}"), 200);
    assert_int_equal(fixture_get(&r, V1 "/s"), 404);
    add_v1(&r, "t", "h:1");
    assert_int_equal(fixture_delete(&r, V2, NULL), 200);
    assert_int_equal(kj_len(fixture_val(&r, "items")), 1);
    assert_int_equal(fixture_get(&r, V1 "/t"), 404);
}

/* ---- watches --------------------------------------------------------------------------------- */

static void test_watches_keep_their_order(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;
    struct fixture_watch w = { 0 }, selected = { 0 };

    (void)state;
    start(&r, &h, "ok", false);
    add_v1(&r, "a", "h:1");
    add_v1(&r, "b", "h:2");
    h.delay = 200 * NSEC_PER_MSEC;
    fixture_watch(&r, &w, V2 "?watch=1");
    fixture_watch(&r, &selected, V2 "?watch=1&labelSelector=of=b");
    add_v1(&r, "c", "h:3");
    assert_int_equal(fixture_delete(&r, V1 "/a", NULL), 200);
    add_v1(&r, "d", "h:4");
    assert_string_equal(w.log, "");
    assert_int_equal(
        fixture_do(&r, "PATCH", V1 "/b", MERGE, "{\"metadata\":{\"labels\":{\"of\":\"x\"}}}"), 200);
    loop_advance(r.loop, 10 * NSEC_PER_SEC);
    assert_string_equal(w.log, "ADDED a;ADDED b;ADDED c;DELETED a;ADDED d;MODIFIED b;");
    assert_string_equal(selected.log, "ADDED b;DELETED b;");
    /* A webhook that fails ends the watch, and says why. */
    h.arg = "failed";
    add_v1(&r, "e", "h:5");
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_non_null(strstr(w.log, "ERROR"));
    assert_int_equal(w.ended, 1);
    assert_int_equal(selected.ended, 1);
}

/* ---- webhooks that fail ---------------------------------------------------------------------- */

static void test_what_webhooks_do_wrong(void **state)
{
#define FOR "conversion webhook for ex.io/v1, Kind=Link"
    static const struct {
        const char *word, *message;
    } rows[] = {
        { "failed", FOR " failed: no way" },
        { "silent", FOR " failed: response.result.status was 'Failed', not 'Success'" },
        { "empty", FOR " failed: no response provided" },
        { "nokind", FOR " failed: expected webhook response of apiextensions.k8s.io/v1, "
                        "Kind=ConversionReview, got apiextensions.k8s.io/v1, Kind=" },
        { "liar", FOR " failed: expected response.uid=" },
        { "fewer", FOR " returned 0 objects, expected 1" },
        { "nulls", FOR " returned invalid object at index 0: Object 'Kind' is missing in 'null'" },
        { "name", FOR " returned invalid object: must have the same name: a != other" },
        { "uid", FOR " returned invalid object: must have the same UID: " },
        { "kind", FOR " returned invalid object at index 0: invalid kind (expected Link, received "
                      "Other)" },
        { "version", FOR " returned invalid object at index 0: invalid groupVersion (expected "
                         "ex.io/v2, received ex.io/v9)" },
        { "nometa", FOR " returned invalid object: must have the same name: a != " },
        { "badmeta", FOR " returned invalid object: must have the same name: a != " },
        { "badlabel", FOR " returned invalid metadata: metadata.labels: Invalid value: \"not a "
                          "key\": " },
        { "typedlabel", FOR " returned invalid metadata: metadata.labels[converted] must be a "
                            "string, but is int64 in converted object" },
        { "garbage", FOR " failed: couldn't get version/kind; json parse error: " },
        { "sick", FOR " failed: an error on the server (\"out of order\") has prevented the "
                      "request from succeeding" },
        { "refuse", FOR " failed: Post \"https://127.0.0.1:9/ok?timeout=30s\": dial tcp "
                        "127.0.0.1:9: connect: connection refused" },
        { "hang", FOR " failed: Post \"https://127.0.0.1:9/ok?timeout=30s\": context deadline "
                      "exceeded" },
        { "huge", FOR " failed: xxxxxxxxxx" },
    };
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;

    (void)state;
    start(&r, &h, "ok", false);
    add_v1(&r, "a", "h:1");
    r.patience = 40 * NSEC_PER_SEC;
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        h.arg = (void *)(uintptr_t)rows[i].word;
        assert_int_equal(fixture_get(&r, V2 "/a"), 500);
        if (!str_starts(fixture_str(&r, "message"), rows[i].message))
            fail_msg("%s: %.300s", rows[i].word, fixture_str(&r, "message"));
        assert_int_equal(fixture_get(&r, V2), 500);
        assert_int_equal(fixture_do(&r, "PATCH", V2 "/a", MERGE, "{\"spec\":{\"host\":\"z\"}}"),
                         500);
        assert_int_equal(fixture_post(&r, V2,
                                      fixture_json("{'apiVersion':'ex.io/v2','kind':'Link',"
                                                   "'metadata':{'name':'n'},'spec':{}}")),
                         500);
        assert_int_equal(fixture_get(&r, V1 "/n"), 404); /* nothing of it is stored */
    }
    h.arg = NULL;
    assert_int_equal(fixture_get(&r, V2 "/a"), 200);
    assert_string_equal(fixture_str(&r, "spec.host"), "h");
}

static void test_only_labels_and_annotations_are_taken(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;

    (void)state;
    start(&r, &h, "generation", false);
    add_v1(&r, "a", "h:1");
    assert_int_equal(fixture_get(&r, V2 "/a"), 200);
    assert_int_equal(kj_i64_or(fixture_val(&r, "metadata.generation"), 0), 1);
    add_v1(&r, "b", "h:1");
    h.arg = "labels";
    assert_int_equal(fixture_get(&r, V2 "/b"), 200);
    assert_string_equal(fixture_str(&r, "metadata.labels.converted"), "yes");
    assert_string_equal(fixture_str(&r, "metadata.labels.of"), "");
}

/* ---- definitions ----------------------------------------------------------------------------- */

static void test_the_storage_version_may_change(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;

    (void)state;
    start(&r, &h, "ok", false);
    add_v1(&r, "a", "h:1");
    assert_int_equal(fixture_do(&r, "PATCH", CRDS "/links.ex.io", "application/json-patch+json",
                                fixture_json("[{'op':'replace','path':'/spec/versions/0/storage',"
                                             "'value':false},{'op':'replace','path':"
                                             "'/spec/versions/1/storage','value':true}]")),
                     200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, V1 "/a"), 200);
    assert_int_equal(h.n, 0); /* it is still stored as it was */
    assert_string_equal(fixture_str(&r, "spec.at"), "h:1");
    CLEANUP(mem_free) char *rev = xstrdup(fixture_str(&r, "metadata.resourceVersion"));
    /* A change of nothing brings it into the new version. */
    assert_int_equal(fixture_do(&r, "PATCH", V1 "/a", MERGE, "{}"), 200);
    assert_string_not_equal(fixture_str(&r, "metadata.resourceVersion"), rev);
    size_t asked = h.n;
    assert_int_equal(fixture_get(&r, V2 "/a"), 200);
    assert_string_equal(fixture_str(&r, "spec.host"), "h");
    assert_int_equal(h.n, asked);
}

static void test_review_versions(void **state)
{
    CLEANUP(fixture_fini) struct fixture r;
    CLEANUP(hook_server_fini) struct hook_server h;

    (void)state;
    start(&r, &h, "liar", false);
    add_v1(&r, "a", "h:1");
    assert_int_equal(fixture_get(&r, V2 "/a"), 500);
    assert_int_equal(fixture_do(&r, "PATCH", CRDS "/links.ex.io", MERGE,
                                fixture_json("{'spec':{'conversion':{'webhook':{"
                                             "'conversionReviewVersions':['v7','v1beta1']}}}}")),
                     200);
    loop_advance(r.loop, NSEC_PER_SEC);
    assert_int_equal(fixture_get(&r, V2 "/a"), 200); /* v1beta1 has no uid to compare */
    assert_string_equal(hook_asked(&h, h.n - 1, "apiVersion"), "apiextensions.k8s.io/v1beta1");
}

static void test_what_is_refused_of_definitions(void **state)
{
#define AT "spec.conversion.webhookClientConfig"
    static const struct {
        const char *webhook, *field, *message;
    } rows[] = {
        { "null", AT, "Required value: required when strategy is set to Webhook" },
        { "{'clientConfig':{},'conversionReviewVersions':['v1']}", AT,
          "Required value: exactly one of url or service is required" },
        { "{'clientConfig':{'url':'http://h'},'conversionReviewVersions':['v1']}", AT ".url",
          "'https' is the only allowed URL scheme; desired format: https://host[/path]" },
        { "{'clientConfig':{'url':'https://u@h?q#f'},'conversionReviewVersions':['v1']}", AT ".url",
          "user information is not permitted in the URL" },
        { "{'clientConfig':{'service':{'name':'a','namespace':'b','path':'/x//y','port':0}},"
          "'conversionReviewVersions':['v1']}",
          AT ".service.port", "port is not valid: must be between 1 and 65535, inclusive" },
        { "{'clientConfig':{'service':{'name':'a','namespace':'b','path':'/x//y'}},"
          "'conversionReviewVersions':['v1']}",
          AT ".service.path", "segment[1] may not be empty" },
        { "{'clientConfig':{'url':'https://h'},'conversionReviewVersions':[]}",
          "spec.conversion.conversionReviewVersions", "Required value" },
        { "{'clientConfig':{'url':'https://h'},'conversionReviewVersions':['v7','v7']}",
          "spec.conversion.conversionReviewVersions[1]", "duplicate version" },
        { "{'clientConfig':{'url':'https://h'},'conversionReviewVersions':['v7']}",
          "spec.conversion.conversionReviewVersions", "must include at least one of v1, v1beta1" },
    };
    CLEANUP(fixture_fini) struct fixture r;

    (void)state;
    fixture_init(&r, 1);
    for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
        CLEANUP(strbuf_fini) struct strbuf b = STRBUF_INIT;
        strbuf_appendf(
            &b,
            "{'apiVersion':'apiextensions.k8s.io/v1','kind':'CustomResourceDefinition',"
            "'metadata':{'name':'links.ex.io'},'spec':{'group':'ex.io','scope':'Cluster',"
            "'names':{'plural':'links','kind':'Link'},'conversion':{'strategy':"
            "'Webhook','webhook':%s},'versions':[{'name':'v1','served':true,"
            "'storage':true,'schema':{'openAPIV3Schema':{'type':'object'}}}]}}",
            rows[i].webhook);
        assert_int_equal(fixture_post(&r, CRDS, fixture_json(b.data)), 422);
        bool found = false;
        const struct kj_val *causes = fixture_val(&r, "details.causes");
        for (size_t k = 0; k < kj_len(causes); k++)
            found |= streq(kj_str_or(kj_get(kj_at(causes, k), "field"), ""), rows[i].field) &&
                     strstr(kj_str_or(kj_get(kj_at(causes, k), "message"), ""), rows[i].message);
        if (!found)
            fail_msg("row %zu: %s", i, r.text.data);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_get_asks_once_for_what_is_stored_otherwise),
    cmocka_unit_test(test_a_list_is_converted_in_batches_and_in_order),
    cmocka_unit_test(test_others_do_not_wait_for_a_read_that_does),
    cmocka_unit_test(test_who_goes_away_leaves_nothing_behind),
    cmocka_unit_test(test_writes_in_another_version_are_stored_in_theirs),
    cmocka_unit_test(test_a_write_that_was_overtaken_starts_again),
    cmocka_unit_test(test_an_object_that_never_rests),
    cmocka_unit_test(test_a_page_of_few_asks_ahead),
    cmocka_unit_test(test_apply_scale_and_delete),
    cmocka_unit_test(test_watches_keep_their_order),
    cmocka_unit_test(test_what_webhooks_do_wrong),
    cmocka_unit_test(test_only_labels_and_annotations_are_taken),
    cmocka_unit_test(test_the_storage_version_may_change),
    cmocka_unit_test(test_review_versions),
    cmocka_unit_test(test_what_is_refused_of_definitions),
};
FIXTURE_MAIN(tests)
