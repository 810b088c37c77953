// runtimepeer is what koord-runtime-proxy and koordlet meet on a node, with the libraries that those use: a gRPC server and
// its clients, a runtime with NRI, and senders of random messages. See tests/system/test_runtime_peers and tests/bench.
//
// usage: runtimepeer serve SOCKET | shapes SOCKET DIRECT | calls SOCKET N | latency SOCKET METHOD N BYTES | relay SOCKET BACKEND |
//
//	hang SOCKET METHOD | fill SOCKET PODS | hook SOCKET N | list SOCKET | events SOCKET | nri SOCKET CONTAINERS [BYTES] |
//	random PROBE N
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand"
	"net"
	"os"
	"os/exec"
	"reflect"
	"sort"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/containerd/nri/pkg/adaptation"
	nri "github.com/containerd/nri/pkg/api"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding/gzip"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protowire"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/known/emptypb"
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"
)

const large = 64 << 20

// Any message: all its fields are unknown ones, and kept.
func message(b []byte) *emptypb.Empty {
	m := &emptypb.Empty{}
	m.ProtoReflect().SetUnknown(b)
	return m
}

func payload(n int) []byte { // one field of n random bytes
	b := make([]byte, n)
	rand.Read(b)
	out := append([]byte{0xfa, 0x01}, binary.AppendUvarint(nil, uint64(n))...)
	return append(out, b...)
}

func id(s string) []byte { // the answer to a start
	return protowire.AppendString(protowire.AppendTag(nil, 1, protowire.BytesType), s)
}

// ---- the server ----

var canceled atomic.Int64

func handle(_ any, s grpc.ServerStream) error {
	method, _ := grpc.MethodFromServerStream(s)
	receive := func() ([]byte, error) {
		m := &emptypb.Empty{}
		err := s.RecvMsg(m)
		return m.ProtoReflect().GetUnknown(), err
	}
	send := func(b []byte) error { return s.SendMsg(message(b)) }
	if method == "/t.T/Sum" { // of a stream
		total := 0
		for {
			b, err := receive()
			if err == io.EOF {
				return send(payload(total % 1000))
			}
			if err != nil {
				return err
			}
			total += len(b)
		}
	}
	if method == "/t.T/Both" {
		for {
			b, err := receive()
			if err == io.EOF {
				return nil
			}
			if err != nil || send(b) != nil {
				return err
			}
		}
	}
	b, err := receive()
	if err != nil {
		return err
	}
	switch method {
	case "/runtime.v1alpha1.RuntimeHookService/PreCreateContainerHook": // a hook that has nothing to say
		return send(nil)
	case "/t.T/Large":
		return send(payload(10 << 20))
	case "/t.T/Many":
		for range 50 {
			if err := send(b); err != nil {
				return err
			}
		}
		return nil
	case "/t.T/Fail":
		s.SetHeader(metadata.Pairs("x-head", "1", "x-head", "2", "h-bin", "\x00\xff"))
		s.SetTrailer(metadata.Pairs("x-trail", "end", "t-bin", "\x01\x02"))
		st, _ := status.New(codes.FailedPrecondition, "not nöw: 100%\n"+string(bytes.Repeat([]byte("x"), 3000))).WithDetails(message(b))
		return st.Err()
	case "/t.T/Hang", "/runtime.v1.RuntimeService/ExecSync":
		<-s.Context().Done()
		canceled.Add(1)
		return s.Context().Err()
	case "/t.T/Canceled":
		return send(payload(int(canceled.Load())))
	case "/t.T/Left":
		d, ok := s.Context().Deadline()
		if !ok {
			return send(payload(0))
		}
		return send(payload(int(time.Until(d).Milliseconds())))
	case "/runtime.v1.RuntimeService/RunPodSandbox":
		var r cri.RunPodSandboxRequest
		if proto.Unmarshal(b, &r) == nil && r.GetConfig().GetMetadata().GetUid() != "" {
			return send(id(r.Config.Metadata.Uid))
		}
		return send(id("id"))
	case "/runtime.v1.RuntimeService/CreateContainer":
		var r cri.CreateContainerRequest
		if proto.Unmarshal(b, &r) == nil && r.GetConfig().GetMetadata() != nil {
			return send(id("c-" + r.PodSandboxId))
		}
		return send(id("id"))
	case "/runtime.v1.RuntimeService/ListPodSandbox", "/runtime.v1.RuntimeService/ListContainers":
		return send(nil)
	}
	return send(b) // Version, and everything else: an echo
}

