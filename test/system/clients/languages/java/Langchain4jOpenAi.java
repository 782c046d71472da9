import static dev.langchain4j.model.chat.Capability.RESPONSE_FORMAT_JSON_SCHEMA;

import dev.langchain4j.agent.tool.ToolSpecification;
import dev.langchain4j.data.message.AiMessage;
import dev.langchain4j.data.message.ToolExecutionResultMessage;
import dev.langchain4j.data.message.UserMessage;
import dev.langchain4j.data.segment.TextSegment;
import dev.langchain4j.exception.AuthenticationException;
import dev.langchain4j.exception.HttpException;
import dev.langchain4j.exception.InternalServerException;
import dev.langchain4j.exception.InvalidRequestException;
import dev.langchain4j.exception.LangChain4jException;
import dev.langchain4j.exception.ModelNotFoundException;
import dev.langchain4j.exception.RateLimitException;
import dev.langchain4j.model.chat.request.ChatRequest;
import dev.langchain4j.model.chat.request.ResponseFormat;
import dev.langchain4j.model.chat.request.ResponseFormatType;
import dev.langchain4j.model.chat.request.json.JsonObjectSchema;
import dev.langchain4j.model.chat.request.json.JsonSchema;
import dev.langchain4j.model.chat.response.ChatResponse;
import dev.langchain4j.model.chat.response.StreamingChatResponseHandler;
import dev.langchain4j.model.openai.OpenAiChatModel;
import dev.langchain4j.model.openai.OpenAiChatResponseMetadata;
import dev.langchain4j.model.openai.OpenAiEmbeddingModel;
import dev.langchain4j.model.openai.OpenAiResponsesChatModel;
import dev.langchain4j.model.openai.OpenAiStreamingChatModel;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;

final class Langchain4jOpenAi {
  static final OpenAiChatModel client = modelOf(Checks.URL, Checks.KEY, "auto").build();
  static final ToolSpecification weather = ToolSpecification.builder()
      .name("weather")
      .description("The weather of a city")
      .parameters(JsonObjectSchema.builder().addStringProperty("city").required("city").build())
      .build();

  static OpenAiChatModel.OpenAiChatModelBuilder modelOf(String url, String key, String name) {
    return OpenAiChatModel.builder()
        .baseUrl(url + "/v1")
        .apiKey(key)
        .modelName(name)
        .maxRetries(0)
        .supportedCapabilities(RESPONSE_FORMAT_JSON_SCHEMA)
        .strictJsonSchema(true);
  }

  static OpenAiStreamingChatModel streamOf(String url, String key, String name) {
    return OpenAiStreamingChatModel.builder().baseUrl(url + "/v1").apiKey(key).modelName(name).build();
  }

  static List<String> header(ChatResponse answer, String name) {
    var headers = ((OpenAiChatResponseMetadata) answer.metadata()).rawHttpResponse().headers();
    return headers.entrySet().stream()
        .filter(header -> header.getKey().equalsIgnoreCase(name))
        .flatMap(header -> header.getValue().stream())
        .toList();
  }

  static Checks.Usage seen(ChatResponse answer) {
    var usage = answer.tokenUsage();
    var credits = Double.valueOf(header(answer, "x-signalbox-credits").get(0));
    return new Checks.Usage(usage.inputTokenCount(), usage.outputTokenCount(), credits);
  }

  static ChatRequest.Builder hello() {
    return ChatRequest.builder().messages(UserMessage.from("Say hello."));
  }

  static List<Checks.Usage> chat() {
    var answer = client.chat(hello().build());
    Checks.expect(answer.aiMessage().text().contains("simulated"), answer);
    Checks.expect(header(answer, "x-signalbox-model").equals(List.of(answer.modelName())), answer);
    var limited = modelOf(Checks.URL, Checks.KEY, "auto").customParameters(Map.of("budget_limit", 0.000001)).build();
    Checks.thrown(HttpException.class, () -> {
      try {
        return limited.chat(hello().build());
      } catch (LangChain4jException error) {
        throw error.getCause() instanceof Exception cause ? cause : error;
      }
    });
    return List.of(seen(answer));
  }

  /** The answer of a stream, and each part of its text. */
  static ChatResponse read(OpenAiStreamingChatModel model, StringBuilder text) throws Exception {
    var answer = new CompletableFuture<ChatResponse>();
    model.chat(hello().build(), new StreamingChatResponseHandler() {
      @Override
      public void onPartialResponse(String part) {
        text.append(part);
      }

      @Override
      public void onCompleteResponse(ChatResponse whole) {
        answer.complete(whole);
      }

      @Override
      public void onError(Throwable error) {
        answer.completeExceptionally(error);
      }
    });
    return answer.get(60, TimeUnit.SECONDS);
  }

