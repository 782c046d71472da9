import com.fasterxml.jackson.annotation.JsonClassDescription;
import com.openai.client.OpenAIClient;
import com.openai.client.okhttp.OpenAIOkHttpClient;
import com.openai.core.JsonValue;
import com.openai.errors.BadRequestException;
import com.openai.errors.InternalServerException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIException;
import com.openai.errors.OpenAIServiceException;
import com.openai.errors.RateLimitException;
import com.openai.errors.UnauthorizedException;
import com.openai.helpers.ChatCompletionAccumulator;
import com.openai.helpers.ResponseAccumulator;
import com.openai.models.chat.completions.ChatCompletion;
import com.openai.models.chat.completions.ChatCompletionCreateParams;
import com.openai.models.chat.completions.ChatCompletionStreamOptions;
import com.openai.models.chat.completions.ChatCompletionToolMessageParam;
import com.openai.models.embeddings.EmbeddingCreateParams;
import com.openai.models.responses.Response;
import com.openai.models.responses.ResponseCreateParams;
import com.openai.models.responses.ResponseInputItem;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.UUID;

/** Each answer is validated against the client's own schema. */
final class OpenaiJava {
  static final OpenAIClient client = clientOf(Checks.URL, Checks.KEY);
  static final OpenAIClient faulty = clientOf(Checks.FAULTY_URL, Checks.FAULTY_KEY);

  static final class City {
    public String name;
    public int inhabitants;
  }

  @JsonClassDescription("The weather of a city")
  static final class Weather {
    public String city;
  }

  static OpenAIClient clientOf(String url, String key) {
    return OpenAIOkHttpClient.builder()
        .baseUrl(url + "/v1")
        .apiKey(key)
        .maxRetries(0)
        .responseValidation(true)
        .build();
  }

  static ChatCompletionCreateParams.Builder chatOf(String model, String text) {
    return ChatCompletionCreateParams.builder().model(model).addUserMessage(text);
  }

  static Map<?, ?> platformIn(Map<String, JsonValue> properties) {
    return properties.get("platform").convert(Map.class);
  }

  static Checks.Usage usage(long input, long output, Map<String, JsonValue> properties) {
    return new Checks.Usage(input, output, ((Number) platformIn(properties).get("credits_consumed")).doubleValue());
  }

  static Checks.Usage seen(ChatCompletion answer) {
    var usage = answer.validate().usage().orElseThrow();
    return usage(usage.promptTokens(), usage.completionTokens(), answer._additionalProperties());
  }

  static Checks.Usage seen(Response answer) {
    var usage = answer.validate().usage().orElseThrow();
    return usage(usage.inputTokens(), usage.outputTokens(), answer._additionalProperties());
  }

  static String textOf(ChatCompletion answer) {
    return answer.choices().get(0).message().content().orElse("");
  }

  static List<Checks.Usage> chat() {
    var answer = client.chat().completions().create(chatOf("auto", "Say hello.").build());
    Checks.expect(textOf(answer).contains("simulated"), answer);
    Checks.expect(answer.model().equals(platformIn(answer._additionalProperties()).get("routed_model")), answer);
    return List.of(seen(answer));
  }

  static List<Checks.Usage> stream() {
    var whole = ChatCompletionAccumulator.create();
    var platforms = new ArrayList<Map<String, JsonValue>>();
    var options = ChatCompletionStreamOptions.builder().includeUsage(true).build();
    var params = chatOf("auto", "Say hello.").streamOptions(options).build();
    try (var chunks = client.chat().completions().createStreaming(params)) {
      chunks.stream().forEach(chunk -> {
        whole.accumulate(chunk.validate());
        if (chunk._additionalProperties().containsKey("platform")) platforms.add(chunk._additionalProperties());
      });
    }
    var answer = whole.chatCompletion();
    Checks.expect(textOf(answer).contains("simulated"), answer);
    var usage = answer.usage().orElseThrow();
    return List.of(usage(usage.promptTokens(), usage.completionTokens(), platforms.get(0)));
  }

