/* regex.c - patterns of schemas with their text. */
#include "apiserver/crd/regex.h"

#include "cel/re.h"

struct regex {
    char *go;
    struct re *re;
};

int regex_new(const char *go, struct regex **ret, struct kerr *err)
{
    struct re *re = NULL;
    int e = re_new(go, strlen(go), &re, err);

    if (e < 0)
        return e;
    *ret = xnew0(struct regex);
    (*ret)->go = xstrdup(go);
    (*ret)->re = re;
    return 0;
}

struct regex *regex_free(struct regex *r)
{
    if (!r)
        return NULL;
    re_free(r->re);
    free(r->go);
    free(r);
    return NULL;
}

bool regex_is(const struct regex *r, const char *go)
{
    return streq(r->go, go);
}

bool regex_match(const struct regex *r, const char *s, size_t n)
{
    return re_match(r->re, s, n);
}

int regex_check(const char *go, struct kerr *err)
{
    CLEANUP(re_free) struct re *re = NULL;
    return re_new(go, strlen(go), &re, err);
}
