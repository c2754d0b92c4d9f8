package postgres_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"dragoman/channels"
	"dragoman/internal/testkit"
	"dragoman/internal/testkit/pgtest"
	"dragoman/sessions"
	"dragoman/sessions/postgres"
)

// refused asserts that Open and Check refuse the database at url with the same error,
// in one sentence without the password.
func refused(t *testing.T, url, want string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	s, err := postgres.Open(ctx, url, postgres.Options{})
	if err == nil {
		_ = s.Close()
		t.Errorf("Open succeeds, want %q", want)
		return
	}
	if got := err.Error(); !strings.Contains(got, want) || strings.Contains(got, pgtest.Password) || strings.Contains(got, "\n") {
		t.Errorf("Open = %q, want %q", got, want)
	}
	if again := postgres.Check(ctx, url); again == nil || again.Error() != err.Error() {
		t.Errorf("Check = %v, and Open = %v", again, err)
	}
}

// TestTrouble: each problem of a database is described in one sentence.
func TestTrouble(t *testing.T) {
	url := pgtest.Database(t, "", "")
	at := func(part, instead string) string { return strings.Replace(url, part, instead, 1) }
	in := func(query string) { t.Helper(); must(t, pgtest.Do(context.Background(), url, query)) }
	name := url[strings.LastIndex(url, "/")+1 : strings.Index(url, "?")]
	in("CREATE DATABASE ascii ENCODING 'SQL_ASCII' TEMPLATE template0")
	in("CREATE ROLE poor LOGIN; REVOKE CREATE ON DATABASE " + name + " FROM PUBLIC")
	in("CREATE ROLE reader LOGIN; ALTER ROLE reader SET default_transaction_read_only = on")
	in("CREATE ROLE narrow LOGIN CONNECTION LIMIT 0")
	t.Cleanup(func() { in("DROP DATABASE ascii"); in("DROP ROLE poor, reader, narrow") })

	must(t, postgres.Check(t.Context(), url)) // an empty one
	refused(t, at("127.0.0.1:", "127.0.0.1:1"), "the url cannot be understood")
	refused(t, "postgres://dragoman:"+pgtest.Password+"@127.0.0.1:1/x?sslmode=disable", "PostgreSQL at 127.0.0.1:1 cannot be reached: connect: connection refused")
	refused(t, at("sslmode=disable", "sslmode=verify-ful"), "the url has an unknown sslmode")
	refused(t, at("/"+name, "/nowhere"), `has no database "nowhere": create it`)
	refused(t, at("/"+name, "/ascii"), "the database is encoded in SQL_ASCII; Dragoman needs one in UTF8")
	refused(t, at("dragoman:", "poor:"), `the user "poor" may not create a schema in the database "`+name+`": run GRANT CREATE ON DATABASE`)
	refused(t, at("dragoman:", "reader:"), "the database is read-only: default_transaction_read_only is on")
	refused(t, at("dragoman:", "narrow:"), "has no connection left")
	refused(t, at("sslmode=disable", "sslmode=require"), "does not speak TLS")
	refused(t, at("sslmode=disable", "sslmode=verify-full&sslrootcert=/nowhere/ca.pem"), "the url names a file that cannot be read: open /nowhere/ca.pem")

	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	must(t, s.Close())
	must(t, postgres.Check(t.Context(), url))
	refused(t, at("dragoman:", "poor:"), `the user "poor" may not use the tables in the schema "dragoman"`)
	in("INSERT INTO dragoman.versions (version) VALUES (99)")
	refused(t, url, "a newer version of dragoman wrote the tables in PostgreSQL")
}

