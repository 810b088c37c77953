/* widget.h - a definition that uses most of what schemas can say, for the tests of this folder. */
#ifndef KOORD_APISERVER_CRD_TEST_WIDGET_H
#define KOORD_APISERVER_CRD_TEST_WIDGET_H
#include "apiserver/test/api_fixture.h"

#define CRDS    "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
#define WIDGETS "/apis/ex.io/v1/namespaces/default/widgets"

static const char widget_definition[] =
    "{\"apiVersion\":\"apiextensions.k8s.io/"
    "v1\",\"kind\":\"CustomResourceDefinition\",\"metadata\":{\"name\":\"widgets.ex.io\"}"
    ",\"spec\":{\"group\":\"ex.io\",\"scope\":\"Namespaced\",\"names\":{\"plural\":\"widgets\","
    "\"kind\":\"Widget\",\"shortNames\":[\"wd\"],\"categories\":[\"all\"]},\"versions\":[{\"name\":"
    "\"v1\","
    "\"served\":true,\"storage\":true,\"subresources\":{\"status\":{},\"scale\":{"
    "\"specReplicasPath\":\".spec.replicas\","
    "\"statusReplicasPath\":\".status.replicas\",\"labelSelectorPath\":\".status.selector\"}"
    "},\"additionalPrinterColumns\":[{\"name\":\"Size\",\"type\":\"integer\",\"jsonPath\":\".spec."
    "size\","
    "\"description\":\"how "
    "big\"},{\"name\":\"Frac\",\"type\":\"number\",\"jsonPath\":\".spec.frac\"}"
    ",{\"name\":\"On\",\"type\":\"boolean\",\"jsonPath\":\".spec.on\"},{\"name\":\"First\","
    "\"type\":\"string\",\"jsonPath\":\".spec.list[0].name\",\"priority\":1},{\"name\":\"Ready\","
    "\"type\":\"string\",\"jsonPath\":\".status.conditions[?(@.type==\\\"Ready\\\")].status\"}"
    ",{\"name\":\"Anno\",\"type\":\"string\",\"jsonPath\":\".metadata.annotations['x\\\\.y/z']\"}"
    ",{\"name\":\"When\",\"type\":\"date\",\"jsonPath\":\".spec.when\"},{\"name\":\"Names\","
    "\"type\":\"string\",\"jsonPath\":\".spec.list[*].name\"},{\"name\":\"Obj\",\"type\":"
    "\"string\","
    "\"jsonPath\":\".spec.emb\"}],\"schema\":{\"openAPIV3Schema\":{\"type\":\"object\","
    "\"required\":[\"spec\"],"
    "\"properties\":{\"spec\":{\"type\":\"object\",\"required\":[\"size\"],\"properties\":{"
    "\"size\":{\"type\":\"integer\","
    "\"minimum\":1,\"maximum\":10,\"format\":\"int32\"},\"big\":{\"type\":\"integer\",\"format\":"
    "\"int64\"}"
    ",\"frac\":{\"type\":\"number\",\"minimum\":0,\"exclusiveMinimum\":true,\"multipleOf\":0.5}"
    ",\"on\":{\"type\":\"boolean\",\"default\":true},\"color\":{\"type\":\"string\",\"enum\":["
    "\"red\","
    "\"green\"],\"default\":\"red\"},\"name\":{\"type\":\"string\",\"minLength\":2,\"maxLength\":4,"
    "\"pattern\":\"^[a-z]+$\"},\"when\":{\"type\":\"string\",\"format\":\"date-time\"},\"uuid\":{"
    "\"type\":\"string\","
    "\"format\":\"uuid\"},\"replicas\":{\"type\":\"integer\"},\"tags\":{\"type\":\"array\","
    "\"items\":{\"type\":\"string\"},\"x-kubernetes-list-type\":\"set\",\"minItems\":1,"
    "\"maxItems\":3}"
    ",\"uniq\":{\"type\":\"array\",\"items\":{\"type\":\"string\"}},\"list\":{\"type\":\"array\","
    "\"x-kubernetes-list-type\":\"map\",\"x-kubernetes-list-map-keys\":[\"name\"],\"items\":{"
    "\"type\":\"object\","
    "\"required\":[\"name\"],\"properties\":{\"name\":{\"type\":\"string\"},\"n\":{\"type\":"
    "\"integer\","
    "\"default\":7}}}},\"q\":{\"anyOf\":[{\"type\":\"integer\"},{\"type\":\"string\"}],\"x-"
    "kubernetes-int-or-string\":true,"
    "\"pattern\":\"^[0-9]+m?$\"},\"one\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
    "\"string\"}"
    ",\"b\":{\"type\":\"string\"}},\"oneOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}"
    "]},\"any\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":"
    "\"string\"}"
    "},\"anyOf\":[{\"required\":[\"a\"]},{\"required\":[\"b\"]}]},\"all\":{\"type\":\"object\","
    "\"properties\":{\"a\":{\"type\":\"string\"},\"b\":{\"type\":\"string\"}},\"allOf\":[{"
    "\"required\":[\"a\"]}"
    ",{\"required\":[\"b\"]}]},\"non\":{\"type\":\"object\",\"properties\":{\"a\":{\"type\":"
    "\"string\"}"
    "},\"not\":{\"required\":[\"a\"]}},\"nul\":{\"type\":\"string\",\"nullable\":true,\"default\":"
    "\"hi\"}"
    ",\"m\":{\"type\":\"object\",\"additionalProperties\":{\"type\":\"integer\",\"maximum\":5}"
    ",\"minProperties\":1,\"maxProperties\":2},\"free\":{\"type\":\"object\",\"x-kubernetes-"
    "preserve-unknown-fields\":true}"
    ",\"emb\":{\"type\":\"object\",\"x-kubernetes-embedded-resource\":true,\"x-kubernetes-preserve-"
    "unknown-fields\":true}"
    ",\"deep\":{\"type\":\"object\",\"default\":{},\"properties\":{\"x\":{\"type\":\"integer\","
    "\"default\":3}}}}},\"status\":{\"type\":\"object\",\"properties\":{\"replicas\":{\"type\":"
    "\"integer\"}"
    ",\"selector\":{\"type\":\"string\"},\"conditions\":{\"type\":\"array\",\"items\":{\"type\":"
    "\"object\","
    "\"x-kubernetes-preserve-unknown-fields\":true}}}}}}}}]}}";

/* A server without our own definitions, but with this one, established. */
static inline void fixture_with_widgets(struct fixture *r)
{
    fixture_init(r, 7);
    assert_int_equal(fixture_post(r, CRDS, widget_definition), 201);
    loop_advance(r->loop, NSEC_PER_SEC);
}

static inline int fixture_post_widget(struct fixture *r, const char *name, const char *spec)
{
    char body[2000];
    (void)snprintf(
        body, sizeof body,
        "{\"apiVersion\":\"ex.io/v1\",\"kind\":\"Widget\",\"metadata\":{\"name\":\"%s\"},"
        "\"spec\":%s}",
        name, spec);
    return fixture_post(r, WIDGETS "?fieldValidation=Strict", body);
}
#endif
