package app_test

import (
	"slices"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
	"dragoman/internal/testkit"
)

// GET /health has the status and figures to plot; the history of the channels counts what
// was said, also over a restart.
func TestHealth(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.run()
	ask := api.Question{Key: channels.MustKey("web:default"), Text: "hello", ID: "one"}
	if _, err := api.PutQuestion.Call(t.Context(), r.admin, ask); err != nil {
		t.Fatal(err)
	}
	h, err := api.ReadHealth.Call(t.Context(), r.admin, api.None{})
	if err != nil {
		t.Fatal(err)
	}
	if !h.Status.Running || h.Status.QueueCounts == nil || h.EverySeconds != 15 || len(h.Nodes) != 1 || !h.Nodes[0].Self {
		t.Fatalf("health = %+v", h)
	}
	f := h.Nodes[0].Figures
	known := 0
	for _, v := range f.Waiting {
		if v != nil {
			known++
		}
	}
	if known == 0 || len(f.Waiting) != 240 || len(f.CPU) != 240 || len(f.MemoryBytes) != 240 {
		t.Errorf("%d of %d values are known", known, len(f.Waiting))
	}
	r.stop()
	again := p.run()
	var days api.ChannelDays
	// What an earlier process kept is read beside everything else.
	testkit.Poll(10*time.Second, func() bool {
		days, err = api.ReadChannelDays.Call(t.Context(), again.admin, api.None{})
		return err != nil || slices.ContainsFunc(days.Channels, func(c api.ChannelDay) bool { return c.Name == "web" && c.In[46]+c.In[47] > 0 })
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range days.Channels {
		if len(c.Connected) != 48 || len(c.In) != 48 || len(c.Out) != 48 || len(c.Failed) != 48 {
			t.Errorf("%s has not 48 half hours: %+v", c.Name, c)
			continue
		}
		if c.Name != "web" {
			continue
		}
		in := c.In[46] + c.In[47] // the half hour may have ended meanwhile
		out := c.Out[46] + c.Out[47]
		if c.Type != "web" || in != 1 || out < 1 {
			t.Errorf("web had %d messages in and %d out; want 1 and 1", in, out)
		}
		if c.Connected[0] != nil { // the last one is known once a look has seen it connected
			t.Errorf("web was connected for %v of the first half hour; want that nothing is known of it", *c.Connected[0])
		}
	}
	if len(days.Channels) < 2 || days.EverySeconds != 1800 || days.From.IsZero() {
		t.Errorf("the days are %+v", days)
	}
}
