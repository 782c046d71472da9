import { isObject, type Json } from '../../plugins/providers/json.ts';
import type { ProviderCall } from '../../src/contract/provider.ts';
import { type Adapter, SUBJECTS, type Subject } from './accepted-subjects.ts';

/** Changes a member of the body that is sent. The root has no name. */
type Change = (name: string, value: unknown, call: ProviderCall) => unknown;

const others = (value: unknown, test: (item: Json) => boolean): unknown =>
  Array.isArray(value) ? value.filter((item) => !test(item)) : value;

const isResult = ({ type }: Json): boolean => type === 'tool_result';
const hasBlank = ({ request }: ProviderCall): boolean =>
  request.conversation.turns.some(({ parts }) => parts.some((part) => part.type === 'text' && part.text === ''));

/** Adapters with plausible mistakes, each with the name of the correct subject that it alters. */
export const MUTANTS: readonly (readonly [of: string, name: string, Subject])[] = [
  sending('Claude of old', 'sends blank texts', (name, value, call) =>
    name === 'content' && Array.isArray(value) && hasBlank(call) ? [...value, { type: 'text', text: '' }] : value,
  ),
  sending('Claude of old', 'puts tool results after the user’s text', (name, value) =>
    name === 'content' && Array.isArray(value)
      ? [...value.filter((block) => !isResult(block)), ...value.filter(isResult)]
      : value,
  ),
  sending('Claude of old', 'loses the reasoning before a tool call', (name, value) =>
    name === 'content' ? others(value, ({ type }) => type === 'thinking') : value,
  ),
  sending('Claude of old', 'sends a temperature together with thinking', (name, value, { request, model }) =>
    name === '' && isObject(value) && request.settings.temperature !== undefined && model.acceptsTemperature
      ? { ...value, temperature: request.settings.temperature }
      : value,
  ),
  sending('Claude of old', 'marks everything for the cache', (_, value) =>
    isObject(value) && value.type === 'text' ? { ...value, cache_control: { type: 'ephemeral' } } : value,
  ),
  asked('Claude of old', 'accepts reasoning of other services as its own', (_, value) =>
    isObject(value) && typeof value.format === 'string' ? { ...value, format: 'anthropic-claude-v1' } : value,
  ),
  sending('Claude of today', 'inserts new text before signed reasoning', (name, value) =>
    name === '' && isObject(value) ? { ...value, system: JSON.stringify(value.messages) } : value,
  ),
  able('Claude of today'),
  able('Gemini 2.5'),
  sending('Gemini 2.5', 'sends empty parts', (name, value, call) =>
    name === 'parts' && Array.isArray(value) && hasBlank(call) ? [...value, {}] : value,
  ),
  sending('Gemini of today', 'leaves calls unsigned', (name, value) =>
    name === 'thoughtSignature' ? undefined : value,
  ),
  sending('Gemini of today', 'puts signatures on other parts', (name, value) =>
    name === 'parts' && Array.isArray(value)
      ? value.map((part, at) => ({ ...part, thoughtSignature: value.at(-1 - at).thoughtSignature }))
      : value,
  ),
];

function mutant(of: string, name: string, change: (adapter: Adapter) => Partial<Adapter>) {
  const subject = SUBJECTS.find((each) => each.name === of);
  if (!subject) throw new Error(`there is no ${of}`);
  const adapter = { ...subject.adapter, ...change(subject.adapter) };
  return [of, name, { ...subject, adapter }] as const;
}

function sending(of: string, name: string, change: Change) {
  return mutant(of, name, (adapter) => ({
    request(call) {
      const made = adapter.request(call);
      if ('kind' in made) return made;
      const body = JSON.stringify(JSON.parse(made.body), (name, value) => change(name, value, call));
      return { ...made, body };
    },
  }));
}

/** Makes an adapter that reads the request wrongly. */
function asked(of: string, name: string, change: (name: string, value: unknown) => unknown) {
  return mutant(of, name, ({ request }) => ({
    request: (call) => request({ ...call, request: JSON.parse(JSON.stringify(call.request, change)) }),
  }));
}

function able(of: string) {
  return mutant(of, 'claims to have every capability', () => ({ lacks: () => [] }));
}
