/* docker.c - Docker's requests and answers, as hooks know them. */
#include "runtimeproxy/docker.h"

#include "base/klog.h"
#include "net/url.h"
#include "runtimeproxy/docker_json.h"
#include "runtimeproxy/hooked.h"

/* ---- which requests -------------------------------------------------------------------------- */

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool take_prefix(struct str *s, const char *prefix)
{
    size_t n = strlen(prefix);

    if (s->n < n || memcmp(s->p, prefix, n) != 0)
        return false;
    *s = (struct str){ s->p + n, s->n - n };
    return true;
}

/* "/v1.41": one digit, a dot, digits. */
static void skip_version(struct str *s)
{
    size_t n = 4;

    if (s->n < 5 || memcmp(s->p, "/v", 2) != 0 || !is_digit(s->p[2]) || s->p[3] != '.')
        return;
    while (n < s->n && is_digit(s->p[n]))
        n++;
    if (n > 4 && n < s->n && s->p[n] == '/')
        *s = (struct str){ s->p + n, s->n - n };
}

enum docker_verb docker_verb(const char *method, struct str target, struct str *id)
{
    static const struct {
        const char *method, *rest;
        enum docker_verb verb;
    } verbs[] = { { "POST", "/start", DOCKER_START },
                  { "POST", "/stop", DOCKER_STOP },
                  { "POST", "/update", DOCKER_UPDATE },
                  { "DELETE", "", DOCKER_REMOVE } };
    const char *query = target.n > 0 ? memchr(target.p, '?', target.n) : NULL;
    struct str path = { target.p, query ? (size_t)(query - target.p) : target.n };
    size_t n = 0;

    *id = (struct str){ NULL, 0 };
    skip_version(&path);
    if (!take_prefix(&path, "/containers/"))
        return DOCKER_OTHER;
    if (str_eqz(path, "create"))
        return streq(method, "POST") ? DOCKER_CREATE : DOCKER_OTHER;
    while (n < path.n && is_word(path.p[n]))
        n++;
    for (size_t i = 0; n > 0 && i < ARRAY_LEN(verbs); i++)
        if (streq(method, verbs[i].method) &&
            str_eqz((struct str){ path.p + n, path.n - n }, verbs[i].rest)) {
            *id = (struct str){ path.p, n };
            return verbs[i].verb;
        }
    return DOCKER_OTHER;
}

bool docker_wants(void *arg, const char *method, struct str target)
{
    static const char *const names[] = { "other", "create", "start", "stop", "update", "remove" };
    struct str id;
    enum docker_verb verb = docker_verb(method, target, &id);

    hooked_count_call(arg, names[verb]);
    return verb != DOCKER_OTHER;
}

/* ---- what is done with a request ------------------------------------------------------------- */

static nsec_t call_left(const void *call)
{
    (void)call;
    return 0;
}

static void call_forward(void *call, struct str body)
{
    h1relay_forward(call, body);
}

static void call_refuse(void *call, const char *text)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    struct kjw w = kjw_to(&body);

    kjw_obj(&w, NULL);
    kjw_str(&w, "message", text);
    kjw_end(&w);
    h1relay_refuse(call, 500, "application/json", (struct str){ body.data, body.len });
}

static void call_release(void *call)
{
    h1relay_release(call);
}

static void encode(const struct hooked *h, struct strbuf *out)
{
    const struct kj_val *body = kj_root(h->source);
    struct docker_created now = { .is_pod = hooked_kind(h) == HOOKED_RUN_POD };

    if (hooked_kind(h) == HOOKED_UPDATE) {
        docker_write_update(body, h->in.update.resources, out);
        return;
    }
    if (now.is_pod)
        now.run = h->in.run;
    else
        now.create = h->in.create;
    docker_write_create(body, &now, h->p->has_systemd, out);
}

static void fini(struct hooked *h)
{
    kj_doc_free(h->source);
}

static const struct hooked_ops ops = { .left = call_left,
                                       .forward = call_forward,
                                       .refuse = call_refuse,
                                       .release = call_release,
                                       .encode = encode,
                                       .fini = fini,
                                       .has_pod_resources = true,
                                       .has_plain_updates = true };

/* ---- requests -------------------------------------------------------------------------------- */

static struct hooked *begin(struct proxy *p, struct h1relay_call *c, enum hooked_kind kind)
{
    struct hooked *h = hooked_new(p, &ops, c, kind);

    h1relay_call_set(c, h);
    return h;
}

/* NULL: what is no JSON object goes on as it came, and dockerd says what is wrong with it. */
static struct kj_doc *parse(struct str body, const char *what)
{
    struct kj_doc *doc = NULL;
    struct kerr err = { 0 };

