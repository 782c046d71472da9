import { CAPABILITY_NAMES, Type } from 'signalbox/plugin';
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
    auth: oneOf(['authorization', 'api-key'], 'The header that carries the key.'),
    max_tokens_field: oneOf(
      ['max_tokens', 'max_completion_tokens'],
      'The request field that caps the output. OpenAI wants the newer one for reasoning models.',
    ),
    developer_role: oneOf(
      ['developer', 'system'],
      'How a `developer` message is sent; `system` for servers that do not know that role.',
    ),
    reasoning_history: oneOf(
      ['left_out', 'reasoning_content', 'reasoning', 'reasoning_details', 'demanded'],
      'Under which name the reasoning of earlier answers is sent back to models that reason; many servers refuse it. `reasoning_details` is OpenRouter’s, with what is signed or encrypted. `demanded` is `reasoning_content` on every answer, blank where nothing is known of it.',
    ),
    unknown_members: oneOf(
      ['sent', 'left_out'],
      'What becomes of members of messages, tool calls and `stream_options` that go beyond OpenAI’s oldest; `left_out` for servers that refuse what they do not know.',
    ),
    cache_hints: oneOf(
      ['left_out', 'sent'],
      'What becomes of `cache_control` on messages, their parts and tools. Left out, it is named in `platform.dropped`.',
    ),
    seed_field: oneOf(['seed', 'random_seed'], 'What the server calls a seed.'),
    named_tool_choice: oneOf(
      ['sent', 'as_required'],
      'How the one tool to call is named; `as_required` sends it as the only tool, for servers that know `required` but no names.',
    ),
    tool_call_ids: oneOf(
      ['as_they_are', 'nine_letters'],
      'The form of tool call IDs. Mistral wants nine letters and digits; others are turned into such.',
    ),
    efforts: someOf(
      EFFORTS,
      'The values of `reasoning_effort` that the server takes, from least to most; another is rounded to the next of them. Empty for all.',
    ),
    leave_out: someOf(
      ['user', 'name', 'stream_options'],
      'Fields that the server has no place for, which change nothing in the answer: `user`, the `name` in messages, `stream_options`.',
    ),
    lacks: someOf(
      CAPABILITY_NAMES,
      'What cannot be asked of the server, such as `seed`: its models do not get requests that need it.',
    ),
    reasoning_lacks: someOf(CAPABILITY_NAMES, 'What cannot be asked of those of its models that reason, besides.'),
  },
  {
    additionalProperties: false,
    description: "Any server that speaks OpenAI's chat completions: vLLM, Ollama, and most providers.",
  },
);
export type DialectSettings = typeof DialectSettings.static;

/** The settings of a server compatible with OpenAI's first models. */
export const PLAIN: DialectSettings = {
  auth: 'authorization',
  max_tokens_field: 'max_tokens',
  developer_role: 'developer',
  reasoning_history: 'left_out',
  unknown_members: 'sent',
  cache_hints: 'left_out',
  seed_field: 'seed',
  named_tool_choice: 'sent',
  tool_call_ids: 'as_they_are',
  efforts: [],
  leave_out: [],
  lacks: [],
  reasoning_lacks: [],
};
