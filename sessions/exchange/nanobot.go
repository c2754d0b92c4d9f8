package exchange

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// errOwnTalk: the conversation is of the program with itself.
var errOwnTalk = fmt.Errorf("%w: it is a conversation of the program with itself", ErrNobody)

// nanobotLine reads a line of nanobot's. done says that it is no message.
func (g *logReader) nanobotLine(t *conversation, line []byte) (done bool, err error) {
	f, err := parse(line)
	if err != nil {
		return false, nil // damaged, or not a message, which line says
	}
	var kind string
	take(f, "_type", &kind)
	switch {
	case kind == "metadata" && !g.hasMeta:
		g.hasMeta = true
		return true, t.takeNanobot(f)
	case kind != "":
		g.left[kind]++
		return true, nil
	case string(f["_command"]) == "true":
		g.left["command"]++
		return true, nil
	}
	return false, nil
}

// nanobotEntry corrects what e has from a line: the time has no zone, and the sender
// another name.
func (t *conversation) nanobotEntry(e *entry) {
	if at := parseTimeIn(e.Extra["timestamp"], t.zone); !at.IsZero() {
		e.At = at
	}
	take(e.Extra, "sender_id", &e.Sender)
}

// takeNanobot takes the metadata of a session. Its own sessions are refused.
func (t *conversation) takeNanobot(f fieldSet) error {
	var key string
	var more struct {
		Title string `json:"title"`
	}
	_ = json.Unmarshal(f["metadata"], &more) // which stays in f
	t.head.Title = more.Title
	if take(f, "key", &key) {
		channel, _, _ := strings.Cut(key, ":")
		if channel == "heartbeat" || channel == "cron" || channel == "dream" {
			return errOwnTalk
		}
		t.key = strings.Replace(key, ":topic:", ":", 1)
	}
	t.head.Created = parseTimeIn(f["created_at"], t.zone)
	t.head.Updated = parseTimeIn(f["updated_at"], t.zone)
	delete(f, "created_at")
	delete(f, "updated_at")
	return t.takeFields(f)
}

// sayLeft notes the lines that were left out, as many of each kind.
func (g *logReader) sayLeft(t *conversation) {
	for _, kind := range sortedNames(g.left) {
		what := "lines of the type " + kind
		if kind == "command" {
			what = "commands and their answers"
		}
		t.note("%s were left out: %d", what, g.left[kind])
	}
}

// nanobotZone is the time zone of the times in a session at path, which have none: that
// of nanobot's config.json above it, else this machine's.
func nanobotZone(path string) *time.Location {
	dir, err := filepath.Abs(filepath.Dir(path))
	for range 4 { // sessions/WORKSPACE/FILE, or workspace/sessions/FILE
		if err != nil {
			break
		}
		var c struct {
			Agents struct {
				Defaults struct {
					Zone string `json:"timezone"`
					Mode string `json:"timezoneMode"`
				} `json:"defaults"`
			} `json:"agents"`
		}
		data, missing := os.ReadFile(filepath.Join(dir, "config.json"))
		if missing == nil && json.Unmarshal(data, &c) == nil {
			set := c.Agents.Defaults
			zone, unknown := time.LoadLocation(set.Zone)
			if set.Zone == "" || set.Mode == "auto" || unknown != nil {
				break
			}
			return zone
		}
		dir = filepath.Dir(dir)
	}
	return time.Local
}

// sortedNames are the keys of counts, in order.
func sortedNames(counts map[string]int) []string { return slices.Sorted(maps.Keys(counts)) }
