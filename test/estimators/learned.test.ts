import { describe, expect, test } from 'bun:test';
import { declaredQualities, type PastRequest } from '../../src/conformance/estimator-history.ts';
import type { EstimatorCatalog, EstimatorMemory } from '../../src/contract/estimator.ts';
import { empty, find, findingFor, modelOf, play, prepared, preparedWith } from './worlds.ts';

const TASKS = ['general', 'code', 'maths'];
const catalog: EstimatorCatalog = {
  tasks: TASKS,
  models: [modelOf('a', 0.6, [null, 0.7, null]), modelOf('b', 0.6, [null, null, null])],
};
const answered = (model: string, text: string | null, score: number): PastRequest => ({
  model,
  text,
  score,
  task: 0,
  weight: 1,
  probability: 0.5,
  among: 2,
});

/** `a` is good at questions about poems, `b` at integrals; each is as good as declared on average. */
const POEM = 'write a poem about the sea';
const INTEGRAL = 'solve the integral of this';
const specialists: PastRequest[] = Array.from({ length: 800 }, (_, at) => {
  const [model, text] = [at % 2 === 0 ? 'a' : 'b', at % 4 < 2 ? POEM : INTEGRAL];
  const isItsOwn = (model === 'a') === (text === POEM);
  return answered(model, text, isItsOwn || at % 5 === 0 ? 1 : 0);
});

function taught(steps: readonly PastRequest[]): EstimatorMemory {
  const memory = empty();
  play(memory.over(catalog), catalog, steps);
  return memory;
}

const partsOf = (memory: EstimatorMemory): Map<string, Uint8Array> =>
  new Map([...memory.save(true)].flatMap(([name, bytes]) => (bytes ? [[name, bytes] as const] : [])));

describe('learning', () => {
  test('finds which model is good at which questions by their words, once they have proved informative', () => {
    const estimator = taught(specialists).over(catalog);
    const poem = find(estimator, catalog, 0, POEM);
    const integral = find(estimator, catalog, 0, INTEGRAL);
    expect(poem.quality[0]).toBeGreaterThan(poem.quality[1]!);
    expect(integral.quality[1]).toBeGreaterThan(integral.quality[0]!);
    expect(poem.trust).toBeGreaterThan(0.5);
  });

  test('lists the words with the most influence, the strongest first', () => {
    const estimator = taught(specialists).over(catalog);
    const words = estimator.telling(`${POEM}, then another poem`, 0, 1, 3);
    expect(words).toHaveLength(3);
    expect(words.every(({ adds }) => adds < 0)).toBe(true);
    expect(Math.abs(words[0]!.adds)).toBeGreaterThanOrEqual(Math.abs(words[2]!.adds));
    expect(estimator.telling(POEM, 0, 0, 9).map(({ word }) => word)).toContain('poem about');
    expect(estimator.telling('', 0, 0, 9)).toEqual([]);
  });

  test('is reported by model and task, and moves the declared quality', () => {
    const estimator = taught(Array.from({ length: 50 }, () => answered('a', null, 1))).over(catalog);
    const [all, general, ...rest] = estimator.known();
    expect(rest).toEqual([]);
    expect(all).toMatchObject({ model: 'a', task: null, outcomes: 50, declared: 0.6 });
    expect(general).toMatchObject({ model: 'a', task: 'general', outcomes: 50, declared: 0.6 });
    expect(general!.learnt).toBeGreaterThan(all!.learnt);
    expect(find(estimator, catalog, 0, null).counts).toEqual(Float32Array.of(50, 0));
    expect(find(estimator, catalog, 1, null).counts).toEqual(Float32Array.of(0, 0));
  });

  test('moves a declaration of unknown origin more than a measured one', () => {
    const [unknown, measured] = (['unknown', 'measured'] as const).map((basis) => {
      const one = { ...catalog, models: catalog.models.map((model) => ({ ...model, basis })) };
      const estimator = empty().over(one);
      play(estimator, one, [answered('a', null, 0)]);
      return find(estimator, one, 0, null).outcomes[0]!;
    });
    expect(unknown).toBeLessThan(measured!);
    expect(measured).toBeLessThan(0);
  });

  test('returns from `learn` the estimate before the outcome', () => {
    const estimator = taught(specialists).over(catalog);
    const before = find(estimator, catalog, 0, POEM).quality[0]!;
    const outcome = {
      features: prepared.read(POEM),
      task: 0,
      model: 0,
      declared: declaredQualities(catalog, 0)[0]!,
      score: 1,
    };
    expect(estimator.learn({ ...outcome, weight: 1, probability: 1, among: 1 })).toBe(before);
  });

  test.each([
    ['score', Number.NaN],
    ['score', 1.1],
    ['weight', 0],
    ['probability', 0],
    ['among', 0],
    ['declared', -0.1],
  ] as const)('rejects an outcome whose %s is %p, and stays unchanged', (field, value) => {
    const memory = taught([answered('a', POEM, 1)]);
    const before = partsOf(memory);
    const outcome = { features: null, task: 0, model: 0, declared: 0.6, score: 1, weight: 1, probability: 1, among: 1 };
    expect(() => memory.over(catalog).learn({ ...outcome, [field]: value })).toThrow(`${field} is ${value}`);
    expect(partsOf(memory)).toEqual(before);
  });

  test('ignores the length with length 0', () => {
    const estimator = preparedWith({ length: 0 }).open(new Map()).over(catalog);
    expect([...find(estimator, catalog, 0, POEM).quality]).toEqual([0.6, 0.6]);
  });

  test('ignores a question that is only explained', () => {
    const memory = taught(specialists.slice(0, 20));
    const before = partsOf(memory);
    find(memory.over(catalog), catalog, 2, POEM);
    expect(partsOf(memory)).toEqual(before);
  });

  test('estimates a question the same to the bit whether it counts or is only explained, before its words are trusted', () => {
    const memory = taught(specialists.slice(0, 12));
    for (const text of [POEM, INTEGRAL, 'hello', 'what is the capital of France', 'fix the bug in this function']) {
      const explained = find(memory.over(catalog), catalog, 0, text);
      const counted = find(memory.over(catalog), catalog, 0, text, true);
      expect(explained.trust).toBe(0);
      expect(explained).toEqual(counted);
      for (const finding of [explained, counted]) {
        expect(finding.text.every((shift) => Object.is(shift, 0))).toBe(true);
      }
    }
  });

  test('treats features of another version as no text', () => {
    const estimator = taught(specialists.slice(0, 20)).over(catalog);
    const into = findingFor(catalog);
    for (const features of [Uint8Array.of(), Uint8Array.of(9, 9, 9), prepared.read(POEM).slice(0, -1)]) {
      estimator.estimate({ features, task: 0, declared: declaredQualities(catalog, 0) }, into, true);
      expect(into).toEqual(find(estimator, catalog, 0, null));
    }
  });
});

