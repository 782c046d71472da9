package main

import (
	. "clients/checks"
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/tmc/langchaingo/llms"
	"github.com/tmc/langchaingo/llms/anthropic"
	"github.com/tmc/langchaingo/llms/openai"
)

var (
	ctx    = context.Background()
	client = clientOf(URL, Key, "auto")
)

func clientOf(url, key, model string, more ...openai.Option) *openai.LLM {
	return Must(openai.New(append(more, openai.WithBaseURL(url+"/v1"), openai.WithToken(key), openai.WithModel(model))...))
}

func human(text string) []llms.MessageContent {
	return []llms.MessageContent{llms.TextParts(llms.ChatMessageTypeHuman, text)}
}

func seen(answer *llms.ContentResponse) Usage {
	info := answer.Choices[0].GenerationInfo
	return Usage{Input: int64(info["PromptTokens"].(int)), Output: int64(info["CompletionTokens"].(int))}
}

func chat() []Usage {
	answer := Must(client.GenerateContent(ctx, human("Say hello.")))
	Expect(strings.Contains(answer.Choices[0].Content, "simulated"), answer.Choices[0].Content)
	return []Usage{seen(answer)}
}

// The text of a stream, and its answer.
func read(client llms.Model) (string, *llms.ContentResponse, error) {
	text := ""
	answer, err := client.GenerateContent(ctx, human("Say hello."), llms.WithMaxTokens(500),
		llms.WithStreamingFunc(func(_ context.Context, chunk []byte) error {
			text += string(chunk)
			return nil
		}))
	return text, answer, err
}

func stream() []Usage {
	text, answer, err := read(client)
	Must(0, err)
	Expect(strings.Contains(text, "simulated") && text == answer.Choices[0].Content, text)
	return []Usage{seen(answer)}
}

func toolLoop() []Usage {
	tools := llms.WithTools([]llms.Tool{{Type: "function", Function: &llms.FunctionDefinition{
		Name: "weather", Description: "The weather of a city",
		Parameters: map[string]any{
			"type": "object", "properties": map[string]any{"city": map[string]any{"type": "string"}}, "required": []string{"city"},
		},
	}}})
	first := Must(client.GenerateContent(ctx, human("What is the weather in Bern?"), tools))
	call := first.Choices[0].ToolCalls[0]
	turns := append(human("What is the weather in Bern?"),
		llms.MessageContent{Role: llms.ChatMessageTypeAI, Parts: []llms.ContentPart{call}},
		llms.MessageContent{Role: llms.ChatMessageTypeTool, Parts: []llms.ContentPart{
			llms.ToolCallResponse{ToolCallID: call.ID, Name: "weather", Content: "12 °C"},
		}})
	second := Must(client.GenerateContent(ctx, turns, tools))
	Expect(strings.Contains(second.Choices[0].Content, "12 °C"), second.Choices[0].Content)
	return []Usage{seen(first), seen(second)}
}

func structured() []Usage {
	format := openai.ResponseFormat{Type: "json_schema", JSONSchema: &openai.ResponseFormatJSONSchema{
		Name: "city", Strict: true, Schema: &openai.ResponseFormatJSONSchemaProperty{
			Type: "object", Required: []string{"name"},
			Properties: map[string]*openai.ResponseFormatJSONSchemaProperty{"name": {Type: "string"}},
		},
	}}
	answer := Must(clientOf(URL, Key, "auto", openai.WithResponseFormat(&format)).GenerateContent(ctx, human("Describe Bern.")))
	var city struct {
		Name *string `json:"name"`
	}
	Must(0, json.Unmarshal([]byte(answer.Choices[0].Content), &city))
	Expect(city.Name != nil, answer.Choices[0].Content)
	return []Usage{seen(answer)}
}

func embeddings() []Usage {
	embedder := clientOf(URL, UncountedKey, "auto", openai.WithEmbeddingModel("sim-embed"))
	vectors := Must(embedder.CreateEmbedding(ctx, []string{"one", "two"}))
	Expect(len(vectors) == 2 && len(vectors[0]) > 0, len(vectors))
	return nil
}

// The base URL of this client has /v1.
func messages() []Usage {
	client := Must(anthropic.New(anthropic.WithBaseURL(URL+"/v1"), anthropic.WithToken(Key), anthropic.WithModel("auto")))
	answer := Must(client.GenerateContent(ctx, human("Say hello."), llms.WithMaxTokens(500)))
	Expect(strings.Contains(answer.Choices[0].Content, "simulated"), answer.Choices[0].Content)
	info := answer.Choices[0].GenerationInfo
	return []Usage{{Input: int64(info["InputTokens"].(int)), Output: int64(info["OutputTokens"].(int))}}
}

// The client keeps the status and the message of an error, in its text.
func refusals() []Usage {
	expect := func(client *openai.LLM, part string) {
		_, err := client.GenerateContent(ctx, human("Say hello."))
		Expect(err != nil && strings.Contains(err.Error(), part), fmt.Sprintf("%s: %v", part, err))
	}
	expect(clientOf(URL, "sb_live_wrong", "auto"), "401")
	expect(clientOf(URL, Key, "no-such-model"), "404")
	expect(clientOf(URL, EmptyKey, "auto"), "402")
	expect(clientOf(FaultyURL, FaultyKey, "rate-limited"), "429")
	expect(clientOf(FaultyURL, FaultyKey, "too-long"), "400")
	return nil
}

func cut() []Usage {
	text, _, err := read(clientOf(FaultyURL, FaultyKey, "cut"))
	Expect(strings.HasPrefix(text, "One") && err != nil, "a part counts as whole: ", text)
	return nil
}

func main() {
	Check("chat", chat)
	Check("stream with usage", stream)
	Check("tool loop", toolLoop)
	Check("structured output", structured)
	Check("embeddings", embeddings)
	Check("Messages", messages)
	Check("errors", refusals)
	Check("cut stream", cut)
	Finish()
}