    if (kj_parse(body.p, body.n, KJ_RAW_NUMBERS, &doc, &err) == 0 &&
        kj_type(kj_root(doc)) == KJ_OBJ)
        return doc;
    KLOG_W("A request of Docker's API cannot be read, hooks are not asked", KV_S("request", what),
           KV_S("why", err.text[0] ? err.text : "no JSON object"));
    return kj_doc_free(doc);
}

static void refuse_new(struct hooked *h, const char *text)
{
    void *call = h->call;

    hooked_free(h);
    call_refuse(call, text);
}

static void create(struct proxy *p, struct h1relay_call *c, struct str target, struct str body)
{
    CLEANUP(arena_free) struct arena *a = arena_new();
    const char *name = url_query_get(arena_strndup(a, target.p, target.n), "name", a);
    struct docker_name parts;
    struct docker_created made;
    struct kerr err = { 0 };

    if (!docker_name_split(str_or(name, ""), a, &parts)) {
        call_refuse(c, "Failed to split k8s container name");
        return;
    }
    struct kj_doc *doc = parse(body, "create");
    const struct kj_val *root = kj_root(doc);
    bool is_pod = docker_is_pod(kj_get(root, "Labels"));
    struct hooked *h = begin(p, c, is_pod ? HOOKED_RUN_POD : HOOKED_CREATE);
    h->source = doc;
    if (!doc) {
        hooked_begin(h, false);
        return;
    }
    (void)docker_name_split(name, h->arena, &parts); /* for as long as the request lives */
    docker_read_create(root, kj_get(root, "HostConfig"), &parts, p->has_systemd, h->arena, &made);
    if (is_pod)
        h->in.run = made.run;
    else
        h->in.create = made.create;
    bool ok = is_pod ? hooked_read_run(h) : hooked_read_create(h, &err);
    if (err.code == -ENOENT)
        refuse_new(h, "Failed to get pod info");
    else
        hooked_begin(h, ok);
}

static void update(struct proxy *p, struct h1relay_call *c, struct str id, struct str body)
{
    struct hooked *h = begin(p, c, HOOKED_UPDATE);
    struct kerr err = { 0 };

    h->source = parse(body, "update");
    if (h->source) {
        h->in.update.container_id = (struct str){ arena_strndup(h->arena, id.p, id.n), id.n };
        h->in.update.resources = arena_new0(h->arena, struct cri_resources);
        docker_read_update(kj_root(h->source), h->arena, h->in.update.resources);
    }
    hooked_begin(h, h->source && hooked_read_update(h, &err));
}

static void by_id(struct proxy *p, struct h1relay_call *c, enum docker_verb verb, struct str id)
{
    bool is_pod = podstore_get(p->store, STORE_POD, id).p != NULL;
    bool is_known = is_pod || podstore_get(p->store, STORE_CONTAINER, id).p != NULL;
    enum hooked_kind kind = verb == DOCKER_START  ? HOOKED_START
                            : verb == DOCKER_STOP ? is_pod ? HOOKED_STOP_POD : HOOKED_STOP
                            : is_pod              ? HOOKED_REMOVE_POD
                                                  : HOOKED_REMOVE;
    struct hooked *h = begin(p, c, kind);
    struct kerr err;

    if (verb == DOCKER_STOP && !is_known) {
        CLEANUP(mem_free) char *text = xasprintf("No such container: %.*s", (int)id.n, id.p);
        refuse_new(h, text);
        return;
    }
    hooked_begin(h, hooked_read_id(h, id, &err)); /* a sandbox that starts is no container */
}

void docker_request(void *arg, struct h1relay_call *c, const char *method, struct str target,
                    struct str body)
{
    struct str id;
    enum docker_verb verb = docker_verb(method, target, &id);

    assert(verb != DOCKER_OTHER); /* by docker_wants() */
    if (verb == DOCKER_CREATE)
        create(arg, c, target, body);
    else if (verb == DOCKER_UPDATE)
        update(arg, c, id, body);
    else
        by_id(arg, c, verb, id);
}

/* ---- answers --------------------------------------------------------------------------------- */

/* 304: it is so already. */
void docker_answer(void *arg, struct h1relay_call *c, int status, struct str body)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    bool ok = (status >= 200 && status < 300) || status == 304;
    struct str id = { NULL, 0 };

    (void)arg;
    if (status == 201 && kj_parse(body.p, body.n, 0, &doc, NULL) == 0)
        id = str_of(kj_str_or(kj_get(kj_root(doc), "Id"), ""));
    hooked_answered(h1relay_call_get(c),
                    ok              ? HOOKED_OK
                    : status == 404 ? HOOKED_NOT_FOUND
                                    : HOOKED_FAILED,
                    id);
}

void docker_gone(void *arg, struct h1relay_call *c)
{
    (void)arg;
    hooked_free(h1relay_call_get(c));
}
