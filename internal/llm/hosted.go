package llm

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"time"

	"dragoman/agent"
	"dragoman/agent/models"
	"dragoman/agent/provider"
	"dragoman/internal/config"
)

const (
	// localWait is how long a start waits for a server on this machine to
	// describe its model. Other servers are asked during the start.
	localWait = 25 * time.Millisecond
	// lookAgain is how often Ollama is asked for the loaded window, which depends
	// on its other work.
	lookAgain = 30 * time.Second
)

// hosted is a model and what is known about it. At first that comes from the
// table; answers of the server replace it while the model is in use.
type hosted struct {
	agent.Model       // makes the calls; it is provider
	provider          *provider.Model
	models            *Models
	server            models.Server
	found             atomic.Pointer[models.Found]
	problem           atomic.Pointer[models.Diagnosis] // nil: none, or not looked yet
	looking           atomic.Bool
	savedAt           atomic.Int64  // the time of the newest lesson that was saved
	lastLook          atomic.Int64  // the start of the newest look, in Unix nanoseconds
	looked            chan struct{} // closed after the first look
	configured        int           // the window in the configuration; 0: none
	separatesThoughts bool          // see [agent.Abilities]
}

func (v *hosted) Unwrap() agent.Model { return v.Model }

// Abilities combines what calls have taught and what was looked up. The
// configuration overrides both.
func (v *hosted) Abilities() agent.Abilities {
	f, a := v.found.Load(), agent.AbilitiesOf(v.Model)
	a.NoTools = a.NoTools || f.Tools == models.No
	a.NoVision = v.models.cfg.Model.Vision != "yes" && (a.NoVision || f.Vision == models.No)
	a.Window, a.SeparatesThoughts = cmp.Or(v.configured, f.Window), v.separatesThoughts
	return a
}

// look asks the server in the background, unless a look is running. It calls
// done, which may be nil, at the end.
func (v *hosted) look(done func()) {
	if v.models.background.Err() != nil || !v.looking.CompareAndSwap(false, true) {
		return
	}
	v.lastLook.Store(time.Now().UnixNano())
	v.models.wg.Go(func() {
		defer v.looking.Store(false)
		if done != nil {
			defer done()
		}
		f := models.Look(v.models.background, v.server, v.Name())
		if v.models.background.Err() != nil {
			return
		}
		if f.Efforts != nil {
			v.provider.SetEfforts(f.Efforts)
		}
		before := v.found.Swap(&f)
		v.logLook(before, &f, done != nil)
	})
}

func (v *hosted) logLook(before, now *models.Found, first bool) {
	log := v.models.log.With("model", v.Name())
	if first {
		if d := models.Diagnose(v.models.background, v.server, *now, v.Name()); d.Sentence != "" && v.models.background.Err() == nil {
			v.problem.Store(&d)
			log.Warn("the check of the model's server found a problem", "cause", string(d.Cause), "why", d.Sentence)
		}
		log.Info("checked the model's server", "server", now.Server, "window", now.Window, "window_from", now.WindowFrom,
			"tools", string(now.Tools), "pictures", string(now.Vision))
		if now.Tools == models.No {
			log.Warn("the model cannot call tools, so it gets none", "from", now.ToolsFrom)
		}
		return
	}
	if now.Err == nil && before.Window != now.Window {
		log.Info("the model's context window changed", "was", before.Window, "window", now.Window, "window_from", now.WindowFrom)
	}
}

// Complete implements [agent.Model]. Its results have names, so that no copy of the answer
// is on the stack below a waiting call: where the stack of a turn is deepest, all of its
// 16 KB are used.
func (v *hosted) Complete(ctx context.Context, r agent.Request, onDelta func(agent.Delta)) (res agent.Response, err error) {
	res, err = v.Model.Complete(ctx, r, onDelta)
	if err == nil {
		v.succeeded()
	}
	return res, err
}

// succeeded is called after a successful call. It saves new lessons and forgets
// the problem of the first look. It looks again at Ollama, which may have
// loaded the model with another window.
func (v *hosted) succeeded() {
	if all := v.provider.Learned(); len(all) > 0 {
		if newest := all[len(all)-1].At.UnixNano(); v.savedAt.Swap(newest) != newest {
			v.models.notes.setLearned(v.server, v.Name(), all)
		}
	}
	if d := v.problem.Load(); d != nil && d.Cause != "" {
		v.problem.CompareAndSwap(d, nil)
	}
	f := v.found.Load()
	if f.Server == models.ServerOllama && (f.Tentative || time.Since(time.Unix(0, v.lastLook.Load())) > lookAgain) {
		v.look(nil)
	}
}

// awaitFirstLook gives a server on this machine a moment to answer the first
// look.
func (v *hosted) awaitFirstLook() {
	if !models.IsLocal(v.server.BaseURL) {
		return
	}
	select {
	case <-v.looked:
	case <-time.After(localWait):
	}
}

// window returns the model's context window as known now, in tokens.
func (v *hosted) window() int {
	return cmp.Or(v.configured, v.found.Load().Window, config.UnknownWindow)
}

func windowText(configured int, f models.Found) string {
	switch {
	case configured > 0:
		return fmt.Sprintf("Its window is %d tokens, as model.context_window says.", configured)
	case f.Window > 0:
		return fmt.Sprintf("Its window is %d tokens (source: %s).", f.Window, f.WindowFrom)
	}
	return fmt.Sprintf("Its window is unknown; Dragoman assumes %d tokens, unless you set model.context_window.", config.UnknownWindow)
}

// Open opens an attachment if the model can see pictures. The first look may
// find that out only after the start.
func (v *hosted) Open(file string) (io.ReadCloser, error) {
	if f := v.found.Load(); f == nil || f.Vision != models.Yes {
		return nil, errors.New("llm: the model takes no pictures")
	}
	return v.models.files.Open(file)
}
