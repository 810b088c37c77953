/* parse_cpu.c - cpu.max, cpu.stat, /proc/stat, pressure. */
#include "base/num.h"
#include "koordlet/kernel/convert.h"
#include "koordlet/kernel/parse.h"
#include "koordlet/kernel/text.h"

/* ---- cpu.max --------------------------------------------------------------------------------- */

static int cpu_max_fields(const char *s, size_t n, struct str ret[2], struct kerr *err)
{
    struct str rest = { s, n }, more;

    if (!text_word(&rest, &ret[0]) || !text_word(&rest, &ret[1]) || text_word(&rest, &more))
        return kerr_set(err, -EINVAL, "cpu.max does not have two fields");
    return 0;
}

int cpu_max_quota(const char *s, size_t n, int64_t *ret, struct kerr *err)
{
    struct str fields[2];
    int r = cpu_max_fields(s, n, fields, err);
    return r < 0 ? r : file_i64(fields[0].p, fields[0].n, ret, err);
}

int cpu_max_period(const char *s, size_t n, int64_t *ret, struct kerr *err)
{
    struct str fields[2];
    int r = cpu_max_fields(s, n, fields, err);
    if (r < 0)
        return r;
    if (i64_parse(fields[1].p, fields[1].n, ret) < 0)
        return kerr_set(err, -EINVAL, "cpu.max: the period is not a number");
    return 0;
}

/* ---- cpu.stat -------------------------------------------------------------------------------- */

/* The text of a key in lines of "key value"; of a key that repeats, the last. */
static int stat_text(const char *s, size_t n, const char *key, struct str *ret, struct kerr *err)
{
    struct str rest = { s, n }, line, name, value, found = { 0 };

    while (text_line(&rest, &line))
        if (text_word(&line, &name) && text_word(&line, &value) && str_eqz(name, key))
            found = value;
    if (!found.p)
        return kerr_set(err, -EINVAL, "there is no %s", key);
    *ret = found;
    return 0;
}

static int stat_value(const char *s, size_t n, const char *key, int64_t *ret, struct kerr *err)
{
    struct str text;
    int r = stat_text(s, n, key, &text, err);
    if (r == 0 && i64_parse(text.p, text.n, ret) < 0)
        r = kerr_set(err, -EINVAL, "%s is not a number", key);
    return r;
}

int cpu_stat_parse(enum cgroup_version v, const char *s, size_t n, struct cpu_stat *ret,
                   struct kerr *err)
{
    const char *time = v == CGROUP_V1 ? "throttled_time" : "throttled_usec";
    struct cpu_stat c;

    int r = stat_value(s, n, "nr_periods", &c.periods, err);
    if (r == 0)
        r = stat_value(s, n, "nr_throttled", &c.throttled, err);
    if (r == 0)
        r = stat_value(s, n, time, &c.throttled_ns, err);
    if (r < 0)
        return r;
    if (v == CGROUP_V2)
        c.throttled_ns = i64_mul_sat(c.throttled_ns, NSEC_PER_USEC);
    *ret = c;
    return 0;
}

double cpu_throttled_ratio(const struct cpu_stat *before, const struct cpu_stat *now)
{
    int64_t periods = i64_sub_sat(now->periods, before->periods);

    if (periods <= 0)
        return 0;
    return (double)i64_sub_sat(now->throttled, before->throttled) / (double)periods;
}

int cpu_usage_parse(enum cgroup_version v, const char *s, size_t n, uint64_t *ret_ns,
                    struct kerr *err)
{
    struct str text;
    uint64_t usec, ns;

    if (v == CGROUP_V1) {
        while (n > 0 && s[n - 1] == '\n')
            n--;
        return file_u64(s, n, ret_ns, err);
    }
    int r = stat_text(s, n, "usage_usec", &text, err);
    if (r < 0)
        return r;
    if (u64_parse(text.p, text.n, &usec) < 0 ||
        __builtin_mul_overflow(usec, (uint64_t)NSEC_PER_USEC, &ns))
        return kerr_set(err, -EINVAL, "usage_usec is not a number");
    *ret_ns = ns;
    return 0;
}

