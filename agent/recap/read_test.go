package recap_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"dragoman/agent/recap"
	"dragoman/agent/window"
	"dragoman/sessions"
)

// tea is a conversation about tea.
var tea = recap.Source{Messages: []sessions.Message{
	{Role: sessions.RoleUser, Content: "Ann likes green tea from Uji, the tin costs $129."},
	{Role: sessions.RoleAssistant, Content: "Then I order a tin of sencha for Thursday."},
}}

func taskOf(t testing.TB, c window.Compaction) *recap.Task {
	t.Helper()
	task, err := recap.NewTask(c)
	if err != nil {
		t.Fatal(err)
	}
	return task
}

const goodFields = `{"title":"Tea","keywords":["tea"],"summary":"Ann orders sencha.","key_points":["p"],"key_facts":["a tin is $129"],"sentiment":"neutral","confidence":7}`

// TestReadFields: only the summary is required; text around the object and unreadable
// fields are dropped.
func TestReadFields(t *testing.T) {
	change := func(old, new string) string { return strings.Replace(goodFields, old, new, 1) }
	task := taskOf(t, window.Compaction{Format: window.JSON})
	for name, test := range map[string]struct {
		text string
		ok   bool
	}{
		"good":               {goodFields, true},
		"in a fence":         {"```json\n" + goodFields + "\n```", true},
		"prose around":       {"Here {it} is: " + goodFields + " Done.", true},
		"no title":           {change(`"title":"Tea",`, ``), true},
		"no keywords":        {change(`["tea"]`, `[]`), true},
		"four keywords":      {change(`["tea"]`, `["a","b","c","d"]`), true},
		"a comma too many":   {change(`7}`, `7,}`), true},
		"one in a list":      {change(`"]`, `",]`), true},
		"another sentiment":  {change(`neutral`, `mixed`), true},
		"confidence as text": {change(`7}`, `"high"}`), true},
		"no number":          {change(`7}`, `"NaN"}`), true},
		"a field too many":   {change(`{"title"`, `{"mood":"x","title"`), true},
		"other names":        {change(`key_facts`, `keyFacts`), true},
		"cut":                {goodFields[:40], false},
		"null summary":       {change(`"Ann orders sencha."`, `null`), false},
		"no summary":         {change(`"summary":`, `"tale":`), false},
		"no object":          {"Ann orders sencha for $129.", false},
		"empty":              {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := task.Read(recap.Answer{Text: test.text}, tea)
			var flaw *recap.Flaw
			if (err == nil) != test.ok || err != nil && !errors.As(err, &flaw) {
				t.Fatalf("Read() = %+v, %v", s, err)
			}
			var f recap.Fields
			if err == nil && (json.Unmarshal(s.Fields, &f) != nil || !strings.Contains(s.Text, "- a tin is $129")) {
				t.Errorf("Read() = %q with %s, want the fact in both", s.Text, s.Fields)
			}
		})
	}
	var schema map[string]any
	if err := json.Unmarshal(task.Schema(), &schema); err != nil || schema["type"] != "object" {
		t.Errorf("Schema() = %s, %v, want that of an object", task.Schema(), err)
	}
}

// TestReadCustomSchema: an object that follows the operator's schema is found in the
// text around it.
func TestReadCustomSchema(t *testing.T) {
	task := taskOf(t, window.Compaction{Format: window.JSON, Schema: `{"type":"object","required":["topic"],"properties":{"topic":{"type":"string"}}}`})
	for text, want := range map[string]string{
		"Sure:\n```json\n{\"topic\": \"tea\",}\n```": `{"topic":"tea"}`,
		`{"topic":"tea"}`:   `{"topic":"tea"}`,
		`{"subject":"tea"}`: "",
		`{"topic":" "}`:     "",
		"tea":               "",
	} {
		s, err := task.Read(recap.Answer{Text: text}, tea)
		if string(s.Fields) != want || (err == nil) != (want != "") {
			t.Errorf("Read(%q) = %s, %v, want %s", text, s.Fields, err, want)
		}
	}
}

// FuzzRead: whatever a model writes is accepted or rejected, and an accepted summary
// is not empty and has nothing in it that the next model must not see.
func FuzzRead(f *testing.F) {
	f.Add(goodFields, 0)
	f.Add("<think>x</think><summary>Ann orders sencha for $129.</summary>", 1)
	f.Add("**Goal:** N/A\n## Goal: Ann likes Uji\n```\n```", 2)
	f.Add("<|channel|>final<|message|>{\"summary\": [1, {\"a\": \"sencha $129\"}],}", 0)
	formats := []window.Format{window.JSON, window.Concise, window.Sections}
	f.Fuzz(func(t *testing.T, text string, format int) {
		task := taskOf(t, window.Compaction{Format: formats[uint(format)%3]})
		s, err := task.Read(recap.Answer{Text: text}, tea)
		var flaw *recap.Flaw
		switch {
		case err != nil && (!errors.As(err, &flaw) || s.Text != ""):
			t.Errorf("Read() = %q, %v, want a flaw and nothing else", s.Text, err)
		case err == nil && strings.TrimSpace(s.Text) == "":
			t.Error("a summary that was read is empty")
		}
	})
}
