package durable_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"testing/synctest"
	"time"

	"dragoman/internal/durable"

	"github.com/google/go-cmp/cmp"
)

func TestLock(t *testing.T) {
	path := filepath.Join(t.TempDir(), "lock")
	f, err := durable.Lock(path)
	if err != nil {
		t.Fatal(err)
	}
	if second, err := durable.Lock(path); !errors.Is(err, durable.ErrLocked) {
		t.Errorf("a second Lock = %v, %v, want ErrLocked", second, err)
	}
	if info, err := f.Stat(); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("mode = %v, %v, want 0600", info.Mode(), err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	again, err := durable.Lock(path)
	if err != nil {
		t.Fatalf("Lock after Close = %v", err)
	}
	defer again.Close()
	link := path + ".link"
	if err := os.Symlink(path, link); err != nil {
		t.Fatal(err)
	}
	if _, err := durable.Lock(link); err == nil {
		t.Error("Lock follows a link")
	}
}

func TestGather(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ops, closing := make(chan int, 10), make(chan struct{})
		batch := make([]int, 0, 3)
		for i := range 4 {
			ops <- i
		}
		want := func(what string, want ...int) {
			t.Helper()
			if diff := cmp.Diff(append([]int{}, want...), append([]int{}, durable.Gather(ops, closing, batch)...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", what, diff)
			}
		}
		want("a full batch", 0, 1, 2)
		want("the rest", 3)
		go func() {
			time.Sleep(time.Hour) // the bubble's clock
			ops <- 4
		}()
		want("what comes later", 4)
		ops <- 5
		close(closing)
		for range 20 { // select chooses at random
			want("what was there before the end", 5)
			want("the end")
			ops <- 5
		}
	})
}

func TestSyncDir(t *testing.T) {
	dir := t.TempDir()
	if err := durable.SyncDir(dir); err != nil {
		t.Errorf("SyncDir = %v", err)
	}
	if err := durable.SyncDir(filepath.Join(dir, "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("SyncDir of nothing = %v, want ErrNotExist", err)
	}
}
