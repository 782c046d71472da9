import { describe, expect, test } from 'bun:test';
import { TASK_NAMES } from '../../src/core/request/tasks.ts';
import { chooseAll, constantReading, factsFor, rightReading, runtimeWith } from './decide.ts';
import { faultsOf, lawsBroken, type Reckoned, reckonAll, SELECTORS, type Selector } from './judge.ts';
import { KINDS, WORTHS } from './kinds.ts';
import { KEY_SETS, MODELS, offeredBy } from './offers.ts';
import { type Case, PARTS, panelOf, partsOf } from './panel.ts';
import { REPUTATION } from './reputation.ts';

const parts = Object.fromEntries(PARTS.map((part) => [part, panelOf(part)]));
const all: Case[] = PARTS.flatMap((part) => parts[part]!);
const countBy = (read: (one: Case) => string) => Map.groupBy(all, read);

type Order = (a: Reckoned, b: Reckoned) => number;
const dearest: Order = (a, b) => b.credits - a.credits;
const cheapest: Order = (a, b) => a.credits - b.credits;
const slowest: Order = (a, b) => b.totalS - a.totalS;
const weakest: Order = (a, b) => b.lacks - a.lacks || b.credits - a.credits;

/** Every combination of a request and a set of keys that leaves a choice. */
const open = KEY_SETS.flatMap((keys) => all.map((one) => ({ keys, one, able: reckonAll(one, keys) }))).filter(
  ({ able }) => able.length > 1,
);
const firstOf = (able: readonly Reckoned[], order: Order): string => able.toSorted(order)[0]!.id;

/** Returns the share of accepted choices of a router that always chooses the first of the able models. */
function shareHeld(order: Order, selectors: readonly Selector[] = SELECTORS): number {
  const held = open.flatMap(({ keys, one, able }) =>
    selectors.filter((selector) => faultsOf(firstOf(able, order), selector, one, keys).length === 0),
  );
  return held.length / (open.length * selectors.length);
}

describe('the panel', () => {
  test('has at least 130 requests, each with its own ID', () => {
    expect(all.length).toBeGreaterThanOrEqual(130);
    expect(new Set(all.map(({ id }) => id)).size).toBe(all.length);
  });

  test('sets a third of every kind aside, selected by the hash of the IDs, and none of the requests that were added later', () => {
    const given = all.filter(({ added }) => !added);
    const drawn = partsOf(given);
    for (const part of PARTS)
      expect(parts[part]!.filter(({ id, added }) => (added ? 'requests' : drawn.get(id)) !== part)).toEqual([]);
    for (const [, group] of Map.groupBy(given, ({ kind }) => kind)) {
      expect(group.filter(({ id }) => drawn.get(id) === 'aside').length).toBe(Math.floor((group.length + 1) / 3));
    }
    expect(parts.aside!.length / given.length).toBeGreaterThan(0.3);
  });

  test('covers every kind, natural and programming languages, system prompts, tools, images and long texts', () => {
    const kinds = countBy(({ kind }) => kind);
    expect(Object.keys(KINDS).filter((kind) => (kinds.get(kind)?.length ?? 0) < 4)).toEqual([]);
    expect(countBy(({ language }) => language).size).toBeGreaterThanOrEqual(8);
    expect([...countBy(({ code }) => code ?? '').keys()].filter(Boolean).length).toBeGreaterThanOrEqual(15);
    expect(all.filter(({ hasSystem }) => hasSystem).length / all.length).toBeGreaterThan(0.3);
    expect(all.filter(({ body }) => body.tools).length).toBeGreaterThanOrEqual(12);
    expect(all.filter(({ body }) => JSON.stringify(body).length > 20_000).length).toBeGreaterThanOrEqual(5);
  });

  test('has every model of the shipped catalog, and no other', () => {
    expect(Object.keys(REPUTATION).sort()).toEqual([...MODELS].sort());
  });

  test('expects tasks that every policy has', () => {
    const tasks: readonly string[] = TASK_NAMES;
    const odd = all.flatMap(({ id, task, or }) => [task, ...or].filter((name) => !tasks.includes(name)).map(() => id));
    expect(odd).toEqual([]);
  });
});

describe('the judge', () => {
  test('accepts some model for every request, selector and set of keys that can serve it', () => {
    const hopeless = KEY_SETS.flatMap((keys) =>
      all.flatMap((one) => {
        const able = reckonAll(one, keys);
        const isHopeless = (selector: (typeof SELECTORS)[number]) =>
          able.length > 0 && able.every(({ id }) => faultsOf(id, selector, one, keys).length > 0);
        return SELECTORS.filter(isHopeless).map((selector) => `${one.id} ${selector} ${keys.name}`);
      }),
    );
    expect(hopeless).toEqual([]);
  });

  test('rejects four of five choices of a router that always takes the most expensive, the slowest or the weakest model', () => {
    for (const order of [dearest, slowest, weakest]) expect(shareHeld(order)).toBeLessThan(0.2);
  });

  test('requires more than the cheapest model for `auto`, and more than the most expensive for anything', () => {
    expect(shareHeld(cheapest, ['auto'])).toBeLessThan(0.8);
    expect(shareHeld(dearest, ['auto-cheap'])).toBeLessThan(0.05);
  });

  test('detects a router whose names say the opposite of what it does', () => {
    const broken = open.filter(({ keys, one, able }) => {
      const choices = {
        auto: firstOf(able, cheapest),
        'auto-cheap': firstOf(able, dearest),
        'auto-fast': firstOf(able, slowest),
      };
      return lawsBroken(choices, one, keys).length === 2;
    });
    expect(broken.length / open.length).toBeGreaterThan(0.8);
  });
});

test('each set of keys lets the shipped policy serve the models that the judge expects', () => {
  for (const keys of KEY_SETS) {
    // Models that only embed serve none of the panel's requests.
    const { models } = runtimeWith(keys).snapshot;
    const served = models.filter(({ embedding }) => embedding === null).map(({ id }) => id);
    expect(served).toEqual(
      offeredBy(keys)
        .map(({ id }) => id)
        .sort(),
    );
  }
});

describe('a reading that replaces what Signalbox reads', () => {
  const runtime = runtimeWith(KEY_SETS.find(({ name }) => name === 'three')!);

  test('changes no choice if Signalbox reads the same task and difficulty', async () => {
    const same = all.filter((one) => {
      const { task, mix, difficulty, tier } = factsFor(one, 'auto', runtime);
      // The first question of a conversation may be harder than the last one.
      const isSameTier = tier?.name === (difficulty === 'hard' ? 'strong' : 'usual');
      return isSameTier && mix.length === 0 && task === one.task && difficulty === WORTHS[one.worth].difficulty;
    });
    expect(same.length).toBeGreaterThan(50);
    expect(await chooseAll(same, runtime, rightReading)).toEqual(await chooseAll(same, runtime));
  });

  test('reaches the choice: a proof is read as a usual question, or as a hard one', async () => {
    const proofs = all.filter(({ kind }) => kind === 'proof');
    expect(await chooseAll(proofs, runtime, constantReading)).not.toEqual(
      await chooseAll(proofs, runtime, rightReading),
    );
  });
});
