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

// wakeUp is the job with which River hands out a key. It has the key's id and not its
// name, because River keeps finished jobs for a while.
type wakeUp struct {
	Key  int64 `json:"key"`
	Wake int64 `json:"wake"` // the number of the wake-up
}

// Kind is River's name for it.
func (wakeUp) Kind() string { return "wake_up" }

// worker works on wake-ups.
type worker struct {
	river.WorkerDefaults[wakeUp]
	b *backend
}

// Timeout is none: a turn may take long, and peers take over the jobs of a dead node.
func (worker) Timeout(*river.Job[wakeUp]) time.Duration { return -1 }

// Work runs a job. It does not need River's retries: the key's row says what is left
// to do.
func (w *worker) Work(_ context.Context, job *river.Job[wakeUp]) error {
	w.b.mu.Lock()
	run := w.b.run
	w.b.mu.Unlock()
	return run.work(job.Args, nil)
}

func (b *backend) newRiver() (*river.Client[pgx.Tx], error) {
	all := river.NewWorkers()
	river.AddWorker(all, &worker{b: b})
	return river.NewClient(driver{riverpgxv5.New(b.pool), b.nudges}, &river.Config{
		ID: b.id, Logger: silent, Workers: all, Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		FetchCooldown: b.cooldown, FetchPollInterval: pollEvery, CompletedJobRetentionPeriod: time.Minute, CancelledJobRetentionPeriod: time.Minute,
	})
}

// silent discards River's log: when River fails this package fails too, and says so in
// one sentence.
var silent = slog.New(slog.DiscardHandler)

// driver is River's, except that jobs are announced through nudges: this node
// already has a connection that listens.
type driver struct {
	*riverpgxv5.Driver
	nudges chan struct{}
}

// GetListener implements riverdriver.Driver.
func (d driver) GetListener(*riverdriver.GetListenenerParams) riverdriver.Listener {
	return listener(d.nudges)
}

// listener announces jobs, and nothing else.
type listener chan struct{}

var _ riverdriver.Listener = listener(nil)

// WaitForNotification implements riverdriver.Listener, as do the empty methods below.
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
