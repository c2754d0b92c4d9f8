package toolbox_test

import (
	"context"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent"
	"dragoman/agent/toolbox"
)

// named is a tool that does nothing.
type named string

func (n named) Spec() agent.Spec { return agent.Spec{Name: string(n)} }

func (named) Run(context.Context, agent.Call) (string, error) { return "", nil }

func box(t *testing.T, names ...string) *toolbox.Toolbox {
	t.Helper()
	var tools []agent.Tool
	for _, name := range names {
		tools = append(tools, named(name))
	}
	b, err := toolbox.New(tools)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// What the configuration allows is offered in the order of names, and what it names
// without there being such a tool is returned.
func TestAllowed(t *testing.T) {
	b := box(t, "time", "files__read", "recall")
	for _, test := range []struct {
		name           string
		allow          []string
		tools, missing string
	}{
		{"unset is all", nil, "files__read recall time", ""},
		{"empty is none", []string{}, "", ""},
		{"some, in another order", []string{"time", "recall"}, "recall time", ""},
		{"a server's", []string{"files__read"}, "files__read", ""},
		{"a server's that it does not have", []string{"files__write", "time"}, "time", "files__write"},
		{"a tool that is gone", []string{"forget"}, "", "forget"},
		{"a part of a name", []string{"tim", "files__", "files"}, "", "tim files__ files"},
		{"twice", []string{"time", "time"}, "time", ""},
	} {
		tools, missing := b.Allowed(test.allow)
		var names []string
		for _, tool := range tools {
			names = append(names, tool.Spec().Name)
		}
		if got := strings.Join(names, " "); got != test.tools {
			t.Errorf("%s: the tools are %q, want %q", test.name, got, test.tools)
		}
		if got := strings.Join(missing, " "); got != test.missing {
			t.Errorf("%s: missing are %q, want %q", test.name, got, test.missing)
		}
	}
}

// A list that a caller got is the caller's.
// off is a tool that this daemon cannot offer.
type off struct{ named }

func (o off) Spec() agent.Spec { return agent.Spec{Name: string(o.named), Off: "it needs a key"} }

func TestWhatIsOffIsNotOffered(t *testing.T) {
	b, err := toolbox.New([]agent.Tool{off{"search"}, named("time")})
	if err != nil {
		t.Fatal(err)
	}
	for _, allow := range [][]string{nil, {"search", "time"}} {
		tools, missing := b.Allowed(allow)
		if len(tools) != 1 || tools[0].Spec().Name != "time" || len(missing) > 0 {
			t.Errorf("allowing %q offers %v, without %q", allow, tools, missing)
		}
	}
	if diff := cmp.Diff(map[string]string{"search": "it needs a key"}, b.Off([]string{"time", "search", "none"})); diff != "" {
		t.Errorf("what is off (-want +got):\n%s", diff)
	}
}

func TestAllowedIsACopy(t *testing.T) {
	b := box(t, "recall", "time")
	tools, _ := b.Allowed(nil)
	tools[0] = named("other")
	if diff := cmp.Diff([]string{"recall", "time"}, b.Names()); diff != "" {
		t.Errorf("Names after a change of the list (-want +got):\n%s", diff)
	}
}

func TestOneNameOneTool(t *testing.T) {
	_, err := toolbox.New([]agent.Tool{named("time"), named("recall"), named("time")})
	if err == nil || !strings.Contains(err.Error(), `"time"`) {
		t.Errorf("New with two of a name = %v, want an error with the name", err)
	}
}

// A name is checked before there are tools: built-in ones must exist, a server's may.
func TestNamesOfTheConfiguration(t *testing.T) {
	names := toolbox.Names{"read_file", "time"}
	for name, want := range map[string]bool{
		"time": true, "read_file": true, "files__read": true, "my-server__a_b": true, "a__b__c": true,
		"Time": false, "red_file": false, "": false, "__": false, "__read": false, "files__": false, "files___": false, "files_read": false, "my files__read": false,
		"*": true, "read_*": true, "red_*": false, "files__*": true, "files__re*": true, "fi*": false, "__*": false, "*_file": false, "my files__*": false,
	} {
		if got := names.MayExist(name); got != want {
			t.Errorf("MayExist(%q) = %v, want %v", name, got, want)
		}
	}
}