func serve(path string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	return grpc.NewServer(grpc.UnknownServiceHandler(handle), grpc.MaxRecvMsgSize(large), grpc.MaxSendMsgSize(large)).Serve(listener)
}

// A relay as one would write it with grpc-go, to compare with.
func relay(path, backend string) error {
	listener, err := net.Listen("unix", path)
	if err != nil {
		return err
	}
	to := dial(backend)
	pass := func(_ any, s grpc.ServerStream) error {
		method, _ := grpc.MethodFromServerStream(s)
		ctx, cancel := context.WithCancel(s.Context())
		defer cancel()
		out, err := to.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
		if err != nil {
			return err
		}
		go func() {
			for {
				m := &emptypb.Empty{}
				if s.RecvMsg(m) != nil {
					out.CloseSend()
					return
				}
				if out.SendMsg(m) != nil {
					return
				}
			}
		}()
		for {
			m := &emptypb.Empty{}
			if err := out.RecvMsg(m); err == io.EOF {
				s.SetTrailer(out.Trailer())
				return nil
			} else if err != nil {
				s.SetTrailer(out.Trailer())
				return err
			}
			if err := s.SendMsg(m); err != nil {
				return err
			}
		}
	}
	return grpc.NewServer(grpc.UnknownServiceHandler(pass), grpc.MaxRecvMsgSize(large), grpc.MaxSendMsgSize(large)).Serve(listener)
}

// ---- clients ----

func dial(path string) *grpc.ClientConn {
	c, err := grpc.NewClient("unix://"+path, grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.MaxCallRecvMsgSize(large), grpc.MaxCallSendMsgSize(large)))
	if err != nil {
		panic(err)
	}
	return c
}

func unary(ctx context.Context, c *grpc.ClientConn, method string, b []byte, opts ...grpc.CallOption) ([]byte, error) {
	m := &emptypb.Empty{}
	err := c.Invoke(ctx, method, message(b), m, opts...)
	return m.ProtoReflect().GetUnknown(), err
}

func stream(c *grpc.ClientConn, method string) grpc.ClientStream {
	s, err := c.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		panic(err)
	}
	return s
}

func receive(s grpc.ClientStream) ([]byte, error) {
	m := &emptypb.Empty{}
	err := s.RecvMsg(m)
	return m.ProtoReflect().GetUnknown(), err
}

// fails tells what a call that fails brings: status, details, headers and trailers.
func fails(c *grpc.ClientConn) string {
	var head, trail metadata.MD
	_, err := unary(context.Background(), c, "/t.T/Fail", payload(10), grpc.Header(&head), grpc.Trailer(&trail))
	delete(trail, "grpc-status-details-bin") // random bytes in it
	delete(head, "date")
	return fmt.Sprintf("%v %d %v %v", status.Code(err), len(status.Convert(err).Message()), head, trail)
}

