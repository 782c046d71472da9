import { isObject, type Json, listOf, parseJson, textOf } from '../../../plugins/providers/json.ts';
import type { Behaviour } from '../fake-upstream.ts';
import { pieces } from '../openai-wire.ts';
import {
  type Asked,
  lines,
  mergedTurns,
  type Script,
  scriptOf,
  type Tokens,
  type Turn,
  turn,
  type WireRequest,
} from './dialect.ts';
import { encryptedOf, itemsOf } from './openai-input.ts';

/** The dialect of OpenAI's Responses. Types: resources/responses/responses.d.ts of openai 7.59.0. */

let count = 0;

/** Returns a `Response` as the API sends it. */
export function responseOf(request: WireRequest, behaviour: Behaviour): object {
  const script = scriptFor(request, behaviour);
  return ended(request, script, outputOf(request, script, behaviour));
}

/** Returns the events of a streamed response. Each paragraph of reasoning is an item of its own. */
export function eventsOf(request: WireRequest, behaviour: Behaviour): readonly string[] {
  const script = scriptFor(request, behaviour);
  const output = outputOf(request, script, behaviour);
  const whole = ended(request, script, output);
  const begun = { ...whole, status: 'in_progress', output: [], usage: null, incomplete_details: null };
  const events = [
    { type: 'response.created', response: begun },
    { type: 'response.in_progress', response: begun },
    ...output.flatMap((item, at) => eventsOfItem(item, at, script.text)),
    { type: `response.${whole.status}`, response: whole },
  ];
  return events.map((event, at) => told({ ...event, sequence_number: at }));
}

/** OpenAI's models finish a refusal with the same reason as any answer. */
function scriptFor(request: WireRequest, behaviour: Behaviour): Script {
  const script = scriptOf(request, behaviour);
  return behaviour.refusal === undefined ? script : { ...script, finish: behaviour.finish ?? 'stop' };
}

/** An event of a stream; its name is its type. */
export function told(fields: { readonly type: string; readonly [name: string]: unknown }): string {
  return `event: ${fields.type}\ndata: ${JSON.stringify(fields)}\n\n`;
}

/** The API's names for the reasons why an answer is incomplete. */
const INCOMPLETE: ReadonlyMap<string, string> = new Map([
  ['length', 'max_output_tokens'],
  ['content_filter', 'content_filter'],
]);

function ended({ body }: WireRequest, { finish, tokens }: Script, output: readonly Json[]) {
  const reason = INCOMPLETE.get(finish);
  return {
    id: `resp_fake${++count}`,
    object: 'response',
    created_at: 1_760_000_000,
    status: reason === undefined ? 'completed' : 'incomplete',
    error: null,
    incomplete_details: reason === undefined ? null : { reason },
    instructions: body.instructions ?? null,
    max_output_tokens: body.max_output_tokens ?? null,
    model: body.model,
    output,
    parallel_tool_calls: body.parallel_tool_calls ?? true,
    previous_response_id: null,
    reasoning: { effort: 'medium', summary: null, ...Object(body.reasoning) },
    completed_at: 1_760_000_001,
    presence_penalty: 0,
    frequency_penalty: 0,
    top_logprobs: 0,
    max_tool_calls: null,
    background: false,
    service_tier: 'default',
    safety_identifier: body.safety_identifier ?? null,
    prompt_cache_key: body.prompt_cache_key ?? null,
    store: body.store ?? true,
    temperature: 1,
    text: body.text ?? { format: { type: 'text' } },
    tool_choice: body.tool_choice ?? 'auto',
    tools: listOf(body.tools).map((tool) => ({ description: null, strict: true, ...Object(tool) })),
    top_p: 1,
    truncation: 'disabled',
    usage: tokens && usageOf(tokens),
    user: null,
    metadata: body.metadata ?? {},
  };
}

const usageOf = ({ prompt, cached, written, completion, reasoning }: Tokens) => ({
  input_tokens: prompt,
  input_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
  output_tokens: completion,
  output_tokens_details: { reasoning_tokens: reasoning },
  total_tokens: prompt + completion,
});

function outputOf({ body }: WireRequest, script: Script, { reasoning, refusal }: Behaviour): readonly Json[] {
  const said = refusal === undefined ? outputText(script.text.join('')) : { type: 'refusal', refusal };
  const message = { type: 'message', id: `msg_fake${count}`, status: 'completed', role: 'assistant', content: [said] };
  const calls = script.calls.map(({ id, name, arguments: text }, at): Json => {
    const common = { call_id: id ?? `call_fake${count}_${at}`, name, status: 'completed' };
    return customIn(body, name)
      ? { type: 'custom_tool_call', id: `ctc_fake${count}_${at}`, ...common, input: Object(parseJson(text)).input }
      : { type: 'function_call', id: `fc_fake${count}_${at}`, ...common, arguments: text };
  });
  const others: readonly Json[] = calls.length > 0 ? calls : [message];
  const thoughts = reasoning ? reasoning.split('\n\n') : [];
  return others.flatMap((item, at) => {
    // A paragraph of reasoning comes before each item; all that are left come before the last item.
    const here = thoughts.slice(at, at === others.length - 1 ? undefined : at + 1);
    return [...here.map((thought, nth) => reasoningItem(body, thought, at + nth, item)), item];
  });
}

const customIn = ({ tools }: Json, name: string): boolean =>
  listOf(tools).some((tool) => isObject(tool) && tool.type === 'custom' && tool.name === name);

const outputText = (text: string) => ({ type: 'output_text', text, annotations: [], logprobs: [] });

