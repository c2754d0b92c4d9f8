package media

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Bucket keeps blobs in a bucket of a server that speaks Amazon's S3. It needs to put, get
// and delete, and never lists: the database has the list.
type Bucket struct {
	// URL is https://HOST/BUCKET or https://BUCKET.HOST, with or without a prefix of the
	// names in it.
	URL string
	// Region is the server's region; us-east-1 if empty.
	Region string
	// AccessKey and SecretKey sign the requests. The secret is never sent.
	AccessKey, SecretKey string
	// Client is http.DefaultClient if nil.
	Client *http.Client
}

// emptyHash is the SHA-256 of an empty body.
const emptyHash = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"

func (b *Bucket) place() string { return b.URL }

// put sends the hash of the content first, so that the server refuses content that was
// damaged on its way.
func (b *Bucket) put(ctx context.Context, id string, from io.ReadSeeker, size int64) error {
	sum := sha256.New()
	if _, err := io.Copy(sum, from); err != nil {
		return err
	}
	if _, err := from.Seek(0, io.SeekStart); err != nil {
		return err
	}
	resp, err := b.do(ctx, http.MethodPut, id, "", struct{ io.Reader }{from}, size, hex.EncodeToString(sum.Sum(nil)))
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

func (b *Bucket) get(ctx context.Context, id string, off, n int64) (io.ReadCloser, error) {
	resp, err := b.do(ctx, http.MethodGet, id, fmt.Sprintf("bytes=%d-%d", off, off+n-1), nil, 0, emptyHash)
	if err != nil {
		return nil, err
	}
	if resp.StatusCode != http.StatusPartialContent && off > 0 {
		return nil, errors.Join(errors.New("the bucket gave a whole file where a part was asked for"), resp.Body.Close())
	}
	return resp.Body, nil
}

func (b *Bucket) remove(ctx context.Context, id string) error {
	resp, err := b.do(ctx, http.MethodDelete, id, "", nil, 0, emptyHash)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return resp.Body.Close()
}

// do sends one request, for a byte range unless that is "". An answer other than 2xx is
// an error.
func (b *Bucket) do(ctx context.Context, method, id, byteRange string, body io.Reader, size int64, hash string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(b.URL, "/")+"/"+id, body)
	if err != nil {
		return nil, errors.New("the bucket's address cannot be used")
	}
	r.ContentLength = size
	if byteRange != "" {
		r.Header.Set("Range", byteRange)
	}
	b.sign(r, hash, time.Now().UTC())
	resp, err := cmp.Or(b.Client, http.DefaultClient).Do(r)
	if err != nil {
		if own := (*url.Error)(nil); errors.As(err, &own) {
			err = own.Err
		}
		return nil, fmt.Errorf("the bucket cannot be reached: %w", err)
	}
	if resp.StatusCode/100 == 2 {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	var problem struct {
		Code string `xml:"Code"`
	}
	_ = xml.NewDecoder(io.LimitReader(resp.Body, 64<<10)).Decode(&problem)
	switch {
	case problem.Code == "NoSuchBucket":
		return nil, errors.New("there is no such bucket")
	case resp.StatusCode == http.StatusNotFound:
		return nil, fs.ErrNotExist
	case resp.StatusCode == http.StatusRequestedRangeNotSatisfiable:
		return nil, io.EOF
	}
	return nil, fmt.Errorf("the bucket answered %d %.60s", resp.StatusCode, problem.Code)
}

// sign adds Amazon's signature, version 4, of the method, the address, the hash of the
// body, the time and the range.
func (b *Bucket) sign(r *http.Request, hash string, now time.Time) {
	day, at := now.Format("20060102"), now.Format("20060102T150405Z")
	r.Header.Set("X-Amz-Date", at)
	r.Header.Set("X-Amz-Content-Sha256", hash)
	names, lines := "host;x-amz-content-sha256;x-amz-date", "host:"+r.URL.Host+"\nx-amz-content-sha256:"+hash+"\nx-amz-date:"+at+"\n"
	if byteRange := r.Header.Get("Range"); byteRange != "" {
		names, lines = "host;range;x-amz-content-sha256;x-amz-date", strings.Replace(lines, "\n", "\nrange:"+byteRange+"\n", 1)
	}
	region := cmp.Or(b.Region, "us-east-1")
	scope := day + "/" + region + "/s3/aws4_request"
	request := strings.Join([]string{r.Method, r.URL.EscapedPath(), "", lines, names, hash}, "\n")
	sum := sha256.Sum256([]byte(request))
	key := []byte("AWS4" + b.SecretKey)
	for _, part := range []string{day, region, "s3", "aws4_request", "AWS4-HMAC-SHA256\n" + at + "\n" + scope + "\n" + hex.EncodeToString(sum[:])} {
		mac := hmac.New(sha256.New, key)
		mac.Write([]byte(part))
		key = mac.Sum(nil)
	}
	r.Header.Set("Authorization", "AWS4-HMAC-SHA256 Credential="+b.AccessKey+"/"+scope+", SignedHeaders="+names+", Signature="+hex.EncodeToString(key))
}

// Check puts a small file into the bucket, reads it and removes it.
func (b *Bucket) Check(ctx context.Context) error {
	name := "dragoman-check-" + strconv.FormatInt(time.Now().UnixNano(), 36)
	err := b.put(ctx, name, strings.NewReader("dragoman"), 8)
	if err == nil {
		var r io.ReadCloser
		if r, err = b.get(ctx, name, 5, 3); err == nil {
			var got []byte
			if got, err = io.ReadAll(r); err == nil && string(got) != "man" {
				err = errors.New("the bucket gave back something else")
			}
			err = errors.Join(err, r.Close())
		}
		err = errors.Join(err, b.remove(ctx, name))
	}
	if err != nil {
		return fmt.Errorf("media: %w", err)
	}
	return nil
}

// partBytes is the size of the part of a blob in one row.
const partBytes = 256 << 10

// parts is the blobStore in the database.
type parts struct{ db *sql.DB }

func (parts) place() string { return "postgres" }

func (p parts) put(ctx context.Context, id string, from io.ReadSeeker, _ int64) error {
	tx, err := p.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // does nothing after Commit
	buf := make([]byte, partBytes)
	for n := 0; ; n++ {
		got, err := io.ReadFull(from, buf)
		if errors.Is(err, io.EOF) {
			return tx.Commit()
		}
		if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return err
		}
		if _, err := tx.ExecContext(ctx, `INSERT INTO media_parts (blob, part, data) VALUES ($1, $2, $3)`, id, n, buf[:got]); err != nil {
			return err
		}
	}
}

// get reads whole parts, since readers ask for about one.
func (p parts) get(ctx context.Context, id string, off, n int64) (io.ReadCloser, error) {
	list, err := p.db.QueryContext(ctx, `SELECT data FROM media_parts WHERE blob = $1 AND part BETWEEN $2 AND $3 ORDER BY part`,
		id, off/partBytes, (off+n-1)/partBytes)
	if err != nil {
		return nil, err
	}
	defer func() { _ = list.Close() }()
	var all []byte
	for list.Next() {
		var data sql.RawBytes
		if err := list.Scan(&data); err != nil {
			return nil, err
		}
		all = append(all, data...)
	}
	if err := list.Err(); err != nil {
		return nil, err
	}
	all = all[min(off%partBytes, int64(len(all))):]
	return io.NopCloser(bytes.NewReader(all[:min(n, int64(len(all)))])), nil
}

// remove does nothing: the parts are deleted with the row of their blob.
func (parts) remove(context.Context, string) error { return nil }
