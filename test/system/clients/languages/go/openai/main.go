package main

import (
	. "clients/checks"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/packages/respjson"
	"github.com/openai/openai-go/v3/responses"
	"github.com/openai/openai-go/v3/shared"
)

var (
	ctx        = context.Background()
	client     = clientOf(URL, Key)
	faulty     = clientOf(FaultyURL, FaultyKey)
	parameters = map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"city": map[string]any{"type": "string"}},
		"required":             []string{"city"},
		"additionalProperties": false,
	}
	city = map[string]any{
		"type":                 "object",
		"properties":           map[string]any{"name": map[string]any{"type": "string"}, "inhabitants": map[string]any{"type": "integer"}},
		"required":             []string{"name", "inhabitants"},
		"additionalProperties": false,
	}
)

type City struct {
	Name        *string `json:"name"`
	Inhabitants *int64  `json:"inhabitants"`
}

func clientOf(url, key string) openai.Client {
	return openai.NewClient(option.WithBaseURL(url+"/v1"), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func chatOf(model, text string) openai.ChatCompletionNewParams {
	return openai.ChatCompletionNewParams{Model: model, Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage(text)}}
}

func usage(input, output int64, extra map[string]respjson.Field) Usage {
	return Usage{input, output, PlatformIn(extra["platform"].Raw()).Credits}
}

func seen(answer *openai.ChatCompletion) Usage {
	return usage(answer.Usage.PromptTokens, answer.Usage.CompletionTokens, answer.JSON.ExtraFields)
}

func seenResponse(answer *responses.Response) Usage {
	return usage(answer.Usage.InputTokens, answer.Usage.OutputTokens, answer.JSON.ExtraFields)
}

func checkCity(text string) {
	var found City
	Must(0, json.Unmarshal([]byte(text), &found))
	Expect(found.Name != nil && found.Inhabitants != nil, text)
}

func chat() []Usage {
	answer := Must(client.Chat.Completions.New(ctx, chatOf("auto", "Say hello.")))
	Expect(strings.Contains(answer.Choices[0].Message.Content, "simulated"), answer.RawJSON())
	Expect(PlatformIn(answer.JSON.ExtraFields["platform"].Raw()).RoutedModel == answer.Model, answer.RawJSON())
	return []Usage{seen(answer)}
}

func stream() []Usage {
	params := chatOf("auto", "Say hello.")
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)}
	chunks := client.Chat.Completions.NewStreaming(ctx, params)
	whole := openai.ChatCompletionAccumulator{}
	var extra map[string]respjson.Field
	for chunks.Next() {
		chunk := chunks.Current()
		Expect(whole.AddChunk(chunk), chunk.RawJSON())
		if chunk.JSON.ExtraFields["platform"].Raw() != "" {
			extra = chunk.JSON.ExtraFields
		}
	}
	Must(0, chunks.Err())
	Expect(strings.Contains(whole.Choices[0].Message.Content, "simulated"), whole.Choices)
	return []Usage{usage(whole.Usage.PromptTokens, whole.Usage.CompletionTokens, extra)}
}

func toolLoop() []Usage {
	params := chatOf("auto", "What is the weather in Bern?")
	params.Tools = []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
		Name: "weather", Description: openai.String("The weather of a city"), Parameters: parameters,
	})}
	first := Must(client.Chat.Completions.New(ctx, params))
	call := first.Choices[0].Message.ToolCalls[0]
	Expect(first.Choices[0].FinishReason == "tool_calls" && strings.Contains(call.Function.Arguments, "city"), first.RawJSON())
	params.Messages = append(params.Messages, first.Choices[0].Message.ToParam(), openai.ToolMessage("12 °C", call.ID))
	second := Must(client.Chat.Completions.New(ctx, params))
	Expect(strings.Contains(second.Choices[0].Message.Content, "12 °C"), second.RawJSON())
	return []Usage{seen(first), seen(second)}
}

func structured() []Usage {
	params := chatOf("auto", "Describe Bern.")
	params.ResponseFormat = openai.ChatCompletionNewParamsResponseFormatUnion{OfJSONSchema: &shared.ResponseFormatJSONSchemaParam{
		JSONSchema: shared.ResponseFormatJSONSchemaJSONSchemaParam{Name: "city", Schema: city, Strict: openai.Bool(true)},
	}}
	answer := Must(client.Chat.Completions.New(ctx, params))
	checkCity(answer.Choices[0].Message.Content)
	return []Usage{seen(answer)}
}

