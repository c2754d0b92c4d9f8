package tools_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"dragoman/agent"
	"dragoman/agent/toolbox"
	"dragoman/agent/tools"
	"dragoman/channels"
	beat "dragoman/heartbeat"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// call runs a tool as the loop does in a private chat with Alice.
func call(t *testing.T, tool agent.Tool, args any) (string, error) {
	t.Helper()
	raw, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Run(t.Context(), agent.Call{
		ID: "call-1", Args: raw, Key: channels.MustKey("telegram:7"), Private: true,
		Person: channels.Person{IDs: []string{"7"}, Name: "Alice"},
	})
}

// must runs a tool that has to succeed.
func must(t *testing.T, tool agent.Tool, args any) string {
	t.Helper()
	got, err := call(t, tool, args)
	if err != nil {
		t.Fatalf("%s(%v) = %v, want no error", tool.Spec().Name, args, err)
	}
	return got
}

// refuse runs a tool that has to fail with words in its error.
func refuse(t *testing.T, tool agent.Tool, args any, words string) {
	t.Helper()
	got, err := call(t, tool, args)
	if err == nil || !strings.Contains(err.Error(), words) {
		t.Errorf("%s(%.200v) = %.200q, %v; want an error with %q", tool.Spec().Name, args, got, err, words)
	}
}

type m = map[string]any

// all are the built-in tools, whichever there are.
func all(t *testing.T) []agent.Tool {
	known := &facts{}
	return tools.Builtin(tools.Needs{
		Workspace: workspace(t, t.TempDir()), Facts: known, Archive: archive{}, Attachments: sent{}, Documents: paper{}, Reminders: noJobs{}, Search: engine{}, Drawing: &easel{}, Zone: time.UTC, Now: time.Now,
	})
}

// noJobs keeps no reminders.
type noJobs struct{}

func (noJobs) Schedule(context.Context, agent.Call, beat.Order) (string, error) { return "", nil }
func (noJobs) ListJobs(context.Context, agent.Call) (string, error)             { return "", nil }

func (noJobs) ChangeJob(context.Context, agent.Call, string, beat.Order) (string, error) {
	return "", nil
}
func (noJobs) CancelJob(context.Context, agent.Call, string) (string, error) { return "", nil }

// changes says which of tools change something. It is a promise to the loop: it
// decides what happens to a call that a crash interrupted.
func changes(t *testing.T, want bool, tools ...agent.Tool) {
	t.Helper()
	for _, tool := range tools {
		if s := tool.Spec(); s.Parallel == want || s.Repeatable == want {
			t.Errorf("%s: Parallel and Repeatable are %v and %v, want %v", s.Name, s.Parallel, s.Repeatable, !want)
		}
	}
}

func TestWhatChangesSomethingIsNotRepeated(t *testing.T) {
	w, f := workspace(t, t.TempDir()), &facts{}
	changes(t, true, tools.WriteFile(w), tools.Remember(f), tools.Forget(f), tools.Exec(w, nil))
	changes(t, false, tools.ListDir(w), tools.ReadFile(w), tools.Recall(f), tools.SearchHistory(archive{}),
		tools.ReadAttachment(sent{}, nil), tools.WebFetch(tools.Here{}), tools.Clock(time.UTC, time.Now))
}

func TestNames(t *testing.T) {
	names := tools.Names()
	if !slices.IsSorted(names) || !slices.Contains(names, "time") {
		t.Errorf("Names = %q, want all names, sorted", names)
	}
	for i, name := range names {
		if toolbox.Borrowed(name) || i > 0 && name == names[i-1] {
			t.Errorf("the name %q is a server's, or there twice", name)
		}
	}
}

