package postgres

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
)

// wakeUp is the job by which River hands out a key. It names the key by a number,
// since River keeps its jobs for a while.
type wakeUp struct {
	Key  int64 `json:"key"`
	Wake int64 `json:"wake"` // its number
}

// Kind is how River calls it.
func (wakeUp) Kind() string { return "wake_up" }

// worker works on wake-ups.
type worker struct {
	river.WorkerDefaults[wakeUp]
	b *backend
}

// Timeout is none: a dead node's jobs are handed out again by its peers, and a
// turn may take long.
func (worker) Timeout(*river.Job[wakeUp]) time.Duration { return -1 }

// Work never fails: what is left to do is in the row of the key.
func (w *worker) Work(_ context.Context, job *river.Job[wakeUp]) error {
	w.b.mu.Lock()
	run := w.b.run
	w.b.mu.Unlock()
	return run.work(job.Args, nil)
}

func (b *backend) newRiver(cooldown time.Duration) (*river.Client[pgx.Tx], error) {
	all := river.NewWorkers()
	river.AddWorker(all, &worker{b: b})
	return river.NewClient(driver{riverpgxv5.New(b.pool), b.jobsCame}, &river.Config{
		ID: b.id, Logger: silent, Workers: all, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		FetchCooldown: cooldown, FetchPollInterval: pollEvery, CompletedJobRetentionPeriod: time.Minute, CancelledJobRetentionPeriod: time.Minute,
	})
}

// silent is the logger for River: what it cannot do this package cannot do either, and says
// so in a sentence.
var silent = slog.New(slog.DiscardHandler)

// driver is River's, but for the way in which this node is told of jobs: it has an
// ear already.
type driver struct {
	*riverpgxv5.Driver
	nudges chan struct{}
}

// GetListener is riverdriver.Driver's.
func (d driver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return listener(d.nudges)
}

// listener hears of jobs, and nothing else.
type listener chan struct{}

var _ riverdriver.Listener = listener(nil)

// WaitForNotification is riverdriver.Listener's, as are those that do nothing.
func (l listener) WaitForNotification(ctx context.Context) (*riverdriver.Notification, error) {
	select {
	case <-l:
		return &riverdriver.Notification{Topic: "river_insert", Payload: `{"queue": "default"}`}, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (listener) Close(context.Context) error            { return nil }
func (listener) Connect(context.Context) error          { return nil }
func (listener) Listen(context.Context, string) error   { return nil }
func (listener) Ping(context.Context) error             { return nil }
func (listener) Schema() string                         { return "" }
func (listener) SetAfterConnectExec(string)             {}
func (listener) Unlisten(context.Context, string) error { return nil }
