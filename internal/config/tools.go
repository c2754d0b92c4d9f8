package config

// WebSearch says which service the tool web_search asks.
type WebSearch struct {
	Engine string `yaml:"engine" oneof:"search engines" empty:"ok" doc:"searxng (your own, without a key), brave or tavily. The words of a question go there, and nothing else does. Empty: the model is offered no search."`
	URL    string `yaml:"url,omitempty" is:"url" empty:"ok" doc:"Where the service is. Only searxng needs it: http://127.0.0.1:8888. Its settings.yml must list json in search.formats."`
	APIKey Secret `yaml:"api_key,omitempty" empty:"ok" doc:"Its key, for brave and tavily."`
}

// Hearing says which server writes down voice messages.
type Hearing struct {
	URL      string `yaml:"url" is:"url" empty:"ok" doc:"A server with OpenAI's /audio/transcriptions, up to and with /v1: https://api.openai.com/v1, or a whisper-server on this machine. Voice messages go there, and nothing else does. Empty: they are kept as files that the model cannot hear."`
	APIKey   Secret `yaml:"api_key,omitempty" empty:"ok" doc:"Its key. Local servers need none."`
	Model    string `yaml:"model" default:"whisper-1" doc:"The model's name on that server."`
	Language string `yaml:"language,omitempty" doc:"The language of the words, like de or en. Empty: the server finds out."`
}

// Speaking says which server speaks answers to voice messages.
type Speaking struct {
	URL    string `yaml:"url" is:"url" empty:"ok" doc:"A server with OpenAI's /audio/speech, up to and with /v1: https://api.openai.com/v1, or one on this machine. Answers to voice messages go there, and come back as voice messages in Ogg Opus. Empty: voice messages are answered in writing."`
	APIKey Secret `yaml:"api_key,omitempty" empty:"ok" doc:"Its key. Local servers need none."`
	Model  string `yaml:"model" default:"tts-1" doc:"The model's name on that server."`
	Voice  string `yaml:"voice" default:"alloy" doc:"The name of a voice of that model."`
}

// Drawing says which server makes pictures.
type Drawing struct {
	URL       string   `yaml:"url" is:"url" empty:"ok" doc:"A server with OpenAI's /images/generations, up to and with /v1: https://api.openai.com/v1, or one on this machine. The words that describe a picture go there, and nothing else does. Empty: the model makes no pictures."`
	APIKey    Secret   `yaml:"api_key,omitempty" empty:"ok" doc:"Its key. Local servers need none."`
	Model     string   `yaml:"model" empty:"ok" doc:"The model's name on that server, like gpt-image-1."`
	Size      string   `yaml:"size" default:"1024x1024" is:"picture size" doc:"Width and height of pictures, as the model can make them. auto: the server decides."`
	Timeout   Duration `yaml:"timeout" default:"2m" range:"5s..10m" doc:"How long one picture may take."`
	PerAnswer int      `yaml:"per_answer" default:"4" range:"1..10" doc:"Maximum pictures with one answer."`
	Price     float64  `yaml:"price" range:"0..1000" doc:"What one picture costs, in the currency of model.prices, for what is used and for budgets in money. 0: it is not counted."`
}

// AnySize is the value of Drawing.Size that leaves it to the server.
const AnySize = "auto"

// Exec says whether the model may run commands.
type Exec struct {
	Enabled bool `yaml:"enabled" default:"false" doc:"Let the model run commands in a sandbox, each after somebody allowed it. Without network, and with the chat's folder of the workspace alone. It needs Linux 6.12 or newer, and user namespaces or the unit dragoman-exec.socket, and Dragoman must not run as root: dragoman tries to escape at the start, and where that is possible the tool stays off and the log says why."`
}

// Skills says where instructions for some tasks are.
type Skills struct {
	Dir string `yaml:"dir,omitempty" empty:"ok" doc:"A folder with skills: NAME/SKILL.md, by the open layout. It must be outside of the workspace. The model is offered those that dragoman skills accept has accepted, as they were then. Empty: none."`
}
