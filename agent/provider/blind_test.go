package provider_test

import (
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"testing"

	"dragoman/agent"
	"dragoman/agent/agenttest"
	"dragoman/agent/provider"
	"dragoman/sessions"
)

// blindServers are the refusals of servers whose model cannot see pictures.
var blindServers = map[string]struct {
	status int
	body   string
}{
	"llama.cpp":       {500, `{"error":{"code":500,"message":"image input is not supported - hint: if this is unexpected, you may need to provide the mmproj","type":"server_error"}}`},
	"older llama.cpp": {500, `{"code":500,"message":"image input is not supported by this server","type":"server_error"}`},
	"vLLM":            {400, `{"object":"error","message":"Qwen/Qwen3-8B is not a multimodal model None","type":"BadRequestError","param":null,"code":400}`},
	"vLLM, limited":   {400, `{"error":{"message":"At most 0 image(s) may be provided in one prompt.","type":"BadRequestError","code":400}}`},
	"Ollama":          {400, `{"error":{"message":"this model is missing data required for image input","type":"invalid_request_error"}}`},
	"Ollama, string":  {400, `{"error":"This model does not support images"}`},
	"OpenAI":          {400, `{"error":{"message":"Invalid content type. image_url is only supported by certain models.","type":"invalid_request_error","param":"messages.[0].content.[1].type","code":null}}`},
	"OpenRouter":      {404, `{"error":{"message":"No endpoints found that support image input","code":404}}`},
	"LM Studio":       {400, `{"error":"Model does not support images. Please use a model that does."}`},
	"DeepSeek":        {400, `{"error":{"message":"Failed to deserialize the JSON body into the target type: messages[1]: unknown variant ` + "`image_url`, expected `text`" + ` at line 1 column 99","type":"invalid_request_error"}}`},
	"Groq":            {400, `{"error":{"message":"messages[1].content must be a string","type":"invalid_request_error"}}`},
	"FastAPI":         {422, `{"detail":[{"type":"string_type","loc":["body","messages",0,"content"],"msg":"Input should be a valid string","input":[{"type":"text"}]}]}`},
	"in a 200":        {200, `{"error":{"message":"This model does not support image input","code":400}}`},
}

// seeing returns a model on a server whose reply depends on the number of
// pictures in the request.
func seeing(t *testing.T, reply func(pictures int) agenttest.Reply) (*provider.Model, *agenttest.Server, *bytes.Buffer) {
	t.Helper()
	s := agenttest.Serve(t, agenttest.Options{Reply: func(r *agenttest.Request) agenttest.Reply {
		return reply(bytes.Count(r.Body, []byte(`"image_url":{`)))
	}})
	log := &bytes.Buffer{}
	m := model(t, s.URL(), func(o *provider.Options) {
		o.Files, o.Logger = shelf{"dot": dot(t)}, slog.New(slog.NewTextHandler(log, nil))
	})
	return m, s, log
}

// asked returns the number of pictures in each request.
func asked(s *agenttest.Server) string {
	var all []string
	for _, r := range s.Requests() {
		all = append(all, fmt.Sprint(bytes.Count(r.Body, []byte(`"image_url":{`))))
	}
	return strings.Join(all, " ")
}

func answered(t *testing.T, m *provider.Model, msgs ...sessions.Message) (string, error) {
	t.Helper()
	res, _, _, err := complete(t, m, agent.Request{Messages: msgs})
	return res.Message.Content, err
}

// If a server refuses pictures, the request is repeated without them, and later
// requests have none.
func TestPicturesAreLeftOut(t *testing.T) {
	for name, refusal := range blindServers {
		t.Run(name, func(t *testing.T) {
			m, s, log := seeing(t, func(pictures int) agenttest.Reply {
				if pictures > 0 {
					return agenttest.StatusReply(refusal.status, nil, refusal.body)
				}
				return nil
			})
			for range 2 {
				got, err := answered(t, m, said("look [image, file a]", "dot"), said("and", "dot", "dot"))
				if err != nil || got != "echo: and" {
					t.Fatalf("Complete = %q, %v, want an answer", got, err)
				}
			}
			if got, want := asked(s), "3 0 0"; got != want {
				t.Errorf("pictures in the requests: %s, want %s", got, want)
			}
			if n := strings.Count(log.String(), `learned="pictures=0"`); n != 1 {
				t.Errorf("logged %d times, want once:\n%s", n, log)
			}
		})
	}
}

