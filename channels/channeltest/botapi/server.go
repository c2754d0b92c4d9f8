// Package botapi is a Telegram Bot API server for tests, benchmarks and crash
// campaigns: plain HTTP on loopback, one bot, everything in memory.
//
// It keeps the rules of the real network that an adapter can get wrong. An
// update is handed out again and again until a getUpdates with a higher
// offset confirms it, and only then forgotten. Of two polls that overlap the
// older gets 409. With a webhook, updates are sent instead, the next of a chat when the
// one before was answered with 200. HTML is parsed, refused and measured as the network does
// (4096 UTF-16 units of visible text). Replies, topics, edits and migrated
// groups are checked. [Fault] breaks calls in every way seen in the wild:
// error codes, retry_after, an HTML page from a proxy, connections dropped
// before or after the message was stored, slowness.
//
// Tests write as people through [Chat] and look at what chats show. A
// [Server] owns the goroutine that serves and those of its connections; Close
// ends and waits for all of them. It is safe for concurrent use.
package botapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// Options of a server; the zero value works.
type Options struct {
	Token    string // "1000:TEST-TOKEN" if empty
	Username string // of the bot; "dragoman_bot" if empty
	ReadsAll bool   // the bot sees all messages of its groups
	// KeepCalls bounds how many calls are remembered; 20,000 if 0.
	KeepCalls int
	// ChatBurst and ChatEvery limit messages to one chat: so many at once, then
	// one each ChatEvery. Zero: no limit.
	ChatBurst int
	ChatEvery time.Duration
	// Wrote is told of every message of the bot, new or edited, while the
	// server is locked: it must be quick and must not call the server. Watching
	// the chats with Until costs too much where the server is part of a
	// measurement.
	Wrote func(Message)
	// Drafts offers sendMessageDraft, as servers do since Bot API 9.3.
	Drafts bool
	// Control serves the routes under /control/ (see control.go).
	Control bool
}

// BotID is the user id of the bot.
const BotID = 1000

// Server is a Bot API server with one bot. Make it with [Start].
type Server struct {
	o        Options
	url      string
	renamed  atomic.Pointer[string]
	http     *http.Server
	served   chan struct{}
	handlers sync.WaitGroup
	requests atomic.Int64
	out      *http.Client    // calls the webhook
	life     context.Context // ends in Close
	end      context.CancelFunc

	mu       sync.Mutex
	conns    map[net.Conn]struct{}
	chats    map[int64]*Chat
	files    map[string]*file
	lastFile int
	queue    []update // not confirmed
	lastID   int64    // of the newest update
	asked    int64    // highest offset ever confirmed
	poll     int64    // number of the newest getUpdates
	allowed  map[string]bool
	wake     chan struct{} // closed and replaced when an update comes or a new poll begins
	changed  chan struct{} // closed and replaced when a chat or the calls change
	calls    []Call
	counts   map[string]int
	faults   []*Fault
	menus    map[scope][]Command
	hooked   hooked
	presses  []*Press
	admins   map[int64]bool
}

// Call is one request as the server understood it.
type Call struct {
	Method string
	ChatID int64
	Params map[string]string
	At     time.Time
	// Status is what it was answered with, 0 if the connection was dropped.
	Status int
}

// Command is one entry of setMyCommands.
type Command struct {
	Command     string `json:"command"`
	Description string `json:"description"`
}

// Start serves on addr ("127.0.0.1:0" for a free port) until Close.
func Start(addr string, o Options) (*Server, error) {
	if o.Token == "" {
		o.Token = "1000:TEST-TOKEN"
	}
	if o.Username == "" {
		o.Username = "dragoman_bot"
	}
	if o.KeepCalls == 0 {
		o.KeepCalls = 20_000
	}
	l, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("botapi: listen: %w", err)
	}
	s := &Server{
		o: o, url: "http://" + l.Addr().String(), served: make(chan struct{}),
		conns: map[net.Conn]struct{}{}, chats: map[int64]*Chat{}, files: map[string]*file{}, counts: map[string]int{}, menus: map[scope][]Command{},
		lastID: 700_000_000, wake: make(chan struct{}), changed: make(chan struct{}),
		out: &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 100}}, hooked: hooked{busy: map[int64]bool{}},
	}
	s.life, s.end = context.WithCancel(context.Background())
	s.http = &http.Server{Handler: http.HandlerFunc(s.serve), ConnState: s.track, ReadHeaderTimeout: time.Minute}
	go func() {
		defer close(s.served)
		if err := s.http.Serve(l); !errors.Is(err, http.ErrServerClosed) {
			panic("botapi: serve: " + err.Error())
		}
	}()
	return s, nil
}

// URL is what an adapter gets as its API address.
func (s *Server) URL() string { return s.url }

// Token is the bot's token.
func (s *Server) Token() string { return s.o.Token }

// Username is the bot's name without "@".
func (s *Server) Username() string {
	if name := s.renamed.Load(); name != nil {
		return *name
	}
	return s.o.Username
}

// Rename gives the bot another name, as its owner can at BotFather.
func (s *Server) Rename(name string) { s.renamed.Store(&name) }

// Close ends the server and every request.
func (s *Server) Close() {
	_ = s.http.Close() // nothing to do about a listener that will not close
	<-s.served
	s.mu.Lock()
	s.hooked.ended = true
	s.mu.Unlock()
	s.end()
	s.Cut()
	s.handlers.Wait()
	s.out.CloseIdleConnections()
}

