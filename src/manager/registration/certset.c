/* certset.c - checking, making and storing the certificates. */
#include "manager/registration/certset.h"

#include "api/core.h"
#include "base/b64.h"
#include "net/certauth.h"
#include "json/kj.h"

#define CA_NAME    "webhook-cert-ca"
#define DAY        (86400 * NSEC_PER_SEC)
#define SIX_MONTHS (182 * DAY)
#define ONE_YEAR   (365 * DAY)
enum { DAYS = 3650, PART_MAX = 256 << 10 };

/* Names in the Secret; a part may have two. */
static const struct {
    const char *key;
    enum certset_part part;
} keys[] = {
    { "ca-key.pem", CERTSET_CA_KEY }, { "ca-cert.pem", CERTSET_CA }, { "key.pem", CERTSET_KEY },
    { "tls.key", CERTSET_KEY },       { "cert.pem", CERTSET_CERT },  { "tls.crt", CERTSET_CERT },
};

void certset_fini(struct certset *s)
{
    for (size_t i = 0; i < CERTSET_PARTS; i++)
        strbuf_fini(&s->part[i]);
}

void certset_copy(struct certset *to, const struct certset *from)
{
    for (size_t i = 0; i < CERTSET_PARTS; i++) {
        strbuf_reset(&to->part[i]);
        strbuf_append(&to->part[i], strbuf_str(&from->part[i]));
    }
}

bool certset_equal(const struct certset *a, const struct certset *b)
{
    for (size_t i = 0; i < CERTSET_PARTS; i++)
        if (i != CERTSET_CA_KEY && !streq(strbuf_str(&a->part[i]), strbuf_str(&b->part[i])))
            return false;
    return true;
}

struct str certset_get(const struct certset *s, enum certset_part part)
{
    return (struct str){ s->part[part].data, s->part[part].len };
}

/* ---- rules ----------------------------------------------------------------------------------- */

int certset_check(const struct certset *s, const char *host, nsec_t now, struct kerr *err)
{
    struct str cert = certset_get(s, CERTSET_CERT), key = certset_get(s, CERTSET_KEY);
    struct str ca = certset_get(s, CERTSET_CA);

    if (!cert.n || !key.n || !ca.n)
        return kerr_set(err, -ENOENT, "no %s",
                        !cert.n  ? "certificate"
                        : !key.n ? "key"
                                 : "certificate of the CA");
    if (!certauth_is_pair(cert, key))
        return kerr_set(err, -EKEYREJECTED, "the key does not belong to the certificate");
    return certauth_verify(cert, ca, host, now + SIX_MONTHS, err);
}

static bool ca_is_good(const struct certset *s, nsec_t now)
{
    struct str ca = certset_get(s, CERTSET_CA);

    return certauth_is_pair(ca, certset_get(s, CERTSET_CA_KEY)) &&
           certauth_verify(ca, ca, NULL, now + ONE_YEAR, NULL) == 0;
}

int certset_make(const struct certset *old, const char *host, nsec_t now, struct certset *ret,
                 struct kerr *err)
{
    CLEANUP(certset_fini) struct certset s = { 0 };

    if (ca_is_good(old, now)) {
        strbuf_append(&s.part[CERTSET_CA], strbuf_str(&old->part[CERTSET_CA]));
        strbuf_append(&s.part[CERTSET_CA_KEY], strbuf_str(&old->part[CERTSET_CA_KEY]));
    } else if (certauth_make_ca(CA_NAME, now, DAYS, &s.part[CERTSET_CA], &s.part[CERTSET_CA_KEY],
                                err) < 0) {
        return err->code;
    }
    const struct certauth_leaf leaf = { certset_get(&s, CERTSET_CA),
                                        certset_get(&s, CERTSET_CA_KEY), host, now, DAYS };
    if (certauth_sign(&leaf, &s.part[CERTSET_CERT], &s.part[CERTSET_KEY], err) < 0)
        return err->code;
    certset_copy(ret, &s);
    return 0;
}

/* ---- the Secret ------------------------------------------------------------------------------ */

void certset_of_secret(const struct secret *s, struct certset *ret)
{
    certset_fini(ret);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        struct strbuf *part = &ret->part[keys[i].part];
        const char *text = kstrmap_get(&s->data, keys[i].key);
        size_t n = text ? strlen(text) : 0;
        if (part->len || n == 0 || n > PART_MAX)
            continue;
        if (b64_decode(text, n, part) < 0 || memchr(part->data, '\0', part->len))
            strbuf_fini(part);
    }
}

void certset_write_data(const struct certset *s, struct kjw *w)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;

    kjw_obj(w, "data");
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        const struct strbuf *part = &s->part[keys[i].part];
        strbuf_reset(&text);
        b64_encode(part->data, part->len, &text);
        kjw_strn(w, keys[i].key, text.data, text.len);
    }
    kjw_end(w);
}
