// Command fakemodel runs the server of agenttest for use by hand and in crash
// campaigns: an OpenAI-compatible server that echoes.
//
//	go run ./agent/agenttest/fakemodel -listen 127.0.0.1:9099
//	OPENAI_BASE_URL=http://127.0.0.1:9099/v1 OPENAI_MODEL=fake dragoman run
//
// The first line of output is its base URL, so that scripts can use "-listen
// 127.0.0.1:0". It ends at SIGINT or SIGTERM.
package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"dragoman/agent/agenttest"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "fakemodel:", err)
		os.Exit(1)
	}
}

func run() error {
	listen := flag.String("listen", "127.0.0.1:9099", "address to listen on")
	latency := flag.Duration("latency", 0, "pause before each chunk after the first")
	first := flag.Duration("first-token", 0, "pause before the first chunk")
	fault := flag.String("fault", "", "fail some requests this way: "+strings.Join(slices.Sorted(maps.Keys(agenttest.Faults)), ", "))
	every := flag.Int("every", 10, "with -fault: fail each N-th request")
	flag.Parse()
	o := agenttest.Options{FirstToken: *first, Latency: *latency, Recorded: -1}
	if *fault != "" {
		reply, ok := agenttest.Faults[*fault]
		if !ok || *every < 1 {
			return fmt.Errorf("no such fault: %q, each %d", *fault, *every)
		}
		o.Reply = func(r *agenttest.Request) agenttest.Reply {
			if (r.N+1)%*every == 0 {
				return reply
			}
			return nil
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	s := agenttest.NewServer(o)
	if err := s.Start(*listen); err != nil {
		return err
	}
	fmt.Println(s.URL())
	begun := time.Now()
	<-ctx.Done()
	err := s.Close()
	fmt.Fprintf(os.Stderr, "fakemodel: %d requests in %s, at most %d at once\n", s.Count(), time.Since(begun).Round(time.Second), s.Peak())
	return err
}
