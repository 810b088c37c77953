/* nri_events.c - which events a configuration of the runtime subscribes to. */
#include <ctype.h>

#include "base/strbuf.h"
#include "koordlet/runtime/nri_session.h"
#include "json/kj.h"

static const char *const names[NRI_EVENTS] = {
    [NRI_RUN_POD_SANDBOX] = "RunPodSandbox",
    [NRI_STOP_POD_SANDBOX] = "StopPodSandbox",
    [NRI_REMOVE_POD_SANDBOX] = "RemovePodSandbox",
    [NRI_CREATE_CONTAINER] = "CreateContainer",
    [NRI_POST_CREATE_CONTAINER] = "PostCreateContainer",
    [NRI_START_CONTAINER] = "StartContainer",
    [NRI_POST_START_CONTAINER] = "PostStartContainer",
    [NRI_UPDATE_CONTAINER] = "UpdateContainer",
    [NRI_POST_UPDATE_CONTAINER] = "PostUpdateContainer",
    [NRI_STOP_CONTAINER] = "StopContainer",
    [NRI_REMOVE_CONTAINER] = "RemoveContainer",
    [NRI_UPDATE_POD_SANDBOX] = "UpdatePodSandbox",
    [NRI_POST_UPDATE_POD_SANDBOX] = "PostUpdatePodSandbox",
    [NRI_VALIDATE_CONTAINER_ADJUSTMENT] = "ValidateContainerAdjustment",
};
enum { ALL = (1 << (NRI_EVENTS - 1)) - 1, NAME_MAX_SHOWN = 64 };

static bool equal_folded(struct str a, const char *b)
{
    if (strlen(b) != a.n)
        return false;
    for (size_t i = 0; i < a.n; i++)
        if (tolower((unsigned char)a.p[i]) != tolower((unsigned char)b[i]))
            return false;
    return true;
}

static struct str trimmed(struct str s)
{
    while (s.n > 0 && (s.p[0] == ' ' || s.p[0] == '\t'))
        s = (struct str){ s.p + 1, s.n - 1 };
    while (s.n > 0 && (s.p[s.n - 1] == ' ' || s.p[s.n - 1] == '\t'))
        s.n--;
    return s;
}

/* All whose names have the word in them. */
static int group_of(const char *word)
{
    int mask = 0;

    for (int e = 1; e < NRI_EVENTS; e++)
        if (strstr(names[e], word))
            mask |= NRI_BIT(e);
    return mask;
}

/* 0: there is no such event. */
static int event_mask(struct str name)
{
    if (equal_folded(name, "all"))
        return ALL;
    if (equal_folded(name, "pod") || equal_folded(name, "podsandbox"))
        return group_of("Pod");
    if (equal_folded(name, "container"))
        return group_of("Container");
    for (int e = 1; e < NRI_EVENTS; e++)
        if (equal_folded(name, names[e]))
            return NRI_BIT(e);
    return 0;
}

static int add_names(const char *list, int *mask, struct kerr *err)
{
    for (const char *p = list;; p++) {
        size_t n = strcspn(p, ",");
        struct str name = trimmed((struct str){ p, n });
        int one = event_mask(name);

        if (one == 0)
            return kerr_set(err, -EINVAL,
                            "failed to parse events in configuration: unknown event \"%.*s\"",
                            (int)MIN(name.n, (size_t)NAME_MAX_SHOWN), name.p);
        *mask |= one;
        p += n;
        if (*p == '\0')
            return 0;
    }
}

static int unhandled(int extra, struct kerr *err)
{
    CLEANUP(strbuf_fini) struct strbuf out = STRBUF_INIT;

    for (int e = 1; e < NRI_EVENTS; e++)
        if (extra & NRI_BIT(e))
            strbuf_appendf(&out, "%s%s", out.len ? "," : "", names[e]);
    return kerr_set(err, -EINVAL, "internal error: unhandled events %s (0x%x)", strbuf_str(&out),
                    (unsigned)extra);
}

int nri_events_parse(struct str config, int handled, int *ret, struct kerr *err)
{
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    const struct kj_val *events = NULL, *item;
    struct str key;
    int mask = 0;

    if (config.n > 0) {
        if (kj_parse_yaml(config.p, config.n, 0, &doc, err) < 0)
            return kerr_wrap(err, "failed to parse configuration");
        events = kj_get(kj_root(doc), "events");
    }
    struct kj_iter it = kj_iter(events);
    while (kj_next(&it, &key, &item)) {
        const char *list = kj_str(item);
        if (!list)
            return kerr_set(err, -EINVAL, "failed to parse events in configuration: no text");
        if (add_names(list, &mask, err) < 0)
            return err->code;
    }
    if (mask & ~handled)
        return unhandled(mask & ~handled, err);
    *ret = mask ? mask : handled;
    return 0;
}