// One picture that the server cannot use does not switch off all pictures. It is left
// out from then on, and the model is told.
func TestBadPicture(t *testing.T) {
	for name, tt := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"broken":    {400, `{"error":{"message":"You uploaded an unsupported image. Please make sure your image has of one of the following formats","code":"invalid_image_format"}}`, "1 0 0"},
		"too large": {413, "", "1 0 0"},
		"vague":     {500, `{"error":{"message":"failed to decode image bytes"}}`, "1 0 0"},
	} {
		m, s, log := seeing(t, func(pictures int) agenttest.Reply {
			if pictures > 0 {
				return agenttest.StatusReply(tt.status, nil, tt.body)
			}
			return nil
		})
		for range 2 {
			if got, err := answered(t, m, said("look", "dot")); err != nil || !strings.Contains(got, "echo: look") || !strings.Contains(got, "cannot be shown") {
				t.Fatalf("%s: Complete = %q, %v, want an answer", name, got, err)
			}
		}
		if got := asked(s); got != tt.want {
			t.Errorf("%s: pictures in the requests: %s, want %s", name, got, tt.want)
		}
		if strings.Contains(log.String(), "learned=") {
			t.Errorf("%s: the model now counts as blind: %s", name, log)
		}
	}
}

// A server that accepts fewer pictures gets that many, the newest.
func TestFewerPictures(t *testing.T) {
	for body, want := range map[string]string{
		`{"error":{"message":"At most 2 image(s) may be provided in one request.","code":400}}`:                      "4 2 2",
		`{"error":"this model only supports one image while more than one image requested"}`:                         "4 1 1",
		`{"error":{"message":"At most 9 image(s) may be provided in one request.","code":400}}`:                      "4 0 0",
		`{"error":{"message":"At most 99999999999999999999 image(s) may be provided in one request.","code":"400"}}`: "4 0 0",
	} {
		m, s, _ := seeing(t, func(pictures int) agenttest.Reply {
			if pictures > 2 {
				return agenttest.StatusReply(400, nil, body)
			}
			return nil
		})
		for range 2 {
			if _, err := answered(t, m, said("one", "dot"), said("two", "dot"), said("more", "dot", "dot")); err != nil {
				t.Fatalf("Complete = %v, want an answer", err)
			}
		}
		if got := asked(s); got != want {
			t.Errorf("%s: pictures in the requests: %s, want %s", body, got, want)
		}
	}
}

// Other errors are returned after one request.
func TestOtherErrorsAreNotAboutPictures(t *testing.T) {
	for name, tt := range map[string]struct {
		pictures []string
		reply    agenttest.Reply
		want     string
		kind     agent.ErrorKind
	}{
		"no pictures": {nil, agenttest.StatusReply(500, nil, `{"error":{"message":"image input is not supported"}}`), "0", agent.ErrorTemporary},
		"another":     {[]string{"dot"}, agenttest.Faults["bad-request"], "1", agent.ErrorInvalid},
		"rate limit":  {[]string{"dot"}, agenttest.StatusReply(429, nil, `{"error":{"message":"too many images in a minute"}}`), "1", agent.ErrorTemporary},
		"bad key":     {[]string{"dot"}, agenttest.Faults["unauthorized"], "1", agent.ErrorRefused},
		"too long":    {[]string{"dot"}, agenttest.Faults["context-length"], "1", agent.ErrorContext},
		"half an answer": {[]string{"dot"}, func(x *agenttest.Exchange) {
			x.Text("half ")
			x.Raw("data: {\"error\":{\"message\":\"image input is not supported\"}}\n\n")
		}, "1", agent.ErrorTemporary},
		"still broken": {[]string{"dot"}, agenttest.StatusReply(http.StatusBadRequest, nil, `{"error":{"message":"image input is not supported"}}`), "1 0", agent.ErrorInvalid},
	} {
		m, s, log := seeing(t, func(int) agenttest.Reply { return tt.reply })
		_, err := answered(t, m, said("look", tt.pictures...))
		var me *agent.ModelError
		if !errors.As(err, &me) || me.Kind != tt.kind || asked(s) != tt.want {
			t.Errorf("%s: Complete = %v after %s, want a %s error after %s", name, err, asked(s), tt.kind, tt.want)
		}
		if strings.Contains(log.String(), "learned") {
			t.Errorf("%s: the model now counts as blind", name)
		}
	}
}
