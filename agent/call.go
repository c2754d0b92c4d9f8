package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"dragoman/agent/window"
	"dragoman/channels"
	"dragoman/sessions"
)

const (
	// One answer may have more calls than we want to run. keptCalls are kept, so that
	// the next request can answer all of them, and maxCalls of these are run.
	maxCalls, keptCalls = 64, 80
	// toolsAtOnce limits how many Parallel calls run at the same time.
	toolsAtOnce = 4
	// toolBytes limits one result; the middle of a longer one is left out.
	toolBytes = 64 << 10
	// toolGrace is how long a tool may take to return after its time is up.
	toolGrace = time.Second
	// recordGrace is how long writing a result to the journal may take after the turn
	// was stopped.
	recordGrace = 5 * time.Second
	// sayBarred answers the calls of a person who lost access during the turn.
	sayBarred = "error: not run: the person who asked may not use this any more"
)

// runCalls answers the open calls, but not those that the caller runs. Neighbouring
// Parallel calls run at the same time, the others one after the other. Results are in the
// order of the calls. If some wait for a decision, the others run all the same, and the
// error is a *[Waiting].
func (r *run) runCalls(ctx context.Context) error {
	calls := r.openCalls()
	same, _ := r.streaks()
	results := make([]sessions.Message, len(calls))
	for i := 0; i < len(calls); {
		end := i + 1
		for r.parallel(calls[i]) && end < len(calls) && r.parallel(calls[end]) {
			end++
		}
		g, gctx := errgroup.WithContext(ctx)
		g.SetLimit(toolsAtOnce)
		var failed error
		for ; i < end && failed == nil; i++ {
			if !r.t.Given.isTheirs(calls[i]) {
				failed = r.startCall(gctx, g, calls[i], same[i].times, i, &results[i])
			}
		}
		if err := g.Wait(); err != nil {
			return err
		}
		if failed != nil {
			return failed
		}
	}
	if r.waiting != nil {
		return r.waiting
	}
	r.all = append(r.all, slices.DeleteFunc(results, func(m sessions.Message) bool { return m.Role == "" })...)
	return stopped(ctx)
}

func (r *run) parallel(c sessions.ToolCall) bool {
	inner, _ := r.meant(c)
	return r.kit.specs[inner.Name].Parallel
}

// startCall decides about call c, the n-th of its message, and has g put its result into
// result and the journal, unless it waits. times is how often in a row the same call was
// made.
func (r *run) startCall(ctx context.Context, g *errgroup.Group, c sessions.ToolCall, times, n int, result *sessions.Message) error {
	if m, found := r.done[c.ID]; found {
		*result = m
		return nil
	}
	inner, why := r.meant(c)
	d := ruling{say: why}
	if why == "" {
		var err error
		d, err = r.rule(ctx, inner, times, n)
		if err != nil || d.wait {
			return err
		}
	}
	g.Go(func() error {
		m, err := r.answerCall(ctx, c, inner, d)
		*result = m
		return err
	})
	return nil
}

// answerCall returns the result of call c, which means inner, and journals it. One that
// waits for the person has none.
func (r *run) answerCall(ctx context.Context, c, inner sessions.ToolCall, d ruling) (sessions.Message, error) {
	m := r.toolResult(inner, d.say) // people read whose result it is
	m.Synthetic = !d.run
	m.Failed = !d.run && d.say != sayInterrupted
	if d.run {
		o, waits, err := r.execute(ctx, inner)
		if waits || err != nil {
			return sessions.Message{}, err
		}
		m.Content = o.text
		m.Failed = o.failed
		if end := r.taskEnded(c.ID); end != nil {
			o.found.Merge(end.taint)
			m.Usage = end.used
			m.Model = end.model
		}
		r.pay(&m, o.paid)
		m.Origins = resultOrigins(r.kit.specs[inner.Name].Origin, o.found)
		if o.err == nil {
			m.Attachments = o.sent
			r.sending.Add(int64(len(o.sent)))
		}
	}
	// Record it even if the turn was stopped meanwhile, or the next run would not
	// know that it happened.
	rctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), recordGrace)
	defer cancel()
	return m, r.record(rctx, sessions.Step{Kind: sessions.StepToolDone, CallID: c.ID, Message: &m})
}

// refusal reports whether to run c, and if not, why.
func (r *run) refusal(c sessions.ToolCall, times, n int) (why string, run bool) {
	spec, known := r.kit.specs[c.Name]
	known = known && (r.rights().may(spec) && !r.kit.index[c.Name] || r.offer.has(c.Name))
	switch {
	case r.started[c.ID] && !spec.Repeatable:
		return sayInterrupted, false
	case n >= maxCalls:
		return fmt.Sprintf("error: not run: at most %d calls in one answer", maxCalls), false
	case times > maxSameCalls:
		return "error: not run: the same call was made before, again and again", false
	case !known && len(r.offer.specs) == 0:
		return "error: there are no tools", false
	case !known:
		names := make([]string, len(r.offer.specs))
		for i := range names {
			names[i] = r.offer.specs[i].Name
		}
		return fmt.Sprintf("error: there is no tool called %.64q; the tools are: %s", c.Name, strings.Join(names, ", ")), false
	case !window.IsObject(arguments(c)):
		return "error: not run: the arguments are not a JSON object", false
	default:
		return "", true
	}
}

