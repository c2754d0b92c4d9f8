package api

import (
	"net/http"

	"dragoman/internal/respond"
)

// HookName names a webhook.
type HookName struct {
	Name string `json:"name"`
}

// Called is a call of a webhook that was taken.
type Called struct {
	Hook string `json:"hook"`
	// ID is the one that the call named.
	ID string `json:"id,omitempty"`
	// Repeated: it was taken before, and leads to nothing more.
	Repeated bool `json:"repeated,omitempty"`
}

// Callers takes calls of webhooks.
type Callers interface {
	// Take checks a call by the hook's own secret, and stores what it leads to. peer is the
	// address that it comes from. Errors that the caller is to read are a
	// [respond.Refusal].
	Take(r *http.Request, name, peer string) (Called, error)
}

// call takes a call of a webhook. It is not known who calls, and needs not be: see [Callers].
func (s *server) call(w http.ResponseWriter, r *http.Request, h HookName) error {
	if s.Callers == nil {
		return ErrNoDaemon
	}
	got, err := s.Callers.Take(r, h.Name, r.RemoteAddr)
	if err != nil {
		return err
	}
	status := http.StatusAccepted
	if got.Repeated {
		status = http.StatusOK
	}
	respond.JSON(w, status, got)
	return nil
}
