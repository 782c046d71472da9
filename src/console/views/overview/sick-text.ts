import type { ReadOf } from '../../api/reads.ts';
import { listText } from '../../design/format.ts';

type Endpoint = Pick<ReadOf<'/admin/endpoints'>['data'][number], 'provider' | 'upstream' | 'key' | 'state'>;

/** A sentence about endpoints that do not work. */
interface SickItem {
  readonly id: string;
  readonly tone: 'bad' | 'warn';
  readonly text: string;
}

const WORDS: Readonly<Record<string, string>> = {
  ejected: 'the circuit breaker is open after failures',
  cooling: 'cooling after a 429',
  misconfigured: 'the provider refuses the API key',
  out_of_credit: 'the provider account has no credit left',
  absent: 'the server does not have the model',
};

/** Returns one line for all endpoints of a provider in the same state, so that three refused keys of a pool are one line. */
export function sickText(sick: readonly Endpoint[]): readonly SickItem[] {
  const groups = Map.groupBy(sick, ({ provider, state }) => `${provider} ${state}`);
  return [...groups].map(([id, same]) => {
    const { provider, state } = same[0]!;
    const keys = [...new Set(same.flatMap(({ key }) => key ?? []))];
    const upstreams = [...new Set(same.map(({ upstream }) => upstream))];
    const models = upstreams.length === 1 ? upstreams : [`${upstreams.length} models`];
    const words = state === 'misconfigured' && keys.length > 1 ? 'the provider refuses these API keys' : WORDS[state];
    const what = [provider, ...models, ...(keys.length === 0 ? [] : [listText(keys)])].join(', ');
    return { id: `endpoints ${id}`, tone: state === 'cooling' ? 'warn' : 'bad', text: `${what}: ${words ?? state}` };
  });
}
