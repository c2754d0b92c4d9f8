package api

import (
	"context"

	"dragoman/sessions/erasure"
)

// Every verb that changes something has a [Spec.Act], and writes two lines to the audit
// log: who begins it, and whether it is done or has failed. audited is the only place that
// does so. Three are left to others: an erasure writes its own lines, which outlive a
// crash; a question is a message of a person; and what reads others' talks is recorded by
// people.Visibility, and a copy of everything by dump.

// about is implemented by the arguments of verbs that change something: it says what the
// line of the audit log is about.
type about interface{ about(*erasure.Act) }

// audited calls do, which is v with these arguments, between two lines of the audit log.
// If the first cannot be written, it does not call do.
func (s *server) audited(ctx context.Context, v Spec, args any, do func() error) error {
	if v.Act == "" {
		return do()
	}
	act := erasure.Act{Action: v.Act, By: caller(ctx).Name}
	if what, ok := args.(about); ok {
		what.about(&act)
	}
	return s.Audit.RecordAct(act, do)
}

func (a About) about(act *erasure.Act)      { act.Targets = []string{a.Key.String()} }
func (c Change) about(act *erasure.Act)     { act.Targets = []string{c.Key.String()} }
func (t Title) about(act *erasure.Act)      { act.Targets = []string{t.Key.String()} }
func (p Pair) about(act *erasure.Act)       { act.Targets = []string{p.From.String(), p.To.String()} }
func (f Fact) about(act *erasure.Act)       { act.Targets = []string{f.Target} }
func (c Correction) about(act *erasure.Act) { act.Targets = []string{c.Target} }
func (m MemoryOf) about(act *erasure.Act)   { act.Targets = []string{m.Target} }
func (i Item) about(act *erasure.Act)       { act.Targets = []string{i.ID} }
func (p Paired) about(act *erasure.Act)     { act.Targets = []string{p.Channel + ":" + p.Person} }

func (i Identities) about(act *erasure.Act)  { act.Targets = []string{i.One, i.Other} }
func (i OneIdentity) about(act *erasure.Act) { act.Targets = []string{i.Identity} }

func (n NewToken) about(act *erasure.Act)  { act.Token = n.Name }
func (r Rotation) about(act *erasure.Act)  { act.Token = r.Name }
func (n TokenName) about(act *erasure.Act) { act.Token = n.Name }

func (j JobName) about(act *erasure.Act)     { act.Name = j.Name }
func (c ChannelName) about(act *erasure.Act) { act.Name = c.Name }
func (r LinkRequest) about(act *erasure.Act) { act.Name = r.Name }
