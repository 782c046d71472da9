package main

import (
	. "clients/checks"
	"context"
	"encoding/json"
	"net/http"
	"strconv"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

var (
	ctx    = context.Background()
	client = clientOf(URL, Key)
	faulty = clientOf(FaultyURL, FaultyKey)
)

// The base URL has no /v1.
func clientOf(url, key string) anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(url), option.WithAPIKey(key), option.WithMaxRetries(0))
}

func messageTo(model, text string) anthropic.MessageNewParams {
	return anthropic.MessageNewParams{
		Model: anthropic.Model(model), MaxTokens: 500,
		Messages: []anthropic.MessageParam{anthropic.NewUserMessage(anthropic.NewTextBlock(text))},
	}
}

func seen(answer *anthropic.Message, platform string) Usage {
	return Usage{answer.Usage.InputTokens, answer.Usage.OutputTokens, PlatformIn(platform).Credits}
}

func platformOf(answer *anthropic.Message) string {
	return answer.JSON.ExtraFields["platform"].Raw()
}

func messages() []Usage {
	var reply *http.Response
	answer := Must(client.Messages.New(ctx, messageTo("auto", "Say hello."),
		option.WithJSONSet("budget_limit", 5), option.WithResponseInto(&reply)))
	Expect(strings.Contains(answer.Content[0].Text, "simulated"), answer.RawJSON())
	credits := Must(strconv.ParseFloat(reply.Header.Get("x-signalbox-credits"), 64))
	Expect(credits == *PlatformIn(platformOf(answer)).Credits, reply.Header)
	return []Usage{seen(answer, platformOf(answer))}
}

func stream() []Usage {
	whole, platform := anthropic.Message{}, ""
	events := client.Messages.NewStreaming(ctx, messageTo("auto", "Say hello."))
	for events.Next() {
		event := events.Current()
		Must(0, whole.Accumulate(event))
		if delta, ok := event.AsAny().(anthropic.MessageDeltaEvent); ok {
			platform = delta.JSON.ExtraFields["platform"].Raw()
		}
	}
	Must(0, events.Err())
	Expect(strings.Contains(whole.Content[0].Text, "simulated"), whole.Content)
	return []Usage{seen(&whole, platform)}
}

func toolLoop() []Usage {
	params := messageTo("auto", "What is the weather in Bern?")
	weather := anthropic.ToolParam{
		Name: "weather", Description: anthropic.String("The weather of a city"),
		InputSchema: anthropic.ToolInputSchemaParam{
			Properties: map[string]any{"city": map[string]any{"type": "string"}}, Required: []string{"city"},
		},
	}
	params.Tools = []anthropic.ToolUnionParam{{OfTool: &weather}}
	first := Must(client.Messages.New(ctx, params))
	params.Messages = append(params.Messages, first.ToParam())
	for _, block := range first.Content {
		if call, ok := block.AsAny().(anthropic.ToolUseBlock); ok {
			params.Messages = append(params.Messages, anthropic.NewUserMessage(anthropic.NewToolResultBlock(call.ID, "12 °C", false)))
		}
	}
	second := Must(client.Messages.New(ctx, params))
	Expect(strings.Contains(second.Content[0].Text, "12 °C"), second.RawJSON())
	return []Usage{seen(first, platformOf(first)), seen(second, platformOf(second))}
}

func structured() []Usage {
	params := messageTo("auto", "Describe Bern.")
	params.OutputConfig.Format.Schema = map[string]any{
		"type": "object", "properties": map[string]any{"name": map[string]any{"type": "string"}},
		"required": []string{"name"}, "additionalProperties": false,
	}
	answer := Must(client.Messages.New(ctx, params))
	var city struct {
		Name *string `json:"name"`
	}
	Must(0, json.Unmarshal([]byte(answer.Content[0].Text), &city))
	Expect(city.Name != nil, answer.RawJSON())
	return []Usage{seen(answer, platformOf(answer))}
}

func countTokens() []Usage {
	counted := Must(client.Messages.CountTokens(ctx, anthropic.MessageCountTokensParams{
		Model: "auto", Messages: messageTo("auto", "Say hello.").Messages,
	}))
	Expect(counted.InputTokens > 0, counted.RawJSON())
	return nil
}

func models() []Usage {
	ids := map[string]bool{}
	for pages := client.Models.ListAutoPaging(ctx, anthropic.ModelListParams{}); pages.Next(); {
		ids[pages.Current().ID] = true
	}
	Expect(ids["auto"] && ids["sim-large"], ids)
	return nil
}

func refusals() []Usage {
	expect := func(client anthropic.Client, model string, holds func(status int) bool) {
		_, err := client.Messages.New(ctx, messageTo(model, "Say hello."))
		found := ErrorIn[*anthropic.Error](err)
		Expect(holds(found.StatusCode) && strings.Contains(found.RawJSON(), `"message"`), model, found.StatusCode, found.RawJSON())
	}
	is := func(status int) func(int) bool { return func(found int) bool { return found == status } }
	expect(clientOf(URL, "sb_live_wrong"), "auto", is(401))
	expect(client, "no-such-model", is(404))
	expect(clientOf(URL, EmptyKey), "auto", is(402))
	expect(faulty, "rate-limited", is(429))
	expect(faulty, "broken", func(found int) bool { return found >= 500 })
	expect(faulty, "too-long", is(400))
	return nil
}

func cut() []Usage {
	text := ""
	events := faulty.Messages.NewStreaming(ctx, messageTo("cut", "Say hello."))
	for events.Next() {
		if delta, ok := events.Current().AsAny().(anthropic.ContentBlockDeltaEvent); ok {
			text += delta.Delta.Text
		}
	}
	Expect(strings.HasPrefix(text, "One") && events.Err() != nil, text, events.Err())
	return nil
}

func main() {
	Check("messages, own fields, platform and headers", messages)
	Check("stream with usage", stream)
	Check("tool loop", toolLoop)
	Check("structured output", structured)
	Check("count_tokens", countTokens)
	Check("model list", models)
	Check("errors", refusals)
	Check("cut stream", cut)
	Finish()
}
