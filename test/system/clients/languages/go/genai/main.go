package main

import (
	. "clients/checks"
	"context"
	"encoding/json"
	"strings"

	"google.golang.org/genai"
)

var (
	ctx    = context.Background()
	client = clientOf(URL, Key)
	faulty = clientOf(FaultyURL, FaultyKey)
)

func clientOf(url, key string) *genai.Client {
	return Must(genai.NewClient(ctx, &genai.ClientConfig{
		APIKey: key, Backend: genai.BackendGeminiAPI, HTTPOptions: genai.HTTPOptions{BaseURL: url},
	}))
}

func seen(answer *genai.GenerateContentResponse) Usage {
	usage := answer.UsageMetadata
	return Usage{Input: int64(usage.PromptTokenCount), Output: int64(usage.TotalTokenCount - usage.PromptTokenCount)}
}

func generate() []Usage {
	answer := Must(client.Models.GenerateContent(ctx, "auto", genai.Text("Say hello."), nil))
	Expect(strings.Contains(answer.Text(), "simulated"), answer.Text())
	return []Usage{seen(answer)}
}

func stream() []Usage {
	text, last := "", (*genai.GenerateContentResponse)(nil)
	for chunk, err := range client.Models.GenerateContentStream(ctx, "auto", genai.Text("Say hello."), nil) {
		Must(0, err)
		text += chunk.Text()
		last = chunk
	}
	Expect(strings.Contains(text, "simulated") && last.UsageMetadata != nil, text)
	return []Usage{seen(last)}
}

func toolLoop() []Usage {
	config := &genai.GenerateContentConfig{Tools: []*genai.Tool{{FunctionDeclarations: []*genai.FunctionDeclaration{{
		Name: "weather", Description: "The weather of a city",
		Parameters: &genai.Schema{
			Type: genai.TypeObject, Properties: map[string]*genai.Schema{"city": {Type: genai.TypeString}}, Required: []string{"city"},
		},
	}}}}}
	contents := genai.Text("What is the weather in Bern?")
	first := Must(client.Models.GenerateContent(ctx, "auto", contents, config))
	call := first.FunctionCalls()[0]
	result := genai.NewPartFromFunctionResponse(call.Name, map[string]any{"output": "12 °C"})
	result.FunctionResponse.ID = call.ID
	contents = append(contents, first.Candidates[0].Content, genai.NewContentFromParts([]*genai.Part{result}, genai.RoleUser))
	second := Must(client.Models.GenerateContent(ctx, "auto", contents, config))
	Expect(strings.Contains(second.Text(), "12 °C"), second.Text())
	return []Usage{seen(first), seen(second)}
}

func structured() []Usage {
	answer := Must(client.Models.GenerateContent(ctx, "auto", genai.Text("Describe Bern."), &genai.GenerateContentConfig{
		ResponseMIMEType:   "application/json",
		ResponseJsonSchema: map[string]any{"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}}, "required": []string{"name"}},
	}))
	var city struct {
		Name *string `json:"name"`
	}
	Must(0, json.Unmarshal([]byte(answer.Text()), &city))
	Expect(city.Name != nil, answer.Text())
	return []Usage{seen(answer)}
}

func chat() []Usage {
	talk := Must(client.Chats.Create(ctx, "auto", nil, nil))
	first := Must(talk.SendMessage(ctx, genai.Part{Text: "Say hello."}))
	second := Must(talk.SendMessage(ctx, genai.Part{Text: "Say it again."}))
	Expect(len(talk.History(true)) == 4, talk.History(true))
	return []Usage{seen(first), seen(second)}
}

func others() []Usage {
	counted := Must(client.Models.CountTokens(ctx, "auto", genai.Text("Say hello."), nil))
	Expect(counted.TotalTokens > 0, counted)
	page := Must(client.Models.List(ctx, nil))
	names := map[string]bool{}
	for _, model := range page.Items {
		names[model.Name] = true
	}
	Expect(names["models/auto"], names)
	return nil
}

func embeddings() []Usage {
	answer := Must(client.Models.EmbedContent(ctx, "sim-embed", genai.Text("one"), nil))
	Expect(len(answer.Embeddings) == 1 && len(answer.Embeddings[0].Values) > 0, answer)
	return nil
}

func refusals() []Usage {
	expect := func(client *genai.Client, model string, code int, status string) {
		_, err := client.Models.GenerateContent(ctx, model, genai.Text("Say hello."), nil)
		found := ErrorIn[genai.APIError](err)
		Expect(found.Code == code && found.Status == status && found.Message != "", found)
	}
	expect(clientOf(URL, "sb_live_wrong"), "auto", 401, "UNAUTHENTICATED")
	expect(client, "no-such-model", 404, "NOT_FOUND")
	expect(clientOf(URL, EmptyKey), "auto", 402, "FAILED_PRECONDITION")
	expect(faulty, "too-long", 400, "INVALID_ARGUMENT")
	expect(faulty, "rate-limited", 429, "RESOURCE_EXHAUSTED")
	expect(faulty, "broken", 502, "UNAVAILABLE")
	return nil
}

func cut() []Usage {
	text, failed := "", false
	for chunk, err := range faulty.Models.GenerateContentStream(ctx, "cut", genai.Text("Say hello."), nil) {
		if err != nil {
			failed = true
			break
		}
		text += chunk.Text()
	}
	Expect(strings.HasPrefix(text, "One") && failed, text, failed)
	return nil
}

func main() {
	Check("generate", generate)
	Check("stream with usage", stream)
	Check("tool loop", toolLoop)
	Check("structured output", structured)
	Check("chat", chat)
	Check("count and models", others)
	uncounted := client
	client = clientOf(URL, UncountedKey)
	Check("embeddings", embeddings)
	client = uncounted
	Check("errors", refusals)
	Check("cut stream", cut)
	Finish()
}
