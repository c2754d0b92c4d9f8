package irc_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"io/fs"
	"log/slog"
	"math/big"
	"strings"
	"testing"
	"time"

	"dragoman/channels"
	"dragoman/channels/irc"
)

// certificate is one that signs itself, and its key, both in PEM form.
func certificate(t *testing.T) (cert, key string) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotAfter: time.Now().Add(time.Hour)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	encode := func(kind string, data []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}))
	}
	return encode("CERTIFICATE", der), encode("PRIVATE KEY", secret)
}

// The files that settings name are read when the channel is made: what is wrong with
// them is said then, with the setting's key.
func TestCertificates(t *testing.T) {
	cert, key := certificate(t)
	files := map[string]string{"/ca": cert, "/cert": cert, "/key": key, "/both": cert + key, "/notes": "no certificate"}
	for name, test := range map[string]struct {
		settings irc.Settings
		read     string // the files, in their order
		want     string // "": it is made
	}{
		"none":            {irc.Settings{}, "", ""},
		"authorities":     {irc.Settings{CAFile: "/ca"}, "/ca", ""},
		"no authorities":  {irc.Settings{CAFile: "/notes"}, "/notes", "irc: ca_file /notes holds no certificate in PEM form"},
		"missing":         {irc.Settings{CAFile: "/gone"}, "/gone", "irc: read ca_file: open /gone: file does not exist"},
		"in one file":     {irc.Settings{ClientCert: "/both"}, "/both /both", ""},
		"in two files":    {irc.Settings{ClientCert: "/cert", ClientKey: "/key"}, "/cert /key", ""},
		"without its key": {irc.Settings{ClientCert: "/cert"}, "/cert /cert", "irc: read client_cert: "},
		"no key there":    {irc.Settings{ClientCert: "/cert", ClientKey: "/gone"}, "/cert /gone", "irc: read client_key: open /gone: file does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			var read []string
			s := test.settings
			s.Server, s.Nick = "irc.example.org:6697", "dragoman"
			s.TLS = true
			ch, err := s.Make(channels.Setup{Name: "libera", Logger: slog.New(slog.DiscardHandler), ReadFile: func(path string) ([]byte, error) {
				read = append(read, path)
				text, there := files[path]
				if !there {
					return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
				}
				return []byte(text), nil
			}})
			if got := strings.Join(read, " "); got != test.read {
				t.Errorf("files read: %q, want %q", got, test.read)
			}
			switch {
			case test.want == "" && (err != nil || ch.Name() != "libera"):
				t.Errorf("Make = %v, %v, want the channel", ch, err)
			case test.want != "" && !strings.HasPrefix(fmt.Sprint(err), test.want):
				t.Errorf("Make = %v, want %s", err, test.want)
			}
		})
	}
}
