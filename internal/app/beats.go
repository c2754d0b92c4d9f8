package app

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"dragoman/agent/tools"
	"dragoman/channels"
	"dragoman/heartbeat"
	"dragoman/internal/api"
	"dragoman/internal/config"
	"dragoman/internal/metrics"
	"dragoman/internal/reminders"
	"dragoman/sessions"
)

const mostHeartbeatFile = 64 << 10

// calendar is what the heartbeat needs of the store: its ledger, and the past runs
// for people who ask.
type calendar interface {
	heartbeat.Ledger
	reminders.Store
	Occurrences(ctx context.Context, job string, limit int) ([]sessions.Occurrence, error)
}

// beats are the jobs of the current configuration. A reload replaces them.
type beats struct {
	store     calendar
	workspace *tools.Workspace // nil if idle
	log       *slog.Logger
	count     func(job, outcome string, n int) // of occurrences, for the metrics
	idle      bool                             // no jobs run here

	plan atomic.Pointer[plan]
}

// plan is the scheduler for one version of the configuration. A reload makes a new
// one and closes replaced.
type plan struct {
	*heartbeat.Scheduler
	jobs     []config.Job
	replaced chan struct{} // closed when there is a newer plan
}

func newBeats(cfg *config.Config, store calendar, w *tools.Workspace, log *slog.Logger, count *metrics.Set) (*beats, error) {
	b := &beats{store: store, workspace: w, log: log}
	b.count = func(string, string, int) {}
	if count != nil {
		b.count = count.Heartbeats
	}
	return b, b.replace(cfg)
}

// replace puts the jobs of cfg into force. After an error the old ones stay.
func (b *beats) replace(cfg *config.Config) error {
	var list []config.Job
	list = append(list, cfg.Heartbeat.Jobs...)
	if file, wanted := cfg.Heartbeat.FileJob(); wanted {
		list = append(list, file)
	}
	var jobs []heartbeat.Job
	for _, c := range list {
		jobs = append(jobs, c.Scheduled())
		for _, outcome := range []string{"ran", "silent", "failed", "skipped", "missed"} {
			b.count(c.Name, outcome, 0)
		}
	}
	s, err := heartbeat.New(jobs, b.store, heartbeat.Options{
		Logger: b.log, ReadFile: b.readFile, Unfinished: b.unfinished, Paused: b.paused, Count: b.count,
	})
	if err != nil {
		return fmt.Errorf("app: %w", err)
	}
	if old := b.plan.Swap(&plan{s, list, make(chan struct{})}); old != nil {
		close(old.replaced)
	}
	return nil
}

func (b *beats) run(ctx context.Context) {
	for ctx.Err() == nil {
		p := b.plan.Load()
		round, stop := context.WithCancel(ctx)
		var wg sync.WaitGroup
		wg.Go(func() { _ = p.Run(round) }) // it only ends with its context
		select {
		case <-ctx.Done():
		case <-p.replaced:
		}
		stop()
		wg.Wait()
	}
}

func (b *beats) number() int { return len(b.plan.Load().jobs) }

// Target implements gateway.Heartbeats.
func (b *beats) Target(job string) (channels.Key, bool) { return b.plan.Load().Target(job) }

// Targets implements gateway.Heartbeats.
func (b *beats) Targets(k channels.Key) bool {
	return slices.ContainsFunc(b.plan.Load().jobs, func(j config.Job) bool { return j.Target == k.String() })
}

// operatorChat is the operator's chat: the target of HEARTBEAT.md. Zero if there is none.
func (b *beats) operatorChat() channels.Key {
	target, _ := b.Target(config.FileJobName)
	return target
}

// News implements gateway.Heartbeats.
func (b *beats) News(answer string) string { return heartbeat.News(answer) }

// Failing implements gateway.Heartbeats. Occurrences that did not run say nothing.
func (b *beats) Failing(ctx context.Context, job string) (bool, error) {
	list, err := b.store.Occurrences(ctx, job, 100)
	for _, o := range list {
		switch o.Outcome {
		case "failed":
			return !strings.HasPrefix(o.Why, sessions.NotDelivered), err
		case "ran", "silent":
			return false, err
		}
	}
	return false, err
}

// Skipped implements gateway.Heartbeats.
func (b *beats) Skipped(ctx context.Context, job, why string) (bool, error) {
	list, err := b.store.Occurrences(ctx, job, 100)
	for _, o := range list {
		switch {
		case o.Outcome == "skipped" && o.Why == why:
			return true, err
		case o.Outcome == "ran", o.Outcome == "silent", o.Outcome == "failed":
			return false, err
		}
	}
	return false, err
}

// readFile reads a file of the workspace under the same guard as the tools.
func (b *beats) readFile(_ context.Context, name string) ([]byte, error) {
	if b.workspace == nil {
		return nil, fs.ErrNotExist
	}
	return b.workspace.ReadFile(name, mostHeartbeatFile)
}

// unfinished counts the recent occurrences that have no outcome yet.
func (b *beats) unfinished(ctx context.Context, job string) (int, error) {
	list, err := b.store.Occurrences(ctx, job, 20)
	n := 0
	for _, o := range list {
		if o.Outcome == "fired" {
			n++
		}
	}
	return n, err
}

// Jobs implements api.Scheduler.
func (b *beats) Jobs(ctx context.Context) ([]api.Job, error) {
	jobs := b.plan.Load().jobs
	list := make([]api.Job, 0, len(jobs))
	for _, c := range jobs {
		j := api.Job{Name: c.Name, Schedule: scheduleText(c), Target: c.Target}
		var err error
		if j.Next, _, err = b.store.NextDue(ctx, c.Name); err != nil {
			return nil, err
		}
		j.Paused, err = b.paused(ctx, c.Name)
		if err != nil {
			return nil, err
		}
		list = append(list, j)
	}
	return list, nil
}

func scheduleText(c config.Job) string {
	text := "every " + c.Every.String()
	if c.Cron != "" {
		text = c.Cron
	}
	if c.TimeZone != "" {
		text += " " + c.TimeZone
	}
	if c.ActiveHours != "" {
		text += ", " + c.ActiveHours
	}
	return text
}

// RunJob implements api.Scheduler.
func (b *beats) RunJob(ctx context.Context, name string) error {
	if b.idle {
		return api.ErrNoDaemon
	}
	err := b.plan.Load().RunNow(ctx, name)
	if errors.Is(err, heartbeat.ErrUnknown) {
		return fmt.Errorf("%w: %w", sessions.ErrNotFound, err)
	}
	return err
}
