import { SPREAD_MODES } from '../src/core/policy/spread.ts';
import { newSeed } from '../src/gateway/request/decide.ts';
import { chooseEndpoint, keyOfSeed, keyOfText, type SpreadCandidate } from '../src/routing/spread.ts';
import { fixed, quantile, table, timedInBlocks } from './stats.ts';

/**
 * `npm run bench:spread`: measures the time in which one of 64 endpoints is chosen, for each mode. The modes take turns, and the floor is a loop
 * that only reads a figure of each endpoint.
 */
const ENDPOINTS = 64;
const KEYS = Array.from({ length: 1_024 }, () => keyOfSeed(newSeed()));

const fleet = Array.from({ length: ENDPOINTS }, (_, at): SpreadCandidate => {
  const figures = { load: at % 7, latencyMs: 400 + ((at * 37) % 300), costCredits: 1 + ((at * 53) % 40) };
  return {
    pool: at,
    salt: keyOfText(`provider-${at}/model`),
    weight: 1 + (at % 5),
    priority: at % 2,
    isWarm: false,
    ...figures,
  };
});

let sum = 0;
const floor = (): void => {
  for (const { load } of fleet) sum += load;
};
const works = SPREAD_MODES.map((mode) => (turn: number) => {
  sum += chooseEndpoint(mode, fleet, KEYS[turn % KEYS.length]!, 0).at;
});

const times = timedInBlocks([floor, ...works], { samples: 100_000, warmUp: 20_000, block: 100 });
const rows = ['a loop over the endpoints', ...SPREAD_MODES].map((name, at) => {
  const own = times[at]!;
  return [name, fixed(quantile(own, 0.5), 2), fixed(quantile(own, 0.99), 2)];
});
console.log(table([['mode', 'p50, µs', 'p99, µs'], ...rows]));
if (!Number.isFinite(sum)) throw new Error('nothing was chosen');
