import type { Behaviour, RecordedRequest } from '../../support/fake-upstream.ts';

/** The tool loop for clients of every dialect, with a model that thinks: two calls in one turn, one more call, an answer. */
export const QUESTION = 'Where is it warmest?';
export const PARAMETERS = { type: 'object', properties: { city: { type: 'string' } }, required: ['city'] };

const callsOf = (...cities: string[]) =>
  cities.map((city) => ({ name: 'weather', arguments: JSON.stringify({ city }) }));

/** A model that thinks, and calls the tool for two cities, then for a third. */
export function thinker({ asked }: RecordedRequest): Behaviour {
  const results = asked.turns.reduce((count, turn) => count + turn.results.length, 0);
  if (asked.turns.at(-1)?.text === 'Thanks!') return { reasoning: 'Kind.', text: 'You are welcome.' };
  if (results === 0) return { reasoning: 'Two to begin with.', toolCalls: callsOf('Bern', 'Oslo') };
  return results === 2
    ? { reasoning: 'And one more.', toolCalls: callsOf('Rome') }
    : { reasoning: 'So.', text: 'In Rome.' };
}

const said = { text: '', media: [], calls: [], results: [] };
const called = (...cities: string[]) => cities.map((city) => ({ name: 'weather', input: { city } }));
const told = (...cities: string[]) => cities.map((city) => ({ name: 'weather', text: `20 °C in ${city}` }));

/** The conversation before the answer, as the upstream reads it. */
export const TURNS_BEFORE = [
  { ...said, role: 'user', text: QUESTION },
  { ...said, role: 'assistant', calls: called('Bern', 'Oslo') },
  { ...said, role: 'user', results: told('Bern', 'Oslo') },
  { ...said, role: 'assistant', calls: called('Rome') },
  { ...said, role: 'user', results: told('Rome') },
];

/** The conversation with the answer. */
export const TURNS_ANSWERED = [...TURNS_BEFORE, { ...said, role: 'assistant', text: 'In Rome.' }];

/** The conversation with the answer and the next message. */
export const TURNS_THANKED = [...TURNS_ANSWERED, { ...said, role: 'user', text: 'Thanks!' }];