  static List<Checks.Usage> toolLoop() {
    var params = chatOf("auto", "What is the weather in Bern?").addTool(Weather.class);
    var first = client.chat().completions().create(params.build());
    var call = first.choices().get(0).message().toolCalls().orElseThrow().get(0).asFunction();
    Checks.expect(call.function().arguments(Weather.class).city != null, call);
    params.addMessage(first.choices().get(0).message());
    params.addMessage(ChatCompletionToolMessageParam.builder().toolCallId(call.id()).content("12 °C").build());
    var second = client.chat().completions().create(params.build());
    Checks.expect(textOf(second).contains("12 °C"), second);
    return List.of(seen(first), seen(second));
  }

  static List<Checks.Usage> structured() {
    var answer = client.chat().completions().create(chatOf("auto", "Describe Bern.").responseFormat(City.class).build());
    Checks.expect(answer.choices().get(0).message().content().orElseThrow().name != null, answer);
    return List.of(seen(answer.rawChatCompletion()));
  }

  static List<Checks.Usage> ownFields() {
    var params = chatOf("auto", "Say hello.")
        .putAdditionalBodyProperty("budget_limit", JsonValue.from(5))
        .putAdditionalBodyProperty("route_strategy", JsonValue.from(Map.of("cost_weight", 1)))
        .putAdditionalHeader("x-request-id", "java-checks")
        .build();
    try (var reply = client.chat().completions().withRawResponse().create(params)) {
      var answer = reply.parse();
      var platform = platformIn(answer._additionalProperties());
      var headers = reply.headers();
      Checks.expect(headers.values("x-signalbox-credits").equals(List.of(String.valueOf(platform.get("credits_consumed")))), headers);
      Checks.expect(headers.values("x-signalbox-model").equals(List.of(platform.get("routed_model"))), headers);
      Checks.expect(headers.values("x-signalbox-decision-id").equals(List.of(platform.get("decision_id"))), headers);
      return List.of(seen(answer));
    }
  }

  static List<Checks.Usage> models() {
    var ids = new HashSet<String>();
    for (var model : client.models().list().autoPager()) ids.add(model.validate().id());
    Checks.expect(ids.containsAll(List.of("auto", "sim-large")), ids);
    Checks.expect(client.models().retrieve("sim-large").validate().id().equals("sim-large"), "another model");
    return List.of();
  }

  static List<Checks.Usage> embeddings() {
    var answer = client.embeddings().create(EmbeddingCreateParams.builder()
        .model("sim-embed")
        .inputOfArrayOfStrings(List.of("one", "two"))
        .dimensions(256)
        .build());
    Checks.expect(answer.data().size() == 2 && answer.data().get(1).embedding().size() == 256, answer.data().size());
    return List.of(usage(answer.validate().usage().promptTokens(), 0, answer._additionalProperties()));
  }

  static ResponseCreateParams.Builder responseTo(String text) {
    return ResponseCreateParams.builder().model("auto").store(false).input(text);
  }

  static String textOf(Response answer) {
    var text = new StringBuilder();
    for (var item : answer.output())
      item.message().ifPresent(message ->
          message.content().forEach(part -> part.outputText().ifPresent(output -> text.append(output.text()))));
    return text.toString();
  }

  static List<Checks.Usage> responses() {
    var plain = client.responses().create(responseTo("Say hello.").build());
    Checks.expect(textOf(plain).contains("simulated"), plain);
    var whole = ResponseAccumulator.create();
    try (var events = client.responses().createStreaming(responseTo("Say hello.").build())) {
      events.stream().forEach(event -> whole.accumulate(event.validate()));
    }
    Checks.expect(textOf(whole.response()).contains("simulated"), whole.response());
    var parsed = client.responses().create(responseTo("Describe Bern.").text(City.class).build());
    var city = parsed.output().get(parsed.output().size() - 1).asMessage().content().get(0).asOutputText();
    Checks.expect(city.name != null, parsed);
    var used = new ArrayList<>(List.of(seen(plain), seen(whole.response()), seen(parsed.rawResponse())));
    used.addAll(responsesWithTools());
    return used;
  }