  static List<Checks.Usage> stream() throws Exception {
    var text = new StringBuilder();
    var answer = read(streamOf(Checks.URL, Checks.KEY, "auto"), text);
    Checks.expect(text.toString().contains("simulated"), text);
    var usage = answer.tokenUsage();
    return List.of(new Checks.Usage(usage.inputTokenCount(), usage.outputTokenCount(), null));
  }

  static List<Checks.Usage> toolLoop() {
    var question = UserMessage.from("What is the weather in Bern?");
    var first = client.chat(ChatRequest.builder().messages(question).toolSpecifications(weather).build());
    AiMessage turn = first.aiMessage();
    var result = ToolExecutionResultMessage.from(turn.toolExecutionRequests().get(0), "12 °C");
    var second = client.chat(ChatRequest.builder().messages(question, turn, result).toolSpecifications(weather).build());
    Checks.expect(second.aiMessage().text().contains("12 °C"), second);
    return List.of(seen(first), seen(second));
  }

  static List<Checks.Usage> structured() {
    var city = JsonObjectSchema.builder().addStringProperty("name").required("name").build();
    var format = ResponseFormat.builder()
        .type(ResponseFormatType.JSON)
        .jsonSchema(JsonSchema.builder().name("City").rootElement(city).build())
        .build();
    var answer = client.chat(hello().responseFormat(format).build());
    Checks.expect(answer.aiMessage().text().contains("\"name\""), answer);
    return List.of(seen(answer));
  }

  static List<Checks.Usage> embeddings() {
    var model = OpenAiEmbeddingModel.builder()
        .baseUrl(Checks.URL + "/v1")
        .apiKey(Checks.KEY)
        .modelName("sim-embed")
        .dimensions(256)
        .build();
    var answer = model.embedAll(List.of(TextSegment.from("one"), TextSegment.from("two")));
    Checks.expect(answer.content().size() == 2 && answer.content().get(1).dimension() == 256, answer);
    return List.of(new Checks.Usage(answer.tokenUsage().inputTokenCount(), 0, null));
  }

  static List<Checks.Usage> responses() {
    var model = OpenAiResponsesChatModel.builder()
        .baseUrl(Checks.URL + "/v1")
        .apiKey(Checks.KEY)
        .modelName("auto")
        .store(false)
        .build();
    var answer = model.chat(hello().build());
    Checks.expect(answer.aiMessage().text().contains("simulated"), answer);
    var usage = answer.tokenUsage();
    return List.of(new Checks.Usage(usage.inputTokenCount(), usage.outputTokenCount(), null));
  }

  static <T extends LangChain4jException> T refused(Class<T> kind, String url, String key, String model) {
    return Checks.thrown(kind, () -> modelOf(url, key, model).build().chat(hello().build()));
  }

  static List<Checks.Usage> errors() {
    refused(AuthenticationException.class, Checks.URL, "sb_live_wrong", "auto");
    refused(ModelNotFoundException.class, Checks.URL, Checks.KEY, "no-such-model");
    var empty = refused(LangChain4jException.class, Checks.URL, Checks.EMPTY_KEY, "auto");
    Checks.expect(empty.getCause() instanceof HttpException http && http.statusCode() == 402, empty);
    refused(RateLimitException.class, Checks.FAULTY_URL, Checks.FAULTY_KEY, "rate-limited");
    refused(InternalServerException.class, Checks.FAULTY_URL, Checks.FAULTY_KEY, "broken");
    refused(InvalidRequestException.class, Checks.FAULTY_URL, Checks.FAULTY_KEY, "too-long");
    return List.of();
  }

  static List<Checks.Usage> cut() {
    var text = new StringBuilder();
    Checks.thrown(Exception.class, () -> read(streamOf(Checks.FAULTY_URL, Checks.FAULTY_KEY, "cut"), text));
    Checks.expect(text.toString().startsWith("One"), text);
    return List.of();
  }

  public static void main(String[] arguments) {
    Checks.check("chat, own fields and headers", Langchain4jOpenAi::chat);
    Checks.check("stream with usage", Langchain4jOpenAi::stream);
    Checks.check("tool loop", Langchain4jOpenAi::toolLoop);
    Checks.check("structured output", Langchain4jOpenAi::structured);
    Checks.check("embeddings", Langchain4jOpenAi::embeddings);
    Checks.check("Responses", Langchain4jOpenAi::responses);
    Checks.check("errors", Langchain4jOpenAi::errors);
    Checks.check("cut stream", Langchain4jOpenAi::cut);
    Checks.finish();
  }
}