// Every built-in tool is described well enough for a model, and understands what it
// describes.
func TestSpecs(t *testing.T) {
	for _, tool := range all(t) {
		spec := tool.Spec()
		t.Run(spec.Name, func(t *testing.T) {
			if n := len(spec.Description); n < 20 || n > 160 {
				t.Errorf("the description has %d characters, want one or two short sentences", n)
			}
			var schema struct {
				Type       string `json:"type"`
				Properties map[string]struct {
					Type        string `json:"type"`
					Description string `json:"description"`
				} `json:"properties"`
				Required   []string `json:"required"`
				Additional *bool    `json:"additionalProperties"`
			}
			if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
				t.Fatal(err)
			}
			if schema.Type != "object" || schema.Additional == nil || *schema.Additional {
				t.Errorf("Parameters = %s, want a closed object", spec.Parameters)
			}
			for _, name := range schema.Required {
				if _, found := schema.Properties[name]; !found {
					t.Errorf("%q is required and not described", name)
				}
			}
			for name, p := range schema.Properties {
				asSchedule := spec.Name == "change_job" && strings.Contains(spec.Description, "arguments of schedule")
				// Each word more is in every request, and remember says what about is.
				saysItself := slices.Contains([]string{"path", "content", "query", "about", "limit", "offset"}, name)
				if p.Description == "" && !asSchedule && !saysItself {
					t.Errorf("%q has no description", name)
				}
				value := map[string]any{"string": "x", "integer": 1, "boolean": true, "array": []int{1}, "object": m{}}[p.Type]
				if _, err := call(t, tool, m{name: value}); err != nil && strings.Contains(err.Error(), "unknown field") {
					t.Errorf("%q is in the schema and not understood: %v", name, err)
				}
			}
		})
	}
}

func TestArgumentsAreStrict(t *testing.T) {
	w := workspace(t, t.TempDir())
	for _, test := range []struct{ name, args, words string }{
		{"unknown", `{"path": "a", "content": "b", "mode": "append"}`, `unknown field "mode"`},
		{"wrong type", `{"path": 7, "content": "b"}`, `"path" must be a string, not a number`},
		{"a string for a boolean", `{"path": "a", "content": "b", "append": "yes"}`, `"append" must be a boolean`},
		{"two objects", `{"path": "a", "content": "b"} {}`, "something follows"},
		{"no object", `["a"]`, "want a JSON object"},
		{"cut off", `{"path": "a"`, "unexpected EOF"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := tools.WriteFile(w).Run(t.Context(), agent.Call{Args: json.RawMessage(test.args)})
			if err == nil || !strings.Contains(err.Error(), test.words) || !strings.HasPrefix(err.Error(), "write_file: arguments: ") {
				t.Errorf("Run(%s) = %v, want an error with %q", test.args, err, test.words)
			}
		})
	}
}

// An argument that a tool does not have is ignored where nothing can depend on it: an
// explanation, and any argument of a tool that only reads. That one is named.
func TestAdditionalArguments(t *testing.T) {
	w := workspace(t, t.TempDir())
	put := tools.WriteFile(w)
	must(t, put, m{"path": "a", "content": "b", "reason": "it was asked for"})
	must(t, put, m{"path": "a", "content": "b", "Explanation": []int{1}})
	if got := must(t, tools.ReadFile(w), m{"path": "a", "thought": "I look"}); strings.Contains(got, "ignored") {
		t.Errorf("an explanation is spoken of: %q", got)
	}
	got := must(t, tools.ReadFile(w), m{"path": "a", "line": 7, "encoding": "utf-8"})
	if want := `[read_file has no argument called "encoding, line"; it was ignored]`; !strings.HasSuffix(got, want) {
		t.Errorf("read_file = %q, want %s at its end", got, want)
	}
	must(t, tools.Clock(time.UTC, time.Now), m{"timezone": "UTC"})
	refuse(t, put, m{"path": "a", "content": "c", "mode": "append"}, `unknown field "mode"`)
	refuse(t, tools.Remember(&facts{}), m{"text": "tea", "expires": 7, "reason": "x"}, `unknown field "expires"`)
	refuse(t, tools.ReadFile(w), m{"file": "a"}, "the path is empty")
	if got := must(t, tools.ReadFile(w), m{"path": "a"}); !strings.Contains(got, "b") || strings.Contains(got, "c") {
		t.Errorf("the file is %q after a refused call", got)
	}
}

