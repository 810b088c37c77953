/* reduced.c - the texts of a reduced object. */
#include "api/reduced.h"

#include "base/intern.h"

char *reduced_put_text(char **at, const char *text, size_t n)
{
    char *out = *at;

    memcpy(out, text, n);
    out[n] = '\0';
    *at += n + 1;
    return out;
}

/* A UUID lies in the struct itself; any other UID points to its text, which must be kept. */
static size_t uid_room(struct kuid uid)
{
    char text[KUID_TEXT_MAX];
    size_t n = kuid_format(uid, text, sizeof text);
    struct kuid again = kuid_parse(text, n);

    return again.hi == uid.hi && again.lo == uid.lo ? 0 : n + 1;
}

size_t reduced_head_room(const struct objmeta *m)
{
    return strlen(m->name) + strlen(m->resource_version) + 2 + uid_room(m->uid);
}

void reduced_put_head(struct kobj *out, const struct kind *k, size_t size, const struct objmeta *m,
                      char **at)
{
    struct objmeta *to = &out->meta;

    *out = (struct kobj){ .kind = k, .refs = 1, .size = (uint32_t)size };
    to->name = reduced_put_text(at, m->name, strlen(m->name));
    to->resource_version = reduced_put_text(at, m->resource_version, strlen(m->resource_version));
    to->uid = m->uid;
    if (uid_room(m->uid)) {
        char text[KUID_TEXT_MAX];
        size_t n = kuid_format(m->uid, text, sizeof text);
        to->uid = kuid_parse(reduced_put_text(at, text, n), n);
    }
    to->ns = istr_ref(m->ns);
}
