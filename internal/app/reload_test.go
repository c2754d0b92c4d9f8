package app_test

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"dragoman/channels/channeltest/botapi"
	"dragoman/channels/live"
	"dragoman/internal/api"
	"dragoman/sessions"
)

const jobs = `
heartbeat:
  jobs: [{name: morning, cron: "0 8 * * *", target: "web:default", prompt: hi}]`

// reload asks for it and waits until the daemon has said word.
func (r *running) reload(word string) {
	r.t.Helper()
	before := strings.Count(r.log.String(), word)
	select {
	case r.hangup <- struct{}{}:
	case <-r.t.Context().Done():
		r.t.Fatal("nobody takes the request to reload")
	}
	r.until(word, func() bool { return strings.Count(r.log.String(), word) > before })
}

func (r *running) jobNames() string {
	r.t.Helper()
	list, err := api.ListJobs.Call(r.t.Context(), r.admin, api.JobQuery{})
	if err != nil {
		r.t.Fatal(err)
	}
	var names []string
	for _, j := range list.Data {
		names = append(names, j.Name)
	}
	return strings.Join(names, " ")
}

func TestReload(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	r := p.run()
	r.ask(r.page(""), "good morning")
	if got := r.jobNames(); got != "" {
		t.Fatalf("jobs = %q, want none", got)
	}

	// Good: the level, a job, and nobody may talk on the page any more.
	p.write("log: {level: debug}\nchannels: {web: {type: web, allow: []}}" + jobs)
	r.reload("reloaded")
	if r.level.Level() != slog.LevelDebug {
		t.Errorf("level = %s, want debug", r.level.Level())
	}
	if got := r.jobNames(); got != "morning" {
		t.Errorf("jobs = %q, want morning", got)
	}
	if policy := strings.Join(r.status().Policy, "; "); !strings.Contains(policy, "web: only people who were paired") {
		t.Errorf("status says %q, want the new policy", policy)
	}
	const shut = "channels.web.allow: nobody may talk"
	if warnings := strings.Join(r.status().Warnings, "; "); !strings.Contains(warnings, shut) {
		t.Errorf("status warns of %q, want what is new", warnings)
	}
	page := r.page("")
	if err := api.RunJob.Call(t.Context(), r.admin, api.JobName{Name: "morning"}); err != nil {
		t.Errorf("RunJob = %v, want the new job to run", err)
	}
	r.until("the job's answer", func() bool { return len(r.feed(page)) == 3 })
	before := len(r.feed(page))
	if err := page.Post(t.Context(), "message-refused", "hello?"); err != nil {
		t.Fatal(err)
	}
	r.until("the refusal", func() bool { return strings.Contains(r.log.String(), "sender is not on the allow list") })
	if got := len(r.feed(page)); got != before {
		t.Errorf("the feed has %d items, want %d as before: nobody may talk", got, before)
	}

	// Bad: nothing changes, not even the parts that are well.
	p.write("log: {level: error}\nchannels: {web: {type: web, allow: ['*']}}\nagent: {max_steps: ten}")
	r.reload("reload refused")
	if !strings.Contains(r.log.String(), "agent.max_steps") {
		t.Errorf("the log does not say what is wrong:\n%s", r.log)
	}
	if r.level.Level() != slog.LevelDebug || r.jobNames() != "morning" {
		t.Errorf("level = %s, jobs = %q, want both as they were", r.level.Level(), r.jobNames())
	}

	// Good again: back to the beginning.
	p.write("")
	r.reload("reloaded")
	if r.level.Level() != slog.LevelInfo || r.jobNames() != "" {
		t.Errorf("level = %s, jobs = %q, want info and none", r.level.Level(), r.jobNames())
	}
	if warnings := strings.Join(r.status().Warnings, "; "); strings.Contains(warnings, shut) {
		t.Errorf("status warns of %q, which is mended", warnings)
	}
	if err := api.RunJob.Call(t.Context(), r.admin, api.JobName{Name: "morning"}); !errors.Is(err, sessions.ErrNotFound) {
		t.Errorf("RunJob = %v, want that the job is gone", err)
	}
	if got := r.ask(r.page(""), "good evening"); got == "" {
		t.Error("the page is not answered again")
	}
}

// A rule of the configuration ends turns, from the next one after a reload on.
func TestReloadTheRules(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "limits: {pause: {answer: 'Back on Monday.'}}")
	r := p.run()
	page := r.page("")
	if got := r.ask(page, "hello"); got != "Back on Monday." {
		t.Errorf("a paused daemon answers %q", got)
	}
	p.write("")
	r.reload("reloaded")
	if got := r.ask(page, "and now?"); got == "" || got == "Back on Monday." {
		t.Errorf("after the pause it answers %q", got)
	}
	p.write("limits: {pause: {answer: 'Gone fishing.'}}")
	r.reload("reloaded")
	if got := r.ask(page, "still there?"); got != "Gone fishing." {
		t.Errorf("in the next pause it answers %q", got)
	}
	p.write("limits: {pause: {answer: 'A moment.', keep: true}}")
	r.reload("reloaded")
	if got := r.ask(page, "remember this"); got != "A moment." {
		t.Errorf("in a pause that keeps messages it answers %q", got)
	}
	before := len(r.feed(page))
	p.write("")
	r.reload("reloaded")
	r.until("the answer to what was kept", func() bool {
		now := r.feed(page)
		return len(now) == before+1 && now[before].From == live.FromDragoman && now[before].Text != "A moment."
	})
	if strings.Contains(r.log.String(), "need a restart") {
		t.Errorf("the log asks for a restart:\n%s", r.log)
	}
}

