/* podsecurity_level.c - the labels of a namespace about pod security. */
#include <stdio.h>

#include "apiserver/admission/podsecurity.h"
#include "apiserver/registry/resource.h"

static const char *const level_names[] = {
    [PODSEC_PRIVILEGED] = "privileged",
    [PODSEC_BASELINE] = "baseline",
    [PODSEC_RESTRICTED] = "restricted",
};

bool podsec_equal(struct podsec_standard a, struct podsec_standard b)
{
    return a.level == b.level && a.minor == b.minor;
}

const char *podsec_name(struct podsec_standard s, struct arena *a)
{
    if (s.minor == PODSEC_LATEST)
        return arena_printf(a, "%s:latest", level_names[s.level]);
    return arena_printf(a, "%s:v1.%lld", level_names[s.level], (long long)s.minor);
}

static void wrong(struct field_errors *errors, const char *label, const char *value,
                  const char *why)
{
    char path[96];

    (void)snprintf(path, sizeof path, "metadata.labels[%s]", label);
    if (errors)
        field_error_text(errors, FIELD_INVALID, path, value, "%s", why);
}

/* false: it is none of the levels. */
static bool level_parse(const char *text, enum podsec_level *ret)
{
    for (size_t i = 0; i < ARRAY_LEN(level_names); i++) {
        if (!streq(text, level_names[i]))
            continue;
        *ret = (enum podsec_level)i;
        return true;
    }
    return false;
}

/* "latest" or "v1.25", without leading zeros; a number that no int64 holds is none. */
static bool version_parse(const char *text, int64_t *ret)
{
    int64_t minor = 0;

    if (streq(text, "latest")) {
        *ret = PODSEC_LATEST;
        return true;
    }
    if (!str_starts(text, "v1.") || !text[3] || (text[3] == '0' && text[4]))
        return false;
    for (const char *p = text + 3; *p; p++) {
        if (*p < '0' || *p > '9' || __builtin_mul_overflow(minor, 10, &minor) ||
            __builtin_add_overflow(minor, *p - '0', &minor))
            return false;
    }
    *ret = minor;
    return true;
}

/* What is wrong means this level; *s stays as it is where there are no labels. */
static void mode_read(const struct kj_val *labels, const char *level_label,
                      const char *version_label, enum podsec_level when_wrong,
                      struct podsec_standard *s, struct field_errors *errors)
{
    const char *level = kj_str(kj_get(labels, level_label));
    const char *version = kj_str(kj_get(labels, version_label));

    if (level && !level_parse(level, &s->level)) {
        s->level = when_wrong;
        wrong(errors, level_label, level, "must be one of privileged, baseline, restricted");
    }
    if (version && !version_parse(version, &s->minor)) {
        s->minor = PODSEC_LATEST;
        wrong(errors, version_label, version, "must be \"latest\" or \"v1.x\"");
    }
}

struct podsec_policy podsec_policy_of(const struct kj_val *labels, struct field_errors *errors)
{
    static const struct podsec_standard none = { PODSEC_PRIVILEGED, PODSEC_LATEST };
    struct podsec_policy p = { none, none, none };

    mode_read(labels, PODSEC_LABELS "enforce", PODSEC_LABELS "enforce-version", PODSEC_RESTRICTED,
              &p.enforce, errors);
    mode_read(labels, PODSEC_LABELS "audit", PODSEC_LABELS "audit-version", PODSEC_PRIVILEGED,
              &p.audit, errors);
    mode_read(labels, PODSEC_LABELS "warn", PODSEC_LABELS "warn-version", PODSEC_PRIVILEGED,
              &p.warn, errors);
    /* Who enforces wants to hear of templates, too, whose pods will be refused; not who mistyped.
     */
    const char *level = kj_str(kj_get(labels, PODSEC_LABELS "enforce"));
    enum podsec_level known;
    if (!kj_str(kj_get(labels, PODSEC_LABELS "warn")) && level && level_parse(level, &known) &&
        known > p.warn.level) {
        p.warn.level = p.enforce.level;
        if (!kj_str(kj_get(labels, PODSEC_LABELS "warn-version")))
            p.warn.minor = p.enforce.minor;
    }
    return p;
}
