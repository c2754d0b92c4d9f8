package config

import (
	"path/filepath"
)

// media checks where files are kept, and how many.
func (v *validator) media(m *Media) {
	if m.Type == "" {
		m.Type = MediaLocal
		if v.c.Store.Type == "postgres" {
			m.Type = MediaPostgres
		}
	}
	v.oneOf("media.type", m.Type, MediaLocal, MediaFolder, MediaPostgres, MediaS3)
	switch {
	case m.Type != MediaLocal && v.c.Store.Type != "postgres":
		v.bad("media.type", m.Type+" is for several nodes, and takes store.type postgres", "write local")
	case m.Type == MediaFolder && !filepath.IsAbs(m.Path):
		v.bad("media.path", "is no whole path", "begin with /")
	case m.Type == MediaS3 && m.URL == "":
		v.bad("media.url", "is empty, and s3 needs it", "write the address of the bucket, like https://s3.example.org/dragoman")
	}
	if m.Type == MediaFolder {
		m.Path = filepath.Clean(m.Path)
		if why := v.unsafe(m.Path); why != "" {
			v.bad("media.path", why, "name a folder of its own")
		}
	}
	if m.URL != "" {
		v.privateURL("media.url", m.URL, "what people send")
		if m.AccessKey == "" || m.SecretKey.Empty() && !v.opts.NoSecrets {
			v.bad("media.secret_key", "the bucket needs access_key and secret_key", "write both")
		}
	}
	if m.MaxBytes < 1024 || m.MaxBytes > 2<<30 {
		v.bad("media.max_bytes", m.MaxBytes.String()+" is out of range", "write 1KiB to 2GiB")
	}
	if m.MaxTotal < 0 || m.MaxTotal > 0 && m.MaxTotal < m.MaxBytes {
		v.bad("media.max_total", m.MaxTotal.String()+" is less than one file may have", "write more than media.max_bytes, or 0 for no limit")
	}
	if m.MaxImageBytes < 1024 || m.MaxImageBytes > 20<<20 {
		v.bad("media.max_image_bytes", m.MaxImageBytes.String()+" is out of range", "write 1KiB to 20MiB")
	}
}
