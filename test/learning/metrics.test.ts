import { expect } from 'bun:test';
import type { LearningPolicyInForce } from '../../src/learning/answer.ts';
import { learningFamilies } from '../../src/learning/metrics.ts';
import { metricsPage } from '../../src/telemetry/page.ts';
import { facts } from '../routing/build.ts';
import { figuresOf } from '../support/families.ts';
import { exampleOf, type lab, labTest, policyOf, toy } from './support.ts';

const scores = async (
  one: Awaited<ReturnType<typeof lab>>,
  policy: LearningPolicyInForce,
  keyId: string,
  n: number,
) => {
  const examples = Array.from({ length: n }, () => exampleOf(one.nextId(), { keyId }));
  for (const example of examples) one.learner.keepExample(policy, example);
  await one.store.flush();
  const given = examples.map(({ decision }) => one.learner.score(policy, { decision, score: 1, label: null }));
  return (await Promise.all(given)).filter((scoring) => typeof scoring === 'object' && scoring.result === 'kept')
    .length;
};

labTest('figures exist from the start, except means of nothing', async (one) => {
  expect(figuresOf(learningFamilies(one.learner))).toEqual({
    'signalbox_outcomes_total{source="caller"}': 0,
    signalbox_outcomes_withheld_total: 0,
    signalbox_estimator_faults_total: 0,
  });
});

labTest('figures count learned, withheld and failed outcomes', async (one) => {
  const policy = policyOf({ influenceMax: 0 });
  await scores(one, policy, 'k2', 1);
  const kept = await scores(one, policy, 'k1', 400);
  expect(kept).toBeGreaterThan(0);
  const { declared, estimated } = one.learner.activity.brier;
  const families = learningFamilies(one.learner);
  expect(figuresOf(families)).toEqual({
    'signalbox_outcomes_total{source="caller"}': 401,
    signalbox_outcomes_withheld_total: kept,
    'signalbox_quality_brier{figure="declared"}': declared,
    'signalbox_quality_brier{figure="estimated"}': estimated,
    signalbox_estimator_faults_total: 0,
  });
  expect(estimated).toBeLessThan(declared);
  expect(await metricsPage(families)()).toContain('\nsignalbox_quality_brier{figure="declared"} 0.04');

  const open = () => {
    throw new Error('no');
  };
  const broken = { ...toy, name: 'broken', prepare: () => ({ read: () => new Uint8Array(), open }) };
  one.learner.memories.estimate(policyOf({ plugin: broken }), facts(), null);
  expect(figuresOf(families).signalbox_estimator_faults_total).toBeGreaterThan(0);
});
