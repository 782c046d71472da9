import { expect, test } from 'bun:test';
import { sickText } from '../../src/console/views/overview/sick-text.ts';

const of = (upstream: string, key: string | null, state: string, provider = 'openai') => ({
  ...{ provider, upstream, key, state: state as 'ejected' },
});

test('three refused keys of a pool with three models are one line of attention', () => {
  const pool = ['A', 'B', 'C'].flatMap((key) => ['x', 'y', 'z'].map((model) => of(model, key, 'misconfigured')));
  expect(sickText(pool).map(({ text }) => text)).toEqual([
    'openai, 3 models, A, B and C: the provider refuses these API keys',
  ]);
});

test('endpoints of other providers and in other states have lines of their own', () => {
  const sick = [of('x', null, 'ejected'), of('x', null, 'cooling'), of('x', null, 'ejected', 'groq')];
  expect(sickText(sick).map(({ tone, text }) => [tone, text])).toEqual([
    ['bad', 'openai, x: the circuit breaker is open after failures'],
    ['warn', 'openai, x: cooling after a 429'],
    ['bad', 'groq, x: the circuit breaker is open after failures'],
  ]);
});
