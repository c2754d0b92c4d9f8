package models_test

import (
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/agent/models"
)

// silent is a server that never answers.
type silent struct{}

func (silent) RoundTrip(r *http.Request) (*http.Response, error) {
	<-r.Context().Done()
	return nil, r.Context().Err()
}

// A start waits only briefly for a list if the table has a good guess.
func TestChooseDoesNotWaitLong(t *testing.T) {
	for base, want := range map[string]time.Duration{"": time.Second, "https://models.example/v1": 3 * time.Second} {
		synctest.Test(t, func(t *testing.T) {
			env := map[string]string{"OPENAI_API_KEY": "sk-x", "OPENAI_BASE_URL": base}
			began := time.Now()
			c, err := models.Choose(t.Context(), models.ChooseOptions{
				Getenv: func(k string) string { return env[k] }, HTTP: &http.Client{Transport: silent{}},
			})
			if took := time.Since(began); err != nil || took != want {
				t.Errorf("Choose at %q = %v after %s, want nil after %s", base, err, took, want)
			}
			if c.Name == "" || !strings.Contains(c.Why, "did not list its models") || !strings.Contains(c.Why, "set model.name") {
				t.Errorf("Choose at %q chose %q because %q, want it to say that it is a guess", base, c.Name, c.Why)
			}
		})
	}
}
