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

// The greatest page that a request may ask for, and the page of one that names
// none.
const (
	maxPage     = 1000
	defaultPage = 100
)

// page is the number of items to list for this limit.
func page(limit int) int {
	if limit == 0 {
		return defaultPage
	}
	return min(max(limit, 1), maxPage)
}

// answering answers a request with the result of do. The argument of do is the JSON
// in the request's body, also of a GET, or, for scripts, the query of its URL.
// Without either it is the zero Q.
func answering[Q, A any](do func(ctx context.Context, args Q) (A, error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var args Q
		err := decode(r, &args)
		if k, about := any(args).(channels.Key); about && err == nil {
			err = requireKey(k)
		}
		var answer A
		if err == nil {
			answer, err = do(r.Context(), args)
		}
		if err != nil {
			writeFailure(w, err)
			return
		}
		writeJSON(w, http.StatusOK, answer)
	})
}

func decode(r *http.Request, args any) error {
	text, err := io.ReadAll(r.Body)
	if err == nil && len(text) == 0 && r.URL.RawQuery != "" {
		text, err = fromQuery(r.URL.Query())
	}
	if err == nil && len(text) > 0 {
		err = json.Unmarshal(text, args)
	}
	if err != nil {
		return &Refusal{fmt.Sprintf("the request cannot be understood: %s", Plain(err))}
	}
	return nil
}

// fromQuery makes JSON of a query. Only its limit is a number.
func fromQuery(query url.Values) ([]byte, error) {
	args := map[string]any{}
	for name := range query {
		args[name] = query.Get(name)
		if n, err := strconv.Atoi(query.Get(name)); err == nil && name == "limit" {
			args[name] = n
		}
	}
	return json.Marshal(args)
}

func requireKey(k channels.Key) error {
	if k.IsZero() {
		return &Refusal{"name a conversation by its key, like telegram:123456"}
	}
	return nil
}

// list replaces a nil list by an empty one, which is encoded as [].
func list[T any](items []T, err error) ([]T, error) {
	if items == nil {
		items = []T{}
	}
	return items, err
}
