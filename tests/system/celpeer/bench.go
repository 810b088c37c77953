// What compiling and evaluating costs here, for tests/bench: the same texts and values as bench_cel has.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"syscall"
	"time"

	"github.com/google/cel-go/cel"
	resourceapi "k8s.io/api/resource/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/version"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/openapi"
	dracel "k8s.io/dynamic-resource-allocation/cel"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

type benchCase struct {
	Selector string
	Device   struct {
		Driver     string
		Attributes map[resourceapi.QualifiedName]resourceapi.DeviceAttribute
		Capacity   map[resourceapi.QualifiedName]resourceapi.DeviceCapacity
	}
	Schema spec.Schema
	Rules  []string
	Object json.RawMessage
}

// The processor's time of this process: what else runs on the machine does not count.
func cpuTime() time.Duration {
	var r syscall.Rusage
	must(syscall.Getrusage(syscall.RUSAGE_SELF, &r))
	return time.Duration(r.Utime.Nano() + r.Stime.Nano())
}

// Nanoseconds of one call: the best of several rounds of 200 ms.
func best(call func()) float64 {
	fastest := 0.0
	for round := 0; round < 5; round++ {
		n, began := 0, cpuTime()
		for cpuTime()-began < 200*time.Millisecond {
			for i := 0; i < 16; i++ {
				call()
			}
			n += 16
		}
		one := float64(cpuTime()-began) / float64(n)
		if fastest == 0 || one < fastest {
			fastest = one
		}
	}
	return fastest
}

func must(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, "celpeer:", err)
		os.Exit(1)
	}
}

func benchSelector(w *bufio.Writer, c *benchCase) {
	compiler := dracel.GetCompiler(dracel.Features{})
	result := compiler.CompileCELExpression(c.Selector, dracel.Options{})
	if result.Error != nil {
		must(result.Error)
	}
	device := dracel.Device{Driver: c.Device.Driver, Attributes: c.Device.Attributes, Capacity: c.Device.Capacity}
	matches, _, err := result.DeviceMatches(context.Background(), device)
	must(err)
	fmt.Fprintf(w, "selector-matches %v\n", matches)
	fmt.Fprintf(w, "selector-compile %.0f\n", best(func() { compiler.CompileCELExpression(c.Selector, dracel.Options{}) }))
	fmt.Fprintf(w, "selector-eval %.0f\n", best(func() { _, _, _ = result.DeviceMatches(context.Background(), device) }))
}

func benchRules(w *bufio.Writer, c *benchCase) {
	decl := openapi.SchemaDeclType(&c.Schema, true).MaybeAssignTypeName("Object")
	set, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0),
		EnvOptions:        []cel.EnvOption{cel.Variable("self", decl.CelType())},
		DeclTypes:         []*apiservercel.DeclType{decl}})
	must(err)
	env, err := set.Env(environment.NewExpressions)
	must(err)
	var programs []cel.Program
	compile := func() {
		programs = programs[:0]
		for _, rule := range c.Rules {
			ast, issues := env.Compile(rule)
			must(issues.Err())
			prog, err := env.Program(ast)
			must(err)
			programs = append(programs, prog)
		}
	}
	compile()
	var object map[string]any
	must(utiljson.Unmarshal(c.Object, &object))
	eval := func() (held bool) {
		held = true
		activation := map[string]any{"self": openapi.UnstructuredToVal(object, &c.Schema)}
		for _, p := range programs {
			val, _, err := p.ContextEval(context.Background(), activation)
			must(err)
			held = held && val.Value() == true
		}
		return held
	}
	fmt.Fprintf(w, "rules-hold %v\n", eval())
	fmt.Fprintf(w, "rules-eval %.0f\n", best(func() { eval() }))
	fmt.Fprintf(w, "rules-compile %.0f\n", best(compile))
}

func bench(w *bufio.Writer, path string) {
	text, err := os.ReadFile(path)
	must(err)
	var c benchCase
	must(json.Unmarshal(text, &c))
	benchSelector(w, &c)
	benchRules(w, &c)
}
