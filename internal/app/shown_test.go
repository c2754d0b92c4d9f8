package app_test

import (
	"slices"
	"testing"

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