func shapes(path, direct string) map[string]any {
	c, d := dial(path), dial(direct)
	ctx := context.Background()
	out := map[string]any{}
	var bad atomic.Int64
	var wait sync.WaitGroup
	for range 10 {
		wait.Add(1)
		go func() {
			defer wait.Done()
			for range 100 {
				b := payload(rand.Intn(60000))
				opts := []grpc.CallOption{}
				if rand.Intn(2) == 0 {
					opts = append(opts, grpc.UseCompressor(gzip.Name))
				}
				if got, err := unary(ctx, c, "/t.T/Echo", b, opts...); err != nil || !bytes.Equal(got, b) {
					bad.Add(1)
				}
			}
		}()
	}
	wait.Wait()
	out["unary wrong"] = bad.Load()
	b := payload(10 << 20)
	got, err := unary(ctx, c, "/t.T/Echo", b)
	out["10 MiB"] = err == nil && bytes.Equal(got, b)
	s := stream(c, "/t.T/Sum")
	total := 0
	for range 100 {
		m := payload(rand.Intn(20000))
		total += len(m)
		s.SendMsg(message(m))
	}
	s.CloseSend()
	got, err = receive(s)
	out["client stream"] = err == nil && len(got) == len(payload(total%1000))
	s = stream(c, "/t.T/Many")
	s.SendMsg(message(payload(50000)))
	s.CloseSend()
	n := 0
	for {
		if _, err = receive(s); err != nil {
			break
		}
		n++
	}
	out["server stream"] = fmt.Sprint(n, " ", err)
	s = stream(c, "/t.T/Both")
	equal := true
	for range 200 {
		b := payload(rand.Intn(3000))
		s.SendMsg(message(b))
		got, err := receive(s)
		equal = equal && err == nil && bytes.Equal(got, b)
	}
	s.CloseSend()
	_, err = receive(s)
	out["both ways"] = equal && err == io.EOF
	out["failure"], out["failure, direct"] = fails(c), fails(d)

	short, cancel := context.WithTimeout(ctx, 300*time.Millisecond)
	_, err = unary(short, c, "/t.T/Hang", nil)
	cancel()
	out["deadline"] = status.Code(err).String()
	early, cancel := context.WithCancel(ctx)
	time.AfterFunc(100*time.Millisecond, cancel)
	_, err = unary(early, c, "/t.T/Hang", nil)
	out["cancel"] = status.Code(err).String()
	for i := 0; i < 100 && canceled2(d) < 2; i++ {
		time.Sleep(20 * time.Millisecond)
	}
	out["server saw the end of"] = canceled2(d)
	limited, cancel := context.WithTimeout(ctx, 30*time.Second)
	got, _ = unary(limited, c, "/t.T/Left", nil)
	cancel()
	out["time left"] = size(got) > 29000 && size(got) <= 30000
	_, err = unary(ctx, c, "/runtime.v1.ImageService/PullImage", payload(5))
	out["image service"] = status.Code(err).String()
	return out
}

func size(b []byte) int { // of the field
	if len(b) < 2 {
		return 0
	}
	n, _ := binary.Uvarint(b[2:])
	return int(n)
}

func canceled2(c *grpc.ClientConn) int {
	b, _ := unary(context.Background(), c, "/t.T/Canceled", nil)
	return size(b)
}

// calls makes n calls one after the other, as a kubelet does, and counts those that fail.
func calls(path string, n int) map[string]any {
	c := dial(path)
	failed, first := 0, ""
	for range n {
		_, err := unary(context.Background(), c, "/runtime.v1.RuntimeService/Status", payload(100), grpc.WaitForReady(true))
		if err != nil {
			failed++
			first = err.Error()
		}
		time.Sleep(time.Millisecond)
	}
	return map[string]any{"failed": failed, "why": first}
}

func latency(path, method string, n, bytes int) map[string]any {
	c := dial(path)
	var took []float64
	// The ID of a pod that the proxy knows by then.
	b := append([]byte{0x0a, 2}, append([]byte("id"), payload(bytes)...)...)
	unary(context.Background(), c, "/runtime.v1.RuntimeService/RunPodSandbox", nil)
	for i := range n + 200 {
		start := time.Now()
		if _, err := unary(context.Background(), c, method, b); err != nil {
			return map[string]any{"err": err.Error()}
		}
		if i >= 200 {
			took = append(took, float64(time.Since(start).Nanoseconds())/1e6)
		}
	}
	sort.Float64s(took)
	return map[string]any{"p50_ms": took[len(took)/2], "p99_ms": took[len(took)*99/100]}
}

