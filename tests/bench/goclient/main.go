// goclient is the yardstick of the client benchmarks: it does with client-go what koord's C client does,
// so that both are measured in one run on one machine. Every verb prints one line of JSON.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

const usage = `usage:
  goclient informer --kubeconfig F [--resource pods] [--seconds N] [--protobuf]
  goclient watch    --kubeconfig F [--resource pods] [--seconds N] [--protobuf]
  goclient bind     --kubeconfig F --namespace NS --nodes N [--concurrency C] [--protobuf]
  goclient create   --kubeconfig F --namespace NS --count N [--concurrency C] [--protobuf]
`

// syncLimit bounds the first list, so that a benchmark run against a broken server ends.
const syncLimit = 2 * time.Minute

type options struct {
	kubeconfig  string
	protobuf    bool
	resource    string
	hold        time.Duration
	namespace   string
	nodes       int
	count       int
	concurrency int
}

func main() {
	if len(os.Args) < 2 {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	verbs := map[string]func(context.Context, options) (any, error){
		"informer": runInformer,
		"watch":    runWatch,
		"bind":     runBind,
		"create":   runCreate,
	}
	verb := os.Args[1]
	run, known := verbs[verb]
	if !known {
		fmt.Fprint(os.Stderr, usage)
		os.Exit(2)
	}
	opts, err := parse(verb, os.Args[2:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "goclient: %v\n", err)
		os.Exit(2)
	}
	result, err := run(context.Background(), opts)
	if result != nil {
		line, jsonErr := json.Marshal(result)
		err = errors.Join(err, jsonErr)
		fmt.Println(string(line))
	}
	if err != nil {
		fmt.Fprintf(os.Stderr, "goclient: %v\n", err)
		os.Exit(1)
	}
}

func parse(verb string, args []string) (options, error) {
	var opts options
	var seconds float64
	flags := flag.NewFlagSet("goclient "+verb, flag.ContinueOnError)
	flags.StringVar(&opts.kubeconfig, "kubeconfig", "", "kubeconfig `file`")
	flags.BoolVar(&opts.protobuf, "protobuf", false, "use application/vnd.kubernetes.protobuf instead of JSON")
	switch verb {
	case "informer", "watch":
		flags.StringVar(&opts.resource, "resource", "pods", "resource of the core v1 group")
		flags.Float64Var(&seconds, "seconds", 5, "how long to hold the watch before measuring")
	case "bind":
		flags.StringVar(&opts.namespace, "namespace", "default", "namespace whose pending pods are bound")
		flags.IntVar(&opts.nodes, "nodes", 0, "bind onto node-0 ... node-(`N`-1)")
		flags.IntVar(&opts.concurrency, "concurrency", 32, "binds in flight")
	case "create":
		flags.StringVar(&opts.namespace, "namespace", "default", "namespace of the new pods")
		flags.IntVar(&opts.count, "count", 1000, "number of pods of about 2 KB")
		flags.IntVar(&opts.concurrency, "concurrency", 32, "creates in flight")
	}
	if err := flags.Parse(args); err != nil {
		return opts, err
	}
	opts.hold = time.Duration(seconds * float64(time.Second))
	switch {
	case flags.NArg() > 0:
		return opts, fmt.Errorf("unexpected argument %q", flags.Arg(0))
	case opts.kubeconfig == "":
		return opts, errors.New("--kubeconfig is required")
	case seconds < 0:
		return opts, errors.New("--seconds must not be negative")
	case verb == "bind" && opts.nodes < 1:
		return opts, errors.New("--nodes must be at least 1")
	case (verb == "bind" || verb == "create") && opts.concurrency < 1:
		return opts, errors.New("--concurrency must be at least 1")
	}
	return opts, nil
}

func newClient(opts options) (*kubernetes.Clientset, error) {
	config, err := clientcmd.BuildConfigFromFlags("", opts.kubeconfig)
	if err != nil {
		return nil, err
	}
	// The limiter would be what is measured, not the client.
	config.QPS = -1
	if opts.protobuf {
		config.ContentType = runtime.ContentTypeProtobuf
		config.AcceptContentTypes = runtime.ContentTypeProtobuf + "," + runtime.ContentTypeJSON
	} else {
		config.ContentType = runtime.ContentTypeJSON
	}
	return kubernetes.NewForConfig(config)
}

type informerResult struct {
	RSSKB         int64   `json:"rss_kb"`
	PeakRSSKB     int64   `json:"peak_rss_kb"`
	Objects       int     `json:"objects"`
	SecondsToSync float64 `json:"seconds_to_sync"`
	CPUMS         float64 `json:"cpu_ms"`
}

func runInformer(ctx context.Context, opts options) (any, error) {
	client, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	factory := informers.NewSharedInformerFactory(client, 0)
	generic, err := factory.ForResource(schema.GroupVersionResource{Version: "v1", Resource: opts.resource})
	if err != nil {
		return nil, err
	}
	informer := generic.Informer()

	start := time.Now()
	factory.Start(ctx.Done())
	// client-go's own wait looks ten times a second, too coarse for a figure of this size.
	for !informer.HasSynced() {
		if time.Since(start) > syncLimit {
			return nil, fmt.Errorf("%s: no sync within %s", opts.resource, syncLimit)
		}
		time.Sleep(time.Millisecond)
	}
	synced := time.Since(start)

	time.Sleep(opts.hold)
	result := informerResult{Objects: len(informer.GetStore().ListKeys()), SecondsToSync: synced.Seconds()}
	result.CPUMS = cpuMillis()
	result.RSSKB, result.PeakRSSKB, err = memory()
	return result, err
}

type watchResult struct {
	RSSKB     int64   `json:"rss_kb"`
	PeakRSSKB int64   `json:"peak_rss_kb"`
	Events    int     `json:"events"`
	CPUMS     float64 `json:"cpu_ms"`
}

// runWatch holds one bare watch: the least that a client-go program which follows anything needs.
func runWatch(ctx context.Context, opts options) (any, error) {
	client, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	stream, err := client.CoreV1().RESTClient().Get().Resource(opts.resource).
		VersionedParams(&metav1.ListOptions{Watch: true}, metav1.ParameterCodec).Watch(ctx)
	if err != nil {
		return nil, err
	}
	defer stream.Stop()

	var result watchResult
	end := time.After(opts.hold)
	for held := false; !held; {
		select {
		case <-end:
			held = true
		case _, open := <-stream.ResultChan():
			if !open {
				return nil, errors.New("the server ended the watch early")
			}
			result.Events++
		}
	}
	result.CPUMS = cpuMillis()
	result.RSSKB, result.PeakRSSKB, err = memory()
	return result, err
}

type bindResult struct {
	Binds        int64   `json:"binds"`
	Errors       int64   `json:"errors"`
	Seconds      float64 `json:"seconds"`
	BindsPerS    float64 `json:"binds_per_s"`
	CPUMSPerBind float64 `json:"cpu_ms_per_bind"`
	RSSKB        int64   `json:"rss_kb"`
	PeakRSSKB    int64   `json:"peak_rss_kb"`
}

func runBind(ctx context.Context, opts options) (any, error) {
	client, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	pods, err := client.CoreV1().Pods(opts.namespace).List(ctx, metav1.ListOptions{
		FieldSelector: fields.OneTermEqualSelector("spec.nodeName", "").String(),
	})
	if err != nil {
		return nil, err
	}

	var next, failed atomic.Int64
	var firstErr error
	var once sync.Once
	var workers sync.WaitGroup
	// The list is not part of what is measured: a scheduler has its pods already.
	cpuBefore := cpuMillis()
	start := time.Now()
	for range opts.concurrency {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= len(pods.Items) {
					return
				}
				pod := &pods.Items[i]
				err := client.CoreV1().Pods(pod.Namespace).Bind(ctx, &corev1.Binding{
					ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
					Target:     corev1.ObjectReference{Kind: "Node", Name: fmt.Sprintf("node-%d", i%opts.nodes)},
				}, metav1.CreateOptions{})
				if err != nil {
					failed.Add(1)
					once.Do(func() { firstErr = err })
				}
			}
		})
	}
	workers.Wait()

	result := bindResult{Errors: failed.Load(), Seconds: time.Since(start).Seconds()}
	cpu := cpuMillis() - cpuBefore
	result.Binds = int64(len(pods.Items)) - result.Errors
	if result.Binds > 0 {
		result.BindsPerS = float64(result.Binds) / result.Seconds
		result.CPUMSPerBind = cpu / float64(result.Binds)
	}
	var memErr error
	result.RSSKB, result.PeakRSSKB, memErr = memory()
	return result, errors.Join(firstErr, memErr)
}

