import { LACKED_CAPABILITIES, Type } from 'signalbox/plugin';
import { EFFORTS } from './efforts.ts';

/** An enumeration whose first value is the default. */
function oneOf<const Words extends readonly [string, ...string[]]>(words: Words, description: string) {
  const literals = words.map((word) => Type.Literal(word));
  return Type.Unsafe<Words[number]>(Type.Union(literals, { default: words[0], description }));
}

function someOf<const Words extends readonly string[]>(words: Words, description: string) {
  const literals = words.map((word) => Type.Literal(word));
  return Type.Array(Type.Unsafe<Words[number]>(Type.Union(literals)), { default: [], description });
}

/** The differences between servers of the dialect. Set by presets and policies. */
export const DialectSettings = Type.Object(
  {
    auth: oneOf(['authorization', 'api-key'], 'Header of the key.'),
    max_tokens_field: oneOf(
      ['max_tokens', 'max_completion_tokens'],
      'Field that caps the output. OpenAI wants the newer one for reasoning models.',
    ),
    developer_role: oneOf(
      ['system', 'developer'],
      'Role of `developer` messages. Servers without it refuse `developer`.',
    ),
    empty_content: oneOf(
      ['empty_text', 'null'],
      'Content of earlier answers without text, such as answers with tool calls. Strict servers refuse `null`.',
    ),
    system_messages: oneOf(
      ['anywhere', 'first'],
      'Where the server takes system messages. `first`: one, at the beginning, as many chat templates; later ones become marked text of the user.',
    ),
    reasoning_history: oneOf(
      ['left_out', 'reasoning_content', 'reasoning', 'reasoning_details', 'demanded'],
      'Field for the reasoning of earlier answers; many servers refuse it. `reasoning_details` is OpenRouter’s, with signed parts. `demanded` sends `reasoning_content` with every answer, blank if unknown.',
    ),
    unknown_members: oneOf(
      ['sent', 'left_out'],
      'Newer members of messages, tool calls and `stream_options`; `left_out` for servers that refuse unknown ones.',
    ),
    cache_hints: oneOf(
      ['left_out', 'sent'],
      '`cache_control` of messages, parts and tools. If left out, `platform.dropped` names it.',
    ),
    seed_field: oneOf(['seed', 'random_seed'], 'Name of the seed field.'),
    named_tool_choice: oneOf(
      ['sent', 'as_required'],
      'How a named tool is demanded; `as_required` sends only that tool, for servers that know no names.',
    ),
    tool_call_ids: oneOf(
      ['as_they_are', 'nine_letters'],
      'Form of tool call IDs. Mistral wants nine letters and digits.',
    ),
    efforts: someOf(
      EFFORTS,
      'Accepted values of `reasoning_effort`, ascending; others are rounded up or down. Empty for all.',
    ),
    embeddings_as: oneOf(['float', 'base64'], 'Form of vectors to ask for; `base64` is half as large. Both are read.'),
    leave_out: someOf(
      ['user', 'name', 'stream_options'],
      'Fields to omit because the server refuses them; the answer stays the same.',
    ),
    lacks: someOf(LACKED_CAPABILITIES, 'Features that the server lacks. Requests that need one go elsewhere.'),
    reasoning_lacks: someOf(LACKED_CAPABILITIES, 'Features that its reasoning models also lack.'),
  },
  {
    additionalProperties: false,
    description: "Any server that speaks OpenAI's chat completions: vLLM, Ollama, and most providers.",
  },
);
export type DialectSettings = typeof DialectSettings.static;

/** The settings that every server accepts: the default of each, which is of the setting's type. */
export const PLAIN = Object.fromEntries(
  Object.entries(DialectSettings.properties).map(([name, setting]) => [name, setting.default]),
) as DialectSettings;