// One start of a pod with what a pod has: labels, annotations, variables.
func config(i int) (*cri.PodSandboxConfig, *cri.ContainerConfig) {
	pod, container := batch(i, 1000)
	c := &cri.ContainerConfig{Metadata: &cri.ContainerMetadata{Name: container.Name}, Linux: &cri.LinuxContainerConfig{Resources: &cri.LinuxContainerResources{
		CpuShares: 2, OomScoreAdj: 1000}}}
	for k := range 20 {
		c.Envs = append(c.Envs, &cri.KeyValue{Key: fmt.Sprint("VARIABLE_", k), Value: "some value of it"})
	}
	return &cri.PodSandboxConfig{Metadata: &cri.PodSandboxMetadata{Name: pod.Name, Uid: pod.Uid, Namespace: pod.Namespace}, Labels: pod.Labels,
		Annotations: pod.Annotations, Linux: &cri.LinuxPodSandboxConfig{CgroupParent: pod.Linux.CgroupParent}}, c
}

// startPods starts pods of one container each.
func startPods(path string, n int) (map[string]any, error) {
	c, ctx := cri.NewRuntimeServiceClient(dial(path)), context.Background()
	for i := range n {
		pod, container := config(i)
		p, err := c.RunPodSandbox(ctx, &cri.RunPodSandboxRequest{Config: pod})
		if err != nil {
			return nil, err
		}
		if _, err = c.CreateContainer(ctx, &cri.CreateContainerRequest{PodSandboxId: p.PodSandboxId, Config: container, SandboxConfig: pod}); err != nil {
			return nil, err
		}
	}
	return map[string]any{"pods": n}, nil
}

// hook asks a hook server about the container of a batch pod, as the proxy does (runtime.v1alpha1.ContainerResourceHookRequest).
func hook(path string, n int) (map[string]any, error) {
	pod, container := config(0)
	sub := func(b []byte, field protowire.Number, m []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(b, field, protowire.BytesType), m)
	}
	encoded := func(m proto.Message) []byte {
		b, _ := proto.Marshal(m)
		return b
	}
	pairs := func(b []byte, field protowire.Number, m map[string]string) []byte {
		for k, v := range m {
			b = sub(b, field, sub(sub(nil, 1, []byte(k)), 2, []byte(v)))
		}
		return b
	}
	b := sub(sub(nil, 1, encoded(pod.Metadata)), 2, encoded(container.Metadata))
	b = pairs(pairs(sub(b, 4, encoded(container.Linux.Resources)), 6, pod.Annotations), 7, pod.Labels)
	b = sub(b, 8, []byte(pod.Linux.CgroupParent))
	for _, e := range container.Envs {
		b = pairs(b, 9, map[string]string{e.Key: e.Value})
	}
	c := dial(path)
	var got []byte
	for range n {
		var err error
		if got, err = unary(context.Background(), c, "/runtime.v1alpha1.RuntimeHookService/PreCreateContainerHook", b); err != nil {
			return nil, err
		}
	}
	// Of the answer: the quota, so that nobody measures a hook that does nothing.
	quota := int64(0)
	for len(got) > 0 {
		field, kind, size := protowire.ConsumeTag(got)
		m, more := protowire.ConsumeBytes(got[size:])
		if kind == protowire.BytesType && field == 2 {
			var r cri.LinuxContainerResources
			proto.Unmarshal(m, &r)
			quota = r.CpuQuota
		}
		got = got[size+more:]
	}
	return map[string]any{"quota": quota}, nil
}

