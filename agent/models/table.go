package models

import "dragoman/agent/wire"

// TableDate is when the table was last compared with its sources.
const TableDate = "2026-11-22"

// The ids of the providers in the table.
const (
	openAI     = "openai"
	azure      = "azure"
	anthropic  = "anthropic"
	google     = "google"
	deepSeek   = "deepseek"
	openRouter = "openrouter"
	xAI        = "xai"
	mistral    = "mistral"
	moonshot   = "moonshot"
)

// provider is a company that serves models.
type provider struct {
	id, title string
	hosts     string // suffixes of its hosts, separated by blanks
	base      string // the base URL of its API; "" if each customer has another one
	env       string // the usual environment variable of its key
	traits    wire.Traits
}

// providers are in order of preference: the first whose key is in the
// environment is used.
var providers = []provider{
	// Responses is what OpenAI recommends for all new projects (developers.openai.com, "Migrate to Responses").
	{openAI, "OpenAI", "openai.com", "https://api.openai.com/v1", "OPENAI_API_KEY", wire.Traits{API: wire.APIResponses, NoTemperature: true, CompletionTokens: true, JSONSchema: true}},
	// platform.claude.com, API reference: max_tokens is required.
	{anthropic, "Anthropic", "anthropic.com claude.com", "https://api.anthropic.com/v1", "ANTHROPIC_API_KEY", wire.Traits{API: wire.APIMessages, NeedsMaxTokens: 8192}},
	// ai.google.dev/gemini-api/docs/openai: chat completions, Bearer key, ids begin with models/.
	{google, "Gemini", "generativelanguage.googleapis.com", "https://generativelanguage.googleapis.com/v1beta/openai", "GEMINI_API_KEY", wire.Traits{JSONSchema: true}},
	// api-docs.deepseek.com: response_format takes json_object only.
	{deepSeek, "DeepSeek", "deepseek.com", "https://api.deepseek.com", "DEEPSEEK_API_KEY", wire.Traits{}},
	// openrouter.ai/docs: parameters that a model does not know are dropped.
	{openRouter, "OpenRouter", "openrouter.ai", "https://openrouter.ai/api/v1", "OPENROUTER_API_KEY", wire.Traits{}},
	// docs.x.ai: chat completions are deprecated; responses with encrypted reasoning.
	{xAI, "xAI", "x.ai", "https://api.x.ai/v1", "XAI_API_KEY", wire.Traits{API: wire.APIResponses, JSONSchema: true}},
	// docs.mistral.ai, API reference.
	{mistral, "Mistral", "mistral.ai", "https://api.mistral.ai/v1", "MISTRAL_API_KEY", wire.Traits{JSONSchema: true}},
	// platform.moonshot.ai: one base URL abroad, one in China.
	{moonshot, "Moonshot", "moonshot.ai moonshot.cn", "https://api.moonshot.ai/v1", "MOONSHOT_API_KEY", wire.Traits{}},
	// learn.microsoft.com, Azure OpenAI v1: https://NAME.openai.azure.com/openai/v1; deployments are called as their owner likes.
	{azure, "Azure", "azure.com azure.us azure.cn", "", "AZURE_OPENAI_API_KEY", wire.Traits{JSONSchema: true}},
}

// row is what is known of the models whose names match. What a server says about
// its own models counts more.
type row struct {
	names string // patterns for [path.Match], separated by blanks; the first row that matches counts
	maker string // the provider that made and serves them
	// window is in tokens, including the answer.
	window   int
	noVision bool // it takes no pictures
	prices   Prices
	// shutdown is the day on which its maker ends the model, YYYY-MM-DD; "" if
	// none was published.
	shutdown string
	// rank decides which model is chosen if none is named: the one with the
	// highest rank. It favours the small current model of a family, because
	// whoever names no model has not chosen a price either. A model of rank 0 is
	// chosen only if there is no other.
	rank   int
	traits wire.Traits // at its maker
	// chat adds the traits that hold only for chat completions at its maker.
	chat wire.Traits
}

