package agent

import (
	"context"

	"dragoman/sessions"
)

// saysNothing reports whether an answer is empty for no reason that the server names.
// Some models end so now and then, above all after a tool, and answer the same request
// when it comes again.
func (r *run) saysNothing(resp *Response) bool {
	return !r.t.MayBeSilent && resp.Message.Content == "" && len(resp.Message.ToolCalls) == 0 &&
		!resp.Refused && resp.Finish != finishLength && resp.Finish != finishFiltered
}

// askAgain makes the call once more after an empty answer, and then asks another model,
// if there is one. It returns the last answer, empty or not. Nobody is told: the person
// only waits longer.
func (r *run) askAgain(ctx context.Context, final bool, empty *Response) (*Response, error) {
	paid := costOf(empty)
	r.a.log.Info("the model gave an empty answer; asking again", "key", r.t.Key.String(), "model", r.answerer())
	resp, err := r.callModel(ctx, final)
	if err != nil {
		return nil, err
	}
	if _, several := inside[FallbackModel](r.model); several && r.saysNothing(resp) && !r.pin.Shown {
		paid += costOf(resp)
		r.pin.Skip = r.answerer()
		r.a.log.Info("the model gave an empty answer again; asking another one", "key", r.t.Key.String(), "model", r.pin.Skip)
		resp, err = r.callModel(ctx, final)
		if err != nil {
			return nil, err
		}
	}
	if paid > 0 && resp.Usage != nil {
		// Not the tokens: they say how long the conversation is.
		with := *resp.Usage
		with.Cost = sessions.RoundCost(with.Cost + paid)
		resp.Usage, resp.Message.Usage = &with, &with
	}
	return resp, nil
}

func costOf(resp *Response) float64 {
	if resp.Usage == nil {
		return 0
	}
	return resp.Usage.Cost
}