// list tells what a runtime has: pods, containers, images.
func list(path string) (map[string]any, error) {
	c, ctx := dial(path), context.Background()
	pods, err := cri.NewRuntimeServiceClient(c).ListPodSandbox(ctx, &cri.ListPodSandboxRequest{})
	if err != nil {
		return nil, err
	}
	containers, err := cri.NewRuntimeServiceClient(c).ListContainers(ctx, &cri.ListContainersRequest{})
	if err != nil {
		return nil, err
	}
	images, err := cri.NewImageServiceClient(c).ListImages(ctx, &cri.ListImagesRequest{})
	if err != nil {
		return nil, err
	}
	out := map[string]any{"pods": []any{}, "containers": []any{}, "images": []string{}}
	name := map[string]string{}
	for _, p := range pods.Items {
		name[p.Id] = p.Metadata.Name
		out["pods"] = append(out["pods"].([]any), map[string]any{"id": p.Id, "name": p.Metadata.Name, "attempt": p.Metadata.Attempt,
			"ready": p.State == cri.PodSandboxState_SANDBOX_READY})
	}
	for _, c := range containers.Containers {
		out["containers"] = append(out["containers"].([]any), map[string]any{"id": c.Id, "pod": name[c.PodSandboxId], "attempt": c.Metadata.Attempt,
			"running": c.State == cri.ContainerState_CONTAINER_RUNNING})
	}
	for _, i := range images.Images {
		out["images"] = append(out["images"].([]string), i.RepoTags...)
	}
	return out, nil
}

// events tells of containers as the runtime does, a line each; the last one says how it ended.
func events(path string) {
	say := json.NewEncoder(os.Stdout)
	s, err := cri.NewRuntimeServiceClient(dial(path)).GetContainerEvents(context.Background(), &cri.GetEventsRequest{})
	for err == nil {
		var e *cri.ContainerEventResponse
		if e, err = s.Recv(); err == nil {
			say.Encode(map[string]any{"type": e.ContainerEventType.String(), "pod": e.PodSandboxStatus.GetMetadata().GetName(), "id": e.ContainerId})
		}
	}
	say.Encode(map[string]any{"status": status.Code(err).String()})
}

// ---- NRI ----

// A batch pod and its container; annotations of some size.
func batch(i, size int) (*nri.PodSandbox, *nri.Container) {
	pod := &nri.PodSandbox{Id: fmt.Sprint("s", i), Name: fmt.Sprint("batch-", i), Uid: fmt.Sprint("u", i), Namespace: "default",
		Labels: map[string]string{"koordinator.sh/qosClass": "BE"},
		Annotations: map[string]string{"large": string(bytes.Repeat([]byte("x"), size)),
			"node.koordinator.sh/extended-resource-spec": `{"containers":{"main":{"limits":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"},` +
				`"requests":{"kubernetes.io/batch-cpu":"500","kubernetes.io/batch-memory":"1Gi"}}}}`},
		Linux: &nri.LinuxPodSandbox{CgroupParent: fmt.Sprint("/kubepods/besteffort/podu", i)}}
	return pod, &nri.Container{Id: fmt.Sprint("c", i), PodSandboxId: pod.Id, Name: "main", State: nri.ContainerState_CONTAINER_RUNNING,
		Linux: &nri.LinuxContainer{Resources: &nri.LinuxResources{Cpu: &nri.LinuxCPU{Shares: nri.UInt64(2)}}}}
}

type said struct {
	Event             string
	Updates           int
	Quota             int64
	Shares            uint64
	Memory            int64
	ID                string
	P50, P99, Ms      float64
	Err               string
	Failed            int
	Bytes, Registered int
}

func tell(s said) {
	b, _ := json.Marshal(s)
	fmt.Println(string(b))
}

// runtime serves NRI; at each registration it synchronizes n containers, at each line of its input it creates and updates
// some, and tells what it was answered.
func runtime(path string, n, size int) error {
	registered := -1 // the first one is its own, without a plugin
	synchronize := func(ctx context.Context, cb adaptation.SyncCB) error {
		var pods []*nri.PodSandbox
		var ctrs []*nri.Container
		for i := range n {
			p, c := batch(i, size)
			pods, ctrs = append(pods, p), append(ctrs, c)
		}
		start := time.Now()
		updates, err := cb(ctx, pods, ctrs)
		registered++
		s := said{Event: "synchronize", Updates: len(updates), Ms: float64(time.Since(start).Microseconds()) / 1e3, Registered: registered}
		if err != nil {
			s.Err = err.Error()
		}
		if len(updates) > 0 {
			s.Quota, s.ID = updates[0].GetLinux().GetResources().GetCpu().GetQuota().GetValue(), updates[0].ContainerId
		}
		if registered > 0 {
			tell(s)
		}
		return err
	}
	update := func(context.Context, []*nri.ContainerUpdate) ([]*nri.ContainerUpdate, error) { return nil, nil }
	os.MkdirAll(path+".d", 0o755)
	r, err := adaptation.New("peer", "1.0", synchronize, update, adaptation.WithSocketPath(path),
		adaptation.WithPluginPath(path+".d"), adaptation.WithPluginConfigPath(path+".d"))
	if err != nil {
		return err
	}
	if err := r.Start(); err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		count, _ := strconv.Atoi(in.Text())
		create(r, count, size)
	}
	return nil
}

