package gateway_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/internal/admission"
	"dragoman/internal/gateway"
	"dragoman/sessions"
	"dragoman/sessions/sqlite/sqlitetest"
)

// teller is a rule that tells something beside each answer until it was told.
type teller struct{ told int }

func (*teller) Before(context.Context, admission.Turn) (admission.Verdict, error) {
	return admission.Verdict{}, nil
}

func (r *teller) Tell(_ context.Context, t admission.Turn) admission.Notice {
	if r.told > 0 {
		return admission.Notice{}
	}
	return admission.Notice{Say: "Little is left.", Once: &sessions.Note{Kind: "told", Owner: t.Owner, Name: "20261129"}}
}

func (r *teller) Told(admission.Notice) { r.told++ }

// What a rule tells beside an answer is in one answer, over restarts, and in no
// conversation.
func TestANoticeIsToldOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		folder := t.TempDir()
		for life, want := range [][]string{{"echo one\n\nLittle is left.", "echo two"}, {"echo one", "echo two"}} {
			mem := sqlitetest.OpenIn(t, folder, nil)
			r := &teller{}
			w := start(t, func(w *world, _ *gateway.Binding, o *gateway.Options) {
				w.mem = mem
				w.store = storeOf(mem)
				o.Rules = []admission.Rule{r}
			})
			w.n = 100 * life // each message has its own id
			w.say("1", "one")
			synctest.Wait()
			w.say("1", "two")
			w.expect("1", want...)
			if r.told != 1 {
				t.Errorf("in life %d the rule hears %d times that it was told, want once", life, r.told)
			}
			if diff := cmp.Diff("assistant: echo one", w.transcript("1")[1]); diff != "" {
				t.Errorf("the conversation has the notice (-want +got):\n%s", diff)
			}
			w.close()
			if err := mem.Close(); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// A turn that fails tells nothing: it is told with the next answer.
func TestANoticeWaitsForAnAnswer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := start(t, func(_ *world, _ *gateway.Binding, o *gateway.Options) { o.Rules = []admission.Rule{&teller{}} })
		w.agent.run = func(context.Context, agent.Turn) (string, error) {
			return "", &agent.ModelError{Kind: agent.ErrorInvalid}
		}
		w.say("1", "one")
		time.Sleep(time.Minute)
		synctest.Wait()
		w.agent.run = echo
		w.say("1", "two")
		synctest.Wait()
		if got := w.net.texts("1"); len(got) != 2 || got[1] != "echo two\n\nLittle is left." {
			t.Errorf("the person reads %q", got)
		}
	})
}
