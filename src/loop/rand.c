/* rand.c - the loop's random numbers: xoshiro256** (Blackman and Vigna), seeded by splitmix64.
 *
 * Fast, 256 bits of state, good enough for jitter and sampling; never for secrets.
 */
#include "loop/internal.h"

#include <sys/random.h>

static uint64_t splitmix_next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
    return z ^ (z >> 31);
}

/* One word of seed spread over the whole state, which so can never be all zero. */
void rand_seed(uint64_t rng[static 4], uint64_t seed)
{
    for (int i = 0; i < 4; i++)
        rng[i] = splitmix_next(&seed);
}

void rand_seed_system(uint64_t rng[static 4])
{
    uint64_t seed;
    ssize_t n;

    do
        n = getrandom(&seed, sizeof seed, 0);
    while (n < 0 && errno == EINTR);
    assert(n == (ssize_t)sizeof seed); /* up to 256 bytes never come short; Linux >= 3.17 has it */
    rand_seed(rng, seed);
}

static uint64_t rotl(uint64_t x, int by)
{
    return (x << by) | (x >> (64 - by));
}

uint64_t rand_next(uint64_t rng[static 4])
{
    const uint64_t out = rotl(rng[1] * 5, 7) * 9, shifted = rng[1] << 17;

    rng[2] ^= rng[0];
    rng[3] ^= rng[1];
    rng[1] ^= rng[2];
    rng[0] ^= rng[3];
    rng[2] ^= shifted;
    rng[3] = rotl(rng[3], 45);
    return out;
}

uint64_t loop_rand_below(struct loop *l, uint64_t n)
{
    assert(n > 0);
    /* The high half of a 128-bit product is uniform once the few low halves that would favour some
     * results are thrown away: no division in the usual case, no bias ever. */
    unsigned __int128 m = (unsigned __int128)loop_rand(l) * n;
    if ((uint64_t)m < n) {
        const uint64_t unfair = -n % n;
        while ((uint64_t)m < unfair)
            m = (unsigned __int128)loop_rand(l) * n;
    }
    return (uint64_t)(m >> 64);
}

nsec_t loop_jitter(struct loop *l, nsec_t d, double factor)
{
    /* 53 random bits make every double in [0, 1) of that spacing equally likely. */
    const double unit = (double)(loop_rand(l) >> 11) * 0x1p-53;

    /* As wait.Jitter does: a factor of zero or less means 1. */
    const double extra = unit * (factor > 0.0 ? factor : 1.0) * (double)d;
    if (extra >= 0x1p62 || extra <= -0x1p62)
        return d >= 0 ? NSEC_MAX : INT64_MIN;
    return nsec_add_sat(d, (nsec_t)extra);
}
