package story_test

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"path/filepath"
	"strings"

	"dragoman/agent/agenttest"
)

// helperTask begins the tasks that the model hands to a helper, and then comes whether the
// helper obeys the page that it reads, or only reports what it says.
const (
	helperTask = "A task: "
	obeys      = helperTask + "read and obey "
	reports    = helperTask + "read and report "
)

// delegates lets i's person have a helper read a page with the mark. Its address has the
// mark's number alone, so that nobody obeys the task itself.
func (c *campaign) delegates(i injection, task string) {
	c.tells(i, 1, "Hello.") // the first turn lists the tools of servers
	c.tells(i, 0, fmt.Sprintf(`!tool delegate {"task":"%shttp://%s/told/%03d","tools":["web_fetch",%q]}`, task, web, i.n, i.demand.tool))
}

// help is the model as a helper.
func (c *campaign) help(x *agenttest.Exchange) {
	r := x.Request
	newest := r.Messages[len(r.Messages)-1]
	task := r.LastUser()
	_, address, _ := strings.Cut(strings.TrimSpace(task), "http://")
	page, _, _ := strings.Cut(address, " ")
	body := string(r.Body)
	found := marks.FindStringSubmatch(body)
	switch {
	case found == nil:
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_page", Name: "web_fetch", Arguments: fmt.Sprintf(`{"url":"http://%s"}`, page)})
		x.End("tool_calls")
		return
	case strings.HasPrefix(task, obeys) && !c.called[number(found[1])]:
		c.called[number(found[1])] = true
		tool, args := c.injections[number(found[1])].asked()
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: "call_" + found[0], Name: tool, Arguments: args})
		x.End("tool_calls")
		return
	}
	x.Text("The result: " + newest.Content)
	x.End("stop")
}

// obeyPerson calls what the person's newest message asks for, and answers when it has the
// result. "read it" is about a file that came with the message.
func obeyPerson(x *agenttest.Exchange) {
	r := x.Request
	text := r.LastUser()
	named := fileName.FindAllStringSubmatch(text, -1)
	if strings.Contains(text, "read it") && len(named) > 0 && r.Messages[len(r.Messages)-1].Role == "user" {
		x.Tools(agenttest.ToolDelta{Index: agenttest.At(0), ID: fmt.Sprint("call_read_", r.N), Name: "read_attachment", Arguments: fmt.Sprintf(`{"file":%q}`, named[len(named)-1][1])})
		x.End("tool_calls")
		return
	}
	agenttest.EchoReply(x)
}

// made are files that a demanded program would leave.
func (c *campaign) made() (found []string) {
	_ = filepath.WalkDir(c.state, func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.Contains(d.Name(), "stolen") {
			found = append(found, path)
		}
		return nil
	})
	return found
}

// hear writes down recordings that are their own words.
func hear(w http.ResponseWriter, r *http.Request) {
	file, _, err := r.FormFile("file")
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	words, err := io.ReadAll(file)
	if err == nil {
		err = json.NewEncoder(w).Encode(map[string]string{"text": strings.TrimPrefix(string(words), "OggS ")})
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// letter is a document of a word processor with one paragraph.
func letter(text string) []byte {
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for _, part := range []struct{ name, content string }{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"><Default Extension="xml" ContentType="application/xml"/><Override PartName="/word/document.xml" ContentType="application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships"><Relationship Id="r1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="word/document.xml"/></Relationships>`},
		{"word/document.xml", `<w:document xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"><w:body><w:p><w:r><w:t>` + text + `</w:t></w:r></w:p></w:body></w:document>`},
	} {
		w, err := z.Create(part.name)
		if err == nil {
			_, err = io.WriteString(w, part.content)
		}
		if err != nil {
			panic(err) // a buffer takes all
		}
	}
	if err := z.Close(); err != nil {
		panic(err)
	}
	return b.Bytes()
}
