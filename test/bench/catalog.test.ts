import { describe, expect, test } from 'bun:test';
import { writeFileSync } from 'node:fs';
import { basename } from 'node:path';
import fc from 'fast-check';
import { type Abilities, abilitiesOf } from '../../bench/catalog/ability.ts';
import { type Facts, factsOf, readFacts } from '../../bench/catalog/facts.ts';
import { CATALOG_FILES, modelsOf, readCatalog, withFigures } from '../../bench/catalog/figures.ts';
import { MEASURES, TASKS, type TaskMapping } from '../../bench/catalog/mapping.ts';
import { compareOrdinary, qualityOf, shareOf } from '../../bench/catalog/quality.ts';
import { compareCalls, reasoningOf, speedOf } from '../../bench/catalog/speed.ts';
import { tries } from '../deep/effort.ts';

const facts = readFacts();
const abilities = abilitiesOf(facts);
const models = CATALOG_FILES.flatMap((file) => modelsOf(readCatalog(file)));
const sharesOf = (model: string) => qualityOf(abilities, model, () => true).shares;

describe('the figures of the shipped catalog', () => {
  for (const file of CATALOG_FILES) {
    test(`of ${basename(file)} are those that the facts give`, () => {
      const text = readCatalog(file);
      const computed = withFigures(text, facts);
      if (process.env.UPDATE) writeFileSync(file, computed);
      else expect(text).toBe(computed);
    });

    test(`of ${basename(file)} are written in place: whatever they were, all else stays byte for byte`, () => {
      const text = withFigures(readCatalog(file), facts);
      const other = text
        .replaceAll(/^ {4}quality:\s+\{[^}]*\}/gm, '    quality: { default: 0.5, basis: guessed } # by hand')
        .replaceAll(/^ {4}latency: .*\n/gm, '')
        .replaceAll(/^ {4}reasoning_tokens:\s+\{[^}]*\}/gm, '    reasoning_tokens: 7');
      expect(other).not.toBe(text);
      expect(withFigures(other, facts)).toBe(text);
    });
  }

  test('are there for every model, in every task, with facts that name their source', () => {
    // Models that are no longer shipped may keep their facts, because the scales of the measures depend on them.
    expect(Object.keys(facts.models)).toEqual(expect.arrayContaining([...models]));
    const named = new Set(Object.keys(facts.sources));
    const origins = models.flatMap((model) => {
      const { effort, reasoning = [], first_chunk_ms, tokens_per_second, calls = [] } = factsOf(facts, model);
      return [effort, ...reasoning, first_chunk_ms, tokens_per_second, ...calls].flatMap((fact) => fact?.source ?? []);
    });
    const others = [...facts.effort_gains, ...facts.ordinary, ...Object.values(facts.measures)];
    for (const source of [...origins, ...others.map((one) => one.source)]) expect(named).toContain(source);
    for (const model of models) {
      for (const { measure } of factsOf(facts, model).scores ?? []) expect(facts.measures).toHaveProperty(measure);
    }
  });

  test('hold no value of a source whose terms were not read: its scores are deviations from means that are not here', () => {
    for (const { source, unit, basis } of Object.values(facts.measures)) {
      if (source === 'arena') continue;
      expect(unit).toMatch(/^(standard deviations|logits above the middle of the catalog)$/);
      expect(basis).toBe('derived');
    }
  });
});