// TestCarefulRights: a user that may only use and fill a schema, which somebody else
// made, is enough, as Check says.
func TestCarefulRights(t *testing.T) {
	for name, rights := range map[string]struct{ schema, by string }{
		"a schema of the administrator's": {"", "CREATE SCHEMA dragoman; GRANT USAGE, CREATE ON SCHEMA dragoman TO careful"},
		"a schema of another name":        {"chats", "CREATE SCHEMA chats; GRANT USAGE, CREATE ON SCHEMA chats TO careful"},
		"a schema of its own":             {"", "CREATE SCHEMA dragoman AUTHORIZATION careful"},
		"rights of a group":               {"", "GRANT careful_all TO careful; CREATE SCHEMA dragoman; GRANT USAGE, CREATE ON SCHEMA dragoman TO careful_all"},
		"the right to make the schema":    {"", "DO $$ BEGIN EXECUTE format('GRANT CREATE ON DATABASE %I TO careful', current_database()); END $$"},
	} {
		t.Run(name, func(t *testing.T) {
			url := pgtest.Database(t, "", "")
			in := func(query string) { t.Helper(); must(t, pgtest.Do(context.Background(), url, query)) }
			in("CREATE ROLE careful LOGIN PASSWORD '" + pgtest.Password + "'; CREATE ROLE careful_all; " + rights.by)
			t.Cleanup(func() { in("DROP OWNED BY careful, careful_all; DROP ROLE careful, careful_all") })
			careful := strings.Replace(url, "dragoman:", "careful:", 1)
			if rights.schema != "" {
				careful += "&search_path=" + rights.schema
			}
			for range 2 { // without tables, and with them
				must(t, postgres.Check(t.Context(), careful))
				s, err := postgres.Open(t.Context(), careful, postgres.Options{})
				must(t, err)
				must(t, s.Close())
			}
		})
	}
}

// TestTooOld needs DRAGOMAN_PG=13.
func TestTooOld(t *testing.T) {
	if os.Getenv("DRAGOMAN_PG") != "13" {
		t.Skip("this is no PostgreSQL 13: make test-postgres-versions")
	}
	refused(t, pgtest.Database(t, "", ""), "the server is PostgreSQL 13; Dragoman needs 14 or newer")
}

// TestStandby: Open refuses a read-only standby and does not change it.
func TestStandby(t *testing.T) {
	server := pgtest.New(t, pgtest.Options{})
	url := server.URL("postgres")
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	must(t, err)
	must(t, s.Close())
	server.Restart(t, map[string]string{"standby.signal": ""})
	refused(t, url, "the server is a read-only standby: name the primary")
	refused(t, url+"&target_session_attrs=read-write", "all servers are read-only standbys")
}