// Cut closes every connection once. New ones are served.
func (s *Server) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for c := range s.conns {
		_ = c.Close()
	}
}

func (s *Server) track(c net.Conn, state http.ConnState) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch state {
	case http.StateNew:
		s.conns[c] = struct{}{}
	case http.StateClosed, http.StateHijacked:
		delete(s.conns, c)
	}
}

// answer is what a method says: a result, or an error with a code.
type answer struct {
	result     any
	raw        []byte // instead of result, already JSON
	code       int
	desc       string
	retryAfter int
	migrateTo  int64
}

func refuse(code int, format string, args ...any) answer {
	return answer{code: code, desc: fmt.Sprintf(format, args...)}
}

func badRequest(format string, args ...any) answer {
	return refuse(http.StatusBadRequest, "Bad Request: "+format, args...)
}

// method answers one method of the Bot API.
type method func(*Server, *http.Request, params) answer

// methods are looked up without regard to case, as on the network.
var methods = map[string]method{
	"getme":            (*Server).getMe,
	"getupdates":       (*Server).getUpdates,
	"sendmessage":      (*Server).sendMessage,
	"senddocument":     (*Server).sendDocument,
	"sendphoto":        (*Server).sendPhoto,
	"sendvoice":        (*Server).sendVoice,
	"sendaudio":        (*Server).sendAudio,
	"editmessagetext":  (*Server).editMessageText,
	"deletemessage":    (*Server).deleteMessage,
	"sendchataction":   (*Server).sendChatAction,
	"setmycommands":    (*Server).setMyCommands,
	"getmycommands":    (*Server).getMyCommands,
	"deletemycommands": (*Server).deleteMyCommands,
	"getfile":          (*Server).getFile,
	"setwebhook":       (*Server).setWebhook,
	"deletewebhook":    (*Server).deleteWebhook,
	"getwebhookinfo":   (*Server).getWebhookInfo,

	"editmessagereplymarkup": (*Server).editMessageReplyMarkup,
	"answercallbackquery":    (*Server).answerCallbackQuery,
	"getchatmember":          (*Server).getChatMember,
	"sendmessagedraft":       (*Server).sendMessageDraft,
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	s.handlers.Add(1)
	defer s.handlers.Done()
	s.requests.Add(1)
	if s.o.Control && strings.HasPrefix(r.URL.Path, "/control/") {
		s.control(w, r)
		return
	}
	if rest, ok := strings.CutPrefix(r.URL.Path, "/file/bot"); ok {
		s.download(w, r, rest)
		return
	}
	token, name, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	p, err := readParams(r)
	if err != nil {
		write(w, badRequest("%v", err))
		return
	}
	call := &Call{Method: name, ChatID: p.int("chat_id"), Params: p.strings(), At: time.Now()}
	do, known := methods[strings.ToLower(name)]
	known = known && (s.o.Drafts || !strings.EqualFold(name, "sendMessageDraft"))
	fault := s.faultFor(call)
	var a answer
	switch {
	case token != s.o.Token:
		a = refuse(http.StatusUnauthorized, "Unauthorized")
	case !known:
		a = refuse(http.StatusNotFound, "Not Found")
	case fault != nil:
		if !fault.delay(r.Context()) || fault.DropBefore {
			s.drop(w, call)
			return
		}
		if fault.Body != "" {
			s.record(call, fault.Status)
			w.WriteHeader(fault.Status)
			_, _ = w.Write([]byte(fault.Body))
			return
		}
		if fault.Status != 0 {
			a = answer{code: fault.Status, desc: fault.Description, retryAfter: fault.RetryAfter, migrateTo: fault.MigrateTo}
			break
		}
		a = do(s, r, p)
		if fault.DropAfter {
			s.drop(w, call)
			return
		}
	default:
		a = do(s, r, p)
	}
	s.record(call, max(a.code, http.StatusOK))
	write(w, a)
}

func (s *Server) record(c *Call, status int) {
	c.Status = status
	s.mu.Lock()
	defer s.mu.Unlock()
	s.counts[strings.ToLower(c.Method)]++
	if len(s.calls) >= s.o.KeepCalls {
		s.calls = append(s.calls[:0:0], s.calls[len(s.calls)/2:]...)
	}
	s.calls = append(s.calls, *c)
	s.announce()
}

// announce wakes those who wait in Until. The caller holds the lock.
func (s *Server) announce() {
	close(s.changed)
	s.changed = make(chan struct{})
}

func (s *Server) drop(w http.ResponseWriter, c *Call) {
	s.record(c, 0)
	if conn, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = conn.Close()
	}
}

func write(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	if a.code == 0 {
		if a.raw == nil {
			a.raw, _ = json.Marshal(a.result)
		}
		var b bytes.Buffer
		b.WriteString(`{"ok":true,"result":`)
		b.Write(a.raw)
		b.WriteByte('}')
		_, _ = w.Write(b.Bytes())
		return
	}
	body := map[string]any{"ok": false, "error_code": a.code, "description": a.desc}
	extra := map[string]any{}
	if a.retryAfter > 0 {
		extra["retry_after"] = a.retryAfter
	}
	if a.migrateTo != 0 {
		extra["migrate_to_chat_id"] = a.migrateTo
	}
	if len(extra) > 0 {
		body["parameters"] = extra
	}
	w.WriteHeader(a.code)
	_ = json.NewEncoder(w).Encode(body)
}
