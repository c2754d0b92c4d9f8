package websearch

import (
	"bytes"
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"dragoman/internal/webpage"
)

// SearXNG: https://docs.searxng.org/dev/search_api.html
func searxngRequest(ctx context.Context, base, _, query string) (*http.Request, error) {
	return http.NewRequestWithContext(ctx, http.MethodGet, base+"/search?"+url.Values{"q": {query}, "format": {"json"}}.Encode(), nil)
}

func searxngResults(body []byte) ([]Result, error) {
	var answer struct {
		Results []struct{ Title, URL, Content, PublishedDate string }
	}
	err := json.Unmarshal(body, &answer)
	var found []Result
	for _, r := range answer.Results {
		found = append(found, Result{Title: r.Title, URL: r.URL, Text: r.Content, Date: r.PublishedDate})
	}
	return found, err
}

// Brave: https://api-dashboard.search.brave.com/app/documentation/web-search
func braveRequest(ctx context.Context, base, key, query string) (*http.Request, error) {
	values := url.Values{"q": {query}, "count": {strconv.Itoa(MostResults)}, "text_decorations": {"false"}}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base+"/res/v1/web/search?"+values.Encode(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("X-Subscription-Token", key)
	return req, nil
}

func braveResults(body []byte) ([]Result, error) {
	var answer struct {
		Web struct {
			Results []struct {
				Title, URL, Description string
				Age                     string
			}
		}
	}
	err := json.Unmarshal(body, &answer)
	var found []Result
	for _, r := range answer.Web.Results {
		found = append(found, Result{Title: words(r.Title), URL: r.URL, Text: words(r.Description), Date: r.Age})
	}
	return found, err
}

// mostPassage is how many bytes of a passage are looked at: HTML can be made to need a
// thousand times its length in memory.
const mostPassage = 2 << 10

// words takes marks and entities out of a passage of HTML.
func words(s string) string {
	s = strings.ToValidUTF8(s[:min(len(s), mostPassage)], "")
	return webpage.Read(&url.URL{}, "text/html; charset=utf-8", []byte(s)).Text
}

// Tavily: https://docs.tavily.com/documentation/api-reference/endpoint/search
func tavilyRequest(ctx context.Context, base, key, query string) (*http.Request, error) {
	body, err := json.Marshal(map[string]any{"query": query, "max_results": MostResults})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/search", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+key)
	return req, nil
}

func tavilyResults(body []byte) ([]Result, error) {
	var answer struct {
		Results []struct {
			Title, URL, Content string
			PublishedDate       string `json:"published_date"`
		}
	}
	err := json.Unmarshal(body, &answer)
	var found []Result
	for _, r := range answer.Results {
		found = append(found, Result{Title: r.Title, URL: r.URL, Text: r.Content, Date: r.PublishedDate})
	}
	return found, err
}