func ownFields() []Usage {
	var reply *http.Response
	answer := Must(client.Chat.Completions.New(ctx, chatOf("auto", "Say hello."),
		option.WithJSONSet("budget_limit", 5),
		option.WithJSONSet("route_strategy", map[string]float64{"cost_weight": 1}),
		option.WithHeader("x-request-id", "go-checks"),
		option.WithResponseInto(&reply)))
	platform := PlatformIn(answer.JSON.ExtraFields["platform"].Raw())
	Expect(Must(strconv.ParseFloat(reply.Header.Get("x-signalbox-credits"), 64)) == *platform.Credits, reply.Header)
	Expect(reply.Header.Get("x-signalbox-model") == platform.RoutedModel, reply.Header)
	Expect(reply.Header.Get("x-signalbox-decision-id") == platform.DecisionID, reply.Header)
	refused := chatWith(Key, "auto", option.WithJSONSet("route_strategy", "cheap"))
	Expect(refused.StatusCode == 400 && strings.HasPrefix(refused.Param, "route_strategy"), refused.RawJSON())
	return []Usage{seen(answer)}
}

func models() []Usage {
	ids := map[string]bool{}
	for _, model := range Must(client.Models.List(ctx)).Data {
		ids[model.ID] = true
	}
	Expect(ids["auto"] && ids["sim-large"], ids)
	Expect(Must(client.Models.Get(ctx, "sim-large")).ID == "sim-large", "another model")
	return nil
}

func embeddings() []Usage {
	answer := Must(client.Embeddings.New(ctx, openai.EmbeddingNewParams{
		Model:      "sim-embed",
		Input:      openai.EmbeddingNewParamsInputUnion{OfArrayOfStrings: []string{"one", "two"}},
		Dimensions: openai.Int(256),
	}))
	Expect(len(answer.Data) == 2 && len(answer.Data[1].Embedding) == 256, answer.RawJSON())
	return []Usage{usage(answer.Usage.PromptTokens, 0, answer.JSON.ExtraFields)}
}

func responsesOf(items ...responses.ResponseInputItemUnionParam) responses.ResponseNewParams {
	return responses.ResponseNewParams{Model: "auto", Store: openai.Bool(false), Input: responses.ResponseNewParamsInputUnion{OfInputItemList: items}}
}

func message(text string) responses.ResponseInputItemUnionParam {
	return responses.ResponseInputItemParamOfMessage(text, responses.EasyInputMessageRoleUser)
}

func respond() []Usage {
	plain := Must(client.Responses.New(ctx, responsesOf(message("Say hello."))))
	Expect(strings.Contains(plain.OutputText(), "simulated"), plain.RawJSON())
	var streamed responses.Response
	events := client.Responses.NewStreaming(ctx, responsesOf(message("Say hello.")))
	for events.Next() {
		if event := events.Current(); event.Type == "response.completed" {
			streamed = event.Response
		}
	}
	Must(0, events.Err())
	Expect(strings.Contains(streamed.OutputText(), "simulated"), streamed.RawJSON())
	formed := responsesOf(message("Describe Bern."))
	formed.Text = responses.ResponseTextConfigParam{Format: responses.ResponseFormatTextConfigUnionParam{
		OfJSONSchema: &responses.ResponseFormatTextJSONSchemaConfigParam{Name: "city", Schema: city, Strict: openai.Bool(true)},
	}}
	parsed := Must(client.Responses.New(ctx, formed))
	checkCity(parsed.OutputText())
	return append(respondWithTools(), seenResponse(plain), seenResponse(&streamed), seenResponse(parsed))
}

