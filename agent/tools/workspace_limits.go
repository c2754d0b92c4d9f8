package tools

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"dragoman/agent"
	"dragoman/channels"
)

// chatsFolder holds the folders of the conversations in the workspace.
const chatsFolder = "chats"

// inWorkspace makes run work in the part of w that its call may see.
func inWorkspace[A any](w *Workspace, run func(context.Context, *Workspace, agent.Call, A) (string, error)) func(context.Context, agent.Call, A) (string, error) {
	return func(ctx context.Context, c agent.Call, args A) (string, error) {
		seen, err := w.forCall(c)
		if err != nil {
			return "", err
		}
		if seen.chat { // forCall opened it
			defer seen.root.Close() // nothing was written through it
		}
		return run(ctx, seen, c, args)
	}
}

// forCall returns the workspace that c may see.
func (w *Workspace) forCall(c agent.Call) (*Workspace, error) {
	if !w.o.PerChat || c.Operator {
		return w, nil
	}
	return w.ofChat(c)
}

// chatFolder is the folder of c's conversation in the workspace.
func chatFolder(c agent.Call) string { return chatsFolder + "/" + c.Key.FileName() }

// ofChat opens the folder of c's conversation, which the caller must close.
func (w *Workspace) ofChat(c agent.Call) (*Workspace, error) {
	dir := chatFolder(c)
	if err := w.root.MkdirAll(dir, 0o700); err != nil {
		return nil, explain("the workspace", err)
	}
	root, err := w.root.OpenRoot(dir)
	if err != nil {
		return nil, explain("the workspace", err)
	}
	return &Workspace{root: root, o: w.o, chat: true, write: w.write}, nil
}

// checkOperatorFile refuses to write base in folder if it is an operator's file and c
// is not an operator's call. It compares the open folder, which a link may have led
// to, and the file itself, which the file system may know by other spellings.
func (w *Workspace) checkOperatorFile(c agent.Call, folder *os.Root, base string) error {
	if c.Operator || w.chat {
		return nil
	}
	here, err := folder.Stat(".")
	if err != nil {
		return explain(".", err)
	}
	top, err := w.root.Stat(".")
	if err != nil {
		return explain(".", err)
	}
	for _, name := range w.o.Operators {
		theirs, err := w.root.Stat(name)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			theirs = nil // it leads out of the workspace, which no tool can reach
		}
		mine, _ := folder.Lstat(base)
		same := theirs != nil && mine != nil && os.SameFile(theirs, mine)
		if same || os.SameFile(here, top) && strings.EqualFold(base, name) {
			return fmt.Errorf("only the operator may write %s, because Dragoman runs it automatically; tell the person that, or use another file", name)
		}
	}
	return nil
}

// blockSize is the smallest space of a file on disk: a million empty files are not
// free.
const blockSize = 4096

func onDisk(n int64) int64 { return max(blockSize, (n+blockSize-1)/blockSize*blockSize) }

// errFull ends a walk as soon as the quota is reached.
var errFull = errors.New("enough")

// checkQuota refuses a write after which the files would take more than the quota. A
// write that does not enlarge its file is always allowed.
func (w *Workspace) checkQuota(ctx context.Context, clean string, args writeArgs) error {
	held, after := int64(0), int64(len(args.Content))
	if info, err := w.root.Lstat(clean); err == nil && info.Mode().IsRegular() {
		held = onDisk(info.Size())
		if args.Append {
			after += info.Size()
		}
	}
	more := onDisk(after) - held
	return w.checkRoom(ctx, more)
}

// checkRoom refuses to add more bytes than the quota leaves.
func (w *Workspace) checkRoom(ctx context.Context, more int64) error {
	if w.o.Quota <= 0 || more <= 0 {
		return nil
	}
	used := int64(0)
	err := fs.WalkDir(w.root.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && ctx.Err() != nil {
			return ctx.Err()
		}
		var info fs.FileInfo
		if err == nil {
			info, err = d.Info()
		}
		switch {
		case errors.Is(err, fs.ErrNotExist): // deleted meanwhile
		case err != nil:
			return explain(name, err)
		case name != ".":
			used += onDisk(info.Size())
		}
		if used+more > w.o.Quota {
			return errFull
		}
		return nil
	})
	if errors.Is(err, errFull) {
		return fmt.Errorf("the workspace is full: its files may take %s together. Nothing was written. Make other files shorter first, or tell the person",
			channels.SizeText(w.o.Quota))
	}
	return err
}
