package storage

import (
	"cmp"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"

	"dragoman/internal/config"
	"dragoman/internal/durable"
)

// nodeIDName has the random id of a state directory, which names its daemon among those that
// share a database.
const nodeIDName = "node-id"

// Node names this daemon in its metrics, and stays the same after a restart; "" if it shares
// no database.
func Node(cfg *config.Config) string {
	if cfg.Store.Type != postgresType {
		return ""
	}
	name, err := os.Hostname()
	if err != nil {
		return cfg.Node.Name
	}
	return cmp.Or(cfg.Node.Name, name+":"+config.RealPath(cfg.StateDir))
}

// nodeName is how the others list this daemon. Several machines may have one name and the
// same state directory, so that name ends with a part of the id. Nodes of earlier versions
// take a node without it for their own last process.
func nodeName(cfg *config.Config, id string) string {
	return cmp.Or(cfg.Node.Name, Node(cfg)+"#"+id[:min(len(id), 4)])
}

// nodeID reads the id of s, and makes one the first time.
func (s *Dir) nodeID() (string, error) {
	path := s.File(nodeIDName)
	text, err := os.ReadFile(path)
	id := strings.TrimSpace(string(text))
	if err == nil && id != "" {
		return id, nil
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("storage: %w", err)
	}
	id = rand.Text()
	if err := keepID(path, id); err != nil {
		return "", fmt.Errorf("storage: keep the id of this node: %w", plainPathError(err))
	}
	return id, durable.SyncDir(s.Path)
}

// keepID writes id into a file. If the process dies meanwhile, the file is empty, and the
// next start makes another id.
func keepID(path, id string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = f.WriteString(id + "\n")
	return errors.Join(err, f.Sync(), f.Close())
}

// place says where s is: the boot of the machine, and the folder itself. Another machine,
// and a copy of the folder, have another.
func (s *Dir) place() string {
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		name, _ := os.Hostname()
		boot = []byte(name)
	}
	var st syscall.Stat_t
	if err := syscall.Stat(s.Path, &st); err != nil {
		return ""
	}
	return fmt.Sprintf("%s %d %d", strings.TrimSpace(string(boot)), st.Dev, st.Ino)
}