func create(r *adaptation.Adaptation, count, size int) {
	ctx := context.Background()
	s := said{Event: "create"}
	var took []float64
	for i := range count {
		p, c := batch(100000+i, size)
		if err := r.RunPodSandbox(ctx, &nri.StateChangeEvent{Pod: p}); err != nil {
			s.Err = err.Error()
		}
		start := time.Now()
		a, err := r.CreateContainer(ctx, &nri.CreateContainerRequest{Pod: p, Container: c})
		took = append(took, float64(time.Since(start).Microseconds())/1e3)
		if err != nil {
			s.Failed++
			s.Err = err.Error()
			continue
		}
		res := a.GetAdjust().GetLinux().GetResources()
		s.Quota, s.Shares, s.Memory = res.GetCpu().GetQuota().GetValue(), res.GetCpu().GetShares().GetValue(), res.GetMemory().GetLimit().GetValue()
		u, err := r.UpdateContainer(ctx, &nri.UpdateContainerRequest{Pod: p, Container: c, LinuxResources: &nri.LinuxResources{Cpu: &nri.LinuxCPU{Shares: nri.UInt64(77)}}})
		if err != nil {
			s.Failed++
			s.Err = err.Error()
		} else if len(u.GetUpdate()) > 0 {
			s.ID = u.Update[0].GetContainerId()
		}
		r.RemovePodSandbox(ctx, &nri.StateChangeEvent{Pod: p})
	}
	sort.Float64s(took)
	s.P50, s.P99 = took[len(took)/2], took[len(took)*99/100]
	tell(s)
}

// ---- random messages ----

func fill(m protoreflect.Message, depth int) {
	fields := m.Descriptor().Fields()
	for i := range fields.Len() {
		f := fields.Get(i)
		if rand.Intn(3) == 0 {
			continue
		}
		switch {
		case f.IsMap():
			for range rand.Intn(4) {
				if f.MapValue().Kind() == protoreflect.MessageKind {
					v := m.Mutable(f).Map().NewValue()
					m.Mutable(f).Map().Set(scalar(f.MapKey()).MapKey(), v)
				} else {
					m.Mutable(f).Map().Set(scalar(f.MapKey()).MapKey(), scalar(f.MapValue()))
				}
			}
		case f.IsList():
			for range rand.Intn(4) {
				if f.Kind() == protoreflect.MessageKind {
					if depth < 6 {
						fill(m.Mutable(f).List().AppendMutable().Message(), depth+1)
					}
				} else {
					m.Mutable(f).List().Append(scalar(f))
				}
			}
		case f.Kind() == protoreflect.MessageKind:
			if depth < 6 {
				fill(m.Mutable(f).Message(), depth+1)
			}
		default:
			m.Set(f, scalar(f))
		}
	}
}

