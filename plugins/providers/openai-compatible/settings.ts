import { LACKED_CAPABILITIES, Type } from 'signalbox/plugin';
import { EFFORTS } from './efforts.ts';

/** Returns an enumeration whose first value is the default. */
function oneOf<const Words extends readonly [string, ...string[]]>(words: Words, description: string) {
  const literals = words.map((word) => Type.Literal(word));
  return Type.Unsafe<Words[number]>(Type.Union(literals, { default: words[0], description }));
}

function someOf<const Words extends readonly string[]>(words: Words, description: string) {
  const literals = words.map((word) => Type.Literal(word));
  return Type.Array(Type.Unsafe<Words[number]>(Type.Union(literals)), { default: [], description });
}

/** The differences between servers of the dialect, which presets and policies set. */
export const DialectSettings = Type.Object(
  {
    auth: oneOf(
      ['authorization', 'api-key'],
      'Header for the API key. Tokens of a token source always go in `authorization`.',
    ),
    max_tokens_field: oneOf(
      ['max_tokens', 'max_completion_tokens'],
      'Field that limits the output. OpenAI requires the newer field for reasoning models.',
    ),
    developer_role: oneOf(
      ['system', 'developer'],
      'Role of `developer` messages. Servers that do not know `developer` reject it.',
    ),
    empty_content: oneOf(
      ['empty_text', 'null'],
      'Content of earlier answers without text, such as answers with tool calls. Strict servers reject `null`.',
    ),
    system_messages: oneOf(
      ['anywhere', 'first'],
      'Where the server accepts system messages. `first`: one, at the beginning, as in many chat templates; later system messages become marked text of the user.',
    ),
    reasoning_history: oneOf(
      ['left_out', 'reasoning_content', 'reasoning', 'reasoning_details', 'demanded'],
      'Field for the reasoning of earlier answers. Many servers reject it. `reasoning_details` is OpenRouter’s field, with signed parts. `demanded` sends `reasoning_content` with every answer, and a blank if it is unknown.',
    ),
    unknown_members: oneOf(
      ['sent', 'left_out'],
      'Newer members of messages, tool calls and `stream_options`. Use `left_out` for servers that reject unknown members.',
    ),
    cache_hints: oneOf(
      ['left_out', 'sent'],
      '`cache_control` of messages, parts and tools. If it is left out, `platform.dropped` lists it.',
    ),
    seed_field: oneOf(['seed', 'random_seed'], 'Name of the seed field.'),
    named_tool_choice: oneOf(
      ['sent', 'as_required'],
      'How a request forces a named tool. `as_required` sends only that tool, for servers that do not support names.',
    ),
    tool_call_ids: oneOf(
      ['as_they_are', 'nine_letters'],
      'Form of tool call IDs. Mistral requires nine letters and digits.',
    ),
    efforts: someOf(
      EFFORTS,
      'Accepted values of `reasoning_effort`, in ascending order; others are rounded up or down. An empty list means all.',
    ),
    server: oneOf(
      ['unknown', 'ollama', 'llama_cpp', 'lm_studio', 'vllm', 'openai'],
      'The program that serves the models, whose own API tells `discover` which models it has. `openai`: any server that lists its models at `/models`.',
    ),
    embeddings_as: oneOf(
      ['float', 'base64'],
      'Form of vectors to request. `base64` is half as large. Both forms are read.',
    ),
    completions: oneOf(
      ['none', 'prompt', 'prompt_and_suffix'],
      'Whether the server continues texts (`/v1/completions`), and whether it accepts a `suffix`.',
    ),
    completions_path: oneOf(['/completions', '/beta/completions'], 'Where the server continues texts.'),
    service_tier: oneOf(
      ['left_out', 'sent', 'always'],
      'Whether the server knows `service_tier`. If it is left out, `platform.dropped` lists it. `always`: a request that draws on a budget or balance and asks for no tier gets the tier `default`, because a setting of the account could choose another one.',
    ),
    leave_out: someOf(
      ['user', 'name', 'stream_options'],
      'Fields to omit because the server rejects them. The answer stays the same.',
    ),
    lacks: someOf(
      LACKED_CAPABILITIES,
      'Features that the server lacks. Requests that need one of them go to other servers.',
    ),
    reasoning_lacks: someOf(LACKED_CAPABILITIES, 'Features that its reasoning models also lack.'),
  },
  {
    additionalProperties: false,
    description: "Any server that implements OpenAI's chat completions: vLLM, Ollama, and most providers.",
  },
);
export type DialectSettings = typeof DialectSettings.static;

/** The settings that every server accepts: the default of each setting. */
export const PLAIN = Object.fromEntries(
  Object.entries(DialectSettings.properties).map(([name, setting]) => [name, setting.default]),
) as DialectSettings;
