use async_openai::Client;
use async_openai::config::OpenAIConfig;
use async_openai::error::OpenAIError;
use async_openai::traits::RequestOptionsBuilder;
use async_openai::types::chat::*;
use async_openai::types::embeddings::CreateEmbeddingRequestArgs;
use async_openai::types::responses::{
    CreateResponse, CreateResponseArgs, FunctionCallOutput, FunctionCallOutputItemParam, FunctionTool, InputItem, InputParam, Item,
    OutputItem, Response, ResponseStreamEvent, Tool,
};
use clients::{Checks, usage, variable};
use futures::StreamExt;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

type OpenAI = Client<OpenAIConfig>;

fn client_of(url: &str, key: &str) -> OpenAI {
    Client::with_config(OpenAIConfig::new().with_api_base(format!("{}/v1", variable(url))).with_api_key(key))
}

fn client() -> OpenAI {
    client_of("SIGNALBOX_URL", &variable("SIGNALBOX_KEY"))
}

fn faulty() -> OpenAI {
    client_of("FAULTY_URL", &variable("FAULTY_KEY"))
}

fn chat_of(model: &str, text: &str) -> CreateChatCompletionRequest {
    CreateChatCompletionRequestArgs::default()
        .model(model)
        .messages([ChatCompletionRequestUserMessage::from(text).into()])
        .build()
        .unwrap()
}

fn parameters() -> Value {
    json!({ "type": "object", "properties": { "city": { "type": "string" } }, "required": ["city"], "additionalProperties": false })
}

fn seen(answer: &CreateChatCompletionResponse) -> Value {
    let used = answer.usage.as_ref().unwrap();
    usage(used.prompt_tokens.into(), used.completion_tokens.into(), None)
}

fn text_of(answer: &CreateChatCompletionResponse) -> &str {
    answer.choices[0].message.content.as_deref().unwrap_or_default()
}

async fn chat() -> Vec<Value> {
    let answer = client().chat().create(chat_of("auto", "Say hello.")).await.unwrap();
    assert!(text_of(&answer).contains("simulated"), "{answer:?}");
    vec![seen(&answer)]
}

/// The text and the usage of a stream, and the error that ended it.
async fn read(client: OpenAI, model: &str) -> (String, Option<CompletionUsage>, Option<OpenAIError>) {
    let mut request = chat_of(model, "Say hello.");
    request.stream_options = Some(ChatCompletionStreamOptions { include_usage: Some(true), ..Default::default() });
    // With the feature byot, the client leaves this to the caller.
    request.stream = Some(true);
    let mut chunks = client.chat().create_stream(request).await.unwrap();
    let (mut text, mut used) = (String::new(), None);
    while let Some(chunk) = chunks.next().await {
        match chunk {
            Err(error) => return (text, used, Some(error)),
            Ok(chunk) => {
                used = chunk.usage.or(used);
                text.extend(chunk.choices.into_iter().filter_map(|choice| choice.delta.content));
            }
        }
    }
    (text, used, None)
}

async fn stream() -> Vec<Value> {
    let (text, used, error) = read(client(), "auto").await;
    assert!(text.contains("simulated") && error.is_none(), "{text} {error:?}");
    let used = used.unwrap();
    vec![usage(used.prompt_tokens.into(), used.completion_tokens.into(), None)]
}

async fn tool_loop() -> Vec<Value> {
    let mut request = chat_of("auto", "What is the weather in Bern?");
    let function = FunctionObjectArgs::default()
        .name("weather")
        .description("The weather of a city")
        .parameters(parameters())
        .build()
        .unwrap();
    request.tools = Some(vec![ChatCompletionTools::Function(ChatCompletionTool { function })]);
    let first = client().chat().create(request.clone()).await.unwrap();
    let calls = first.choices[0].message.tool_calls.clone().unwrap();
    let ChatCompletionMessageToolCalls::Function(call) = &calls[0] else { panic!("{calls:?}") };
    let turn = ChatCompletionRequestAssistantMessageArgs::default().tool_calls(calls.clone()).build().unwrap();
    let result = ChatCompletionRequestToolMessage { content: "12 °C".into(), tool_call_id: call.id.clone() };
    request.messages.extend([turn.into(), result.into()]);
    let second = client().chat().create(request).await.unwrap();
    assert!(text_of(&second).contains("12 °C"), "{second:?}");
    vec![seen(&first), seen(&second)]
}

async fn structured() -> Vec<Value> {
    let mut request = chat_of("auto", "Describe Bern.");
    let json_schema = ResponseFormatJsonSchema {
        name: "city".into(),
        description: None,
        schema: parameters(),
        strict: Some(true),
    };
    request.response_format = Some(ResponseFormat::JsonSchema { json_schema });
    let answer = client().chat().create(request).await.unwrap();
    let city: Value = serde_json::from_str(text_of(&answer)).unwrap();
    assert!(city["city"].is_string(), "{city}");
    vec![seen(&answer)]
}

/// Own fields and `platform` need the methods that take any type.
async fn own_fields() -> Vec<Value> {
    let request = json!({
        "model": "auto",
        "messages": [{ "role": "user", "content": "Say hello." }],
        "budget_limit": 5,
        "route_strategy": { "cost_weight": 1 },
    });
    let answer: Value = client().chat().header("x-request-id", "rust-checks").unwrap().create_byot(request).await.unwrap();
    assert_eq!(answer["platform"]["routed_model"], answer["model"]);
    let tokens = |name: &str| answer["usage"][name].as_u64().unwrap();
    let credits = &answer["platform"];
    vec![usage(tokens("prompt_tokens"), tokens("completion_tokens"), Some(credits))]
}