func scalar(f protoreflect.FieldDescriptor) protoreflect.Value {
	n := rand.Int63() >> rand.Intn(63)
	if rand.Intn(4) == 0 {
		n = -n
	}
	text := string(bytes.Repeat([]byte{byte('a' + rand.Intn(26))}, rand.Intn(200)))
	switch f.Kind() {
	case protoreflect.BoolKind:
		return protoreflect.ValueOfBool(n%2 == 0)
	case protoreflect.Int32Kind:
		return protoreflect.ValueOfInt32(int32(n))
	case protoreflect.Int64Kind:
		return protoreflect.ValueOfInt64(n)
	case protoreflect.Uint32Kind:
		return protoreflect.ValueOfUint32(uint32(n))
	case protoreflect.Uint64Kind:
		return protoreflect.ValueOfUint64(uint64(n))
	case protoreflect.DoubleKind:
		return protoreflect.ValueOfFloat64(float64(n))
	case protoreflect.BytesKind:
		return protoreflect.ValueOfBytes([]byte(text))
	case protoreflect.EnumKind:
		return protoreflect.ValueOfEnum(protoreflect.EnumNumber(rand.Intn(3)))
	case protoreflect.StringKind:
		return protoreflect.ValueOfString(text)
	}
	panic(f.Kind())
}

// random sends n messages of each kind through the probe, which reads and writes them by our tables: they come back equal.
func random(probe string, n int) map[string]any {
	kinds := map[string]proto.Message{
		"cri_run_pod_request": &cri.RunPodSandboxRequest{}, "cri_create_request": &cri.CreateContainerRequest{},
		"cri_update_request": &cri.UpdateContainerResourcesRequest{}, "cri_pod_list": &cri.ListPodSandboxResponse{},
		"cri_container_list": &cri.ListContainersResponse{}, "cri_container_status_response": &cri.ContainerStatusResponse{},
		"nri_configure_request": &nri.ConfigureRequest{}, "nri_synchronize_request": &nri.SynchronizeRequest{},
		"nri_synchronize_response": &nri.SynchronizeResponse{}, "nri_container_request": &nri.UpdateContainerRequest{},
		"nri_create_response": &nri.CreateContainerResponse{}, "nri_update_response": &nri.UpdateContainerResponse{},
		"nri_state_change": &nri.StateChangeEvent{}, "nri_register_request": &nri.RegisterPluginRequest{},
	}
	out := map[string]any{}
	for name, kind := range kinds {
		cmd := exec.Command(probe, name)
		in, _ := cmd.StdinPipe()
		back, _ := cmd.StdoutPipe()
		if err := cmd.Start(); err != nil {
			panic(err)
		}
		wrong := 0
		for range n {
			m := reflect.New(reflect.TypeOf(kind).Elem()).Interface().(proto.Message)
			fill(m.ProtoReflect(), 0)
			b, _ := proto.Marshal(m)
			binary.Write(in, binary.LittleEndian, uint32(len(b)))
			in.Write(b)
			var size uint32
			if binary.Read(back, binary.LittleEndian, &size) != nil {
				wrong = n
				break
			}
			b = make([]byte, size)
			io.ReadFull(back, b)
			again := reflect.New(reflect.TypeOf(kind).Elem()).Interface().(proto.Message)
			if proto.Unmarshal(b, again) != nil || !proto.Equal(m, again) {
				wrong++
			}
		}
		in.Close()
		cmd.Wait()
		out[name] = wrong
	}
	return out
}

func main() {
	a := append(os.Args[1:], "", "", "", "")
	number := func(s string) int { n, _ := strconv.Atoi(s); return n }
	var err error
	var out map[string]any
	switch a[0] {
	case "serve":
		err = serve(a[1])
	case "relay":
		err = relay(a[1], a[2])
	case "shapes":
		out = shapes(a[1], a[2])
	case "calls":
		out = calls(a[1], number(a[2]))
	case "latency":
		out = latency(a[1], a[2], number(a[3]), number(a[4]))
	case "hang":
		_, err = unary(context.Background(), dial(a[1]), a[2], nil)
	case "list":
		out, err = list(a[1])
	case "events":
		events(a[1])
	case "nri":
		size := number(a[3])
		if size == 0 {
			size = 16 << 10
		}
		err = runtime(a[1], number(a[2]), size)
	case "fill":
		out, err = startPods(a[1], number(a[2]))
	case "hook":
		out, err = hook(a[1], number(a[2]))
	case "random":
		out = random(a[1], number(a[2]))
	default:
		err = errors.New("see the top of main.go for the usage")
	}
	if out != nil {
		b, _ := json.Marshal(out)
		fmt.Println(string(b))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
