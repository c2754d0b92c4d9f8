package models_test

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"dragoman/agent/models"
	"dragoman/agent/wire"
)

const (
	openAI     = "https://api.openai.com/v1"
	azureV1    = "https://me.openai.azure.com/openai/v1"
	azureOld   = "https://me.openai.azure.com/openai/deployments/gpt-5.6-luna?api-version=2025-01-01"
	claude     = "https://api.anthropic.com/v1"
	gemini     = "https://generativelanguage.googleapis.com/v1beta/openai"
	openRouter = "https://openrouter.ai/api/v1"
	local      = "http://127.0.0.1:8080/v1"
)

// TestTraits checks the providers' published rules.
func TestTraits(t *testing.T) {
	all := []string{"none", "low", "medium", "high", "xhigh", "max"}
	for name, tc := range map[string]struct {
		base, model, api string
		want             wire.Traits
	}{
		"luna":              {openAI, "gpt-6-luna", "", wire.Traits{API: "responses", NoTemperature: true, CompletionTokens: true, Efforts: all, JSONSchema: true}},
		"luna, auto":        {openAI, "gpt-6-luna-2026-09-22", "auto", wire.Traits{API: "responses", NoTemperature: true, CompletionTokens: true, Efforts: all, JSONSchema: true}},
		"luna by chat":      {openAI, "gpt-6-luna", "chat", wire.Traits{API: "chat", NoTemperature: true, CompletionTokens: true, ToolsNeedEffort: "none", Efforts: all, JSONSchema: true}},
		"astra by chat":     {openAI, "gpt-6-astra", "chat", wire.Traits{API: "chat", NoTemperature: true, CompletionTokens: true, NoTools: true, Efforts: all[1:], JSONSchema: true}},
		"gpt-4.1":           {openAI, "gpt-4.1-mini", "chat", wire.Traits{API: "chat", CompletionTokens: true, JSONSchema: true}},
		"one of tomorrow":   {openAI, "gpt-9", "", wire.Traits{API: "responses", NoTemperature: true, CompletionTokens: true, JSONSchema: true}},
		"azure":             {azureV1, "gpt-5.6-luna", "", wire.Traits{API: "responses", NoTemperature: true, CompletionTokens: true, Efforts: all, JSONSchema: true}},
		"azure, deployment": {azureOld, "gpt-5.6-luna", "", wire.Traits{NoTemperature: true, CompletionTokens: true, ToolsNeedEffort: "none", Efforts: all, JSONSchema: true}},
		"claude":            {claude, "claude-sonnet-5-5", "", wire.Traits{API: "messages", NoTemperature: true, Efforts: all[1:], NeedsMaxTokens: 32000}},
		"claude, unknown":   {claude, "opus-9", "", wire.Traits{API: "messages", NeedsMaxTokens: 8192}},
		"gemini":            {gemini, "models/gemini-3-flash-preview", "", wire.Traits{Efforts: []string{"minimal", "low", "medium", "high"}, JSONSchema: true}},
		"grok":              {"https://api.x.ai/v1", "grok-4.5", "", wire.Traits{API: "responses", Efforts: all[1:4], JSONSchema: true}},
		"kimi":              {"https://api.moonshot.cn/v1", "kimi-k2.6", "", wire.Traits{NoTemperature: true}},
		"a router":          {openRouter, "openai/gpt-6-luna", "", wire.Traits{Efforts: all}},
		"a proxy":           {local, "gpt-6-luna", "", wire.Traits{NoTemperature: true, CompletionTokens: true, Efforts: all}},
		"own weights":       {local, "qwen3:8b", "", wire.Traits{}},
		"own, messages":     {local, "qwen3:8b", "messages", wire.Traits{API: "messages", NeedsMaxTokens: 8192}},
		"no host of theirs": {"https://notopenai.com/v1", "x", "", wire.Traits{}},
		"no address":        {"::", "x", "", wire.Traits{}},
	} {
		if diff := cmp.Diff(tc.want, models.Lookup(tc.base, tc.model, tc.api).Traits); diff != "" {
			t.Errorf("%s: Lookup(%s, %s, %q) differs (-want +got):\n%s", name, tc.base, tc.model, tc.api, diff)
		}
	}
}

// Only hosts that serve just their own models never leave thoughts in the text.
func TestApart(t *testing.T) {
	for name, tc := range map[string]struct {
		base, model string
		want        bool
	}{
		"OpenAI":           {openAI, "gpt-9", true},
		"Anthropic":        {claude, "claude-sonnet-5-5", true},
		"Gemini":           {gemini, "models/gemini-3-flash-preview", true},
		"Azure":            {azureV1, "gpt-5.6-luna", true},
		"another on Azure": {azureV1, "deepseek-r1", false},
		"OpenRouter":       {openRouter, "openai/gpt-6-luna", false},
		"own weights":      {local, "qwen3:8b", false},
		"a proxy":          {local, "gpt-6-luna", false},
	} {
		if got := models.Lookup(tc.base, tc.model, "").SeparatesThoughts; got != tc.want {
			t.Errorf("%s: SeparatesThoughts = %v, want %v", name, got, tc.want)
		}
	}
}

// A maker's shutdown and prices hold at the maker's only.
func TestLookup(t *testing.T) {
	at := models.Lookup(openAI, "gpt-4.1-mini", "")
	if at.Shutdown != "2027-01-14" || at.Window != 1047576 || at.Prices.Input != 0.40 || at.Vision != models.Yes || at.Tools != models.Yes {
		t.Errorf("gpt-4.1-mini at OpenAI = %+v", at)
	}
	if at := models.Lookup(azureV1, "gpt-4.1-mini", ""); at.Shutdown != "" || at.Prices != (models.Prices{}) || !at.Listed {
		t.Errorf("gpt-4.1-mini at Azure = %+v", at)
	}
	if at := models.Lookup(openAI, "gpt-4.1", ""); at.Prices.Input != 2 {
		t.Errorf("gpt-4.1 has the price of gpt-4.1-mini: %+v", at)
	}
}

// Every row can be reached by its own first name, says a window, and has days
// that can be read.
func TestTable(t *testing.T) {
	if _, err := time.Parse(time.DateOnly, models.TableDate); err != nil {
		t.Error(err)
	}
	for _, r := range models.Rows() {
		first, _, _ := strings.Cut(r.Names, " ")
		sample := strings.ReplaceAll(first, "*", "-x")
		sample = strings.TrimSuffix(sample, "-x")
		got := models.Lookup(models.BaseOf(r.Maker), sample, "")
		if !got.Listed || got.Window != r.Window || r.Window < 2048 {
			t.Errorf("row %q: Lookup(%q) = %+v", r.Names, sample, got)
		}
		if _, err := time.Parse(time.DateOnly, r.Shutdown); err != nil && r.Shutdown != "" {
			t.Error(err)
		}
		if r.Maker != "" && models.BaseOf(r.Maker) == "" {
			t.Errorf("row %q: unknown provider %q", r.Names, r.Maker)
		}
	}
}

func TestEndsSoon(t *testing.T) {
	now := time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)
	for day, want := range map[string]bool{"": false, "soon": false, "2026-10-23": true, "2027-01-14": true, "2027-02-20": true, "2027-02-21": false, "2027-04-01": false} {
		if got := models.EndsSoon(day, now); got != want {
			t.Errorf("EndsSoon(%q) = %v, want %v", day, got, want)
		}
	}
}
