/* accept.c - which media types the client sends and takes. */
#include <strings.h>

#include "apiserver/http/protobuf.h"
#include "apiserver/registry/internal.h"
#include "base/num.h"

static struct str trim(const char *p, size_t n)
{
    while (n && (*p == ' ' || *p == '\t'))
        p++, n--;
    while (n && (p[n - 1] == ' ' || p[n - 1] == '\t'))
        n--;
    return (struct str){ p, n };
}

static bool is(struct str s, const char *word)
{
    return s.n == strlen(word) && strncasecmp(s.p, word, s.n) == 0;
}

/* The next piece up to `sep`, moving *p past it. */
static struct str piece(const char **p, const char *end, char sep)
{
    const char *stop = memchr(*p, sep, (size_t)(end - *p));
    if (!stop)
        stop = end;
    struct str s = trim(*p, (size_t)(stop - *p));
    *p = stop < end ? stop + 1 : end;
    return s;
}

/* Tables are never told in protobuf, and objects only of kinds that have numbers. */
static bool takes_protobuf(const struct api_call *c, enum api_format format)
{
    return format == API_AS_METADATA ||
           (format == API_AS_OBJECT && !c->res->crd &&
            protobuf_serves(c->res->group, c->res->version, c->res->kind));
}

/* One clause: "application/json;as=Table;v=v1;g=meta.k8s.io". false: not for us. */
static bool take_clause(struct api_call *c, struct str clause)
{
    const char *p = clause.p, *end = p + clause.n;
    struct str type = piece(&p, end, ';'), as = { 0 }, g = { 0 }, v = { 0 };
    bool yaml = is(type, "application/yaml"), protobuf = is(type, PROTOBUF_TYPE);
    enum api_format format = API_AS_OBJECT;

    if (!yaml && !protobuf && !is(type, "application/json") && !is(type, "application/*") &&
        !is(type, "*/*") && !is(type, "*"))
        return false;
    while (p < end) {
        struct str param = piece(&p, end, ';');
        if (param.n > 3 && strncmp(param.p, "as=", 3) == 0)
            as = (struct str){ param.p + 3, param.n - 3 };
        else if (param.n > 2 && strncmp(param.p, "g=", 2) == 0)
            g = (struct str){ param.p + 2, param.n - 2 };
        else if (param.n > 2 && strncmp(param.p, "v=", 2) == 0)
            v = (struct str){ param.p + 2, param.n - 2 };
    }
    if (as.n) {
        if (!str_eqz(g, "meta.k8s.io") || (!str_eqz(v, "v1") && !str_eqz(v, "v1beta1")))
            return false;
        if (str_eqz(as, "Table"))
            format = API_AS_TABLE;
        else if (str_eqz(as, "PartialObjectMetadata") || str_eqz(as, "PartialObjectMetadataList"))
            format = API_AS_METADATA;
        else
            return false;
    }
    if ((protobuf && !takes_protobuf(c, format)) || (format == API_AS_TABLE && is_review(c->res)))
        return false;
    c->format = format;
    if (yaml || protobuf)
        c->reply_type = yaml ? "application/yaml" : PROTOBUF_TYPE;
    return true;
}

/* ---- order --------------------------------------------------------------------------------------
 */

struct clause {
    struct str text;
    double q;
    bool any_type, any_subtype;
};

/* What cannot be read as a number counts as 0, and that is last, not never. */
static double quality(struct str clause)
{
    const char *p = clause.p, *end = p + clause.n;
    double q = 1;

    (void)piece(&p, end, ';');
    while (p < end) {
        struct str param = piece(&p, end, ';');
        if (param.n < 3 || strncmp(param.p, "q=", 2) != 0 || memchr(param.p + 2, '=', param.n - 2))
            continue;
        if (f64_parse(param.p + 2, param.n - 2, &q) < 0)
            q = 0;
    }
    return q;
}

static struct clause read_clause(struct str text)
{
    const char *p = text.p, *end = p + text.n;
    struct str type = piece(&p, end, ';');
    const char *slash = memchr(type.p, '/', type.n);

    return (struct clause){
        .text = text,
        .q = quality(text),
        .any_type = type.n && *type.p == '*',
        .any_subtype = is(type, "*") || (slash && slash + 2 == type.p + type.n && slash[1] == '*')
    };
}

/* Upstream's rule. It is no order (a type that is named goes before any type, whatever their
 * qualities), so what comes out depends on the way of sorting too: by insertion, as there. */
static bool goes_before(const struct clause *a, const struct clause *b)
{
    return a->q > b->q || (!a->any_type && b->any_type) || (!a->any_subtype && b->any_subtype);
}

const char *accept_by_preference(const struct api_call *c)
{
    enum { CLAUSES_MAX = 64 }; /* those beyond are not looked at */
    const char *p = str_or(c->accept, ""), *end = p + strlen(p);
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;
    struct clause list[CLAUSES_MAX];
    size_t n = 0;

    if (!strchr(p, ',') || (!strstr(p, "q=") && !strchr(p, '*')))
        return p;
    while (p < end && n < CLAUSES_MAX)
        list[n++] = read_clause(piece(&p, end, ','));
    for (size_t i = 1; i < n; i++)
        for (size_t j = i; j > 0 && goes_before(&list[j], &list[j - 1]); j--) {
            struct clause x = list[j];
            list[j] = list[j - 1];
            list[j - 1] = x;
        }
    for (size_t i = 0; i < n; i++)
        strbuf_appendf(&out, "%s%.*s", i ? "," : "", (int)list[i].text.n, list[i].text.p);
    return arena_strdup(c->arena, strbuf_str(&out));
}

bool accept_parse(struct api_call *c)
{
    const char *p = accept_by_preference(c);
    if (str_empty(p))
        return true;
    for (const char *end = p + strlen(p); p < end;)
        if (take_clause(c, piece(&p, end, ',')))
            return true;
    return false;
}

/* There are two texts: of the router, which knows media types, and of what looks at their
 * parameters afterwards. */
void fail_not_acceptable(struct api_call *c)
{
    static const char *const known[] = { "application/json", "application/yaml", PROTOBUF_TYPE };

    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (strcasestr(str_or(c->accept, ""), known[i])) {
            fail_raw(c, 406, "NotAcceptable",
                     "only the following media types are accepted: application/json, "
                     "application/yaml, application/vnd.kubernetes.protobuf",
                     NULL);
            return;
        }
    c->pretty = true;
    fail_raw(
        c, 406, "NotAcceptable",
        "406: Not Acceptable\n\nAvailable representations: application/json, "
        "application/yaml, application/vnd.kubernetes.protobuf, application/json;stream=watch, "
        "application/vnd.kubernetes.protobuf;stream=watch",
        "{}");
}

enum body_type content_type_of(const struct api_call *c)
{
    const char *p = c->content_type;
    if (str_empty(p))
        return BODY_JSON;
    struct str type = piece(&p, p + strlen(p), ';');
    return is(type, "application/json")                      ? BODY_JSON
           : is(type, "application/yaml")                    ? BODY_YAML
           : is(type, "application/vnd.kubernetes.protobuf") ? BODY_PROTOBUF
                                                             : BODY_OTHER;
}
