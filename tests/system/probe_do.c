/* probe_do.c - single requests: one from the command line, or one a line of standard input.
 *
 * A request is   VERB KIND KEY [JSON]    VERB: see the table; KEY: name or namespace/name
 * Prints         200 KEY                 then the body on a line of its own with --print
 *                409 Conflict KEY: TEXT  the server's reason and message; 0 when it did not answer
 * A body for create may leave out apiVersion, kind, name and namespace. With --parallel N (8) lines
 * have that many requests in flight, and results come in any order. "-" for KEY lists everything.
 */
#include <stdio.h>

#include "loop/loop.h"
#include "json/kj.h"

#include "probe.h"

enum { PARALLEL_DEFAULT = 8 };

static const struct verb {
    const char *name;
    enum kube_verb verb;
    enum kube_patch patch;
    const char *subresource;
} verbs[] = {
    { "get", KUBE_GET, 0, NULL },
    { "get-status", KUBE_GET, 0, "status" },
    { "list", KUBE_LIST, 0, NULL },
    { "create", KUBE_CREATE, 0, NULL },
    { "update", KUBE_UPDATE, 0, NULL },
    { "delete", KUBE_DELETE, 0, NULL },
    { "patch", KUBE_PATCH, KUBE_PATCH_MERGE, NULL },
    { "patch-json", KUBE_PATCH, KUBE_PATCH_JSON, NULL },
    { "patch-strategic", KUBE_PATCH, KUBE_PATCH_STRATEGIC, NULL },
    { "patch-apply", KUBE_PATCH, KUBE_PATCH_APPLY, NULL },
    { "patch-status", KUBE_PATCH, KUBE_PATCH_MERGE, "status" },
};

struct doer;
struct request {
    struct doer *d;
    char *key;
};
struct doer {
    struct probe *p;
    struct lines vec_of(char *) lines; /* from `next` on: not sent yet */
    size_t next;
    unsigned in_flight;
    bool no_more;
};

static void pump(struct doer *d);

static void on_done(void *arg, struct kube_resp *r, const struct kerr *err)
{
    struct request *q = arg;
    struct doer *d = q->d;

    if (!err) {
        printf("%d %s\n", r->status, q->key);
        if (d->p->o.print)
            printf("%.*s\n", (int)strcspn(r->body, "\r\n"), r->body);
    } else {
        const char *reason = kreason_name(err->reason);
        printf("%d %s%s%s: %s\n", err->reason ? kreason_http(err->reason) : 0, reason,
               *reason ? " " : "", q->key, err->text);
        d->p->status = 1;
    }
    free(q->key);
    free(q);
    d->in_flight--;
    pump(d);
}

/* What a create body leaves out. */
static int complete(const struct kind *k, const char *ns, const char *name, const char *json,
                    struct strbuf *out, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    CLEANUP(kj_mdoc_free) struct kj_mdoc *m = kj_mdoc_new();
    char api_version[128];

    if (kj_parse(json, strlen(json), 0, &doc, err) < 0)
        return kerr_wrap(err, "body");
    if (kj_type(kj_root(doc)) != KJ_OBJ)
        return kerr_set(err, -EINVAL, "body: not an object");
    struct kj_mval *root = kj_mcopy(m, kj_root(doc));
    kind_api_version(k, api_version, sizeof api_version);
    kj_mset(m, root, "apiVersion", kj_mstr(m, api_version));
    kj_mset(m, root, "kind", kj_mstr(m, k->kind));
    if (!kj_mget(root, "metadata"))
        kj_mset(m, root, "metadata", kj_mobj(m));
    struct kj_mval *meta = kj_mget(root, "metadata");
    kj_mset(m, meta, "name", kj_mstr(m, name));
    if (k->namespaced)
        kj_mset(m, meta, "namespace", kj_mstr(m, ns));
    kj_mwrite(root, 0, out);
    return 0;
}

static const struct verb *find_verb(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(verbs); i++)
        if (streq(verbs[i].name, name))
            return &verbs[i];
    return NULL;
}

/* words: VERB KIND KEY [JSON]. */
static int send_request(struct doer *d, const char *const *words, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf body = STRBUF_INIT;
    const struct verb *v = find_verb(words[0]);
    const struct kind *k;

    if (!v || !words[1] || !words[2])
        return kerr_set(err, -EINVAL, "'%.40s': expected VERB KIND KEY [JSON]",
                        str_or(words[0], ""));
    if (probe_find_kind(words[1], &k, err) < 0)
        return err->code;
    const char *key = words[2], *slash = strchr(key, '/'), *name = slash ? slash + 1 : key;
    CLEANUP(mem_free)
    char *ns = slash ? xstrndup(key, (size_t)(slash - key)) : xstrdup(d->p->config_ns);
    if (v->verb == KUBE_CREATE) {
        if (complete(k, ns, name, str_or(words[3], "{}"), &body, err) < 0)
            return err->code;
    } else if (words[3]) {
        strbuf_append(&body, words[3]);
    }
    bool everything = v->verb == KUBE_LIST && streq(key, "-");
    struct kube_req r = {
        .verb = v->verb,
        .kind = k,
        .ns = k->namespaced && !everything ? ns : NULL,
        .name = v->verb == KUBE_CREATE || v->verb == KUBE_LIST ? NULL : name,
        .subresource = v->subresource,
        .patch = v->patch,
        .body = body.data,
        .body_len = body.len,
        .field_manager = v->patch == KUBE_PATCH_APPLY ? "kube_probe" : NULL,
        .no_retry = true,
    };
    struct request *q = xnew0(struct request);
    q->d = d;
    q->key = xstrdup(key);
    d->in_flight++;
    kube_do(d->p->kube, &r, on_done, q);
    return 0;
}

static int send_line(struct doer *d, char *line, struct kerr *err)
{
    const char *words[5] = { NULL };
    for (size_t i = 0; i < 3; i++)
        words[i] = strsep(&line, " ");
    words[3] = line;
    return send_request(d, words, err);
}

static void pump(struct doer *d)
{
    unsigned limit = d->p->o.parallel ? (unsigned)d->p->o.parallel : PARALLEL_DEFAULT;
    struct kerr err = { 0 };

    while (d->next < d->lines.n && d->in_flight < limit) {
        CLEANUP(mem_free) char *line = d->lines.items[d->next++];
        if (send_line(d, line, &err) < 0) {
            (void)fprintf(stderr, "kube_probe: %s\n", err.text);
            d->p->status = 1;
        }
    }
    if (d->no_more && d->next == d->lines.n && d->in_flight == 0)
        loop_stop(d->p->loop);
}

static void on_line(void *arg, char *line)
{
    struct doer *d = arg;
    if (!line)
        d->no_more = true;
    else if (*line)
        vec_push(&d->lines, xstrdup(line));
    pump(d);
}

static int start(struct probe *p, void **ret_state, struct kerr *err)
{
    struct doer *d = xnew0(struct doer);
    *ret_state = d;
    d->p = p;
    if (!p->o.words[0])
        return probe_read_lines(p, on_line, d, err);
    d->no_more = true;
    return send_request(d, p->o.words, err);
}

static void end(void *state)
{
    struct doer *d = state;
    if (!d)
        return;
    for (; d->next < d->lines.n; d->next++)
        free(d->lines.items[d->next]);
    vec_fini(&d->lines);
    free(d);
}

const struct probe_verb probe_do = { "do", start, end };
