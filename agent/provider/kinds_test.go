package provider_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest"
)

// This test has errors which say that a request is too long, and errors which
// only sound like it: a limit on tokens per minute is no reason to shorten a
// request.
func TestCase28ContextWordings(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	for _, tc := range []struct {
		status int
		body   string
		want   agent.ErrorKind
	}{
		{400, `{"error":{"message":"too long","code":"context_length_exceeded"}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Your input exceeds the context window of this model.","code":null}}`, agent.ErrorContext},
		{400, `{"error":{"code":400,"message":"the request exceeds the available context size, try increasing it","type":"exceed_context_size_error","n_ctx":4096}}`, agent.ErrorContext},
		{500, `{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}`, agent.ErrorContext},
		{400, `{"error":"input length exceeds maximum context length"}`, agent.ErrorContext},
		{500, `{"error":{"message":"prompt too long; exceeded max context length by 512 tokens","type":"api_error"}}`, agent.ErrorContext},
		{400, `{"object":"error","message":"This model's maximum context length is 4096 tokens. However, you requested 5000 tokens","type":"BadRequestError","code":400}`, agent.ErrorContext},
		{400, `{"object":"error","message":"The decoder prompt (length 5000) is longer than the maximum model length of 4096.","code":400}`, agent.ErrorContext},
		{400, `{"detail":"The input (5000 tokens) is longer than the model's context length (4096 tokens)."}`, agent.ErrorContext},
		{400, `{"error":"Trying to keep the first 4123 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}`, agent.ErrorContext},
		{400, `[{"error":{"code":400,"message":"The input token count (40000) exceeds the maximum number of tokens allowed (32768)."}}]`, agent.ErrorContext},
		{400, `{"error":{"message":"prompt is too long: 210000 tokens > 200000 maximum"}}`, agent.ErrorContext},
		{413, `<html>too large</html>`, agent.ErrorContext},
		{200, "data: {\"error\":{\"message\":\"This model's maximum context length is 4096 tokens.\"}}\n\n", agent.ErrorContext},
		{429, `{"error":{"message":"Request too large for gpt-4o: tokens per min (TPM): Limit 30000, Requested 40000. Reduce the length of the messages.","type":"tokens"}}`, agent.ErrorRefused},
		{429, `{"error":{"message":"tokens per minute limit"}}`, agent.ErrorTemporary},
		{429, `{"error":{"message":"Rate limit reached for tokens per day: the token limit of your context is 4096"}}`, agent.ErrorTemporary},
		{429, `{"error":{"message":"token limit exceeded, maximum context length 8192 tokens a minute","code":"rate_limit_exceeded"}}`, agent.ErrorTemporary},
		{400, `{"error":{"message":"max_tokens must be at least 1, got -12"}}`, agent.ErrorContext},
		{400, `{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached: tokens per minute for this context window exceeded, please reduce the length of the messages"}}`, agent.ErrorTemporary},
		// The code alone says it, where a 400 or the words would mean another thing.
		{400, `{"error":{"code":"rate_limit_exceeded"}}`, agent.ErrorTemporary},
		{400, `{"error":{"type":"rate_limit_error","message":"this is longer than the context window"}}`, agent.ErrorTemporary},
		{413, `{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached: tokens per minute for this context window exceeded, please reduce the length of the messages"}}`, agent.ErrorTemporary},
		{500, `{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached: tokens per minute for this context window exceeded, please reduce the length of the messages"}}`, agent.ErrorTemporary},
		{503, `{"error":{"code":"rate_limit_exceeded","message":"Rate limit reached: tokens per minute for this context window exceeded, please reduce the length of the messages"}}`, agent.ErrorTemporary},
		{413, `{"error":{"message":"Request too large for model: tokens per minute (TPM): Limit 6000, Requested 9000, please reduce your message size and try again."}}`, agent.ErrorRefused},
		{200, "data: {\"error\":{\"message\":\"Rate limit: too many tokens per minute, reduce the length of the messages\"}}\n\n", agent.ErrorTemporary},
		{200, "data: {\"error\":{\"message\":\"tokens per minute exceeded for this context window\",\"code\":429}}\n\n", agent.ErrorTemporary},
		{400, `{"error":"The number of tokens to keep from the initial prompt is greater than the context length (n_keep: 15028>= n_ctx: 4096). Try to load the model with a larger context length, or provide a shorter input."}`, agent.ErrorContext},
		{400, `{"error":"Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}`, agent.ErrorContext},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"type\":\"error\",\"error\":{\"type\":\"invalid_request_error\",\"message\":\"prompt is too long: 250000 tokens > 200000 maximum\"}}","provider_name":"Anthropic"}}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"This model's maximum context length is 8192 tokens."}}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":{"error":{"message":"nope","code":"context_length_exceeded"}}}}}`, agent.ErrorContext},
		{200, "data: {\"error\":{\"message\":\"Provider returned error\",\"code\":400,\"metadata\":{\"raw\":\"Your request exceeded model token limit: 8192\"}}}\n\n", agent.ErrorContext},
		{400, `{"error":{"message":"input length and ` + "`max_tokens`" + ` exceed context limit: 170636 + 34048 > 200000, decrease input length or ` + "`max_tokens`" + ` and try again"}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Invalid request: Your request exceeded model token limit: 8192 (requested: 9000)","type":"invalid_request_error"}}`, agent.ErrorContext},
		{400, `{"error":{"code":"1261","message":"Prompt exceeds max length"}}`, agent.ErrorContext},
		{400, `{"error":{"code":"invalid_parameter_error","message":"<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]"}}`, agent.ErrorContext},
		{400, `{"message":"too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 4292."}`, agent.ErrorContext},
		{400, `{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000","code":"model_max_prompt_tokens_exceeded"}}`, agent.ErrorContext},
		{400, `{"error":{"message":"prompt token count of 130000 exceeds the limit of 128000"}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Prompt length 9000 is greater than max_seq_len 8192"}}`, agent.ErrorContext},
		{400, `{"code":20015,"message":"length of prompt_tokens (48322) must be less than max_seq_len (32768).","data":null}`, agent.ErrorContext},
		{400, `{"error":{"message":"The maximum context length of DeepSeek-V3 is 32768. However, answering your request will take 39732 tokens."}}`, agent.ErrorContext},
		{400, `{"error":{"code":"InvalidParameter","message":"Total tokens of image and text exceed max message tokens."}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Input length 131393 exceeds the maximum allowed input length of 131040 tokens."}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Input length (160062 tokens) exceeds the maximum allowed length (59862 tokens)."}}`, agent.ErrorContext},
		{400, `{"error":{"message":"invalid params, context window exceeds limit"}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Prompt has 70000 tokens, but the configured context size is 65536 tokens"}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Requested tokens (600) exceed context window of 512"}}`, agent.ErrorContext},
		{400, `{"error":{"message":"The conversation is longer than this model's context window."}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Invalid 'messages[2].content': string too long. Expected a string with maximum length 1048576, but got a string with length 1540820 instead.","param":"messages[2].content","code":"string_above_max_length"}}`, agent.ErrorContext},
		{400, `{"error":{"message":"Invalid 'messages': array too long. Expected an array with maximum length 2048, but got an array with length 2049 instead.","code":"array_above_max_length"}}`, agent.ErrorContext},
		{500, `{"error":{"code":500,"message":"context shift is disabled","type":"server_error"}}`, agent.ErrorContext},
		// What speaks of the same things and means others.
		{400, `{"error":{"message":"Invalid tool description: 'shows what is in the context window of the editor'","type":"invalid_request_error"}}`, agent.ErrorInvalid},
		{400, `{"error":{"message":"Invalid 'tools[0].function.description': string too long. Expected a string with maximum length 1024, but got a string with length 1500 instead.","param":"tools[0].function.description","code":"string_above_max_length"}}`, agent.ErrorInvalid},
		{400, `{"error":{"message":"max_tokens is too large: 200000. This model supports at most 16384 completion tokens, whereas you provided 200000.","param":"max_tokens"}}`, agent.ErrorInvalid},
		{400, `{"error":{"message":"` + "`max_tokens` must be less than or equal to `16384`, the maximum value for `max_tokens` is less than the `context_window`" + ` for this model"}}`, agent.ErrorInvalid},
		{400, `{"error":{"message":"Range of max_tokens should be [1, 8192]"}}`, agent.ErrorInvalid},
		{400, `{"error":{"message":"The response was filtered by Azure OpenAI's content management policy: 'exceeds the context window'","code":"content_filter"}}`, agent.ErrorInvalid},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"Invalid schema for function 'x'\",\"type\":\"invalid_request_error\"}}"}}}`, agent.ErrorInvalid},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":7}}`, agent.ErrorInvalid},
		{400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"{\"error\":{\"message\":\"Rate limit reached for tokens per minute, context length exceeded\",\"code\":\"rate_limit_exceeded\"}}"}}}`, agent.ErrorTemporary},
		{429, `{"error":{"message":"Provider returned error","code":429,"metadata":{"raw":"x/y is temporarily rate-limited upstream. Please retry shortly."}}}`, agent.ErrorTemporary},
		{502, `{"error":{"message":"Provider returned error","code":502,"metadata":{"raw":"x/y is temporarily rate-limited upstream, its context length is 8192"}}}`, agent.ErrorTemporary},
		{400, `{"message":"ThrottlingException: Too many tokens, please wait before trying again."}`, agent.ErrorTemporary},
		{429, `{"error":{"message":"Rate limit reached for model x on tokens per minute (TPM): Limit 6000, Used 5000, Requested 2000. Please try again in 10.2s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing","code":"rate_limit_exceeded"}}`, agent.ErrorTemporary},
		{429, `[{"error":{"code":429,"status":"RESOURCE_EXHAUSTED","message":"You exceeded your current quota, please check your plan and billing details. Please retry in 35.27s."}}]`, agent.ErrorTemporary},
		{429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`, agent.ErrorRefused},
		{400, `{"error":{"message":"Your credit balance is too low to access the API. Please go to Plans & Billing."}}`, agent.ErrorRefused},
		{200, "data: {\"error\":{\"message\":\"nope\",\"code\":401}}\n\n", agent.ErrorRefused},
		{200, "data: {\"error\":{\"message\":\"bad role\",\"type\":\"invalid_request_error\"}}\n\n", agent.ErrorInvalid},
		{400, `{"error":{"message":"API key not valid. Please pass a valid API key.","status":"INVALID_ARGUMENT"}}`, agent.ErrorRefused},
		{402, `{"error":{"message":"Insufficient credits"}}`, agent.ErrorRefused},
		{404, `404 page not found`, agent.ErrorRefused},
		{422, `{"detail":[{"loc":["body"],"msg":"field required"}]}`, agent.ErrorInvalid},
		{503, `{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}`, agent.ErrorTemporary},
		{529, `{}`, agent.ErrorTemporary},
		{302, ``, agent.ErrorRefused},
	} {
		s.Next(agenttest.StatusReply(tc.status, map[string]string{"Location": "http://127.0.0.1:1/"}, tc.body))
		_, _, _, err := complete(t, m, ask("hi"))
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Kind != tc.want {
			t.Errorf("%d %s: %v, want %s", tc.status, tc.body, err, tc.want)
		}
	}
}

