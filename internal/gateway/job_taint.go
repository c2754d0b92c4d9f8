package gateway

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	"dragoman/channels"
	"dragoman/sessions"
)

// jobTaint is the kind of the notes that say whose words a job's text has.
const jobTaint = "job-taint"

// taintOfJob is such a note. What the chat is told belongs to no transcript until the next
// turn there, so nothing else remembers it.
type taintOfJob struct {
	Origins []sessions.Origin `json:"origins"`
}

// taintNote notes the taint of what turn tells the chat k. A clean text needs no note.
func (g *Gateway) taintNote(k channels.Key, turn string, taint []sessions.Origin) []sessions.Note {
	data, err := json.Marshal(taintOfJob{taint})
	if len(taint) == 0 || err != nil { // it is always JSON
		return nil
	}
	return []sessions.Note{{Kind: jobTaint, Owner: sessions.ChatScope(k), Name: jobTaintName(turn), Due: g.opts.Now(), Data: data}}
}

// jobTaintName is the name of the note about what turn told.
func jobTaintName(turn string) string {
	sum := sha256.Sum256([]byte(turn))
	return hex.EncodeToString(sum[:16])
}

// jobTaints are the taints of what jobs told the chat k, by jobTaintName.
func (g *Gateway) jobTaints(ctx context.Context, k channels.Key) (map[string][]sessions.Origin, error) {
	notes, err := g.store.Notes(ctx, sessions.NoteFilter{Kind: jobTaint, Owner: sessions.ChatScope(k)})
	if err != nil {
		return nil, fmt.Errorf("gateway: whose words jobs told %s: %w", k, err)
	}
	taints := make(map[string][]sessions.Origin, len(notes))
	for _, n := range notes {
		var kept taintOfJob
		err := json.Unmarshal(n.Data, &kept)
		if err != nil || len(kept.Origins) == 0 { // of a version that writes it in another way
			kept.Origins = []sessions.Origin{sessions.OriginOthers}
		}
		taints[n.Name] = kept.Origins
	}
	return taints, nil
}
