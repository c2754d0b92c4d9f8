package engine

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"time"

	"dragoman/channels"
	"dragoman/sessions"
	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// expired reports whether p is a request that can no longer be approved.
func expired(p *sessions.Pairing, now time.Time) bool {
	return p.Approved.IsZero() && !now.Before(p.Expires)
}

// unexpired reads the pairings that are not expired, and removes the others.
func (st *step) unexpired(now time.Time) (list []sessions.Pairing) {
	for r := range st.records(rows.Record{Pairing: &sessions.Pairing{}}) {
		if expired(r.Pairing, now) {
			st.changes.Removed = append(st.changes.Removed, r)
			continue
		}
		list = append(list, *r.Pairing)
	}
	return list
}

// RequestPairing stores p with its Code and Expires. If the person has an unexpired
// request or an approval, it returns that with created false instead. Errors:
// ErrConflict if another person has the code, ErrTooMany if maxPending requests of
// the channel wait.
func (s *Store) RequestPairing(ctx context.Context, p sessions.Pairing, now time.Time, maxPending int) (got sessions.Pairing, created bool, err error) {
	err = s.update(ctx, "request pairing", func(st *step) error {
		got, created = sessions.Pairing{}, false
		switch {
		case p.Channel == "" || p.PersonID == "":
			return errors.New("a pairing needs a channel and a person's id")
		case rules.Code(p.Code) == "":
			return errors.New("a pairing request needs a code")
		case !now.Before(p.Expires):
			return errors.New("the pairing request is expired already")
		}
		pending, taken := 0, false
		for _, old := range st.unexpired(now) {
			taken = taken || old.Code != "" && rules.Code(old.Code) == rules.Code(p.Code)
			if old.Channel == p.Channel && old.PersonID == p.PersonID {
				got = old
				return nil
			}
			if old.Channel == p.Channel && old.Approved.IsZero() {
				pending++
			}
		}
		if taken {
			return fmt.Errorf("%w: the code belongs to another request", sessions.ErrConflict)
		}
		if pending >= maxPending {
			return fmt.Errorf("%w: %d requests wait on %s", sessions.ErrTooMany, pending, p.Channel)
		}
		got, created = cleanPairing(p), true
		got.Approved = time.Time{}
		stored := got
		st.record(rows.Record{Pairing: &stored})
		return nil
	})
	return got, created, err
}

func cleanPairing(p sessions.Pairing) sessions.Pairing {
	p.PersonID = rules.Text(p.PersonID)
	p.Name = rules.Text(p.Name)
	p.Code = rules.Text(p.Code)
	p.Expires, p.Approved = rules.Time(p.Expires), rules.Time(p.Approved)
	return p
}

// ApprovePairing approves the request with that code. Codes match without regard to
// case, spaces and dashes. Errors: ErrNotFound (unknown, used or expired).
func (s *Store) ApprovePairing(ctx context.Context, code string, now time.Time) (got sessions.Pairing, err error) {
	err = s.update(ctx, "approve pairing", func(st *step) error {
		got = sessions.Pairing{}
		for _, p := range st.unexpired(now) {
			if p.Approved.IsZero() && rules.Code(p.Code) == rules.Code(code) {
				p.Approved = rules.Time(now)
				p.Code = ""
				p.Expires = time.Time{}
				got = p
				st.record(rows.Record{Pairing: &p})
				return nil
			}
		}
		return fmt.Errorf("%w: pairing code", sessions.ErrNotFound)
	})
	return got, err
}

// RefusePairing removes the request with that code, and returns it. Whoever asks again gets
// another code. Errors: ErrNotFound (unknown, used or expired).
func (s *Store) RefusePairing(ctx context.Context, code string, now time.Time) (got sessions.Pairing, err error) {
	err = s.update(ctx, "refuse pairing", func(st *step) error {
		got = sessions.Pairing{}
		for _, p := range st.unexpired(now) {
			if p.Approved.IsZero() && rules.Code(p.Code) == rules.Code(code) {
				got = p
				st.changes.Removed = append(st.changes.Removed, rows.Record{Pairing: &p})
				return nil
			}
		}
		return fmt.Errorf("%w: pairing code", sessions.ErrNotFound)
	})
	return got, err
}

// Paired reports whether one of ids was approved on channel.
func (s *Store) Paired(ctx context.Context, channel string, ids []string) (bool, error) {
	v := s.view(ctx)
	for _, id := range ids {
		for r := range v.records(rows.Record{Pairing: &sessions.Pairing{Channel: channel, PersonID: id}}) {
			if id != "" && r.Pairing.Channel == channel && !r.Pairing.Approved.IsZero() {
				return true, nil
			}
		}
	}
	return false, s.wrap("paired", v.err)
}

// Pairings lists approved people and requests that have not expired.
func (s *Store) Pairings(ctx context.Context, now time.Time) (list []sessions.Pairing, err error) {
	v := s.view(ctx)
	for r := range v.records(rows.Record{Pairing: &sessions.Pairing{}}) {
		if !expired(r.Pairing, now) {
			list = append(list, *r.Pairing)
		}
	}
	return list, s.wrap("pairings", v.err)
}

// Unpair removes an approved person. Errors: ErrNotFound.
func (s *Store) Unpair(ctx context.Context, channel, personID string) error {
	return s.update(ctx, "unpair", func(st *step) error {
		r, ok := st.one(rows.Record{Pairing: &sessions.Pairing{Channel: channel, PersonID: personID}})
		if !ok || personID == "" || r.Pairing.Approved.IsZero() {
			return fmt.Errorf("%w: %s is not paired on %s", sessions.ErrNotFound, personID, channel)
		}
		st.changes.Removed = append(st.changes.Removed, r)
		return nil
	})
}

// Writers lists who wrote on channel, each once, sorted by chat, ids and name: the
// senders of inbox messages, answered or not, and of user messages in transcripts. It
// may read each message of the channel once, which takes seconds for a million
// messages but blocks no writes. A person disappears with their last message.
func (s *Store) Writers(ctx context.Context, channel string) ([]sessions.Writer, error) {
	v, all := s.view(ctx), map[string]sessions.Writer{}
	for _, h := range slices.Collect(v.heads(rows.ByKey)) {
		if h.Key.Channel() == channel {
			v.addWriters(h.Key, all)
		}
	}
	list := slices.SortedFunc(maps.Values(all), func(a, b sessions.Writer) int {
		return cmp.Or(cmp.Compare(a.Key.Chat(), b.Key.Chat()), slices.Compare(a.IDs, b.IDs), cmp.Compare(a.Name, b.Name),
			cmp.Compare(strconv.FormatBool(a.Private), strconv.FormatBool(b.Private)))
	})
	return list, s.wrap("writers", v.err)
}

// addWriters adds the people who wrote in k to all.
func (v *view) addWriters(k channels.Key, all map[string]sessions.Writer) {
	add := func(w sessions.Writer) { all[fmt.Sprintf("%s %q %q %v", w.Key, w.IDs, w.Name, w.Private)] = w }
	for r := range v.inbox(k, rows.QueueFilter{Writers: true}) {
		if ids := r.Inbound.Sender.IDs; len(ids) > 0 {
			add(sessions.Writer{Key: k, IDs: slices.Clone(ids), Name: r.Inbound.Sender.Name, Private: r.Inbound.Private})
		}
	}
	for m := range v.messages(k, rows.MessageFilter{Light: true, Writers: true}) {
		if m.Role == sessions.RoleUser && m.Sender != "" {
			add(sessions.Writer{Key: k, IDs: []string{m.Sender}, Name: m.Name})
		}
	}
}
