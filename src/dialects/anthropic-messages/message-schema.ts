import { type TProperties, Type } from '@sinclair/typebox';
import { Platform } from '../../core/decision/platform.ts';
import { modelId } from '../../core/decision/shared-fields.ts';
import { always, count, named, orNull, shape, text, textOrNull, word } from '../../core/define/fields.ts';
import { MessagesError } from './error-schema.ts';

const counts = {
  input_tokens: count('Input tokens that were neither read from the provider’s cache nor written to it.', 12),
  cache_creation_input_tokens: count('Input tokens that were written to the cache.', 0),
  cache_read_input_tokens: count('Input tokens that were read from the cache.', 0),
  output_tokens: count('Output tokens, including thinking.', 34),
};

const usage = shape(
  'The tokens of the answer. Members that are not listed here come from Anthropic’s own models.',
  counts,
);

const textBlock = { type: always('text'), text: text('The text.') };
const thinkingBlock = {
  type: always('thinking'),
  thinking: text('The thinking, if the model shows it.'),
  signature: text('State that only the model that wrote it can read. Send it back unchanged.'),
};
const redactedBlock = {
  type: always('redacted_thinking'),
  data: text('State that only the model that wrote it can read. Send it back unchanged.'),
};
const callBlock = {
  type: always('tool_use'),
  id: text('The ID of the call. The `tool_result` refers to it.', 'toolu_01A09q90qw90lq917835lq9'),
  name: text('The tool.', 'weather'),
  input: shape('The arguments. If the model wrote no JSON object: `{"INVALID_JSON": "…"}`.', {}),
};
const other = Type.Object({ type: text('A type that only Anthropic’s own models use.') });
const blocks = [textBlock, thinkingBlock, redactedBlock, callBlock].map((members: TProperties) => Type.Object(members));
const Block = Type.Union([...blocks, other], { description: 'A block of content.' });

const STOPS = ['end_turn', 'max_tokens', 'stop_sequence', 'tool_use', 'pause_turn', 'refusal'] as const;
const stopReason = Type.Union([word(STOPS, 'Why the answer ended.'), Type.String()]);
const ending = {
  stop_reason: orNull(stopReason, 'Null before the end.'),
  stop_sequence: textOrNull('The stop sequence that ended the answer. Only Anthropic’s own models report it.'),
};

const members = {
  id: text('The ID of the answer. For Anthropic’s own models it is their ID.', 'msg_0a4x1wm3zk0'),
  type: always('message'),
  role: always('assistant'),
  model: modelId('The model that answered. For Anthropic’s own models it is their name of the model.'),
  content: Type.Array(Block),
  ...ending,
  usage,
};

export const MessagesAnswer = named('MessagesAnswer', 'A whole answer.', { ...members, platform: Platform });

const event = <Members extends TProperties>(type: string, fields: Members) =>
  Type.Object({ type: always(type), ...fields });
const index = count('The index of the block. Indexes are in order and without gaps.', 0);
const Delta = Type.Union([
  Type.Object({ type: always('text_delta'), text: text('The next piece.') }),
  Type.Object({ type: always('thinking_delta'), thinking: text('The next piece.') }),
  Type.Object({ type: always('signature_delta'), signature: text('Ends a thought.') }),
  Type.Object({ type: always('input_json_delta'), partial_json: text('The next piece of the arguments’ JSON text.') }),
  other,
]);

export const MessagesEvent = Type.Union(
  [
    event('message_start', { message: shape('The message without its content.', members) }),
    event('content_block_start', { index, content_block: Block }),
    event('content_block_delta', { index, delta: Delta }),
    event('content_block_stop', { index }),
    event('message_delta', { delta: shape('The end.', ending), usage, platform: Platform }),
    event('message_stop', {}),
    event('ping', {}),
    Type.Intersect([MessagesError, Type.Object({ platform: Type.Optional(Platform) })]),
  ],
  { title: 'MessagesEvent', description: 'The `data` of one event. Clients must ignore unknown types.' },
);
