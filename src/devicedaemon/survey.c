/* survey.c - which vendors have devices on the PCI bus, and what their cards look like as JSON. */
#include "devicedaemon/survey.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/file.h"
#include "json/kj.h"

static const struct vendor *const vendors[VENDORS] = { &vendor_huawei, &vendor_cambricon,
                                                       &vendor_kunlun, &vendor_metax };

/* ---- the PCI bus ----------------------------------------------------------------------------- */

struct search {
    int root_fd;
    const struct vendor *vendor;
    int found;
};

/* "0x19e5\n" or "19e5"; 0 when it is neither. */
static uint16_t read_id(int dirfd, const char *device, const char *file)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    char path[128], *end;

    if ((size_t)snprintf(path, sizeof path, PCI_DEVICES "/%s/%s", device, file) >= sizeof path ||
        file_read_all(dirfd, path, 64, &text, NULL) < 0)
        return 0;
    unsigned long v = strtoul(strbuf_str(&text), &end, 16);
    return end == strbuf_str(&text) || v > UINT16_MAX ? 0 : (uint16_t)v;
}

static int look_at_device(int dirfd, const char *name, unsigned char type, void *arg,
                          struct kerr *err)
{
    struct search *s = arg;
    const struct vendor *v = s->vendor;

    (void)dirfd, (void)type, (void)err;
    s->found += read_id(s->root_fd, name, "vendor") == v->pci_vendor &&
                (!v->counts || v->counts(read_id(s->root_fd, name, "device")));
    return 0;
}

const char *survey_vendor_name(uint32_t vendor)
{
    return vendors[vendor]->name;
}

int survey_vendor(struct survey *s, uint32_t vendor, struct kerr *err)
{
    struct search search = { s->root_fd, vendors[vendor], 0 };

    int e = dir_each(s->root_fd, PCI_DEVICES, look_at_device, &search, err);
    if (e < 0 || search.found == 0)
        return e == -ENOENT ? 0 : e; /* a machine without PCI has no cards */
    e = vendors[vendor]->look(s, vendors[vendor], err);
    return e < 0 ? e : search.found;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static void write_card(struct kjw *w, const struct card *c)
{
    kjw_obj(w, NULL);
    kjw_str(w, "vendor", c->vendor);
    kjw_str(w, "model", c->model);
    kjw_str(w, "uuid", c->uuid);
    kjw_str(w, "minor", c->minor);
    kjw_obj(w, "resources");
    for (uint32_t i = 0; i < c->n_resources; i++)
        kjw_str(w, c->resources[i].name, c->resources[i].amount);
    kjw_end(w);
    kjw_obj(w, "topology");
    kjw_str(w, "socketID", "-1");
    kjw_str(w, "nodeID", c->node);
    kjw_str(w, "pcieID", c->pcie);
    kjw_str(w, "busID", c->bus);
    kjw_end(w);
    kjw_obj(w, "status");
    kjw_bool(w, "healthy", c->healthy);
    if (c->err_code)
        kjw_str(w, "errCode", c->err_code);
    if (c->err_message)
        kjw_str(w, "errMessage", c->err_message);
    kjw_end(w);
    kjw_end(w);
}

void survey_write(const struct cards *const lists[VENDORS], struct strbuf *out)
{
    CLEANUP(strbuf_fini) struct strbuf plain = STRBUF_INIT;
    struct kjw w = kjw_to(&plain);

    kjw_arr(&w, NULL);
    for (uint32_t v = 0; v < VENDORS; v++)
        for (size_t i = 0; lists[v] && i < lists[v]->n; i++)
            write_card(&w, &lists[v]->items[i]);
    kjw_end(&w);
    CLEANUP(kj_doc_free) struct kj_doc *doc = NULL;
    if (kj_parse(strbuf_str(&plain), plain.len, 0, &doc, NULL) < 0)
        strbuf_append(out, "[]"); /* a tool printed bytes that are no text: nothing to pass on */
    else
        kj_write(kj_root(doc), KJ_PRETTY, out);
    strbuf_append(out, "\n");
}
