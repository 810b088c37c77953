/* load.c - load profiles of simulated pods. */
#include "cluster/load.h"

#include <math.h>
#include <stdio.h>

#include "base/ktime.h"
#include "base/num.h"
#include "base/qty.h"

#define NOISE_SLOT                                                                 \
    (15 * NSEC_PER_SEC) /* noise holds for so long: what a collector would average \
                         */

double load_noise(uint64_t seed, uint64_t salt)
{
    uint64_t x = seed + salt * UINT64_C(0x9e3779b97f4a7c15); /* splitmix64 */
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    x ^= x >> 31;
    return (double)(x >> 11) / 9007199254740992.0;
}

static int parse_cpu(struct str v, int64_t *ret, struct kerr *err)
{
    struct qty q;
    int r = qty_parse(v.p, v.n, &q, err);
    if (r < 0)
        return r;
    if (qty_sign(q) < 0)
        return kerr_set(err, -EINVAL, "must not be negative");
    *ret = MIN(qty_milli(q), INT64_C(1) << 40);
    return 0;
}

static int parse_bytes(struct str v, int64_t *ret, struct kerr *err)
{
    struct qty q;
    int r = qty_parse(v.p, v.n, &q, err);
    if (r < 0)
        return r;
    if (qty_sign(q) < 0)
        return kerr_set(err, -EINVAL, "must not be negative");
    *ret = MIN(qty_value(q), INT64_C(1) << 50);
    return 0;
}

static int parse_duration(struct str v, nsec_t *ret, struct kerr *err)
{
    int r = kdur_parse(v.p, v.n, ret, err);
    if (r == 0 && *ret < 0)
        return kerr_set(err, -EINVAL, "must not be negative");
    return r;
}

static int parse_noise(struct str v, double *ret, struct kerr *err)
{
    if (f64_parse(v.p, v.n, ret) < 0 || *ret < 0 || *ret > 1)
        return kerr_set(err, -EINVAL, "noise must be a share between 0 and 1");
    return 0;
}

static int parse_pair(struct load *l, struct str key, struct str v, struct kerr *err)
{
    int r;
    if (str_eqz(key, "cpu") || str_eqz(key, "low") || str_eqz(key, "base"))
        r = parse_cpu(v, &l->low_mcpu, err);
    else if (str_eqz(key, "high") || str_eqz(key, "peak"))
        r = parse_cpu(v, &l->high_mcpu, err);
    else if (str_eqz(key, "memory"))
        r = parse_bytes(v, &l->low_bytes, err);
    else if (str_eqz(key, "memory-high"))
        r = parse_bytes(v, &l->high_bytes, err);
    else if (str_eqz(key, "period") || str_eqz(key, "every"))
        r = parse_duration(v, &l->period, err);
    else if (str_eqz(key, "phase"))
        r = parse_duration(v, &l->phase, err);
    else if (str_eqz(key, "for"))
        r = parse_duration(v, &l->spike_for, err);
    else if (str_eqz(key, "noise"))
        r = parse_noise(v, &l->noise, err);
    else
        return kerr_set(err, -EINVAL, "unknown word '%.*s'", (int)MIN(key.n, (size_t)40), key.p);
    return r < 0 ? kerr_wrap(err, "%.*s", (int)key.n, key.p) : 0;
}

/* "500m", "1Gi" without names: cpu, then memory. */
static int parse_item(struct load *l, struct str item, unsigned place, struct kerr *err)
{
    const char *eq = memchr(item.p, '=', item.n);
    if (eq)
        return parse_pair(l, (struct str){ item.p, (size_t)(eq - item.p) },
                          (struct str){ eq + 1, (size_t)(item.p + item.n - eq - 1) }, err);
    if (l->kind != LOAD_CONSTANT || place > 1)
        return kerr_set(err, -EINVAL, "'%.*s' is not name=value", (int)MIN(item.n, (size_t)40),
                        item.p);
    return place == 0 ? parse_cpu(item, &l->low_mcpu, err) : parse_bytes(item, &l->low_bytes, err);
}

static int check(struct load *l, struct kerr *err)
{
    if (l->kind == LOAD_SPIKES && l->period == 0)
        l->period = 600 * NSEC_PER_SEC;
    if (l->kind == LOAD_SPIKES && l->spike_for == 0)
        l->spike_for = 30 * NSEC_PER_SEC;
    if (l->kind == LOAD_WAVE && l->period == 0)
        l->period = 24 * 3600 * NSEC_PER_SEC;
    if (l->kind != LOAD_CONSTANT && l->high_mcpu < l->low_mcpu)
        return kerr_set(err, -EINVAL, "the high value is below the low one");
    if (l->kind == LOAD_SPIKES && l->spike_for > l->period)
        return kerr_set(err, -EINVAL, "a spike is longer than its window");
    return 0;
}

int load_parse(const char *text, struct load *ret, struct kerr *err)
{
    static const char *const kinds[] = { "constant:", "wave:", "spikes:" };
    struct load l = { .noise = 0.05 };
    size_t k = 0;

    while (k < ARRAY_LEN(kinds) && !str_starts(text, kinds[k]))
        k++;
    if (k == ARRAY_LEN(kinds))
        return kerr_set(err, -EINVAL, "load must start with constant:, wave: or spikes:");
    l.kind = (enum load_kind)k;
    text += strlen(kinds[k]);
    for (unsigned place = 0; *text; place++) {
        size_t n = strcspn(text, ",");
        int r = parse_item(&l, (struct str){ text, n }, place, err);
        if (r < 0)
            return r;
        text += n + (text[n] == ',');
    }
    int r = check(&l, err);
    if (r == 0)
        *ret = l;
    return r;
}

/* Where between low (0) and high (1) the profile stands. */
static double level(const struct load *l, uint64_t seed, nsec_t wall)
{
    if (l->kind == LOAD_WAVE) {
        nsec_t at = ((wall - l->phase) % l->period + l->period) % l->period;
        return 0.5 - 0.5 * cos(2 * M_PI * (double)at / (double)l->period);
    }
    if (l->kind == LOAD_SPIKES) {
        nsec_t window = wall / l->period, at = wall % l->period;
        nsec_t room = l->period - l->spike_for;
        nsec_t start = i64_from_f64(load_noise(seed, (uint64_t)window) * (double)room);
        return at >= start && at < start + l->spike_for ? 1 : 0;
    }
    return 0;
}

static int64_t between(int64_t low, int64_t high, double at, double noise)
{
    double v = (double)low + (high > low ? (double)(high - low) * at : 0);
    return MAX(i64_from_f64(v * noise), (int64_t)0);
}

struct load_usage load_at(const struct load *l, uint64_t seed, nsec_t wall)
{
    uint64_t slot = (uint64_t)(wall / NOISE_SLOT);
    double at = level(l, seed, wall);
    double cpu_noise = 1 + l->noise * (2 * load_noise(seed ^ 0xc0, slot) - 1);
    double mem_noise = 1 + l->noise * (load_noise(seed ^ 0x3e, slot) - 0.5);

    return (struct load_usage){
        .mcpu = between(l->low_mcpu, l->kind == LOAD_CONSTANT ? 0 : l->high_mcpu, at, cpu_noise),
        .bytes = between(l->low_bytes, l->high_bytes, at, mem_noise),
    };
}