// Lists of efforts, from least to most.
var (
	noneToMax   = []string{"none", "low", "medium", "high", "xhigh", "max"}
	noneToXhigh = []string{"none", "low", "medium", "high", "xhigh"}
	lowToMax    = []string{"low", "medium", "high", "xhigh", "max"}
	lowToHigh   = []string{"low", "medium", "high"}
	minToHigh   = []string{"minimal", "low", "medium", "high"}
)

func reasons(efforts []string) wire.Traits {
	return wire.Traits{API: wire.APIResponses, NoTemperature: true, CompletionTokens: true, JSONSchema: true, Efforts: efforts}
}

func claude(noTemperature bool, efforts []string) wire.Traits {
	return wire.Traits{API: wire.APIMessages, NoTemperature: noTemperature, Efforts: efforts, NeedsMaxTokens: 32000}
}

// table is searched from the beginning, so specific rows precede general ones.
// The source of a row's window and prices is above the row, or above the first
// row of its group. A row without prices says why: "unlisted" means that the
// maker publishes them and nobody has compared them yet.
var table = []row{
	// OpenAI. Windows and prices: developers.openai.com/api/docs/models, a page for each, and /deprecations; efforts of GPT-6 Sol and Luna: docs.litellm.ai/blog/gpt_6_sol_luna.
	// Function tools on chat completions only with effort none: openai-openapi #541, litellm #34569.
	// Prices of Astra: github.com/TheKrush/PromptFuel/releases/tag/v1.0.19; of Sol and Luna, with both windows: litellm discussion #42523,
	// cached: github.com/merefield/codexometer/releases/tag/v0.18.4.
	// Astra knows no effort none, and on chat completions no tools at all: bolna #1019, genkit #6303.
	{names: "gpt-6-astra*", maker: openAI, window: 1050000, prices: Prices{10, 50, 1}, rank: 10, traits: reasons(lowToMax), chat: wire.Traits{NoTools: true}},
	{names: "gpt-6-luna*", maker: openAI, window: 1050000, prices: Prices{0.10, 0.50, 0.01}, rank: 90, traits: reasons(noneToMax), chat: wire.Traits{ToolsNeedEffort: "none"}},
	{names: "gpt-6-sol*", maker: openAI, window: 1050000, prices: Prices{2, 10, 0.20}, rank: 40, traits: reasons(noneToMax), chat: wire.Traits{ToolsNeedEffort: "none"}},
	// GPT-6.1: named as replacement on /deprecations; its window is that of its family, its prices were not found.
	{names: "gpt-6*terra* gpt-6.*terra*", maker: openAI, window: 1050000, rank: 60, traits: reasons(noneToMax), chat: wire.Traits{ToolsNeedEffort: "none"}},
	// Several models: window from litellm discussion #52347 (GPT-6.2), and no one price.
	{names: "gpt-6* gpt-6.*", maker: openAI, window: 1050000, rank: 30, traits: reasons(noneToMax), chat: wire.Traits{ToolsNeedEffort: "none"}},
	// developers.openai.com/api/docs/models/gpt-5.6-luna.
	{names: "gpt-5.6-luna*", maker: openAI, window: 1050000, prices: Prices{0.20, 1.20, 0.02}, rank: 80, traits: reasons(noneToMax), chat: wire.Traits{ToolsNeedEffort: "none"}},
	// Price: github.com/TheKrush/PromptFuel/releases/tag/v1.0.19; window of its family.
	{names: "gpt-5.6-terra*", maker: openAI, window: 1050000, prices: Prices{Input: 2}, rank: 50, traits: reasons(noneToMax), chat: wire.Traits{ToolsNeedEffort: "none"}},
	// litellm discussion #42523: $4 and $20; window of its family.
	{names: "gpt-5.6*", maker: openAI, window: 1050000, prices: Prices{Input: 4, Output: 20}, rank: 30, traits: reasons(noneToMax), chat: wire.Traits{ToolsNeedEffort: "none"}},
	// GPT-5.4 and 5.5 reason; with tools they want effort none on chat completions: bolna #1019.
	// Windows: /docs/models; prices unlisted.
	{names: "gpt-5.5*", maker: openAI, window: 1050000, rank: 25, traits: reasons(noneToXhigh), chat: wire.Traits{ToolsNeedEffort: "none"}},
	{names: "gpt-5.4-mini* gpt-5.4-nano*", maker: openAI, window: 400000, rank: 45, traits: reasons(noneToXhigh), chat: wire.Traits{ToolsNeedEffort: "none"}},
	{names: "gpt-5.4*", maker: openAI, window: 1050000, rank: 20, traits: reasons(noneToXhigh), chat: wire.Traits{ToolsNeedEffort: "none"}},
	// Chat variants reason little and take no effort. Windows: /docs/models; prices unlisted.
	{names: "gpt-5*-chat*", maker: openAI, window: 128000, rank: 5, traits: reasons(nil)},
	// GPT-5.1 ends on 2027-04-01: /deprecations, October 2026. Window and prices: /docs/models/gpt-5.1.
	{names: "gpt-5.1 gpt-5.1-20*", maker: openAI, window: 400000, prices: Prices{1.25, 10, 0.125}, shutdown: "2027-04-01", rank: 15, traits: reasons([]string{"none", "low", "medium", "high"})},
	// Windows: /docs/models; several models, and no one price.
	{names: "gpt-5.2* gpt-5.3*", maker: openAI, window: 400000, rank: 15, traits: reasons(noneToXhigh)},
	// GPT-5, mini, nano, pro, o3, o3-pro end on 2026-12-11: /deprecations. Windows: /docs/models; no prices, as they end.
	{names: "gpt-5 gpt-5-20* gpt-5-mini* gpt-5-nano* gpt-5-pro*", maker: openAI, window: 400000, shutdown: "2026-12-11", rank: 15, traits: reasons(minToHigh)},
	{names: "o3 o3-20* o3-pro*", maker: openAI, window: 200000, shutdown: "2026-12-11", rank: 4, traits: reasons(lowToHigh)},
	// o1, o3-mini, o4-mini, gpt-4, gpt-4.1-nano, gpt-3.5 ended on 2026-10-23; Azure and proxies may still have them,
	// at prices of their own. Windows, here and below: /docs/models, as it was.
	{names: "o4-mini* o1 o1-20* o1-pro*", maker: openAI, window: 200000, shutdown: "2026-10-23", rank: 3, traits: reasons(lowToHigh)},
	{names: "o3-mini*", maker: openAI, window: 200000, noVision: true, shutdown: "2026-10-23", rank: 2, traits: reasons(lowToHigh)},
	// gpt-4.1, gpt-4o and their minis end on 2027-01-14: /deprecations. Windows and prices: /docs/models; several models share
	// the row of gpt-4o, so that it has no one price.
	{names: "gpt-4.1-nano*", maker: openAI, window: 1047576, shutdown: "2026-10-23", rank: 3, traits: wire.Traits{API: wire.APIResponses, CompletionTokens: true, JSONSchema: true}},
	{names: "gpt-4.1-mini*", maker: openAI, window: 1047576, prices: Prices{0.40, 1.60, 0.10}, shutdown: "2027-01-14", rank: 12, traits: wire.Traits{API: wire.APIResponses, CompletionTokens: true, JSONSchema: true}},
	{names: "gpt-4.1*", maker: openAI, window: 1047576, prices: Prices{2, 8, 0.50}, shutdown: "2027-01-14", rank: 11, traits: wire.Traits{API: wire.APIResponses, CompletionTokens: true, JSONSchema: true}},
	{names: "gpt-4o* chatgpt-4o*", maker: openAI, window: 128000, shutdown: "2027-01-14", rank: 10, traits: wire.Traits{API: wire.APIResponses, CompletionTokens: true, JSONSchema: true}},
	{names: "gpt-4-turbo*", maker: openAI, window: 128000, shutdown: "2026-10-23", rank: 1, traits: wire.Traits{CompletionTokens: true}},
	{names: "gpt-4 gpt-4-0613", maker: openAI, window: 8192, noVision: true, shutdown: "2026-10-23", rank: 1, traits: wire.Traits{CompletionTokens: true}},
	{names: "gpt-3.5-turbo*", maker: openAI, window: 16385, noVision: true, shutdown: "2026-10-23", rank: 1, traits: wire.Traits{CompletionTokens: true}},
	// Open weights: the window is that of their card (huggingface.co/openai/gpt-oss-120b); each host has a price of its own. Served by Ollama, vLLM and many hosts, not by OpenAI.
	{names: "gpt-oss*", window: 131072, noVision: true, rank: 8, traits: wire.Traits{Efforts: lowToHigh}},

	// Anthropic. Windows and prices: platform.claude.com/docs/en/models, and the page of each model below it; Sonnet 5 and later refuse temperature and a thinking budget, and think by themselves.
	{names: "claude-haiku-5*", maker: anthropic, window: 1000000, prices: Prices{Input: 0.10, Output: 0.50}, rank: 90, traits: claude(true, lowToMax)},
	{names: "claude-sonnet-5*", maker: anthropic, window: 1000000, prices: Prices{2, 10, 0.20}, rank: 80, traits: claude(true, lowToMax)},
	{names: "claude-opus-5-5*", maker: anthropic, window: 1000000, prices: Prices{4, 20, 0.20}, rank: 50, traits: claude(true, lowToMax)},
	{names: "claude-opus-5*", maker: anthropic, window: 1000000, prices: Prices{5, 25, 0.50}, rank: 45, traits: claude(true, lowToMax)},
	{names: "claude-fable-5*", maker: anthropic, window: 1000000, prices: Prices{Input: 10, Output: 50}, rank: 30, traits: claude(true, lowToMax)},
	{names: "claude-haiku-4-5*", maker: anthropic, window: 200000, prices: Prices{1, 5, 0.10}, rank: 60, traits: claude(false, nil)},
	// Older ones: the same, under legacy models; several share a row, and there is no one price.
	{names: "claude-opus-4-7* claude-opus-4-8*", maker: anthropic, window: 1000000, rank: 20, traits: claude(true, lowToMax)},
	{names: "claude-opus-4-6* claude-sonnet-4-6*", maker: anthropic, window: 200000, rank: 20, traits: claude(false, []string{"low", "medium", "high", "max"})},
	// Several models, and no one price; the window is a low guess.
	{names: "claude-*", maker: anthropic, window: 200000, rank: 10, traits: wire.Traits{API: wire.APIMessages, NeedsMaxTokens: 8192}},

	// Gemini. Windows: ai.google.dev/gemini-api/docs/models. Prices (/pricing) are unlisted: those of 3.8 Flash change on 2027-01-01
	// (litellm discussion #39357), the other rows have several models. Settings: /openai (reasoning_effort becomes thinking_level), guides of 3.5 Flash.
	{names: "gemini-3*flash-lite*", maker: google, window: 1048576, rank: 70, traits: wire.Traits{Efforts: minToHigh, JSONSchema: true}},
	{names: "gemini-3.8-flash gemini-3.8-flash-0*", maker: google, window: 1048576, rank: 90, traits: wire.Traits{Efforts: minToHigh, JSONSchema: true}},
	{names: "gemini-3*flash*", maker: google, window: 1048576, rank: 80, traits: wire.Traits{Efforts: minToHigh, JSONSchema: true}},
	{names: "gemini-3* gemini-4*", maker: google, window: 1048576, rank: 50, traits: wire.Traits{Efforts: lowToHigh, JSONSchema: true}},
	{names: "gemini-2.5*", maker: google, window: 1048576, rank: 20, traits: wire.Traits{Efforts: []string{"none", "low", "medium", "high"}, JSONSchema: true}},
	{names: "gemini-*", maker: google, window: 1048576, rank: 5, traits: wire.Traits{JSONSchema: true}},
	// Open weights: the window is that of their card (huggingface.co/google/gemma-3-27b-it); each host has a price of its own.
	{names: "gemma-3* gemma3*", window: 131072, rank: 6},

	// DeepSeek. api-docs.deepseek.com: V4 has 1M tokens and efforts high and max, thoughts go back with tool calls (models.md row 2);
	// deepseek-chat and deepseek-reasoner ended on 2026-07-24. Windows: api-docs.deepseek.com/quick_start/pricing. Prices of V4 Flash:
	// github.com/arikusi/deepseek-mcp-server/releases/tag/v2.0.0. Those of the others depend on the hour, so that none is listed.
	{names: "deepseek-v4.1-flash*", maker: deepSeek, window: 1000000, rank: 90, traits: wire.Traits{Efforts: []string{"none", "high", "max"}}},
	{names: "deepseek-v4-flash* deepseek-flash*", maker: deepSeek, window: 1000000, noVision: true, prices: Prices{0.14, 0.28, 0.0028}, rank: 80, traits: wire.Traits{Efforts: []string{"none", "high", "max"}}},
	{names: "deepseek-v4*", maker: deepSeek, window: 1000000, noVision: true, rank: 50, traits: wire.Traits{Efforts: []string{"none", "high", "max"}}},
	{names: "deepseek-chat deepseek-reasoner", maker: deepSeek, window: 131072, noVision: true, shutdown: "2026-07-24", rank: 5},

	// xAI. docs.x.ai/developers: 4.5 has 500k tokens and low to high; 4.3 has 1M. Windows and prices: /developers/models, as in
	// Zoo-Code #866 (4.5) and github.com/mandark-droid/genai_otel_instrument/releases/tag/v1.2.2 (4.3).
	{names: "grok-4.5*", maker: xAI, window: 500000, prices: Prices{2, 6, 0.50}, rank: 80, traits: wire.Traits{API: wire.APIResponses, Efforts: lowToHigh, JSONSchema: true}},
	{names: "grok-4.3*", maker: xAI, window: 1000000, prices: Prices{1.25, 2.50, 0.20}, rank: 90, traits: wire.Traits{API: wire.APIResponses, JSONSchema: true}},
	// Windows: docs.apiyi.com/api-capabilities/grok/overview, which copies xAI's list; prices unlisted.
	{names: "grok-4.20*", maker: xAI, window: 1000000, rank: 60, traits: wire.Traits{API: wire.APIResponses, JSONSchema: true}},
	{names: "grok-code* grok-build*", maker: xAI, window: 256000, rank: 20, traits: wire.Traits{API: wire.APIResponses, JSONSchema: true}},
	// Older ones: several models, and no one price; the window is a low guess.
	{names: "grok-*", maker: xAI, window: 131072, noVision: true, rank: 10, traits: wire.Traits{API: wire.APIResponses, JSONSchema: true}},

	// Mistral. Window and prices of Medium 3.5: docs.mistral.ai/models/model-cards/mistral-medium-3-5-26-04; of the rest docs.mistral.ai/models,
	// where each row has several models, and no one price. Ids of calls have nine characters (models.md, row 14).
	{names: "mistral-medium-latest mistral-medium-3* mistral-medium-26*", maker: mistral, window: 262144, prices: Prices{Input: 1.5, Output: 7.5}, rank: 80, traits: wire.Traits{JSONSchema: true}},
	{names: "mistral-small*", maker: mistral, window: 131072, rank: 70, traits: wire.Traits{JSONSchema: true}},
	{names: "mistral-large* mistral-medium*", maker: mistral, window: 131072, rank: 40, traits: wire.Traits{JSONSchema: true}},
	{names: "ministral* magistral* devstral* codestral*", maker: mistral, window: 131072, rank: 10, traits: wire.Traits{JSONSchema: true}},
	{names: "pixtral*", maker: mistral, window: 131072, rank: 5, traits: wire.Traits{JSONSchema: true}},

	// Moonshot. platform.moonshot.ai: K2.5 to K3 take temperature 1 only; K2 is to end there with December 2026 (no day published).
	// Windows: platform.kimi.ai/docs/models, and context_length of its /v1/models; prices unlisted.
	{names: "kimi-k3*", maker: moonshot, window: 262144, rank: 80, traits: wire.Traits{NoTemperature: true, Efforts: []string{"low", "high", "max"}}},
	{names: "kimi-k2.5* kimi-k2.6* kimi-k2.7*", maker: moonshot, window: 262144, rank: 60, traits: wire.Traits{NoTemperature: true}},
	{names: "kimi-*", maker: moonshot, window: 131072, noVision: true, rank: 10},

	// Other models with open weights have no row: their server says what they can do.
}
