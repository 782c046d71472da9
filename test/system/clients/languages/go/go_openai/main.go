package main

import (
	. "clients/checks"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	openai "github.com/sashabaranov/go-openai"
)

var (
	ctx    = context.Background()
	client = clientOf(URL, Key)
	faulty = clientOf(FaultyURL, FaultyKey)
)

func clientOf(url, key string) *openai.Client {
	config := openai.DefaultConfig(key)
	config.BaseURL = url + "/v1"
	return openai.NewClientWithConfig(config)
}

func chatOf(model, text string) openai.ChatCompletionRequest {
	return openai.ChatCompletionRequest{
		Model: model, Messages: []openai.ChatCompletionMessage{{Role: openai.ChatMessageRoleUser, Content: text}},
	}
}

// The client shows no `platform`. The headers have the price.
func seen(usage openai.Usage, headers http.Header) Usage {
	credits := Must(strconv.ParseFloat(headers.Get("x-signalbox-credits"), 64))
	return Usage{int64(usage.PromptTokens), int64(usage.CompletionTokens), &credits}
}

func chat() []Usage {
	answer := Must(client.CreateChatCompletion(ctx, chatOf("auto", "Say hello.")))
	Expect(strings.Contains(answer.Choices[0].Message.Content, "simulated"), answer)
	Expect(answer.Header().Get("x-signalbox-model") == answer.Model, answer.Header())
	return []Usage{seen(answer.Usage, answer.Header())}
}

// The text of a stream, its usage, and the error that ended it.
func read(client *openai.Client, request openai.ChatCompletionRequest) (string, *openai.Usage, error) {
	request.StreamOptions = &openai.StreamOptions{IncludeUsage: true}
	stream := Must(client.CreateChatCompletionStream(ctx, request))
	defer stream.Close()
	text, usage := "", (*openai.Usage)(nil)
	for {
		chunk, err := stream.Recv()
		if err != nil {
			return text, usage, err
		}
		for _, choice := range chunk.Choices {
			text += choice.Delta.Content
		}
		if chunk.Usage != nil {
			usage = chunk.Usage
		}
	}
}

func stream() []Usage {
	text, usage, err := read(client, chatOf("auto", "Say hello."))
	Expect(strings.Contains(text, "simulated") && usage != nil && errors.Is(err, io.EOF), text, err)
	return []Usage{{Input: int64(usage.PromptTokens), Output: int64(usage.CompletionTokens)}}
}

func toolLoop() []Usage {
	request := chatOf("auto", "What is the weather in Bern?")
	request.Tools = []openai.Tool{{Type: openai.ToolTypeFunction, Function: &openai.FunctionDefinition{
		Name: "weather", Description: "The weather of a city",
		Parameters: json.RawMessage(`{"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}`),
	}}}
	first := Must(client.CreateChatCompletion(ctx, request))
	call := first.Choices[0].Message.ToolCalls[0]
	Expect(first.Choices[0].FinishReason == openai.FinishReasonToolCalls, first)
	request.Messages = append(request.Messages, first.Choices[0].Message,
		openai.ChatCompletionMessage{Role: openai.ChatMessageRoleTool, ToolCallID: call.ID, Content: "12 °C"})
	second := Must(client.CreateChatCompletion(ctx, request))
	Expect(strings.Contains(second.Choices[0].Message.Content, "12 °C"), second)
	return []Usage{seen(first.Usage, first.Header()), seen(second.Usage, second.Header())}
}

func structured() []Usage {
	request := chatOf("auto", "Describe Bern.")
	request.ResponseFormat = &openai.ChatCompletionResponseFormat{
		Type: openai.ChatCompletionResponseFormatTypeJSONSchema,
		JSONSchema: &openai.ChatCompletionResponseFormatJSONSchema{Name: "city", Strict: true, Schema: json.RawMessage(
			`{"type": "object", "properties": {"name": {"type": "string"}}, "required": ["name"], "additionalProperties": false}`)},
	}
	answer := Must(client.CreateChatCompletion(ctx, request))
	var city struct {
		Name *string `json:"name"`
	}
	Must(0, json.Unmarshal([]byte(answer.Choices[0].Message.Content), &city))
	Expect(city.Name != nil, answer)
	return []Usage{seen(answer.Usage, answer.Header())}
}

func models() []Usage {
	ids := map[string]bool{}
	for _, model := range Must(client.ListModels(ctx)).Models {
		ids[model.ID] = true
	}
	Expect(ids["auto"] && ids["sim-large"], ids)
	return nil
}

func embeddings() []Usage {
	answer := Must(client.CreateEmbeddings(ctx, openai.EmbeddingRequest{
		Model: "sim-embed", Input: []string{"one", "two"}, Dimensions: 256,
	}))
	Expect(len(answer.Data) == 2 && len(answer.Data[0].Embedding) == 256, answer)
	return []Usage{seen(answer.Usage, answer.Header())}
}

func respond() []Usage {
	request := openai.CreateResponseRequest{Model: "auto", Input: "Say hello.", Store: new(bool)}
	answer := Must(client.CreateResponse(ctx, request))
	Expect(strings.Contains(answer.GetOutputText(), "simulated"), answer)
	stream := Must(client.CreateResponseStream(ctx, request))
	defer stream.Close()
	used := []Usage{{Input: int64(answer.Usage.InputTokens), Output: int64(answer.Usage.OutputTokens)}}
	for {
		event, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			Expect(len(used) == 2, "no response.completed")
			return used
		}
		Must(0, err)
		if event.Type == "response.completed" {
			usage := event.Response.Usage
			used = append(used, Usage{Input: int64(usage.InputTokens), Output: int64(usage.OutputTokens)})
		}
	}
}

func refusals() []Usage {
	expect := func(client *openai.Client, model string, status int, code any) {
		_, err := client.CreateChatCompletion(ctx, chatOf(model, "Say hello."))
		found := ErrorIn[*openai.APIError](err)
		Expect(found.HTTPStatusCode == status && found.Code == code && found.Message != "", found.HTTPStatusCode, found.Code, found)
	}
	expect(clientOf(URL, "sb_live_wrong"), "auto", 401, "invalid_api_key")
	expect(client, "no-such-model", 404, "model_not_found")
	expect(clientOf(URL, EmptyKey), "auto", 402, "request_exceeds_budget")
	expect(faulty, "too-long", 400, "context_length_exceeded")
	failing := func(model string) int {
		_, err := faulty.CreateChatCompletion(ctx, chatOf(model, "Say hello."))
		return ErrorIn[*openai.APIError](err).HTTPStatusCode
	}
	Expect(failing("rate-limited") == 429 && failing("broken") >= 500, "the provider's errors")
	return nil
}

func cut() []Usage {
	text, _, err := read(faulty, chatOf("cut", "Say hello."))
	Expect(strings.HasPrefix(text, "One") && !errors.Is(err, io.EOF), text, err)
	return nil
}

func main() {
	Check("chat and headers", chat)
	Check("stream with usage", stream)
	Check("tool loop", toolLoop)
	Check("structured output", structured)
	Check("model list", models)
	Check("embeddings", embeddings)
	Check("Responses", respond)
	Check("errors", refusals)
	Check("cut stream", cut)
	Finish()
}