  static List<Checks.Usage> responsesWithTools() {
    var first = client.responses().create(responseTo("What is the weather in Bern?").addTool(Weather.class).build());
    var items = new ArrayList<ResponseInputItem>();
    items.add(ResponseInputItem.ofEasyInputMessage(com.openai.models.responses.EasyInputMessage.builder()
        .role(com.openai.models.responses.EasyInputMessage.Role.USER)
        .content("What is the weather in Bern?")
        .build()));
    first.output().stream().flatMap(item -> item.functionCall().stream()).forEach(call -> {
      items.add(ResponseInputItem.ofFunctionCall(call));
      items.add(ResponseInputItem.ofFunctionCallOutput(
          ResponseInputItem.FunctionCallOutput.builder().callId(call.callId()).output("12 °C").build()));
    });
    var params = ResponseCreateParams.builder().model("auto").store(false).addTool(Weather.class);
    var second = client.responses().create(params.inputOfResponse(items).build());
    Checks.expect(textOf(second).contains("12 °C"), second);
    return List.of(seen(first), seen(second));
  }

  static List<Checks.Usage> idempotency() {
    var params = chatOf("auto", "Say hello.").putAdditionalHeader("Idempotency-Key", UUID.randomUUID().toString()).build();
    var first = client.chat().completions().create(params);
    var second = client.chat().completions().create(params);
    Checks.expect(first._additionalProperties().equals(second._additionalProperties()), second);
    return List.of(seen(first));
  }

  static List<Checks.Usage> retries() {
    var waiting = faulty.withOptions(options -> options.maxRetries(5).timeout(Duration.ofSeconds(1)));
    var key = UUID.randomUUID().toString();
    var params = chatOf("slow", "Say hello.").putAdditionalHeader("Idempotency-Key", key).build();
    var answer = waiting.chat().completions().create(params);
    var repeated = faulty.chat().completions().create(params);
    Checks.expect(answer._additionalProperties().equals(repeated._additionalProperties()), repeated);
    return List.of();
  }

  static <T extends OpenAIServiceException> T refused(Class<T> kind, OpenAIClient client, String model) {
    return Checks.thrown(kind, () -> client.chat().completions().create(chatOf(model, "Say hello.").build()));
  }

  static List<Checks.Usage> errors() {
    var wrong = refused(UnauthorizedException.class, clientOf(Checks.URL, "sb_live_wrong"), "auto");
    Checks.expect(wrong.code().orElse("").equals("invalid_api_key"), wrong);
    var missing = refused(NotFoundException.class, client, "no-such-model");
    Checks.expect(missing.code().orElse("").equals("model_not_found"), missing);
    var empty = refused(OpenAIServiceException.class, clientOf(Checks.URL, Checks.EMPTY_KEY), "auto");
    Checks.expect(empty.statusCode() == 402 && empty.code().orElse("").equals("request_exceeds_budget"), empty);
    refused(RateLimitException.class, faulty, "rate-limited");
    refused(InternalServerException.class, faulty, "broken");
    var long_ = refused(BadRequestException.class, faulty, "too-long");
    Checks.expect(long_.code().orElse("").equals("context_length_exceeded"), long_);
    return List.of();
  }

  static List<Checks.Usage> cut() {
    var text = new StringBuilder();
    Checks.thrown(OpenAIException.class, () -> {
      try (var chunks = faulty.chat().completions().createStreaming(chatOf("cut", "Say hello.").build())) {
        chunks.stream().forEach(chunk ->
            chunk.choices().forEach(choice -> choice.delta().content().ifPresent(text::append)));
      }
      return text;
    });
    Checks.expect(text.toString().startsWith("One"), text);
    return List.of();
  }

  public static void main(String[] arguments) {
    Checks.check("chat", OpenaiJava::chat);
    Checks.check("stream with usage", OpenaiJava::stream);
    Checks.check("tool loop", OpenaiJava::toolLoop);
    Checks.check("structured output", OpenaiJava::structured);
    Checks.check("own fields, platform and headers", OpenaiJava::ownFields);
    Checks.check("model list", OpenaiJava::models);
    Checks.check("embeddings", OpenaiJava::embeddings);
    Checks.check("Responses", OpenaiJava::responses);
    Checks.check("idempotency", OpenaiJava::idempotency);
    Checks.check("retries after a timeout are charged once with an Idempotency-Key", OpenaiJava::retries);
    Checks.check("errors", OpenaiJava::errors);
    Checks.check("cut stream", OpenaiJava::cut);
    Checks.finish();
  }
}
