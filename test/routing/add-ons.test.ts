import { describe, expect, test } from 'bun:test';
import type { AskedAddOns } from '../../src/core/money/add-ons.ts';
import type { Facts } from '../../src/core/request/facts.ts';
import { isRefusal } from '../../src/routing/decide.ts';
import { inputBound } from '../../src/routing/input-tokens.ts';
import { refusalError } from '../../src/routing/refuse.ts';
import { facts, model, outcomeOf, price, snapshot } from './build.ts';

const SEARCH: AskedAddOns = { units: [], toolUses: { web_search: 2 }, rereadings: 2, unpriced: [] };
const plain = model('plain');
const [endpoint] = plain.endpoints;
const searching = model('searching', {
  endpoints: [{ ...endpoint!, price: price(1, 1, { rates: { 'tool_use/web_search': 10 } }) }],
});
const both = snapshot([plain, searching]);
const asked = (addOns: AskedAddOns, rest: Partial<Facts> = {}): Facts => ({ ...facts(rest), addOns });

const chosenOf = (request: Facts): string[] => {
  const outcome = outcomeOf(both, request);
  return isRefusal(outcome) ? [] : outcome.ranked.map((one) => both.models[one.model]!.id);
};

describe('charges in addition to tokens', () => {
  test('exclude models without a price for them if money is limited, and no model otherwise', () => {
    expect(chosenOf(asked(SEARCH)).toSorted()).toEqual(['plain', 'searching']);
    expect(chosenOf(asked(SEARCH, { budget: 10 ** 12 }))).toEqual(['searching']);
  });

  test('cause an error that names the field without a price', () => {
    const request = asked({ ...SEARCH, unpriced: ['service_tier'] }, { budget: 10 ** 12 });
    const outcome = outcomeOf(both, request);
    if (!isRefusal(outcome)) throw new Error('not refused');
    const { code, message, info } = refusalError(outcome, both);
    expect([code, info.param]).toEqual(['unsupported_parameter', 'service_tier']);
    expect(message).toBe(
      'No eligible model has a price for `service_tier`, so Signalbox could not enforce a budget. Leave it out: a policy cannot state its price.',
    );
  });

  test('let the input bound include the whole window again for each use of a tool', () => {
    expect(inputBound(searching, asked(SEARCH))).toBe(3 * searching.contextWindow);
  });
});
