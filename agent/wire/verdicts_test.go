package wire_test

import (
	"errors"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/wire"
)

// TestVerdicts: what follows from a refusal goes by what was refused, not by a list of
// the words that were seen.
func TestVerdicts(t *testing.T) {
	const (
		length    = "length"
		account   = "account"
		pause     = "pause"
		model     = "model"
		malformed = "malformed"
		key       = "key"
		access    = "access"
		region    = "region"
		notOurs   = "not ours"
		blocked   = "blocked"
		filter    = "filter"
	)
	want := map[string]struct {
		kind  agent.ErrorKind
		cause agent.Cause
	}{
		length:    {agent.ErrorContext, ""},
		account:   {agent.ErrorRefused, agent.CauseQuota},
		pause:     {agent.ErrorTemporary, agent.CauseBusy},
		model:     {agent.ErrorRefused, agent.CauseModel},
		malformed: {agent.ErrorInvalid, ""},
		key:       {agent.ErrorRefused, agent.CauseKey},
		access:    {agent.ErrorRefused, agent.CauseAccess},
		region:    {agent.ErrorRefused, agent.CauseRegion},
		notOurs:   {agent.ErrorRefused, agent.CauseModelAccess},
		blocked:   {agent.ErrorRefused, agent.CauseBlocked},
		filter:    {agent.ErrorRefused, agent.CauseFilter},
	}
	const aliyun = "https://dashscope-intl.aliyuncs.com/compatible-mode/v1"
	for _, test := range []struct {
		base   string
		status int
		body   string
		is     string
	}{
		// A 403: only the words tell who refuses what.
		{"", 403, `{"error":{"code":"unsupported_country_region_territory","message":"Country, region, or territory not supported"}}`, region},
		{"", 400, `{"error":{"code":400,"message":"User location is not supported for the API use.","status":"FAILED_PRECONDITION"}}`, region},
		{"", 403, `{"error":{"message":"This service is not available in your region."}}`, region},
		{"", 403, `{"message":"Requests from blocked countries: your country is restricted"}`, region},
		{"", 400, `{"error":{"message":"Invalid tool: the field country is not allowed here"}}`, malformed},
		{"", 403, "{\"error\":{\"message\":\"Project `p` does not have access to model `gpt-5`\",\"code\":\"model_not_found\"}}", notOurs},
		{"", 403, `{"message":"You don't have access to the model with the specified model ID."}`, notOurs},
		{"", 403, `{"error":{"message":"This model is not available to your tier"}}`, notOurs},
		{"", 403, `{"error":"Access to model meta-llama/Llama-9 is restricted and you are not in the authorized list."}`, notOurs},
		{"", 404, "{\"error\":{\"message\":\"The model `gpt-9` does not exist or you do not have access to it.\",\"code\":\"model_not_found\"}}", model},
		{"", 403, `<html><head><title>403 Forbidden</title></head><body>nginx</body></html>`, blocked},
		{"", 403, `error code: 1020`, blocked},
		{"", 403, `{"error":"Blocked by the company's web application firewall"}`, blocked},
		{"", 403, `Access denied by the proxy`, blocked},
		{"", 403, `{"error":{"message":"Your chosen model requires moderation and your input was flagged for \"violence\""}}`, filter},
		{"", 403, `{"error":{"message":"Permission denied on resource project p","status":"PERMISSION_DENIED"}}`, access},
		{"", 403, `{"type":"error","error":{"type":"permission_error","message":"Your API key does not have permission to use the specified resource."}}`, access},
		{"", 403, `{"error":{"message":"Request not allowed"}}`, access},
		{"", 403, ``, access},
		{"", 403, `{"error":{"message":"Invalid API key","code":"invalid_api_key"}}`, key},
		{"", 401, `{"error":{"message":"no access to this model in your region"}}`, key},

		// The length, in any words.
		{"", 200, `data: {"error":{"message":"Input Tokens Exceeded: Number of input tokens exceeds maximum length."}}` + "\n\n", length},
		{"", 400, `{"message":"ValidationException: Input exceeds the max input token limit"}`, length},
		{"", 400, `{"message":"total tokens exceeds the model's max of 4096"}`, length},
		{"", 400, `{"error":{"message":"The request exceeds the maximum number of input tokens"}}`, length},
		{"", 400, `{"error":{"message":"Number of tokens in the prompt (9021) is larger than the limit of 8192"}}`, length},
		{"", 422, `{"error":"Conversation has 12000 tokens, which is more than the 8192 that the model supports"}`, length},
		{"", 400, `{"error":{"message":"Input too long for this model."}}`, length},
		{"", 400, `{"error":{"message":"prompt tokens 40211 > allowed 32768"}}`, length},
		{"", 400, `{"error":{"message":"Number of output tokens exceeds the maximum of 4096"}}`, malformed},
		{"", 400, `{"error":{"message":"max_tokens: total tokens requested exceeds the limit"}}`, malformed},
		{"", 400, `{"error":{"message":"Request contains an invalid argument."}}`, malformed},
		{"", 429, `{"error":{"message":"Number of input tokens exceeds the limit of 30000 per minute"}}`, pause},
		{"", 400, `{"error":{"message":"Rate limit: total tokens exceeds the maximum per minute"}}`, pause},

		// The account, whatever the status.
		{"", 429, `{"error":{"code":"1113","message":"Insufficient balance or no resource package. Please recharge."}}`, account},
		{"", 429, `{"error":{"message":"Your account balance is not enough for this request"}}`, account},
		{"", 400, `{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}`, account},
		{"", 403, `{"error":{"message":"You have run out of credits. Please top up."}}`, account},
		{"", 402, `{}`, account},
		{"", 429, `{"error":{"message":"余额不足或无可用资源包,请充值。"}}`, account},
		{"", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details.","code":"insufficient_quota"}}`, account},
		{"", 400, `{"error":{"type":"invalid_request_error","message":"You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC."}}`, account},
		{"", 429, `{"error":"Your team has either used all available credits or reached its monthly spending limit. To continue, please raise your spending limit."}`, account},
		{"", 400, `{"error":{"message":"Budget has been exceeded! Current cost: 10.1, Max budget: 10.0","type":"budget_exceeded"}}`, account},
		{"", 403, `{"error":{"message":"Key limit exceeded (monthly limit).","code":403}}`, account},
		{"", 412, `{"error":{"message":"Account x is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices."}}`, account},
		{"", 429, `{"error":{"message":"Your project has exceeded its monthly spending cap."}}`, account},

		// A pause, though it sounds like an empty account.
		{"", 429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota. For details, see: https://help.example.com/model-studio/error-code#token-limit"}}`, pause},
		{aliyun, 429, `{"error":{"code":"insufficient_quota","message":"You exceeded your current quota, please check your plan and billing details."}}`, pause},
		{aliyun, 429, `{"error":{"code":"limit_requests","message":"You exceeded your current requests list."}}`, pause},
		{aliyun, 400, `{"error":{"code":"Arrearage","message":"Access denied, please make sure your account is in good standing."}}`, account},
		{"", 429, `{"error":{"message":"Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day"}}`, pause},
		{"", 429, `{"error":{"message":"You exceeded your current quota, please check your plan and billing details. Please retry in 35.27s."}}`, pause},
		{"", 429, `{"error":{"message":"You have reached your usage limit. It resets in 2 hours."}}`, pause},
		{"", 429, `{"error":{"message":"This request would exceed your organization's maximum usage increase rate."}}`, pause},
		{"", 429, `{"error":{"message":"Number of concurrent connections has exceeded your rate limit. You may raise your budget of requests."}}`, pause},

		// The model, whatever the status.
		{"", 400, `{"error":{"message":"meta/llama-9 is not a valid model ID","code":400}}`, model},
		{"", 400, `{"error":{"message":"Model Not Exist","type":"invalid_request_error"}}`, model},
		{"", 404, `{"error":{"message":"there is no model gpt-9"}}`, model},
		{"", 422, `{"detail":"unknown model: llama-9"}`, model},
		{"", 200, `{"error":{"message":"The model llama-9 does not exist","code":400}}`, model},
		{"", 400, `{"error":{"message":"Provider returned error","code":400,"metadata":{"raw":"model_not_found"}}}`, model},
		{"", 400, "{\"error\":{\"message\":\"The model `llama-9` has been decommissioned and is no longer supported.\",\"code\":\"model_decommissioned\"}}", model},
		{"", 404, `{"error":{"message":"This model models/gemini-9 is no longer available. Please update your code to use a newer model.","status":"NOT_FOUND"}}`, model},
		{"", 410, `{"detail":"The model llama-9 has reached its end of life on 2026-09-01."}`, model},
		{"", 400, `{"message":"model command-9 was removed on September 15. See the list of models."}`, model},
		{"", 404, `{"error":{"code":"DeploymentNotFound","message":"The API deployment for this resource does not exist."}}`, model},
		{"", 400, `{"error":{"message":"With this model the parameter temperature is deprecated."}}`, malformed},
		{"", 400, `{"error":{"message":"Provider returned error","code":400}}`, malformed},
	} {
		c := &transport{status: test.status, body: strings.NewReader(test.body)}
		_, err := talk(t, c, wire.Options{BaseURL: test.base})
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Kind != want[test.is].kind || me.Cause != want[test.is].cause {
			t.Errorf("%d %s %s: %v (%+v), want the %s: %+v", test.status, test.body, test.base, err, me, test.is, want[test.is])
		}
	}
}