// Taking a channel out of the configuration closes it at once, to people who
// were paired as well, until a restart ends it.
func TestReloadWithoutTheChannel(t *testing.T) {
	t.Parallel()
	bot, err := botapi.Start("127.0.0.1:0", botapi.Options{Token: "1000:" + strings.Repeat("TEST", 9)})
	if err != nil {
		t.Fatal(err)
	}
	defer bot.Close()
	const form = "channels: {telegram: {type: telegram, enabled: %s, token: '%s', api_url: '%s', allow: [], pairing: true, poll_timeout: 1s}}"
	on, off := fmt.Sprintf(form, "true", bot.Token(), bot.URL()), fmt.Sprintf(form, "false", bot.Token(), bot.URL())
	p := newPlace(t, on)
	r := p.run()
	ann := botapi.Person(7, "Ann")
	said := 0
	say := func(text string) string {
		t.Helper()
		bot.Private(ann).Say(ann, text)
		said++
		r.until("an answer to "+text, func() bool { return len(bot.FromBot(7)) == said })
		return bot.FromBot(7)[said-1]
	}
	code := regexp.MustCompile("[A-Z2-9]{4}-[A-Z2-9]{4}-[A-Z2-9]{5}").FindString(say("let me in"))
	if _, err := api.ApprovePairing.Call(t.Context(), r.admin, api.Code{Code: code}); err != nil {
		t.Fatalf("approve %q: %v", code, err)
	}
	said += 2 // that she may write, and the answer to what she wrote before
	r.until("an answer to let me in", func() bool { return len(bot.FromBot(7)) == said })
	say("good morning")

	p.write(off)
	r.reload("reloaded")
	for i, who := range []botapi.User{ann, botapi.Person(8, "Bob")} {
		bot.Private(who).Say(who, "hello?")
		r.until("the refusal", func() bool {
			return strings.Count(r.log.String(), "sender is not on the allow list") == i+1
		})
	}
	if got := len(bot.FromBot(7)) + len(bot.FromBot(8)); got != said {
		t.Errorf("the bot said %d things, want %d as before", got, said)
	}
	if policy := strings.Join(r.status().Policy, "; "); !strings.Contains(policy, "telegram: only people who were paired") {
		t.Errorf("status says %q, want that nobody may talk", policy)
	}

	p.write(on)
	r.reload("reloaded")
	say("good evening")
}

// What a running daemon cannot change is named, and nothing else.
func TestReloadNamesWhatNeedsARestart(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "workspace_mode: shared")
	r := p.run()
	p.write("workspace_mode: per_chat\nlog: {level: debug}\nsummary: {keep: {n: 6}}")
	r.reload("need a restart")
	if want := `settings=workspace_mode` + "\n"; !strings.Contains(r.log.String(), want) {
		t.Errorf("the log does not say %s:\n%s", want, r.log)
	}
}

// A job that is being replaced while it runs is neither lost nor run twice.
func TestReloadKeepsRunningJobs(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "heartbeat:\n  jobs: [{name: morning, cron: \"0 8 * * *\", target: \"web:default\", prompt: 'say: good morning'}]")
	r := p.run()
	page := r.page("")
	if err := api.RunJob.Call(t.Context(), r.admin, api.JobName{Name: "morning"}); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		r.reload("reloaded")
	}
	r.until("the job's words", func() bool { return len(r.feed(page)) == 1 })
	list, err := api.ListOccurrences.Call(t.Context(), r.admin, api.JobLimited{Job: "morning", Limit: 10})
	if err != nil || len(list.Data) != 1 || list.Data[0].Outcome != "ran" {
		t.Errorf("occurrences = %+v, %v, want one that ran", list, err)
	}
}

// Hooks are read again: a new one hears what comes, one that went hears no
// more.
func TestReloadHooks(t *testing.T) {
	t.Parallel()
	p := newPlace(t, "")
	note := filepath.Join(p.dir, "note.sh")
	if err := os.WriteFile(note, []byte("#!/bin/sh\ncat >>\"$1\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	told := func() int {
		data, _ := os.ReadFile(filepath.Join(p.dir, "told"))
		return strings.Count(string(data), "turn_done")
	}
	r := p.run()
	r.ask(r.page("a"), "good morning")
	p.write(fmt.Sprintf("hooks: [{on: [turn_done], command: [%q, %q]}]", note, filepath.Join(p.dir, "told")))
	r.reload("reloaded")
	r.ask(r.page("b"), "good day")
	r.until("the hook to be told", func() bool { return told() == 1 })
	p.write("")
	r.reload("reloaded")
	r.ask(r.page("c"), "good evening")
	r.stop()
	if n := told(); n != 1 {
		t.Errorf("the hook was told of %d turns, want only of the one it was configured for", n)
	}
}
