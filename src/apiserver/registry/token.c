/* token.c - continue tokens of lists.
 *
 * base64url without padding of {"v":"meta.k8s.io/v1","rv":7,"start":"ns/name\0","rem":12}. rv -1:
 * go on in the present, whatever happened meanwhile. */
#include "apiserver/registry/internal.h"
#include "base/b64.h"

const char *token_text(struct arena *a, const struct token *t)
{
    CLEANUP(strbuf_fini) struct strbuf json = STRBUF_INIT, out = STRBUF_INIT, start = STRBUF_INIT;
    struct kjw w = kjw_to(&json);

    strbuf_appendf(&start, "%s/%s", t->ns, t->name);
    strbuf_appendn(&start, "", 1);
    kjw_obj(&w, NULL);
    kjw_str(&w, "v", "meta.k8s.io/v1");
    kjw_i64(&w, "rv", t->rev);
    kjw_strn(&w, "start", start.data, start.len);
    if (t->rem >= 0)
        kjw_i64(&w, "rem", t->rem);
    kjw_end(&w);
    b64_encode(json.data, json.len, &out);
    while (out.len && out.data[out.len - 1] == '=')
        strbuf_truncate(&out, out.len - 1);
    for (char *p = out.data; *p; p++)
        *p = *p == '+' ? '-' : *p == '/' ? '_' : *p;
    return arena_strdup(a, out.data);
}

/* A key that a client made up and that does not stay where it belongs. */
static bool goes_up(const char *start)
{
    for (const char *p = start; *p; p += strspn(p, "/")) {
        size_t n = strcspn(p, "/");
        if (n == 2 && p[0] == '.' && p[1] == '.')
            return true;
        p += n;
    }
    return false;
}

int token_parse(struct api_call *c, struct token *t, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf in = STRBUF_INIT, json = STRBUF_INIT;
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    struct kerr why = { 0 };

    strbuf_append(&in, c->continue_token);
    for (char *p = in.data; *p; p++)
        *p = *p == '-' ? '+' : *p == '_' ? '/' : *p;
    while (in.len % 4)
        strbuf_appendc(&in, '=');
    if (b64_decode(in.data, in.len, &json) < 0)
        kerr_set(&why, -EINVAL, "it is not base64");
    else if (kj_parse(strbuf_str(&json), json.len, 0, &doc, &why) == 0 &&
             !streq(kj_str_or(kj_get(kj_root(doc), "v"), ""), "meta.k8s.io/v1"))
        kerr_set(&why, -EINVAL, "incorrect version");
    const char *start = kj_str(kj_get(kj_root(doc), "start"));
    const char *slash = start ? strchr(start, '/') : NULL;
    if (!why.code &&
        (str_empty(start) || goes_up(start) || kj_i64(kj_get(kj_root(doc), "rv"), &t->rev) < 0 ||
         t->rev < -1 || t->rev == 0))
        kerr_set(&why, -EINVAL, "incorrect encoded start resourceVersion or key");
    if (why.code)
        return kerr_api(err, -EINVAL, KR_BAD_REQUEST,
                        "invalid continue token: continue key is not valid: %s", why.text);
    t->ns = slash ? arena_strndup(c->arena, start, (size_t)(slash - start)) : c->ns;
    t->name = arena_strdup(c->arena, slash ? slash + 1 : start);
    t->rem = kj_i64_or(kj_get(kj_root(doc), "rem"), -1);
    return 0;
}
