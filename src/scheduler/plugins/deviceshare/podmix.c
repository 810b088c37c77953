/* podmix.c - which kinds of GPU pods a cluster is asked for, and how often. */
#include "scheduler/plugins/deviceshare/podmix.h"

#include <math.h>

#define HALF_LIFE    (24 * 3600 * NSEC_PER_SEC)
#define PICTURE_AGE  (3600 * NSEC_PER_SEC)
#define PICTURE_STEP 1.25
#define SHARE_FORGOT 1e-6
#define SCALE_MAX    1e12

struct podmix {
    struct frag_kind kinds[PODMIX_KINDS_MAX];
    double counts[PODMIX_KINDS_MAX]; /* times scale */
    uint32_t n;
    /* Counts do not shrink with time; later pods count more instead: `scale` at `scaled_at`. */
    double scale, total;
    nsec_t scaled_at;
    uint64_t noted;
    /* the picture */
    struct frag_kind seen[PODMIX_KINDS_MAX];
    double weights[PODMIX_KINDS_MAX];
    struct frag_mix picture;
    uint64_t version, pictured_noted;
    nsec_t pictured_at;
};

struct podmix *podmix_new(void)
{
    struct podmix *x = xnew0(struct podmix);

    x->scale = 1;
    x->picture = (struct frag_mix){ x->seen, x->weights, 0 };
    return x;
}

struct podmix *podmix_free(struct podmix *x)
{
    free(x);
    return NULL;
}

/* Back to a scale of 1, without the kinds that are next to nothing beside the others. However long
 * ago it was, what is known weighs as much as one new pod. */
static void rescale(struct podmix *x)
{
    double by = MAX(x->total / x->scale, 1.0) / x->total, least = x->total * SHARE_FORGOT;
    uint32_t kept = 0;

    x->total = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        if (x->counts[i] < least)
            continue;
        x->kinds[kept] = x->kinds[i];
        x->counts[kept] = x->counts[i] * by;
        x->total += x->counts[kept++];
    }
    x->n = kept;
    x->scale = 1;
}

static void move_time(struct podmix *x, nsec_t now)
{
    if (now <= x->scaled_at) /* a clock that was set back moves nothing */
        return;
    if (x->scaled_at > 0) {
        /* A jump of years must not end in infinities. */
        double ages = MIN((double)(now - x->scaled_at) / (double)HALF_LIFE, 64.0);
        x->scale *= exp2(ages);
    }
    x->scaled_at = now;
    if (x->scale > SCALE_MAX && x->n > 0)
        rescale(x);
}

static uint32_t find(const struct podmix *x, const struct frag_kind *k)
{
    uint32_t i = 0;

    while (i < x->n && (x->kinds[i].cards != k->cards || x->kinds[i].share != k->share ||
                        x->kinds[i].mcpu != k->mcpu || x->kinds[i].memory != k->memory))
        i++;
    return i;
}

static uint32_t rarest(const struct podmix *x)
{
    uint32_t at = 0;

    for (uint32_t i = 1; i < x->n; i++)
        if (x->counts[i] < x->counts[at])
            at = i;
    return at;
}

void podmix_note(struct podmix *x, const struct frag_kind *kind, nsec_t now)
{
    if (kind->cards == 0 || kind->cards > FRAG_CARDS_MAX || kind->share <= 0 ||
        kind->share > FRAG_CARD || kind->mcpu < 0 || kind->memory < 0)
        return;
    move_time(x, now);
    uint32_t at = find(x, kind);
    if (at == x->n && x->n == PODMIX_KINDS_MAX) {
        at = rarest(x);
        x->total -= x->counts[at];
        x->counts[at] = 0;
        x->kinds[at] = *kind;
    } else if (at == x->n) {
        x->kinds[x->n] = *kind;
        x->counts[x->n++] = 0;
    }
    x->counts[at] += x->scale;
    x->total += x->scale;
    x->noted++;
}

static void picture(struct podmix *x, nsec_t now)
{
    memcpy(x->seen, x->kinds, x->n * sizeof x->seen[0]);
    for (uint32_t i = 0; i < x->n; i++)
        x->weights[i] = x->counts[i] / x->total;
    x->picture.n = x->n;
    x->pictured_noted = x->noted;
    x->pictured_at = now;
    x->version++;
}

const struct frag_mix *podmix_look(struct podmix *x, nsec_t now)
{
    bool more = (double)x->noted >= (double)x->pictured_noted * PICTURE_STEP,
         old = now - x->pictured_at >= PICTURE_AGE || now < x->pictured_at;

    move_time(x, now);
    if (x->n > 0 && x->noted > x->pictured_noted && (more || old))
        picture(x, now);
    return &x->picture;
}

uint64_t podmix_version(const struct podmix *x)
{
    return x->version;
}