describe('quality', () => {
  test('is a share of good answers: everyday requests are easy for all, what must be worked out is not', () => {
    const range = (task: string) => {
      const shares = models.map((model) => sharesOf(model)[task] ?? 0);
      return { least: Math.min(...shares), most: Math.max(...shares) };
    };
    for (const task of ['chat', 'classification', 'extraction', 'translation']) {
      expect(range(task).least).toBeGreaterThanOrEqual(0.85);
      expect(range(task).most).toBeLessThan(0.98);
    }
    for (const task of ['coding', 'math', 'reasoning', 'tool_use']) {
      expect(range(task).least).toBeLessThan(0.75);
      expect(range(task).most).toBeGreaterThanOrEqual(0.94);
    }
  });

  test('comes out as the pooled tests on ordinary requests did, to 6 of 100 answers for a task', () => {
    for (const [task, tests] of Map.groupBy(compareOrdinary(facts), (one) => one.task)) {
      const models = tests.reduce((sum, one) => sum + one.models, 0);
      const off = tests.reduce((sum, one) => sum + one.models * (one.computed - one.observed), 0) / models;
      expect({ task, within: Math.abs(off) <= 0.06, off }).toMatchObject({ within: true });
    }
  });

  test('is never lower for a model that is at least as able by every measure of a task', () => {
    for (const able of [shareOf]) expect(dominated(facts, able)).toEqual([]);
    fc.assert(
      fc.property(someFacts, (some) => expect(dominated(some, shareOf)).toEqual([])),
      tries('quality is never lower for a model that is at least as able', 5, 300),
    );
  });

  test('would not pass where hard requests were easier for the less able', () => {
    const mutant = (mapping: TaskMapping, logits: number) =>
      shareOf(mapping, logits) + shareOf({ ...mapping, mix: [0, 0, 0.5] }, -2 * logits);
    expect(dominated(facts, mutant)).not.toEqual([]);
  });
});

/** Pairs of models and a task in which the abler one gets less. */
function dominated(of: Facts, share: typeof shareOf): string[] {
  const all = abilitiesOf(of);
  const names = Object.keys(of.models);
  return Object.entries(TASKS).flatMap(([task, mapping]) =>
    names.flatMap((a) =>
      names
        .filter((b) => isAsAble(all, a, b, task))
        .filter((b) => share(mapping, logits(all, a, task)) < share(mapping, logits(all, b, task)) - 1e-12)
        .map((b) => `${task}: ${a} below ${b}`),
    ),
  );
}

const logits = (all: Abilities, model: string, task: string) => all.of(model, MEASURES[task] ?? []).logits;

/** Whether the models `a` and `b` have the same measures and `a` is nowhere below `b`. */
function isAsAble(all: Abilities, a: string, b: string, task: string): boolean {
  return ['index', ...(MEASURES[task] ?? [])].every((measure) => {
    const [mine, other] = [all.by(a, measure), all.by(b, measure)];
    return mine === null || other === null ? mine === other : mine >= other;
  });
}

/** The facts with other scores. */
const someFacts = fc
  .array(fc.double({ min: -3, max: 3, noNaN: true }), { minLength: 400, maxLength: 400 })
  .map((values): Facts => {
    let at = 0;
    const changed = Object.entries(facts.models).map(([name, model]) => {
      const scores = model.scores?.map((score) => ({ ...score, value: score.value + (values[at++ % 400] ?? 0) }));
      return [name, { ...model, ...(scores && { scores }) }] as const;
    });
    return { ...facts, models: Object.fromEntries(changed) };
  });

describe('speed', () => {
  test('agrees with whole calls that were clocked: none off by more than three times, and together by less than a fifth', () => {
    const ratios = compareCalls(facts).map(({ computedS, clockedS }) => Math.log(computedS / clockedS));
    expect(ratios.length).toBeGreaterThan(25);
    for (const ratio of ratios) expect(Math.abs(ratio)).toBeLessThan(Math.log(3));
    expect(Math.abs(ratios.reduce((sum, one) => sum + one, 0) / ratios.length)).toBeLessThan(Math.log(1.2));
  });

  test('is called measured only where a call was clocked, and is left out where it is unknown', () => {
    for (const model of models) {
      const { calls = [], tokens_per_second } = factsOf(facts, model);
      const speed = speedOf(facts, model);
      if (!speed) expect(tokens_per_second).toBeUndefined();
      else expect(speed.basis === 'measured').toBe(calls.length > 0);
    }
  });

  test('counts tens of reasoning tokens, or some hundreds, for small talk, and more for mathematics than for anything else', () => {
    for (const model of models) {
      const tokens = reasoningOf(facts, model);
      expect(tokens.chat ?? 0).toBeLessThanOrEqual(250);
      expect(tokens.math ?? 0).toBe(tokens.default === 0 ? 0 : Math.max(...Object.values(tokens)));
    }
  });
});