// A request that exceeds the provider's limit per minute by itself is neither
// shortened nor retried.
func TestLimitThatNeverPasses(t *testing.T) {
	s := agenttest.Serve(t, agenttest.Options{})
	m := model(t, s.URL())
	const groq = "Request too large for model `llama` in organization `org_1` service tier `on_demand` on tokens per minute (TPM): %s, please reduce your message size and try again. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing"
	for _, tc := range []struct {
		status       int
		text         string
		limit, asked int
	}{
		{413, fmt.Sprintf(groq, "Limit 6000, Requested 9000"), 6000, 9000},
		{429, "Request too large for gpt-4o in organization org-x on tokens per min (TPM): Limit 30000, Requested 342389. The input or output tokens must be reduced in order to run successfully.", 30000, 342389},
		{429, "Rate limit reached for gpt-4 on tokens per min (TPM): Limit: 30,000 / min. Used: 5,000. Requested: 31,000.", 30000, 31000},
		{429, "Rate limit reached on tokens per min (TPM): Limit 30,000, Used 1,000, Requested 31,000.", 30000, 31000},
		{429, "Rate limit reached on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000.", 0, 0},
		{429, "Rate limit reached on requests per day (RPD): Limit 200, Used 200, Requested 1.", 0, 0},
		{429, "Rate limit reached: Limit 999999999999999999999, Requested 9999999999999999999999.", 0, 0},
		{429, "Rate limit reached on tokens per min: Limit 0, Requested 5.", 0, 0},
	} {
		body, err := json.Marshal(map[string]any{"error": map[string]string{"message": tc.text, "code": "rate_limit_exceeded"}})
		if err != nil {
			t.Fatal(err)
		}
		s.Next(agenttest.StatusReply(tc.status, nil, string(body)))
		_, _, _, err = complete(t, m, ask("hi"))
		want := agent.ErrorTemporary
		if tc.limit > 0 {
			want = agent.ErrorRefused
		}
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Kind != want || me.Limit != tc.limit || me.Requested != tc.asked {
			t.Errorf("%s: %+v, want %s with %d and %d", tc.text, me, want, tc.limit, tc.asked)
		}
		if tc.limit > 0 && !strings.Contains(err.Error(), fmt.Sprintf("rate limit is smaller than the request (limit %d, requested %d)", tc.limit, tc.asked)) {
			t.Errorf("error = %v, want why waiting is useless", err)
		}
	}
}
