package serve

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/rootbound/rootbound"
	"github.com/rootbound/rootbound/internal/rig/joined"
	"github.com/rootbound/rootbound/mcpfs"
)

// BenchmarkSwitch100Subscriptions is a switch of the workspace, from the client's announcement that its roots changed to
// the answer of the first read under the new ones, with 100 subscriptions that all go on, against the same with none.
func BenchmarkSwitch100Subscriptions(b *testing.B) {
	dir, err := filepath.EvalSymlinks(b.TempDir())
	if err != nil {
		b.Fatal(err)
	}
	write := func(name string) {
		name = filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(time.Now().String()), 0o644); err != nil {
			b.Fatal(err)
		}
	}
	for i := range 100 {
		write(fmt.Sprintf("app/d%d/f%d", i%10, i))
	}
	write("lib/l")
	type side struct {
		c     *mcp.Client
		cs    *mcp.ClientSession
		heard chan string
		extra bool
		times []time.Duration
	}
	open := func(subscriptions int) *side {
		s, err := New(Options{Version: "bench", Tools: mcpfs.Project, Projects: []rootbound.Project{
			{ID: "app", Dir: dir + "/app", Rights: rootbound.ReadWrite}, {ID: "lib", Dir: dir + "/lib", Rights: rootbound.ReadWrite},
		}})
		if err != nil {
			b.Fatal(err)
		}
		x := &side{heard: make(chan string, 4096)}
		x.c = mcp.NewClient(&mcp.Implementation{Name: "bench", Version: "1"}, &mcp.ClientOptions{
			Capabilities:               &mcp.ClientCapabilities{RootsV2: &mcp.RootCapabilities{ListChanged: true}},
			ResourceUpdatedHandler:     func(_ context.Context, r *mcp.ResourceUpdatedNotificationRequest) { x.heard <- r.Params.URI },
			ResourceListChangedHandler: func(context.Context, *mcp.ResourceListChangedRequest) { x.heard <- "list" },
		})
		x.c.AddRoots(&mcp.Root{URI: "file://" + dir + "/app"})
		x.cs = joined.Session(b, x.c, "2025-11-25", s.Connect)
		b.Cleanup(func() { x.cs.Close(); _ = s.Close(context.Background()) })
		return x
	}
	read := func(x *side) {
		res, err := x.cs.CallTool(context.Background(), &mcp.CallToolParams{Name: "read_text_file", Arguments: map[string]any{"project_id": "app", "relative_path": "d0/f0"}})
		if err != nil || res.IsError {
			b.Fatal(err, res)
		}
	}
	await := func(x *side, what string) {
		for got := range x.heard {
			if got == what {
				return
			}
		}
	}
	with, without := open(100), open(0)
	for _, x := range []*side{with, without} {
		read(x)
	}
	for i := range 100 {
		if err := with.cs.Subscribe(context.Background(), &mcp.SubscribeParams{URI: fmt.Sprintf("rootbound://app/d%d/f%d", i%10, i)}); err != nil {
			b.Fatal(err)
		}
	}
	once := func(x *side) {
		t := time.Now()
		if x.extra = !x.extra; x.extra {
			x.c.AddRoots(&mcp.Root{URI: "file://" + dir + "/lib"})
		} else {
			x.c.RemoveRoots("file://" + dir + "/lib")
		}
		read(x)
		x.times = append(x.times, time.Since(t))
		await(x, "list")
		if x == with { // and all goes on: the next round begins when nothing of this one is left to do
			write("app/d9/f99")
			await(x, "rootbound://app/d9/f99")
		}
	}
	for b.Loop() {
		once(with)
		once(without)
	}
	median := func(x *side) float64 { slices.Sort(x.times); return float64(x.times[len(x.times)/2]) }
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(median(with)/1e6, "with-ms")
	b.ReportMetric(median(without)/1e6, "without-ms")
	b.ReportMetric(median(with)/median(without), "ratio")
}
