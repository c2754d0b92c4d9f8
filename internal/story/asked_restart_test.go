package story_test

import "testing"

// A question outlives the daemon that asked it. A yes counts after a kill, but not under
// another policy, and not for what was stopped.
func TestAskedOverRestarts(t *testing.T) {
	h := newHouse(t, plan{rest: askedSettings("telegram:72")})
	n := &askedNet{
		daemon: h.start(), heard: func() []string { return h.api.FromBot(ann.ID) },
		asks:   func(text string) { h.tell(ann, text) },
		denies: func(code string) { h.tell(ann, "/deny "+code) },
	}
	killed := func(rest string) {
		n.kill()
		h.configure(plan{rest: rest})
		n.daemon = h.start()
	}
	allow := func(q askedQuestion) { h.tell(ann, "/allow "+q.code) }
	n.run(t, []askedCase{
		{"killed after it was asked", func(q askedQuestion) {
			killed(askedSettings("telegram:72"))
			allow(q)
		}, "used"},
		{"killed after it was asked, and nobody allows it", func(askedQuestion) { killed(askedSettings("telegram:72")) }, "pending"},
		{"another policy after a kill", func(q askedQuestion) {
			killed(askedSettings("telegram:73"))
			allow(q)
		}, "closed"},
		{"stopped between", func(q askedQuestion) {
			h.tell(ann, "/stop")
			allow(q)
		}, "closed"},
	})
}
