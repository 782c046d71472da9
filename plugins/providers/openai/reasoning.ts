import type { ChatMessage, Members } from 'signalbox/plugin';
import { isObject, type Json, listOf, textOf } from '../json.ts';
import type { OpenAiSettings } from './settings.ts';

/** How a service's encrypted reasoning is called in `reasoning_details`: each reads its own alone. */
export type Format = 'openai-responses-v1' | 'azure-openai-responses-v1';

export const formatOf = ({ service }: OpenAiSettings): Format =>
  service === 'azure' ? 'azure-openai-responses-v1' : 'openai-responses-v1';

/** A reasoning item for callers to keep: its summary, and behind it what only its service can read. `index`: its place in the answer. */
export function detailsOf(item: Json, index: number, format: Format): readonly Members[] {
  const data = textOf(item.encrypted_content);
  // Nothing is stored there: without its content an item cannot go back.
  if (data === '') return [];
  const id = textOf(item.id);
  const common = { format, index, ...(id !== '' && { id }) };
  const summaries = summariesOf(item).map((summary) => ({ type: 'reasoning.summary', summary, ...common }));
  return [...summaries, { type: 'reasoning.encrypted', data, ...common }];
}

export function summariesOf(item: Json): readonly string[] {
  return listOf(item.summary).map((part) => (isObject(part) ? textOf(part.text) : ''));
}

/** The items of an answer that comes back, its reasoning where it was: the API refuses reasoning that nothing follows. */
export function withReasoning(message: ChatMessage, said: readonly Members[], format: Format): readonly Members[] {
  if (said.length === 0) return [];
  const items: Members[] = [];
  let next = 0;
  for (const { item, index } of reasoningIn(message, format)) {
    while (items.length < index && next < said.length - 1) items.push(said[next++]!);
    items.push(item);
  }
  return [...items, ...said.slice(next)];
}

interface Placed {
  readonly item: Members;
  /** Its place in the answer. */
  readonly index: number;
}

function reasoningIn(message: ChatMessage, format: Format): readonly Placed[] {
  const { reasoning_details: details }: Members = message;
  const found: Placed[] = [];
  let summary: { readonly type: 'summary_text'; readonly text: string }[] = [];
  for (const detail of listOf(details)) {
    if (!isObject(detail) || detail.format !== format) continue;
    const { type, id, index } = detail;
    const encrypted_content = textOf(detail.data);
    if (type === 'reasoning.summary') summary.push({ type: 'summary_text', text: textOf(detail.summary) });
    if (type !== 'reasoning.encrypted' || encrypted_content === '') continue;
    const known = textOf(id) !== '' && { id };
    const item = { type: 'reasoning', ...known, summary, encrypted_content };
    found.push({ item, index: typeof index === 'number' ? index : 0 });
    summary = [];
  }
  return found;
}
