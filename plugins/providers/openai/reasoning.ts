import type { Members, Turn } from 'signalbox/plugin';
import { isObject, type Json, listOf, textOf } from '../json.ts';
import type { OpenAiSettings } from './settings.ts';

const FORMATS = {
  openai: 'openai-responses-v1',
  azure: 'azure-openai-responses-v1',
  bedrock: 'bedrock-openai-responses-v1',
} as const;

/** The `format` of encrypted reasoning in `reasoning_details`. A service can read only its own encrypted reasoning. */
export type ReasoningFormat = (typeof FORMATS)[keyof typeof FORMATS];

export const formatOf = ({ service }: OpenAiSettings): ReasoningFormat => FORMATS[service];

/** Returns a reasoning item for callers: its summary, then its encrypted content. @param index the index of the item in the answer */
export function detailsOf(item: Json, index: number, format: ReasoningFormat): readonly Members[] {
  const data = textOf(item.encrypted_content);
  // OpenAI stores nothing, so an item without its content cannot be sent back.
  if (data === '') return [];
  const id = textOf(item.id);
  const common = { format, index, ...(id !== '' && { id }) };
  const summaries = summariesOf(item).map((summary) => ({ type: 'reasoning.summary', summary, ...common }));
  return [...summaries, { type: 'reasoning.encrypted', data, ...common }];
}

export function summariesOf(item: Json): readonly string[] {
  return listOf(item.summary).map((part) => (isObject(part) ? textOf(part.text) : ''));
}

/** Puts reasoning items back at their positions. `withReasoning` omits trailing reasoning items, which the API rejects. */
export function withReasoning(turn: Turn, output: readonly Members[], format: ReasoningFormat): readonly Members[] {
  if (output.length === 0) return [];
  const items: Members[] = [];
  let next = 0;
  for (const { item, index } of reasoningIn(turn, format)) {
    while (items.length < index && next < output.length - 1) items.push(output[next++]!);
    items.push(item);
  }
  return [...items, ...output.slice(next)];
}

/** Returns the reasoning that a turn contains, with its index in the answer. */
function reasoningIn({ extras }: Turn, format: ReasoningFormat) {
  const { reasoning_details: details } = extras;
  const found: { readonly item: Members; readonly index: number }[] = [];
  let summary: { readonly type: 'summary_text'; readonly text: string }[] = [];
  for (const detail of listOf(details)) {
    if (!isObject(detail) || detail.format !== format) continue;
    const { type, id, index } = detail;
    const encrypted_content = textOf(detail.data);
    if (type === 'reasoning.summary') summary.push({ type: 'summary_text', text: textOf(detail.summary) });
    if (type !== 'reasoning.encrypted' || encrypted_content === '') continue;
    const idMember = textOf(id) !== '' && { id };
    const item = { type: 'reasoning', ...idMember, summary, encrypted_content };
    found.push({ item, index: typeof index === 'number' ? index : 0 });
    summary = [];
  }
  return found;
}
