/* podhold.c - owners whose pods end before they start: how many may be made again, and when.
 *
 * What is missing for another reason is never held back. Of the pods that stand for refused ones,
 * one is let out when the wait is over, then twice as many each time as long as none of them is
 * refused; a refusal after that doubles the wait.
 */
#include "base/map.h"
#include "cluster/internal.h"

#define HOLD_FIRST NSEC_PER_SEC
#define HOLD_MAX   (30 * NSEC_PER_SEC)

struct held {
    nsec_t wait, due;
    uint32_t owed;    /* refused, and not made again yet */
    uint32_t let_out; /* at the last time, since the last refusal */
    char key[];
};
struct podhold {
    struct loop *loop;
    struct map owners;
};

struct podhold *podhold_new(struct loop *l)
{
    struct podhold *h = xnew0(struct podhold);
    h->loop = l;
    return h;
}

struct podhold *podhold_free(struct podhold *h)
{
    if (!h)
        return NULL;
    podhold_forget_all(h);
    free(h);
    return NULL;
}

void podhold_forget_all(struct podhold *h)
{
    map_foreach(&h->owners, it)
        free(it->value);
    map_fini(&h->owners);
}

void podhold_forget(struct podhold *h, const char *key)
{
    free(map_removez(&h->owners, key));
}

static struct held *add(struct podhold *h, const char *key)
{
    size_t n = strlen(key);
    struct held *x = xcalloc(1, sizeof *x + n + 1);

    memcpy(x->key, key, n + 1);
    map_put(&h->owners, x->key, n, x);
    return x;
}

void podhold_refused(struct podhold *h, const char *key)
{
    struct held *x = map_getz(&h->owners, key);

    if (!x)
        x = add(h, key);
    x->owed++;
    /* Pods that were made together are refused together: that is one failure. */
    if (x->wait && !x->let_out)
        return;
    x->wait = x->wait ? MIN(2 * x->wait, HOLD_MAX) : HOLD_FIRST;
    x->due = loop_mono(h->loop) + x->wait;
    x->let_out = 0;
}

uint32_t podhold_allow(struct podhold *h, const char *key, uint32_t n, nsec_t *ret_wait)
{
    struct held *x = map_getz(&h->owners, key);
    uint32_t held = x ? MIN(n, x->owed) : 0;
    nsec_t now = loop_mono(h->loop);

    *ret_wait = 0;
    if (held == 0)
        return n;
    if (now < x->due) {
        *ret_wait = x->due - now;
        return n - held;
    }
    x->let_out = x->let_out ? MIN(2 * x->let_out, held) : 1;
    x->owed -= x->let_out;
    x->due = now + x->wait;
    if (held > x->let_out)
        *ret_wait = x->wait;
    return n - held + x->let_out;
}