function reasoningItem({ reasoning }: Json, thought: string, nth: number, next: Json): Json {
  const id = `rs_fake${count}_${nth}`;
  const isShown = Object(reasoning).summary != null;
  const summary = isShown ? [{ type: 'summary_text', text: thought }] : [];
  return { type: 'reasoning', id, summary, encrypted_content: encryptedOf(id, summary, next) };
}

type Event = { readonly type: string; readonly [name: string]: unknown };

function eventsOfItem(item: Json, output_index: number, said: readonly string[]): readonly Event[] {
  const place = { item_id: item.id, output_index };
  const at = (type: string, fields: Json): Event => ({ type: `response.${type}`, ...place, ...fields });
  const of = (type: string, fields: Json): Event => ({ type: `response.${type}`, output_index, ...fields });
  const open = { ...item, status: 'in_progress', ...emptied(item) };
  return [
    of('output_item.added', { item: open }),
    ...(item.type === 'function_call' ? callEvents(textOf(item.arguments), at) : []),
    ...(item.type === 'custom_tool_call' ? inputEvents(textOf(item.input), at) : []),
    ...listOf(item.summary).flatMap((part, summary_index) => summaryEvents(part, summary_index, at)),
    ...listOf(item.content).flatMap((part) => partEvents(Object(part), said, at)),
    of('output_item.done', { item }),
  ];
}

/** Returns an item without the members that are still empty when the item begins. */
function emptied({ type }: Json): Json {
  if (type === 'function_call') return { arguments: '' };
  if (type === 'custom_tool_call') return { input: '' };
  return type === 'reasoning' ? { summary: [], encrypted_content: 'gAAA' } : { content: [] };
}

type At = (type: string, fields: Json) => Event;

const callEvents = (text: string, at: At): readonly Event[] => [
  ...pieces(text).map((delta) => at('function_call_arguments.delta', { delta })),
  at('function_call_arguments.done', { arguments: text }),
];

const inputEvents = (text: string, at: At): readonly Event[] => [
  ...pieces(text).map((delta) => at('custom_tool_call_input.delta', { delta })),
  at('custom_tool_call_input.done', { input: text }),
];

function summaryEvents(part: unknown, summary_index: number, at: At): readonly Event[] {
  const text = textOf(Object(part).text);
  return [
    at('reasoning_summary_part.added', { summary_index, part: { type: 'summary_text', text: '' } }),
    ...pieces(text).map((delta) => at('reasoning_summary_text.delta', { summary_index, delta })),
    at('reasoning_summary_text.done', { summary_index, text }),
    at('reasoning_summary_part.done', { summary_index, part }),
  ];
}

function partEvents(part: Json, said: readonly string[], at: At): readonly Event[] {
  const content_index = 0;
  const isRefusal = part.type === 'refusal';
  const name = isRefusal ? 'refusal' : 'output_text';
  const deltas = isRefusal ? pieces(textOf(part.refusal)) : said;
  const empty = isRefusal ? { ...part, refusal: '' } : { ...part, text: '' };
  const more = isRefusal ? {} : { logprobs: [] };
  return [
    at('content_part.added', { content_index, part: empty }),
    ...deltas.map((delta) => at(`${name}.delta`, { content_index, delta, ...more })),
    at(`${name}.done`, { content_index, [isRefusal ? 'refusal' : 'text']: deltas.join(''), ...more }),
    at('content_part.done', { content_index, part }),
  ];
}

export function asked({ body }: WireRequest): Asked {
  const items = itemsOf(body);
  const format = Object(Object(body.text).format);
  const cap = body.max_output_tokens;
  const choice = body.tool_choice;
  return {
    model: textOf(body.model),
    stream: body.stream === true,
    system: lines(textOf(body.instructions), ...items.filter(isInstruction).map(({ content }) => textIn(content))),
    turns: mergedTurns(items.filter((item) => !isInstruction(item)).flatMap(turnOf(items))),
    tools: listOf(body.tools).map((tool) => textOf(Object(tool).name)),
    toolChoice: isObject(choice) ? [textOf(choice.name)] : choice === 'none' || choice === 'required' ? choice : 'auto',
    maxTokens: typeof cap === 'number' ? cap : null,
    schema: format.type === 'json_schema' ? (format.schema ?? null) : null,
  };
}

const isInstruction = ({ role }: Json): boolean => role === 'system' || role === 'developer';

function turnOf(items: readonly Json[]): (item: Json) => readonly Turn[] {
  const names = new Map(
    items.map(({ type, call_id, name }) => [
      /tool_call$|^function_call$/.test(textOf(type)) ? call_id : null,
      textOf(name),
    ]),
  );
  return (item) => {
    switch (item.type) {
      case 'reasoning':
        return [];
      case 'function_call':
        return [turn('assistant', { calls: [{ name: textOf(item.name), input: parseJson(textOf(item.arguments)) }] })];
      case 'custom_tool_call':
        return [turn('assistant', { calls: [{ name: textOf(item.name), input: { input: item.input } }] })];
      case 'custom_tool_call_output':
      case 'function_call_output':
        return [turn('user', { results: [{ name: names.get(item.call_id) ?? '', text: textIn(item.output) }] })];
    }
    const media = listOf(item.content).flatMap((part) => mediaIn(Object(part)));
    return [turn(item.role === 'assistant' ? 'assistant' : 'user', { text: textIn(item.content), media })];
  };
}

function textIn(content: unknown): string {
  if (typeof content === 'string') return content;
  return lines(...listOf(content).map((part) => textOf(Object(part).text) || textOf(Object(part).refusal)));
}

const mediaIn = ({ image_url, file_data }: Json): string[] =>
  [image_url, file_data].map(textOf).filter((url) => url !== '');