// TestTLS: with verify-full the server must prove its name. A wrong password has its own
// error.
func TestTLS(t *testing.T) {
	dir := t.TempDir()
	ca, key, cert := certificates(t)
	other, _, _ := certificates(t)
	for name, text := range map[string]string{"ca.pem": ca, "other.pem": other} {
		must(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	server := pgtest.New(t, pgtest.Options{
		Settings: []string{"ssl=on", "password_encryption=scram-sha-256"},
		Files:    map[string]string{"server.crt": cert, "server.key": key},
	})
	server.Do(t, "postgres", "ALTER ROLE dragoman PASSWORD '"+pgtest.Password+"'")
	server.Restart(t, map[string]string{"pg_hba.conf": "hostssl all all 127.0.0.1/32 scram-sha-256\n"})
	with := func(settings, password string) string {
		url := strings.Replace(server.URL("postgres"), "sslmode=disable", settings, 1)
		return strings.Replace(url, ":"+pgtest.Password, ":"+password, 1)
	}
	full := "sslmode=verify-full&sslrootcert=" + filepath.Join(dir, "ca.pem")
	url := with(full, pgtest.Password)
	openAt(t, url, postgres.Options{})
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	var plain int
	must(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE application_name = 'dragoman' AND NOT ssl`).Scan(&plain))
	if plain > 0 {
		t.Errorf("%d connections without TLS", plain)
	}
	refused(t, with(full, "wr0ng"), `refuses the user "dragoman" (password authentication failed for user "dragoman"): correct the password`)
	refused(t, with("sslmode=verify-full&sslrootcert="+filepath.Join(dir, "other.pem"), pgtest.Password), "is not trusted (x509: certificate signed by unknown authority")
	refused(t, with("sslmode=verify-full", pgtest.Password), "is not trusted")
	refused(t, strings.Replace(url, "127.0.0.1", "localhost", 1), "is for another name: x509: certificate is valid for db.example.org, not localhost")
	refused(t, with("sslmode=disable", pgtest.Password), `refuses the user "dragoman" (no pg_hba.conf entry for host "127.0.0.1"`)
}

// certificates makes a CA and a certificate of 127.0.0.1 and db.example.org.
func certificates(t *testing.T) (ca, key, cert string) {
	t.Helper()
	text := func(kind string, der []byte) string {
		return string(pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: der}))
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	root := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	caDER, err := x509.CreateCertificate(rand.Reader, root, root, &caKey.PublicKey, caKey)
	must(t, err)
	leafKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(2), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"db.example.org"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, root, &leafKey.PublicKey, caKey)
	must(t, err)
	keyDER, err := x509.MarshalECPrivateKey(leafKey)
	must(t, err)
	return text("CERTIFICATE", caDER), text("EC PRIVATE KEY", keyDER), text("CERTIFICATE", der)
}

// TestMaxConns: fifty busy keys, and the callers that accept messages for them, share
// the allowed connections.
func TestMaxConns(t *testing.T) {
	const (
		most  = 6
		chats = 50
		each  = 4
	)
	url := database(t)
	s := openAt(t, url+"&application_name=bounded", postgres.Options{MaxConns: most})
	ctx, cancel := context.WithCancel(t.Context())
	var left atomic.Int64
	left.Store(chats * each)
	var all sync.WaitGroup
	all.Go(func() {
		err := s.Run(ctx, func(ctx context.Context, c sessions.Claim) error {
			p, err := s.Pending(ctx, c, each)
			if err != nil || len(p.Messages) == 0 {
				return err
			}
			turn := sessions.Turn{ID: "t"}
			for _, m := range p.Messages {
				turn.Answers = append(turn.Answers, sessions.Answered{Seq: m.Seq, Rev: m.Rev})
			}
			if err = s.CommitTurn(ctx, c, turn); err == nil {
				left.Add(-int64(len(p.Messages)))
			}
			return err
		})
		if err != nil {
			t.Error(err)
		}
	})
	for chat := range chats {
		all.Go(func() {
			for n := range each {
				k, id := channels.MustKey(fmt.Sprint("x:", chat)), fmt.Sprint(chat, "-", n)
				if _, err := s.Accept(ctx, sessions.Entry{Inbound: channels.Inbound{Key: k, ID: id, Text: "hi"}}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	conn, err := pgx.Connect(t.Context(), url)
	must(t, err)
	defer conn.Close(context.Background())
	highest := 0
	testkit.Eventually(t, "all answers", func() bool {
		var now int
		must(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity WHERE application_name = 'bounded'`).Scan(&now))
		highest = max(highest, now)
		return left.Load() == 0
	})
	cancel()
	all.Wait()
	if highest != most {
		t.Errorf("%d connections, want %d", highest, most)
	}
}

// TestExposed: check warns of a database to which everybody may connect, until the right
// is revoked.
func TestExposed(t *testing.T) {
	url := pgtest.Database(t, "", "")
	warning, err := postgres.Exposed(t.Context(), url)
	if err != nil || !strings.Contains(warning, "REVOKE CONNECT ON DATABASE") {
		t.Errorf("Exposed = %q, %v", warning, err)
	}
	revoke := warning[strings.Index(warning, "REVOKE"):strings.Index(warning, ", after")]
	must(t, pgtest.Do(t.Context(), url, revoke))
	warning, err = postgres.Exposed(t.Context(), url)
	if err != nil || warning != "" {
		t.Errorf("Exposed = %q, %v after %s", warning, err, revoke)
	}
	must(t, pgtest.Do(t.Context(), url, `DO $$ BEGIN CREATE ROLE stranger LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$`))
	if _, err := postgres.Exposed(t.Context(), strings.Replace(url, "//dragoman:", "//stranger:", 1)); err == nil {
		t.Error("a stranger may still connect")
	}
}

// What metrics say of the connections is what the pool does.
func TestPool(t *testing.T) {
	store := openAt(t, database(t), postgres.Options{})
	if _, err := store.Stats(t.Context()); err != nil {
		t.Fatal(err)
	}
	pooled, able := store.Backend().(sessions.Pooled)
	if !able {
		t.Fatal("the backend says nothing of its connections")
	}
	p := pooled.Pool()
	if p.Used+p.Idle < 1 || p.Max < 2 || p.Used+p.Idle > p.Max {
		t.Errorf("Pool = %+v, want some connections and more allowed", p)
	}
}