async fn models() -> Vec<Value> {
    let ids: Vec<String> = client().models().list().await.unwrap().data.into_iter().map(|model| model.id).collect();
    assert!(["auto", "sim-large"].iter().all(|id| ids.contains(&id.to_string())), "{ids:?}");
    assert_eq!(client().models().retrieve("sim-large").await.unwrap().id, "sim-large");
    vec![]
}

async fn embeddings() -> Vec<Value> {
    let request =
        CreateEmbeddingRequestArgs::default().model("sim-embed").input(["one", "two"]).dimensions(256u32).build().unwrap();
    let answer = client().embeddings().create(request).await.unwrap();
    assert!(answer.data.len() == 2 && answer.data[1].embedding.len() == 256);
    vec![usage(answer.usage.prompt_tokens.into(), 0, None)]
}

fn response_to(input: impl Into<InputParam>) -> CreateResponse {
    CreateResponseArgs::default().model("auto").store(false).input(input).build().unwrap()
}

fn seen_response(answer: &Response) -> Value {
    let used = answer.usage.as_ref().unwrap();
    usage(used.input_tokens.into(), used.output_tokens.into(), None)
}

async fn responses() -> Vec<Value> {
    let plain = client().responses().create(response_to("Say hello.")).await.unwrap();
    assert!(plain.output_text().unwrap().contains("simulated"), "{plain:?}");
    let mut request = response_to("Say hello.");
    request.stream = Some(true);
    let mut events = client().responses().create_stream(request).await.unwrap();
    let mut streamed = None;
    while let Some(event) = events.next().await {
        if let ResponseStreamEvent::ResponseCompleted(completed) = event.unwrap() {
            streamed = Some(completed.response);
        }
    }
    let streamed = streamed.unwrap();
    assert!(streamed.output_text().unwrap().contains("simulated"), "{streamed:?}");
    [vec![seen_response(&plain), seen_response(&streamed)], responses_with_tools().await].concat()
}

async fn responses_with_tools() -> Vec<Value> {
    let tool = Tool::Function(FunctionTool {
        name: "weather".into(),
        parameters: Some(parameters()),
        strict: Some(true),
        ..Default::default()
    });
    let question: Value = json!({ "type": "message", "role": "user", "content": [{ "type": "input_text", "text": "What is the weather in Bern?" }] });
    let mut items: Vec<InputItem> = vec![serde_json::from_value(question).unwrap()];
    let mut request = response_to(items.clone());
    request.tools = Some(vec![tool]);
    let first = client().responses().create(request.clone()).await.unwrap();
    for item in first.output.clone() {
        if let OutputItem::FunctionCall(call) = item {
            let output = FunctionCallOutputItemParam {
                call_id: Some(call.call_id.clone()),
                ..serde_json::from_value(json!({ "call_id": "", "output": "12 °C" })).unwrap()
            };
            assert!(matches!(output.output, FunctionCallOutput::Text(_)));
            items.extend([Item::FunctionCall(call).into(), Item::FunctionCallOutput(output).into()]);
        }
    }
    request.input = items.into();
    let second = client().responses().create(request).await.unwrap();
    assert!(second.output_text().unwrap().contains("12 °C"), "{second:?}");
    vec![seen_response(&first), seen_response(&second)]
}

async fn idempotency() -> Vec<Value> {
    let key = format!("rust-{}", SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_nanos());
    let call = async || {
        let request = chat_of("auto", "Say hello.");
        client().chat().header("Idempotency-Key", key.as_str()).unwrap().create(request).await.unwrap()
    };
    let (first, second) = (call().await, call().await);
    assert_eq!(first.id, second.id);
    vec![seen(&first)]
}

async fn refused(client: OpenAI, model: &str) -> (u16, String) {
    match client.chat().create(chat_of(model, "Say hello.")).await {
        Err(OpenAIError::ApiError(error)) => (error.status_code.as_u16(), error.api_error.code.unwrap_or_default()),
        other => panic!("{other:?}"),
    }
}

async fn errors() -> Vec<Value> {
    let wrong = refused(client_of("SIGNALBOX_URL", "sb_live_wrong"), "auto").await;
    assert_eq!(wrong, (401, "invalid_api_key".into()));
    assert_eq!(refused(client(), "no-such-model").await, (404, "model_not_found".into()));
    let empty = refused(client_of("SIGNALBOX_URL", &variable("EMPTY_KEY")), "auto").await;
    assert_eq!(empty, (402, "request_exceeds_budget".into()));
    assert_eq!(refused(faulty(), "rate-limited").await.0, 429);
    assert!(refused(faulty(), "broken").await.0 >= 500);
    assert_eq!(refused(faulty(), "too-long").await, (400, "context_length_exceeded".into()));
    vec![]
}

async fn cut() -> Vec<Value> {
    let (text, _, error) = read(faulty(), "cut").await;
    assert!(text.starts_with("One") && error.is_some(), "{text} {error:?}");
    vec![]
}

#[tokio::main]
async fn main() {
    let mut checks = Checks::default();
    checks.check("chat", chat()).await;
    checks.check("stream with usage", stream()).await;
    checks.check("tool loop", tool_loop()).await;
    checks.check("structured output", structured()).await;
    checks.check("own fields and platform", own_fields()).await;
    checks.check("model list", models()).await;
    checks.check("embeddings", embeddings()).await;
    checks.check("Responses", responses()).await;
    checks.check("idempotency", idempotency()).await;
    checks.check("errors", errors()).await;
    checks.check("cut stream", cut()).await;
    checks.finish()
}
