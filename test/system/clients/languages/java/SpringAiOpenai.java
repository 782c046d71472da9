import java.util.List;
import java.util.Map;
import org.springframework.ai.chat.messages.AssistantMessage;
import org.springframework.ai.chat.messages.ToolResponseMessage;
import org.springframework.ai.chat.messages.UserMessage;
import org.springframework.ai.chat.model.ChatResponse;
import org.springframework.ai.chat.prompt.Prompt;
import org.springframework.ai.openai.OpenAiChatModel;
import org.springframework.ai.openai.OpenAiChatOptions;
import org.springframework.ai.openai.OpenAiEmbeddingModel;
import org.springframework.ai.openai.OpenAiEmbeddingOptions;
import org.springframework.ai.tool.function.FunctionToolCallback;

import com.openai.errors.InternalServerException;
import com.openai.errors.NotFoundException;
import com.openai.errors.OpenAIException;
import com.openai.errors.OpenAIServiceException;
import com.openai.errors.RateLimitException;
import com.openai.errors.UnauthorizedException;

final class SpringAiOpenai {
  record City(String city) {}

  static OpenAiChatOptions.Builder optionsOf(String url, String key, String model) {
    return OpenAiChatOptions.builder().baseUrl(url + "/v1").apiKey(key).model(model).maxRetries(0);
  }

  static OpenAiChatOptions.Builder auto() {
    return optionsOf(Checks.URL, Checks.KEY, "auto");
  }

  static ChatResponse call(OpenAiChatOptions.Builder options, Prompt prompt) {
    return OpenAiChatModel.builder().options(options.build()).build().call(prompt);
  }

  static Checks.Usage seen(ChatResponse answer) {
    var usage = answer.getMetadata().getUsage();
    return new Checks.Usage(usage.getPromptTokens(), usage.getCompletionTokens(), null);
  }

  static String textOf(ChatResponse answer) {
    return answer.getResult().getOutput().getText();
  }

  static List<Checks.Usage> chat() {
    var answer = call(auto().extraBody(Map.of("budget_limit", 5)), new Prompt("Say hello."));
    Checks.expect(textOf(answer).contains("simulated"), answer);
    var small = auto().extraBody(Map.of("budget_limit", 0.000001));
    Checks.thrown(OpenAIServiceException.class, () -> call(small, new Prompt("Say hello.")));
    return List.of(seen(answer));
  }

  static List<ChatResponse> read(OpenAiChatOptions.Builder options, StringBuilder text) {
    var model = OpenAiChatModel.builder().options(options.streamUsage(true).build()).build();
    return model.stream(new Prompt("Say hello."))
        .doOnNext(part -> {
          if (part.getResult() != null && textOf(part) != null) text.append(textOf(part));
        })
        .collectList()
        .block();
  }

  static List<Checks.Usage> stream() {
    var text = new StringBuilder();
    var parts = read(auto(), text);
    Checks.expect(text.toString().contains("simulated"), text);
    return List.of(seen(parts.get(parts.size() - 1)));
  }

  static List<Checks.Usage> toolLoop() {
    var weather = FunctionToolCallback.builder("weather", (City city) -> "12 °C")
        .description("The weather of a city")
        .inputType(City.class)
        .build();
    var options = auto().toolCallbacks(List.of(weather));
    var question = new UserMessage("What is the weather in Bern?");
    var first = call(options, new Prompt(question));
    AssistantMessage turn = first.getResult().getOutput();
    var made = turn.getToolCalls().get(0);
    var result = new ToolResponseMessage.ToolResponse(made.id(), made.name(), weather.call(made.arguments()));
    var results = ToolResponseMessage.builder().responses(List.of(result)).build();
    var second = call(options, new Prompt(List.of(question, turn, results)));
    Checks.expect(textOf(second).contains("12 °C"), second);
    return List.of(seen(first), seen(second));
  }

  static List<Checks.Usage> structured() {
    var schema = """
        {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": false}""";
    var answer = call(auto().outputSchema(schema), new Prompt("Describe Bern."));
    Checks.expect(textOf(answer).contains("\"city\""), answer);
    return List.of(seen(answer));
  }

  static List<Checks.Usage> embeddings() {
    var options = OpenAiEmbeddingOptions.builder()
        .baseUrl(Checks.URL + "/v1")
        .apiKey(Checks.KEY)
        .model("sim-embed")
        .dimensions(256)
        .build();
    var answer = OpenAiEmbeddingModel.builder().options(options).build().embedForResponse(List.of("one", "two"));
    Checks.expect(answer.getResults().size() == 2 && answer.getResult().getOutput().length == 256, answer);
    return List.of(new Checks.Usage(answer.getMetadata().getUsage().getPromptTokens(), 0, null));
  }

  static <T extends Throwable> T refused(Class<T> kind, String url, String key, String model) {
    return Checks.thrown(kind, () -> call(optionsOf(url, key, model), new Prompt("Say hello.")));
  }

  static List<Checks.Usage> errors() {
    refused(UnauthorizedException.class, Checks.URL, "sb_live_wrong", "auto");
    refused(NotFoundException.class, Checks.URL, Checks.KEY, "no-such-model");
    var empty = refused(OpenAIServiceException.class, Checks.URL, Checks.EMPTY_KEY, "auto");
    Checks.expect(empty.statusCode() == 402, empty);
    refused(RateLimitException.class, Checks.FAULTY_URL, Checks.FAULTY_KEY, "rate-limited");
    refused(InternalServerException.class, Checks.FAULTY_URL, Checks.FAULTY_KEY, "broken");
    return List.of();
  }

  static List<Checks.Usage> cut() {
    var text = new StringBuilder();
    Checks.thrown(OpenAIException.class, () -> read(optionsOf(Checks.FAULTY_URL, Checks.FAULTY_KEY, "cut"), text));
    Checks.expect(text.toString().startsWith("One"), text);
    return List.of();
  }

  public static void main(String[] arguments) {
    Checks.check("chat and own fields", SpringAiOpenai::chat);
    Checks.check("stream with usage", SpringAiOpenai::stream);
    Checks.check("tool loop", SpringAiOpenai::toolLoop);
    Checks.check("structured output", SpringAiOpenai::structured);
    Checks.check("embeddings", SpringAiOpenai::embeddings);
    Checks.check("errors", SpringAiOpenai::errors);
    Checks.check("cut stream", SpringAiOpenai::cut);
    Checks.finish();
  }
}
