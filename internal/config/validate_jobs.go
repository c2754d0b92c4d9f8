package config

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"dragoman/channels"
	"dragoman/heartbeat"
)

func (v *validator) heartbeat() {
	h := &v.c.Heartbeat
	if job, wanted := h.FileJob(); wanted {
		v.schedule("heartbeat", job)
	} else {
		v.span("heartbeat.every", h.Every, time.Minute, 366*24*time.Hour)
	}
	seen := map[string]bool{}
	for i := range h.Jobs {
		path, job := fmt.Sprintf("heartbeat.jobs[%d]", i), &h.Jobs[i]
		if job.TimeZone == "" {
			job.TimeZone = h.TimeZone
		}
		if job.CatchUp == "" {
			job.CatchUp = "once"
		}
		v.job(path, *job, seen[job.Name])
		seen[job.Name] = true
	}
}

func (v *validator) job(path string, job Job, taken bool) {
	_, nameErr := channels.NewKey(heartbeatName, job.Name)
	switch {
	case nameErr != nil || utf8.RuneCountInString(job.Name) > 64 || strings.ContainsFunc(job.Name, unicode.IsSpace):
		v.bad(path+".name", "a job needs a name of 1 to 64 characters without spaces", "")
	case job.Name == FileJobName:
		v.bad(path+".name", FileJobName+" is the name of the job that runs HEARTBEAT.md", "give it another name")
	case taken:
		v.bad(path+".name", "another job has this name", "records are kept by name: give it another")
	}
	if strings.TrimSpace(job.Prompt) == "" {
		v.bad(path+".prompt", "is empty", "write what the model should do")
	}
	v.oneOf(path+".catch_up", job.CatchUp, "once", "skip")
	if (job.Cron == "") == (job.Every == 0 && !v.written(path+".every")) {
		v.bad(path, "a job needs either every or cron", "write one of them, like every: 2h or cron: \"0 8 * * *\"")
		return
	}
	v.schedule(path, job)
}

// schedule checks what a job and HEARTBEAT.md share. What package heartbeat
// knows better is asked last, and only if nothing was found here, so that
// nothing is reported twice.
func (v *validator) schedule(path string, job Job) {
	before := len(v.problems)
	if job.Cron == "" {
		v.span(path+".every", job.Every, time.Minute, 366*24*time.Hour)
		if job.Every.D()%time.Second != 0 {
			v.bad(path+".every", "has a fraction of a second", "write whole seconds")
		}
	}
	at := path + ".time_zone"
	if !v.written(at) {
		at = "heartbeat.time_zone"
	}
	v.timeZone(at, job.TimeZone)
	found := len(v.problems) > before
	v.target(path+".target", job.Target)
	if found {
		return
	}
	only := job.Scheduled() // what is wrong with the rest was said
	only.Name, only.Target, only.Prompt, only.CatchUp = "any", channels.MustKey("any:chat"), "any", ""
	for _, err := range unjoin(heartbeat.Validate(only)) {
		what := err.Error()
		if v.marks[path+".cron"].expanded || v.marks[path+".active_hours"].expanded {
			what = "its cron or active_hours (from a variable or a file) cannot be understood"
		}
		v.bad(path, what, "")
	}
}

func (v *validator) target(path, target string) {
	key, err := channels.ParseKey(target)
	if err != nil {
		v.bad(path, v.show(path, target)+" is not a conversation", "write channel:chat, like telegram:123456789")
		return
	}
	ch, known := v.c.Channels[key.Channel()]
	switch {
	case !known && v.written("channels."+key.Channel()):
		// The channel has a problem of its own, which is reported already.
	case !known:
		names := slices.Sorted(maps.Keys(v.c.Channels))
		v.bad(path, "there is no channel "+strings.TrimPrefix(v.show(path, key.Channel()), "this"), "configured: "+strings.Join(names, ", "))
	case !ch.Enabled:
		v.bad(path, "its channel is turned off (enabled: false)", "turn it on, or name another conversation")
	}
}

// unjoin takes apart what errors.Join put together.
func unjoin(err error) []error {
	if err == nil {
		return nil
	}
	var joined interface{ Unwrap() []error }
	if errors.As(err, &joined) {
		return joined.Unwrap()
	}
	return []error{err}
}
