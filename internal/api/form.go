package api

import (
	"net/http"
	"strconv"

	"dragoman/internal/respond"
)

// wireForm is the version of the JSON in requests and answers. A daemon names
// it in each answer: one of another version may have understood something else.
// Forms 1 and 2 had other paths.
const (
	formHeader = "Dragoman-Form"
	wireForm   = "3"
	// olderForm is the newest form that had the paths below /v1.
	olderForm = 2
)

// The refusals between versions.
var (
	errOlderDaemon = &respond.Refusal{Sentence: "the running daemon is older than this command, so nothing was done; restart the daemon, then run the command again"}
	errForm        = &respond.Refusal{Sentence: "the running daemon has another version and may have misunderstood the command; restart it, then run the command again"}
)

// checkForm refuses the answer of a daemon of another version.
func checkForm(resp *http.Response, v Spec) error {
	form := resp.Header.Get(formHeader)
	if form == wireForm {
		return nil
	}
	if n, err := strconv.Atoi(form); err == nil && n <= olderForm {
		return errOlderDaemon
	}
	if v.anyForm {
		return nil
	}
	return errForm
}

// forOlderCommands answers command lines from before [Root], in the form that they read.
func forOlderCommands(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set(formHeader, strconv.Itoa(olderForm))
	respond.JSON(w, http.StatusGone, map[string]string{
		"error": "the running daemon is newer than this command, so nothing was done; run the dragoman that was installed with it",
	})
}

// Socket is the handler of the operator's socket: every caller is the operator
// ([AsOperator]), and command lines of older versions are told so.
func Socket(h http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", h)
	mux.HandleFunc("/v1", forOlderCommands)
	mux.HandleFunc("/v1/", forOlderCommands)
	return AsOperator(mux)
}