func respondWithTools() []Usage {
	params := responsesOf(message("What is the weather in Bern?"))
	params.Tools = []responses.ToolUnionParam{{OfFunction: &responses.FunctionToolParam{Name: "weather", Parameters: parameters, Strict: openai.Bool(true)}}}
	first := Must(client.Responses.New(ctx, params))
	for _, item := range first.Output {
		if item.Type != "function_call" {
			continue
		}
		made := item.AsFunctionCall()
		call := made.ToParam()
		result := responses.ResponseInputItemParamOfFunctionCallOutput("12 °C")
		result.OfFunctionCallOutput.CallID = openai.String(made.CallID)
		params.Input.OfInputItemList = append(params.Input.OfInputItemList,
			responses.ResponseInputItemUnionParam{OfFunctionCall: &call}, result)
	}
	second := Must(client.Responses.New(ctx, params))
	Expect(strings.Contains(second.OutputText(), "12 °C"), second.RawJSON())
	return []Usage{seenResponse(first), seenResponse(second)}
}

func idempotency() []Usage {
	key := option.WithHeader("Idempotency-Key", fmt.Sprint("go-", time.Now().UnixNano()))
	first := Must(client.Chat.Completions.New(ctx, chatOf("auto", "Say hello."), key))
	second := Must(client.Chat.Completions.New(ctx, chatOf("auto", "Say hello."), key))
	Expect(first.JSON.ExtraFields["platform"].Raw() == second.JSON.ExtraFields["platform"].Raw(), second.RawJSON())
	return []Usage{seen(first)}
}

func charged() float64 {
	var usage struct {
		Total float64 `json:"total_credits"`
	}
	Must(0, faulty.Get(ctx, "usage", nil, &usage))
	return usage.Total
}

// The client does not repeat a request whose timeout passed.
func repeats() []Usage {
	before := charged()
	key := option.WithHeader("Idempotency-Key", fmt.Sprint("go-slow-", time.Now().UnixNano()))
	_, err := faulty.Chat.Completions.New(ctx, chatOf("slow", "Say hello."), option.WithRequestTimeout(time.Second), key)
	Expect(errors.Is(err, context.DeadlineExceeded), "the timeout did not pass: ", err)
	answer := Must(faulty.Chat.Completions.New(ctx, chatOf("slow", "Say hello."), option.WithMaxRetries(5), key))
	cost := *seen(answer).Credits
	Expect(cost > 0 && charged()-before < 1.5*cost, "charged ", charged()-before, ", but the answer says ", cost)
	return nil
}

func chatWith(key, model string, options ...option.RequestOption) *openai.Error {
	other := clientOf(URL, key)
	_, err := other.Chat.Completions.New(ctx, chatOf(model, "Say hello."), options...)
	return ErrorIn[*openai.Error](err)
}

func refusals() []Usage {
	expect := func(err *openai.Error, status int, code string) {
		Expect(err.StatusCode == status && err.Code == code && err.Message != "", err.StatusCode, " ", err.RawJSON())
	}
	expect(chatWith("sb_live_wrong", "auto"), 401, "invalid_api_key")
	expect(chatWith(Key, "no-such-model"), 404, "model_not_found")
	expect(chatWith(EmptyKey, "auto"), 402, "request_exceeds_budget")
	Expect(chatWith(Key, "auto", option.WithJSONSet("temperature", 9)).Param == "temperature", "another parameter")
	failing := func(model string) *openai.Error {
		_, err := faulty.Chat.Completions.New(ctx, chatOf(model, "Say hello."))
		return ErrorIn[*openai.Error](err)
	}
	Expect(failing("rate-limited").StatusCode == 429, "rate-limited")
	Expect(failing("broken").StatusCode >= 500, "broken")
	expect(failing("too-long"), 400, "context_length_exceeded")
	return nil
}

func cut() []Usage {
	text := ""
	chunks := faulty.Chat.Completions.NewStreaming(ctx, chatOf("cut", "Say hello."))
	for chunks.Next() {
		for _, choice := range chunks.Current().Choices {
			text += choice.Delta.Content
		}
	}
	Expect(strings.HasPrefix(text, "One") && chunks.Err() != nil, text, chunks.Err())
	return nil
}

func main() {
	Check("chat", chat)
	Check("stream with usage", stream)
	Check("tool loop", toolLoop)
	Check("structured output", structured)
	Check("own fields, platform and headers", ownFields)
	Check("model list", models)
	Check("embeddings", embeddings)
	Check("Responses", respond)
	Check("idempotency", idempotency)
	Check("a repeat after a timeout is charged once with an Idempotency-Key", repeats)
	Check("errors", refusals)
	Check("cut stream", cut)
	Finish()
}
