import { describe, expect, test } from 'bun:test';
import { BUCKET } from '../../../src/providers/health/quantile.ts';
import { GENERAL, model, snapshot } from '../../routing/build.ts';
import { fakeHealth } from './support.ts';

const HOUR_MS = 3_600_000;
const CODING = { ...GENERAL, name: 'coding', expectedOutputTokens: 1_200 };
const POLICY = snapshot([model('a')], {
  tasks: [GENERAL, CODING],
  taskIndex: new Map([
    ['general', 0],
    ['coding', 1],
  ]),
});

function learning(policy = POLICY) {
  const fake = fakeHealth();
  const readings = fake.health.watch(policy);
  const { outputs } = fake.health;
  const publish = (afterMs = 1_000) => {
    fake.time.now += afterMs;
    fake.health.publish();
    return [...readings().outputTokens] as [number, number];
  };
  const saw = (task: string, tokens: number, times = 1) => {
    // Each answer has another caller, because answers of one caller would count once.
    for (let i = 0; i < times; i++) outputs.observe(task, tokens, `key${i}`);
  };
  return { ...fake, outputs, readings, publish, saw };
}

function expectNear(value: number, wanted: number, factor = BUCKET): void {
  expect(value).toBeGreaterThan(wanted / factor);
  expect(value).toBeLessThan(wanted * factor);
}

describe('the expected output of a task', () => {
  test('is the policy’s value until the first answer, separately for each task', () => {
    const { publish, saw, readings } = learning();
    const first = readings();
    expect(publish()).toEqual([400, 1_200]);
    expect(readings()).toBe(first);
    saw('coding', 300, 2_000);
    const [general, coding] = publish();
    expect(general).toBe(400);
    expectNear(coding, 300, BUCKET * 1.02);
  });

  test('counts one answer of a task per caller in ten seconds', () => {
    const { publish, saw, outputs } = learning();
    for (let at = 0; at < 600; at += 10) {
      saw('general', 400, 20);
      for (let i = 0; i < 1_000; i++) outputs.observe('general', 1, 'who asks the most');
      expectNear(publish(10_000)[0], 400, BUCKET * 1.02);
    }
    outputs.observe('coding', 90, 'who asks the most');
    publish();
    expect(outputs.weight('coding')).toBeCloseTo(1, 2);
  });

  test('is the median of the answers from 20 answers on, however far it is from the declared value', () => {
    const { publish, saw, outputs } = learning();
    saw('general', 100, 20);
    expectNear(publish()[0], 100);
    expect(outputs.weight('general')).toBeCloseTo(20, 1);
    expect(outputs.weight('coding')).toBe(0);
  });

  test('is a median: a very long answer changes it no more than any other', () => {
    const { publish, saw } = learning();
    saw('general', 100, 100);
    const [before] = publish();
    saw('general', 1_000_000);
    expectNear(publish()[0], before, 1.02);
  });

  test('adapts within hours, and returns to the declared value within days', () => {
    const { publish, saw } = learning();
    saw('general', 100, 1_000);
    publish();
    for (let hour = 0; hour < 12; hour++) {
      saw('general', 1_600, 1_000);
      publish(HOUR_MS);
    }
    expectNear(publish()[0], 1_600, 1.1);
    expect(publish(7 * 24 * HOUR_MS)).toEqual([400, 1_200]);
  });

  test('learns nothing from absurd figures', () => {
    const { publish, saw, readings } = learning();
    const first = readings();
    for (const tokens of [0, -1, Number.NaN, Number.POSITIVE_INFINITY, 1e9]) saw('general', tokens, 10);
    publish();
    expect(readings()).toBe(first);
  });

  test('survives reloads under the task’s name, even if the task is named again later', () => {
    const { publish, saw, health } = learning();
    saw('coding', 300, 2_000);
    const without = health.watch(snapshot([model('a')]));
    const again = health.watch(snapshot([model('a')], { tasks: [CODING] }));
    publish();
    expect([...without().outputTokens]).toEqual([400]);
    expectNear(again().outputTokens[0]!, 300, BUCKET * 1.02);
  });
});

describe('a measured length', () => {
  test('it replaces the declared length from 20 answers on, in whole tokens', () => {
    const { publish, saw } = learning();
    for (let count = 1; count < 20; count++) {
      saw('general', 100, 1);
      expect(publish(10_000)).toEqual([400, 1_200]);
    }
    saw('general', 100, 1);
    const [general, coding] = publish(10_000);
    expectNear(general, 100);
    expect([Number.isInteger(general), coding]).toEqual([true, 1_200]);
  });

  test('it does not switch back and forth while there are few answers, and stops counting below 10 answers', () => {
    const { publish, saw, outputs } = learning();
    saw('general', 100, 25);
    const [first] = publish();
    // A steady rate of answers keeps the weight between 10 and 20.
    for (let hour = 0; hour < 48; hour++) {
      saw('general', 100, 2);
      expect(publish(HOUR_MS)[0]).toBe(first);
    }
    const weight = outputs.weight('general');
    expect([weight > 10, weight < 20]).toEqual([true, true]);
    expect(publish(12 * HOUR_MS)[0]).toBe(400);
    // A task with equally few answers that never had more does not start to use the measured length.
    for (let hour = 0; hour < 48; hour++) {
      saw('coding', 100, 2);
      expect(publish(HOUR_MS)[1]).toBe(1_200);
    }
  });

  test('a length of one token or less counts as one token', () => {
    const { publish, saw } = learning();
    saw('general', 0.2, 40);
    expect(publish()[0]).toBe(1);
  });
});
