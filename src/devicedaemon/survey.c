/* survey.c - which vendors have devices on the PCI bus, and what their cards look like as JSON. */
#include "devicedaemon/survey.h"

#include <stdio.h>
#include <stdlib.h>

#include "sys/file.h"
#include "json/kj.h"

static const char pci_devices[] = "sys/bus/pci/devices";
static const struct vendor *const vendors[VENDORS] = { &vendor_huawei, &vendor_cambricon,
                                                       &vendor_kunlun, &vendor_metax };

/* ---- the PCI bus ----------------------------------------------------------------------------- */

struct search {
    const struct vendor *vendor;
    int found;
};

/* "0x19e5\n" or "19e5"; 0 when it is neither. */
static uint16_t read_id(int dirfd, const char *device, const char *file)
{
    CLEANUP(strbuf_fini) struct strbuf text = STRBUF_INIT;
    char path[128], *end;

    if ((size_t)snprintf(path, sizeof path, "%s/%s/%s", pci_devices, device, file) >= sizeof path ||
        file_read_all(dirfd, path, 64, &text, NULL) < 0)
        return 0;
    unsigned long v = strtoul(strbuf_str(&text), &end, 16);
    return end == strbuf_str(&text) || v > UINT16_MAX ? 0 : (uint16_t)v;
}

struct bus_walk {
    int root_fd;
    struct search *search;
};

static int look_at_device(int dirfd, const char *name, unsigned char type, void *arg,
                          struct kerr *err)
{
    const struct bus_walk *w = arg;
    const struct vendor *v = w->search->vendor;

    (void)dirfd, (void)type, (void)err;
    if (read_id(w->root_fd, name, "vendor") == v->pci_vendor &&
        (!v->counts || v->counts(read_id(w->root_fd, name, "device"))))
        w->search->found++;
    return 0;
}

const char *survey_vendor_name(uint32_t vendor)
{
    return vendors[vendor]->name;
}

int survey_vendor(struct survey *s, uint32_t vendor, struct kerr *err)
{
    struct search search = { .vendor = vendors[vendor] };
    struct bus_walk walk = { s->root_fd, &search };

    int e = dir_each(s->root_fd, pci_devices, look_at_device, &walk, err);
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
