/* volume_objects.h - pods with volumes, and the objects behind them: for tests of the plugins about
 * volumes. `more` are further members of spec, as ",'a':1"; may be "". */
#ifndef KOORD_SCHEDULER_TEST_VOLUME_OBJECTS_H
#define KOORD_SCHEDULER_TEST_VOLUME_OBJECTS_H
#include "base/test/asserts.h"
#include "scheduler/test/plugin_fixture.h"

#include "api/storage.h"

#define TEXT(buf, ...) ((void)snprintf(buf, sizeof(buf), __VA_ARGS__), (buf))
#define CLAIM(name)    "{'name':'" name "','persistentVolumeClaim':{'claimName':'" name "'}}"

static inline UNUSED void vol_node(struct plugin_fixture *f, const char *name, const char *labels)
{
    char text[1024];
    fixture_node(f, TEXT(text,
                         "{'metadata':{'name':'%s','labels':{%s}},'status':{'allocatable':"
                         "{'cpu':'64','memory':'64Gi','pods':'200'}}}",
                         name, labels));
}

static inline UNUSED const char *vol_pod(char *buf, size_t size, const char *name, const char *node,
                                         const char *volumes)
{
    (void)snprintf(buf, size,
                   "{'metadata':{'name':'%s','namespace':'ns','uid':'%s'},'spec':{'nodeName':'%s',"
                   "'containers':[{'name':'c'}],'volumes':[%s]}}",
                   name, name, node, volumes);
    return buf;
}
static inline UNUSED void vol_try(struct plugin_fixture *f, const char *volumes)
{
    char text[4096];
    fixture_try(f, vol_pod(text, sizeof text, "p", "", volumes));
}
static inline UNUSED void vol_running(struct plugin_fixture *f, const char *name, const char *node,
                                      const char *volumes)
{
    char text[4096];
    fixture_pod(f, vol_pod(text, sizeof text, name, node, volumes));
}

/* The uid is the name. */
static inline UNUSED void vol_pv(struct plugin_fixture *f, const char *name, const char *labels,
                                 const char *spec, const char *phase)
{
    char text[2048];
    fixture_put(f, &kind_pv,
                TEXT(text,
                     "{'metadata':{'name':'%s','uid':'%s','resourceVersion':'1','labels':{%s}},"
                     "'spec':{%s},'status':{'phase':'%s'}}",
                     name, name, labels, spec, phase));
}
static inline UNUSED void vol_pvc(struct plugin_fixture *f, const char *name,
                                  const char *annotations, const char *spec, const char *phase)
{
    char text[2048];
    fixture_put(f, &kind_pvc,
                TEXT(text,
                     "{'metadata':{'name':'%s','namespace':'ns','uid':'%s','resourceVersion':'1',"
                     "'annotations':{%s}},'spec':{%s},'status':{'phase':'%s'}}",
                     name, name, annotations, spec, phase));
}
/* A claim and its volume "v-<name>". */
static inline UNUSED void vol_bound(struct plugin_fixture *f, const char *name, const char *labels,
                                    const char *pv_spec)
{
    char text[256], volume[64];
    vol_pv(f, TEXT(volume, "v-%s", name), labels, pv_spec, "Bound");
    vol_pvc(f, name, "'pv.kubernetes.io/bind-completed':'yes'",
            TEXT(text, "'volumeName':'v-%s','accessModes':['ReadWriteOnce']", name), "Bound");
}
static inline UNUSED void vol_class(struct plugin_fixture *f, const char *name,
                                    const char *provisioner, const char *mode, const char *more)
{
    char text[1024];
    fixture_put(f, &kind_storage_class,
                TEXT(text, "{'metadata':{'name':'%s'},'provisioner':'%s'%s%s%s%s}", name,
                     provisioner, *mode ? ",'volumeBindingMode':'" : "", mode, *mode ? "'" : "",
                     more));
}

/* Would an event about an object of any kind give the pod, which the plugin rejected, a try? */
static inline UNUSED bool vol_worth(struct plugin_fixture *f, const char *plugin,
                                    enum ks_resource resource, uint32_t action,
                                    const struct kind *k, const char *before, const char *now,
                                    const char *volumes)
{
    char text[4096];
    CLEANUP(kobj_unref) struct kobj *b = before ? fixture_object(f->base, k, before) : NULL;
    CLEANUP(kobj_unref) struct kobj *n = now ? fixture_object(f->base, k, now) : NULL;
    CLEANUP(kobj_unref)
    struct kobj *p =
        fixture_object(f->base, &kind_pod, vol_pod(text, sizeof text, "p", "", volumes));
    struct ks_event e = { resource, action, b, n };
    int slot = profile_slot(f->profile, plugin);

    assert_that(slot, >=, 0);
    return profile_worth(f->profile, UINT64_C(1) << slot, &e, pod_of(p));
}
#endif