func TestNumbersAsModelsWriteThem(t *testing.T) {
	w := workspace(t, t.TempDir())
	must(t, tools.WriteFile(w), m{"path": "a", "content": "0123456789"})
	for _, offset := range []string{`4`, `"4"`, `4.0`, `4e0`} {
		got, err := tools.ReadFile(w).Run(t.Context(), agent.Call{Args: json.RawMessage(`{"path":"a","offset":` + offset + `}`)})
		if err != nil || !strings.HasSuffix(got, "\n456789") {
			t.Errorf("offset %s: %q, %v; want 456789", offset, got, err)
		}
	}
	for _, offset := range []string{`4.5`, `"four"`, `1e300`, `true`, `[4]`} {
		if got, err := tools.ReadFile(w).Run(t.Context(), agent.Call{Args: json.RawMessage(`{"path":"a","offset":` + offset + `}`)}); err == nil {
			t.Errorf("offset %s: %q, want an error", offset, got)
		}
	}
}

func TestClock(t *testing.T) {
	rome, err := time.LoadLocation("Europe/Rome")
	if err != nil {
		t.Fatal(err)
	}
	now := func() time.Time { return time.Date(2026, 12, 31, 23, 30, 0, 0, time.UTC) }
	clock := tools.Clock(rome, now)
	for _, test := range []struct {
		args any
		want string
	}{
		{m{}, "Friday, 2027-01-01 00:30:00 (Europe/Rome, UTC+01:00), ISO week 2026-W53, Unix time 1798759800"},
		{m{"zone": "UTC"}, "Thursday, 2026-12-31 23:30:00 (UTC), ISO week 2026-W53, Unix time 1798759800"},
		{m{"zone": " Asia/Kathmandu "}, "Friday, 2027-01-01 05:15:00 (Asia/Kathmandu, UTC+05:45), ISO week 2026-W53, Unix time 1798759800"},
	} {
		if got := must(t, clock, test.args); got != test.want {
			t.Errorf("time(%v) = %q, want %q", test.args, got, test.want)
		}
	}
	for _, test := range []struct {
		zone *time.Location
		want string
	}{
		{time.FixedZone("", 3600), " 00:30:00 (UTC+01:00), "},
		{time.FixedZone("+03", 3*3600), " 02:30:00 (UTC+03:00), "},
		{time.FixedZone("CET", 3600), " 00:30:00 (CET, UTC+01:00), "},
		{time.UTC, " 23:30:00 (UTC), "},
	} {
		if got := must(t, tools.Clock(test.zone, now), m{}); !strings.Contains(got, test.want) {
			t.Errorf("in %v it is %q, want %q", test.zone, got, test.want)
		}
	}
	// The machine's zone has one name here and another elsewhere.
	if got := must(t, tools.Clock(time.Local, now), m{}); strings.Contains(got, "Local") || !strings.Contains(got, "UTC") {
		t.Errorf("in the machine's zone it is %q", got)
	}
	for _, zone := range []string{"Local", "Rome", "../../etc/passwd", "/etc/localtime", "Europe/Rome\x00", " ", strings.Repeat("x", 9999)} {
		refuse(t, clock, m{"zone": zone}, "there is no time zone")
	}
}

func TestErrorsNameTheToolAndStayShort(t *testing.T) {
	huge := strings.Repeat("x", 256<<10)
	for _, tool := range all(t) {
		for _, args := range []m{{"path": huge}, {"url": "http://" + huge}, {"query": huge}, {"text": huge}, {huge: 1}, {"about": huge, "text": "x", "id": 1}} {
			_, err := call(t, tool, args)
			if err == nil {
				continue
			}
			if !strings.HasPrefix(err.Error(), tool.Spec().Name+": ") {
				t.Errorf("%s: error %.100q does not begin with the tool's name", tool.Spec().Name, err)
			}
			if len(err.Error()) > 500 {
				t.Errorf("%s: error of %d bytes: %.100q", tool.Spec().Name, len(err.Error()), err)
			}
		}
	}
}

func TestToolsEndWithTheirContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	names := []string{}
	for _, tool := range all(t) {
		if slices.Contains([]string{"recall", "search_history", "web_fetch"}, tool.Spec().Name) {
			_, err := tool.Run(ctx, agent.Call{Args: json.RawMessage(`{}`), Key: channels.MustKey("cli:direct")})
			if tool.Spec().Name == "recall" && err == nil {
				t.Error("recall succeeded after its context had ended")
			}
			names = append(names, tool.Spec().Name)
		}
	}
	if len(names) != 3 {
		t.Errorf("looked at %v", names)
	}
}