int cpu_both_parse(const char *s, size_t n, uint64_t *ret_ns, struct cpu_stat *ret,
                   bool *ret_has_stat, struct kerr *err)
{
    static const struct str keys[] = { TEXT_KEY("usage_usec"), TEXT_KEY("nr_periods"),
                                       TEXT_KEY("nr_throttled"), TEXT_KEY("throttled_usec") };
    struct str found[ARRAY_LEN(keys)];
    int64_t numbers[ARRAY_LEN(keys)] = { 0 };
    uint64_t ns;
    bool all = true;

    text_values((struct str){ s, n }, keys, ARRAY_LEN(keys), found);
    for (size_t i = 0; i < ARRAY_LEN(keys); i++) {
        all &= found[i].p != NULL;
        if (found[i].p && (i64_parse(found[i].p, found[i].n, &numbers[i]) < 0 || numbers[i] < 0))
            return kerr_set(err, -EINVAL, "cpu.stat: %s is not a number", keys[i].p);
    }
    if (!found[0].p || __builtin_mul_overflow((uint64_t)numbers[0], (uint64_t)NSEC_PER_USEC, &ns))
        return kerr_set(err, -EINVAL, "cpu.stat: there is no usage_usec");
    *ret_ns = ns;
    *ret = (struct cpu_stat){ numbers[1], numbers[2], i64_mul_sat(numbers[3], NSEC_PER_USEC) };
    *ret_has_stat = all;
    return 0;
}

/* ---- /proc/stat ------------------------------------------------------------------------------ */

enum { TICK_FIELDS = 7 };

/* user nice system (idle iowait) irq softirq. */
static int used_ticks(struct str fields, uint64_t *ret, struct kerr *err)
{
    static const bool counts[TICK_FIELDS] = { true, true, true, false, false, true, true };
    uint64_t sum = 0, ticks = 0;
    struct str word;

    for (int i = 0; i < TICK_FIELDS; i++) {
        if (!text_word(&fields, &word))
            return kerr_set(err, -EINVAL, "stat: a line of a cpu is too short");
        if (counts[i] && u64_parse(word.p, word.n, &ticks) < 0)
            return kerr_set(err, -EINVAL, "stat: %.*s is not a number",
                            (int)MIN(word.n, (size_t)64), word.p);
        sum += counts[i] ? ticks : 0;
    }
    *ret = sum;
    return 0;
}

int proc_stat_total(const char *s, size_t n, uint64_t *ret, struct kerr *err)
{
    struct str rest = { s, n }, line, name;

    while (text_line(&rest, &line))
        if (text_word(&line, &name) && str_eqz(name, "cpu"))
            return used_ticks(line, ret, err);
    return kerr_set(err, -EINVAL, "stat: there is no line cpu");
}

int proc_stat_cpus(const char *s, size_t n, struct cpu_ticks *ret, size_t cap, size_t *ret_n,
                   struct kerr *err)
{
    struct str rest = { s, n }, line, name;
    size_t found = 0;
    uint64_t cpu;

    while (found < cap && text_line(&rest, &line)) {
        if (!text_word(&line, &name) || !text_starts(name, "cpu") ||
            u64_parse(name.p + 3, name.n - 3, &cpu) < 0 || cpu > UINT32_MAX)
            continue;
        int r = used_ticks(line, &ret[found].ticks, err);
        if (r < 0)
            return r;
        ret[found++].cpu = (uint32_t)cpu;
    }
    if (found == 0)
        return kerr_set(err, -ENODATA, "stat: there is no line of a cpu");
    *ret_n = found;
    return 0;
}

/* ---- pressure -------------------------------------------------------------------------------- */

/* The next word, which is "key=...": what follows the '='. */
static bool psi_field(struct str *rest, const char *key, struct str *ret)
{
    size_t n = strlen(key);

    if (!text_word(rest, ret) || !text_starts(*ret, key) || ret->n <= n || ret->p[n] != '=')
        return false;
    *ret = (struct str){ ret->p + n + 1, ret->n - n - 1 };
    return true;
}

static int psi_line_parse(struct str rest, struct psi_line *ret, struct kerr *err)
{
    struct str avg10, avg60, avg300, total;

    if (!psi_field(&rest, "avg10", &avg10) || !psi_field(&rest, "avg60", &avg60) ||
        !psi_field(&rest, "avg300", &avg300) || !psi_field(&rest, "total", &total) ||
        f64_parse(avg10.p, avg10.n, &ret->avg10) < 0 ||
        f64_parse(avg60.p, avg60.n, &ret->avg60) < 0 ||
        f64_parse(avg300.p, avg300.n, &ret->avg300) < 0 ||
        u64_parse(total.p, total.n, &ret->total) < 0)
        return kerr_set(err, -EINVAL, "pressure: a line is not avg10= avg60= avg300= total=");
    return 0;
}

int psi_parse(const char *s, size_t n, struct psi *ret, struct kerr *err)
{
    struct str rest = { s, n }, line, name;
    struct psi p = { 0 };

    while (text_line(&rest, &line)) {
        bool is_full = text_word(&line, &name) && str_eqz(name, "full");
        if (!is_full && !str_eqz(name, "some"))
            return kerr_set(err, -EINVAL, "pressure: a line is neither some nor full");
        int r = psi_line_parse(line, is_full ? &p.full : &p.some, err);
        if (r < 0)
            return r;
        p.full_supported |= is_full;
        p.has_some |= !is_full;
    }
    *ret = p;
    return 0;
}