func arguments(c sessions.ToolCall) string {
	if strings.TrimSpace(c.Arguments) == "" {
		return "{}"
	}
	return c.Arguments
}

func (r *run) toolResult(c sessions.ToolCall, text string) sessions.Message {
	m := sessions.Message{Role: sessions.RoleTool, Name: c.Name, ToolCallID: c.ID, Content: text}
	r.stamp(&m)
	return m
}

// callOf is c as its tool gets it.
func (r *run) callOf(c sessions.ToolCall) Call {
	call := Call{
		ID: c.ID, Args: json.RawMessage(arguments(c)), Sending: int(r.sending.Load()),
		Key: r.t.Key, Person: r.person, Private: r.t.Private, Operator: r.t.Operator,
		Turn: r.t.ID, Job: r.t.Job, Taint: r.taint.List(), Listed: r.offer.listed,
	}
	if r.in == nil {
		call.Delegate = func(ctx context.Context, t Task) (string, error) { return r.delegate(ctx, c, t) }
	}
	said := strings.Join(r.said, "\n\n")
	call.Progress = func(note string) { r.progress(Progress{Text: said, Note: c.Name + ": " + note + " …"}) }
	if r.persona != nil && r.persona.OwnMemory {
		call.Own = r.persona.Name
	}
	return call
}

// clean makes a tool's output fit for a transcript: limited in size, and valid UTF-8
// without zero bytes, which not every store accepts.
func clean(text string) string {
	text = strings.ToValidUTF8(window.Clip(text, toolBytes), "\uFFFD")
	text = strings.ReplaceAll(text, "\x00", "\uFFFD")
	if strings.TrimSpace(text) == "" {
		return "(no output)"
	}
	return text
}

// outcome is what a tool call ended with. It travels over a channel, because the
// tool runs in its own goroutine.
type outcome struct {
	text string
	err  error
	// failed says that the tool certainly did nothing else.
	failed bool
	// found is what the tool said with Call.Mark.
	found sessions.Taint
	// sent is what the tool said with Call.Attach, and paid with Call.Pay.
	sent []channels.Attachment
	paid Payment
}

var errPanic = errors.New("the tool failed by an internal error")

// runTool runs t, and returns at most toolGrace after ctx ended. A tool that ignores
// ctx is left running: blocking its conversation for ever would be worse.
func (a *Agent) runTool(ctx context.Context, t Tool, c Call) outcome {
	ended := make(chan outcome, 1)
	var over atomic.Bool
	defer over.Store(true)
	if show := c.Progress; show != nil {
		c.Progress = func(note string) {
			if !over.Load() {
				show(note)
			}
		}
	}
	go func() {
		o := outcome{err: errPanic}
		defer func() {
			if v := recover(); v != nil {
				a.logPanic(c, v)
			}
			ended <- o
		}()
		marked := c
		marked.Found = &o.found
		marked.Sent = &o.sent
		marked.Paid = &o.paid
		o.text, o.err = t.Run(ctx, marked)
	}()
	select {
	case o := <-ended:
		return o
	case <-ctx.Done():
	}
	select {
	case o := <-ended:
		return o
	case <-time.After(toolGrace):
		a.log.Error("tool ignores the end of its context; left running", "key", c.Key.String(), "tool", t.Spec().Name)
		return outcome{err: context.Cause(ctx)}
	}
}

// logPanic logs where a tool panicked. The panic's value may contain chat text,
// unless it comes from the Go runtime.
func (a *Agent) logPanic(c Call, v any) {
	what := fmt.Sprintf("%T", v)
	if err, ok := v.(runtime.Error); ok {
		what = err.Error()
	}
	a.log.Error("tool panicked", "key", c.Key.String(), "err", what, "stack", string(debug.Stack()))
}

// stoppedCall is the failure of a call whose turn was stopped. It is the person's
// wish and no fault of the tool, so it is not logged as a failure.
const stoppedCall = "stopped"

// logCall logs how a tool call that ran under ctx ended. Failures are logged at Info:
// the model reads the error and carries on, so otherwise an operator would not notice
// a tool that never works.
func (r *run) logCall(ctx context.Context, name string, took time.Duration, o outcome) {
	facts := []any{"key", r.t.Key.String(), "tool", name, "took", took, "bytes", len(o.text)}
	switch kind := failure(ctx, o.err); kind {
	case "":
		r.a.log.Debug("tool call ended", facts...)
	case stoppedCall:
		r.a.log.Debug("tool call stopped", facts...)
	default:
		r.a.log.Info("tool call failed", append(facts, "failure", kind)...)
	}
}

// failure returns the kind of a tool's error, or "". The text of the error is not
// logged, because it quotes what people asked for: paths, addresses, search words.
func failure(ctx context.Context, err error) string {
	var network net.Error
	switch {
	case err == nil:
		return ""
	case errors.Is(err, errPanic):
		return "panic"
	case errors.Is(context.Cause(ctx), context.DeadlineExceeded):
		return "timeout"
	case ctx.Err() != nil:
		return stoppedCall
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &network) && network.Timeout():
		return "timeout"
	case errors.As(err, &network):
		return "network"
	case errors.Is(err, fs.ErrNotExist):
		return "not found"
	case errors.Is(err, fs.ErrPermission):
		return "no permission"
	}
	return "error"
}
