use clients::{Checks, usage, variable};
use futures::StreamExt;
use rig_core::completion::{CompletionRequest, CompletionResponse, Message, ToolDefinition};
use rig_core::driver::Model;
use rig_core::error::ProviderError;
use rig_core::providers::anthropic::AnthropicConfig;
use rig_core::providers::openai::{OpenAI, OpenAIConfig};
use rig_core::streaming::{Item, StreamEvent};
use serde_json::{Value, json};

fn client_of(url: &str, key: &str) -> OpenAI {
    OpenAIConfig::new(key.to_string()).with_base_url(format!("{}/v1", variable(url))).client()
}

fn client() -> OpenAI {
    client_of("SIGNALBOX_URL", &variable("SIGNALBOX_KEY"))
}

fn faulty() -> OpenAI {
    client_of("FAULTY_URL", &variable("FAULTY_KEY"))
}

fn seen(answer: &CompletionResponse) -> Value {
    usage(answer.usage.input_tokens.unwrap(), answer.usage.output_tokens.unwrap(), None)
}

fn weather() -> ToolDefinition {
    let parameters = json!({
        "type": "object",
        "properties": { "city": { "type": "string" } },
        "required": ["city"],
        "additionalProperties": false,
    });
    ToolDefinition::new("weather".try_into().unwrap(), "The weather of a city", parameters)
}

async fn chat() -> Vec<Value> {
    let request = CompletionRequest::new("Say hello.").additional_params(json!({ "budget_limit": 5 }));
    let answer = client().chat("auto").call(request).await.unwrap();
    assert!(answer.text().contains("simulated"), "{answer:?}");
    vec![seen(&answer)]
}

async fn responses() -> Vec<Value> {
    let answer = client().responses("auto").call(CompletionRequest::new("Say hello.")).await.unwrap();
    assert!(answer.text().contains("simulated"), "{answer:?}");
    vec![seen(&answer)]
}

/// The base URL of this client has no /v1.
async fn messages() -> Vec<Value> {
    let client = AnthropicConfig::new(variable("SIGNALBOX_KEY")).with_base_url(variable("SIGNALBOX_URL")).client();
    let answer = client.completion("auto").call(CompletionRequest::new("Say hello.").max_tokens(500)).await.unwrap();
    assert!(answer.text().contains("simulated"), "{answer:?}");
    vec![seen(&answer)]
}

async fn stream() -> Vec<Value> {
    let mut items = client().chat("auto").stream(CompletionRequest::new("Say hello.")).unwrap();
    let mut text = String::new();
    while let Some(item) = items.next().await {
        if let Item::Event(StreamEvent::Text { text: part, .. }) = item.unwrap() {
            text.push_str(&part);
        }
    }
    let answer = items.finish().await.unwrap();
    assert!(text.contains("simulated") && text == answer.text(), "{text}");
    vec![seen(&answer)]
}

async fn tool_loop() -> Vec<Value> {
    let question = CompletionRequest::new("What is the weather in Bern?").tool(weather());
    let first = client().chat("auto").call(question.clone()).await.unwrap();
    let call = first.tool_calls().next().unwrap();
    let result = Message::tool_result(call.id.clone(), call.function.name.clone(), "12 °C");
    let mut turns = vec![Message::user("What is the weather in Bern?")];
    turns.extend(first.message());
    let request = CompletionRequest::new(result).messages(turns).tool(weather());
    let second = client().chat("auto").call(request).await.unwrap();
    assert!(second.text().contains("12 °C"), "{second:?}");
    vec![seen(&first), seen(&second)]
}

async fn structured() -> Vec<Value> {
    let schema = schemars::Schema::try_from(weather().parameters).unwrap();
    let request = CompletionRequest::new("Describe Bern.").output_schema(schema);
    let answer = client().chat("auto").call(request).await.unwrap();
    let city: Value = serde_json::from_str(&answer.text()).unwrap();
    assert!(city["city"].is_string(), "{city}");
    vec![seen(&answer)]
}

async fn models() -> Vec<Value> {
    let models = client().list_models().await.unwrap();
    assert!(["auto", "sim-large"].iter().all(|id| models.iter().any(|model| model.id == *id)), "{models:?}");
    vec![]
}

async fn embeddings() -> Vec<Value> {
    let texts = vec!["one".to_string(), "two".to_string()];
    let answer = client().embedding("sim-embed", Some(256)).call(texts).await.unwrap();
    assert!(answer.embeddings.len() == 2 && answer.embeddings[1].vec.len() == 256);
    vec![usage(answer.usage.input_tokens.unwrap(), 0, None)]
}

async fn refused(client: OpenAI, model: &str) -> ProviderError {
    client.chat(model).call(CompletionRequest::new("Say hello.")).await.unwrap_err()
}

async fn errors() -> Vec<Value> {
    let expect = |error: ProviderError, code: &str| {
        let ProviderError::ProviderResponse(reply) = &error else { panic!("{error:?}") };
        assert_eq!(reply.machine_code().as_deref(), Some(code), "{error:?}");
    };
    expect(refused(client_of("SIGNALBOX_URL", "sb_live_wrong"), "auto").await, "invalid_api_key");
    expect(refused(client(), "no-such-model").await, "model_not_found");
    expect(refused(client_of("SIGNALBOX_URL", &variable("EMPTY_KEY")), "auto").await, "request_exceeds_budget");
    expect(refused(faulty(), "too-long").await, "context_length_exceeded");
    for model in ["rate-limited", "broken"] {
        let error = refused(faulty(), model).await;
        assert!(matches!(error, ProviderError::ProviderResponse(_)), "{error:?}");
    }
    vec![]
}

async fn cut() -> Vec<Value> {
    let model: Model<_> = faulty().chat("cut");
    let mut items = model.stream(CompletionRequest::new("Say hello.")).unwrap();
    let (mut text, mut failed) = (String::new(), false);
    while let Some(item) = items.next().await {
        match item {
            Ok(Item::Event(StreamEvent::Text { text: part, .. })) => text.push_str(&part),
            Ok(_) => {}
            Err(_) => failed = true,
        }
    }
    assert!(text.starts_with("One") && failed, "{text}");
    vec![]
}

#[tokio::main]
async fn main() {
    let mut checks = Checks::default();
    checks.check("chat and own fields", chat()).await;
    checks.check("Responses", responses()).await;
    checks.check("Messages", messages()).await;
    checks.check("stream with usage", stream()).await;
    checks.check("tool loop", tool_loop()).await;
    checks.check("structured output", structured()).await;
    checks.check("model list", models()).await;
    checks.check("embeddings", embeddings()).await;
    checks.check("errors", errors()).await;
    checks.check("cut stream", cut()).await;
    checks.finish()
}
