import { expect, test } from 'bun:test';
import type { AttemptRecord } from '../../../src/core/decision/attempt.ts';
import type { DecisionOutcome } from '../../../src/core/decision/outcome.ts';
import { decodeBody, encodeBody } from '../../../src/store/sql/records/body.ts';
import { record } from './support.ts';

const usual: AttemptRecord = {
  ...{ model: 'm', provider: 'p', upstream: 'u', startMs: 1, ms: 2, firstPartMs: 1, failure: null },
  ...{ endpoint: 0, requestId: null, finishReasons: ['stop'] },
};
const failed = { ...usual, failure: 'server', message: 'down' } as const;

test.each<[string, readonly AttemptRecord[]]>([
  [
    'an answer that failed, and the one that followed',
    [
      { ...usual, failure: 'broken_schema' as const, charged: 7 },
      { ...usual, after: 'broken_schema', charged: 9 },
    ],
  ],
  [
    'a second attempt that failed',
    [
      { ...failed, after: 'empty_answer' },
      { ...usual, charged: 7 },
    ],
  ],
  [
    'a charged failure, and an attempt with a key of a pool',
    [
      { ...failed, charged: 7 },
      { ...usual, key: 'a', charged: 0 },
    ],
  ],
  ['attempts without charges', [failed, { ...usual, key: 'a' }]],
])('a record keeps its attempts: %s', (_, attempts) => {
  const made = record(1, 2);
  const outcome: DecisionOutcome = {
    ...{ status: 'completed', error: null, attempts, usage: null, estimated: false, charged: 16, saved: 0 },
    ...{ firstPartMs: 1, totalMs: 2, cappedBy: null, usageReplaced: false },
  };
  expect(decodeBody(encodeBody({ ...made, outcome })).outcome).toEqual(outcome);
});
