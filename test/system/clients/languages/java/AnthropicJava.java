import com.anthropic.client.AnthropicClient;
import com.anthropic.client.okhttp.AnthropicOkHttpClient;
import com.anthropic.core.JsonValue;
import com.anthropic.errors.AnthropicException;
import com.anthropic.errors.AnthropicServiceException;
import com.anthropic.errors.BadRequestException;
import com.anthropic.errors.InternalServerException;
import com.anthropic.errors.NotFoundException;
import com.anthropic.errors.RateLimitException;
import com.anthropic.errors.UnauthorizedException;
import com.anthropic.helpers.MessageAccumulator;
import com.anthropic.models.messages.ContentBlockParam;
import com.anthropic.models.messages.Message;
import com.anthropic.models.messages.MessageCountTokensParams;
import com.anthropic.models.messages.MessageCreateParams;
import com.anthropic.models.messages.Tool;
import com.anthropic.models.messages.ToolResultBlockParam;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;

/** Each answer is validated against the client's own schema. The base URL has no /v1. */
final class AnthropicJava {
  static final AnthropicClient client = clientOf(Checks.URL, Checks.KEY);
  static final AnthropicClient faulty = clientOf(Checks.FAULTY_URL, Checks.FAULTY_KEY);

  static final class City {
    public String name;
    public int inhabitants;
  }

  static final Tool weather = Tool.builder()
      .name("weather")
      .description("The weather of a city")
      .inputSchema(Tool.InputSchema.builder()
          .properties(Tool.InputSchema.Properties.builder()
              .putAdditionalProperty("city", JsonValue.from(Map.of("type", "string")))
              .build())
          .addRequired("city")
          .build())
      .build();

  static AnthropicClient clientOf(String url, String key) {
    return AnthropicOkHttpClient.builder().baseUrl(url).apiKey(key).maxRetries(0).responseValidation(true).build();
  }

  static MessageCreateParams.Builder messageTo(String model, String text) {
    return MessageCreateParams.builder().model(model).maxTokens(500).addUserMessage(text);
  }

  static Double creditsIn(Map<String, JsonValue> properties) {
    return ((Number) properties.get("platform").convert(Map.class).get("credits_consumed")).doubleValue();
  }

  static Checks.Usage seen(Message answer, Map<String, JsonValue> properties) {
    var usage = answer.validate().usage();
    return new Checks.Usage(usage.inputTokens(), usage.outputTokens(), creditsIn(properties));
  }

  static Checks.Usage seen(Message answer) {
    return seen(answer, answer._additionalProperties());
  }

  static String textOf(Message answer) {
    return answer.content().get(0).asText().text();
  }

  static List<Checks.Usage> messages() {
    var params = messageTo("auto", "Say hello.").putAdditionalBodyProperty("budget_limit", JsonValue.from(5)).build();
    try (var reply = client.messages().withRawResponse().create(params)) {
      var answer = reply.parse();
      Checks.expect(textOf(answer).contains("simulated"), answer);
      var credits = Double.valueOf(reply.headers().values("x-signalbox-credits").get(0));
      Checks.expect(credits.equals(creditsIn(answer._additionalProperties())), reply.headers());
      return List.of(seen(answer));
    }
  }

  static List<Checks.Usage> stream() {
    var whole = MessageAccumulator.create();
    var platforms = new ArrayList<Map<String, JsonValue>>();
    try (var events = client.messages().createStreaming(messageTo("auto", "Say hello.").build())) {
      events.stream().forEach(event -> {
        whole.accumulate(event.validate());
        event.messageDelta().ifPresent(delta -> platforms.add(delta._additionalProperties()));
      });
    }
    Checks.expect(textOf(whole.message()).contains("simulated"), whole.message());
    return List.of(seen(whole.message(), platforms.get(0)));
  }

  static List<Checks.Usage> toolLoop() {
    var params = messageTo("auto", "What is the weather in Bern?").addTool(weather);
    var first = client.messages().create(params.build());
    var call = first.content().stream().flatMap(block -> block.toolUse().stream()).findFirst().orElseThrow();
    Checks.expect(call._input().convert(Map.class).containsKey("city"), call);
    var result = ToolResultBlockParam.builder().toolUseId(call.id()).content("12 °C").build();
    params.addMessage(first).addUserMessageOfContentBlockParams(List.of(ContentBlockParam.ofToolResult(result)));
    var second = client.messages().create(params.build());
    Checks.expect(textOf(second).contains("12 °C"), second);
    return List.of(seen(first), seen(second));
  }

  static List<Checks.Usage> structured() {
    var answer = client.messages().create(messageTo("auto", "Describe Bern.").outputConfig(City.class).build());
    Checks.expect(answer.content().get(0).asText().text().name != null, answer);
    return List.of(seen(answer.rawMessage()));
  }

  static List<Checks.Usage> countTokens() {
    var params = MessageCountTokensParams.builder().model("auto").addUserMessage("Say hello.").build();
    Checks.expect(client.messages().countTokens(params).validate().inputTokens() > 0, "no tokens");
    return List.of();
  }

  static List<Checks.Usage> models() {
    var ids = new HashSet<String>();
    for (var model : client.models().list().autoPager()) ids.add(model.validate().id());
    Checks.expect(ids.containsAll(List.of("auto", "sim-large")), ids);
    Checks.expect(client.models().retrieve("sim-large").validate().id().equals("sim-large"), "another model");
    return List.of();
  }

  static <T extends AnthropicServiceException> T refused(Class<T> kind, AnthropicClient client, String model) {
    return Checks.thrown(kind, () -> client.messages().create(messageTo(model, "Say hello.").build()));
  }

  static List<Checks.Usage> errors() {
    refused(UnauthorizedException.class, clientOf(Checks.URL, "sb_live_wrong"), "auto");
    refused(NotFoundException.class, client, "no-such-model");
    var empty = refused(AnthropicServiceException.class, clientOf(Checks.URL, Checks.EMPTY_KEY), "auto");
    Checks.expect(empty.statusCode() == 402, empty);
    refused(RateLimitException.class, faulty, "rate-limited");
    refused(InternalServerException.class, faulty, "broken");
    refused(BadRequestException.class, faulty, "too-long");
    return List.of();
  }

  static List<Checks.Usage> cut() {
    var text = new StringBuilder();
    Checks.thrown(AnthropicException.class, () -> {
      try (var events = faulty.messages().createStreaming(messageTo("cut", "Say hello.").build())) {
        events.stream().forEach(event -> event.contentBlockDelta()
            .flatMap(block -> block.delta().text())
            .ifPresent(delta -> text.append(delta.text())));
      }
      return text;
    });
    Checks.expect(text.toString().startsWith("One"), text);
    return List.of();
  }

  public static void main(String[] arguments) {
    Checks.check("messages, own fields, platform and headers", AnthropicJava::messages);
    Checks.check("stream with usage", AnthropicJava::stream);
    Checks.check("tool loop", AnthropicJava::toolLoop);
    Checks.check("structured output", AnthropicJava::structured);
    Checks.check("count_tokens", AnthropicJava::countTokens);
    Checks.check("model list", AnthropicJava::models);
    Checks.check("errors", AnthropicJava::errors);
    Checks.check("cut stream", AnthropicJava::cut);
    Checks.finish();
  }
}
