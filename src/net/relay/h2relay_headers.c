/* h2relay_headers.c - a list of headers as it goes from one session to another. */
#include "net/relay/h2relay_int.h"

void relay_headers_fini(struct relay_headers *h)
{
    strbuf_fini(&h->bytes);
    vec_fini(&h->items);
}

bool relay_headers_add(struct relay_headers *h, struct str name, struct str value, uint8_t flags)
{
    struct relay_header one = { .name = (uint32_t)h->bytes.len,
                                .nname = (uint32_t)name.n,
                                .value = (uint32_t)(h->bytes.len + name.n),
                                .nvalue = (uint32_t)value.n,
                                .flags = flags };

    if (h->bytes.len + name.n + value.n > RELAY_HEADERS_MAX)
        return false;
    strbuf_appendn(&h->bytes, name.p, name.n);
    if (value.n > 0)
        strbuf_appendn(&h->bytes, value.p, value.n);
    vec_push(&h->items, one);
    return true;
}

static struct str name_of(const struct relay_headers *h, size_t i)
{
    return (struct str){ h->bytes.data + h->items.items[i].name, h->items.items[i].nname };
}

struct str relay_headers_get(const struct relay_headers *h, const char *name)
{
    vec_foreach(&h->items, i)
        if (str_eqz(name_of(h, i), name))
            return (struct str){ h->bytes.data + h->items.items[i].value,
                                 h->items.items[i].nvalue };
    return (struct str){ NULL, 0 };
}

void relay_headers_set(struct relay_headers *h, const char *name, struct str value)
{
    vec_foreach(&h->items, i)
        if (str_eqz(name_of(h, i), name)) {
            h->items.items[i].value = (uint32_t)h->bytes.len;
            h->items.items[i].nvalue = (uint32_t)value.n;
            strbuf_appendn(&h->bytes, value.p, value.n);
            return;
        }
}

void relay_headers_remove(struct relay_headers *h, const char *name)
{
    for (size_t i = 0; i < h->items.n;)
        if (str_eqz(name_of(h, i), name))
            vec_remove(&h->items, i);
        else
            i++;
}

nghttp2_nv *relay_headers_nv(const struct relay_headers *h)
{
    nghttp2_nv *nv = xnewn0(h->items.n + 1, nghttp2_nv);

    vec_foreach(&h->items, i) {
        const struct relay_header *one = &h->items.items[i];
        nv[i] = (nghttp2_nv){ .name = (uint8_t *)h->bytes.data + one->name,
                              .namelen = one->nname,
                              .value = (uint8_t *)h->bytes.data + one->value,
                              .valuelen = one->nvalue,
                              .flags = one->flags };
    }
    return nv;
}