type createResult struct {
	Creates     int64   `json:"creates"`
	Errors      int64   `json:"errors"`
	Seconds     float64 `json:"seconds"`
	CreatesPerS float64 `json:"creates_per_s"`
}

// pod is one of about 2 KB as JSON; the annotation is what is missing to that.
func pod(namespace string, i int) *corev1.Pod {
	limits := corev1.ResourceList{
		corev1.ResourceCPU:    resource.MustParse("1"),
		corev1.ResourceMemory: resource.MustParse("2Gi"),
	}
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{
			Name: fmt.Sprintf("pod-%d", i), Namespace: namespace,
			Labels:      map[string]string{"app.kubernetes.io/name": "checkout", "team": "payments", "pod-template-hash": "6f7c9d8b5"},
			Annotations: map[string]string{"example.com/notes": strings.Repeat("abcdefghij", 90)},
		},
		Spec: corev1.PodSpec{
			SchedulerName: "nobody",
			NodeSelector:  map[string]string{"kubernetes.io/os": "linux"},
			Tolerations: []corev1.Toleration{{Key: "dedicated", Operator: corev1.TolerationOpEqual, Value: "shop",
				Effect: corev1.TaintEffectNoSchedule}},
			Containers: []corev1.Container{{
				Name: "main", Image: "registry.example.com/shop/checkout:1.4.2", Args: []string{"--listen=:8080", "--log-level=info"},
				Ports:     []corev1.ContainerPort{{Name: "http", ContainerPort: 8080}, {Name: "metrics", ContainerPort: 9090}},
				Env:       []corev1.EnvVar{{Name: "REGION", Value: "eu-central-1"}},
				Resources: corev1.ResourceRequirements{Limits: limits, Requests: limits},
			}},
		},
	}
}

