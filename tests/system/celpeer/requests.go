// Expressions about a request, as matchConditions and ValidatingAdmissionPolicies have them: object, oldObject, request,
// namespaceObject, params and authorizer.
package main

import (
	"context"
	"errors"
	"math/rand"
	"regexp"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/runtime/schema"
	admissioncel "k8s.io/apiserver/pkg/admission/plugin/cel"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
)

type requests struct {
	set      *setting
	parser   *cel.Env
	compiler admissioncel.Compiler
}

// An authorizer whose reason tells what it was asked; tests/golden has the same.
type witness struct{}

func (witness) Authorize(_ context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	reason := strings.Join([]string{a.GetUser().GetName(), a.GetVerb(), a.GetAPIGroup(), a.GetResource(), a.GetSubresource(),
		a.GetNamespace(), a.GetName(), a.GetPath()}, "|")
	switch a.GetVerb() {
	case "get":
		return authorizer.DecisionAllow, reason, nil
	case "fail":
		return authorizer.DecisionNoOpinion, reason, errors.New("cannot tell")
	}
	return authorizer.DecisionDeny, reason, nil
}

// The resource that the request is about.
type asked struct{ name, ns string }

func (a asked) GetName() string      { return a.name }
func (a asked) GetNamespace() string { return a.ns }
func (asked) GetResource() schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
}
func (asked) GetSubresource() string { return "scale" }

type anyExpression string

func (e anyExpression) GetExpression() string  { return string(e) }
func (anyExpression) ReturnTypes() []*cel.Type { return []*cel.Type{cel.AnyType} }

func newRequests() *requests {
	own := map[string][]string{
		"string": {"request.operation", "request.name", "request.namespace", "request.subResource", "request.requestSubResource",
			"request.kind.group", "request.kind.kind", "request.resource.resource", "request.requestKind.version",
			"request.requestResource.group", "request.userInfo.username", "request.userInfo.uid", "object.metadata.name", "object.spec.mode",
			"object.metadata.labels['app']", "oldObject.metadata.name", "params.prefix", "namespaceObject.metadata.name",
			"namespaceObject.metadata.labels.team", "namespaceObject.status.phase"},
		"int": {"object.spec.replicas", "oldObject.spec.replicas", "params.max", "namespaceObject.metadata.generation", "object.spec.ports[0]"},
		"bool": {"request.dryRun", "has(object.spec.replicas)", "has(request.options)", "has(request.dryRun)", "(oldObject == null)", "(params == null)",
			"has(request.namespace)", "has(request.userInfo.extra)", "has(namespaceObject.metadata.labels)", "object.spec.paused",
			"has(object.metadata.labels.app)", "('app' in object.metadata.labels)", "(object == oldObject)", "(namespaceObject == null)"},
		"double":     {"object.spec.ratio"},
		"liststring": {"request.userInfo.groups", "request.userInfo.extra['k']", "object.spec.names", "namespaceObject.metadata.finalizers", "namespaceObject.spec.finalizers"},
		"listint":    {"object.spec.ports", "oldObject.spec.ports"},
		"one":        {"object.metadata.labels"},
		"ts":         {"timestamp(object.metadata.creationTimestamp)"}, // docs/cel.md: that of the namespace is text upstream
		"optint":     {"object.spec.?replicas", "oldObject.?spec.?replicas", "params.?max"},
		"optstring":  {"object.spec.?mode", "request.?namespace", "params[?'prefix']"},
		"decision":   {"authorizer.path('/healthz').check('get')", "authorizer.requestResource.check('get')"},
		"question":   {"authorizer.requestResource", "authorizer.group('').resource('pods')"},
		"asker":      {"authorizer", "authorizer.serviceAccount('ns', 'robot')"},
	}
	shapes := map[string][]string{
		"asker": {"authorizer.serviceAccount({string}, {string})", "authorizer.serviceAccount('default', {string})"},
		"question": {"{asker}.group({string}).resource({string})", "{question}.namespace({string})", "{question}.name({string})",
			"{question}.subresource({string})", "{question}.fieldSelector({string})", "{question}.labelSelector({string})",
			"{question}.fieldSelector('spec.nodeName=a,metadata.name!=b')", "{question}.labelSelector('a in (b, c),!d')",
			"({bool} ? {question} : {question})"},
		"decision": {"{question}.check($verb)", "{question}.check({string})", "{asker}.path({string}).check($verb)", "{asker}.path('/x').check({string})"},
		"bool":     {"{decision}.allowed()", "{decision}.errored()", "{decision}.allowed()", "({question} == {question})", "({decision} == {decision})"},
		"string":   {"{decision}.reason()", "{decision}.error()", "string(request.kind.kind)"},
	}
	words["$verb"] = []string{"'get'", "'get'", "'list'", "'fail'", "''"}
	wordNames = append([]string{"$verb"}, wordNames...)
	return &requests{set: newSetting(own, shapes), parser: baseEnv(),
		compiler: admissioncel.NewCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))}
}

