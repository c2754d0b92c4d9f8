package api_test

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/channels"
	"dragoman/internal/api"
)

// A client waits for an answer as long as it said, and not only as long as for other
// verbs.
func TestPatientQuestion(t *testing.T) {
	o := optionsOf(filled(t))
	synctest.Test(t, func(t *testing.T) {
		o.Ask = func(ctx context.Context, _ api.Question) (string, error) {
			channels.Sleep(ctx, 50*time.Minute)
			return "here", ctx.Err()
		}
		c := api.InProcess(api.New(o))
		got, err := api.PutQuestion.Call(t.Context(), c, api.Question{Key: channels.MustKey("cli:direct"), Text: "well?", Wait: "1h"})
		if err != nil || got.Answer != "here" {
			t.Errorf("%q, %v", got.Answer, err)
		}
	})
}
