package skills

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// stampOf tells apart the states of a file, or of all that is below a folder, within the
// limits of skills.
func stampOf(at string) string {
	var b strings.Builder
	left := mostSkills * mostFiles
	_ = filepath.WalkDir(at, func(path string, e fs.DirEntry, err error) error { // what cannot be seen is in b
		left--
		if left < 0 {
			return fs.SkipAll
		}
		if err != nil {
			fmt.Fprintf(&b, "%s %v\n", path, err)
			return nil
		}
		info, err := e.Info()
		if err != nil {
			fmt.Fprintf(&b, "%s %v\n", path, err)
			return nil
		}
		fmt.Fprintf(&b, "%s %d %d %v\n", path, info.Size(), info.ModTime().UnixNano(), info.Mode())
		return nil
	})
	return b.String()
}