func maybe(r *rand.Rand, o object, key string, v any) {
	if r.Intn(5) > 0 {
		o[key] = v
	}
}

func aDeployment(r *rand.Rand) object {
	spec := object{}
	maybe(r, spec, "replicas", anInt(r))
	maybe(r, spec, "mode", aWord(r))
	maybe(r, spec, "paused", r.Intn(2) == 0)
	maybe(r, spec, "ratio", []any{0.5, int64(2)}[r.Intn(2)])
	maybe(r, spec, "names", listOf(aWord, false)(r))
	maybe(r, spec, "ports", listOf(anInt, false)(r))
	meta := object{"name": aWord(r), "creationTimestamp": "2024-02-29T12:30:00Z"}
	maybe(r, meta, "labels", object{"app": aWord(r)})
	return object{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": meta, "spec": spec}
}

func aNamespace(r *rand.Rand) object {
	meta := object{"name": "ns", "creationTimestamp": "2021-06-01T10:00:00Z"}
	maybe(r, meta, "labels", object{"team": aWord(r)})
	maybe(r, meta, "generation", int64(3))
	maybe(r, meta, "finalizers", []any{"a"})
	return object{"metadata": meta, "spec": object{"finalizers": []any{"kubernetes"}}, "status": object{"phase": "Active"}}
}

func aRequest(r *rand.Rand) object {
	kind := object{"group": "apps", "version": "v1", "kind": "Deployment"}
	res := object{"group": "apps", "version": "v1", "resource": "deployments"}
	userInfo := object{"username": "alice"}
	maybe(r, userInfo, "uid", "u-1")
	maybe(r, userInfo, "groups", []any{"system:authenticated", aWord(r)})
	maybe(r, userInfo, "extra", object{"k": []any{"v", aWord(r)}})
	out := object{"kind": kind, "resource": res, "requestKind": kind, "requestResource": res, "name": aWord(r),
		"operation": []string{"CREATE", "UPDATE", "DELETE"}[r.Intn(3)], "userInfo": userInfo}
	maybe(r, out, "namespace", "ns")
	maybe(r, out, "subResource", "scale")
	maybe(r, out, "requestSubResource", "scale")
	maybe(r, out, "dryRun", r.Intn(2) == 0)
	maybe(r, out, "options", object{"kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1"})
	return out
}

var admissionVars = map[string]*regexp.Regexp{}

func init() {
	for _, name := range []string{"object", "oldObject", "request", "namespaceObject", "params"} {
		admissionVars[name] = regexp.MustCompile(`\b` + name + `\b`)
	}
}

func compileAny(c admissioncel.Compiler, expr string) (result *admissioncel.CompilationResult) {
	defer func() {
		if recover() != nil {
			result = nil
		}
	}()
	r := c.CompileCELExpression(anyExpression(expr), admissioncel.OptionalVariableDeclarations{HasParams: true, HasAuthorizer: true},
		environment.NewExpressions)
	return &r
}

func (q *requests) one(seed int64) (in, out object) {
	g := newGenerator(seed, q.set)
	typ := "bool"
	if g.r.Intn(3) == 0 {
		typ = g.pick(q.set.types)
	}
	expr := g.whole(typ)
	who := &user.DefaultInfo{Name: "alice"}
	activation := map[string]any{"authorizer": library.NewAuthorizerVal(who, witness{}),
		"authorizer.requestResource": library.NewResourceAuthorizerVal(who, witness{}, asked{"web", "ns"})}
	values := map[string]any{"object": aDeployment(g.r), "request": aRequest(g.r), "oldObject": nil, "namespaceObject": nil, "params": nil}
	if g.r.Intn(2) == 0 {
		values["oldObject"] = aDeployment(g.r)
	}
	if g.r.Intn(3) > 0 {
		values["namespaceObject"] = aNamespace(g.r)
	}
	if g.r.Intn(3) > 0 {
		values["params"] = object{"max": anInt(g.r), "prefix": aWord(g.r)}
	}
	shown := object{}
	for name, used := range admissionVars {
		activation[name] = values[name]
		if used.MatchString(expr) {
			shown[name] = values[name]
		}
	}
	in, out = object{"expr": expr, "admission": shown}, object{}
	if _, issues := q.parser.Parse(expr); issues.Err() != nil {
		out["error"] = "check"
		return in, out
	}
	result := compileAny(q.compiler, expr)
	if result == nil {
		return in, nil
	}
	if result.Error != nil {
		out["error"] = "check"
		message(out, result.Error.Detail)
		return in, out
	}
	out["type"] = result.OutputType.String()
	val, details, err := result.Program.ContextEval(context.Background(), activation)
	return in, outcome(out, val, details, err)
}
