package api

import (
	"context"
	"encoding/json"

	"dragoman/docs"
)

// description is the table as an OpenAPI document. A test writes it, so that nothing of
// the daemon but the file is spent on it.
func (s *server) description(context.Context, None) (json.RawMessage, error) {
	return json.RawMessage(docs.OpenAPI), nil
}