func runCreate(ctx context.Context, opts options) (any, error) {
	client, err := newClient(opts)
	if err != nil {
		return nil, err
	}
	var next, failed atomic.Int64
	var firstErr error
	var once sync.Once
	var workers sync.WaitGroup
	start := time.Now()
	for range opts.concurrency {
		workers.Go(func() {
			for {
				i := int(next.Add(1)) - 1
				if i >= opts.count {
					return
				}
				_, err := client.CoreV1().Pods(opts.namespace).Create(ctx, pod(opts.namespace, i), metav1.CreateOptions{})
				if err != nil {
					failed.Add(1)
					once.Do(func() { firstErr = err })
				}
			}
		})
	}
	workers.Wait()
	result := createResult{Errors: failed.Load(), Seconds: time.Since(start).Seconds()}
	result.Creates = int64(opts.count) - result.Errors
	result.CreatesPerS = float64(result.Creates) / result.Seconds
	return result, firstErr
}

// cpuMillis is the processor time, user and system, that this process has used.
func cpuMillis() float64 {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		return 0
	}
	return float64(usage.Utime.Nano()+usage.Stime.Nano()) / 1e6
}

// memory returns the present and the highest resident size in KB.
func memory() (rss, peak int64, err error) {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0, 0, err
	}
	for line := range strings.Lines(string(status)) {
		words := strings.Fields(line)
		if len(words) < 2 {
			continue
		}
		switch words[0] {
		case "VmRSS:":
			rss, err = strconv.ParseInt(words[1], 10, 64)
		case "VmHWM:":
			peak, err = strconv.ParseInt(words[1], 10, 64)
		}
		if err != nil {
			return 0, 0, err
		}
	}
	return rss, peak, nil
}
