package app_test

import (
	"slices"
	"testing"

	"dragoman/agent/agenttest"
	"dragoman/internal/api"
)

// After a reload, the settings that count only after a restart are listed, until they are as
// before.
func TestSettingsThatNeedARestart(t *testing.T) {
	t.Parallel()
	const text = "http: {listen: \"127.0.0.1:0\"}\nmodel: {type: demo}\n"
	p := newPlace(t, text)
	r := p.run()
	restart := func() []string {
		t.Helper()
		now, err := api.ReadConfiguration.Call(t.Context(), r.admin, api.None{})
		if err != nil {
			t.Fatal(err)
		}
		return now.Restart
	}
	if got := restart(); len(got) != 0 {
		t.Errorf("at the start %v need a restart", got)
	}
	p.write(text + "agent: {max_steps: 7}\nlog: {level: debug}\n")
	r.hangup <- struct{}{}
	r.until("the new setting", func() bool { return slices.Equal(restart(), []string{"agent.max_steps"}) })
	p.write(text)
	r.hangup <- struct{}{}
	r.until("the setting of before", func() bool { return len(restart()) == 0 })
}

// The models that a prompt may name are listed, the usual one first, with what is known.
func TestModelsAreListed(t *testing.T) {
	t.Parallel()
	server := agenttest.Serve(t, agenttest.Options{Models: []string{"main", "small"}})
	r := newPlace(t, `model: {type: openai, base_url: "`+server.URL()+`", name: main, context_window: 100000, prices: {input: 2, output: 8}, others: [{name: small, context_window: 8000}]}`).run()
	got, err := api.ListModels.Call(t.Context(), r.admin, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	want := []api.ModelChoice{{Name: "main", Default: true, Window: 100000, Input: 2, Output: 8}, {Name: "small", Window: 8000}}
	if !slices.Equal(got.Data, want) {
		t.Errorf("the models are %+v, want %+v", got.Data, want)
	}
}
