/* claimwire.c - a claim as the server keeps it, with a finalizer more. */
#include "scheduler/plugins/dynamicresources/claimwire.h"
#include "base/wire.h"

static const char magic[] = { 'k', '8', 's', '\0' };
enum {
    UNKNOWN_RAW = 2, /* runtime.Unknown: the object */
    CLAIM_METADATA = 1,
    META_FINALIZERS = 14,
};

/* All fields as they stand; what is in field `num` comes from fn. */
static int copy(struct str in, uint32_t num, int (*fn)(struct str, const char *, struct strbuf *),
                const char *finalizer, struct strbuf *out)
{
    struct wire_field f;
    bool found = false;
    int r;

    while ((r = wire_next(&in, &f)) > 0) {
        if (f.num != num || f.type != WIRE_BYTES) {
            strbuf_appendn(out, f.raw.p, f.raw.n);
            continue;
        }
        size_t start = out->len;
        found = true;
        if (fn(f.bytes, finalizer, out) < 0)
            return -EBADMSG;
        wire_wrap(out, num, start);
    }
    return r < 0 || !found ? -EBADMSG : 0;
}

static int metadata(struct str in, const char *finalizer, struct strbuf *out)
{
    if (!wire_valid(in))
        return -EBADMSG;
    strbuf_appendn(out, in.p, in.n);
    wire_put_bytes(out, META_FINALIZERS, str_of(finalizer));
    return 0;
}

static int claim(struct str in, const char *finalizer, struct strbuf *out)
{
    return copy(in, CLAIM_METADATA, metadata, finalizer, out);
}

int claimwire_add_finalizer(struct str object, const char *finalizer, struct strbuf *out)
{
    if (object.n < sizeof magic || memcmp(object.p, magic, sizeof magic) != 0)
        return -EBADMSG;
    strbuf_appendn(out, magic, sizeof magic);
    const struct str unknown = { object.p + sizeof magic, object.n - sizeof magic };
    return copy(unknown, UNKNOWN_RAW, claim, finalizer, out);
}
