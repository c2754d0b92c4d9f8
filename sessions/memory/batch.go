package memory

import (
	"errors"
	"slices"

	"dragoman/sessions/rows"
	"dragoman/sessions/rules"
)

// batchMost is how many steps share a commit at most.
const batchMost = 256

var errBroken = errors.New("the disk failed, the state has to be read anew")

// op is one step on its way to the disk.
type op struct {
	run   func(rows.Reader) (rows.Changes, error)
	write bool // commit it even if nothing changes
}

// commit is the goroutine that reads the disk first; then it takes what is
// queued, does all of it under the lock, has the disk make it durable with one
// commit, and lets go of the lock: nobody sees what is not durable.
func (b *backend) commit() {
	if b.begin() {
		b.queue.Run(b.together)
		return
	}
	b.queue.Run(func(batch []op) []error { return slices.Repeat([]error{b.beginErr}, len(batch)) })
}

// together does a batch as one commit and says how each step ended. If the
// disk fails, all of them fail and the state is read anew. Without a disk there
// is nothing to read, and no step is half done: a panic comes before its changes.
func (b *backend) together(batch []op) []error {
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.fenced = nil }()
	errs := make([]error, len(batch))
	fail := func(err error) []error {
		for i := range errs {
			errs[i] = err
		}
		return errs
	}
	if err := b.ready(); err != nil {
		return fail(err)
	}
	var changes []Change
	var all applied
	for i, o := range batch {
		done, any, err, panicked := b.one(o)
		if errs[i] = err; panicked {
			b.broken = b.disk != nil // the step may be half done
			return fail(err)
		}
		if err != nil || !any {
			continue
		}
		changes = append(changes, done.Change)
		all.items, all.fenced = append(all.items, done.items...), append(all.fenced, done.fenced...)
		b.fenced = all.fenced
	}
	if len(changes) > 0 && b.disk != nil {
		if err := b.disk.Commit(changes); err != nil {
			b.broken = true
			return fail(err)
		}
	}
	b.work.Apply(all.items, all.fenced)
	return errs
}

// one runs o and makes its changes, if there are any. A panic becomes its error.
func (b *backend) one(o op) (done applied, any bool, err error, panicked bool) {
	defer func() {
		if p := recover(); p != nil {
			err, panicked = rules.Panic(p), true
		}
	}()
	changes, err := o.run(b.inside())
	if err != nil || changes.Empty() && !o.write {
		return done, false, err, false
	}
	done, err = b.apply(changes)
	return done, true, err, false
}
