package httpapi

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"

	"dragoman/channels"
)

// Page sizes: what a request may ask for, and what it gets when it does not.
const (
	maxPage     = 1000
	defaultPage = 100
)

// page is how many items are listed if limit were asked for.
func page(limit int) int {
	if limit == 0 {
		return defaultPage
	}
	return min(max(limit, 1), maxPage)
}

// verb answers a request with what do returns. What is asked is the JSON in the
// request's body, also of a GET, or for scripts the query of its address; without
// either it is the zero Q.
func verb[Q, A any](do func(ctx context.Context, asked Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var asked Q
		if err := decode(r, &asked); err != nil {
			writeFailure(w, err)
			return
		}
		answer, err := do(r.Context(), asked)
		if err != nil {
			writeFailure(w, err)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	})
}

// decode reads what r asks.
func decode(r *http.Request, asked any) error {
	text, err := io.ReadAll(r.Body)
	if err == nil && len(text) == 0 && r.URL.RawQuery != "" {
		text, err = fromQuery(r.URL.Query())
	}
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, asked)
	}
	if err != nil {
		return &badRequest{fmt.Sprintf("the request cannot be understood: %s", Plain(err))}
	}
	return nil
}

// fromQuery is what the query of an address asks, as JSON. Of its values only
// limit is a number.
func fromQuery(query url.Values) ([]byte, error) {
	asked := map[string]any{}
	for name := range query {
		asked[name] = query.Get(name)
		if n, err := strconv.Atoi(query.Get(name)); err == nil && name == "limit" {
			asked[name] = n
		}
	}
	return json.Marshal(asked)
}

// keyed is a verb about a conversation.
func keyed[A any](do func(ctx context.Context, k channels.Key) (A, error)) http.Handler {
	return verb(func(ctx context.Context, k channels.Key) (a A, err error) {
		if err := named(k); err != nil {
			return a, err
		}
		return do(ctx, k)
	})
}

// named refuses a request that names no conversation.
func named(k channels.Key) error {
	if k.IsZero() {
		return &badRequest{"name a conversation by its key, like telegram:123456"}
	}
	return nil
}

// done is the answer of verbs that have nothing to say.
type done struct{}

// quiet is do with that answer.
func quiet[Q any](do func(context.Context, Q) error) func(context.Context, Q) (done, error) {
	return func(ctx context.Context, asked Q) (done, error) { return done{}, do(ctx, asked) }
}

// list makes an empty list of nil, so that it is encoded as [].
func list[T any](items []T, err error) ([]T, error) {
	if items == nil {
		items = []T{}
	}
	return items, err
}
