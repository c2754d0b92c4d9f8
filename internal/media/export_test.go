package media

import (
	"net/http"
	"time"
)

// Sign is how a bucket signs a request.
func (b *Bucket) Sign(r *http.Request, now time.Time) { b.sign(r, emptyHash, now) }

// Names are the names of all files.
func (s *Store) Names() (all []string, err error) {
	folders, err := s.files.folders()
	for _, f := range folders {
		list, err := s.files.list(f)
		if err != nil {
			return nil, err
		}
		for _, e := range list {
			all = append(all, f+"/"+e.name)
		}
	}
	return all, err
}
