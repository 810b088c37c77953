/* lib_time.c - parts of timestamps and durations. */
#include "cel/lib.h"

enum part {
    YEAR,
    MONTH,
    DATE,
    DAY_OF_MONTH,
    DAY_OF_WEEK,
    DAY_OF_YEAR,
    HOURS,
    MINUTES,
    SECONDS,
    MILLIS
};

static struct cel_val of_duration(struct cel_val d, enum part part)
{
    switch (part) {
    case HOURS: return cel_v_int(d.i / 3600000000000);
    case MINUTES: return cel_v_int(d.i / 60000000000);
    case SECONDS: return cel_v_int(d.i / 1000000000);
    case MILLIS: return cel_v_int(d.i / 1000000);
    default: return cel_misfit();
    }
}

/* There a zone is a file, and one with such a name cannot be looked for. */
static bool is_no_file(struct str name)
{
    const char *slash = memchr(name.p, '/', name.n);

    return (slash ? (size_t)(slash - name.p) : name.n) > 255 || name.n > 4000;
}

/* *ret is the offset of v[1] at the time v[0]; otherwise an error. */
static struct cel_val in_zone(struct cel_run *r, const struct cel_val *v, int64_t *ret)
{
    struct str name = cel_str(v[1]), bad;
    int e = cel_zone_offset(name, ret, &bad);

    if (e == -EINVAL || e == -ERANGE)
        return cel_v_error(r->a, "strconv.Atoi: parsing \"%.*s\": %s", (int)bad.n, bad.p,
                           e == -EINVAL ? "invalid syntax" : "value out of range");
    if (e == 0 || name.n == 0 || str_eqz(name, "UTC") || str_eqz(name, "Local"))
        return cel_v_null();
    if ((memchr("/\\", name.p[0], 2)) || memmem(name.p, name.n, "..", 2))
        return cel_v_error(r->a, "time: invalid location name");
    if (r->zone && r->zone(name, v[0].i, ret) == 0)
        return cel_v_null();
    if (is_no_file(name))
        return cel_v_error(r->a, "file name too long");
    return cel_v_error(r->a, "unknown time zone %.*s", (int)name.n, name.p);
}

static struct cel_val of_time(struct cel_run *r, const struct cel_val *v, unsigned n,
                              enum part part)
{
    int64_t offset = 0;

    if (v[0].kind == CK_DURATION && n == 1)
        return of_duration(v[0], part);
    if (v[0].kind != CK_TIMESTAMP || (n == 2 && v[1].kind != CK_STRING))
        return cel_misfit();
    struct cel_val why = n == 2 ? in_zone(r, v, &offset) : cel_v_null();
    if (cel_is_err(why))
        return why;
    struct cel_civil c = cel_civil(v[0].i + offset);
    switch (part) {
    case YEAR: return cel_v_int(c.year);
    case MONTH: return cel_v_int(c.month - 1);
    case DATE: return cel_v_int(c.day);
    case DAY_OF_MONTH: return cel_v_int(c.day - 1);
    case DAY_OF_WEEK: return cel_v_int(c.weekday);
    case DAY_OF_YEAR: return cel_v_int(c.yearday);
    case HOURS: return cel_v_int(c.hour);
    case MINUTES: return cel_v_int(c.minute);
    case SECONDS: return cel_v_int(c.second);
    case MILLIS: break;
    }
    return cel_v_int(v[0].n / 1000000);
}

#define PART(name, part)                                                               \
    static struct cel_val name(struct cel_run *r, const struct cel_val *v, unsigned n) \
    {                                                                                  \
        return of_time(r, v, n, part);                                                 \
    }
PART(get_year, YEAR)
PART(get_month, MONTH)
PART(get_date, DATE)
PART(get_day_of_month, DAY_OF_MONTH)
PART(get_day_of_week, DAY_OF_WEEK)
PART(get_day_of_year, DAY_OF_YEAR)
PART(get_hours, HOURS)
PART(get_minutes, MINUTES)
PART(get_seconds, SECONDS)
PART(get_millis, MILLIS)

static const struct cel_overload of_times[] = {
    CEL_MEMBER(&cel_int, &cel_timestamp),
    CEL_MEMBER(&cel_int, &cel_timestamp, &cel_string),
};
static const struct cel_overload of_both[] = {
    CEL_MEMBER(&cel_int, &cel_timestamp),
    CEL_MEMBER(&cel_int, &cel_timestamp, &cel_string),
    CEL_MEMBER(&cel_int, &cel_duration),
};

static const struct cel_function functions[] = {
    CEL_FN("getFullYear", get_year, of_times),
    CEL_FN("getMonth", get_month, of_times),
    CEL_FN("getDate", get_date, of_times),
    CEL_FN("getDayOfMonth", get_day_of_month, of_times),
    CEL_FN("getDayOfWeek", get_day_of_week, of_times),
    CEL_FN("getDayOfYear", get_day_of_year, of_times),
    CEL_FN("getHours", get_hours, of_both),
    CEL_FN("getMinutes", get_minutes, of_both),
    CEL_FN("getSeconds", get_seconds, of_both),
    CEL_FN("getMilliseconds", get_millis, of_both),
};
const struct cel_library cel_lib_time = { functions, ARRAY_LEN(functions) };
