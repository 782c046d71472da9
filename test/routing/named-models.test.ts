import { describe, expect, test } from 'bun:test';
import { SignalboxError } from '../../src/core/errors.ts';
import { OPERATOR } from '../../src/core/people/caller.ts';
import { chatFacts } from '../../src/routing/facts.ts';
import { READER } from '../support/chat-body.ts';
import { chatRequest } from '../support/model-request.ts';
import { decisionOf, facts, model, snapshot } from './build.ts';

const policy = snapshot([model('a'), model('b'), model('c')]);
const from = { ...policy, gateway: { ...policy.gateway, requestFallbacks: true } };

const factsNaming = (name: string, fallbacks: readonly string[]) => {
  const request = chatRequest({ model: name, messages: [{ role: 'user', content: 'Hi' }] });
  Object.defineProperty(request, 'routing', {
    value: {
      ...request.routing,
      fallbacks: fallbacks.length === 0 ? undefined : { field: 'fallbacks', value: fallbacks },
    },
  });
  return chatFacts(request, OPERATOR, from, { reader: READER });
};
const ranked = (named: readonly string[], more = {}) =>
  decisionOf(from, facts({ model: named[0]!, named, ...more })).ranked.map((one) => from.models[one.model]!.id);

describe('a request that names several models', () => {
  test('tries them in its own order, without the alternatives of the policy, and the next model takes the place of a rejected one', () => {
    expect(ranked(['c', 'a', 'b'])).toEqual(['c', 'a', 'b']);
    expect(ranked(['a', 'b'])).toEqual(['a', 'b']);
    expect(ranked(['c', 'b', 'a'], { deniedModels: ['c'] })).toEqual(['b', 'a']);
  });

  test('names each model once, and no selector', () => {
    expect(factsNaming('b', ['a', 'b', 'a'])).toMatchObject({ model: 'b', named: ['b', 'a'] });
    expect(factsNaming('b', [])).toMatchObject({ model: 'b', named: ['b'] });
    expect(factsNaming('auto', ['a'])).toMatchObject({ model: 'auto', named: null, fallbacks: { error: ['a'] } });
    for (const wrong of ['auto', 'unknown']) {
      const refused = () => factsNaming('b', ['a', wrong]);
      expect(refused).toThrow(SignalboxError);
      expect(refused).toThrow(expect.objectContaining({ info: expect.objectContaining({ param: 'fallbacks[1]' }) }));
    }
  });
});
