package memory

import "dragoman/sessions/rows"

// Backend is what is below s.
func Backend(s *Store) rows.Backend { return s.documents.b }