describe('the memory', () => {
  test('forgets one model, and keeps the outcomes of others', () => {
    const memory = taught(specialists);
    const other = find(memory.over(catalog), catalog, 0, null).outcomes[1];
    memory.save(false);
    memory.forget('a');
    const changed = memory.save(false);
    expect(changed.get('outcomes:a')).toBeNull();
    expect(changed.get('words:a')).toBeNull();
    expect(changed.has('words:b')).toBe(false);
    const { outcomes } = find(memory.over(catalog), catalog, 0, null);
    expect([...outcomes]).toEqual([0, other!]);
  });

  test('learns of a forgotten model as of a new one', () => {
    const memory = taught(specialists);
    memory.forget('a');
    const reopened = prepared.open(partsOf(memory));
    for (const one of [memory, reopened]) play(one.over(catalog), catalog, specialists.slice(0, 40));
    expect(partsOf(memory)).toEqual(partsOf(reopened));
  });

  test('keeps what a model’s words are worth while others have their first outcomes', () => {
    const models = Array.from({ length: 40 }, (_, at) => modelOf(`m${at}`, 0.5, [null]));
    const many = { tasks: ['general'], models };
    const memory = empty();
    const before = models.map(({ id }, at) => {
      play(memory.over(many), many, [answered(id, at % 2 === 0 ? POEM : INTEGRAL, at % 3 === 0 ? 1 : 0)]);
      return memory.save(false).get(`words:${id}`);
    });
    const after = memory.save(true);
    expect(models.map(({ id }) => after.get(`words:${id}`))).toEqual(before);
  });

  test('forgets everything, and is as new', () => {
    const memory = taught(specialists);
    const parts = new Map(memory.save(true));
    memory.forget(null);
    for (const [name, bytes] of memory.save(false)) parts.set(name, bytes);
    expect([...parts.values()].every((bytes) => bytes === null)).toBe(true);
    expect(partsOf(memory).size).toBe(0);
    const [old, fresh] = [memory, empty()].map((one) => play(one.over(catalog), catalog, specialists.slice(0, 40)));
    expect(old).toEqual(fresh!);
  });

  test('saves the changes since the last save, which complete the parts saved before', () => {
    const memory = empty();
    const kept = new Map<string, Uint8Array>();
    for (let from = 0; from < 60; from += 20) {
      play(memory.over(catalog), catalog, specialists.slice(from, from + 20));
      for (const [name, bytes] of memory.save(false)) if (bytes) kept.set(name, bytes);
    }
    expect(memory.save(false).size).toBe(0);
    expect(kept).toEqual(partsOf(memory));
  });

  test('gives 64 models their own weights, those with the latest outcomes', () => {
    const models = Array.from({ length: 66 }, (_, at) => modelOf(`m${at}`, 0.5, [null]));
    const many = { tasks: ['general'], models };
    const memory = empty();
    play(
      memory.over(many),
      many,
      models.map(({ id }) => answered(id, POEM, 1)),
    );
    const parts = memory.save(true);
    expect([...parts].filter(([name, bytes]) => name.startsWith('words:') && bytes).length).toBe(64);
    expect([parts.get('words:m0'), parts.get('words:m1')]).toEqual([null, null]);
    // Their outcomes remain.
    expect(
      memory
        .over(many)
        .known()
        .filter(({ task }) => task === null),
    ).toHaveLength(66);
  });

  test('remembers the 256 most recently used tasks', () => {
    const tasks = Array.from({ length: 257 }, (_, at) => `task-${at}`);
    const many = {
      tasks,
      models: [
        modelOf(
          'a',
          0.5,
          tasks.map(() => 0.5),
        ),
      ],
    };
    const memory = empty();
    play(
      memory.over(many),
      many,
      tasks.map((_, task) => ({ ...answered('a', null, 1), task })),
    );
    const known = memory.over(many).known();
    expect(known[0]!.outcomes).toBe(257);
    expect(known.slice(1).map(({ task }) => task)).toEqual(tasks.slice(1));
    expect(prepared.open(partsOf(memory)).over(many).known()).toEqual(known);
  });

  test('groups tasks without declared qualities, and keeps one with them apart', () => {
    const tasks = ['short', 'long'];
    const [bare, stated] = [null, 0.5].map((figure) => ({ tasks, models: [modelOf('a', 0.5, [figure, figure])] }));
    const lengthOf = (catalog: typeof bare & object) => {
      const estimator = empty().over(catalog);
      const essay = 'Tell me about the sea. '.repeat(40);
      for (let i = 0; i < 50; i++) {
        find(estimator, catalog, 0, 'Hello', true);
        find(estimator, catalog, 1, essay, true);
      }
      return find(estimator, catalog, 1, essay).length;
    };
    expect(lengthOf(bare!)).toBeLessThan(-0.1);
    expect(lengthOf(stated!)).toBeCloseTo(0, 12);
  });

  test('outlives catalogs: a model that is removed and added again is known', () => {
    const memory = taught(specialists);
    const found = find(memory.over(catalog), catalog, 0, POEM);
    const without = { ...catalog, models: catalog.models.slice(1) };
    expect(find(memory.over(without), without, 0, POEM).quality[0]).toBe(found.quality[1]!);
    expect(find(memory.over(catalog), catalog, 0, POEM)).toEqual(found);
  });

  test('of an earlier version is read without its figures of form, and so are its features', () => {
    const memory = taught(specialists.slice(0, 80));
    const parts = partsOf(memory);
    for (const [name, bytes] of parts) {
      if (name !== 'shared' && !name.startsWith('words:')) continue;
      // A mean and a precision for each of 23 figures, behind the head.
      const form = new DataView(bytes.buffer, bytes.byteOffset + 8);
      for (let at = 0; at < 2 * 23; at++) form.setFloat32(4 * at, 0.5, true);
    }
    const earlier = prepared.open(parts);
    const features = prepared.read(POEM);
    features.fill(7, 2, 4);
    features.fill(7, 6, 48);
    const into = findingFor(catalog);
    earlier.over(catalog).estimate({ features, task: 0, declared: declaredQualities(catalog, 0) }, into, false);
    expect(into).toEqual(find(memory.over(catalog), catalog, 0, POEM));
  });

  test('reports errors in foreign parts', () => {
    const parts = partsOf(taught(specialists.slice(0, 8)));
    const opened = (change: (parts: Map<string, Uint8Array>) => void, secret?: readonly [number, number]) => () => {
      const changed = new Map(parts);
      change(changed);
      preparedWith({}, secret).open(changed);
    };
    expect(opened(() => {}, [1, 2])).toThrow('part `tasks` of what was learnt was learnt with another secret');
    expect(opened((all) => all.set('tasks', new Uint8Array(3)))).toThrow(
      'part `tasks` of what was learnt is cut short',
    );
    expect(opened((all) => all.set('shared', new Uint8Array(99)))).toThrow('was not written by this version');
    expect(opened((all) => all.set('weights', new Uint8Array()))).toThrow('`weights` is no part of what was learnt');
    expect(opened((all) => all.delete('outcomes:a'))).toThrow('has no part `outcomes:a` beside it');
    expect(opened((all) => all.delete('tasks'))).toThrow('speaks of the task `general`');
    for (const [name, bytes] of parts) {
      expect(opened((all) => all.set(name, bytes.slice(0, -1)))).toThrow('is cut short');
      const spoilt = bytes.slice();
      spoilt.fill(0xff, 8, 16);
      expect(opened((all) => all.set(name, spoilt))).toThrow('holds what is no finite number');
    }
  });
});
